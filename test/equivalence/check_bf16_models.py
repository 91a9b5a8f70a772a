#!/usr/bin/env python3
"""Models that are written in bf16: their gradients are summed in f32, so that more microbatches, ranks or places make them no
worse. Against numpy in f64, at the values that the parameters have."""
import functools
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import compile_model, run  # noqa: E402
from support.results import Harness  # noqa: E402

ROWS, WIDTH, RATE = 192, 8, 0.5

# `w` is used on two places. The loss is summed and divided in bf16 or in f32.
MODEL = f"""
func.func @half(%x: tensor<{ROWS}x{WIDTH}xf32> {{pp.input = "x"}}, %t: tensor<{ROWS}x2xi32> {{pp.input = "t"}}) -> tensor<LOSS> {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 0.5>}} : tensor<{WIDTH}x{WIDTH}xbf16>
  %b = pp.param "b" {{init = #pp.init<normal, 0.0, 0.5>}} : tensor<{WIDTH}xbf16>
  %h = pp.on 0 -> tensor<{ROWS}x{WIDTH}xbf16> {{
    %0 = pp.cast %x : tensor<{ROWS}x{WIDTH}xf32> to tensor<{ROWS}x{WIDTH}xbf16>
    %1 = pp.matmul %0, %w : tensor<{ROWS}x{WIDTH}xbf16>, tensor<{WIDTH}x{WIDTH}xbf16>
    %2 = pp.add %1, %b : tensor<{ROWS}x{WIDTH}xbf16>, tensor<{WIDTH}xbf16>
    %3 = pp.tanh %2 : tensor<{ROWS}x{WIDTH}xbf16>
    pp.yield %3 : tensor<{ROWS}x{WIDTH}xbf16>
  }}
  %l = pp.on 1 -> tensor<LOSS> {{
    %0 = pp.matmul %h, %w : tensor<{ROWS}x{WIDTH}xbf16>, tensor<{WIDTH}x{WIDTH}xbf16>
    %1 = pp.tanh %0 : tensor<{ROWS}x{WIDTH}xbf16>
    %2 = pp.cast %1 : tensor<{ROWS}x{WIDTH}xbf16> to tensor<{ROWS}x{WIDTH}xLOSS>
    %3 = pp.reduce sum %2 [0, 1] : tensor<{ROWS}x{WIDTH}xLOSS>
    %4 = pp.count %t {{ignore_index = -1 : i64}} : tensor<{ROWS}x2xi32> to tensor<LOSS>
    %5 = pp.div %3, %4 : tensor<LOSS>, tensor<LOSS>
    pp.yield %5 : tensor<LOSS>
  }}
  return %l : tensor<LOSS>
}}
"""

PLANS = {"mb1": ["--microbatches", "1"],
         "mb8": ["--microbatches", "8"],
         "mb96": ["--microbatches", "96"],
         "dp2 mb96": ["--mesh", "dp=2", "--microbatches", "96"],
         "dp2 pp2 mb48": ["--mesh", "dp=2,pp=2", "--microbatches", "48"],
         "pp2 owner mb96": ["--mesh", "pp=2", "--tied", "owner", "--microbatches", "96"],
         "pp2 zb-h1 mb96": ["--mesh", "pp=2", "--schedule", "zb-h1", "--microbatches", "96"],
         "pp2 local mb96": ["--mesh", "pp=2", "--launch", "local", "--microbatches", "96"]}
OPTIMIZERS = {"sgd": ["--weight-decay", "0"], "adamw": ["--weight-decay", "0.1"]}

# Roundings of the activations, in units of a tensor's largest element; summed in bf16, 96 parts are off by 2e-2.
LARGEST_ERROR = 4e-3


def draw_inputs():
    random = np.random.default_rng(1)
    t = np.zeros((ROWS, 2), np.int32)
    t[:ROWS // 4, 1] = -1
    return {"x": (np.round(random.standard_normal((ROWS, WIDTH)) * 16 + 8) / 16).astype(np.float32), "t": t}


def reference(parameters, inputs):
    """(loss, gradients) in f64."""
    w, b = (parameters[n].astype(np.float64) for n in "wb")
    x, count = inputs["x"].astype(np.float64), np.sum(inputs["t"] != -1)
    h = np.tanh(x @ w + b)
    y = np.tanh(h @ w)
    dy = (1 - y * y) / count
    dh = (dy @ w.T) * (1 - h * h)
    return y.sum() / count, {"w": h.T @ dy + x.T @ dh, "b": dh.sum(0)}


def check_plan(ppopt, directory, plan, optimizer, loss_type):
    name = "_".join(p.strip("-").replace("=", "").replace(",", "_") for p in [*plan, optimizer, loss_type])
    model = os.path.join(directory, name + ".mlir")
    with open(model, "w") as file:
        file.write(MODEL.replace("LOSS", loss_type))
    executable = compile_model(ppopt, model, os.path.join(directory, name), [*plan, "--threads", "1", "--optimizer", optimizer], optimized=True)
    inputs = draw_inputs()
    before = run(executable, [], name="before", steps=0, inputs=inputs).parameters
    loss, wanted = reference(before, inputs)
    flags = ["--lr", str(RATE), *OPTIMIZERS[optimizer], "--clip", "0.2", "--check-counters"]
    ours = run(executable, flags, dump_gradients=True, inputs=inputs)
    assert abs(ours.losses[0] - loss) <= LARGEST_ERROR * abs(loss), f"the loss is {ours.losses[0]}, and {loss} in f64"
    for n in wanted:
        error = np.abs(ours.gradients[n] - wanted[n]).max() / np.abs(wanted[n]).max()
        assert error <= LARGEST_ERROR, f"the gradient of {n} is off by {error:.2g}"
    norm = np.sqrt(sum(np.sum(g * g) for g in wanted.values()))
    found = ours.records[0]["norm"]
    assert abs(found - norm) <= LARGEST_ERROR * norm, f"the norm is {found}, and {norm} in f64"
    # The update is made in f32 of f32 gradients, and rounded once.
    clip = min(1, 0.2 / found)
    for n, gradient in ours.gradients.items():
        p, g = before[n].astype(np.float64), gradient.astype(np.float64) * clip
        after = p - RATE * g if optimizer == "sgd" else p * (1 - RATE * 0.1) - RATE * g / (np.abs(g) + 1e-8)
        error = np.abs(ours.parameters[n] - after) / (np.abs(after) + 1e-3)
        assert error.max() <= 2 ** -8, f"the update of {n} is off by {error.max():.2g}"


def main():
    harness = Harness("bf16_models")
    with tempfile.TemporaryDirectory() as directory:
        harness.cases([(f"{name}, {optimizer}, loss in {loss}",
                        functools.partial(check_plan, harness.ppopt, directory, plan, optimizer, loss))
                       for name, plan in PLANS.items() for loss in ("f32", "bf16") for optimizer in OPTIMIZERS
                       if optimizer == "sgd" or name in ("mb96", "dp2 pp2 mb48")])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
