"""failing_linker.py FOLDER LINE...: the linkers of FOLDER say these lines and fail."""
import os
import shlex
import sys

folder, lines = sys.argv[1], sys.argv[2:]
for name in "ld", "ld.lld":
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + "".join(f"echo {shlex.quote(line)} >&2\n" for line in lines) + "exit 1\n")
    os.chmod(path, 0o755)
