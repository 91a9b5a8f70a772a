#!/usr/bin/env python3
"""Random models against PyTorch's autograd in f64: committed/ holds descriptions with losses and gradients, which need no PyTorch here.

With --pytorch fresh models are drawn as well (generate.py). The comparison is tested itself: another op printed, or a gradient that
is off by a part in a hundred million, must turn it red.
"""
import copy
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.results import Harness, Skip  # noqa: E402

from pairs import Finding, Pair, Refused, check_pair, compile_pair  # noqa: E402
import pp_text  # noqa: E402

LIVE = 30  # models drawn with --pytorch


def expected_of(entry):
    return {"losses": entry["losses"], "norms": entry["norms"], "evaluations": entry["evaluations"], "parameters": None,
            "gradients": {n: np.array(g, dtype=np.float64) for n, g in entry["gradients"].items()}}


def pairs_of(entry):
    for pair in entry["pairs"]:
        yield Pair(run=entry["run"], **dict(pair, marks=tuple(pair["marks"]), bad=tuple(pair["bad"])))


def check_entry(ppopt, directory, path, pairs=None):
    """All plans of a committed description; a plan that is refused says so clearly, and one rank is never refused."""
    entry = json.loads(path.read_text())
    for number, pair in enumerate(pairs_of(entry)):
        if pairs is not None and number not in pairs:
            continue
        stem = os.path.join(directory, f"{path.stem}_{number}")
        try:
            check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
        except Refused as refusal:
            assert number > 0 and "can't be split" not in str(refusal), f"{path.name}, pair {number}: {' '.join(pair.compile_flags)}: refused: {refusal}"
        except Finding as finding:
            raise AssertionError(f"{path.name}, pair {number}: ppopt compile {' '.join(pair.compile_flags)}; run with "
                                 f"{' '.join(pair.run_flags)}\n{finding}") from finding


def check_sees(ppopt, directory, change):
    """Green without `change`, red with it."""
    path = HERE / "committed" / "planted.json"
    entry = json.loads(path.read_text())
    (pair, *_), stem = pairs_of(entry), os.path.join(directory, f"planted_{change.__name__}")
    check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
    try:
        with change(entry) as changed:
            check_pair(ppopt, changed["description"], pair, expected_of(changed), changed["tolerance"], stem)
    except Finding as seen:
        assert seen.kind.startswith("wrong"), f"another finding: {seen}"
        print(f"  {change.__name__}: {seen}", flush=True)
        return
    raise AssertionError(f"{change.__name__} was not seen")


class Changed:
    """Of a copy of the entry, for a while."""

    def __init__(self, entry):
        self.entry = copy.deepcopy(entry)

    def __enter__(self):
        return self.entry

    def __exit__(self, *_):
        return False


class wrong_gradient(Changed):
    """One element is off by 1e-7 of the largest."""

    def __enter__(self):
        gradient = np.array(next(iter(self.entry["gradients"].values())))
        gradient.reshape(-1)[0] += 1e-7 * np.abs(gradient).max()
        self.entry["gradients"][next(iter(self.entry["gradients"]))] = gradient.tolist()
        return self.entry


class wrong_loss(Changed):
    def __enter__(self):
        self.entry["losses"][0] *= 1 + 1e-7
        return self.entry


class wrong_printer(Changed):
    """tanh is printed as erf."""

    def __enter__(self):
        pp_text.SIMPLE.remove("tanh")
        pp_text.Printer.print_tanh = lambda self, node, dtype, shape, x, _: self.unary("erf", x)
        return self.entry

    def __exit__(self, *_):
        del pp_text.Printer.print_tanh
        pp_text.SIMPLE.add("tanh")
        return False


class dropped_detach(Changed):
    """A detach is left out: the loss is right, gradients are not."""

    def __enter__(self):
        detach = next(n for n in self.entry["description"]["nodes"] if n["op"] == "detach")
        detach["op"] = "checkpoint"
        return self.entry


def check_sees_internal_errors(directory):
    """An error about an op that no model has is the compiler's, not the model's."""
    ppopt, entry = os.path.join(directory, "refuses"), json.loads((HERE / "committed" / "planted.json").read_text())
    for op, is_internal in (("pp.launch", True), ("pp.gemm", True), ("llvm.func", True), ("pp.reshape", False)):
        with open(ppopt, "w") as file:
            file.write(f"#!/bin/sh\necho \"m.mlir:1:2: error: '{op}' op is wrong\" >&2\nexit 1\n")
        os.chmod(ppopt, 0o755)
        try:
            compile_pair(ppopt, entry["description"], next(pairs_of(entry)), os.path.join(directory, "refused"))
        except (Finding, Refused) as seen:
            assert isinstance(seen, Finding) == is_internal, f"'{op}': {seen!r}"
        else:
            raise AssertionError(f"'{op}' was not refused")


def check_live(harness, directory):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    seed = int(time.time())
    command = [harness.args.pytorch, str(HERE / "generate.py"), "--count", str(LIVE), "--seed", str(seed), "--ppopt", harness.ppopt,
               "--keep", os.path.join(tempfile.gettempdir(), "ppopt_found"), "--jobs", str(len(os.sched_getaffinity(0)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout, end="", flush=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def check_again(harness, _):
    """The committed numbers are what PyTorch makes of the descriptions here."""
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    done = subprocess.run([harness.args.pytorch, str(HERE / "make_committed.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def main():
    harness = Harness("models")
    with tempfile.TemporaryDirectory() as directory:
        cases = [(path.stem, functools.partial(check_entry, harness.ppopt, directory, path))
                 for path in sorted((HERE / "committed").glob("*.json"))]
        harness.cases(cases)
        for change in (wrong_gradient, wrong_loss, wrong_printer, dropped_detach):
            harness.case(f"sees {change.__name__}", functools.partial(check_sees, harness.ppopt, directory, change))
        harness.case("sees internal errors", functools.partial(check_sees_internal_errors, directory))
        harness.case("committed again", functools.partial(check_again, harness, directory))
        harness.case("live", functools.partial(check_live, harness, directory))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
