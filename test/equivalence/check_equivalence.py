#!/usr/bin/env python3
"""Holds every plan of a model against its one-rank program: losses, gradients and parameters, in f64 within 1e-12.

The pairs are listed in plans.py. Further: ranks as threads and under mpirun log the same bits, and each mutation
(support/mutations.py) turns the comparison red. By hand: check_equivalence.py --filter 'lm dp2', --keep DIR.
"""
import argparse
import functools
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.results import Harness  # noqa: E402

import plans  # noqa: E402
from programs import Programs, check_unchanged, compare, expect_same_bits, mutation_cases  # noqa: E402

def check_plan(programs, model, plan, launch, run_name, parameters):
    compare(programs.result(model, plan, run_name, launch), programs.reference(model, run_name), parameters)


def check_bits(programs, model, ranks):
    """Threads and mpirun log the same hexadecimal losses and export the same bytes, from the compiler's own initial values."""
    plan = plans.Plan(ranks, 2)
    threads, mpi = (programs.result(model, plan, "sgd momentum", launch, init=False) for launch in ("threads", "mpirun"))
    expect_same_bits(threads, mpi, "threads and mpirun")


def check_own_init(programs, model):
    """Initial values and dropout depend on the seed, not on the plan."""
    one, four = (programs.result(model, plan, "sgd", init=False) for plan in (plans.Plan(1, 1), plans.Plan(4, 2)))
    compare(four, one, True)


def tests_of(programs):
    for model, _, unchanged in plans.MODELS:
        for plan in plans.PLANS:
            for number, (run_name, _, _, parameters) in enumerate(plans.RUNS):
                if plan == plans.PLANS[0] or (number > 1 and plan.name not in plans.FULL):
                    continue
                for launch in plan.launch if number == 0 else ("threads",):
                    yield (f"{model} {plan.name} {run_name} {launch}",
                           functools.partial(check_plan, programs, model, plan, launch, run_name, parameters))
        yield f"{model} own init", functools.partial(check_own_init, programs, model)
        if unchanged:
            yield f"{model} unchanged", functools.partial(check_unchanged, programs, model, plans.Plan(2, 2), unchanged)
        for ranks in (2, 3, 4):
            yield f"{model} bits of {ranks} ranks", functools.partial(check_bits, programs, model, ranks)
    yield from mutation_cases(programs, plans.MUTATED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    harness = Harness("equivalence", parser)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        programs = Programs(harness.ppopt, directory, {name: inputs for name, inputs, _ in plans.MODELS})
        harness.cases(list(tests_of(programs)))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
