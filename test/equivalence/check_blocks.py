#!/usr/bin/env python3
"""Compares random models that are computed in blocks of rows (tiny --block-bytes) with numpy and with the same models computed whole, in f64 within 1e-12.

Around a wide matmul stand slices, pads, concatenations, reshapes, transposes and reductions along the dimensions that blocks cut; a
batch of one row, uneven rows, and budgets down to 64 bytes, so that blocks are cut into blocks again. The loss is numpy's;
the gradients of the whole program have numpy's slope along a random direction. By hand: check_blocks.py --count 500 --seed 7.
"""
import argparse
import functools
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "gradients")]
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

from graph import Graph, Ids, P, Rows, model_text  # noqa: E402
from ops import gelu, log_softmax, normalize, pad, sigmoid, softmax, token_loss, transposed  # noqa: E402

TOLERANCE = 1e-12
SLOPE_TOLERANCE = 1e-7  # of differences along one direction

UNARY = [("tanh %{}", np.tanh), ("sigmoid %{}", sigmoid), ("gelu %{}", gelu), ("neg %{}", np.negative), ("checkpoint %{}", lambda x: x)]
ROWS = [("softmax %{}", softmax), ("log_softmax %{}", log_softmax),
        ("normalize %{} {{center, eps = 1.0e-02 : f64}}", lambda x: normalize(x, True, 1e-2))]
BINARY = [("add %{}, %{}", np.add), ("mul %{}, %{}", np.multiply), ("sub %{}, %{}", np.subtract)]


