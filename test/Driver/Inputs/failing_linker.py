"""failing_linker.py FILE LINE...: FILE becomes a linker that says these lines and fails."""
import os
import shlex
import sys

path, lines = sys.argv[1], sys.argv[2:]
with open(path, "w") as file:
    file.write("#!/bin/sh\n" + "".join(f"echo {shlex.quote(line)} >&2\n" for line in lines) + "exit 1\n")
os.chmod(path, 0o755)
