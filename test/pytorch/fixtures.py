"""Compares compiled models with what PyTorch computed: see make_fixtures.py for the files."""
import functools
import json
import os

import numpy as np

from support import safetensors_io
from support.executable import checked, compile_model, expect_close, run

TOLERANCE = {"f32": 1e-5, "f64": 1e-10, "bf16": 8e-2}
# In bf16 PyTorch rounds the gradients of weights, we the sum with a bias; a relu turns that into other steps.
LOSS_TOLERANCE = {**TOLERANCE, "bf16": 1e-2}

# A gradient that is zero by symmetry (an attention key's bias) is rounding noise of the others: differences are measured
# against this part of the largest gradient of the model where the tensor's own is less. PyTorch's f32 gradients are
# within 1e-6 of its f64 ones in these units.
LEAST_SCALE = {"f32": 1e-2, "f64": 1e-3, "bf16": 1e-1}


def model_flags(model, spelling):
    """How `ppopt model` is asked for a model of the table in make_fixtures.py."""
    if model["family"] == "mlp":
        flags = ["mlp", "--widths", ",".join(map(str, model["widths"])), "--activation", model["activation"]]
    else:
        flags = ["gpt"]
        for name in ("layers", "width", "heads", "vocab", "seq"):
            flags += [f"--{name}", str(model[name])]
        if not model["tied"]:
            flags += ["--untied"]
        if model["ignore_index"] is not None:
            flags += [f"--ignore-index={model['ignore_index']}"]
    return [*flags, "--batch", str(model["batch"]), "--dtype", "f32" if spelling == "bf16" else spelling]


def adamw_flags(options):
    return ["--lr", repr(options["lr"]), "--betas", ",".join(map(repr, options["betas"])), "--eps", repr(options["eps"]),
            "--weight-decay", repr(options["weight_decay"])]


def hexadecimal(texts):
    return np.array([float.fromhex(text) for text in texts])


def read(directory, name, spelling, what):
    """A tensor file of a model; inputs without floating-point numbers are shared by all types, and bf16 begins as f32."""
    stems = [f"{name}.{spelling}", *([f"{name}.f32"] if spelling == "bf16" else []), name]
    paths = (os.path.join(directory, f"{stem}.{what}.safetensors") for stem in stems)
    return safetensors_io.read(next(path for path in paths if os.path.exists(path)))


def check(ppopt, scratch, fixtures, described, name, spelling):
    model = described["models"][name]
    tolerance = TOLERANCE[spelling]
    text = os.path.join(scratch, f"{name}.{spelling}.mlir")
    checked([ppopt, "model", *model_flags(model, spelling), "-o", text])
    init, inputs = read(fixtures, name, spelling, "init"), read(fixtures, name, spelling, "inputs")
    runs = {}
    for optimizer, flags in [("adamw", adamw_flags(described["adamw"])), ("sgd", ["--lr", repr(described["sgd"]["lr"])])]:
        executable = compile_model(ppopt, text, f"{text[:-5]}.{optimizer}",
                                   ["--optimizer", optimizer, *(["--precision", "bf16"] if spelling == "bf16" else [])],
                                   optimized=optimizer == "adamw")
        if optimizer == "sgd" and executable.keeps_velocity:
            flags += ["--momentum", "0"]
        runs[optimizer] = run(executable, flags, init=init, inputs=inputs, steps=described["steps"],
                              dump_gradients=optimizer == "adamw")
    expect_close("gradient of the first step", runs["adamw"].gradients, read(fixtures, name, spelling, "gradients"),
                 tolerance, least_scale=LEAST_SCALE[spelling] * gradient_scale(fixtures, name, spelling))
    for optimizer, result in runs.items():
        expected = hexadecimal(model["losses"][spelling][optimizer])
        expect_close(f"losses with {optimizer}", result.losses, expected, LOSS_TOLERANCE[spelling])
    expect_close("parameter after SGD", runs["sgd"].parameters, read(fixtures, name, spelling, "sgd"), tolerance)


def gradient_scale(fixtures, name, spelling):
    """The largest gradient element of a model."""
    return max(np.abs(g).max() for g in read(fixtures, name, spelling, "gradients").values())


def tests(ppopt, scratch, fixtures):
    """[(name, function)] for all models of a folder of fixtures."""
    with open(os.path.join(fixtures, "fixtures.json")) as file:
        described = json.load(file)
    return [(f"{name} {spelling}", functools.partial(check, ppopt, scratch, fixtures, described, name, spelling))
            for name, model in described["models"].items() for spelling in model["losses"]]
