"""Compiles models and runs what comes out, for harnesses.

    train = compile_model(ppopt, model, "train", ["--mesh", "dp=2"])
    result = run(train, ["--inputs", "x.safetensors", "--steps", "3"], launch="mpirun", dump_gradients=True)
    result.losses, result.gradients["w"], result.parameters["w"]
"""

import functools
import json
import math
import os
import subprocess
import threading

import numpy as np

from support import safetensors_io, writers
from support.mpirun import under_mpirun


class Executable:
    """A compiled program and what it says of itself, if somebody asks."""

    def __init__(self, path):
        self.path = path

    @functools.cached_property
    def program(self):
        return json.loads(checked([self.path, "--describe=json"]).stdout)

    @functools.cached_property
    def ranks(self):
        return math.prod(axis["size"] for axis in self.program["plan"]["mesh"])

    @property
    def keeps_velocity(self):
        return any(parameter["states"] for place in self.program["places"] for parameter in place["parameters"])


class Once:
    """What several cases need is made by the first of them."""

    def __init__(self):
        self.lock, self.locks, self.made = threading.Lock(), {}, {}

    def __call__(self, key, make):
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.made:
                self.made[key] = make()
            return self.made[key]


class Result:
    def __init__(self, records, gradients, parameters, output):
        self.all_records = records    # the log
        self.records = [record for record in records if record.get("event") == "step"]
        self.gradients = gradients    # of the first step, or None
        self.parameters = parameters  # after the last step, or None
        self.output = output

    @property
    def hexadecimal(self):
        """The losses as logged, bit for bit."""
        return [record["loss_hex"] for record in self.records]

    @property
    def losses(self):
        return np.array([float.fromhex(text) for text in self.hexadecimal])


def environment():
    """Of every program a harness starts: as root, and with a thread for each rank unless the plan says otherwise."""
    return dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def new_log(path, flags=()):
    """The flags that log to this file, of which nothing is left from an earlier run: only one that resumes adds to a log."""
    if "--resume" not in flags and os.path.exists(path):
        os.remove(path)
    return ["--log", path]


def checked(command, timeout=300, env=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env or environment())
    if done.returncode != 0:
        text = (done.stderr + done.stdout).strip()
        raise AssertionError(f"{' '.join(map(str, command))}\nexit status {done.returncode}: {text[-3000:]}")
    return done


def without_optimizing(flags):
    """`flags` of `ppopt compile`, so that LLVM does not optimise: it compiles in a third of the time to what computes the same bits, which
    test/equivalence/check_bits.py compares."""
    flags = list(flags)
    if "--threshold" not in flags:
        return [*flags, "--threshold", "native-parts=0"]
    at = flags.index("--threshold") + 1
    if "native-parts=" not in flags[at]:
        flags[at] += ",native-parts=0"
    return flags


def compile_model(ppopt, model, output, flags=(), generates=False, optimized=False, assembles=False):
    """Compiles the file `model` to the executable `output`, without the program that generates unless a test needs it, and `optimized` where a
    test is of what kernels compute, not of what a plan makes of them. `assembles`: kernels for GPUs by ptxas, if there is one; libraries that stand
    in for the driver run what it would get."""
    flags = flags if optimized else without_optimizing(flags)
    writers.write(output)
    checked([ppopt, "compile", model, "-o", output, *flags, *([] if generates else ["--no-generation"])],
            env=environment() if assembles else dict(environment(), PPOPT_PTXAS="none"))
    return Executable(output)


def run(executable, flags, launch="threads", dump_gradients=False, init=None, inputs=None, steps=1, timeout=300,
        name="run", env=None, before=(), export=True):
    """Trains. `launch`: "threads" or "mpirun". `init`, `inputs`: {name: array}. `before`: a command that each rank is
    started by. `export`: whether the result has parameters. Files lie beside the executable."""
    stem = f"{executable.path}.{name}.{launch}"
    writers.write(stem + ".jsonl")
    command = [executable.path, "--steps", str(steps), *new_log(stem + ".jsonl", flags), *flags]
    if export:
        command += ["--export", stem + ".parameters.safetensors"]
    if inputs is not None:
        safetensors_io.write(stem + ".inputs.safetensors", inputs)
        command += ["--inputs", stem + ".inputs.safetensors", "--no-shuffle"]
    if init is not None:
        safetensors_io.write(stem + ".init.safetensors", init)
        command += ["--init", stem + ".init.safetensors"]
    if dump_gradients:
        command += ["--dump-gradients", stem + ".gradients.safetensors"]
    command = [*before, *command]
    if launch == "mpirun":
        command = under_mpirun(executable.ranks) + command
    done = checked(command, timeout, env)
    with open(stem + ".jsonl") as file:
        records = [json.loads(line) for line in file]
    gradients = safetensors_io.read(stem + ".gradients.safetensors") if dump_gradients else None
    parameters = safetensors_io.read(stem + ".parameters.safetensors") if export else None
    return Result(records, gradients, parameters, done.stderr + done.stdout)


def sums_in_tasks(program):
    """Whether tasks sum gradients over ranks. `program`: as --describe=json prints it."""
    return any(collective["op"] == "reduce_scatter" for collective in program["collectives"])


def adds_alike(program):
    """Whether the numbers of a step are added in the order of stage 0. That sums the gradients of a bucket once per step; from stage 2 on each run
    that adds to a bucket does, and places that have a parameter sum their chunks, which are not those of stage 0, afterwards. Stage 3 saves what
    follows from the rows of a table, where stage 0 looks them up again: small blocks of rows are then formed elsewhere, and sums over rows with them."""
    if program["plan"].get("zero", 0) < 2:
        return True
    if program["plan"]["zero"] == 3 and "--block-bytes" in program["command"]:
        return False
    if any(parameter["trained"] and len(parameter["places"]) > 1 for parameter in program["parameters"]):
        return False
    scatters = [collective["name"] for collective in program["collectives"] if collective["op"] == "reduce_scatter"]
    return not scatters or program["plan"]["microbatches"] == 1 and len(scatters) == len(set(scatters))


class Mismatch(AssertionError):
    """Numbers that should agree and do not."""


def expect_close(what, ours, theirs, tolerance, least_scale=0.0):
    """Arrays, or dictionaries of arrays with the same names. Differences are in units of the tensor's largest element, or
    of `least_scale` if that is more."""
    if isinstance(theirs, dict):
        if set(ours) != set(theirs):
            raise Mismatch(f"{what}: names differ: {sorted(set(ours) ^ set(theirs))}")
        for name in theirs:
            expect_close(f"{what} of {name}", ours[name], theirs[name], tolerance, least_scale)
        return
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    if ours.shape != theirs.shape:
        raise Mismatch(f"{what}: shape {ours.shape} instead of {theirs.shape}")
    if not theirs.size:
        return
    scale = max(np.abs(theirs).max(), least_scale)
    error = np.abs(ours - theirs).max() / scale if scale else np.abs(ours - theirs).max()
    if not error <= tolerance:  # also where an element is not finite
        raise Mismatch(f"{what}: relative error {error:.3g}, allowed {tolerance:.3g}")
