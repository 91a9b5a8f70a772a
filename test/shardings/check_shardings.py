#!/usr/bin/env python3
"""Random models with random shardings: what an interpreter makes of the sharded module on all coordinates of all axes, against the
same module before it was sharded, in f64.

The interpreter (interpreter.py, ops.py, layout.py) shares no code with the compiler; check_interpreter.py is about it alone. By hand:
check_shardings.py --count 500 --seed 1; a case that fails leaves its model and says how to run it.
"""
import argparse
import collections
import functools
import os
import pathlib
import shutil
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "models")]
from support.results import Harness  # noqa: E402

from description import make_inputs, make_params  # noqa: E402
from graphs import draw_case  # noqa: E402
from interpreter import BATCH_AXES, Interpreter, compare, first_difference  # noqa: E402
from layout import Sharding  # noqa: E402
from pp_text import pp_text  # noqa: E402
from programs import PRINT, SHARD, Refused, print_trained  # noqa: E402
from small import make_small  # noqa: E402

TOLERANCE = 1e-12
# What each op rounds is changed by this much to ask how well a model's numbers can be known.
NOISE, MOST_CHANGE = 1e-15, 1e-13
MOST_REFUSED = 0.1


class IllPosed(Exception):
    """A model whose numbers are not finite, or depend on rounding."""


# --- sharded against global --------------------------------------------------


class Session:
    """The tool, a folder for models, and what was seen so far."""

    def __init__(self, ppopt, directory, seconds=0.0):
        self.ppopt, self.directory, self.seconds = ppopt, directory, seconds
        self.lock = threading.Lock()
        self.refusals, self.examples, self.compared = collections.Counter(), {}, 0

    def path(self, name):
        return os.path.join(self.directory, name + ".mlir")

    def modules(self, name, description, plan, *passes):
        with open(self.path(name), "w") as file:
            file.write(pp_text(description))
        return print_trained(self.ppopt, self.path(name), plan, *passes)

    def check_seed(self, seed, passes=None, is_mutated=False):
        """Draws until a model's numbers can be known. True if it was compared, False if it was refused."""
        for attempt in range(20):
            case = draw_case(seed + attempt * 10**7)
            try:
                return self.check_case(f"seed{seed}", case, passes or [PRINT, SHARD, PRINT], is_mutated)
            except IllPosed:
                continue
        raise AssertionError(f"seed {seed}: no model whose numbers can be known")

    def check_case(self, name, case, passes, is_mutated):
        try:
            self.compare(name, case, passes)
        except Refused as refused:
            if is_mutated:
                raise
            self.note_refusal(name, str(refused))
            return False
        except AssertionError as error:
            if is_mutated:
                raise
            raise AssertionError(self.explain(name, case, passes, error)) from error
        with self.lock:
            self.compared += 1
        return True

    def compare(self, name, case, passes):
        """An AssertionError says that the sharded module is not the same program."""
        description = case.description
        inputs, params = make_inputs(description, description["batch"]), make_params(description)
        whole, sharded = self.modules(name, description, case.plan, *passes)
        if "mixes" not in description:
            check_lowered(sharded)
        wanted = Interpreter(whole, inputs, params).run()
        if compare(wanted, Interpreter(whole, inputs, params, noise=NOISE).run())[0][0] > MOST_CHANGE:
            raise IllPosed
        try:
            found = Interpreter(sharded, inputs, params, is_sharded=True).run()
            ratio, text = compare(wanted, found)[0]
            assert ratio <= TOLERANCE, f"{text} ({ratio:.2g})"
        except AssertionError as error:
            raise AssertionError(f"{error}\n{first_difference(wanted, sharded, inputs, params)}") from error

    def explain(self, name, case, passes, error):
        """What failed, and the model that does, which is kept; made small if there is time for it."""
        kept = shutil.copy(self.path(name), os.path.join(tempfile.gettempdir(), name + ".mlir"))
        text = f"{error}\nmodel: {kept}\nplan: {case.plan}"
        if not self.seconds:
            return text
        small = make_small(case, lambda candidate: self.fails_alike(name + "_small", candidate, passes, error), self.seconds)
        with open(kept[:-5] + "_small.mlir", "w") as file:
            file.write(pp_text(small.description))
        try:
            self.compare(name + "_small", small, passes)
        except AssertionError as reason:
            return f"{text}\nsmall: {kept[:-5]}_small.mlir\nplan: {small.plan}\n{reason}"
        return text

    def fails_alike(self, name, case, passes, error):
        try:
            self.compare(name, case, passes)
        except AssertionError as other:
            return ("exit status" in str(other)) == ("exit status" in str(error))
        except Exception:  # refused, ill-posed, or no model any more
            return False
        return False

    def note_refusal(self, name, text):
        with self.lock:
            self.refusals[text] += 1
            self.examples.setdefault(text, name)

    def check_refused(self):
        """Few models are refused. Prints every message once."""
        refused = sum(self.refusals.values())
        print(f"{self.compared} compared, {refused} refused")
        for text, count in self.refusals.most_common():
            print(f"  {count}, as {self.examples[text]}: {text}")
        assert refused <= MOST_REFUSED * (self.compared + refused), f"{refused} were refused, and {self.compared} compared"


def check_lowered(module):
    """No reshard is left over an axis that cuts the batch: where no rows meet, none is needed."""
    def over_batch(sharding):
        return [[cut for cut in dim if cut[0] in BATCH_AXES] for dim in sharding.dims], set(sharding.sum) & set(BATCH_AXES)
    for op in module.walk():
        if op.name == "pp.reshard":
            before, after = Sharding.of(op["from"]), Sharding.of(op["to"])
            assert over_batch(before) == over_batch(after), f"a reshard over the batch at {op.location}: from {before} to {after}"


# --- planted bugs ------------------------------------------------------------

# Passes of test/lib, after all others.
MUTATIONS = ("drop-reshard", "drop-scale", "contiguous-parts", "tile-at-zero")
PLANTED, PLANTED_SEEDS = 3, 80


def check_sees(session, mutation):
    """Of the first models that have something to change, most are wrong when it is changed: a gradient may be zero by itself."""
    passes = [PRINT, SHARD, f"--mutate-{mutation}", PRINT]
    seen, missed = 0, []
    for seed in range(PLANTED_SEEDS):
        try:
            session.check_seed(seed, passes, is_mutated=True)
            missed.append(seed)
        except Refused:  # also where there is nothing to change
            continue
        except AssertionError as error:
            assert "exit status" not in str(error), error
            print(f"  {mutation}, seed {seed}: {str(error).splitlines()[0]}", flush=True)
            seen += 1
        if seen == PLANTED:
            return
        assert len(missed) < PLANTED, f"{mutation} was not seen in the models of seeds {missed}"
    raise AssertionError(f"only {seen} models have something that {mutation} changes")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="how many random models (default 40)")
    parser.add_argument("--seed", type=int, default=1, help="of the first (default 1)")
    parser.add_argument("--shrink", type=float, default=0, help="seconds for making each failing model small")
    harness = Harness("shardings", parser)
    first, count = harness.args.seed, harness.args.count
    with tempfile.TemporaryDirectory() as directory:
        session = Session(harness.ppopt, directory, harness.args.shrink)
        harness.cases([(f"seed {seed}", functools.partial(session.check_seed, seed)) for seed in range(first, first + count)])
        harness.case("refusals", session.check_refused)
        harness.cases([(f"sees {mutation}", functools.partial(check_sees, session, mutation)) for mutation in MUTATIONS])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
