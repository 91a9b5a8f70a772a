#!/usr/bin/env python3
"""Writes Inputs/torch_numbers.json: numbers that PyTorch has converted, as bits.

    .venv-pytorch/bin/python test/starting_points/make_torch_numbers.py

Without f64 to bf16: PyTorch rounds that twice, over f32.
"""
import json
import os

import torch

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs", "torch_numbers.json")
TYPES = {"F64": (torch.float64, torch.int64), "F32": (torch.float32, torch.int32), "F16": (torch.float16, torch.int16), "BF16": (torch.bfloat16, torch.int16)}
PAIRS = [("F64", "F32"), ("F32", "F64"), ("F32", "BF16"), ("BF16", "F32"), ("BF16", "F64"), ("F16", "F32"), ("F16", "F64"), ("F16", "BF16")]


def samples(dtype):
    """Ties and their neighbours, zeros, subnormal numbers, infinities, and some at random."""
    torch.manual_seed(3)
    values = torch.randn(40, dtype=torch.float64) * torch.exp2(torch.randint(-20, 14, (40,)).double())
    ties = torch.tensor([1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, 1 + 2.0 ** -24, 1 + 3 * 2.0 ** -24, 1 + 2.0 ** -8 + 2.0 ** -20, 1 + 2.0 ** -24 + 2.0 ** -40,
                         1 - 2.0 ** -9, 2.0 ** -24, 2.0 ** -26 * 3, 2.0 ** -133, 2.0 ** -134, 2.0 ** -134 * 3, 2.0 ** -149, 2.0 ** -150, 2.0 ** -150 * 3, 2.0 ** -151,
                         0.0, -0.0, float("inf"), -float("inf"), 65504.0], dtype=torch.float64)
    return torch.cat([values, ties, -ties]).to(dtype)


def bits(values, integer):
    return [number & (1 << 8 * integer.itemsize) - 1 for number in values.contiguous().view(integer).tolist()]


def main():
    rows = {}
    for source, target in PAIRS:
        values = samples(TYPES[source][0])
        rows[f"{source} to {target}"] = [bits(values, TYPES[source][1]), bits(values.to(TYPES[target][0]), TYPES[target][1])]
    with open(PATH, "w", encoding="utf8") as file:
        json.dump(rows, file)
        file.write("\n")


if __name__ == "__main__":
    main()
