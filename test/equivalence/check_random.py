#!/usr/bin/env python3
"""Holds random graphs under random plans against their one-rank programs in f64 within 1e-11, and their losses against numpy.

Any op may be marked with any place, or none is and the graph is cut by cost; the rest of the plan is that of random_plans.py. By hand: test/equivalence/random --count 1000 --seed 7; a case that fails says its seed and leaves its model.
"""
import argparse
import functools
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "gradients")]
from support.executable import compile_model, expect_close, run  # noqa: E402
from support.random_plans import draw_marks, draw_plan  # noqa: E402
from support.results import Harness  # noqa: E402

from graph import model_text  # noqa: E402
from plans import BATCH, PLANS  # noqa: E402
from programs import compare  # noqa: E402
from random_graphs import LARGE, SMALL, random_graph  # noqa: E402

STEPS = 2
MOST_RANKS = 8
OPTIMIZED = 20  # LLVM optimises each twentieth one-rank program: it changes no bit (check_bits.py)
TOLERANCE = 1e-11  # random graphs cancel: the one-rank program's gradients themselves are not better

# What a graph may be too small for: then another plan is drawn. Owners of shared parameters do not gather gradients.
REFUSED = ("no op is on place", "can't be cut for --mesh", "with --tied owner: places")


def check_random(ppopt, directory, seed):
    random = np.random.default_rng(seed)
    graph = random_graph(seed, BATCH, LARGE if seed % 8 == 7 else SMALL, may_stop=True)
    model = os.path.join(directory, f"random_{seed}.mlir")
    for _ in range(20):
        plan = draw_plan(random, BATCH, MOST_RANKS, grad_dtypes=["f32"])
        flags = [*plan.flags, "--threads", str(random.choice([1, 1, 1, 2]))]
        marks = draw_marks(random, plan)
        with open(model, "w") as file:
            file.write(model_text([graph], "random", marks))
        try:
            return check_plan(ppopt, graph, model, flags, optimized=seed % OPTIMIZED == 0)
        except Exception as error:
            if any(text in str(error) for text in REFUSED):
                continue
            kept = shutil.copy(model, tempfile.gettempdir())
            raise AssertionError(f"seed {seed}: ppopt compile {kept} {' '.join(flags)} --optimizer sgd\n{error}") from error
    raise AssertionError(f"seed {seed}: every plan was refused")


def check_plan(ppopt, graph, model, flags, optimized):
    """The plan first: it may be refused. `optimized`: whether LLVM optimises the one-rank program."""
    results = []
    for number, plan in enumerate((flags, [*PLANS[0].flags, "--threads", "1"])):
        executable = compile_model(ppopt, model, f"{model[:-5]}_{number}", [*plan, "--optimizer", "sgd"], optimized=optimized and number == 1)
        results.append(run(executable, ["--lr", "0.01", "--clip", "1", "--check-counters", "--poison"], dump_gradients=True,
                           init=graph.params, inputs=graph.inputs, steps=STEPS))
        os.remove(executable.path)
    ours, reference = results
    compare(ours, reference, True, TOLERANCE)
    expect_close("loss", ours.losses[0], graph.loss(graph.params), 1e-11)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=140, help="how many random graphs (default 140)")
    parser.add_argument("--seed", type=int, default=100, help="of the first (default 100)")
    harness = Harness("random", parser)
    first, count = harness.args.seed, harness.args.count
    with tempfile.TemporaryDirectory() as directory:
        harness.cases([(f"seed {seed}", functools.partial(check_random, harness.ppopt, directory, seed))
                       for seed in range(first, first + count)])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
