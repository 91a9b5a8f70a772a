#!/usr/bin/env python3
"""PyTorch's side of bench.py: one rank that trains a GPT and logs a JSON line a step. Run in .venv-pytorch.

Ranks find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT over gloo. Several are data-parallel (DDP), or with
--microbatches a pipeline of a stage each (Schedule1F1B).
"""
import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np
import torch
import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pytorch"))
import reference  # noqa: E402

CLIP = 1.0


class Gpt(torch.nn.Module):
    """The layers of stage `stage` of `stages`: the first has the embeddings, the last the head, which is the first's `wte`."""

    def __init__(self, arguments, stage=0, stages=1):
        super().__init__()
        self.heads, self.first, self.last = arguments.heads, stage == 0, stage == stages - 1
        self.layers = range(arguments.layers * stage // stages, arguments.layers * (stage + 1) // stages)
        shapes = reference.gpt_shapes(arguments.layers, arguments.width, arguments.vocab, arguments.seq)
        self.names = {name: name.replace(".", "_") for name in shapes if self.owns(name)}
        for name, value in reference.init(shapes, arguments.layers).items():
            if name in self.names:
                self.register_parameter(self.names[name], torch.nn.Parameter(value))

    def owns(self, name):
        if name == "wte":
            return self.first or self.last
        if name == "wpe":
            return self.first
        return self.last if name.startswith("ln_f") else int(name.split(".")[1]) in self.layers

    def forward(self, x):
        parameters = {name: getattr(self, attribute) for name, attribute in self.names.items()}
        if self.first:
            x = reference.gpt_embed(parameters, x)
        x = reference.gpt_blocks(parameters, x, self.heads, self.layers)
        return reference.gpt_logits(parameters, x) if self.last else x


class Whole:
    """The whole model on each rank, which has its part of the rows."""

    def __init__(self, arguments, rank, ranks):
        self.rows, self.seed = arguments.batch // ranks, rank
        self.model = Gpt(arguments)
        if ranks > 1:
            self.model = torch.nn.parallel.DistributedDataParallel(self.model)
        if arguments.compile:
            self.model = torch.compile(self.model)

    def accumulate(self, tokens, targets):
        loss = reference.cross_entropy(self.model(tokens), targets)
        loss.backward()
        return loss.item()

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)


class Pipeline:
    """A stage on each rank."""

    def __init__(self, arguments, rank, ranks):
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B
        self.rows, self.seed = arguments.batch, 0
        self.model = Gpt(arguments, rank, ranks)
        self.tied = self.model.wte if rank in (0, ranks - 1) else None
        self.ends = dist.new_group([0, ranks - 1])
        stage = PipelineStage(self.model, rank, ranks, torch.device("cpu"))
        self.schedule = Schedule1F1B(stage, arguments.microbatches, reference.cross_entropy)

    def accumulate(self, tokens, targets):
        losses = []
        self.schedule.step(*[tokens] * self.model.first, target=targets if self.model.last else None, losses=losses,
                           return_outputs=False)
        if self.tied is not None:
            dist.all_reduce(self.tied.grad, group=self.ends)
        loss = torch.stack(losses).mean() if losses else torch.zeros(())
        dist.all_reduce(loss)
        return loss.item()

    def clip(self):
        """The norm over all stages; the tied parameter counts on the first."""
        squares = torch.stack([p.grad.square().sum() for p in self.model.parameters()
                               if self.model.first or p is not self.tied]).sum()
        dist.all_reduce(squares)
        torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), CLIP, squares.sqrt())


def main():
    parser = argparse.ArgumentParser()
    for name in ("layers", "width", "heads", "vocab", "seq", "batch", "steps", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--microbatches", type=int, help="of a pipeline over the ranks")
    parser.add_argument("--data", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if ranks > 1:
        dist.init_process_group("gloo")
    job = (Pipeline if arguments.microbatches else Whole)(arguments, rank, ranks)
    optimizer = reference.optimizer(dict(job.model.named_parameters()), "adamw", lr=3e-4)

    data = np.fromfile(arguments.data, np.uint8)
    random = np.random.default_rng(job.seed)
    with open(arguments.log, "w") if rank == 0 else open(os.devnull, "w") as log:
        for step in range(1, arguments.steps + 1):
            begin = time.perf_counter()
            starts = random.integers(0, len(data) - arguments.seq - 1, job.rows)
            window = torch.from_numpy(np.stack([data[s:s + arguments.seq + 1] for s in starts]).astype(np.int64))
            optimizer.zero_grad(set_to_none=True)
            loss = job.accumulate(window[:, :-1], window[:, 1:])
            job.clip()
            optimizer.step()
            log.write(json.dumps({"step": step, "loss": loss, "ms": (time.perf_counter() - begin) * 1e3}) + "\n")
            log.flush()
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
