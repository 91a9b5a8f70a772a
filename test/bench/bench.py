#!/usr/bin/env python3
"""Times our training step against PyTorch's, our schedules, and our planning. README.md says how to run and read it."""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

import planning
import schedules
import tasks
from runs import HERE, SHAPE, compile_model, cores, ours, pytorchs, write_gpt

SOURCE = HERE.parent.parent


def compare(options, directory, title, ranks, threads, plans, theirs=()):
    """`plans`: our columns, the flags of each; `theirs`: flags of PyTorch's side."""
    model = write_gpt(options, directory)
    executables = {name: os.path.join(directory, f"train-{name}") for name in plans}
    for name, flags in plans.items():
        compile_model(options, model, executables[name], threads, flags)
    runs = {name: [] for name in [*plans, "PyTorch"]}
    for number in range(options.rounds):
        for name in plans:
            runs[name].append(ours(options, executables[name], os.path.join(directory, "ours.jsonl"), ranks, threads))
        runs["PyTorch"].append(pytorchs(options, os.path.join(directory, "pytorch.jsonl"), ranks, threads, theirs))
        print(f"  round {number + 1}: " + ", ".join(f"{name} {min(of[-1].ms):.0f} ms" for name, of in runs.items()), flush=True)

    def row(what, unit, of):
        values = [of(side) for side in runs.values()]
        print(f"  {what:<22}" + "".join(f" {value:>10.1f}" for value in values) + f"  {unit:<4}" +
              "".join(f" {value / values[-1]:>6.2f}" for value in values[:-1]))

    print(f"{title}\n  {'':<22}" + "".join(f" {name:>10}" for name in runs) + f"  {'':<4}" + "  ratio" * len(plans))
    row("minimum step", "ms", lambda runs: min(ms for run in runs for ms in run.ms))
    row("median step", "ms", lambda runs: statistics.median(ms for run in runs for ms in run.ms))
    row("peak memory of a rank", "MiB", lambda runs: max(run.peak for run in runs) / 2**20)
    row("time to first step", "s", lambda runs: min(run.first for run in runs))


def compare_threads(options, directory):
    compare(options, directory, "one process, two threads", 1, 2, {"ours": ["--microbatches", str(options.microbatches)]})


def compare_ranks(options, directory):
    compare(options, directory, "two data-parallel ranks of one thread (mpirun; DDP over gloo)", 2, 1,
            {"ours": ["--mesh", "dp=2", "--microbatches", str(options.microbatches)]})


def compare_pipelines(options, directory):
    count = str(options.pipeline_microbatches)
    title = f"a pipeline of two ranks of one thread, {count} microbatches (mpirun; Schedule1F1B over gloo)"
    compare(options, directory, title, 2, 1,
            {name: ["--mesh", "pp=2", "--schedule", name, "--microbatches", count] for name in ("1f1b", "zb-h1")},
            ["--microbatches", count])


PARTS = {"threads": compare_threads, "ranks": compare_ranks, "pipeline": compare_pipelines, "schedules": schedules.measure,
         "tasks": tasks.measure, "planning": planning.measure}
NEED_PYTORCH = {"threads", "ranks", "pipeline"}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in zip(SHAPE, (6, 384, 6, 256, 256, 8)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"of the GPT (default {value})")
    parser.add_argument("--steps", type=int, default=8, help="steps of a run; the first is not timed (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side, in turn (default 3)")
    parser.add_argument("--microbatches", type=int, default=1, help="of ours in threads and ranks (default 1)")
    parser.add_argument("--pipeline-microbatches", type=int, default=4, help="of both sides in pipelines (default 4)")
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager; not of pipelines")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS), help="some of the parts")
    parser.add_argument("--build", default=str(SOURCE / "build" / "release"))
    parser.add_argument("--pytorch", default=str(SOURCE / ".venv-pytorch" / "bin" / "python"))
    parser.add_argument("--data", default=str(HERE / "bench.py"), help="text to train on; only speed matters")
    options = parser.parse_args()
    options.ppopt = os.path.join(options.build, "bin", "ppopt")
    needed = [(options.ppopt, "build it first (tools/check or ninja)")]
    if NEED_PYTORCH & set(options.only):
        needed.append((options.pytorch, "run test/pytorch/install.sh"))
    for path, how in needed:
        if not os.path.exists(path):
            sys.exit(f"bench.py: {path} is missing: {how}")
    if len(cores()) < 2:
        sys.exit("bench.py: needs two cores")
    for part in options.only:
        with tempfile.TemporaryDirectory() as directory:
            print("load average " + " ".join(f"{load:.1f}" for load in os.getloadavg()), flush=True)
            PARTS[part](options, directory)


if __name__ == "__main__":
    main()
