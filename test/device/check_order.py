#!/usr/bin/env python3
"""Compares sums of the target cuda's kernels, on the emulated device, bit for bit with numpy's in the order that docs/cuda.md states. Comparisons
with the target cpu allow for any order; a kernel whose order changes is seen here."""
import argparse
import functools
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
from fractions import Fraction

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from bf16_cases import draw_normal, draw_raw, parameter, round_bf16, tensor  # noqa: E402
from matmul_cases import gemm, module_text  # noqa: E402
from support.results import Harness  # noqa: E402

TYPES = {"f32": np.float32, "f64": np.float64}


def model(result, element, body, inputs=""):
    """The loss is %sum times the parameter `out`, whose gradient is the sum."""
    shape = tensor(result, element)
    return f"""
func.func @order({inputs or '%unused: tensor<1xf32> {pp.input = "unused"}'}) -> tensor<{element}> {{
  {parameter("out", result, element)}
  {body}
  %m = pp.mul %sum, %out : {shape}, {shape}
  %loss = pp.reduce sum %m {list(range(len(result)))} : {shape}
  return %loss : tensor<{element}>
}}
"""


def reduction(rows, columns, dim, element):
    body = f"{parameter('x', (rows, columns), element)}\n  %sum = pp.reduce sum %x [{dim}] : {tensor((rows, columns), element)}"
    return model((columns if dim == 0 else rows,), element, body)


def add_lanes(x, lanes):
    """Sums of columns: lane l has the rows l, l + lanes, … in order; then neighbouring lanes are combined, and their results."""
    sums = np.zeros((lanes, *x.shape[1:]), x.dtype)
    for begin in range(0, len(x), lanes):
        part = x[begin:begin + lanes]
        sums[:len(part)] += part
    while len(sums) > 1:
        sums = sums[0::2] + sums[1::2]
    return sums[0]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def change_file(path, change):
    with open(path) as file:
        text = file.read()
    changed = change(text)
    assert changed != text, "nothing to change in the device code"
    with open(path, "w") as file:
        file.write(changed)


class Program:
    """The kernels of a model, whose tasks are emulated on values. The device code of all runs is that of the first."""

    def __init__(self, harness, text, folder, flags=()):
        self.emulate, self.lock = os.path.join(harness.args.build, "bin", "test", "ppopt-emulate"), threading.Lock()
        path, self.kernels, self.device = (os.path.join(folder, name) for name in ("model.mlir", "kernels.mlir", "device.ll"))
        with open(path, "w") as file:
            file.write(text)
        run(harness.ppopt, "compile", path, "--target", "cuda", "--threads", "1", *flags, "--stop-after=kernels", "-o", self.kernels)
        with open(self.kernels) as file:
            self.text = file.read()

    def compute(self, values, result, element, change=None):
        """Returns the gradient of `result`. `change` is applied to the device code, for this run and those after it."""
        tasks = ",".join(re.findall(r"^  pp\.task (?:forward|backward) stage 0 @(\w+)", self.text, re.MULTILINE))

        def emulate(*flags):
            with tempfile.TemporaryDirectory() as folder:
                for name, x in values.items():
                    x.tofile(os.path.join(folder, name))
                run(self.emulate, self.kernels, *flags, "--tasks", tasks, "--values", folder)
                return np.fromfile(os.path.join(folder, f"grad.{result}"), TYPES[element])
        with self.lock:
            if not os.path.exists(self.device):
                computed = emulate("--save-device-ir", self.device)
                if not change:
                    return computed
        if change:
            change_file(self.device, change)
        return emulate(self.device)


def same_bits(got, want):
    return got.dtype == want.dtype and got.tobytes() == want.tobytes()


def check_reduction(harness, rows, columns, dim, element, flags, change=None):
    x = draw_normal(f"{rows}x{columns}", (rows, columns)).astype(TYPES[element])
    # Not bf16, of which many sums are exact.
    x = (x * np.pi).astype(TYPES[element])
    with tempfile.TemporaryDirectory() as folder:
        program = Program(harness, reduction(rows, columns, dim, element), folder, flags)
        plan = re.search(rf"form = #pp.form<(rows|columns) {rows}x{columns}>, threads = #pp.threads<(\d+), (\d+) per row, (\d+) each", program.text)
        assert plan, "no kernel has this form"
        form, count, per_row, each = plan[1], *map(int, plan.groups()[1:])
        assert form == ("rows", "columns")[dim == 0]
        lanes = count // per_row if form == "columns" else per_row * each
        want = add_lanes(x if dim == 0 else x.T, lanes)
        got = program.compute({"param.x": x, "param.out": np.ones(len(want), TYPES[element])}, "out", element, change)
    return same_bits(got, want)


