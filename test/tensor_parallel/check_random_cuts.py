#!/usr/bin/env python3
"""Random models with random shardings over one to three axes (test/shardings/graphs.py): the executable computes one rank's losses, norms, gradients and
parameters in f64, or the compiler says by name what it lacks. Nothing is replicated or gathered silently.

test/shardings interprets such models after sharding; this is about the code that they become. By hand: check_random_cuts.py --seeds 1-100, with --keep DIR.
"""
import argparse
import collections
import functools
import json
import os
import pathlib
import re
import sys
import tempfile
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "models"), str(HERE.parent / "shardings")]
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

from check_annotations import refusal_of  # noqa: E402
from description import make_inputs, make_params  # noqa: E402
from dice import Dice  # noqa: E402
from graphs import BATCH_AXES, draw_case  # noqa: E402
from interpreter import Interpreter, compare  # noqa: E402
from pp_text import pp_text  # noqa: E402
from programs import PRINT, print_trained  # noqa: E402
from trials import make_safe  # noqa: E402

STEPS, TOLERANCE, MOST_RANKS = 2, 1e-9, 12
SEEDS = [*range(16, 32), 75, 77, 91, 133, 134]
# Of a model whose numbers rounding changes by more, nothing is compared.
NOISE, MOST_CHANGE = 1e-15, 1e-13
LEAST_COMPARED = 0.5  # of the seeds
# Seeds of models on two places, and links by which these send each other parts of whatever the ranks of a place agree on.
IN_PARTS = [203, 215, 244, 267, 283, 373, 425, 427, 449, 472, 575, 614]
SLOW_TRANSFERS = {"version": 1, "name": "slow transfers",
                  "levels": [{"name": "all", "size": 64, "transfer": {"latency": 1, "rate": 1}, "collective": {"latency": 0, "rate": 1000}}]}


def count_sent(executable):
    """The bytes of all transfers of a microbatch."""
    return sum(transfer["bytes"] for transfer in executable.program["transfers"])


class Models:
    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory
        self.lock = threading.Lock()
        self.refusals, self.compared, self.in_parts = collections.Counter(), 0, 0
        self.cluster = os.path.join(directory, "cluster.json")
        pathlib.Path(self.cluster).write_text(json.dumps(SLOW_TRANSFERS))

    def check_seed(self, seed, *flags):
        for attempt in range(20):
            case = draw_case(seed + attempt * 10**7)
            dice = Dice([seed, attempt, 61])
            ranks = np.prod([size for _, size in case.mesh])
            if ranks <= MOST_RANKS and any(axis not in (*BATCH_AXES, "pp") for axis, _ in case.mesh) and self.check_case(f"seed{seed}", case, dice, flags):
                return
        raise AssertionError(f"seed {seed}: no model whose numbers can be known")

    def check_case(self, name, case, dice, more):
        """Returns whether the model says something. `ep` has another name: the command line keeps it for what is to come."""
        description = case.description
        mesh = ",".join(f"{axis}={size}" for axis, size in case.mesh).replace("ep=", "xp=")
        path = os.path.join(self.directory, name + ".mlir")
        text = re.sub(r"\bep\b", "xp", pp_text(description))
        pathlib.Path(path).write_text(text)
        flags = ["--mesh", mesh, "--microbatches", str(case.microbatches), "--threads", "1", *more]
        if any(axis in BATCH_AXES for axis, _ in case.mesh):
            flags += ["--zero", str(dice.pick([0, 1, 2, 3])), "--bucket-bytes", "500"]
        stem = path[:-5]
        refusal = refusal_of([self.ppopt, "compile", path, "-o", os.devnull, "--stop-after", "native", *flags])
        if refusal:
            with self.lock:
                self.refusals[refusal] += 1
            return True
        inputs = make_safe(description, make_inputs(description, STEPS * description["batch"]))
        init = make_safe(description, make_params(description))
        one = self.train(stem, "one", ["--threads", "1"], inputs, init)
        if not all(np.isfinite(each).all() for each in (one.losses, *one.gradients.values(), *one.parameters.values())):
            return False
        cut = self.train(stem, "cut", flags, inputs, init)
        try:
            expect_close("losses", cut.losses, one.losses, TOLERANCE)
            expect_close("gradients", cut.gradients, one.gradients, TOLERANCE, 1e-6)
            expect_close("parameters", cut.parameters, one.parameters, TOLERANCE)
        except Mismatch as mismatch:
            if self.is_ill_posed(path, case):
                return False
            raise Mismatch(f"{path}, {' '.join(flags)}: {mismatch}") from mismatch
        with self.lock:
            self.compared += 1
            self.in_parts += bool(more) and cut.sent < self.count_sent_whole(stem, flags)
        return True

    def count_sent_whole(self, stem, flags):
        executable = compile_model(self.ppopt, stem + ".mlir", f"{stem}.sent", [*flags, "--cut-transfers", "never"])
        sent = count_sent(executable)
        os.remove(executable.path)
        return sent

    def train(self, stem, word, flags, inputs, init):
        executable = compile_model(self.ppopt, stem + ".mlir", f"{stem}.{word}", ["--optimizer", "sgd", *flags])
        result = run(executable, ["--lr", "0.01", "--seed", "5", "--check-counters", "--poison"], inputs=inputs, init=init, steps=STEPS,
                     dump_gradients=True)
        result.sent = count_sent(executable)
        os.remove(executable.path)
        return result

    def is_ill_posed(self, path, case):
        (whole,) = print_trained(self.ppopt, path, "mesh=dp=1", PRINT)
        inputs, params = make_inputs(case.description, case.description["batch"]), make_params(case.description)
        wanted = Interpreter(whole, inputs, params).run()
        return compare(wanted, Interpreter(whole, inputs, params, noise=NOISE).run())[0][0] > MOST_CHANGE

    def check_refused(self, count):
        """Most are compared. Prints every message once."""
        refused = sum(self.refusals.values())
        print(f"{self.compared} compared, {refused} refused")
        for text, times in self.refusals.most_common():
            print(f"  {times}: {text}")
        assert self.compared >= LEAST_COMPARED * count, f"{self.compared} of {count} were compared"

    def check_in_parts(self, count):
        assert self.in_parts >= LEAST_COMPARED * count, f"{self.in_parts} of {count} sent something in parts"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", help="FIRST-LAST")
    parser.add_argument("--keep", help="write models and what they train on there and leave them")
    harness = Harness("random shardings", parser)
    seeds = SEEDS
    if harness.args.seeds:
        first, last = map(int, harness.args.seeds.split("-"))
        seeds = range(first, last + 1)
    with tempfile.TemporaryDirectory() as temporary:
        directory = harness.args.keep or temporary
        os.makedirs(directory, exist_ok=True)
        models = Models(harness.ppopt, directory)
        harness.cases([(f"seed {seed}", functools.partial(models.check_seed, seed)) for seed in seeds])
        harness.case("refusals", lambda: models.check_refused(len(seeds)))
        in_parts = seeds if harness.args.seeds else IN_PARTS
        harness.cases([(f"in parts, seed {seed}", functools.partial(models.check_seed, seed, "--cluster", models.cluster)) for seed in in_parts])
        if not harness.args.seeds:
            harness.case("sent in parts", lambda: models.check_in_parts(len(IN_PARTS)))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
