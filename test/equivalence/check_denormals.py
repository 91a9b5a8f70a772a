#!/usr/bin/env python3
"""Denormals: kept, gradients are what numpy computes; with --denormals flush they are 0, as operands and as results, of kernels, of matmuls and of
sums over ranks, on each thread of each rank, however the ranks are started. Other numbers keep their bits.
"""
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

ROWS, WIDTH, CLASSES = 8, 3000, 6  # several tiles for each thread
TINY, LARGE = 1e-20, 1e25


def multiplied(value, parameter):
    """The sum of an input's elements, each times its column's parameter."""
    return f"""  %p_{parameter} = pp.param "{parameter}" {{init = #pp.init<zeros>}} : tensor<{WIDTH}xf32>
  %m_{parameter} = pp.mul {value}, %p_{parameter} : tensor<{ROWS}x{WIDTH}xf32>, tensor<{WIDTH}xf32>
  %s_{parameter} = pp.reduce sum %m_{parameter} [0, 1] : tensor<{ROWS}x{WIDTH}xf32>
"""


MODEL = f"""func.func @small({", ".join(f'%{x}: tensor<{ROWS}x{WIDTH}xf32> {{pp.input = "{x}"}}' for x in ("tiny", "denormal", "apart"))}) -> tensor<f32> {{
  %tiny_factor = pp.constant dense<{TINY:.1e}> : tensor<f32>
  %large_factor = pp.constant dense<{LARGE:.1e}> : tensor<f32>
  %small = pp.mul %tiny, %tiny_factor : tensor<{ROWS}x{WIDTH}xf32>, tensor<f32>
  %raised = pp.mul %denormal, %large_factor : tensor<{ROWS}x{WIDTH}xf32>, tensor<f32>
{multiplied("%small", "result")}{multiplied("%raised", "operand")}{multiplied("%apart", "sum")}{multiplied("%tiny", "normal")}
  %w = pp.param "matmul" {{init = #pp.init<zeros>}} : tensor<{WIDTH}x{CLASSES}xf32>
  %y = pp.matmul %tiny, %w : tensor<{ROWS}x{WIDTH}xf32>, tensor<{WIDTH}x{CLASSES}xf32>
  %z = pp.mul %y, %tiny_factor : tensor<{ROWS}x{CLASSES}xf32>, tensor<f32>
  %s0 = pp.reduce sum %z [0, 1] : tensor<{ROWS}x{CLASSES}xf32>
  %s1 = pp.add %s0, %s_result : tensor<f32>, tensor<f32>
  %s2 = pp.add %s1, %s_operand : tensor<f32>, tensor<f32>
  %s3 = pp.add %s2, %s_sum : tensor<f32>, tensor<f32>
  %s4 = pp.add %s3, %s_normal : tensor<f32>, tensor<f32>
  return %s4 : tensor<f32>
}}
"""

PLANS = {"one thread": ["--threads", "1"], "two threads": ["--threads", "2"], "dp2": ["--mesh", "dp=2", "--threads", "2"],
         "microbatches, stage 3": ["--mesh", "dp=2", "--microbatches", "2", "--zero", "3", "--threads", "2"]}


def inputs():
    """`apart`: two halves of the rows, whose sums are normal and cancel all but a denormal."""
    signs = np.repeat(np.float32([2e-38, -1.9e-38]), ROWS // 2)[:, None]
    scales = np.linspace(1, 2, WIDTH, dtype=np.float32)
    return {"tiny": np.float32(TINY) * scales + np.zeros((ROWS, 1), np.float32), "denormal": np.float32(1e-40) * scales + np.zeros((ROWS, 1), np.float32),
            "apart": signs * scales}


def gradients(flushes):
    """In f64, whose denormals are far smaller."""
    given = {name: x.astype(np.float64) for name, x in inputs().items()}
    result = {"result": (given["tiny"] * np.float32(TINY)).sum(0), "operand": (given["denormal"] * np.float32(LARGE)).sum(0), "sum": given["apart"].sum(0)}
    result["matmul"] = np.repeat(result["result"][:, None], CLASSES, 1)
    if flushes:
        result = {name: np.zeros_like(gradient) for name, gradient in result.items()}
    return {**result, "normal": given["tiny"].sum(0)}


def check(ppopt, directory, flags, word, launch):
    executable = compile_model(ppopt, os.path.join(directory, "small.mlir"), os.path.join(directory, "_".join([*flags, word]).replace("=", "")),
                               [*flags, "--optimizer", "sgd", "--denormals", word])
    ours = run(executable, ["--lr", "1e-12"], launch, dump_gradients=True, inputs=inputs(), steps=1)
    smallest = float(np.finfo(np.float32).tiny)
    for name, wanted in gradients(word == "flush").items():
        got = ours.gradients[name].astype(np.float64)
        # Each of a few additions of denormals rounds to a multiple of 2^-149.
        assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max() + 16 * 2.0**-149 * (wanted != 0).any(), (name, got, wanted)
        if name in ("result", "sum", "matmul"):
            assert np.abs(gradients(False)[name]).max() < smallest, f"{name} has no denormals"
            assert (got != 0).all() == (word == "keep"), (name, got)
    expect_close("loss", ours.losses, [0.0], 0)


def main():
    harness = Harness("denormals")
    with tempfile.TemporaryDirectory() as directory:
        with open(os.path.join(directory, "small.mlir"), "w") as file:
            file.write(MODEL)
        for word in ("keep", "flush"):
            for name, flags in PLANS.items():
                harness.case(f"{word}, {name}", lambda flags=flags, word=word: check(harness.ppopt, directory, flags, word, "threads"))
            harness.case(f"{word}, dp2 under mpirun", lambda word=word: check(harness.ppopt, directory, PLANS["dp2"], word, "mpirun"))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
