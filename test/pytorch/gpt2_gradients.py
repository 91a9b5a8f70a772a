#!/usr/bin/env python3
"""PyTorch's gradients of a GPT-2's first step, in f32 and f64: gpt2_gradients.py SPEC FOLDER, run by check_live.py in .venv-pytorch.

SPEC is JSON: parameters {name: shape}, layers, heads, seq, batches. Writes into FOLDER gradients.init.safetensors (GPT-2's scheme), and for each batch B
gradients.B.inputs, gradients.B.f32 and gradients.B.f64 (.safetensors). In f64 the gradient of a batch is the mean of its rows' gradients, one row at a
time, so that it fits in memory.
"""
import json
import pathlib
import sys

import numpy as np
import torch

import reference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import safetensors_io  # noqa: E402


def gradients(parameters, tokens, targets, heads, dtype):
    own = {n: t.to(dtype, copy=True).requires_grad_() for n, t in parameters.items()}
    reference.gpt_loss(own, tokens, targets, heads).backward()
    return {n: t.grad for n, t in own.items()}


def main():
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    vocab, width = spec["parameters"]["wte"]
    shapes = reference.gpt_shapes(spec["layers"], width, vocab, spec["seq"])
    parameters = reference.init(shapes, spec["layers"], seed=1)
    window = np.random.default_rng(1).integers(0, vocab, (max(spec["batches"]), spec["seq"] + 1), dtype=np.int32)
    tokens, targets = torch.from_numpy(window[:, :-1].copy()), torch.from_numpy(window[:, 1:].copy())
    safetensors_io.write(folder / "gradients.init.safetensors", {n: t.numpy() for n, t in parameters.items()})
    sums = {n: torch.zeros(s, dtype=torch.float64) for n, s in shapes.items()}
    for row in range(max(spec["batches"])):
        for name, gradient in gradients(parameters, tokens[row:row + 1], targets[row:row + 1], spec["heads"], torch.float64).items():
            sums[name] += gradient
        batch = row + 1
        if batch not in spec["batches"]:
            continue
        part = {"tokens": tokens[:batch].numpy(), "targets": targets[:batch].numpy()}
        safetensors_io.write(folder / f"gradients.{batch}.inputs.safetensors", part)
        safetensors_io.write(folder / f"gradients.{batch}.f64.safetensors", {n: (t / batch).numpy() for n, t in sums.items()})
        in_f32 = gradients(parameters, tokens[:batch], targets[:batch], spec["heads"], torch.float32)
        safetensors_io.write(folder / f"gradients.{batch}.f32.safetensors", {n: t.numpy() for n, t in in_f32.items()})


if __name__ == "__main__":
    main()
