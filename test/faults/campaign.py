#!/usr/bin/env python3
"""Kills ranks at random moments, many times, and holds what is resumed against a run without a fault.

    test/faults/campaign.py --kills 100 --seed 1 [--plans dp,pp,both,shards] [--build build/release]

At least a fifth of the kills is in each of forward, backward, all-reduce, update and save (kills.py); plans take turns, the
rank is random. Prints each kill, and the counts at the end. The exit status is 0 if nothing was found.
"""

import argparse
import collections
import os
import random
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from kills import Plan  # noqa: E402
from support.executable import checked, compile_model  # noqa: E402
from support.results import SOURCE  # noqa: E402

ASKED = ("forward", "backward", "all-reduce", "update", "save")
PLANS = {"dp": ["--mesh", "dp=2"], "pp": ["--mesh", "pp=2"], "both": ["--mesh", "dp=2,pp=2"],
         "shards": ["--mesh", "dp=2", "--zero", "3", "--bucket-bytes", "512KiB"]}
MODEL = ["--layers", "2", "--width", "128", "--heads", "2", "--vocab", "256", "--seq", "8", "--batch", "4", "--dropout", "0.1"]


def make_plans(ppopt, names, directory):
    """{name: Plan}, each with the run that nobody disturbs."""
    model = os.path.join(directory, "gpt.mlir")
    checked([ppopt, "model", "gpt", *MODEL, "-o", model])
    text = os.path.join(SOURCE, "docs", "running.md")
    return {name: Plan(name, compile_model(ppopt, model, os.path.join(directory, name),
                                           [*PLANS[name], "--microbatches", "2", "--threads", "1"], optimized=True), text, directory)
            for name in names}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plans", default="dp,pp,both,shards")
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
    args = parser.parse_args()
    generator = random.Random(args.seed)
    done, findings, begin = [], [], time.time()
    with tempfile.TemporaryDirectory() as directory:
        plans = make_plans(os.path.join(os.path.abspath(args.build), "bin", "ppopt"), args.plans.split(","), directory)
        wanted = [ASKED[i % len(ASKED)] for i in range(args.kills)]
        generator.shuffle(wanted)
        for number, phase in enumerate(wanted):
            plan = list(plans.values())[number % len(plans)]
            rank = generator.randrange(plan.executable.ranks)
            try:
                done.append(plan.kill(phase, rank, generator))
                print(f"{number + 1}/{args.kills}: {done[-1]}", flush=True)
            except AssertionError as error:
                findings.append(str(error))
                print(f"{number + 1}/{args.kills}: FOUND {error}", flush=True)

    counts = collections.Counter((kill.plan, kill.phase) for kill in done)
    print(f"\n{len(done)} kills of {args.kills} ended in time and resumed bit-equal, in {time.time() - begin:.0f} s, seed {args.seed}")
    print("            " + "".join(f"{phase:>11}" for phase in ASKED) + "        all")
    for name in plans:
        row = [counts[name, phase] for phase in ASKED]
        print(f"  {name:<10}" + "".join(f"{count:>11}" for count in [*row, sum(row)]))
    columns = [sum(counts[name, phase] for name in plans) for phase in ASKED]
    print("  all       " + "".join(f"{count:>11}" for count in [*columns, sum(columns)]))
    if done:
        took = [kill.seconds for kill in done]
        print(f"the others ended {statistics.median(took):.2f} s (median) and at most {max(took):.2f} s after the kill; "
              f"{sum(kill.rank == 0 for kill in done)} kills were of rank 0")
    print(f"{len(findings)} findings" + "".join("\n" + finding for finding in findings))
    return 1 if findings or len(done) < args.kills else 0


if __name__ == "__main__":
    sys.exit(main())
