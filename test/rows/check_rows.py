#!/usr/bin/env python3
"""Holds models whose loss needs all rows of the batch together (Inputs/) against PyTorch on the whole batch, and each plan against one rank: the loss and
all gradients of the first step, then losses and parameters of further steps. All in f64.

By hand: check_rows.py --filter 'clip, dp=2'; fixtures are made by make_fixtures.py.
"""
import functools
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import safetensors_io  # noqa: E402
from support.executable import Once, checked, compile_model, expect_close, run  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

ROWS, STEPS = 16, 3
TOLERANCE, OF_PARAMETERS = 1e-12, 1e-10

# Models, and what an axis of the model cuts of each.
MODELS = {"clip": "image.fc.weight=[{}, {tp}]; image.proj.weight=[{tp}, {}]",
          "simclr": "fc.weight=[{}, {tp}]; proj.weight=[{tp}, {}]",
          "batch_norm": "fc2.weight=[{}, {tp}]; fc3.weight=[{tp}, {}]",
          "switch": "fc.weight=[{}, {tp}]; head.weight=[{tp}, {}]",
          "quantile": "fc.weight=[{}, {tp}]; head.weight=[{tp}, {}]",
          "negatives": "fc.weight=[{}, {tp}]; proj.weight=[{tp}, {}]"}
SMALL = ["--bucket-bytes", "200"]
PLANS = [["dp=2"], ["dp=4"], ["fsdp=2"], ["dp=2,fsdp=2"], ["dp=2", "--zero", "1"], ["dp=2", "--zero", "2", *SMALL], ["dp=2", "--zero", "3", *SMALL],
         ["fsdp=2", "--zero", "3", *SMALL], ["dp=2,fsdp=2", "--zero", "3", *SMALL], ["dp=2", "--recompute", "layer"], ["dp=2", "--recompute", "none"],
         ["dp=2,tp=2"], ["tp=2,dp=2", "--zero", "1"], ["dp=2,pp=2"], ["fsdp=2,pp=2", "--zero", "3", *SMALL], ["dp=2,tp=2,pp=2"]]
BY_MPI = ["dp=2", "dp=2,pp=2"]  # all run as threads


class Rows:
    def __init__(self, ppopt, scratch):
        self.ppopt, self.scratch, self.once = ppopt, scratch, Once()
        self.fixtures = {name: safetensors_io.read(HERE / "fixtures" / f"{name}.safetensors") for name in MODELS}
        for name in MODELS:
            text = (HERE / "Inputs" / f"{name}.mlir").read_text().replace("TYPE", "f64")
            pathlib.Path(self.path(name)).write_text(text)

    def path(self, name):
        return os.path.join(self.scratch, f"{name}.mlir")

    def tensors(self, name, kind):
        return {key[len(kind) + 1:]: value for key, value in self.fixtures[name].items() if key.startswith(kind + ".")}

    def compile(self, name, plan):
        mesh, *flags = plan
        by_tp = ["--shard", MODELS[name]] if "tp" in mesh else []
        called = os.path.join(self.scratch, "_".join([name, *plan]).replace(" ", "_"))
        return compile_model(self.ppopt, self.path(name), called, ["--mesh", mesh, *by_tp, *flags, "--optimizer", "adamw", "--threads", "1"])

    def train(self, executable, name, launch="threads"):
        inputs = {key: np.concatenate([value] * STEPS) for key, value in self.tensors(name, "input").items()}
        return run(executable, ["--lr", "0.01", "--clip", "0.5", "--seed", "5", "--check-counters", "--poison"], launch, dump_gradients=True, steps=STEPS,
                   init=self.tensors(name, "init"), inputs=inputs, timeout=100)

    def one_rank(self, name):
        return self.once(name, lambda: self.train(self.compile(name, ["dp=1"]), name))

    def compare_with_torch(self, result, name):
        expect_close("loss", result.losses[0], self.fixtures[name]["loss"], TOLERANCE)
        expect_close("gradient", result.gradients, self.tensors(name, "gradient"), TOLERANCE, 1e-2)

    def check(self, name, plan):
        executable = self.compile(name, plan)
        one = self.one_rank(name)
        self.compare_with_torch(one, name)
        for launch in ["threads"] + (["mpirun"] if plan[0] in BY_MPI and len(plan) == 1 else []):
            result = self.train(executable, name, launch)
            self.compare_with_torch(result, name)
            expect_close("gradient", result.gradients, one.gradients, TOLERANCE, 1e-2)
            expect_close("losses", result.losses, one.losses, TOLERANCE)
            expect_close("parameters", result.parameters, one.parameters, OF_PARAMETERS)


def check_fixtures_again(python, scratch):
    """The committed numbers are what make_fixtures.py computes here."""
    if not python:
        raise Skip("needs tools/check --with-pytorch")
    again = os.path.join(scratch, "again")
    checked([python, str(HERE / "make_fixtures.py"), again])
    for name in MODELS:
        expect_close(name, safetensors_io.read(os.path.join(again, f"{name}.safetensors")),
                     safetensors_io.read(HERE / "fixtures" / f"{name}.safetensors"), TOLERANCE, 1e-2)


def main():
    harness = Harness("rows")
    with tempfile.TemporaryDirectory() as scratch:
        rows = Rows(harness.ppopt, scratch)
        cases = [(", ".join([name, " ".join(plan)]), functools.partial(rows.check, name, plan)) for name in MODELS for plan in PLANS]
        cases.append(("fixtures again", lambda: check_fixtures_again(harness.args.pytorch, scratch)))
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
