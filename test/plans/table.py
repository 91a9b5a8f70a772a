#!/usr/bin/env python3
"""Prints the tables of docs/automatic-plan.md: what --plan auto chooses beside every plan, measured steps, and plans that people use.

    PYTHONPATH=test test/plans/table.py every [--ranks 2 4 8] [--models gpt ...]   # a minute for each model with 8 ranks
    PYTHONPATH=test test/plans/table.py measured --ranks 2 --folder F              # wants a quiet machine; programs stay in F
    PYTHONPATH=test test/plans/table.py megatron
    PYTHONPATH=test test/plans/table.py used [--large]
    PYTHONPATH=test test/plans/table.py published

The first line says the day, the machine and the commit.
"""
import argparse
import hashlib
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "bench")]
import numpy as np  # noqa: E402
from support import safetensors_io  # noqa: E402
from support.printed_times import predicted_step  # noqa: E402

import machine  # noqa: E402
import published  # noqa: E402
import runs  # noqa: E402
from models import MODELS  # noqa: E402
from predictor import Predictor, every_plan  # noqa: E402
from spaces import shard_of  # noqa: E402

HOPPERS = ["--target", "cuda", "--gpu", "sm_90a", "--cluster", "hgx-h100-400g", "--precision", "bf16"]


def write_row(*cells):
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def write_head(*names):
    write_row(*names)
    print("|" + "---|" * len(names), flush=True)


def spell(seconds):
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def write_model(options, directory, name, batch, **sizes):
    """The model's path, and the flags of plans with tp."""
    path = os.path.join(directory, f"{name}.mlir")
    text = MODELS[name](options.ppopt, batch, **sizes)
    with open(path, "w") as file:
        file.write(text)
    return path, shard_of(text)


def list_plans(options, path, shard, ranks, batch, flags):
    """[(step in seconds, flags)] of all plans that compile, fastest first, and the choice."""
    plans = list(every_plan(ranks, batch, shard))
    figures = Predictor(options.build, path, flags).predict(plans)
    chosen = Predictor(options.build, path, flags).choose(ranks, "--device-memory", "unlimited")
    return sorted((of["step"] / 1e9, plan) for of, plan in zip(figures, plans) if "step" in of), chosen


def print_every(options, directory):
    write_head("model", "ranks", "plans", "best predicted", "choice", "ratio", "the choice's plan")
    for name in options.models:
        for ranks in options.ranks:
            path, shard = write_model(options, directory, name, batch=8)
            plans, chosen = list_plans(options, path, shard, ranks, 8, ["--device", "builtin", "--threads", "1"])
            step = chosen["step"] / 1e9
            write_row(name, ranks, len(plans), f"{plans[0][0] * 1e3:.3f} ms", f"{step * 1e3:.3f} ms", f"{step / plans[0][0]:.3f}", f"`{' '.join(chosen['flags'])}`")


# ----------------------------------------------------------------------
# Measured
# ----------------------------------------------------------------------

# Large enough that a step of two ranks takes 20 ms at least.
LARGE = {"gpt": (8, {"layers": 4, "width": 256, "heads": 4, "vocab": 512, "seq": 128}),
         "llama": (8, {"layers": 4, "width": 240, "heads": 6, "kv_heads": 2, "mlp_width": 640, "vocab": 512, "seq": 128}),
         "skips": (256, {"width": 768, "depth": 6, "targets": 64}),
         "towers": (256, {"inputs": 256, "wide": (1024, 4), "narrow": (256, 3), "targets": 64}),
         "embedding": (64, {"rows": 100_000, "width": 64}),
         "thin": (4096, {"width": 64, "depth": 24})}
COUNTS = (1, 2, 4, 8)  # of microbatches
SHOWN = 10


def write_rows(path, model, batch):
    """Random rows for each of the model's inputs."""
    generator = np.random.default_rng(0)
    tensors = {}
    for shape, kind, name in re.findall(r'tensor<([\dx]+)x(f32|i32)> \{pp.input = "(\w+)"', model):
        shape = [batch, *map(int, shape.split("x")[1:])]
        tensors[name] = (generator.normal(size=shape).astype("f4") if kind == "f32" else generator.integers(0, 500, shape).astype("i4"))
    safetensors_io.write(path, tensors)


class Candidate:
    """A plan that is compiled and measured."""

    def __init__(self, options, folder, path, name, predicted, flags):
        self.predicted, self.flags, self.times = predicted, flags, []
        self.executable = os.path.join(folder, f"{name}-{hashlib.sha1(' '.join(flags).encode()).hexdigest()[:12]}")
        if not os.path.exists(self.executable):
            runs.compile_model(options, path, self.executable, 1, [*flags, "--device", options.device, "--no-generation"])

    def run(self, options, ranks, data):
        self.times += runs.ours(options, self.executable, self.executable + ".jsonl", ranks, 1, data=data).ms

    @property
    def median(self):
        return statistics.median(self.times)


