#!/usr/bin/env python3
"""Writes Inputs/torch_groups.json, or the file that is given: losses and norms of each step by PyTorch in f64, and what the trained parameters are then;
of averages (torch.optim.swa_utils) the loss before and after each step, and what they are at the end.
usage: make_torch_groups.py [FILE] (in a Python with torch)"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import subjects  # noqa: E402
from pytorch import reference  # noqa: E402


def adapt(values, x, name):
    """x W + b of a projection, with its adapter if there is one."""
    y = x @ values[f"{name}.weight"] + values[f"{name}.bias"]
    if f"{name}.lora_a" in values:
        y = y + x @ values[f"{name}.lora_a"] @ values[f"{name}.lora_b"] * (subjects.ALPHA / subjects.RANK)
    return y


def block(values, x, n):
    batch, length, width = x.shape
    heads = lambda y: y.view(batch, length, subjects.HEADS, width // subjects.HEADS).transpose(1, 2)
    qkv = adapt(values, reference.layer_norm(values, x, f"h.{n}.ln_1"), f"h.{n}.attn.qkv")
    q, k, v = map(heads, qkv.split(width, dim=-1))
    a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
    x = x + adapt(values, a, f"h.{n}.attn.proj")
    m = F.gelu(adapt(values, reference.layer_norm(values, x, f"h.{n}.ln_2"), f"h.{n}.mlp.fc"), approximate="tanh")
    return x + adapt(values, m, f"h.{n}.mlp.proj")


def loss_of(values, tokens, targets):
    x = reference.gpt_embed(values, tokens)
    for n in range(subjects.LAYERS):
        x = block(values, x, n)
    return reference.cross_entropy(reference.gpt_logits(values, x), targets)


def optimizer_of(subject, values):
    groups = []
    for name, value in values.items():
        trained, rate, decay = subject.group(name, value.dim())
        value.requires_grad_(trained)
        if trained:
            groups.append({"params": [value], "lr": subjects.RATES["lr"] * rate, "weight_decay": subjects.RATES["weight_decay"] * decay})
    if subject.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=0.0, momentum=0.9)
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[subject.optimizer](groups)


class Averages:
    """The averages of the trained parameters over the steps, and the losses with them."""

    def __init__(self, subject, values, trained):
        self.values, self.names, self.parameters = values, list(trained), torch.nn.ParameterList(trained.values())
        self.model = AveragedModel(self.parameters, multi_avg_fn=get_ema_multi_avg_fn(subject.ema))
        self.data = [torch.from_numpy(rows) for rows in subjects.evaluation().values()]
        self.losses = []
        self.evaluate()

    def named(self):
        return dict(zip(self.names, self.model.module))

    def update(self):
        self.model.update_parameters(self.parameters)
        self.evaluate()

    def evaluate(self):
        with torch.no_grad():
            self.losses.append(float(loss_of({**self.values, **self.named()}, *self.data)))


def projected(named):
    return {name: subjects.project(name, value.detach().numpy()).tolist() for name, value in named.items()}


def train(subject):
    values = {name: torch.nn.Parameter(torch.from_numpy(value)) for name, value in subject.parameters().items()}
    optimizer = optimizer_of(subject, values)
    trained = {name: value for name, value in values.items() if value.requires_grad}
    averages = Averages(subject, values, trained) if subject.ema is not None else None
    data = {name: torch.from_numpy(rows).split(subjects.BATCH) for name, rows in subjects.batches().items()}
    losses, norms = [], []
    for tokens, targets in zip(data["tokens"], data["targets"]):
        optimizer.zero_grad()
        loss = loss_of(values, tokens, targets)
        loss.backward()
        # clip_grad_norm_ adds 1e-6 to the norm.
        norms.append(float(torch.nn.utils.get_total_norm([value.grad for value in trained.values()])))
        for value in trained.values():
            value.grad *= min(1, subject.clip / norms[-1])
        optimizer.step()
        losses.append(float(loss.detach()))
        if averages:
            averages.update()
    figures = {"losses": losses, "norms": norms, "parameters": projected(trained)}
    return figures | ({"averages": projected(averages.named()), "evaluations": averages.losses} if averages else {})


def main():
    torch.set_num_threads(1)
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "Inputs" / "torch_groups.json"
    lines = [f'"torch": {json.dumps(torch.__version__.split("+")[0])}']
    lines += [f'"{name}": {json.dumps(train(subject))}' for name, subject in subjects.SUBJECTS.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
