#!/usr/bin/env python3
"""Writes fixtures/bf16_errors.json: for each case of test/device/bf16_cases.py and each of its values (the output, gradients) the largest element and the
root of the mean square in f64, and the errors of PyTorch's bf16 on the CPU. Run it with .venv-pytorch/bin/python (install.sh).
"""
import json
import pathlib
import sys

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "device"))
from bf16_cases import cases, errors_of  # noqa: E402


def compute(case, dtype):
    """The output and the gradients, in f64."""
    inputs = {name: torch.from_numpy(x) for name, x in case.inputs().items()}
    inputs = {name: x if x.dtype == torch.int32 else x.to(dtype) for name, x in inputs.items()}
    leaves = {name: inputs[name].requires_grad_() for name in case.shapes}
    out = case.torch(torch, inputs)
    assert out.dtype == dtype
    out.backward(inputs["dout"])
    return {name: x.detach().to(torch.float64).numpy() for name, x in {"out": out, **{name: x.grad for name, x in leaves.items()}}.items()}


def describe(value, truth):
    return {"largest": float(np.abs(truth).max()), "rms": float(np.sqrt((truth ** 2).mean())), "pytorch": errors_of(value, truth)}


def main():
    torch.set_num_threads(1)
    described = {"torch": torch.__version__, "cases": {}}
    for case in cases():
        truth, values = compute(case, torch.float64), compute(case, torch.bfloat16)
        described["cases"][case.name] = {name: describe(values[name], truth[name]) for name in truth}
        print(case.name, {name: "{max:.2e} {rms:.2e}".format(**each["pytorch"]) for name, each in described["cases"][case.name].items()})
    (HERE / "fixtures" / "bf16_errors.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main()
