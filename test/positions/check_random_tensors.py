#!/usr/bin/env python3
"""Holds pp.random against numpy, by the formulas of docs/random-numbers.md: each element by its index, another at each step, the same under every plan.

The gradient of the parameter `w`, by which the numbers are multiplied, is the numbers, or their sum over the batch.
"""
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

TOLERANCE = {"f64": 1e-14, "f32": 2e-6, "bf16": 5e-3}
SEED = 11
# text, distribution, its two numbers
DRAWS = [("uniform", "uniform", 0, 1), ("uniform {low = -2.0 : f64, high = 0.5 : f64}", "uniform", -2, 0.5), ("normal", "normal", 0, 1),
         ("normal {mean = 3.0 : f64, std = 0.5 : f64}", "normal", 3, 0.5)]
MASK = 2**64 - 1


def extend(path, text):
    for byte in text.encode():
        path = (path ^ byte) * 0x100000001B3 & MASK
    return path


def words_of(seed, stream, step, count):
    """Four words for each group of four elements; Philox4x32-10."""
    groups, low = np.arange(-(-count // 4), dtype=np.uint64), np.uint64(0xFFFFFFFF)
    words = [groups & low, groups >> np.uint64(32), np.full_like(groups, step), np.zeros_like(groups)]
    key = (seed ^ stream) & MASK
    keys = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [(second >> np.uint64(32)) ^ words[1] ^ np.uint64(keys[0]), second & low, (first >> np.uint64(32)) ^ words[3] ^ np.uint64(keys[1]), first & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(words, 1)


def numbers(distribution, first, second, element, stream, step, shape):
    count, bits = int(np.prod(shape)), 32 if element == "f64" else 24
    words = (words_of(SEED, stream, step, count) >> np.uint64(32 - bits)).astype(np.float64)
    if distribution == "uniform":
        drawn = first + (second - first) * words * 2.0**-bits
    else:
        radius = np.sqrt(-2 * np.log((words[:, [0, 2]] + 1) * 2.0**-bits))
        angle = 2 * np.pi * words[:, [1, 3]] * 2.0**-bits
        drawn = first + second * np.stack([radius * np.cos(angle), radius * np.sin(angle)], -1)
    return drawn.ravel()[:count].reshape(shape)


def model(draw, element, shape, of_rows):
    """`of_rows`: `w` has no dimension of the batch, so that the batch can be split."""
    held = "f32" if element == "bf16" else element
    t, inner = (f"tensor<{'x'.join(map(str, shape))}x{e}>" for e in (held, element))
    w = f"tensor<{'x'.join(map(str, shape[1:] if of_rows else shape))}x{held}>"
    cast = f"%r = pp.cast %n : {inner} to {t}" if element != held else ""
    dims = list(range(len(shape)))
    return f"""func.func @drawn(%x: {t} {{pp.input = "x"}}) -> tensor<{held}> {{
  %other = pp.random normal -> tensor<{held}>
  %w = pp.param "w" {{init = #pp.init<zeros>{', shard = #pp.sharding<[{tp}]>' if of_rows else ''}}} : {w}
  {'%n' if cast else '%r'} = pp.random {draw} -> {inner}
  {cast}
  %s = pp.add %r, %x : {t}, {t}
  %y = pp.mul %s, %w : {t}, {w}
  %l = pp.reduce sum %y {dims} : {t}
  %o = pp.detach %other : tensor<{held}>
  %z = pp.constant dense<0.0> : tensor<{held}>
  %p = pp.mul %o, %z : tensor<{held}>, tensor<{held}>
  %loss = pp.add %l, %p : tensor<{held}>, tensor<{held}>
  return %loss : tensor<{held}>
}}
"""


def check(ppopt, directory, draw, element, shape, flags=(), step=0):
    text, distribution, first, second = draw
    stem = os.path.join(directory, re.sub(r"\W+", "_", " ".join([text, element, str(shape), *flags, str(step)])))
    pathlib.Path(stem + ".mlir").write_text(model(text, element, shape, bool(flags)))
    executable = compile_model(ppopt, stem + ".mlir", stem, ["--optimizer", "sgd", "--threads", "1", *flags], optimized=True)
    zeros = np.zeros(shape, np.float64 if element == "f64" else np.float32)
    ones = np.ones(shape[1:] if flags else shape, zeros.dtype)
    result = run(executable, ["--lr", "1", "--momentum", "0", "--seed", str(SEED)], init={"w": ones}, inputs={"x": zeros}, steps=step + 1, dump_gradients=step == 0)
    stream = extend(extend(0xCBF29CE484222325, "drawn"), "/#1")
    drawn = [numbers(distribution, first, second, element, stream, s, shape) for s in range(step + 1)]
    if flags:
        drawn = [each.sum(0) for each in drawn]
    # The forward and the backward draw the same. Of several steps the updates are summed, at a learning rate of 1.
    expect_close("sum", result.losses[0], drawn[0].sum(), TOLERANCE[element], least_scale=np.prod(shape))
    got = result.gradients["w"] if step == 0 else 1 - result.parameters["w"]
    expect_close("numbers", got, sum(drawn), TOLERANCE[element] * (step + 1), least_scale=1)


def check_statistics():
    """The formulas that the numbers are compared with have the moments of the distributions."""
    for element in ("f32", "f64"):
        z = numbers("normal", 0, 1, element, 5, 3, (400000,))
        for power, moment, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)]:
            assert abs((z**power).mean() - moment) < 4 * np.sqrt(variance / z.size), (element, power)
        assert abs((z[1:] * z[:-1]).mean()) < 4 / np.sqrt(z.size)
        u = numbers("uniform", 0, 1, element, 5, 3, (400000,))
        assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / u.size) and abs(u.var() - 1 / 12) < 1e-3


def check_bug(mutate, directory):
    try:
        check(mutate, directory, DRAWS[2], "f64", (4, 6), ["--mesh", "dp=2", "--mutate", "tile-at-zero"])
    except Mismatch:
        return
    raise AssertionError("numbers by the local index are not seen")


def main():
    harness = Harness("random tensors")
    mutate = os.path.join(harness.args.build, "bin", "test", "ppopt-mutate")
    plans = [["--mesh", "dp=2"], ["--mesh", "dp=1", "--microbatches", "2"], ["--mesh", "dp=2,tp=3", "--microbatches", "2"]]
    with tempfile.TemporaryDirectory() as directory:
        cases = [("statistics", check_statistics), ("bug: tile at zero", lambda: check_bug(mutate, directory))]
        for draw in DRAWS:
            for element in TOLERANCE:
                cases.append((f"{draw[0]} {element}", lambda d=draw, e=element: check(harness.ppopt, directory, d, e, (5, 7))))
        for draw in (DRAWS[0], DRAWS[2]):
            for plan in plans:
                cases.append((f"{draw[0]} {' '.join(plan)}", lambda d=draw, p=plan: check(harness.ppopt, directory, d, "f32", (8, 33), p)))
            cases.append((f"{draw[0]}, three steps", lambda d=draw: check(harness.ppopt, directory, d, "f64", (3, 1), step=2)))
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
