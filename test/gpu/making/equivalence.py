"""Plans that are trained on one GPU, and what the same plans compute on a CPU."""
import dataclasses
import functools
import os

import numpy as np

from check_cuda import CudaPrograms
from check_fake import losses_of
from making.attention import CASES as ATTENTION
from making.attention import add_attention
from making.compiler import compile_cuda, cuda_flags, make_gpt
from making.folder import in_parallel
from plans import RUNS, STEPS, Plan
from programs import TOLERANCE, Programs, initial_parameters, run_flags, training_flags
from stage_plans import MODELS, StagePlan
from support import safetensors_io
from support.executable import checked, compile_model

TYPES_GPT = ["--layers", "2", "--width", "48", "--heads", "2", "--vocab", "259", "--seq", "40", "--batch", "8"]
TYPES_FLAGS = ["--steps", "4", "--lr", "0.001"]
# Of the losses, as in test/device/check_cuda.py.
TYPES = {"f32": ("model", 1e-5), "bf16": ("bf16", 1e-2)}


@dataclasses.dataclass(frozen=True)
class OnGpu:
    """A plan, with who computes its matmuls and the GPU that its code is for."""
    plan: object
    matmul: str
    gpu: str

    @property
    def name(self):
        return f"{self.plan.name}_{self.matmul}_{self.gpu}"

    @property
    def flags(self):
        return [*self.plan.flags, *cuda_flags(self.gpu)[2:-2], "--matmul", self.matmul]

    def adapt(self, text):
        return self.plan.adapt(text) if hasattr(self.plan, "adapt") else text


# sm_80 is PTX only on later GPUs, compiled by the driver.
CASES = [("gpt", StagePlan(1, 1, 1), "adamw clipped", "library", "sm_90a"),
         ("gpt", StagePlan(2, 4, 2, "1f1b", zero=1, bucket_bytes="200"), "sgd clipped", "library", "sm_80"),
         ("gpt", StagePlan(1, 4, 1, recompute="none"), "sgd momentum", "generated", "sm_90a"),
         ("gpt", StagePlan(2, 4, 1, "zb-v"), "sgd momentum", "generated", "sm_80"),
         ("gpt", StagePlan(2, 4, 1, "zb-h1", recompute="layer"), "sgd clipped", "library", "sm_90a"),
         ("lm", Plan(2, 1, zero=1), "sgd averaged", "library", "sm_90a"),
         ("lm", StagePlan(1, 4, 1, fsdp=2, zero=3, gather="step", bucket_bytes="200"), "sgd clipped", "generated", "sm_90a"),
         ("losses", StagePlan(1, 4, 2, fsdp=2, zero=3, bucket_bytes="200"), "adamw clipped", "generated", "sm_80"),
         ("losses", Plan(1, 1), "sgd momentum", "library", "sm_80"),
         ("tied", StagePlan(2, 4, 1, "1f1b", tied="owner"), "sgd momentum", "library", "sm_90a"),
         ("spread", StagePlan(2, 1, 2, "gpipe"), "sgd clipped", "generated", "sm_90a"),
         ("skip", StagePlan(2, 2, 1, "1f1b", zero=2, fsdp=2), "sgd momentum", "library", "sm_80"),
         ("frozen", StagePlan(1, 2, 2, fsdp=2, zero=3, bucket_bytes="200"), "sgd averaged", "library", "sm_90a"),
         ("gpt", StagePlan(1, 4, 2), "adamw clipped", "library", "sm_90a")]
TINY = [1, 6]  # of the tiny bundle


def add_case(folder, programs, cpu, directory, model, plan, run_name, matmul, gpu):
    on_gpu = OnGpu(plan, matmul, gpu)
    executable = programs.executable(model, on_gpu, run_flags(run_name)[0])
    key = f"{model}_{on_gpu.name}_{run_name.replace(' ', '_')}"
    folder.add_executable(key, executable.path)
    reference = cpu.result(model, plan, run_name)
    files = {"inputs": MODELS[model][0](np.random.default_rng(1)), "init": initial_parameters(executable), "gradients": reference.gradients}
    compares_parameters = next(compares for name, _, _, compares in RUNS if name == run_name)
    if compares_parameters:
        files["parameters"] = reference.parameters
    entry = {"name": key, "executable": key, "ranks": executable.ranks, "flags": [*training_flags(executable, run_name), "--steps", str(STEPS)],
             "tolerance": TOLERANCE, "losses": reference.hexadecimal, "files": {}}
    for name, tensors in files.items():
        path = os.path.join(directory, f"{key}.{name}.expected")
        safetensors_io.write(path, {each: np.asarray(values) for each, values in tensors.items()})
        entry["files"][name] = folder.add(path, f"equivalence/{key}.{name}.safetensors")
    return entry


def add_type(folder, ppopt, directory, name, text):
    """The losses of a small GPT in f32 or bf16."""
    precision, tolerance = TYPES[name]
    model = make_gpt(ppopt, os.path.join(directory, f"types_{name}.mlir"), TYPES_GPT)
    flags = ["--precision", precision]
    cpu = compile_model(ppopt, model, os.path.join(directory, f"types_{name}_cpu"), [*flags, "--threads", "1"], optimized=True)
    log = cpu.path + ".jsonl"
    checked([cpu.path, "--data", text, *TYPES_FLAGS, "--log", log])
    key = f"gpt_{name}"
    folder.add_executable(key, compile_cuda(ppopt, model, os.path.join(directory, f"types_{name}_cuda"), flags).path)
    return {"name": key, "executable": key, "ranks": 1, "flags": TYPES_FLAGS, "tolerance": tolerance, "losses": [loss for _, _, loss in losses_of(log)],
            "files": {"data": folder.manifest["text"]}}


def add_equivalence(folder, ppopt, directory, text):
    inputs = {name: make for name, (make, _) in MODELS.items()}
    programs, cpu = CudaPrograms(ppopt, directory, inputs), Programs(ppopt, directory, inputs)
    cases = [case for number, case in enumerate(CASES) if not folder.tiny or number in TINY]
    makers = [functools.partial(add_case, folder, programs, cpu, directory, *case) for case in cases]
    makers += [functools.partial(add_type, folder, ppopt, directory, name, text) for name in TYPES]
    makers += [functools.partial(add_attention, folder, ppopt, directory, *case) for case in (ATTENTION[1:2] if folder.tiny else ATTENTION)]
    folder.manifest["equivalence"] = in_parallel(lambda make: make(), makers)
