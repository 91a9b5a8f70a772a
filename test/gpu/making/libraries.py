"""The shared libraries that executables link and that another system may lack."""
import os
import re

from support.executable import checked

# Part of every system with glibc. An executable needs version 2.34, which the carried libraries need too.
OF_SYSTEM = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}


def add_libraries(folder, executables):
    found = {}
    for path in executables:
        for name, target in re.findall(r"^\s*(\S+) => (/\S+)", checked(["ldd", path]).stdout, re.MULTILINE):
            if name not in OF_SYSTEM:
                found[name] = os.path.realpath(target)
    folder.manifest["libraries"] = {name: folder.add(path, f"libraries/{name}") for name, path in sorted(found.items())}
