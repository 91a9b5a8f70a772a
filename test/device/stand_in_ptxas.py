"""Stands in for ptxas: assembles nothing, and writes what the fake driver reads of a cubin, its ABI and the names of its kernels.

    folder = stand_in_ptxas.make(folder, "12.9", ["sm_80", "sm_90a"])  # FOLDER/ptxas, of this version, which knows these architectures
"""
import os
import re
import shlex
import struct
import sys


def make(folder, version, gpus):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "ptxas")
    words = [sys.executable, os.path.abspath(__file__), version, ",".join(gpus)]
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    os.chmod(path, 0o755)
    return folder


def cubin(abi, kernels):
    """An ELF file with a section .text.NAME per kernel."""
    sections = ["", ".shstrtab", *(f".text.{name}" for name in kernels)]
    names = b"".join(name.encode() + b"\0" for name in sections)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1\x41" + bytes([abi]), 2, 190, 1, 0, 0, 64 + len(names), 0, 64, 0, 0, 64, len(sections), 1)
    table, at = b"", 0
    for name in sections:
        table += struct.pack("<IIQQQQIIQQ", at, 3 if name == ".shstrtab" else 1 if name else 0, 0, 0, 64, len(names), 0, 0, 1, 0)
        at += len(name) + 1
    return header + names + table


def main(version, gpus, *words):
    if "--version" in words:
        print(f"ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release {version}, V{version}.0")
    elif "--help" in words:
        print("        Allowed values for this option:  " + ",".join(f"'{gpu}'" for gpu in gpus.split(",")))
    elif not any(f"-arch={gpu}" in words for gpu in gpus.split(",")):
        sys.exit("ptxas fatal   : Value is not defined for option 'gpu-name'")
    else:
        source = next(word for word in words if word.endswith(".ptx"))
        with open(source) as file, open(words[words.index("-o") + 1], "wb") as result:
            result.write(cubin(8 if int(version.split(".")[0]) >= 13 else 7, re.findall(r"\.entry (\w+)", file.read())))


if __name__ == "__main__":
    main(*sys.argv[1:])
