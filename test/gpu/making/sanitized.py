"""A tiny GPT for compute-sanitizer: rows, heads and a vocabulary that fill no tile."""
import os

from making.compiler import compile_cuda, make_gpt
from making.folder import in_parallel

SIZES = ["--layers", "2", "--width", "48", "--heads", "2", "--vocab", "259", "--seq", "40", "--batch", "4"]
PROGRAMS = {"bf16": ["--precision", "bf16", "--matmul", "generated"], "f32": ["--matmul", "generated"], "bf16_library": ["--precision", "bf16"]}


def add_sanitized(folder, ppopt, directory):
    model = make_gpt(ppopt, os.path.join(directory, "sanitized.mlir"), SIZES)

    def add(name):
        path = os.path.join(directory, f"sanitized_{name}")
        folder.add_executable(f"sanitized_{name}", compile_cuda(ppopt, model, path, PROGRAMS[name]).path)
    # Nothing runs them on the fake libraries, but one shows what executables link.
    names = list(PROGRAMS)[:1] if folder.tiny else PROGRAMS
    in_parallel(add, names)
    folder.manifest["sanitizer"] = {name: f"sanitized_{name}" for name in names}
