#!/usr/bin/env python3
"""PyTorch's side of ops.py: forward, backward and a step of AdamW of one op. torch_ops.py CASE FOLDER --steps N --threads N; run in .venv-pytorch.

FOLDER has the tensors of the case in data.safetensors. Prints the milliseconds of each step as JSON.
"""
import argparse
import json
import os
import time

import torch
from safetensors.torch import load_file
from torch.nn.functional import scaled_dot_product_attention as attention


def positions(size):
    at = torch.arange(size)
    return at[:, None] - at[None, :]


def make_attention(sizes, kind, data):
    distance = positions(sizes["keys"])
    if kind == "mask":
        mask = (data["mask"] > 0)[:, None]
        return lambda q, k, v: attention(q, k, v, attn_mask=mask)
    if kind == "window":
        mask = (distance >= 0) & (distance < sizes["window"])
        return lambda q, k, v: attention(q, k, v, attn_mask=mask)
    if kind == "grouped":
        return lambda q, k, v: attention(q, k, v, is_causal=True, enable_gqa=True)
    raise ValueError(kind)


def make_step(case, data):
    """The function of parameters, and the parameters."""
    if case["op"] == "attention":
        weights = [torch.nn.Parameter(torch.zeros(1, *data[name].shape[1:])) for name in "qkv"]
        compute = make_attention(case["sizes"], case["kind"], data)
        return lambda q, k, v: (compute(data["q"] + q, data["k"] + k, data["v"] + v) * data["y"]).mean(), weights
    x = data["x"]
    weight = torch.nn.Parameter(torch.zeros(x.shape[1:]))
    if case["op"] == "top_k":
        return lambda w: torch.topk(x + w, case["sizes"]["k"]).values.mean(), [weight]
    ids = data["ids"].long()
    if case["op"] == "gather":
        return lambda w: torch.gather(x + w, 1, ids).mean(), [weight]
    if case["op"] == "scatter_add":
        zeros = torch.zeros(x.shape[0], case["sizes"]["table"])
        return lambda w: (torch.scatter_add(zeros, 1, ids, x + w) ** 2).mean(), [weight]
    raise ValueError(case["op"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", help="JSON of the case")
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    step, weights = make_step(json.loads(options.case), load_file(os.path.join(options.folder, "data.safetensors")))
    optimizer = torch.optim.AdamW(weights, lr=3e-4, betas=(0.9, 0.95), fused=True)
    ms = []
    for _ in range(options.steps):
        begin = time.monotonic()
        optimizer.zero_grad()
        loss = step(*weights)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        ms.append((time.monotonic() - begin) * 1e3)
    print(json.dumps({"ms": ms[1:], "loss": loss.item()}))


if __name__ == "__main__":
    main()
