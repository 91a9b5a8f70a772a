"""Finds NVIDIA's libraries and tools: of the toolkit, and of the wheels that come with torch."""
import glob
import os
import shutil
import site
import sys

TOOLKITS = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", *sorted(glob.glob("/usr/local/cuda-*"), reverse=True)]
LIBRARIES = {"cuBLASLt": ["libcublasLt.so.13", "libcublasLt.so.12"], "NCCL": ["libnccl.so.2"], "cuDNN": ["libcudnn.so.9"]}


def python_folders():
    """Where packages of this Python and of the usual others lie."""
    folders = [*sys.path, *site.getsitepackages(), site.getusersitepackages()]
    for root in ("/usr/lib", "/usr/local/lib", "/opt/*/lib", "/opt/*/*/lib", "/root/*/lib"):
        folders += glob.glob(f"{root}/python3*/site-packages") + glob.glob(f"{root}/python3*/dist-packages")
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def folders(fake=None):
    """Where libraries may lie, in the order in which they are taken: what the user has set, the toolkit, wheels, the system. With fake libraries
    nowhere else."""
    if fake:
        return [fake]
    found = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for toolkit in filter(None, TOOLKITS):
        found += [os.path.join(toolkit, "lib64"), os.path.join(toolkit, "lib"), *glob.glob(os.path.join(toolkit, "targets", "*", "lib"))]
    for folder in python_folders():
        found += [*glob.glob(os.path.join(folder, "nvidia", "*", "lib")), os.path.join(folder, "torch", "lib")]
    found += ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"]
    return [folder for folder in dict.fromkeys(found) if os.path.isdir(folder)]


def find(names, fake=None):
    """The path of the first of these libraries that is there, or None."""
    for name in names:
        for folder in folders(fake):
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return path
    return None


def search_path(fake=None):
    """LD_LIBRARY_PATH for programs that load the libraries by name."""
    if fake:
        return fake
    own = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    system = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64"}
    found = [os.path.dirname(path) for path in map(find, LIBRARIES.values()) if path]
    return ":".join(dict.fromkeys(own + [folder for folder in found if folder not in system]))


def tool(name):
    """The path of a program of the toolkit, or None."""
    for folder in [*os.environ.get("PATH", "").split(":"), *(os.path.join(toolkit, "bin") for toolkit in filter(None, TOOLKITS))]:
        if folder and shutil.which(name, path=folder):
            return shutil.which(name, path=folder)
    for pattern in (f"/opt/nvidia/*/*/{name}", f"/opt/nvidia/*/{name}"):
        for path in sorted(glob.glob(pattern), reverse=True):
            if os.access(path, os.X_OK):
                return path
    return None
