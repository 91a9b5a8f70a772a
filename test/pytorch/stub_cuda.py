#!/usr/bin/env python3
"""Makes `import torch` work without the CUDA packages that PyPI's wheel asks for.

PyPI has PyTorch for Linux on x86-64 with CUDA only; its libraries name a dozen CUDA libraries (2.5 GB of packages) and do
not load without them, though a run on the CPU never calls one. This script reads which libraries and which versioned
symbols the wheel's libraries miss and writes a shared library of that name beside them, where each function returns the
error "insufficient driver" (35). torch.cuda.is_available() is then False and everything on the CPU is the wheel's own.

usage: stub_cuda.py SITE_PACKAGES/torch/lib
"""
import pathlib
import re
import subprocess
import sys
import tempfile

CUDA = re.compile(r"^lib(cublas|cublasLt|cudart|cudnn|cufft|cufile|cupti|cusolver|cusparse|cusparseLt|nccl|nvrtc|nvshmem_host)\.so")

# Symbols that carry no version: which library they belong to, by prefix.
UNVERSIONED = [("nccl", "libnccl.so."), ("cufile", "libcufile.so."), ("cuFile", "libcufile.so."),
               ("cusparseLt", "libcusparseLt.so."), ("nvshmem", "libnvshmem_host.so.")]


def dynamic(path, *flags):
    return subprocess.run(["readelf", "-W", *flags, str(path)], check=True, capture_output=True, text=True).stdout


def missing(libs):
    """{soname: {(symbol, version, is_object)}} that the libraries need and that neither they nor the system have."""
    here = {p.name for p in libs}
    needed = {}
    for path in libs:
        for soname in re.findall(r"NEEDED.*\[(.*)\]", dynamic(path, "-d")):
            if soname not in here and CUDA.match(soname):
                needed.setdefault(soname, set())
    for path in libs:
        # A version's library stands in the section of version needs.
        library_of = {}
        soname = None
        for line in dynamic(path, "-V").splitlines():
            if m := re.search(r"File: (\S+)", line):
                soname = m.group(1)
            elif (m := re.search(r"Name: (\S+)\s+Flags", line)) and soname:
                library_of[m.group(1)] = soname
        for line in dynamic(path, "--dyn-syms").splitlines():
            field = line.split()
            if len(field) < 8 or field[6] != "UND":
                continue
            name, _, version = field[7].partition("@")
            version = version.lstrip("@")
            soname = library_of.get(version)
            if not version:
                soname = next((s for p, stem in UNVERSIONED if name.startswith(p) for s in needed if s.startswith(stem)),
                              None)
            if soname in needed:
                needed[soname].add((name, version, field[3] == "OBJECT"))
    return needed


def write_stub(directory, soname, symbols):
    # One definition a symbol, at one version: the same name at two versions would need two bodies.
    by_name = {}
    for name, version, is_object in sorted(symbols):
        by_name[name] = (version, is_object)
    code = [".text"]
    for name, (version, is_object) in by_name.items():
        kind = "object" if is_object else "function"
        code.append(f".globl {name}\n.type {name},@{kind}\n{name}:")
        code.append("  .zero 64" if is_object else "  movl $35, %eax\n  ret")
        code.append(f".size {name}, .-{name}")
    code.append('.section .note.GNU-stack,"",@progbits')
    versions = {}
    for name, (version, _) in by_name.items():
        if version:
            versions.setdefault(version, []).append(name)
    script = "".join(f"{v} {{ global: {'; '.join(names)}; }};\n" for v, names in versions.items())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "stub.s").write_text("\n".join(code) + "\n")
        (scratch / "stub.map").write_text(script)
        command = ["gcc", "-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-o", str(directory / soname), "stub.s"]
        if script:
            command.append("-Wl,--version-script=stub.map")
        subprocess.run(command, check=True, cwd=scratch)


def main():
    directory = pathlib.Path(sys.argv[1]).resolve()
    libs = sorted(p for p in directory.iterdir() if ".so" in p.name and p.is_file())
    for soname, symbols in sorted(missing(libs).items()):
        write_stub(directory, soname, symbols)
        print(f"{soname}: {len(symbols)} symbols")


if __name__ == "__main__":
    main()
