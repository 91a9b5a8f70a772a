"""Checks the learning rates in an executable's log, step by step, against numpy.interp for the warm-up and
the linear schedule, a half period of a cosine for the other."""

import argparse
import json

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("log")
parser.add_argument("schedule", choices=["constant", "linear", "cosine"])
parser.add_argument("steps", type=int)
parser.add_argument("warmup", type=int)
parser.add_argument("peak", type=float)
parser.add_argument("least", type=float)
arguments = parser.parse_args()

found = [e["lr"] for e in map(json.loads, open(arguments.log)) if e["event"] == "step"]
# Counted from 1: 0 before the first step, the peak at the end of the warm-up.
highest = max(arguments.warmup, 1)
steps = np.arange(1, arguments.steps + 1)
wanted = np.interp(steps, [0, highest], [0, arguments.peak]) if arguments.warmup else np.full(len(steps), arguments.peak)
falls = steps > highest
if arguments.schedule == "linear":
    wanted[falls] = np.interp(steps[falls], [highest, arguments.steps], [arguments.peak, arguments.least])
elif arguments.schedule == "cosine":
    angle = np.pi * (steps[falls] - highest) / (arguments.steps - highest)
    wanted[falls] = (arguments.peak + arguments.least) / 2 + (arguments.peak - arguments.least) / 2 * np.cos(angle)
assert len(found) == arguments.steps, found
np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15 * arguments.peak)
if arguments.schedule != "constant" and arguments.steps > highest:
    assert found[-1] == arguments.least, found
