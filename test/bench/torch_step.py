#!/usr/bin/env python3
"""PyTorch's side of bench.py: one rank that trains a GPT and logs a JSON line per step. Run in .venv-pytorch.

Ranks find each other by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT over gloo. Several are data-parallel (DDP, or with
--fsdp FSDP2), or with --microbatches a pipeline of a stage each (Schedule1F1B), or with --tensor-parallel have parts of
matrices (DTensor). The log's first line says the process's memory before there is a model.
"""
import argparse
import contextlib
import json
import os
import resource
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from torch_gpt import Gpt, adamw, cross_entropy

CLIP = 1.0
SHAPE = ("layers", "width", "heads", "vocab", "seq")


def make_gpt(arguments, stage=0, stages=1):
    return Gpt(*(getattr(arguments, name) for name in SHAPE), stage, stages)


class Whole:
    """The whole model on each rank, which has its part of the rows."""

    def __init__(self, arguments, rank, ranks):
        self.rows, self.seed = arguments.batch // ranks, rank
        self.model = make_gpt(arguments)
        self.bf16 = arguments.bf16
        self.step = self.model
        if arguments.fsdp:
            self.shard(arguments.fsdp)
        elif ranks > 1:
            self.step = torch.nn.parallel.DistributedDataParallel(self.model, gradient_as_bucket_view=True)
        if arguments.compile:
            self.step = torch.compile(self.step)

    def shard(self, how):
        """Each rank has a part of the states, gradients and parameters. Parameters are gathered for the forward, and kept for the
        backward ("keep"; what is sent is that of ZeRO-1 and -2) or gathered again ("reshard": that of ZeRO-3)."""
        from torch.distributed.fsdp import fully_shard
        mesh = dist.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
        for module in (*self.model.blocks, self.model):
            fully_shard(module, mesh=mesh, reshard_after_forward=how == "reshard")

    def accumulate(self, tokens, targets):
        with torch.autocast("cpu", torch.bfloat16) if self.bf16 else contextlib.nullcontext():
            loss = cross_entropy(self.step(tokens), targets)
        loss.backward()
        return loss.item()

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)


class TensorParallel(Whole):
    """Parts of each block's matrices on each rank, by DTensor: all have all rows. A rank's rows of `qkv` are its heads' queries, keys and values."""

    def __init__(self, arguments, rank, ranks):
        from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
        arguments.fsdp, self.mesh = None, dist.device_mesh.init_device_mesh("cpu", (ranks,))
        super().__init__(arguments, 0, 1)
        for block in self.model.blocks:
            parallelize_module(block, self.mesh, {"qkv": ColwiseParallel(), "attn_proj": RowwiseParallel(),
                                                  "fc": ColwiseParallel(), "mlp_proj": RowwiseParallel()})

    def clip(self):
        """A whole parameter counts once, and a part with those of the other ranks."""
        parameters = list(self.model.parameters())
        cut = [p for p in parameters if isinstance(p, DTensor) and any(placement.is_shard() for placement in p.placements)]
        squares = torch.zeros(())
        for p in cut:
            squares += p.grad.to_local().square().sum()
        dist.all_reduce(squares)
        for p in parameters:
            if not any(p is each for each in cut):
                gradient = p.grad.to_local() if isinstance(p, DTensor) else p.grad
                squares += gradient.square().sum()
        torch.nn.utils.clip_grads_with_norm_(parameters, CLIP, squares.sqrt(), foreach=False)


class Pipeline:
    """A stage on each rank."""

    def __init__(self, arguments, rank, ranks):
        from torch.distributed.pipelining import PipelineStage, Schedule1F1B
        self.rows, self.seed = arguments.batch, 0
        self.model = make_gpt(arguments, rank, ranks)
        self.tied = self.model.wte.weight if rank in (0, ranks - 1) else None
        self.ends = dist.new_group([0, ranks - 1])
        stage = PipelineStage(self.model, rank, ranks, torch.device("cpu"))
        self.schedule = Schedule1F1B(stage, arguments.microbatches, cross_entropy)

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
    for name in (*SHAPE, "batch", "steps", "threads"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--microbatches", type=int, help="of a pipeline over the ranks")
    parser.add_argument("--data", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--fsdp", choices=["keep", "reshard"],
                        help="data-parallel ranks by fully_shard, in place of DDP; gathered parameters after the forward")
    parser.add_argument("--tensor-parallel", action="store_true", help="ranks have parts of each block's matrices")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="autocast; parameters, moments and gradients stay f32")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if ranks > 1:
        dist.init_process_group("gloo")
    footprint = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    kind = Pipeline if arguments.microbatches else TensorParallel if arguments.tensor_parallel else Whole
    job = kind(arguments, rank, ranks)
    optimizer = adamw(job.model, lr=3e-4)

    data = np.fromfile(arguments.data, np.uint8)
    random = np.random.default_rng(job.seed)
    with open(arguments.log, "w") if rank == 0 else open(os.devnull, "w") as log:
        log.write(json.dumps({"footprint": footprint}) + "\n")
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
