#!/usr/bin/env python3
"""Measures what we promise of speed and memory against PyTorch, side by side. README.md says how to run and read it."""
import argparse
import os
import sys
import tempfile

import blocks
import goals
import imported
import machine
import planning
import prediction
import matmuls
import neighbours
import ops
import schedules
import tasks
from runs import HERE, ISAS, Failed, cores
from table import Table

SOURCE = HERE.parent.parent
# The table of goals, and parts without goals, which are measured when they are asked for.
OTHERS = {"schedules": schedules.measure, "tasks": tasks.measure, "planning": planning.measure, "matmuls": matmuls.measure,
          "blocks": blocks.measure, "prediction": prediction.measure, "imported": imported.measure, "ops": ops.measure}
# With goals, but beside a program that disturbs them.
GOALS = goals.PARTS | {"neighbours": neighbours.measure}
NEED_PYTORCH = goals.NEED_PYTORCH | {"imported", "ops", "neighbours"}


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=[*GOALS, *OTHERS], nargs="+", default=list(goals.PARTS),
                        help="some of the parts (default: those of the table of goals)")
    parser.add_argument("--steps", type=int, default=11, help="steps of a run; the first is not timed (default 11)")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each side, in turn (default 2)")
    parser.add_argument("--json", metavar="FILE", help="keep the table there; lines that it has and that are not measured stay")
    parser.add_argument("--device", metavar="FILE", help="of prediction: what `ppopt machine --threads 1 -o FILE` wrote before")
    parser.add_argument("--models", choices=prediction.MODELS, nargs="+", default=["small"], help="of prediction (default small)")
    parser.add_argument("--precisions", choices=prediction.PRECISIONS, nargs="+", default=["f32"], help="of prediction (default f32)")
    parser.add_argument("--markdown", action="store_true", help="print the table in --json's FILE, and measure nothing")
    parser.add_argument("--isa", choices=list(ISAS), help="limit all sides to these instructions")
    parser.add_argument("--realtime", action="store_true",
                        help="measure under chrt -f 10 (as root), for a machine on which other programs run")
    parser.add_argument("--build", default=str(SOURCE / "build" / "release"))
    parser.add_argument("--pytorch", default=str(SOURCE / ".venv-pytorch" / "bin" / "python"))
    parser.add_argument("--jax", default=str(SOURCE / ".venv-jax" / "bin" / "python"))
    parser.add_argument("--data", default=str(HERE / "README.md"), help="text to train on; only speed matters")
    options = parser.parse_args()
    if options.markdown and not options.json:
        parser.error("--markdown needs --json FILE")
    options.ppopt = os.path.join(options.build, "bin", "ppopt")
    return options


def require(options):
    needed = [(options.ppopt, "build it first (tools/check or ninja)")]
    if NEED_PYTORCH & set(options.only):
        needed.append((options.pytorch, "run test/pytorch/install.sh"))
    for path, how in needed:
        if not os.path.exists(path):
            sys.exit(f"bench.py: {path} is missing: {how}")
    if len(cores()) < 2:
        sys.exit("bench.py: needs two cores")


def main():
    options = parse()
    table = Table(options.json)
    if options.markdown:
        print(table.markdown())
        return
    require(options)
    if options.realtime:
        # Above what it starts, so that it sees the first step when it ends.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))
    if options.isa:
        os.environ.update(ISAS[options.isa][0])
    print(machine.describe(options), flush=True)
    failed = []
    for part in options.only:
        with tempfile.TemporaryDirectory() as directory:
            print(f"{part}: load average " + " ".join(f"{load:.1f}" for load in os.getloadavg()), flush=True)
            try:
                if part in OTHERS:
                    OTHERS[part](options, directory)
                else:
                    GOALS[part](options, directory, table)
            except Failed as error:
                print(f"{part}: {error}", flush=True)
                failed.append(part)
    if failed:
        sys.exit(f"bench.py: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
