#!/usr/bin/env python3
"""Holds attention, which the compiler writes in blocks, against numpy: outputs by the loss, gradients element by element.

Shapes are those that blocks do not fit: lengths around multiples of vectors and blocks, other lengths and widths of keys and
values than of queries, one fused projection or three tensors, heads before or after positions, fewer heads of keys. Each of
what changes or hides scores stands alone and with others, with rows that see no key. LLVM optimises every sixth program, of each type others.
By hand: check_attention.py --filter bf16; --long: LLVM optimises all.
"""
import argparse
import math
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.attention import each_head, probabilities  # noqa: E402
from support.executable import compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

# Relative to the largest element. bf16 has 8 bits, and rounds q, k, v, the output and the gradients.
TOLERANCE = {"f64": 1e-12, "f32": 2e-5, "bf16": 4e-2}
TOGETHER = 6  # attentions of a model
OPTIMIZED = 6  # LLVM optimises each sixth of a type's models: it takes most of the time, and changes no bit (test/equivalence/check_bits.py)


def sum_to(x, shape):
    """Sums what was broadcast from `shape`."""
    return x.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


def attention(values, dout, **options):
    """The output, and the gradients of `values`: q, k and v, perhaps bias and slopes."""
    q, k, v = (values[name] for name in "qkv")
    scale = 1 / math.sqrt(q.shape[-1])
    p, distance, slope = probabilities(q, k, bias=values.get("bias"), slopes=values.get("slopes"), **options)
    dp = dout @ each_head(v, q).swapaxes(-1, -2)
    ds = p * (dp - (dp * p).sum(-1, keepdims=True))
    gradients = {}
    if "bias" in values:
        gradients["bias"] = sum_to(ds, values["bias"].shape)
    if "slopes" in values:
        gradients["slopes"] = (ds * distance).sum((0, 2, 3))
    raw_ds = ds * slope * scale

    def of_group(x):
        return x.reshape(*k.shape[:2], -1, *x.shape[2:]).sum(2)
    gradients |= {"q": raw_ds @ each_head(k, q), "k": of_group(raw_ds.swapaxes(-1, -2) @ q), "v": of_group(p.swapaxes(-1, -2) @ dout)}
    return p @ each_head(v, q), gradients


def tensor(type_, *shape):
    return f"tensor<{'x'.join(map(str, (*shape, type_)))}>"


