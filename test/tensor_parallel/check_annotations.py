#!/usr/bin/env python3
"""Models of test/models/committed whose parameters are annotated at random with the axis tp: a program of a mesh with tp computes one rank's losses
and norms, or the compiler says which collective it lacks. Nothing is replicated or gathered silently.

Initial values are drawn by global index, so that nothing is loaded. By hand, with more draws of each model: check_annotations.py --draws 50.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
sys.path[:0] = [str(HERE.parent), str(MODELS)]
from support import mutations  # noqa: E402
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

from description import make_inputs  # noqa: E402
from pp_text import pp_text  # noqa: E402
from trials import INTERNAL, make_safe, message_of  # noqa: E402

STEPS, TOLERANCE = 3, 1e-9
SIZES = (2, 3, 4)
COMPARED = 2  # of each model's draws; those that are refused do not count
MOST_DRAWS = 40

# Of each, some annotations are compiled. Those of the last three cut tables by rows.
NAMES = ("seed40012", "seed40029", "seed40040", "seed40047", "seed40073", "seed40095", "seed40118", "seed40165", "seed40189",
         "seed40190", "seed40218", "seed40245", "seed40322", "seed53134", "seed40144", "seed40239", "seed52114")

# What a plan may be refused for. All else is a finding.
REFUSALS = (re.compile(r": no collective makes (terms of a sum of a value's parts|a partial maximum|these parts of those: they overlap); annotate"),
            re.compile(r": on the way a rank would have \d+ bytes of it, more than before and after; annotate"),
            re.compile(r": (\w+)=\d+ does not divide what it does along dimension \d+; \1=.* would cut it"),
            re.compile(r" has operands that are cut over \w+ along different dimensions of it; annotate"),
            re.compile("no op is on place"), re.compile("can't be cut for --mesh"))

# What a mutation says of a program that has not what it changes.
NOTHING_TO_CHANGE = " to change"

# A mutation, a model and a seed of draws that show it.
MUTATED = (("norm-counts-copies", "seed40040"), ("partial-gradient-scaled", "seed40073"))

PARAMETER = re.compile(r'(pp\.param "[^"]*" \{init = )#pp\.init<zeros>([^}]*\} : tensor<)([^>]*)>')


def annotate(random, text, size):
    """The model with drawn initial values and with `size` parts of some dimensions, or None if there is no such dimension."""
    cuts = []

    def annotated(match):
        shape = [int(each) for each in match.group(3).split("x")[:-1]]
        divided = [dim for dim, extent in enumerate(shape) if extent % size == 0]
        shard = ""
        if divided and random.random() < 0.5:
            cuts.append(random.choice(divided))
            shard = f", shard = #pp.sharding<[{', '.join('{tp}' if dim == cuts[-1] else '{}' for dim in range(len(shape)))}]>"
        return f"{match.group(1)}#pp.init<normal, 0.3, 0.6>{shard}{match.group(2)}{match.group(3)}>"

    text = PARAMETER.sub(annotated, text)
    return text if cuts else None


def draw_flags(random, batch, size):
    if random.random() < 0.4 and batch % 2 == 0:
        return ["--mesh", f"dp=2,tp={size}", "--zero", str(random.integers(4))]
    return ["--mesh", f"tp={size},pp=2" if random.random() < 0.4 else f"tp={size}"]


def refusal_of(command):
    """What the compiler says, if it refuses for a reason that a plan may be refused for; None if it compiles."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600)
    if done.returncode == 0:
        return None
    message = message_of(done.stderr)
    if done.returncode != 1 or INTERNAL.search(message) or not any(each.search(done.stderr) for each in REFUSALS):
        raise AssertionError(f"status {done.returncode}: {' '.join(command)}\n{done.stderr[:1500]}")
    return message


class Models:
    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory

    def draw(self, name, count, mutation=None):
        """(stem of a file, flags, inputs, one rank's losses and norms) of programs with tp that compile and whose numbers are finite, the same each
        time."""
        description = json.loads((MODELS / "committed" / f"{name}.json").read_text())["description"]
        random = np.random.default_rng([zlib.crc32(name.encode()), 5])
        text, found, refused = pp_text(description, lambda: None), 0, []
        for number in range(max(MOST_DRAWS, count)):
            size = int(random.choice(SIZES))
            annotated, flags = annotate(random, text, size), draw_flags(random, description["batch"], size)
            if annotated is None:
                continue
            stem = os.path.join(self.directory, "_".join([name, str(number), *([mutation] if mutation else [])]))
            pathlib.Path(stem + ".mlir").write_text(annotated)
            refusal = refusal_of([self.ppopt, "compile", stem + ".mlir", "-o", os.devnull, "--stop-after", "native", *flags])
            if refusal:
                refused.append(refusal)
                continue
            inputs = make_safe(description, make_inputs(description, STEPS * description["batch"]))
            expected = self.train(stem, [], inputs)
            if not np.isfinite(expected).all():
                continue
            yield stem, flags, inputs, expected
            found += 1
            if found == count:
                return
        if found == 0:
            raise AssertionError(f"nothing is compared; {len(refused)} annotations are refused: {sorted(set(refused))}")

    def train(self, stem, flags, inputs, mutation=None):
        tool, mutated = (mutations.tool_of(self.ppopt), ["--mutate", mutation]) if mutation else (self.ppopt, [])
        word = "one" if flags == [] else mutation or "cut"
        executable = compile_model(tool, stem + ".mlir", f"{stem}.{word}", ["--threads", "1", "--optimizer", "adam", *flags, *mutated])
        checks = [] if mutation else ["--check-counters"]
        result = run(executable, ["--lr", "0.02", "--clip", "0.7", "--poison", *checks], inputs=inputs, steps=STEPS, export=False)
        os.remove(executable.path)
        return np.array([(record["loss"], record["norm"]) for record in result.records], dtype=np.float64)

    def check(self, name, count, mutation=None):
        for stem, flags, inputs, expected in self.draw(name, count, mutation):
            try:
                expect_close("losses and norms", self.train(stem, flags, inputs, mutation), expected, TOLERANCE)
            except Mismatch as mismatch:
                raise Mismatch(f"{stem}.mlir, {' '.join(flags)}: {mismatch}") from mismatch
            except AssertionError as error:
                if mutation is None or NOTHING_TO_CHANGE not in str(error):
                    raise

    def check_mutated(self, mutation, name):
        try:
            self.check(name, MOST_DRAWS, mutation)
        except Mismatch:
            return
        raise AssertionError(f"{mutation} is not seen")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=COMPARED, help="programs of each model that are compared")
    harness = Harness("annotations", parser)
    with tempfile.TemporaryDirectory() as directory:
        models = Models(harness.ppopt, directory)
        harness.cases([(name, functools.partial(models.check, name, harness.args.draws)) for name in NAMES] +
                      [(f"{mutation}, {name}", functools.partial(models.check_mutated, mutation, name)) for mutation, name in MUTATED])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
