"""NCCL by ctypes."""
import ctypes

from .context import Failed

FLOAT32, SUM = 7, 0  # ncclDataType_t, ncclRedOp_t
SUCCESS = 0
# No network, and the reason of an error on standard error.
ENVIRONMENT = {"NCCL_DEBUG": "WARN", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}
MEMORY, COUNT, WORD, HANDLE = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p


class UniqueId(ctypes.Structure):
    """ncclUniqueId, which is passed by value."""
    _fields_ = [("bytes", ctypes.c_char * 128)]


class SimulationInfo(ctypes.Structure):
    """ncclSimInfo_t of NCCL 2.22; what NCCL takes for one that was not set up it refuses."""
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("microseconds", ctypes.c_float)]


ARGUMENTS = {"ncclCommInitRank": [ctypes.POINTER(HANDLE), WORD, UniqueId, WORD], "ncclCommDestroy": [HANDLE],
             "ncclAllReduce": [MEMORY, MEMORY, COUNT, WORD, WORD, HANDLE, HANDLE], "ncclReduceScatter": [MEMORY, MEMORY, COUNT, WORD, WORD, HANDLE, HANDLE],
             "ncclAllGather": [MEMORY, MEMORY, COUNT, WORD, HANDLE, HANDLE], "ncclSend": [MEMORY, COUNT, WORD, WORD, HANDLE, HANDLE],
             "ncclRecv": [MEMORY, COUNT, WORD, WORD, HANDLE, HANDLE]}


class Nccl:
    def __init__(self):
        self.library = ctypes.CDLL("libnccl.so.2")
        self.library.ncclGetErrorString.restype = ctypes.c_char_p
        for name, types in ARGUMENTS.items():
            getattr(self.library, name).argtypes = types

    def call(self, name, *arguments):
        """Returns None, or the error as NCCL spells it."""
        result = getattr(self.library, name)(*arguments)
        return None if result == SUCCESS else f"{name}: {self.library.ncclGetErrorString(result).decode()} ({result})"

    def require(self, name, *arguments):
        if error := self.call(name, *arguments):
            raise Failed(error)

    def version(self):
        value = ctypes.c_int()
        self.require("ncclGetVersion", ctypes.byref(value))
        return value.value

    def unique_id(self):
        unique = UniqueId()
        self.require("ncclGetUniqueId", ctypes.byref(unique))
        return unique

    def expect(self, enqueue):
        """The microseconds that NCCL itself expects a collective to take, which `enqueue` calls and which does not run; or None, and why."""
        if not hasattr(self.library, "ncclGroupSimulateEnd"):
            return None, "NCCL is older than 2.22"
        info = SimulationInfo(ctypes.sizeof(SimulationInfo), 0x74685283, self.version(), -1)
        self.require("ncclGroupStart")
        enqueue()
        error = self.call("ncclGroupSimulateEnd", ctypes.byref(info))
        return (info.microseconds, None) if not error and info.microseconds > 0 else (None, error or "NCCL does not say")
