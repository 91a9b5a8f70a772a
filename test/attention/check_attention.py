#!/usr/bin/env python3
"""Holds attention, which the compiler writes in blocks, against numpy: outputs by the loss, gradients element by element.

Shapes are those that blocks do not fit: lengths around multiples of vectors and blocks, other lengths and widths of keys and
values than of queries, one fused projection or three tensors, heads before or after positions.
By hand: check_attention.py --filter bf16.
"""
import math
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

# Relative to the largest element. bf16 has 8 bits, and rounds q, k, v, the output and the gradients.
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "bf16": 4e-2}


def attention(q, k, v, dout, causal, scale):
    """The output and the gradients of q, k and v; [batch, heads, positions, width]."""
    s = q @ k.swapaxes(-1, -2) * scale
    if causal:
        s = np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    dp = dout @ v.swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) * scale
    return p @ v, ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dout


def tensor(type_, *shape):
    return f"tensor<{'x'.join(map(str, (*shape, type_)))}>"


class Case:
    """A model of one attention; its loss is the sum of the output times given weights."""

    def __init__(self, type_, queries, keys, width, value_width, causal, fused=False, batch=2, heads=3):
        self.type, self.fused, self.causal = type_, fused, causal
        self.batch, self.heads = batch, heads
        self.queries, self.keys, self.width, self.value_width = queries, keys, width, value_width
        random = np.random.default_rng(queries * 1000 + keys)
        self.held = "f32" if type_ == "bf16" else type_  # the type of parameters
        number = np.float64 if type_ == "f64" else np.float32
        shapes = {"q": (batch, heads, queries, width), "k": (batch, heads, keys, width),
                  "v": (batch, heads, keys, value_width)}
        if fused:
            shapes = {"qkv": (batch, queries, 3 * heads * width)}
        self.params = {n: random.standard_normal(s).astype(number) for n, s in shapes.items()}
        self.weights = random.standard_normal((batch, queries, heads * value_width)).astype(number)
        self.rows = np.zeros(977, number)  # of a batch that attention has nothing to do with

    @property
    def name(self):
        return (f"{self.type} {self.queries}x{self.keys}x{self.width}x{self.value_width}"
                f"{' causal' if self.causal else ''}{' fused' if self.fused else ''}")

    def model(self):
        b, h, t, s, d, e = self.batch, self.heads, self.queries, self.keys, self.width, self.value_width
        lines, values = [], []
        for name, value in self.params.items():
            held = tensor(self.held, *value.shape)
            lines.append(f'%{name}_p = pp.param "{name}" {{init = #pp.init<zeros>}} : {held}')
            lines.append(f"%{name} = pp.cast %{name}_p : {held} to {tensor(self.type, *value.shape)}"
                         if self.type != self.held else "")
            values.append(f"%{name}" if self.type != self.held else f"%{name}_p")
        q, k, v = (tensor(self.type, b, h, *x) for x in [(t, d), (s, d), (s, e)])
        if self.fused:
            split, all_heads = tensor(self.type, b, t, 3 * h, d), tensor(self.type, b, 3 * h, t, d)
            lines += [f"%split = pp.reshape {values[0]} : {tensor(self.type, b, t, 3 * h * d)} to {split}",
                      f"%heads = pp.transpose %split [0, 2, 1, 3] : {split}"]
            lines += [f"%{n} = pp.slice %heads [0, {i * h}, 0, 0] : {all_heads} to {q}" for i, n in enumerate("qkv")]
            values = ["%q", "%k", "%v"]
        out, merged = tensor(self.type, b, h, t, e), tensor(self.type, b, t, h * e)
        held = tensor(self.held, b, t, h * e)
        lines += [f"%a, %lse = pp.attention {', '.join(values)} {{{'causal' if self.causal else ''}}} : {q}, {k}, {v}",
                  f"%at = pp.transpose %a [0, 2, 1, 3] : {out}",
                  f"%m = pp.reshape %at : {tensor(self.type, b, t, h, e)} to {merged}"]
        if self.type != self.held:
            lines.append(f"%o = pp.cast %m : {merged} to {held}")
        o = "%o" if self.type != self.held else "%m"
        scalar, rows = tensor(self.held), tensor(self.held, self.rows.size)
        lines += [f'%weights = pp.param "weights" {{init = #pp.init<zeros>, frozen}} : {held}',
                  f"%y = pp.mul {o}, %weights : {held}, {held}", f"%weighted = pp.reduce sum %y [0, 1, 2] : {held}",
                  f"%zero = pp.reduce sum %rows [0] : {rows}",
                  f"%loss = pp.add %weighted, %zero : {scalar}, {scalar}"]
        return (f'func.func @attention(%rows: {rows} {{pp.input = "rows"}}) -> {scalar} {{\n  '
                + "\n  ".join(filter(None, lines)) + f"\n  return %loss : {scalar}\n}}\n")

    def expected(self):
        """The loss and the gradients of the parameters."""
        def heads_first(x):
            return x.reshape(self.batch, x.shape[1], -1, x.shape[-1] // self.heads).swapaxes(1, 2)
        params = {n: self.rounded(p.astype(np.float64)) for n, p in self.params.items()}
        if self.fused:
            parts = np.split(params["qkv"], 3, axis=-1)
            q, k, v = (heads_first(part) for part in parts)
        else:
            q, k, v = params["q"], params["k"], params["v"]
        weights = self.weights.astype(np.float64)
        out, dq, dk, dv = attention(q, k, v, heads_first(weights), self.causal, 1 / math.sqrt(self.width))
        loss = (out * heads_first(weights)).sum()
        if not self.fused:
            return loss, {"q": dq, "k": dk, "v": dv}
        merged = [x.swapaxes(1, 2).reshape(self.batch, self.queries, -1) for x in (dq, dk, dv)]
        return loss, {"qkv": np.concatenate(merged, axis=-1)}

    def rounded(self, x):
        if self.type != "bf16":
            return x
        bits = x.astype(np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def cases():
    for type_ in ["f32", "f64", "bf16"]:
        for queries, keys, width, value_width in [(1, 1, 1, 1), (7, 7, 5, 5), (65, 65, 16, 16), (129, 129, 40, 24)]:
            for causal in [False, True]:
                yield Case(type_, queries, keys, width, value_width, causal)
        yield Case(type_, 33, 70, 12, 20, False)
        yield Case(type_, 130, 3, 64, 72, False)
        yield Case(type_, 70, 70, 200, 136, True, batch=1, heads=1)
        yield Case(type_, 64, 64, 64, 64, True, fused=True)
        yield Case(type_, 100, 100, 24, 24, False, fused=True)
        yield Case(type_, 300, 300, 8, 8, True, fused=True)
    yield Case("bf16", 1100, 1100, 64, 64, True, batch=1, heads=1)  # the queries' gradient in a pass of its own
    yield Case("f32", 530, 530, 64, 64, True, batch=1, heads=2)  # several tiles a head


def check(ppopt, case, directory, flags):
    stem = os.path.join(directory, case.name.replace(" ", "_"))
    with open(stem + ".mlir", "w") as file:
        file.write(case.model())
    executable = compile_model(ppopt, stem + ".mlir", stem, ["--optimizer", "sgd", *flags], optimized=True)
    result = run(executable, ["--lr", "0"], init={**case.params, "weights": case.weights},
                 inputs={"rows": case.rows}, steps=1, dump_gradients=True)
    loss, gradients = case.expected()
    tolerance = TOLERANCE[case.type]
    # The loss is a sum of terms that cancel.
    terms = math.sqrt(case.weights.size)
    expect_close("loss", result.losses[0] / terms, loss / terms, tolerance, least_scale=1)
    expect_close("gradient", {n: result.gradients[n] for n in gradients}, gradients, tolerance, least_scale=0.1)
    return result


def check_threads(ppopt, directory):
    """The same bits for any number of threads."""
    case = Case("f32", 300, 300, 24, 24, True)
    one = check(ppopt, case, directory, ["--threads", "1"])
    three = check(ppopt, case, directory, ["--threads", "3"])
    for name in one.gradients:
        assert np.array_equal(one.gradients[name], three.gradients[name]), f"gradient of {name} differs in bits"


def main():
    harness = Harness("attention")
    with tempfile.TemporaryDirectory() as directory:
        tests = [(case.name, lambda case=case: check(harness.ppopt, case, directory, ["--threads", "1"]))
                 for case in cases()]
        tests.append(("threads", lambda: check_threads(harness.ppopt, directory)))
        for cpu in ["haswell", "x86-64"]:  # registers of 32 and of 16 bytes
            case = Case("f32", 71, 71, 24, 20, True)
            os.makedirs(os.path.join(directory, cpu))
            tests.append((f"{cpu} {case.name}", lambda case=case, cpu=cpu: check(
                harness.ppopt, case, os.path.join(directory, cpu), ["--threads", "1", "--cpu", cpu])))
        harness.cases(tests)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
