#!/usr/bin/env python3
"""Writes fixtures/: what PyTorch computes for the small models below. Run it with .venv-pytorch/bin/python (install.sh):

    make_fixtures.py [FOLDER [larger]]

For a model NAME and each of f32, f64 and bf16 (f32 under autocast; initial values and inputs are those of f32): NAME.TYPE.init.safetensors (parameters), .gradients (of the first step),
.sgd (parameters after STEPS steps of SGD); NAME.inputs.safetensors or NAME.TYPE.inputs.safetensors (batches, in the order in
which steps take them: first dimension STEPS * batch); fixtures.json has the options, the losses as hexadecimal floats and
the version of PyTorch.
"""
import json
import pathlib
import sys

import numpy as np
import torch

import reference

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support import safetensors_io  # noqa: E402

STEPS = 20
ADAMW = {"lr": 1e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
SGD = {"lr": 0.1}

# One line a model. `ignore_index` replaces about a third of the targets, unevenly over the rows.
MODELS = {
    "gpt": dict(family="gpt", layers=2, width=16, heads=2, vocab=31, seq=12, batch=4, tied=True, ignore_index=None),
    "gpt_untied": dict(family="gpt", layers=1, width=24, heads=3, vocab=17, seq=8, batch=4, tied=False, ignore_index=-1),
    "mlp_relu": dict(family="mlp", widths=[6, 32, 24, 3], activation="relu", batch=8),
    "mlp_gelu": dict(family="mlp", widths=[6, 20, 3], activation="gelu", batch=8),
    "mlp_tanh": dict(family="mlp", widths=[5, 16, 16, 2], activation="tanh", batch=8),
}
# Compared live only (check_live.py).
LARGER = {
    "gpt_larger": dict(family="gpt", layers=4, width=128, heads=4, vocab=256, seq=64, batch=8, tied=True, ignore_index=None),
    "gpt_odd": dict(family="gpt", layers=3, width=60, heads=5, vocab=101, seq=37, batch=4, tied=False, ignore_index=-1),
    "mlp_larger": dict(family="mlp", widths=[64, 256, 256, 10], activation="gelu", batch=32),
}
TYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.float32}


def inputs_of(model, seed):
    random = np.random.default_rng(seed)
    samples = STEPS * model["batch"]
    if model["family"] == "mlp":
        return {"x": random.standard_normal((samples, model["widths"][0])),
                "y": random.standard_normal((samples, model["widths"][-1]))}
    window = random.integers(0, model["vocab"], (samples, model["seq"] + 1), dtype=np.int32)
    targets = window[:, 1:].copy()
    if model["ignore_index"] is not None:
        targets[random.random(targets.shape) < np.linspace(0, 0.8, samples)[:, None] % 0.5] = model["ignore_index"]
    return {"tokens": window[:, :-1].copy(), "targets": targets}


def batches_of(model, inputs, dtype):
    tensors = [torch.from_numpy(a) if a.dtype == np.int32 else torch.from_numpy(a).to(dtype) for a in inputs.values()]
    return list(zip(*(t.split(model["batch"]) for t in tensors)))


def loss_of(model, spelling):
    """The loss as a function of parameters and a batch."""
    plain = plain_loss_of(model)

    def autocast(*arguments):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return plain(*arguments)
    return autocast if spelling == "bf16" else plain


def plain_loss_of(model):
    if model["family"] == "mlp":
        return lambda p, x, y: reference.mlp_loss(p, x, y, model["activation"])
    return lambda p, tokens, targets: reference.gpt_loss(p, tokens, targets, model["heads"], model["ignore_index"])


def initial(model, dtype, seed):
    if model["family"] == "mlp":
        return reference.init(reference.mlp_shapes(model["widths"]), seed=seed, dtype=dtype, perturb=0.1)
    shapes = reference.gpt_shapes(model["layers"], model["width"], model["vocab"], model["seq"], model["tied"])
    return reference.init(shapes, model["layers"], seed, dtype, perturb=0.2)


def write(path, tensors):
    safetensors_io.write(path, {n: t.numpy() for n, t in tensors.items()})


def main():
    torch.set_num_threads(1)
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "fixtures"
    models = LARGER if sys.argv[2:] == ["larger"] else MODELS
    directory.mkdir(exist_ok=True)
    described = {"torch": torch.__version__, "steps": STEPS, "adamw": ADAMW, "sgd": SGD, "models": {}}
    for seed, (name, model) in enumerate(models.items()):
        entry = dict(model, losses={})
        inputs = inputs_of(model, seed)
        if model["family"] == "gpt":
            safetensors_io.write(directory / f"{name}.inputs.safetensors", inputs)
        for spelling, dtype in TYPES.items():
            stem = f"{name}.{spelling}"
            if model["family"] == "mlp":
                kind = np.float64 if spelling == "f64" else np.float32
                inputs = {n: a.astype(kind) for n, a in inputs_of(model, seed).items()}
                if spelling != "bf16":
                    safetensors_io.write(directory / f"{stem}.inputs.safetensors", inputs)
            parameters = initial(model, dtype, seed)
            batches = batches_of(model, inputs, dtype)
            losses, gradients, _ = reference.train(loss_of(model, spelling), parameters, batches, STEPS, "adamw", **ADAMW)
            sgd_losses, _, after = reference.train(loss_of(model, spelling), parameters, batches, STEPS, "sgd", **SGD)
            if spelling != "bf16":
                write(directory / f"{stem}.init.safetensors", parameters)
            write(directory / f"{stem}.gradients.safetensors", gradients)
            write(directory / f"{stem}.sgd.safetensors", after)
            entry["losses"][spelling] = {"adamw": [v.hex() for v in losses], "sgd": [v.hex() for v in sgd_losses]}
            print(f"{stem}: adamw {losses[0]:.6f} -> {losses[-1]:.6f}, sgd -> {sgd_losses[-1]:.6f}")
        described["models"][name] = entry
    (directory / "fixtures.json").write_text(json.dumps(described, indent=1) + "\n")


if __name__ == "__main__":
    main()
