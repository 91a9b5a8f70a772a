"""The machine, its libraries and tools, and whether executables start there."""
import ctypes
import importlib.metadata
import os
import platform
import re

from measure import libraries
from measure.context import Failed, last_line
from measure.driver import Driver, DriverError
from measure.processes import OutOfTime

QUERY = ["name", "driver_version", "uuid", "memory.total", "power.limit", "clocks.max.sm", "clocks.max.mem", "ecc.mode.current", "mig.mode.current",
         "compute_mode", "persistence_mode", "temperature.gpu", "clocks.sm"]
TOOLS = {"ncu": ["--version"], "compute-sanitizer": ["--version"], "nvidia-smi": ["--version"], "nsys": ["--version"], "ptxas": ["--version"]}


def version_number(library, symbol, result):
    """Calls a function that returns, or writes to a pointer, the version."""
    function = getattr(ctypes.CDLL(library), symbol)
    if result == "returned":
        function.restype = ctypes.c_size_t
        return function()
    version = ctypes.c_int()
    status = function(ctypes.byref(version))
    if status != 0:
        raise OSError(f"{symbol}: status {status}")
    return version.value


VERSIONS = {"cuBLASLt": ("cublasLtGetVersion", "returned"), "NCCL": ("ncclGetVersion", "written"), "cuDNN": ("cudnnGetVersion", "returned")}


def find_libraries(context):
    found = {}
    for name, files in libraries.LIBRARIES.items():
        path = libraries.find(files, context.fake)
        found[name] = {"path": path}
        if path:
            try:
                found[name]["version"] = version_number(path, *VERSIONS[name])
            except (OSError, AttributeError) as error:
                found[name]["error"] = str(error)
    return found


def find_tools(context):
    found = {}
    for name, flags in TOOLS.items():
        path = None if context.fake else libraries.tool(name)
        found[name] = {"path": path}
        if path:
            try:
                done = context.run([path, *flags], 5, statuses=None)
                versions = re.findall(r"(?i)version\s*:?\s*([\d.]+)|release ([\d.]+)", done.out)
                found[name]["version"] = "".join(versions[0]) if versions else last_line(done.out)
            except (OSError, OutOfTime) as error:
                found[name]["error"] = str(error)
    return found


def describe_machine():
    with open("/proc/cpuinfo") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    with open("/proc/meminfo") as file:
        memory = re.search(r"MemTotal:\s*(\d+) kB", file.read())
    try:
        libc = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        libc = None
    return {"cpu": model[1] if model else None, "cores": len(os.sched_getaffinity(0)), "memory_bytes": 1024 * int(memory[1]) if memory else None,
            "kernel": platform.release(), "libc": libc, "python": platform.python_version(), "system": system_name()}


def system_name():
    try:
        with open("/etc/os-release") as file:
            name = re.search(r'PRETTY_NAME="?([^"\n]*)', file.read())
        return name[1] if name else None
    except OSError:
        return None


def torch_version():
    """Without importing it, which takes seconds."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def kernel_module():
    """The line of the driver's kernel module with its version."""
    try:
        with open("/proc/driver/nvidia/version") as file:
            return file.readline().strip()
    except OSError:
        return None


def query_gpu(context):
    """What nvidia-smi says of the first GPU; None without it."""
    path = None if context.fake else libraries.tool("nvidia-smi")
    if not path:
        return None
    try:
        done = context.run([path, "--query-gpu=" + ",".join(QUERY), "--format=csv,noheader", "-i", "0"], 8, env=dict(os.environ), statuses=None)
    except OutOfTime as error:
        return {"error": str(error)}
    values = [value.strip() for value in done.out.strip().split(",")]
    return dict(zip(QUERY, values)) if done.status == 0 and len(values) == len(QUERY) else {"error": last_line(done.text)}


def check_start(context):
    """Whether the executables of the bundle start, and what they need."""
    entry = sorted(context.manifest["executables"].values(), key=lambda each: each["file"])[0]
    version, needs = (context.run([context.file(entry["file"]), flag], 5).out.strip() for flag in ("--version", "--needs"))
    return {"version": version, "needs": needs}


def query_driver(context):
    """Adds the GPUs. Raises Failed if there is none."""
    try:
        driver = Driver(context.fake)
        context.add(cuda=driver.version(), gpus=[driver.describe(number) for number in range(driver.count())])
    except (OSError, DriverError) as error:
        raise Failed(f"the driver: {error}") from None
    if not context.found["gpus"]:
        raise Failed("the driver finds no GPU")


def run(context):
    context.add(machine=describe_machine(), libraries=find_libraries(context), search_path=libraries.search_path(context.fake))
    if not context.fake:
        context.add(torch=torch_version(), kernel_module=kernel_module())
    context.add(nvidia_smi=query_gpu(context))
    context.add(tools=find_tools(context))
    query_driver(context)
    context.add(executables=check_start(context))


def lines(found):
    for gpu in found.get("gpus", [])[:1]:
        smi = found.get("nvidia_smi") or {}
        yield (f"{gpu['name']}, sm_{gpu['capability_major']}{gpu['capability_minor']}, {gpu['multiprocessors']} SMs; driver "
               f"{smi.get('driver_version', '?')}, CUDA {found['cuda']}; power limit {smi.get('power.limit', '?')}")
    if machine := found.get("machine"):
        yield f"{machine['system']}, {machine['libc']}, Python {machine['python']}, {machine['cores']} cores ({machine['cpu']})"
    parts = [f"{name} {entry.get('version') or ('fails' if entry.get('path') else 'not found')}"
             for name, entry in {**found.get("libraries", {}), **found.get("tools", {})}.items()]
    if "torch" in found:
        parts.append(f"torch {found['torch'] or 'not found'}")
    for begin in range(0, len(parts), 4):
        yield "; ".join(parts[begin:begin + 4])
    if started := found.get("executables"):
        yield f"executables start: {started['version'].splitlines()[0]}"
