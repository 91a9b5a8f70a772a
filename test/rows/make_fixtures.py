#!/usr/bin/env python3
"""Writes fixtures/NAME.safetensors: a batch and parameters (`input.*`, `init.*`), and the `loss` and gradients (`gradient.*`) that PyTorch has for the
models of Inputs/ on the whole batch, in f64; also the mean of the losses of microbatches, of one forward each (`in_parts.COUNT.*`). Usage: make_fixtures.py [FOLDER], in a Python that has torch."""
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import safetensors_io  # noqa: E402


def clip(image, text, p):
    i = F.normalize(torch.tanh(image @ p["image.fc.weight"] + p["image.fc.bias"]) @ p["image.proj.weight"], eps=0)
    t = F.normalize(torch.tanh(text @ p["text.fc.weight"]) @ p["text.proj.weight"], eps=0)
    logits = p["logit_scale"].exp() * i @ t.T
    labels = torch.arange(len(i))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


def simclr(a, b, p):
    n = len(a)
    z = F.normalize(F.gelu(torch.cat([a, b]) @ p["fc.weight"] + p["fc.bias"]) @ p["proj.weight"], eps=0)
    scores = (2 * z @ z.T).masked_fill(torch.eye(2 * n, dtype=torch.bool), -1e9)
    return F.cross_entropy(scores, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))


def batch_norm(x, y, p):
    def norm(h, name):
        return F.batch_norm(h, None, None, p[f"{name}.weight"], p[f"{name}.bias"], training=True, eps=1e-5)
    h = torch.tanh(norm(x @ p["fc1.weight"] + p["fc1.bias"], "bn1"))
    return F.mse_loss(torch.tanh(norm(h @ p["fc2.weight"], "bn2")) @ p["fc3.weight"], y)


def switch(x, y, p):
    h = torch.tanh(x @ p["fc.weight"])
    chances = torch.softmax(h @ p["gate.weight"], -1)
    fraction = F.one_hot(chances.argmax(-1), 3).to(x.dtype).mean((0, 1))
    return F.mse_loss((h @ p["head.weight"]) * chances, y) + 0.3 * (fraction * chances.mean((0, 1))).sum()


def quantile(x, p):
    s = torch.tanh(x @ p["fc.weight"]) @ p["head.weight"]
    level = p["level.weight"] * torch.quantile(s, 11.25 / 15, dim=0)
    return (F.relu(s - level) * s).mean() + level.square().mean()


def negatives(anchor, positive, p):
    za, zp = (torch.tanh(x @ p["fc.weight"]) @ p["proj.weight"] for x in (anchor, positive))
    scores = (za @ zp.T).masked_fill(torch.eye(len(za), dtype=torch.bool), -1e9)
    values, ids = scores.topk(2)
    far = (zp[ids] - za[:, None]).square().sum(-1)
    near = (zp - za).square().sum(-1, keepdim=True)
    gap = near - far + 1
    return torch.logaddexp(gap, torch.zeros_like(gap)).mean() + 0.1 * values.mean()  # softplus is the identity from 20 on


#           inputs, parameters
MODELS = {clip: ({"image": (16, 6), "text": (16, 5)},
                 {"image.fc.weight": (6, 8), "image.fc.bias": (8,), "image.proj.weight": (8, 4), "text.fc.weight": (5, 8), "text.proj.weight": (8, 4),
                  "logit_scale": ()}),
          simclr: ({"a": (8, 6), "b": (8, 6)}, {"fc.weight": (6, 10), "fc.bias": (10,), "proj.weight": (10, 4)}),
          batch_norm: ({"x": (16, 6), "y": (16, 3)},
                       {"fc1.weight": (6, 10), "fc1.bias": (10,), "bn1.weight": (10,), "bn1.bias": (10,), "fc2.weight": (10, 10), "bn2.weight": (10,),
                        "bn2.bias": (10,), "fc3.weight": (10, 3)}),
          switch: ({"x": (16, 4, 6), "y": (16, 4, 3)}, {"fc.weight": (6, 6), "gate.weight": (6, 3), "head.weight": (6, 3)}),
          quantile: ({"x": (16, 6)}, {"fc.weight": (6, 8), "head.weight": (8, 2), "level.weight": (2,)}),
          negatives: ({"anchor": (16, 6), "positive": (16, 6)}, {"fc.weight": (6, 4), "proj.weight": (4, 4)})}


IN_PARTS = [clip, batch_norm, switch]


def run(model, inputs, params, parts=1):
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in params.items()}
    chunks = zip(*(torch.tensor(value).chunk(parts) for value in inputs.values()))
    loss = sum(model(*chunk, leaves) for chunk in chunks) / parts
    loss.backward()
    return {"loss": loss.detach().numpy()} | {f"gradient.{name}": leaf.grad.numpy() for name, leaf in leaves.items()}


def main(folder):
    for number, (model, (inputs, params)) in enumerate(MODELS.items()):
        random = np.random.default_rng(number)
        inputs = {name: random.standard_normal(shape) for name, shape in inputs.items()}
        params = {name: 0.7 * random.standard_normal(shape) * np.ones(shape) for name, shape in params.items()}
        tensors = {f"input.{name}": value for name, value in inputs.items()}
        tensors |= {f"init.{name}": value for name, value in params.items()}
        tensors |= run(model, inputs, params)
        for parts in (2, 4) if model in IN_PARTS else ():
            tensors |= {f"in_parts.{parts}.{name}": value for name, value in run(model, inputs, params, parts).items()}
        safetensors_io.write(str(folder / f"{model.__name__}.safetensors"), tensors)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "fixtures"
    folder.mkdir(parents=True, exist_ok=True)
    main(folder)
