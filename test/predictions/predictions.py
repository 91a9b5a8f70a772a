"""Predictions of programs, and their comparison with arrays."""
import json
import os
import struct

import numpy as np

from support import safetensors_io
from support.executable import Mismatch, checked, expect_close

TOLERANCES = {"F64": 1e-12, "F32": 1e-5}


def types_of(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        return {name: entry["dtype"] for name, entry in json.loads(file.read(size)).items() if name != "__metadata__"}


class Predicted:
    def __init__(self, path, output):
        self.tensors, self.types, self.output = safetensors_io.read(path), types_of(path), output


def command_of(program, parameters, data, out, flags=(), launch=()):
    """`parameters`: the flags that say where they are, or the file of --init. `data`: paths."""
    parameters = ["--init", parameters] if isinstance(parameters, str) else parameters
    return [*launch, program.path, *parameters, "--predict", *data, "-o", out, *flags]


def predict(program, parameters, data, flags=(), launch=(), env=None):
    out = program.path + ".out"
    if os.path.exists(out):
        os.remove(out)
    done = checked(command_of(program, parameters, data, out, flags, launch), env=env)
    return Predicted(out, done.stdout + done.stderr)


def compare(what, ours, expected, types):
    """`expected`: {name: array} of all rows. Numbers that are not finite, integers, booleans and bf16 are the same."""
    if set(ours.tensors) != set(expected):
        raise Mismatch(f"{what}: {sorted(ours.tensors)} instead of {sorted(expected)}")
    for name, theirs in expected.items():
        if ours.types[name] != types[name]:
            raise Mismatch(f"{what}: {name} is of type {ours.types[name]} instead of {types[name]}")
        compare_tensors(f"{what}: {name}", ours.tensors[name], theirs, TOLERANCES.get(types[name]))


def compare_tensors(what, ours, theirs, tolerance):
    if ours.shape != theirs.shape:
        raise Mismatch(f"{what}: shape {ours.shape} instead of {theirs.shape}")
    if tolerance is None:
        wrong = np.argwhere(ours != theirs)
        if len(wrong):
            at = tuple(wrong[0])
            raise Mismatch(f"{what}: {ours[at]} instead of {theirs[at]} at {list(map(int, at))}, and {len(wrong) - 1} more")
        return
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        raise Mismatch(f"{what}: other elements are not finite")
    expect_close(what, ours[finite], theirs[finite], tolerance)
