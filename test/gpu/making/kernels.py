"""What each kernel and matmul of GPT-2 must compute, for ppopt-gpu-kernels (test/gpu/kernels)."""
import os

from making.compiler import GPU, cuda_flags, make_gpt
from making.gpt2 import FLAGS, shape_of, sizes_of
from support.executable import checked

TOOL = "ppopt-gpu-kernels"
BATCH, TINY_BATCH = 8, 2
SAMPLES, TINY_SAMPLES = 1000, 50  # of each result
TINY_OPERANDS = 1 << 12           # of each approximate instruction
LIMIT = 1800


def add_kernels(folder, build, ppopt, directory):
    """Without the tool in the build the manifest says None, and the parts that need it fail."""
    tool = os.path.join(build, "bin", "test", TOOL)
    folder.manifest["kernels"] = None
    if not os.path.exists(tool):
        print(f"bundle: without the parts kernels and instructions: {tool} is not built")
        return
    batch = TINY_BATCH if folder.tiny else BATCH
    model = make_gpt(ppopt, os.path.join(directory, "kernels_model.mlir"), [*sizes_of(shape_of(folder)), "--batch", str(batch)])
    kernels, target = os.path.join(directory, "kernels.mlir"), os.path.join(folder.path, "kernels")
    checked([ppopt, "compile", model, *cuda_flags(), *FLAGS, "--stop-after=kernels", "-o", kernels])
    code = {name: os.path.join(directory, f"{name}.ll") for name in ("kernels", "instructions")}
    flags = ["--save-device-ir", code["kernels"], "--save-instruction-ir", code["instructions"], "--operands", str(TINY_OPERANDS)] if folder.tiny else []
    checked([os.path.join(build, "bin", "test", "ppopt-emulate"), kernels, "--save-expectations", target, "--gpu", GPU, "--samples",
             str(TINY_SAMPLES if folder.tiny else SAMPLES), *flags], LIMIT)
    entry = {"tool": folder.add(tool, f"executables/{TOOL}"), "folder": "kernels", "rows": batch}
    if folder.tiny:
        entry["code"] = [folder.add(path, f"executables/{name}.ll") for name, path in code.items()]
    folder.manifest["kernels"] = entry
