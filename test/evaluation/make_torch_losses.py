#!/usr/bin/env python3
"""Writes Inputs/torch_losses.json: what PyTorch in f64 gives for the model of check_evaluation.py over one batch of so many rows.
usage: make_torch_losses.py (in a Python with torch)"""
import json
import pathlib

import torch
import torch.nn.functional as F

from samples import ROWS, parameters, rows


def loss(count):
    p = {name: torch.from_numpy(values) for name, values in parameters().items()}
    x = {name: torch.from_numpy(values) for name, values in rows(count).items()}
    centred = x["f"] - x["f"].mean(0)
    whitened = centred / torch.sqrt((centred * centred).mean(0) + 1)
    h = F.embedding(x["ids"].long(), p["table"]) + (whitened @ p["u"])[:, None, :]
    a = torch.tanh(h @ p["v"])
    entropy = F.cross_entropy((a @ p["w"]).flatten(0, 1), x["t"].flatten().long(), ignore_index=-100)
    return float(entropy + 0.1 * (h * h).mean() + 0.01 * (p["w"] * p["w"]).sum())


if __name__ == "__main__":
    path = pathlib.Path(__file__).resolve().parent / "Inputs" / "torch_losses.json"
    path.parent.mkdir(exist_ok=True)
    losses = {count: loss(count).hex() for count in (1, 3, 4, 16, ROWS)}
    path.write_text(json.dumps({"torch": torch.__version__.split("+")[0], "losses": losses}, indent=1) + "\n")
