"""The parts of test/gpu/run, in the order in which they run.

A part is a module with

    run(context)    measures; context is a measure.context.Context. What it finds it gives to context.add(...), in pieces: what was added stays
                    if the part is killed. Raises Skip if the machine lacks what it needs, Failed if something is wrong.
    lines(found)    returns what it found as lines of text, under 100 columns; `found` may lack anything that was not reached.

and a row here.
"""
import collections
import importlib

MOST_SECONDS = 570           # of the parts for one GPU
MOST_SECONDS_OF_SEVERAL = 330  # of the others, which are skipped there
Part = collections.namedtuple("Part", "name module limit title")

#              module        seconds
TABLE = {
    "versions": ("versions", 20, "the machine, its libraries and tools"),
    "kernels": ("kernels", 90, "each kernel and matmul of GPT-2 against expectations"),
    "instructions": ("instructions", 20, "errors of approximate instructions"),
    "equivalence": ("equivalence", 60, "plans on one GPU against CPUs"),
    "predictions": ("predictions", 20, "outputs on one GPU against CPUs"),
    "sanitizer": ("sanitizer", 45, "compute-sanitizer on a tiny GPT"),
    "gpt2": ("gpt2", 105, "GPT-2 124M: speed, and time per kernel"),
    "torch": ("torch_compile", 145, "the same model by torch.compile"),
    "ncu": ("ncu", 45, "the heaviest kernels under Nsight Compute"),
    "nccl": ("nccl", 20, "NCCL with one rank, and its answer to two"),
    "multi": ("multi", 240, "several GPUs: plans against CPUs, a failure, NCCL's rates"),
    "scaling": ("scaling", 90, "several GPUs: GPT-2's tokens per second on 1, 2, 4, 8"),
}
OF_SEVERAL = ("multi", "scaling")
PARTS = {name: Part(name, module, limit, title) for name, (module, limit, title) in TABLE.items()}


def load(name):
    return importlib.import_module(f"{__name__}.{PARTS[name].module}")