def print_measured(options, directory):
    folder = options.folder or directory
    os.makedirs(folder, exist_ok=True)
    options.device = os.path.join(folder, "device.json")
    if not os.path.exists(options.device):
        subprocess.run([options.ppopt, "machine", "--threads", "1", "-o", options.device], check=True, stdout=subprocess.DEVNULL)
    if not options.compile_only:
        write_head("model", "ranks", "plans", "choice: predicted", "measured", "best of ten", "of ten drawn", "choice / best", "its place", "within 5 %")
    for name in options.models:
        batch, sizes = LARGE[name]
        path, shard = write_model(options, folder, name, batch, **sizes)
        with open(path) as file:
            write_rows(path + ".safetensors", file.read(), batch)
        data = None if name in ("gpt", "llama") else ["--inputs", path + ".safetensors"]
        for ranks in options.ranks:
            measure(options, folder, path, shard, name, ranks, batch, data)


def measure(options, folder, path, shard, name, ranks, batch, data):
    flags = ["--device", options.device, "--threads", "1", "--optimizer", "adamw"]
    listed = [plan for plan in every_plan(ranks, batch, shard, counts=COUNTS)]
    figures = Predictor(options.build, path, flags).predict(listed)
    # Of plans that are the same under two names, one.
    plans = {}
    for of, plan in zip(figures, listed):
        if "step" in of:
            plans.setdefault((of["step"], of["memory"]), plan)
    plans = sorted((step / 1e9, plan) for (step, _), plan in plans.items())
    chosen = Predictor(options.build, path, flags).choose(ranks, "--device-memory", "unlimited")
    drawn = random.Random(0).sample(plans[SHOWN:], min(SHOWN, len(plans[SHOWN:])))
    candidates = [Candidate(options, folder, path, f"{name}-{ranks}", step, plan)
                  for step, plan in [(chosen["step"] / 1e9, chosen["flags"]), *plans[:SHOWN], *drawn]]
    if options.compile_only:
        return
    for _ in range(options.rounds):
        for candidate in candidates:
            candidate.run(options, ranks, data)
    choice, *others = candidates
    best, of_drawn = min(each.median for each in others[:SHOWN]), min(each.median for each in others[SHOWN:])
    fastest = min(best, of_drawn, choice.median)
    place = 1 + sum(each.median < choice.median for each in others if each.flags != choice.flags)
    write_row(name, ranks, len(plans), f"{choice.predicted * 1e3:.1f} ms", f"{choice.median:.1f} ms", f"{best:.1f} ms", f"{of_drawn:.1f} ms",
              f"{choice.median / fastest:.3f}", f"{place} of {len(candidates)}", "yes" if choice.median <= 1.05 * fastest else "no")
    if options.verbose:
        for each in candidates:
            print(f"  {each.predicted * 1e3:8.2f} {each.median:8.2f} {each.predicted * 1e3 / each.median:6.3f}  {' '.join(each.flags)}", flush=True)


# ----------------------------------------------------------------------
# Plans that people use
# ----------------------------------------------------------------------

def predict(options, model, flags):
    """The predicted seconds of a step, or None and why there are none."""
    done = subprocess.run([options.ppopt, "plan", model, *flags], capture_output=True, text=True)
    if done.returncode:
        return None, next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
    return predicted_step(done.stdout), re.search(r"^  1 .*?(--mesh .*)$", done.stdout, re.MULTILINE)


def choose(options, model, ranks, flags):
    """The predicted seconds of the choice, and its flags."""
    step, found = predict(options, model, ["--plan", "auto", "--ranks", str(ranks), *flags])
    if step is None:
        raise SystemExit(found)
    return step, found[1]


def write_used(options, directory, name, *flags):
    path = os.path.join(directory, name + ".mlir")
    subprocess.run([options.ppopt, "model", *map(str, flags), "-o", path], check=True)
    return path


def without(flags, *names):
    """Flags without some of them, and the words after these."""
    return [word for at, word in enumerate(flags) if word not in names and (at == 0 or flags[at - 1] not in names)]


