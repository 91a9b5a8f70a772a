"""A small GPT that returns its logits, and what the same program predicts on a CPU."""
import os

from making.compiler import compile_cuda, write
from making.folder import in_parallel
from predictions.predictions import predict
from predictions.subjects import GPT, draw
from support import safetensors_io
from support.executable import checked, compile_model

#        name      flags
PLANS = {"one": [], "zero3": ["--mesh", "fsdp=2", "--zero", "3"], "pp": ["--mesh", "pp=2"], "blocks": ["--block-bytes", "64"]}


def add_predictions(folder, ppopt, directory):
    """Not to the tiny bundle: --save-device-ir writes the kernels of training alone, and the fake libraries would have none to run."""
    if folder.tiny:
        return
    model = write(os.path.join(directory, "predicts.mlir"), GPT().edited(checked([ppopt, "model", "gpt", *GPT.FLAGS]).stdout))
    cpu = compile_model(ppopt, model, os.path.join(directory, "predicts_cpu"), ["--threads", "1"])
    paths = {name: os.path.join(directory, f"predicts.{name}.safetensors") for name in ("rows", "parameters")}
    safetensors_io.write(paths["rows"], GPT().rows())
    safetensors_io.write(paths["parameters"], draw({each["name"]: each["shape"] for each in cpu.program["parameters"]}, scale=GPT.SCALE))
    predict(cpu, paths["parameters"], [paths["rows"]])
    paths["outputs"] = cpu.path + ".out"

    def add(name):
        key = f"predicts_{name}"
        executable = compile_cuda(ppopt, model, os.path.join(directory, key), PLANS[name])
        folder.add_executable(key, executable.path)
        return {"name": name, "executable": key, "ranks": executable.ranks}
    folder.manifest["predictions"] = {"files": {name: folder.add(path, f"predictions/{name}.safetensors") for name, path in paths.items()},
                                      "programs": in_parallel(add, PLANS)}
