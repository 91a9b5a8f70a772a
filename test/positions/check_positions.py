#!/usr/bin/env python3
"""Holds pp.rotary against numpy, by transformers' formulas: values and gradients, positions by their global index under every cut, or given.

A model's parameter `p` is added to its rows, and what is rotated is multiplied by the parameter `w`: the gradient of `w` is the sum
of the rotated rows over the batch, and that of `p` the sum of w rotated back.
By hand: check_positions.py --filter bf16.
"""
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "gradients")]
from ops import llama3, rotary  # noqa: E402
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

# Relative to the largest element. In f32 an angle of 2,000 radians is known to 1e-4.
TOLERANCE = {"f64": 1e-11, "f32": 1e-5, "bf16": 2e-2}
LLAMA3 = "scaled llama3 {factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_length = 32 : i64, base = 50.0 : f64}"


class Form:
    """An op's text and its formula."""

    def __init__(self, name, text, **numpy):
        self.name, self.text, self.numpy = name, text, numpy


PLAIN = Form("plain", "")
INTERLEAVED = Form("interleaved", "{interleaved}", interleaved=True)
FORMS = [PLAIN, INTERLEAVED, Form("base", "{base = 500000.0 : f64}", base=5e5), Form("linear", "scaled linear {factor = 4.0 : f64}", scale=lambda f: f / 4),
         Form("llama3", LLAMA3, base=50, scale=llama3(8, 1, 4, 32))]


def of_width(width):
    """Forms that depend on the width of rows."""
    yield Form("ntk", "scaled ntk {factor = 4.0 : f64}", base=1e4 * 4 ** (width / (width - 2)))
    yield Form("part", f"{{width = {width - 2} : i64}}", width=width - 2)
    yield Form("part interleaved", f"{{width = 2 : i64, interleaved}}", width=2, interleaved=True)


class Case:
    def __init__(self, form, element="f64", batch=2, heads=3, length=5, width=8, positions=None, cut="{}, {}, {}", flags=()):
        self.form, self.element, self.positions, self.cut, self.flags = form, element, positions, cut, list(flags)
        self.batch, self.shape = batch, (heads, length, width)
        self.held = "f32" if element == "bf16" else element
        random, number = np.random.default_rng(length), np.float64 if element == "f64" else np.float32
        self.params = {name: random.standard_normal(self.shape).astype(number) for name in "pw"}
        self.inputs = {"x": random.standard_normal((batch, *self.shape)).astype(number)}
        if positions == "rows":  # of packed documents
            starts = random.integers(0, 3, (batch, length))
            at = np.zeros((batch, length), np.int32)
            for t in range(1, length):
                at[:, t] = np.where(starts[:, t] == 0, 0, at[:, t - 1] + 1)
            self.inputs["at"] = at
        elif positions == "far":
            self.inputs["at"] = random.integers(0, 2000, (batch, length)).astype(np.int32)

    @property
    def name(self):
        size = "x".join(map(str, (self.batch, *self.shape)))
        return " ".join(filter(None, [self.form.name, self.element, size, self.positions and f"at {self.positions}", *self.flags]))

    def model(self):
        x, p = (f"tensor<{'x'.join(map(str, s))}x%s>" for s in ((self.batch, *self.shape), self.shape))
        held, element, length = self.held, self.element, self.shape[1]
        given = {"rows": f"tensor<{self.batch}x{length}xi32>", "far": f"tensor<{self.batch}x{length}xi32>", "all": f"tensor<{length}xi64>"}.get(self.positions)
        arguments = [f'%x: {x % held} {{pp.input = "x"}}'] + ([f'%at: {given} {{pp.input = "at"}}'] if self.positions in ("rows", "far") else [])
        lines = [f'%{n} = pp.param "{n}" {{init = #pp.init<zeros>, shard = #pp.sharding<[{self.cut}]>}} : {p % held}' for n in "pw"]
        lines.append(f"%s = pp.add %x, %p : {x % held}, {p % held}")
        y = "%s"
        if element != held:
            lines.append(f"%c = pp.cast %s : {x % held} to {x % element}")
            y = "%c"
        if self.positions == "all":
            lines += [f"%ahead = pp.iota {{dim = 0 : i64}} -> {given}", "%three = pp.constant dense<3> : tensor<i64>",
                      f"%at = pp.add %ahead, %three : {given}, tensor<i64>"]
        lines.append(f"%r = pp.rotary {y}{' at %at' if given else ''} {self.form.text} : {x % element}{', ' + given if given else ''}")
        if element != held:
            lines.append(f"%b = pp.cast %r : {x % element} to {x % held}")
        lines += [f"%v = pp.mul {'%b' if element != held else '%r'}, %w : {x % held}, {p % held}", f"%loss = pp.reduce sum %v [0, 1, 2, 3] : {x % held}"]
        return f"func.func @rotary({', '.join(arguments)}) -> tensor<{held}> {{\n  " + "\n  ".join(lines) + f"\n  return %loss : tensor<{held}>\n}}\n"

    def expected(self):
        positions = self.inputs.get("at")
        if self.positions == "all":
            positions = np.arange(self.shape[1]) + 3
        wide = {n: v.astype(np.float64) for n, v in {**self.params, **self.inputs}.items()}

        def rotated(x):
            return rotary(x, positions, **self.form.numpy)
        y = rotated(wide["x"] + wide["p"])
        # A rotation is linear: its transpose is that of a basis.
        size = int(np.prod(self.shape))
        basis = np.eye(size).reshape(size, *self.shape)
        back = np.zeros(self.shape)
        for row in range(self.batch):
            at = positions[row] if positions is not None and positions.ndim == 2 else positions
            back += np.einsum("ihtd,htd->i", rotary(basis, at, **self.form.numpy), wide["w"]).reshape(self.shape)
        return (y * wide["w"]).sum(), {"w": y.sum(0), "p": back}

    def check(self, ppopt, directory):
        stem = os.path.join(directory, re.sub(r"\W+", "_", self.name))
        pathlib.Path(stem + ".mlir").write_text(self.model())
        executable = compile_model(ppopt, stem + ".mlir", stem, ["--optimizer", "sgd", "--threads", "1", *self.flags],
                                   optimized=self.element == "f32")
        result = run(executable, ["--lr", "0"], init=self.params, inputs=self.inputs, dump_gradients=True)
        loss, gradients = self.expected()
        tolerance = TOLERANCE[self.element] * (50 if self.positions == "far" and self.element != "f64" else 1)
        expect_close("loss", result.losses[0], loss, tolerance, least_scale=np.sqrt(self.inputs["x"].size))
        expect_close("gradient", result.gradients, gradients, tolerance)


