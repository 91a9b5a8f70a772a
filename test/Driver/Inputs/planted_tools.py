"""planted_tools.py FOLDER: tools of FOLDER that note that they were run, and fail."""
import os
import sys

for tool in "ld", "ld.lld", "lld", "ld.gold", "gold", "as", "cc", "c++", "g++", "clang++", "clang++-22", "collect2":
    path = os.path.join(sys.argv[1], tool)
    with open(path, "w") as file:
        file.write(f"#!/bin/sh\necho {tool} >> {os.path.abspath(sys.argv[1])}/was-run\nexit 1\n")
    os.chmod(path, 0o755)
