#!/usr/bin/env python3
"""Holds the program that generates against evaluation.

Both programs of an executable compute the same logits: evaluation those of all positions of a row at once, generation those
of one position after the other, from what it cached of the earlier ones. The cross entropy that follows from the logits of
generation must be the loss of evaluation, over whole rows and (in f64) for single positions. The executables are
linked with score_program.cpp, which runs the second program over given tokens.
"""
import functools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import mutations, safetensors_io  # noqa: E402
from support.executable import Executable, Mismatch, checked, expect_close, new_log, without_optimizing  # noqa: E402
from support.results import Harness  # noqa: E402

import models  # noqa: E402

TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "bf16": 2e-3}
IGNORED = -100
# LLVM optimises these programs: it changes no bit (test/equivalence/check_bits.py).
OPTIMIZED = ("gpt in f32", "gpt in bf16", "llama in f32")


class Tools:
    """A compiler that links the runtime with our main, and `ppopt model`."""

    def __init__(self, build, directory):
        self.directory = directory
        folder = os.path.join(directory, "prefix", "bin")
        os.makedirs(folder)
        # The compiler finds the runtime relative to its own file.
        self.ppopt = shutil.copy(os.path.join(build, "bin", "ppopt"), folder)
        self.mutate = shutil.copy(mutations.tool_of(os.path.join(build, "bin", "ppopt")), folder)
        os.symlink(os.path.join(build, "test", "generation", "lib"), os.path.join(directory, "prefix", "lib"))

    def compile(self, name, model, flags, mutation=None):
        path = os.path.join(self.directory, name.replace(" ", "_"))
        with open(path + ".mlir", "w") as file:
            file.write(model if isinstance(model, str) else self.make_gpt(model))
        tool = [self.mutate, "--mutate", mutation] if mutation else [self.ppopt]
        flags = flags if name in OPTIMIZED else without_optimizing(flags)
        checked([*tool, "compile", path + ".mlir", "-o", path, "--threads", "2", *flags])
        return Executable(path)

    def make_gpt(self, flags):
        return checked([self.ppopt, "model", "gpt", *flags]).stdout


def draw(executable, seed):
    """Parameters that are far from symmetric, and rows of tokens that go on with the next."""
    random = np.random.default_rng(seed)
    dtypes = {"f32": np.float32, "f64": np.float64}
    parameters = {}
    for parameter in executable.program["parameters"]:
        values = random.standard_normal(parameter["shape"]) * 0.3
        parameters[parameter["name"]] = values.astype(dtypes[parameter["type"]])
    tokens = executable.program["inputs"][0]
    rows, positions = tokens["shape"]
    window = random.integers(0, tokens["ranges"][0]["size"], (rows, positions + 1))
    return parameters, window


def evaluate(executable, parameters, window, targets, name):
    """The loss of one batch, these rows, as evaluation has it."""
    stem = f"{executable.path}.{name}"
    inputs = executable.program["inputs"]
    types = {"i32": np.int32, "i64": np.int64}
    safetensors_io.write(stem + ".inputs", {
        inputs[0]["name"]: np.ascontiguousarray(window[:, :-1], types[inputs[0]["type"]]),
        inputs[1]["name"]: np.ascontiguousarray(targets, types[inputs[1]["type"]])})
    safetensors_io.write(stem + ".init", parameters)
    checked([executable.path, "--steps", "0", "--inputs", stem + ".inputs", "--eval-inputs", stem + ".inputs",
             "--eval-batches", "1", "--init", stem + ".init", *new_log(stem + ".jsonl")])
    with open(stem + ".jsonl") as file:
        records = [json.loads(line) for line in file]
    return [float.fromhex(r["loss_hex"]) for r in records if r["event"] == "eval"][-1]


def score(executable, parameters, window):
    """The logits of generation, [rows, positions, vocabulary]."""
    stem = f"{executable.path}.score"
    tokens = np.ascontiguousarray(window[:, :-1], np.int64)
    tokens.tofile(stem + ".tokens")
    safetensors_io.write(stem + ".init", parameters)
    checked([executable.path, "--score", stem + ".tokens", *map(str, tokens.shape), stem + ".init", stem + ".logits"])
    return np.fromfile(stem + ".logits").reshape(*tokens.shape, -1)


def cross_entropy(logits, targets):
    """Of each position."""
    highest = logits.max(-1, keepdims=True)
    total = np.log(np.exp(logits - highest).sum(-1)) + highest[..., 0]
    return total - np.take_along_axis(logits, targets[..., None], -1)[..., 0]


def check(tools, name, model, flags, precision, mutation=None):
    executable = tools.compile(name, model, flags, mutation)
    parameters, window = draw(executable, seed=len(name))
    logits, targets = score(executable, parameters, window), window[:, 1:]
    losses = cross_entropy(logits, targets)
    tolerance = TOLERANCE[precision]
    ours = losses.mean()
    theirs = evaluate(executable, parameters, window, targets, "rows")
    print(f"  {name}: {ours:.15g} against {theirs:.15g}, relative {abs(ours - theirs) / abs(theirs):.2g}", flush=True)
    expect_close("mean cross entropy", ours, theirs, tolerance)
    if IGNORED not in [indexed["ignore_index"] for indexed in executable.program["inputs"][1]["ranges"]]:
        return
    positions = losses.shape[1]
    for position in sorted({0, positions // 2, positions - 1}):
        only = np.full(targets.shape, IGNORED)
        only[:, position] = targets[:, position]
        theirs = evaluate(executable, parameters, window, only, f"position{position}")
        expect_close(f"cross entropy at position {position}", losses[:, position].mean(), theirs, tolerance)


def check_mutation(tools):
    """Positions that are off by one must be seen."""
    try:
        check(tools, "mutated", models.gpt("f64"), [], "f64", "position-off-by-one")
    except Mismatch:
        return
    raise AssertionError("a position that is off by one goes unnoticed")


def check_refused(tools):
    """A model that can't generate is compiled and trained all the same, and says where it can't."""
    executable = tools.compile("not causal", models.small(causal=""), [])
    parameters, window = draw(executable, seed=1)
    evaluate(executable, parameters, window, window[:, 1:], "rows")
    done = subprocess.run([executable.path, "--init", executable.path + ".rows.init", "--generate", "1"],
                          capture_output=True, text=True)
    assert done.returncode != 0 and "not_causal.mlir:" in done.stderr and "it is not causal" in done.stderr, done.stderr


def main():
    harness = Harness("generation")
    with tempfile.TemporaryDirectory() as directory:
        tools = Tools(harness.args.build, directory)
        for name, model, flags, precision in models.cases():
            harness.case(name, functools.partial(check, tools, name, model, flags, precision))
        harness.case("mutation position-off-by-one", functools.partial(check_mutation, tools))
        harness.case("a model that can't generate", functools.partial(check_refused, tools))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