def cases():
    for form in [*FORMS, *of_width(8)]:
        for element in ("f64", "f32", "bf16"):
            yield Case(form, element)
    for shape in [(1, 1, 2), (1, 1, 4), (3, 1, 6), (2, 31, 2), (1, 33, 66), (3, 7, 10)]:
        for form in (PLAIN, INTERLEAVED):
            yield Case(form, "f32", 3, *shape)
    for element in ("f64", "f32"):
        for positions in ("rows", "all", "far"):
            yield Case(PLAIN, element, 3, 2, 9, 6, positions)
    yield Case(INTERLEAVED, "f32", 3, 2, 9, 6, "rows")
    # Rows, heads and positions are cut, in space and time.
    plans = [("{}, {}, {}", ["--mesh", "dp=2", "--microbatches", "2"]), ("{tp}, {}, {}", ["--mesh", "dp=2,tp=2"]), ("{}, {sp}, {}", ["--mesh", "sp=2"]),
             ("{tp}, {sp}, {}", ["--mesh", "tp=2,sp=2", "--microbatches", "2"])]
    for cut, flags in plans:
        for positions in (None, "rows", "all"):
            yield Case(PLAIN, "f64", 4, 2, 6, 4, positions, cut, flags)
    yield Case(INTERLEAVED, "f32", 4, 2, 6, 4, None, "{}, {sp}, {}", ["--mesh", "dp=2,sp=2"])


def check_bug(mutate, directory):
    """With positions counted from 0 on each rank the numbers are wrong."""
    case = Case(PLAIN, "f64", 4, 2, 6, 4, None, "{}, {sp}, {}", ["--mesh", "sp=2"])
    case.flags += ["--mutate", "tile-at-zero"]
    try:
        case.check(mutate, directory)
    except Mismatch:
        return
    raise AssertionError("positions by the local index are not seen")


def main():
    harness = Harness("positions")
    mutate = os.path.join(harness.args.build, "bin", "test", "ppopt-mutate")
    with tempfile.TemporaryDirectory() as directory:
        tests = [(case.name, lambda case=case: case.check(harness.ppopt, directory)) for case in cases()]
        harness.cases([*tests, ("bug: tile at zero", lambda: check_bug(mutate, directory))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
