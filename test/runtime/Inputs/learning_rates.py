"""Checks the learning rates in an executable's log, step by step, against numpy.interp for the warm-up and
the linear schedule, a half period of a cosine for the other.

usage: learning_rates.py EXECUTABLE DATA"""

import itertools
import json
import os
import subprocess
import sys

import numpy as np

PEAK, LEAST = 0.3, 0.02
LAST = {"wsd": 2}  # --lr-decay-steps


def log_of(schedule, steps, warmup):
    flags = ["--steps", steps, "--lr", PEAK, "--lr-schedule", schedule, "--warmup", warmup, "--log", "rates.jsonl"]
    if schedule in LAST:
        flags += ["--lr-decay-steps", LAST[schedule]]
    if schedule != "constant":
        flags += ["--min-lr", LEAST]
    executable, data = sys.argv[1:]
    subprocess.run([executable, "--data", data, *map(str, flags)], check=True, stdout=subprocess.DEVNULL)
    with open("rates.jsonl") as file:
        rates = [e["lr"] for e in map(json.loads, file) if e["event"] == "step"]
    os.remove("rates.jsonl")
    return rates


def wanted_rates(schedule, steps, warmup):
    # Counted from 1: 0 before the first step, the peak at the end of the warm-up.
    highest = max(warmup, 1)
    numbers = np.arange(1, steps + 1)
    wanted = np.interp(numbers, [0, highest], [0, PEAK]) if warmup else np.full(steps, PEAK)
    falls = numbers > highest
    if schedule == "linear":
        wanted[falls] = np.interp(numbers[falls], [highest, steps], [PEAK, LEAST])
    elif schedule == "cosine":
        angle = np.pi * (numbers[falls] - highest) / (steps - highest)
        wanted[falls] = (PEAK + LEAST) / 2 + (PEAK - LEAST) / 2 * np.cos(angle)
    elif schedule == "wsd":
        wanted[falls] = np.interp(numbers[falls], [max(highest, steps - LAST[schedule]), steps], [PEAK, LEAST])
    elif schedule == "inverse-sqrt":
        wanted[falls] = np.maximum(PEAK * (numbers[falls] / warmup) ** -0.5, LEAST)
    return wanted


cases = list(itertools.product(["constant", "linear", "cosine"], [7], [0, 1, 3, 6, 7])) + [("linear", 1, 0), ("linear", 1, 1)]
cases += [("wsd", 7, 0), ("wsd", 7, 1), ("wsd", 7, 5), ("inverse-sqrt", 7, 1), ("inverse-sqrt", 7, 3), ("inverse-sqrt", 7, 7), ("inverse-sqrt", 300, 1)]
for schedule, steps, warmup in cases:
    found = log_of(schedule, steps, warmup)
    assert len(found) == steps, found
    np.testing.assert_allclose(found, wanted_rates(schedule, steps, warmup), rtol=1e-12, atol=1e-15 * PEAK,
                               err_msg=f"{schedule}, {steps} steps, warm-up {warmup}")
    if schedule not in ("constant", "inverse-sqrt") and steps > max(warmup, 1):
        assert found[-1] == LEAST, found
