#!/usr/bin/env python3
"""PyTorch's first training losses of a GPT-2: gpt2_124m.py SPEC FOLDER, run by check_live.py in .venv-pytorch.

SPEC is JSON: parameters {name: shape}, inputs {tokens: [B, T], ...}, layers, heads, steps, adamw. Writes into FOLDER
gpt2.init.safetensors (GPT-2's scheme), gpt2.inputs.safetensors (a batch for each step), gpt2.losses.json.
"""
import json
import pathlib
import sys

import numpy as np
import torch

import reference

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import safetensors_io  # noqa: E402


def main():
    spec = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    vocab, width = spec["parameters"]["wte"]
    batch, seq = spec["inputs"]["tokens"]
    shapes = reference.gpt_shapes(spec["layers"], width, vocab, seq)
    if {n: tuple(s) for n, s in spec["parameters"].items()} != shapes:
        sys.exit(f"parameters differ from GPT-2's: {spec['parameters'].items() ^ shapes.items()}")
    parameters = reference.init(shapes, spec["layers"], seed=1)
    window = np.random.default_rng(1).integers(0, vocab, (spec["steps"] * batch, seq + 1), dtype=np.int32)
    inputs = {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()}
    safetensors_io.write(folder / "gpt2.init.safetensors", {n: t.numpy() for n, t in parameters.items()})
    safetensors_io.write(folder / "gpt2.inputs.safetensors", inputs)
    batches = list(zip(*(torch.from_numpy(a).split(batch) for a in inputs.values())))
    losses, _, _ = reference.train(lambda p, x, y: reference.gpt_loss(p, x, y, spec["heads"]), parameters, batches,
                                   spec["steps"], "adamw", **spec["adamw"])
    (folder / "gpt2.losses.json").write_text(json.dumps(losses))


if __name__ == "__main__":
    main()
