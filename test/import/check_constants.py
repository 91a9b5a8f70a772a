#!/usr/bin/env python3
"""Compares the constants that ppopt import computes with PyTorch's: the committed calls (constants.tar.xz), and with --with-pytorch others that are
drawn. Each op that is computed must have a call."""
import functools
import json
import math
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import constant_archives  # noqa: E402
from support.executable import checked, environment  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

# torch.export of PyTorch 2.15 writes others in their place.
NOT_EXPORTED = {"aten.lift_fresh.default", "aten.split.default"}

# The distance of 1.0 to the next float, and the least one that is normal.
FLOATS = {"float64": (2.0 ** -52, 2.0 ** -1022), "float32": (2.0 ** -23, 2.0 ** -126), "float16": (2.0 ** -10, 2.0 ** -14),
          "bfloat16": (2.0 ** -7, 2.0 ** -126)}


def is_close(ours, theirs, kind, ulps, close):
    """Whether a float is PyTorch's; a zero has its sign where nothing else may differ, and a NaN is any NaN."""
    if math.isnan(theirs) or math.isinf(theirs) or not math.isfinite(ours):
        return ours == theirs or math.isnan(ours) and math.isnan(theirs)
    if ours == theirs:
        return ulps > 0 or math.copysign(1, ours) == math.copysign(1, theirs)
    epsilon, least = FLOATS[kind]
    unit = 2.0 ** (math.frexp(max(abs(theirs), least))[1] - 1) * epsilon
    return abs(ours - theirs) <= 1.001 * ulps * unit + (close * (1 + abs(theirs)) if close else 0)


def difference(ours, theirs, ulps, close):
    """What differs between two results in words; empty if nothing does."""
    if (ours["type"], ours["shape"]) != (theirs["type"], theirs["shape"]):
        return f"is {ours['type']}{ours['shape']}, and PyTorch's {theirs['type']}{theirs['shape']}"
    pairs = list(zip(ours["values"], theirs["values"], strict=True))
    if theirs["type"] in FLOATS:
        wrong = [pair for pair in pairs if not is_close(*pair, theirs["type"], ulps, close)]
    else:
        wrong = [pair for pair in pairs if pair[0] != pair[1]]
    return f"(ours, PyTorch's): {wrong[:4]}" if wrong else ""


class Sample:
    def __init__(self, path, scratch):
        expected, self.archives = constant_archives.read(path)
        self.groups, self.scratch = expected["groups"], scratch
        os.makedirs(scratch, exist_ok=True)

    def graph(self, group):
        return json.loads(self.archives[group][constant_archives.MODEL])["graph_module"]["graph"]

    def check(self, evaluate, group):
        path = os.path.join(self.scratch, f"{group}.pt2")
        constant_archives.write_archive(path, self.archives[group])
        done = checked([evaluate, path], env=environment())
        found = {result["name"]: result for result in map(json.loads, done.stdout.splitlines())}
        names, wrong = iter(self.graph(group)["outputs"]), []
        for call in self.groups[group]:
            for number, theirs in enumerate(call["results"]):
                ours = found.get(next(names)["as_tensor"]["name"])
                what = difference(ours, theirs, call["ulps"], call["close"]) if ours else "is not computed"
                if what:
                    wrong.append(f"{call['call']}, result {number}: {what}")
        assert not wrong, "\n".join([*wrong, done.stderr[:2000]])


def check_complete(evaluate, sample):
    called = {node["target"].removeprefix("torch.ops.") for group in sample.groups for node in sample.graph(group)["nodes"]}
    missing = set(checked([evaluate, "--list"], env=environment()).stdout.split()) - called - NOT_EXPORTED
    assert not missing, f"no call in constant_rows*.py: {', '.join(sorted(missing))}"


def check_live(harness, scratch, evaluate):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    folder = os.path.join(scratch, "live")
    checked([harness.args.pytorch, str(HERE / "make_constants.py"), folder, "--seed", "1"], timeout=600)
    sample = Sample(os.path.join(folder, "constants.tar.xz"), folder)
    for group in sample.groups:
        sample.check(evaluate, group)


def main():
    harness = Harness("constants")
    evaluate = os.path.join(harness.args.build, "bin", "test", "ppopt-evaluate")
    with tempfile.TemporaryDirectory() as scratch:
        sample = Sample(HERE / "ops" / "constants.tar.xz", os.path.join(scratch, "committed"))
        harness.cases([(group, functools.partial(sample.check, evaluate, group)) for group in sample.groups])
        harness.case("each op has a call", functools.partial(check_complete, evaluate, sample))
        harness.case("live", functools.partial(check_live, harness, scratch, evaluate))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
