#!/usr/bin/env python3
"""Random arithmetic on inputs alone (sums, means, counts over the batch), read anywhere by what learns, under random plans:
losses and gradients against numpy in f64.

Every seventh model also has an op that mixes rows: over microbatches it must be refused with the advice to leave them out, and without them the
plan must be right. By hand: check_input_sums.py --count 1000 --seed 7; a case that fails leaves its model.
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
from support.random_plans import draw_marks, draw_plan, without  # noqa: E402
from support.results import Harness  # noqa: E402

from check_random import MOST_RANKS, REFUSED  # noqa: E402
from input_graphs import InputGraph  # noqa: E402
from plans import BATCH  # noqa: E402

TOLERANCE = 1e-9
ADVICE = "it compiles with --microbatches 1: "
WITH_MICROBATCHES = ("--microbatches", "--schedule", "--chunks")  # the last two ask for some


def draw_marked(random):
    plan = draw_plan(random, BATCH, MOST_RANKS, grad_dtypes=["f32"])
    return plan.flags, draw_marks(random, plan)


def check_plan(ppopt, graph, model, flags):
    executable = compile_model(ppopt, model, model[:-5], [*flags, "--optimizer", "sgd", "--threads", "1"])
    ours = run(executable, ["--lr", "0", "--check-counters", "--poison"], dump_gradients=True, init=graph.params, inputs=graph.inputs)
    os.remove(executable.path)
    expect_close("loss", ours.losses[0], graph.loss(graph.params), TOLERANCE, least_scale=1e-3)
    wanted = graph.gradients()
    scale = max(np.abs(g).max() for g in wanted.values())
    for name in wanted:  # what never learns has no gradient
        expect_close(f"gradient of {name}", ours.gradients.get(name, np.zeros_like(wanted[name])), wanted[name], TOLERANCE,
                     least_scale=scale)


def check_graph(ppopt, graph, model, flags, mixes):
    if not (mixes and "--microbatches" in flags):
        return check_plan(ppopt, graph, model, flags)
    try:
        check_plan(ppopt, graph, model, flags)
    except AssertionError as error:
        if ADVICE not in str(error):
            raise
        return check_plan(ppopt, graph, model, without(flags, WITH_MICROBATCHES))
    raise AssertionError("was not refused, though an op needs all rows of the batch")


def check_seed(ppopt, directory, seed):
    random = np.random.default_rng([seed, 2])
    mixes = seed % 7 == 6
    graph = InputGraph(seed, mixes)
    model = os.path.join(directory, f"input_sums_{seed}.mlir")
    for _ in range(20):
        flags, mark = draw_marked(random)
        with open(model, "w") as file:
            file.write(graph.text(mark))
        try:
            return check_graph(ppopt, graph, model, flags, mixes)
        except Exception as error:
            if any(text in str(error) for text in REFUSED):
                continue
            kept = shutil.copy(model, tempfile.gettempdir())
            raise AssertionError(f"seed {seed}: ppopt compile {kept} {' '.join(flags)} --optimizer sgd\n{error}") from error
    raise AssertionError(f"seed {seed}: every plan was refused")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=80, help="how many random models (default 80)")
    parser.add_argument("--seed", type=int, default=1000, help="of the first (default 1000)")
    harness = Harness("input_sums", parser)
    first, count = harness.args.seed, harness.args.count
    with tempfile.TemporaryDirectory() as directory:
        harness.cases([(f"seed {seed}", functools.partial(check_seed, harness.ppopt, directory, seed))
                       for seed in range(first, first + count)])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