class Drawing:
    """A graph while it is drawn: operands are all known before the first step, as their numbers come first."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.batch = self.pick([1, 1, 2, 2, 3])
        self.positions, self.width, self.classes = self.pick([2, 3, 4, 6, 7, 8, 12]), self.pick([2, 3, 4]), self.pick([4, 6, 8, 16, 24])
        sizes = [self.width, self.classes]
        self.operands = [Rows(self.positions, self.width), Ids(self.positions, high=2), P(self.positions, 1), P()]
        self.operands += [P(a, b) for a in sizes for b in sizes] + [P(a) for a in sizes]
        self.shapes = [(self.batch, self.positions, self.width), None, *(each.shape for each in self.operands[2:])]
        self.steps = []
        # A batch of one row may be cut like any other dimension: the compiler does not split it.
        self.first = 0 if self.batch == 1 else 1

    def pick(self, choices):
        return choices[int(self.random.integers(len(choices)))]

    def add(self, template, forward, shape):
        self.steps.append((template, forward))
        self.shapes.append(tuple(int(size) for size in shape))
        return len(self.shapes) - 1

    def parameter(self, shape):
        return next((k for k in range(2, len(self.operands)) if self.shapes[k] == tuple(shape)), None)

    def product(self, x, columns):
        return self.add(f"matmul %{x}, %{self.parameter((self.shapes[x][-1], columns))}", np.matmul, (*self.shapes[x][:-1], columns))

    def dim(self, x):
        """A dimension that may be cut, mostly the first, which is that of blocks of one batch row."""
        rank = len(self.shapes[x])
        return self.first if self.random.random() < 0.6 else int(self.random.integers(self.first, rank))

    def slice(self, x, dim=None, at=None, size=None):
        shape = list(self.shapes[x])
        dim = self.dim(x) if dim is None else dim
        size = int(self.random.integers(1, shape[dim] + 1)) if size is None else size
        at = int(self.random.integers(shape[dim] - size + 1)) if at is None else at
        offsets = [at if d == dim else 0 for d in range(len(shape))]
        shape[dim] = size
        return self.add(f"slice %{x} {offsets}", lambda v: v[tuple(slice(o, o + n) for o, n in zip(offsets, shape))], shape)

    def pad(self, x):
        shape, dim = list(self.shapes[x]), self.dim(x)
        offsets = [0] * len(shape)
        offsets[dim] = int(self.random.integers(3))
        shape[dim] += offsets[dim] + int(self.random.integers(3))
        return self.add(f"pad %{x} {offsets}", lambda v: pad(v, shape, offsets), shape)

    def concat(self, x):
        dim = self.dim(x)
        others = [k for k in range(len(self.operands), len(self.shapes)) if len(self.shapes[k]) == len(self.shapes[x])
                  and all(a == b for d, (a, b) in enumerate(zip(self.shapes[k], self.shapes[x])) if d != dim)]
        other = self.pick(others) if others else x
        shape = list(self.shapes[x])
        shape[dim] += self.shapes[other][dim]
        pair = f"%{other}, %{x}" if self.random.random() < 0.5 else f"%{x}, %{other}"
        return self.add(f"concat {pair} {{dim = {dim} : i64}}", lambda a, b: np.concatenate([a, b], dim), shape)

    def reshape(self, x):
        """Two neighbours become one, or one becomes two."""
        shape = list(self.shapes[x])
        dim = self.dim(x)
        if dim + 1 < len(shape) and (self.random.random() < 0.5 or len(shape) > 3):
            shape[dim:dim + 2] = [shape[dim] * shape[dim + 1]]
        else:
            factor = self.pick([f for f in range(1, shape[dim] + 1) if shape[dim] % f == 0])
            shape[dim:dim + 1] = [factor, shape[dim] // factor]
        return self.add(f"reshape %{x}", lambda v: v.reshape(shape), shape)

    def transpose(self, x):
        rank = len(self.shapes[x])
        perm = [*range(self.first), *(int(d) for d in self.random.permutation(np.arange(self.first, rank)))]
        return self.add(f"transpose %{x} {perm}", lambda v: v.transpose(perm), [self.shapes[x][d] for d in perm])

    def reduce(self, x):
        dim, keep = self.dim(x), bool(self.random.integers(2))
        kind, forward = self.pick([("sum", np.sum), ("mean", np.mean)])
        shape = [1 if d == dim else s for d, s in enumerate(self.shapes[x]) if keep or d != dim]
        return self.add(f"reduce {kind} %{x} [{dim}]" + (" {keep_dims}" if keep else ""), lambda v: forward(v, axis=dim, keepdims=keep), shape)

    def elementwise(self, x):
        template, forward = self.pick(UNARY)
        return self.add(template.format(x), forward, self.shapes[x])

    def rows(self, x):
        template, forward = self.pick(ROWS)
        return self.add(template.format(x), forward, self.shapes[x])

    def binary(self, x):
        """With a parameter that is broadcast, or another value of the same shape."""
        shape = self.shapes[x]
        others = [k for k in range(len(self.shapes)) if k != 1 and (self.shapes[k] == shape or k < len(self.operands) and self.shapes[k] in
                                                                  ((), shape[-1:], (shape[-2], 1) if len(shape) > 1 else ()))]
        if not others or not shape:
            return x
        template, forward = self.pick(BINARY)
        return self.add(template.format(x, self.pick(others)), forward, shape)

    def matmul(self, x):
        """By a parameter, or with itself over the positions."""
        shape = self.shapes[x]
        if len(shape) < 3 - (1 - self.first):
            return x
        if len(shape) == 3 and self.random.random() < 0.4:
            if self.random.random() < 0.5:
                return self.add(f"matmul %{x}, %{x} {{transpose_lhs}}", lambda a, b: transposed(a) @ b, (shape[0], shape[2], shape[2]))
            return self.add(f"matmul %{x}, %{x} {{transpose_rhs}}", lambda a, b: a @ transposed(b), (shape[0], shape[1], shape[1]))
        columns = self.pick([self.width, self.classes])
        return x if self.parameter((shape[-1], columns)) is None else self.product(x, columns)

    def move(self, x):
        if len(self.shapes[x]) <= self.first or max(self.shapes[x]) > 64:
            return x
        return self.pick([self.slice, self.slice, self.pad, self.concat, self.reshape, self.transpose])(x)

    def step(self, x):
        if len(self.shapes[x]) <= self.first:
            return self.elementwise(x)
        if self.random.random() < 0.5:
            return self.move(x)
        return self.pick([self.elementwise, self.rows, self.binary, self.matmul, self.reduce])(x)


def random_model(seed):
    d = Drawing(seed)
    random = d.random
    x = 0
    for _ in range(int(random.integers(3))):
        y = d.move(x) if random.random() < 0.7 else d.elementwise(x)
        x = y if len(d.shapes[y]) >= 2 and d.shapes[y][-1] == d.width else x
    wide = [d.product(x, d.classes)]
    if random.random() < 0.3:
        wide.append(d.product(0, d.classes))
    results = []
    if len(d.shapes[wide[0]]) == 3 and d.shapes[wide[0]][:2] == (d.batch, d.positions) and random.random() < 0.5:
        results.append(d.add(f"token_loss %{wide[0]}, %1", token_loss, d.shapes[wide[0]][:-1]))
    for _ in range(int(random.integers(1, 3))):
        x = d.pick(wide)
        for _ in range(int(random.integers(1, 6))):
            x = d.step(x)
            if len(d.shapes[x]) > 2:
                wide.append(x)
        shape = d.shapes[x]
        if shape and shape[0] != d.batch:  # what weighs it is an input
            x = d.add(f"reshape %{x}", lambda v, to=(1, *shape): v.reshape(to), (1, *shape))
        results.append(x)
    return Graph(d.operands, d.steps, batch=d.batch, prefix="g_", seed=seed, results=sorted(set(results)))


def check_blocks(ppopt, directory, seed):
    random = np.random.default_rng([seed, 1])
    graph = random_model(seed)
    model = os.path.join(directory, f"blocks_{seed}.mlir")
    with open(model, "w") as file:
        file.write(model_text([graph], "blocks"))
    largest = max(value.size * 8 for value in graph.values(graph.params)[len(graph.operands):])
    budgets = sorted({int(b) for b in 2.0 ** random.uniform(6, max(7, np.log2(largest)), 2)} | {64}, reverse=True)
    results = {}
    for budget in ("unlimited", *budgets):
        try:
            executable = compile_model(ppopt, model, f"{model[:-5]}_{budget}", ["--block-bytes", str(budget), "--threads", "1", "--optimizer", "sgd"])
            results[budget] = result = run(executable, ["--lr", "0.01", "--momentum", "0", "--poison"], dump_gradients=True,
                                           init=graph.params, inputs=graph.inputs)
            expect_close("losses", result.losses, [graph.loss(graph.params)], TOLERANCE, least_scale=1)
            check_gradients(graph, result.gradients, results["unlimited"].gradients)
        except Exception as error:
            raise AssertionError(f"seed {seed}, --block-bytes {budget}:\n{error}\n{model_text([graph], 'blocks')}") from error


def check_gradients(graph, gradients, whole):
    largest = max(np.abs(g).max() for g in whole.values())
    if gradients is not whole:
        return expect_close("gradient", gradients, whole, TOLERANCE, least_scale=largest)
    direction, slope = graph.slope(np.random.default_rng(graph.seed), 1e-3)
    ours = sum(np.sum(gradients[name] * direction[name]) for name in gradients)
    expect_close("slope", [ours], [slope], SLOPE_TOLERANCE, least_scale=largest)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=32, help="models (default 32)")
    parser.add_argument("--seed", type=int, default=1000, help="of the first (default 1000)")
    harness = Harness("blocks", parser)
    with tempfile.TemporaryDirectory() as directory:
        first, count = harness.args.seed, harness.args.count
        harness.cases([(f"seed {seed}", functools.partial(check_blocks, harness.ppopt, directory, seed)) for seed in range(first, first + count)])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
