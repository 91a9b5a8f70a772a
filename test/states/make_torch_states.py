#!/usr/bin/env python3
"""Writes Inputs/torch_states.json: what PyTorch in f64 makes of the models of subjects.py in ten steps of SGD: losses, states after each step, parameters
after the last, and evaluations before the first and after the last. usage: make_torch_states.py (in a Python with torch)"""
import json
import pathlib

import torch

from subjects import BATCH, EPS, EVALUATED, LR, MOMENTUM, STEPS, parameters, rows


class Norm(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        self.w, self.v = (torch.nn.Parameter(values[name]) for name in "wv")
        self.norm = torch.nn.BatchNorm1d(5, eps=EPS, momentum=MOMENTUM, dtype=torch.float64)
        self.norm.load_state_dict({name[5:]: value for name, value in values.items() if name.startswith("norm.")}, strict=False)

    def forward(self, x):
        return torch.tanh(self.norm(x @ self.w)) @ self.v


class Positions(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        self.w, self.v = (torch.nn.Parameter(values[name]) for name in "wv")
        self.norm = torch.nn.BatchNorm1d(5, eps=1e-3, momentum=0.3, dtype=torch.float64)
        self.last = torch.nn.BatchNorm1d(3, dtype=torch.float64)
        for layer in "norm", "last":
            state = {name[5:]: value for name, value in values.items() if name.startswith(layer)}
            getattr(self, layer).load_state_dict(state, strict=False)

    def forward(self, x):
        hidden = torch.tanh(self.norm((x.reshape(-1, 3, 2) @ self.w).transpose(1, 2)))
        return self.last(hidden.transpose(1, 2)).transpose(1, 2).reshape(-1, 15) @ self.v


class Centre(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        self.w, self.v = (torch.nn.Parameter(values[name]) for name in "wv")
        self.register_buffer("average", values["average"])
        self.register_buffer("count", values["count"])

    def forward(self, x):
        return torch.tanh((x - self.average) @ self.w) @ self.v

    def after(self, x, microbatches):
        for _ in range(microbatches):
            self.average += 0.25 * (x.mean(0) - self.average)
            self.count += 1


def train(subject, microbatches=1):
    values = {name: torch.from_numpy(array.copy()) for name, array in parameters(subject).items()}
    model = {"norm": Norm, "positions": Positions, "centre": Centre}[subject](values)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    data = {name: torch.from_numpy(array).split(BATCH) for name, array in rows().items()}
    losses, states = [], []

    def evaluate():
        model.eval()
        of_rows = {name: torch.from_numpy(array) for name, array in rows(EVALUATED, seed=8).items()}
        loss = torch.nn.functional.mse_loss(model(of_rows["x"]), of_rows["y"]).item()
        model.train()
        return loss

    before = evaluate()
    for x, y in zip(data["x"], data["y"]):
        # BatchNorm has the statistics of each forward; to the other model parts of a batch are nothing.
        loss = sum(torch.nn.functional.mse_loss(model(a), b) for a, b in zip(x.chunk(microbatches), y.chunk(microbatches))) / microbatches
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if subject == "centre":
            model.after(x, microbatches)
        states.append({name: value.tolist() for name, value in model.named_buffers() if "num_batches" not in name})
    assert len(losses) == STEPS
    return {"losses": losses, "states": states, "evaluations": {0: before, STEPS: evaluate()}, "parameters": {name: value.tolist() for name, value in model.named_parameters()}}


if __name__ == "__main__":
    path = pathlib.Path(__file__).resolve().parent / "Inputs" / "torch_states.json"
    cases = {"norm": train("norm"), **{f"norm, {count} microbatches": train("norm", count) for count in (2, 4)}, "positions": train("positions"),
             "positions, 2 microbatches": train("positions", 2), "centre": train("centre"),
             **{f"centre, {count} microbatches": train("centre", count) for count in (2, 4)}}
    path.write_text(json.dumps({"torch": torch.__version__.split("+")[0], **cases}, indent=1) + "\n")