def add_parts(rows, per_part):
    """Sums of rows that are neighbours in a list which is cut into parts; each part is summed up by itself. `rows`: pairs of their places and rows."""
    parts = {}
    for place, row in rows:
        part = place // per_part
        parts[part] = parts.get(part, np.zeros_like(row)) + row
    total, *others = [parts[part] for part in sorted(parts)]
    for other in others:
        total = total + other
    return total


def add_scatter(ids, dout, table, plan):
    """As a GPU adds rows to those of a table: each block lists the ids of every n-th row, and sorts the list when it is nearly full."""
    result = np.zeros((table, dout.shape[1]), dout.dtype)
    for group in range(plan.groups):
        listed = []
        for first in range(0, len(ids), plan.ids):
            listed += [i for i in range(first, min(first + plan.ids, len(ids))) if ids[i] % plan.groups == group]
            if first + plan.ids < len(ids) and len(listed) <= plan.capacity - plan.ids:
                continue
            listed.sort(key=lambda i: ids[i])
            per_part, of_row = -(-len(listed) // plan.teams), {}
            for place, i in enumerate(listed):
                of_row.setdefault(ids[i], []).append((place, dout[i]))
            for row, entries in of_row.items():
                result[row] += add_parts(entries, per_part)
            listed = []
    return result


class ScatterPlan:
    """What a scatter's kernel is planned to do, and how full its list gets."""

    def __init__(self, text, rows, table, element):
        found = re.search(rf"form = #pp.form<scatter (?:{rows}x)?\d+>, threads = #pp.threads<(\d+), (\d+) per row, (\d+) each, (\d+) shared>, "
                          r"tiles = #pp.tiles<\d+ of \d+ columns, blocks of (\d+)>", text)
        assert found, "no kernel has this form"
        threads, per_row, each, shared, block = map(int, found.groups())
        self.groups, self.teams = -(-table // block), threads // per_row
        bits = (block - 1).bit_length() + (rows - 1).bit_length()
        other = threads * each * TYPES[element]().itemsize + threads // 32 * 4
        self.capacity = (shared - other) // (2 * (4 if bits < 32 else 8))
        self.ids = threads * min(max(self.capacity // 2 // threads, 1), 16)


def draw_ids(rows, table, kind):
    """Ids of each kind that a block's list and its parts may meet."""
    uniform = (draw_raw("ids", (rows,)) % np.uint64(table)).astype(np.int32)
    return {"uniform": uniform, "equal": np.full(rows, table - 1, np.int32), "different": (np.arange(rows) * 7 % table).astype(np.int32),
            "skewed": np.where(uniform % 3 == 0, uniform, min(2, table - 1)).astype(np.int32)}[kind]


class Scatters:
    """The program of each scatter, for ids of all kinds."""

    def __init__(self, harness, directory):
        self.harness, self.directory = harness, directory
        self.program = functools.cache(self.compile)

    def compile(self, sizes, element, flags):
        return Program(self.harness, scatter_model(sizes, element), tempfile.mkdtemp(dir=self.directory), flags)


def scatter_model(sizes, element):
    rows, table, columns = sizes
    shape = tensor((table, columns), element)
    return model((rows, columns), element, f"{parameter('t', (table, columns), element)}\n  %sum = pp.embedding %t, %ids : {shape}, {tensor((rows,), 'i32')}",
                 f'%ids: {tensor((rows,), "i32")} {{pp.input = "ids"}}')


def check_scatter(scatters, sizes, kind, element, flags):
    """The rows of each id, in the order of the list's parts."""
    rows, table, columns = sizes
    ids = draw_ids(rows, table, kind)
    dout = (draw_normal("dout", (rows, columns)) * np.pi).astype(TYPES[element])
    program = scatters.program(sizes, element, flags)
    want = add_scatter(ids, dout, table, ScatterPlan(program.text, rows, table, element))
    got = program.compute({"param.t": np.zeros_like(want), "param.out": dout, "input.ids": ids}, "t", element)
    return same_bits(got, want.reshape(-1))


def multiply_add_f32(a, b, c):
    """a b + c in one rounding. The product is exact in f64. Of the two f64 next to the sum that with an odd last bit is taken, which is no tie of f32."""
    product, c = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
    near = product + c
    part = near - product
    rest = (product - (near - part)) + (c - part)
    is_even = near.view(np.int64) % 2 == 0
    return np.where((rest != 0) & is_even, np.nextafter(near, np.copysign(np.inf, rest)), near).astype(np.float32)


def multiply_add_f64(a, b, c):
    exact = np.vectorize(lambda a, b, c: float(Fraction(a) * Fraction(b) + Fraction(c)), otypes=[np.float64])
    return exact(a, b, c)


def add_products(a, b, sum_terms):
    """A B, each product added in one rounding, in the order of k: sums of some terms each, which are added."""
    multiply_add = {"float32": multiply_add_f32, "float64": multiply_add_f64}[a.dtype.name]
    result = np.zeros((len(a), b.shape[1]), a.dtype)
    for begin in range(0, len(b), sum_terms):
        total = np.zeros_like(result)
        for k in range(begin, min(begin + sum_terms, len(b))):
            total = multiply_add(a[:, k:k + 1], b[k:k + 1], total)
        result += total
    return result


def add_tensor_products(a, b, _):
    """A B in f32 as the emulated device's tensor cores add: 16 terms at a time in f64, rounded once."""
    result = np.zeros((len(a), b.shape[1]), np.float32)
    for begin in range(0, len(b), 16):
        total = result.astype(np.float64)
        for k in range(begin, min(begin + 16, len(b))):
            total += np.outer(a[:, k].astype(np.float64), b[k].astype(np.float64))
        result = total.astype(np.float32)
    return result


class Matmul:
    """A matmul in row order of random operands; of bf16, into f32."""

    def __init__(self, m, n, k, element):
        self.sizes, self.element, self.result = (m, n, k), element, "f32" if element == "bf16" else element
        self.operands = [(draw_normal(name, shape) * np.pi).astype(TYPES[self.result]) for name, shape in (("a", (m, k)), ("b", (k, n)))]
        self.stored = self.operands
        if element == "bf16":
            self.operands = [round_bf16(x) for x in self.operands]
            self.stored = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in self.operands]

    def add(self, sum_terms):
        """In numpy."""
        return (add_tensor_products if self.element == "bf16" else add_products)(*self.operands, sum_terms)

    def emulate(self, harness, thresholds, change=None):
        """On the emulated device. `change` is applied to the device code."""
        emulator = os.path.join(harness.args.build, "bin", "test", "ppopt-emulate")
        with tempfile.TemporaryDirectory() as folder:
            model, kernels, device, a, b, c = (os.path.join(folder, name) for name in ("model.mlir", "kernels.mlir", "device.ll", "a", "b", "c"))
            with open(model, "w") as file:
                file.write(module_text([gemm(*self.sizes, (self.element, self.result))], thresholds))
            run(harness.ppopt, "opt", model, "--pp-plan-cuda-matmuls", "-o", kernels)
            run(emulator, kernels, "--seeds", "1", "--save-device-ir", device)
            if change:
                change_file(device, change)
            with open(kernels) as file:
                name, blocks, shared = re.search(r"matmul_kernel<@(\w+), (\d+) of .* (\d+) shared", file.read()).groups()
            for path, x in zip((a, b), self.stored):
                x.tofile(path)
            count = self.sizes[0] * self.sizes[1]
            run(emulator, device, "--launch", name, "--grid", blocks, "--shared", shared,
                "--buffers", f"in:{self.element}:{a},in:{self.element}:{b},out:{self.result}:{count}:{c}")
            return np.fromfile(c, TYPES[self.result])


def check_matmul(harness, matmul, sum_terms):
    """The bits do not depend on the tiles. Sums are multiples of what a block takes at a time."""
    want = matmul.add(sum_terms).reshape(-1)
    for thresholds in ("gpu-matmul-blocks=1", "gpu-matmul-tile=16,gpu-matmul-depth=16"):
        assert same_bits(matmul.emulate(harness, f"{thresholds},gpu-matmul-sum={sum_terms}"), want), f"the sums have other bits: {thresholds}"


def round_products(text):
    """Products are rounded before they are added."""
    call = r"%(\d+) = tail call float @llvm\.fma\.f32\(float (\S+), float (\S+), float (\S+)\)"
    return re.sub(call, r"%product\1 = fmul float \2, \3\n  %\1 = fadd float %product\1, \4", text)


def check_planted_matmul(harness, sum_terms, change=None):
    """Expects other bits than those of sums of 8 terms, and nearly the same numbers."""
    matmul = Matmul(17, 18, 70, "f32")
    got = matmul.emulate(harness, f"gpu-matmul-tile=16,gpu-matmul-depth=16,gpu-matmul-sum={sum_terms}", change)
    want = matmul.add(8).reshape(-1)
    expect(same_bits(got, want), False)
    assert np.abs(got - want).max() < 1e-5 * np.abs(want).max(), "the planted order has other numbers"


def swap_shuffles(text):
    """Of the kernel's first reduction, threads that are furthest apart are combined first."""
    head, name, body = text.partition("define ptx_kernel void @reduce_mul")
    kernel, end, rest = body.partition("\n}\n")
    pattern = r"(shfl\.sync\.bfly\.\w+\([^\n]*, i32 )(\d+)(, i32 31\))"
    found = [distance for _, distance, _ in re.findall(pattern, kernel)]
    swapped = iter(found[::-1])
    return head + name + re.sub(pattern, lambda match: match[1] + next(swapped) + match[3], kernel) + end + rest


# Sums over columns and over rows: of parts of warps, warps and blocks, with tails.
REDUCTIONS = [(9, 768, 1), (7, 33, 1), (40, 20, 1), (3, 5000, 1), (2, 2056, 1), (5, 2047, 1), (300, 40, 0), (1000, 9, 0), (37, 3, 0), (4100, 33, 0),
              (11, 65537, 0)]
FLAGS = {"": ["--threshold", "long-sum=100000"], ", few threads": ["--threshold", "gpu-threads=64,gpu-each=2,gpu-warp-columns=64,gpu-columns=2,long-sum=100000"]}

# Rows that are added, rows and columns of the table: more and fewer ids than rows, and as many; a table of one row; odd columns; one id.
SCATTERS = [(200, 7, 33), (600, 1000, 20), (40, 300, 128), (3000, 90, 4), (513, 1, 6), (1, 5, 3)]
# Lists that fill up; blocks of one warp; several runs of columns; a block for each row; more teams than entries.
SCATTER_FLAGS = {"": (), ", one block": ("--threshold", "gpu-table-blocks=1,gpu-table-columns=8,gpu-table-list=1"),
                 ", one warp": ("--threshold", "gpu-threads=32,gpu-each=2,gpu-table-blocks=6,gpu-table-columns=2,gpu-table-list=100"),
                 ", short list": ("--threshold", "gpu-threads=64,gpu-table-blocks=3,gpu-table-list=200")}


def expect(is_same, wanted=True):
    assert is_same == wanted, "the sums have other bits" if wanted else "the planted order has the same bits"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="all kinds of ids, and all sums in both types")
    harness = Harness("order", parser)
    tests = [("planted: lanes in another order, rows", lambda: expect(check_reduction(harness, 9, 768, 1, "f32", [], swap_shuffles), False)),
             ("planted: lanes in another order, columns", lambda: expect(check_reduction(harness, 300, 40, 0, "f32", [], swap_shuffles), False))]
    tests += [("planted: sums of a matmul with other terms", lambda: check_planted_matmul(harness, 16)),
              ("planted: products of a matmul rounded", lambda: check_planted_matmul(harness, 8, round_products))]
    for element, sum_terms in (("f32", 8), ("f32", 24), ("f32", 1024), ("f64", 8), ("f64", 24), ("f64", 1024), ("bf16", 1024)):
        tests.append((f"matmul {element}, sums of {sum_terms}", lambda element=element, sum_terms=sum_terms:
                      check_matmul(harness, Matmul(17 if element == "f64" else 33, 20, 70, element), sum_terms)))
    is_long = harness.args.long
    for (at, (title, flags)), (number, (rows, columns, dim)) in itertools.product(enumerate(FLAGS.items()), enumerate(REDUCTIONS)):
        # f64 has fewer elements in a vector, and else the same order.
        for element in TYPES if is_long or (at + number) % 2 else ("f32",):
            tests.append((f"{'columns' if dim == 0 else 'rows'} {rows}x{columns} {element}{title}",
                          lambda rows=rows, columns=columns, dim=dim, element=element, flags=flags:
                          expect(check_reduction(harness, rows, columns, dim, element, flags))))
    with tempfile.TemporaryDirectory() as directory:
        scatters = Scatters(harness, directory)
        # What shares a program is far apart, so that no case waits for another. Each sizes and flags meet two kinds of ids.
        kinds = enumerate(("uniform", "equal", "different", "skewed"))
        for (turn, kind), (at, (title, flags)), (number, sizes) in itertools.product(kinds, enumerate(SCATTER_FLAGS.items()), enumerate(SCATTERS)):
            if (turn + at + number) % 2 and not is_long:
                continue
            for element in TYPES if kind == "skewed" else ("f32",):
                tests.append((f"scatter {'x'.join(map(str, sizes))} {kind} {element}{title}", lambda sizes=sizes, kind=kind, element=element, flags=flags:
                              expect(check_scatter(scatters, sizes, kind, element, flags))))
        harness.cases(tests)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