def print_megatron(options, directory):
    """Megatron-LM's plans beside the choice for as many GPUs, and its shardings beside what --shard auto finds."""
    write_head("model", "GPUs", "Megatron-LM's plan", "predicted", "with `--shard auto`", "choice", "ratio", "the choice's plan")
    for row in published.ROWS[:4]:
        if options.only not in row.name:
            continue
        model = published.write_model(options.ppopt, row, directory)
        theirs = published.flags_of(row)
        step, why = predict(options, model, theirs)
        if step is None:
            raise SystemExit(why)
        proposed = None
        if row.parts > 1:
            proposed, why = predict(options, model, [*without(theirs, "--shard"), "--shard", "auto"])
            if proposed is None:
                raise SystemExit(why)
        given = [*published.MACHINE, *map(str, row.flags), *options.search]
        ours, flags = choose(options, model, row.ranks, without(given, "--recompute", "--shard"))
        write_row(row.name, row.ranks, f"`{' '.join(theirs[:4])}`", spell(step), spell(proposed) if proposed else "", spell(ours), f"{ours / step:.3f}",
                  f"`{flags}`")


USED = [("Llama 3 8B, 256 x 4,096 tokens", ["llama", "--preset", "8b", "--seq", 4096, "--batch", 256], 64, ["--mesh", "fsdp=64", "--zero", "3"]),
        # torchtitan's table 3 and 4 (benchmarks/llama3_h100_202412_torchtitan.md).
        ("Llama 3 8B, 256 x 8,192 tokens", ["llama", "--preset", "8b", "--seq", 8192, "--batch", 256], 128, ["--mesh", "fsdp=128", "--zero", "3"]),
        ("Llama 3 70B, 512 x 8,192 tokens", ["llama", "--preset", "70b", "--seq", 8192, "--batch", 512], 256,
         ["--mesh", "fsdp=32,tp=8", "--zero", "3", "--microbatches", "16", "--recompute", "layer"])]

LARGEST = published.ROWS[-1]
USED_LARGE = [(f"{LARGEST.name}, 2,048 x 8,192 tokens",
               [*LARGEST.model, "--layers", LARGEST.layers, "--width", LARGEST.width, "--seq", LARGEST.seq, "--batch", LARGEST.batch], LARGEST.ranks,
               ["--mesh", "pp=16,dp=128,tp=8", "--microbatches", "16", "--schedule", "interleaved", "--chunks", "8", "--zero", "2"])]


def print_used(options, directory):
    write_head("model", "GPUs", "plan", "predicted", "choice", "ratio", "the choice's plan")
    for name, model, ranks, plan in [*USED, *(USED_LARGE if options.large else [])]:
        if options.only not in name:
            continue
        path = write_used(options, directory, "used", *model)
        theirs, why = predict(options, path, [*plan, *HOPPERS])
        ours, flags = choose(options, path, ranks, [*HOPPERS, *options.search])
        write_row(name, ranks, f"`{' '.join(plan)}`", spell(theirs) if theirs else why, spell(ours), f"{ours / theirs:.3f}" if theirs else "", f"`{flags}`")


def print_published(options, directory):
    for line in published.predict(options.ppopt, [row for row in published.ROWS if options.only in row.name]):
        print(line, flush=True)


PARTS = {"every": print_every, "measured": print_measured, "megatron": print_megatron, "used": print_used, "published": print_published}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", choices=PARTS, nargs="+")
    parser.add_argument("--build", default=str(HERE.parent.parent / "build" / "release"))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--ranks", nargs="+", type=int, default=[2, 4, 8])
    parser.add_argument("--folder", help="of measured: where programs are kept for the next run")
    parser.add_argument("--compile-only", action="store_true", help="of measured: for a later run with --folder")
    parser.add_argument("--verbose", action="store_true", help="of measured: a line for each plan")
    parser.add_argument("--rounds", type=int, default=2, help="of measured: runs of each plan, in turn")
    parser.add_argument("--steps", type=int, default=6, help="of measured: steps of a run; the first is not timed")
    parser.add_argument("--only", metavar="TEXT", default="", help="of megatron, used and published: rows whose name has this")
    parser.add_argument("--most-compilations", metavar="N", help="of megatron and used: passed on to --plan auto")
    parser.add_argument("--large", action="store_true", help="of used: also Llama 3 405B, for five minutes")
    options = parser.parse_args()
    options.ppopt = os.path.join(options.build, "bin", "ppopt")
    options.search = ["--most-compilations", options.most_compilations] if options.most_compilations else []
    options.realtime, options.isa, options.data = False, None, str(HERE.parent / "bench" / "README.md")
    print(machine.describe(options), flush=True)
    for part in options.parts:
        with tempfile.TemporaryDirectory() as directory:
            PARTS[part](options, directory)


if __name__ == "__main__":
    main()
