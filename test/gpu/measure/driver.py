"""The calls of NVIDIA's driver that parts make themselves, by ctypes."""
import contextlib
import ctypes
import os

SUCCESS = 0
ATTRIBUTES = {"multiprocessors": 16, "clock_khz": 13, "memory_clock_khz": 36, "memory_bus_bits": 37, "l2_bytes": 38, "capability_major": 75,
              "capability_minor": 76, "shared_bytes_per_block": 97, "registers_per_block": 12}


class DriverError(Exception):
    """A call of the driver failed."""


class Driver:
    """libcuda.so.1, initialised. `folder`: where it lies; None: where the loader looks. Raises OSError if it can't be loaded."""

    def __init__(self, folder=None):
        self.library = ctypes.CDLL(os.path.join(folder or "", "libcuda.so.1"))
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != SUCCESS:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(result, ctypes.byref(text))
            raise DriverError(f"{name}: {(text.value or b'an unknown error').decode()} ({result})")

    def number(self, name, *arguments):
        value = ctypes.c_int()
        self.call(name, ctypes.byref(value), *arguments)
        return value.value

    def count(self):
        return self.number("cuDeviceGetCount")

    def version(self):
        """Of CUDA, that the driver supports: "13.0"."""
        version = self.number("cuDriverGetVersion")
        return f"{version // 1000}.{version % 1000 // 10}"

    def describe(self, ordinal):
        """The name and the attributes of a GPU. What the driver does not know is None."""
        device = self.number("cuDeviceGet", ordinal)
        name = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", name, 256, device)
        found = {"name": name.value.decode()}
        for title, attribute in ATTRIBUTES.items():
            found[title] = None
            with contextlib.suppress(DriverError):
                found[title] = self.number("cuDeviceGetAttribute", attribute, device)
        return found


class Gpu:
    """A GPU, with its context current, and a stream."""

    def __init__(self, ordinal=0):
        self.driver = Driver()
        self.device = self.driver.number("cuDeviceGet", ordinal)
        self.context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), self.device)
        self.enter()
        self.driver.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def enter(self):
        """For each thread that calls the driver."""
        self.driver.call("cuCtxSetCurrent", self.context)

    def memory(self):
        """The free and all bytes."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def pinned(self, count):
        """An array of `count` floats that copies go through."""
        address = ctypes.c_void_p()
        self.driver.call("cuMemAllocHost_v2", ctypes.byref(address), ctypes.c_size_t(4 * count))
        return (ctypes.c_float * count).from_address(address.value)

    def allocate(self, size):
        address = ctypes.c_uint64()
        self.driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def copy_in(self, to, array):
        self.driver.call("cuMemcpyHtoDAsync_v2", to, array, ctypes.c_size_t(ctypes.sizeof(array)), self.stream)
        self.synchronize()

    def copy_out(self, array, source):
        self.driver.call("cuMemcpyDtoHAsync_v2", array, source, ctypes.c_size_t(ctypes.sizeof(array)), self.stream)
        self.synchronize()

    def synchronize(self):
        self.driver.call("cuStreamSynchronize", self.stream)
