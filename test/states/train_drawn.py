#!/usr/bin/env python3
"""Writes what PyTorch in f64 makes of drawn models: train_drawn.py FILE SEED… (in a Python with torch)"""
import json
import sys

import torch

from drawn import STEPS, Drawn
from subjects import LR


class Model:
    def __init__(self, drawn):
        self.code, self.parameters = "\n".join(drawn.torch), {}
        for name, value in drawn.values().items():
            self.parameters[name] = torch.from_numpy(value)
            self.parameters[name].requires_grad = not drawn.parameters[name][1]
        self.trains, self.committed = True, {}

    def norm(self, h, name, dim, momentum, eps):
        scale, bias, mean, variance = (self.parameters[f"{name}.{each}"] for each in ("weight", "bias", "mean", "variance"))
        return torch.nn.functional.batch_norm(h.movedim(dim, 1), mean, variance, scale, bias, self.trains, momentum, eps).movedim(1, dim)

    def follow(self, h, name, kind):
        """What the model reads is of the last step."""
        state = self.committed.setdefault(name, self.parameters[name])
        if self.trains:
            rows = h.detach().flatten(0, -2)
            self.parameters[name] = (self.parameters[name] + (rows.mean(0) if kind == "mean" else rows.amax(0))) / 2
        return h - state

    def loss(self, x, y):
        names = {"h": x, "p": self.parameters, "torch": torch, "norm": self.norm, "follow": self.follow}
        exec(self.code, names)  # lines of drawn.py
        return torch.nn.functional.mse_loss(names["h"], y)


def train(seed):
    drawn = Drawn(seed)
    model, losses = Model(drawn), []
    *batches, evaluated = zip(*(torch.from_numpy(array).split(drawn.batch) for array in drawn.rows().values()))
    learning = [value for value in model.parameters.values() if value.requires_grad]

    def mean_loss(x, y):
        """A region is of the rows of one microbatch, in evaluations too."""
        return sum(map(model.loss, x.chunk(drawn.microbatches), y.chunk(drawn.microbatches))) / drawn.microbatches

    for batch in batches:
        loss = mean_loss(*batch)
        losses.append(loss.item())
        with torch.no_grad():
            for value, gradient in zip(learning, torch.autograd.grad(loss, learning)):
                value -= LR * gradient
        model.committed.clear()
    assert len(losses) == STEPS
    model.trains = False
    return {"losses": losses, "evaluation": mean_loss(*evaluated).item(), "parameters": {name: value.tolist() for name, value in model.parameters.items()}}


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf8") as file:
        json.dump({seed: train(int(seed)) for seed in sys.argv[2:]}, file)
