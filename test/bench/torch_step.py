#!/usr/bin/env python3
"""PyTorch's side of bench.py: one rank that trains a GPT and logs a JSON line a step. Run in .venv-pytorch.

Ranks find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; with more than one, DDP over gloo sums gradients.
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pytorch"))
import reference  # noqa: E402


class Gpt(torch.nn.Module):
    def __init__(self, arguments):
        super().__init__()
        self.heads = arguments.heads
        shapes = reference.gpt_shapes(arguments.layers, arguments.width, arguments.vocab, arguments.seq)
        self.names = {name: name.replace(".", "_") for name in shapes}
        for name, value in reference.init(shapes, arguments.layers).items():
            self.register_parameter(self.names[name], torch.nn.Parameter(value))

    def forward(self, tokens, targets):
        parameters = {name: getattr(self, attribute) for name, attribute in self.names.items()}
        return reference.gpt_loss(parameters, tokens, targets, self.heads)


def main():
    parser = argparse.ArgumentParser()
    for name in ("layers", "width", "heads", "vocab", "seq", "batch", "steps", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    model = Gpt(arguments)
    if ranks > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)
    if arguments.compile:
        model = torch.compile(model)
    optimizer = reference.optimizer(dict(model.named_parameters()), "adamw", lr=3e-4)

    data = np.fromfile(arguments.data, np.uint8)
    random = np.random.default_rng(rank)
    rows = arguments.batch // ranks
    with open(arguments.log, "w") if rank == 0 else open(os.devnull, "w") as log:
        for step in range(1, arguments.steps + 1):
            begin = time.perf_counter()
            starts = random.integers(0, len(data) - arguments.seq - 1, rows)
            window = torch.from_numpy(np.stack([data[s:s + arguments.seq + 1] for s in starts]).astype(np.int64))
            optimizer.zero_grad(set_to_none=True)
            loss = model(window[:, :-1], window[:, 1:])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            value = loss.item()
            log.write(json.dumps({"step": step, "loss": value, "ms": (time.perf_counter() - begin) * 1e3}) + "\n")
            log.flush()
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
