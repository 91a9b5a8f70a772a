#!/usr/bin/env python3
"""Whether a change that is to change no behaviour changes a bit: f64 models under all kinds of plans, recorded before it and compared after it.

    golden_losses.py record FILE [--ppopt PPOPT]     # with the compiler before the change
    golden_losses.py compare FILE [--ppopt PPOPT]    # with the one after; exit status 1, and what differs, where something does

Of each program: the losses, bit for bit, checksums of the first step's gradients and of the last parameters, what the compiler predicts of a step
(launches, FLOPs, bytes sent) and the bytes of each place's arena. Compiled for x86-64-v3 and one thread per rank; matmuls follow the
instructions of the machine, so FILE is of one kind of machine.
"""
import argparse
import hashlib
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.executable import compile_model, run  # noqa: E402

import plans  # noqa: E402
from programs import initial_parameters, run_flags  # noqa: E402
from stage_plans import MODELS, StagePlan  # noqa: E402

# (model, plan, run): every schedule, dp, pp, both, owner, local, every recompute, blocks of rows, every optimizer, and shards.
CASES = [("lm", plans.Plan(1, 1), "sgd momentum"),
         ("lm", plans.Plan(3, 2, recompute="layer"), "adamw clipped"),
         ("losses", plans.Plan(2, 4, recompute="none"), "sgd clipped"),
         ("lm", plans.Plan(1, 2, block_bytes=300), "sgd nesterov"),
         ("gpt", StagePlan(3, 1, 1, "naive"), "sgd"),
         ("gpt", StagePlan(3, 3, 1, "gpipe", recompute="layer"), "sgd momentum"),
         ("gpt", StagePlan(4, 8, 1, "1f1b"), "adamw clipped"),
         ("gpt", StagePlan(2, 3, 2, "interleaved"), "sgd clipped"),
         ("gpt", StagePlan(3, 3, 2, "zb-h1", recompute="none"), "sgd momentum"),
         ("gpt", StagePlan(2, 8, 1, "zb-v"), "sgd nesterov"),
         ("gpt", StagePlan(2, 3, 1, "dualpipe-v"), "sgd"),
         ("gpt", StagePlan(3, 3, 1, "auto"), "sgd"),
         ("tied", StagePlan(4, 2, 2, tied="owner"), "adamw clipped"),
         ("towers", StagePlan(3, 2, 2), "sgd clipped"),
         ("detached", StagePlan(4, 2, schedule="zb-h1"), "sgd momentum"),
         ("spread", StagePlan(2, 2, local=True, recompute="layer"), "sgd"),
         ("penalties", StagePlan(4, 3, tied="owner", local=True), "sgd clipped"),
         ("lm", plans.Plan(3, 2, zero=1, bucket_bytes="200"), "adamw clipped"),
         ("losses", plans.Plan(2, 2, fsdp=2, zero=1), "sgd clipped"),
         ("gpt", StagePlan(2, 3, 2, "zb-v", zero=1, bucket_bytes="200"), "sgd momentum"),
         ("tied", StagePlan(4, 2, 2, tied="owner", zero=1), "adamw clipped")]


def checksum(tensors):
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].tobytes())
    return digest.hexdigest()[:32]


def machine():
    """The instructions that matmuls may use here."""
    with open("/proc/cpuinfo") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    return " ".join(flag for flag in ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile") if flag in flags)


def train(ppopt, directory, model, plan, run_name):
    compile_flags, run_own = run_flags(run_name)
    text = (HERE / "models" / f"{model}.mlir").read_text()
    path = os.path.join(directory, f"{model}_{plan.name}.mlir")
    with open(path, "w") as file:
        file.write(plan.adapt(text) if isinstance(plan, StagePlan) else text)
    executable = compile_model(ppopt, path, path[:-5], [*plan.flags, "--threads", "1", "--cpu", "x86-64-v3", *compile_flags], optimized=True)
    momentum = ["--momentum", "0"] if executable.keeps_velocity and "sgd" in compile_flags and "--momentum" not in run_own else []
    result = run(executable, [*run_own, *momentum, "--seed", "5", "--check-counters"], dump_gradients=True, init=initial_parameters(executable),
                 inputs=MODELS[model][0](np.random.default_rng(1)), steps=plans.STEPS)
    places = executable.program["places"]
    return {"losses": result.hexadecimal, "gradients": checksum(result.gradients), "parameters": checksum(result.parameters),
            "predicted": [place["predicted"] for place in places], "arena bytes": [place["arena"]["bytes"] for place in places]}


def differences(before, after):
    """What differs between two records of one program, in words."""
    return [f"{what}: {before.get(what)} before, {after.get(what)} now"
            for what in sorted({*before, *after}) if before.get(what) != after.get(what)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("file")
    parser.add_argument("--ppopt", default=str(HERE.parent.parent / "build" / "release" / "bin" / "ppopt"))
    args = parser.parse_args()
    before = None
    if args.command == "compare":
        with open(args.file) as file:
            before = json.load(file)
        if before["machine"] != machine():
            sys.exit(f"{args.file} was recorded on a machine with {before['machine']}, and this one has {machine()}: record it here")
    programs, red = {}, 0
    with tempfile.TemporaryDirectory() as directory:
        for model, plan, run_name in CASES:
            name = f"{model} {plan.name}, {run_name}"
            programs[name] = train(args.ppopt, directory, model, plan, run_name)
            if before is None:
                print(f"recorded {name}", flush=True)
                continue
            found = differences(before["programs"].get(name, {}), programs[name])
            red += bool(found)
            print("\n    ".join([f"{'differs' if found else 'same'} {name}", *found]), flush=True)
    if before is None:
        with open(args.file, "w") as file:
            json.dump({"machine": machine(), "programs": programs}, file, indent=1)
        return 0
    gone = sorted({*before["programs"]} - {*programs})
    for name in gone:
        print(f"recorded, but no case any more: {name}")
    print(f"{len(programs) - red} the same, {red + len(gone)} not")
    return 1 if red or gone else 0


if __name__ == "__main__":
    sys.exit(main())
