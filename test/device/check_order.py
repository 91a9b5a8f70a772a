#!/usr/bin/env python3
"""Compares sums of the target cuda's kernels, on the emulated device, bit for bit with numpy's in the order that docs/cuda.md states. Comparisons
with the target cpu allow for any order; a kernel whose order changes is seen here."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from bf16_cases import draw_normal, draw_raw, parameter, tensor  # noqa: E402
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


class Program:
    """The kernels of a model, whose tasks are emulated on values."""

    def __init__(self, harness, text, folder, flags=()):
        self.emulate, self.folder = os.path.join(harness.args.build, "bin", "test", "ppopt-emulate"), folder
        path, self.kernels = os.path.join(folder, "model.mlir"), os.path.join(folder, "kernels.mlir")
        with open(path, "w") as file:
            file.write(text)
        run(harness.ppopt, "compile", path, "--target", "cuda", "--threads", "1", *flags, "--stop-after=kernels", "-o", self.kernels)
        with open(self.kernels) as file:
            self.text = file.read()

    def compute(self, values, result, element, change=None):
        """Returns the gradient of `result`. `change` is applied to the device code."""
        for name, x in values.items():
            x.tofile(os.path.join(self.folder, name))
        tasks = re.findall(r"^  pp\.task (?:forward|backward) stage 0 @(\w+)", self.text, re.MULTILINE)
        command = ["--tasks", ",".join(tasks), "--values", self.folder]
        device = os.path.join(self.folder, "device.ll")
        run(self.emulate, self.kernels, *command, "--save-device-ir", device)
        if change:
            for name in [name for name in os.listdir(self.folder) if name.startswith(("grad.", "loss.", "saved."))]:
                os.remove(os.path.join(self.folder, name))
            with open(device) as file:
                text = file.read()
            changed = change(text)
            assert changed != text, "nothing to change in the device code"
            with open(device, "w") as file:
                file.write(changed)
            run(self.emulate, self.kernels, device, *command)
        return np.fromfile(os.path.join(self.folder, f"grad.{result}"), TYPES[element])


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


def check_scatter(harness, rows, table, columns, element, flags, change=None):
    """The rows of each id, in their order."""
    ids = (draw_raw("ids", (rows,)) % np.uint64(table)).astype(np.int32)
    dout = (draw_normal("dout", (rows, columns)) * np.pi).astype(TYPES[element])
    shape = tensor((table, columns), element)
    text = model((rows, columns), element, f"{parameter('t', (table, columns), element)}\n  %sum = pp.embedding %t, %ids : {shape}, {tensor((rows,), 'i32')}",
                 f'%ids: {tensor((rows,), "i32")} {{pp.input = "ids"}}')
    want = np.zeros((table, columns), TYPES[element])
    for row, target in zip(dout, ids):
        want[target] += row
    with tempfile.TemporaryDirectory() as folder:
        program = Program(harness, text, folder, flags)
        got = program.compute({"param.t": np.zeros_like(want), "param.out": dout, "input.ids": ids}, "t", element, change)
    return same_bits(got, want.reshape(-1))


def swap_shuffles(text):
    """Of the kernel's first reduction, threads that are furthest apart are combined first."""
    head, name, body = text.partition("define ptx_kernel void @reduce_mul")
    kernel, end, rest = body.partition("\n}\n")
    pattern = r"(shfl\.sync\.bfly\.\w+\([^\n]*, i32 )(\d+)(, i32 31\))"
    found = [distance for _, distance, _ in re.findall(pattern, kernel)]
    swapped = iter(found[::-1])
    return head + name + re.sub(pattern, lambda match: match[1] + next(swapped) + match[3], kernel) + end + rest


# Sums over columns and over rows: of parts of warps, warps and blocks, with tails.
REDUCTIONS = [(9, 768, 1), (7, 33, 1), (40, 20, 1), (3, 5000, 1), (2, 2056, 1), (5, 2047, 1), (300, 40, 0), (1000, 9, 0), (37, 3, 0), (4100, 33, 0)]
FLAGS = {"": [], ", few threads": ["--threshold", "gpu-threads=64,gpu-each=2,gpu-warp-columns=64,gpu-columns=2,gpu-table-rows=3"]}


def expect(is_same, wanted=True):
    assert is_same == wanted, "the sums have other bits" if wanted else "the planted order has the same bits"


def main():
    harness = Harness("order")
    tests = [("planted: lanes in another order, rows", lambda: expect(check_reduction(harness, 9, 768, 1, "f32", [], swap_shuffles), False)),
             ("planted: lanes in another order, columns", lambda: expect(check_reduction(harness, 300, 40, 0, "f32", [], swap_shuffles), False))]
    for title, flags in FLAGS.items():
        for element in TYPES:
            for rows, columns, dim in REDUCTIONS:
                tests.append((f"{'columns' if dim == 0 else 'rows'} {rows}x{columns} {element}{title}",
                              lambda rows=rows, columns=columns, dim=dim, element=element, flags=flags:
                              expect(check_reduction(harness, rows, columns, dim, element, flags))))
            tests.append((f"scatter {element}{title}", lambda element=element, flags=flags: expect(check_scatter(harness, 200, 7, 33, element, flags))))
    harness.cases(tests)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
