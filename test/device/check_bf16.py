#!/usr/bin/env python3
"""Compares the errors of the target cuda's kernels in bf16, on the emulated device, with those of PyTorch's bf16: at most twice as large, both the largest
and the root of the mean square. The truth is computed here in f64 (bf16_cases.py); its size must be that of PyTorch's f64."""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.dirname(HERE)
sys.path[:0] = [TEST, HERE]
from bf16_cases import cases, errors_of  # noqa: E402
from support.results import Harness  # noqa: E402

FIXTURE = os.path.join(TEST, "pytorch", "fixtures", "bf16_errors.json")
MOST = 2  # times PyTorch's error


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def write_inputs(case, folder):
    """As files for `ppopt-emulate --tasks`."""
    for name, x in case.inputs().items():
        kind, bits = ("input", x) if name in case.ids else ("param", x)
        if name in case.shapes:
            bits = (x.view(np.uint32) >> 16).astype(np.uint16)
        bits.tofile(os.path.join(folder, f"{kind}.{name}"))


def emulate(harness, case, flags=()):
    """The output and the gradients that the device's kernels compute."""
    with tempfile.TemporaryDirectory() as folder:
        model, kernels = os.path.join(folder, "model.mlir"), os.path.join(folder, "kernels.mlir")
        with open(model, "w") as file:
            file.write(case.model())
        run(harness.ppopt, "compile", model, "--target", "cuda", "--threads", "1", *flags, "--stop-after=kernels", "-o", kernels)
        with open(kernels) as file:
            tasks = re.findall(r"^  pp\.task (?:forward|backward) stage 0 @(\w+)", file.read(), re.MULTILINE)
        assert len(tasks) == 2, tasks
        write_inputs(case, folder)
        run(os.path.join(harness.args.build, "bin", "test", "ppopt-emulate"), kernels, "--tasks", ",".join(tasks), "--values", folder)

        def read(name, shape):
            return np.fromfile(os.path.join(folder, name), np.float32).reshape(shape)
        out = read("loss.loss", ()) if case.is_loss else read("grad.dout", case.out)
        return {"out": out, **{name: read(f"grad.{name}", shape) for name, shape in case.shapes.items()}}


def check(harness, case, figures):
    truth, values = case.truth(), emulate(harness, case)
    assert truth.keys() == figures.keys(), f"{FIXTURE} has {list(figures)}: run test/pytorch/make_bf16_errors.py"
    report, wrong = [], []
    for name, want in truth.items():
        size = {"largest": np.abs(want).max(), "rms": np.sqrt((want ** 2).mean())}
        for kind, value in size.items():
            assert abs(value - figures[name][kind]) <= 1e-9 * value, f"{name}: the {kind} of f64 is {value}, PyTorch's {figures[name][kind]}"
        own, theirs = errors_of(values[name], want), figures[name]["pytorch"]
        text = ", ".join(f"{kind} {own[kind]:.2e} of {theirs[kind]:.2e}" for kind in own)
        report.append(f"  {name}: {text}")
        if any(not own[kind] <= MOST * theirs[kind] for kind in own):
            wrong.append(f"{name}: {text}")
    assert not wrong, f"errors of more than {MOST} times PyTorch's:\n" + "\n".join(wrong)
    print("\n".join([case.name, *report]))


# Models that are worse than PyTorch, and must be found so.
def round_parts(model):
    """The norm as three ops, each of which rounds."""
    shape, vector = (f"tensor<{size}xbf16>" for size in ("300x768", "768"))
    return re.sub(r"%out = pp.layer_norm.*", f"""%rows = pp.normalize %x {{center, eps = 1.0e-5 : f64}} : {shape}
  %scaled = pp.mul %rows, %scale : {shape}, {vector}
  %out = pp.add %scaled, %bias : {shape}, {vector}""", model)


PLANTED = {"parts of a norm are rounded": ("layer_norm 300x768", round_parts),
           "scores off by 1/64": ("attention of 1 heads, 257 tokens, width 80, causal",
                                  lambda model: model.replace("{causal}", "{causal, scale = 0.1136 : f64}"))}


def check_planted(harness, case, figures, change):
    text = change(case.model())
    assert text != case.model()
    case.model = lambda: text
    try:
        check(harness, case, figures)
    except AssertionError as error:
        assert "times PyTorch's" in str(error), error
        return
    raise AssertionError("the planted error is not seen")


def main():
    harness = Harness("bf16")
    with open(FIXTURE) as file:
        figures = json.load(file)["cases"]
    by_name = {case.name: case for case in cases()}
    harness.cases([("planted: " + name, lambda case=case, change=change: check_planted(harness, by_name[case], figures[case], change))
                   for name, (case, change) in PLANTED.items()])
    harness.cases([(case.name, lambda case=case: check(harness, case, figures.get(case.name, {}))) for case in cases()])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