def documents(random, batch, tokens, type_=np.int32):
    """Ids of segments: a few runs, ids that come again, and negative ones."""
    ids = np.sort(random.integers(0, 4, (batch, tokens)), 1) - 2
    ids[:, tokens // 2:][ids[:, tokens // 2:] == 1] = -2
    return ids.astype(type_)


class Case:
    """A model of one attention; its loss is the sum of the output times given weights.

    `bias` and `mask` are shapes in which a letter of "bhts" stands for a dimension and "1" for a broadcast one. Some rows of the bias, or of
    the scores, have one number that is as `large`.
    """

    def __init__(self, type_, queries, keys, width, value_width, causal=False, fused=False, batch=2, heads=3, key_heads=None,
                 window=None, cap=None, bias=None, mask=None, slopes=False, segments=None, trained=True, large=None, decomposed=False):
        self.type, self.fused, self.causal = type_, fused, causal
        self.batch, self.heads, self.key_heads = batch, heads, key_heads or heads
        self.queries, self.keys, self.width, self.value_width = queries, keys, width, value_width
        self.window, self.cap, self.options, self.trained, self.decomposed = window, cap, [], trained, decomposed
        random = np.random.default_rng(queries * 1000 + keys)
        self.held = "f32" if type_ == "bf16" else type_  # the type of parameters
        number = np.float64 if type_ == "f64" else np.float32
        shapes = {"q": (batch, heads, queries, width), "k": (batch, self.key_heads, keys, width),
                  "v": (batch, self.key_heads, keys, value_width)}
        if fused:
            shapes = {"qkv": (batch, queries, 3 * heads * width)}
        self.params = {n: random.standard_normal(s).astype(number) for n, s in shapes.items()}
        full = dict(zip("bhts", (batch, heads, queries, keys)), **{"1": 1})
        if bias:
            self.params["bias"] = random.standard_normal([full[d] for d in bias]).astype(number)
            self.options.append(f"bias {bias}")
        if slopes:
            self.params["slopes"] = (0.5 ** np.arange(1, heads + 1)).astype(number)
            self.options.append("slopes")
        if large:
            self.enlarge(large, number)
        self.mask = self.segments = None
        if mask:
            self.mask = random.random([full[d] for d in mask]) < 0.6
            self.mask[:, :, ::3] = False  # a few rows see no key
            if mask[2] == "1":
                self.mask[0] = np.arange(self.mask.shape[3]) < keys // 2  # padding
            self.options.append(f"mask {mask}")
        if segments:
            self.segments = documents(random, batch, queries, segments)
            self.options.append(f"segments {np.dtype(segments)}")
        self.options += [f"window {window}"] if window else []
        self.options += [f"cap {cap}"] if cap else []
        self.options += [f"heads {heads}:{key_heads}"] if key_heads else []
        self.options += ["frozen"] if not trained else []
        self.options += [f"large {large:.0e}"] if large else []
        self.options += ["decomposed"] if decomposed else []
        self.weights = random.standard_normal((batch, queries, heads * value_width)).astype(number)

    def enlarge(self, large, number):
        """Of five rows one has a large number alone, one also ordinary ones, one also -infinity."""
        if "bias" not in self.params:  # the products of some queries with all keys
            self.params["k"][..., 0] = 1
            self.params["q"][:, :, ::5] = 0
            self.params["q"][:, :, ::5, 0] = large * math.sqrt(self.width)
            return
        bias, half = self.params["bias"], self.keys // 2
        bias[:, :, ::5] = number(large)
        bias[:, :, 1::5, :half] = number(large)
        bias[:, :, 2::5] = number(large)
        bias[:, :, 2::5, :half] = -np.inf
        bias[:, :, 3::5] = -np.inf

    @property
    def name(self):
        return " ".join(filter(None, [f"{self.type} {self.queries}x{self.keys}x{self.width}x{self.value_width}",
                                      "causal" if self.causal else "", "fused" if self.fused else "", *self.options]))

    def attributes(self):
        parts = ["causal"] if self.causal else []
        parts += [f"window = {self.window} : i64"] if self.window else []
        parts += [f"soft_cap = {self.cap:.1f} : f64"] if self.cap else []
        parts += ["dropout = 0.0 : f64"] if self.decomposed else []
        return "{" + ", ".join(parts) + "}"

    def body(self):
        """The lines of a function that ends with %weighted, the loss of this attention."""
        b, h, t, s, d, e = self.batch, self.heads, self.queries, self.keys, self.width, self.value_width
        lines, values = [], {}
        for name, value in self.params.items():
            held = tensor(self.held, *value.shape)
            frozen = "" if self.trained or name not in ("bias", "slopes") else ", frozen"
            # Biases and slopes are added to scores, which are f32.
            is_cast = self.type != self.held and name not in ("bias", "slopes")
            lines.append(f'%{name}_p = pp.param "{name}" {{init = #pp.init<zeros>{frozen}}} : {held}')
            lines.append(f"%{name} = pp.cast %{name}_p : {held} to {tensor(self.type, *value.shape)}" if is_cast else "")
            values[name] = f"%{name}" if is_cast else f"%{name}_p"
        q, k, v = tensor(self.type, b, h, t, d), tensor(self.type, b, self.key_heads, s, d), tensor(self.type, b, self.key_heads, s, e)
        if self.fused:
            split, all_heads = tensor(self.type, b, t, 3 * h, d), tensor(self.type, b, 3 * h, t, d)
            lines += [f"%split = pp.reshape {values['qkv']} : {tensor(self.type, b, t, 3 * h * d)} to {split}",
                      f"%heads = pp.transpose %split [0, 2, 1, 3] : {split}"]
            lines += [f"%{n} = pp.slice %heads [0, {i * h}, 0, 0] : {all_heads} to {q}" for i, n in enumerate("qkv")]
            values |= {n: f"%{n}" for n in "qkv"}
        operands, types = "", [q, k, v]
        if "bias" in self.params:
            operands += f" bias {values['bias']}"
            types.append(tensor(self.held, *self.params["bias"].shape))
        if self.mask is not None:
            numbers = tensor(self.held, *self.mask.shape)
            lines += [f'%mask_p = pp.param "mask" {{init = #pp.init<zeros>, frozen}} : {numbers}',
                      f"%none = pp.constant dense<0.0> : {tensor(self.held)}",
                      f"%mask = pp.compare gt %mask_p, %none : {numbers}, {tensor(self.held)}"]
            operands += " mask %mask"
            types.append(tensor("i1", *self.mask.shape))
        if "slopes" in self.params:
            operands += f" slopes {values['slopes']}"
            types.append(tensor(self.held, h))
        if self.segments is not None:
            ids = tensor("i64" if self.segments.dtype == np.int64 else "i32", *self.segments.shape)
            lines.append(f"%ids = pp.constant dense<{self.segments.tolist()}> : {ids}")
            operands += " segments %ids"
            types.append(ids)
        out, merged = tensor(self.type, b, h, t, e), tensor(self.type, b, t, h * e)
        held = tensor(self.held, b, t, h * e)
        lines += [f"%a, %lse = pp.attention {', '.join(values[n] for n in 'qkv')}{operands} {self.attributes()} : {', '.join(types)}",
                  f"%at = pp.transpose %a [0, 2, 1, 3] : {out}",
                  f"%m = pp.reshape %at : {tensor(self.type, b, t, h, e)} to {merged}"]
        if self.type != self.held:
            lines.append(f"%o = pp.cast %m : {merged} to {held}")
        o = "%o" if self.type != self.held else "%m"
        lines += [f'%weights = pp.param "weights" {{init = #pp.init<zeros>, frozen}} : {held}',
                  f"%y = pp.mul {o}, %weights : {held}, {held}", f"%weighted = pp.reduce sum %y [0, 1, 2] : {held}"]
        return "\n  ".join(filter(None, lines))

    def initial(self):
        values = {**self.params, "weights": self.weights}
        if self.mask is not None:
            values["mask"] = self.mask.astype(self.weights.dtype)
        return values

    def expected(self):
        """The loss and the gradients of the parameters."""
        def heads_first(x):
            return x.reshape(self.batch, x.shape[1], -1, x.shape[-1] // self.heads).swapaxes(1, 2)
        params = {n: p.astype(np.float64) if n in ("bias", "slopes") else self.rounded(p.astype(np.float64))
                  for n, p in self.params.items()}
        if self.fused:
            parts = np.split(params.pop("qkv"), 3, axis=-1)
            params |= {n: heads_first(part) for n, part in zip("qkv", parts)}
        weights = self.weights.astype(np.float64)
        out, gradients = attention(params, heads_first(weights), causal=self.causal, window=self.window, cap=self.cap, mask=self.mask,
                                   segments=self.segments, number=self.weights.dtype)
        loss = (out * heads_first(weights)).sum()
        if self.fused:
            merged = [gradients.pop(n).swapaxes(1, 2).reshape(self.batch, self.queries, -1) for n in "qkv"]
            gradients["qkv"] = np.concatenate(merged, axis=-1)
        if not self.trained:
            gradients.pop("bias", None), gradients.pop("slopes", None)
        return loss, gradients

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
    square = ("f32", 97, 97, 20, 12)
    for bias in ["bhts", "1hts", "bh1s", "1ht1", "b11s", "1111"]:
        yield Case(*square, True, bias=bias)
    for mask in ["bhts", "b11s", "1ht1"]:
        yield Case(*square, mask=mask)
    yield Case(*square, True, slopes=True)
    yield Case(*square, segments=np.int64)
    yield Case(*square, True, heads=6, key_heads=2)
    yield Case(*square, True, window=1)
    yield Case(*square, window=5)
    for type_, queries in [("f32", 97), ("f64", 67), ("bf16", 97)]:
        square = (type_, queries, queries, 20, 12)
        yield Case(*square, True, slopes=True, bias="11ts", trained=False)
        yield Case(*square, True, cap=2)
        yield Case(*square, mask="11ts")
        yield Case(*square, True, segments=np.int32)
        yield Case(*square, True, window=33, heads=4, key_heads=1)
        yield Case(type_, 31, 130, 8, 8, True)
        yield Case(type_, 31, 130, 8, 8, True, window=33, slopes=True, cap=3, mask="b1ts", bias="1hts", heads=4, key_heads=2)
        yield Case(*square, True, window=40, slopes=True, cap=3, mask="bhts", bias="b1ts", segments=np.int32, heads=4, key_heads=2)
        # Large enough to absorb the products of queries and keys.
        for large in [-1e18 if type_ == "f64" else -1e9, float(np.finfo(np.float64 if type_ == "f64" else np.float32).min)]:
            yield Case(*square, bias="bhts", large=large)
            yield Case(*square, True, bias="1hts", large=large, window=40, mask="b11s", heads=4, key_heads=2)
            yield Case(*square, True, bias="11ts", large=large, segments=np.int32, mask="11ts")
            yield Case(*square, bias="b1ts", large=large, mask="bhts", decomposed=True)
        yield Case(*square, large=2e8)
        yield Case(*square, True, large=2e8, window=40, mask="b11s")
        yield Case(*square, True, large=2e8, segments=np.int32, decomposed=True)
    yield Case("f32", 3, 33, 5, 3, True, mask="b1ts", bias="1h1s")
    yield Case("f32", 64, 64, 16, 16, True, fused=True, window=16, segments=np.int32)
    yield Case("f32", 300, 300, 16, 16, True, segments=np.int32, bias="1hts")
    yield Case("bf16", 1100, 1100, 16, 16, True, window=100, batch=1, heads=4, key_heads=1)  # in a pass of its own too
    yield Case("bf16", 1100, 1100, 64, 64, True, batch=1, heads=1)  # the queries' gradient in a pass of its own
    yield Case("f32", 530, 530, 64, 64, True, batch=1, heads=2)  # several tiles a head


class Together:
    """A model of several attentions of one type; its loss is the sum of theirs."""

    def __init__(self, cases):
        self.cases = cases
        self.type, self.held = cases[0].type, cases[0].held
        self.rows = np.zeros(977, cases[0].weights.dtype)  # of a batch that attention has nothing to do with

    @property
    def name(self):
        return "; ".join([self.cases[0].name, *(case.name.split(" ", 1)[1] for case in self.cases[1:])])

    def model(self):
        scalar, rows = tensor(self.held), tensor(self.held, self.rows.size)
        lines = [f"%loss0 = pp.reduce sum %rows [0] : {rows}"]
        for i, case in enumerate(self.cases):
            body = re.sub(r"%(\w)", rf"%c{i}_\1", case.body())
            lines += [re.sub(r'param "', f'param "c{i}.', body), f"%loss{i + 1} = pp.add %loss{i}, %c{i}_weighted : {scalar}, {scalar}"]
        return (f'func.func @attention(%rows: {rows} {{pp.input = "rows"}}) -> {scalar} {{\n  '
                + "\n  ".join(lines) + f"\n  return %loss{len(self.cases)} : {scalar}\n}}\n")

    def initial(self):
        return {f"c{i}.{name}": value for i, case in enumerate(self.cases) for name, value in case.initial().items()}

    def expected(self):
        each = [case.expected() for case in self.cases]
        return sum(loss for loss, _ in each), {f"c{i}.{n}": x for i, (_, gradients) in enumerate(each) for n, x in gradients.items()}


def check(ppopt, case, directory, flags, optimized=True):
    case = case if isinstance(case, Together) else Together([case])
    stem = tempfile.mktemp(dir=directory)
    with open(stem + ".mlir", "w") as file:
        file.write(case.model())
    executable = compile_model(ppopt, stem + ".mlir", stem, ["--optimizer", "sgd", *flags], optimized=optimized)
    result = run(executable, ["--lr", "0"], init=case.initial(), inputs={"rows": case.rows}, steps=1, dump_gradients=True)
    loss, gradients = case.expected()
    tolerance = TOLERANCE[case.type]
    # The loss is a sum of terms that cancel.
    terms = math.sqrt(sum(each.weights.size for each in case.cases))
    expect_close("loss", result.losses[0] / terms, loss / terms, tolerance, least_scale=1)
    expect_close("gradient", {n: result.gradients[n] for n in gradients}, gradients, tolerance, least_scale=0.5)
    return result


def check_threads(ppopt, directory):
    """The same bits for any number of threads."""
    case = Case("f32", 300, 300, 24, 24, True)
    one = check(ppopt, case, directory, ["--threads", "1"])
    three = check(ppopt, case, directory, ["--threads", "3"])
    for name in one.gradients:
        assert np.array_equal(one.gradients[name], three.gradients[name]), f"gradient of {name} differs in bits"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="LLVM optimises all models")
    harness = Harness("attention", parser)
    with tempfile.TemporaryDirectory() as directory:
        # An executable takes longer to make than a few more kernels.
        tests = []
        for first, type_ in enumerate(TOLERANCE):
            same = [case for case in cases() if case.type == type_]
            for number, i in enumerate(range(0, len(same), TOGETHER)):
                group, optimized = Together(same[i:i + TOGETHER]), harness.args.long or (number - 2 * first) % OPTIMIZED == 0
                tests.append((group.name, lambda case=group, optimized=optimized: check(harness.ppopt, case, directory, ["--threads", "1"], optimized)))
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
