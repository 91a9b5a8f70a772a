#!/usr/bin/env python3
"""Holds the state of programs whose mesh cuts parameters (tp) against one rank: files of parameters and of gradients, checkpoints, and text.

numpy reads and writes all files. What an executable writes of drawn values, or of values that it read, must be the bytes that one rank has
of them; gradients and moments after some steps are compared in f64. By hand: check_state.py --filter 'fsdp', --keep DIR.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import safetensors_io  # noqa: E402
from support.checkpoints import expect_same_bits, step_folder, tensors_of  # noqa: E402
from support.executable import Once, checked, compile_model, environment, expect_close  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

BATCH, LENGTH, VOCABULARY, STEPS = 8, 8, 32, 4
GPT = ["--layers", "2", "--width", "24", "--heads", "12", "--vocab", str(VOCABULARY), "--seq", str(LENGTH), "--batch", str(BATCH),
       "--dtype", "f64", "--dropout", "0.1"]
TRAIN = ["--lr", "0.01", "--clip", "0.5", "--seed", "5", "--check-counters", "--poison"]
TOLERANCES = {"gradients": 1e-12, "losses": 1e-12, "parameters": 1e-10, "states": 1e-10}
BUCKETS = ["--bucket-bytes", "2000"]  # in the middle of parameters

BY_ROWS = ["--shard", "wte=[{tp}, {}]"]  # of the table, which is tied

#        mesh                  further flags of the compiler
PLANS = [("tp=3", ["--optimizer", "sgd"]),
         ("dp=2,tp=2", ["--zero", "1", *BUCKETS]),
         ("tp=2,dp=2", ["--zero", "2", *BUCKETS]),
         ("fsdp=2,tp=2", ["--zero", "3", *BUCKETS]),
         ("tp=2,pp=2", ["--schedule", "zb-v", "--microbatches", "4"]),
         ("fsdp=2,tp=2", ["--zero", "3", *BY_ROWS, *BUCKETS]),
         ("dp=2,tp=2,fsdp=2", ["--zero", "3", "--gather", "step", *BUCKETS])]

SAVED = ("dp=2,tp=2,pp=2", ["--zero", "1", "--microbatches", "2", *BUCKETS])
RESUMED = [("tp=4", BY_ROWS), ("fsdp=2", ["--zero", "3"]), ("dp=1", [])]
GENERATE = ["--generate", "12", "--temperature", "0"]


class Bench:
    """A model, what it trains on, a file of parameters, and the programs that were compiled."""

    def __init__(self, ppopt, directory):
        self.ppopt, self.directory, self.once = ppopt, directory, Once()
        self.model = self.path("gpt.mlir")
        checked([ppopt, "model", "gpt", *GPT, "-o", self.model])
        random = np.random.default_rng(3)
        window = random.integers(0, VOCABULARY, (2 * STEPS * BATCH, LENGTH + 1), dtype=np.int32)
        self.samples = self.path("samples.safetensors")
        safetensors_io.write(self.samples, {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()})
        one = self.compile("dp=1", [])
        drawn = self.path("drawn.safetensors")
        self.train(one, "drawn", "--export", drawn, steps=0)
        self.drawn = pathlib.Path(drawn).read_bytes()
        # Values that nothing draws, under the model's names, and as a map has them.
        self.given = {name: random.standard_normal(array.shape) / 4 for name, array in safetensors_io.read(drawn).items()}
        self.mapped = {"theirs." + name: np.ascontiguousarray(array.T) for name, array in self.given.items()}
        entries = {name: {"tensor": "theirs." + name, "transpose": array.ndim == 2} for name, array in self.given.items()}
        safetensors_io.write(self.path("given.safetensors"), self.given)
        safetensors_io.write(self.path("mapped.safetensors"), self.mapped)
        pathlib.Path(self.path("map")).write_text(json.dumps({"format": "ppopt parameter map", "version": 1, "parameters": entries}))
        self.trained = {optimizer: Trained(self, self.compile("dp=1", ["--optimizer", optimizer]), f"one_{optimizer}")
                        for optimizer in ("adamw", "sgd")}

    def path(self, name):
        return os.path.join(self.directory, name)

    def compile(self, mesh, flags, generates=False):
        path = self.path(re.sub(r"\W+", "_", " ".join(["generate" if generates else "train", mesh, *flags])))
        return self.once(path, lambda: compile_model(self.ppopt, self.model, path, ["--mesh", mesh, *flags, "--threads", "1"], generates=generates))

    def train(self, executable, name, *flags, steps, launch="threads"):
        """Trains. Returns {step: (loss, norm)} of this run."""
        log = self.path(name + ".jsonl")
        if os.path.exists(log):
            os.remove(log)
        command = [executable.path, "--steps", str(steps), "--inputs", self.samples, "--no-shuffle", "--log", log, *TRAIN, *flags]
        checked([*under_mpirun(executable.ranks), *command] if launch == "mpirun" else command, timeout=100)
        with open(log) as file:
            return {record["step"]: (record["loss_hex"], record["norm_hex"]) for record in map(json.loads, file) if record["event"] == "step"}


#===------------------------------------------------------------------------------------------------------------===#
# Files of parameters, of gradients, and checkpoints
#===------------------------------------------------------------------------------------------------------------===#

class Trained:
    """What a program writes after some steps from the given parameters."""

    def __init__(self, bench, executable, name):
        folder, gradients, parameters = (bench.path(f"{name}.{what}") for what in ("checkpoint", "gradients", "parameters"))
        shutil.rmtree(folder, ignore_errors=True)
        momentum = ["--momentum", "0.9"] if "sgd" in name else []
        bench.train(executable, name, "--init", bench.path("given.safetensors"), "--dump-gradients", gradients, "--export", parameters,
                    "--checkpoint", folder, "--checkpoint-memory", "20KB", "--check-replicas", "1", *momentum, steps=STEPS)
        self.gradients, self.parameters = safetensors_io.read(gradients), safetensors_io.read(parameters)
        checkpoint = step_folder(folder, STEPS)
        self.saved, self.states = tensors_of(checkpoint, "parameters"), tensors_of(checkpoint, "optimizer")


def check_files(bench, mesh, flags):
    executable = bench.compile(mesh, flags)
    name = os.path.basename(executable.path)
    drawn, back = bench.path(name + ".drawn"), bench.path(name + ".back")
    bench.train(executable, name, "--export", drawn, steps=0)
    assert pathlib.Path(drawn).read_bytes() == bench.drawn, "the initial values are not those of one rank"
    by_map = ["--init", bench.path("mapped.safetensors"), "--init-map", bench.path("map")]
    bench.train(executable, name, *by_map, "--export", back, "--export-map", bench.path("map"), steps=0)
    expect_same_bits(safetensors_io.read(back), bench.mapped)
    ours, theirs = Trained(bench, executable, name), bench.trained["sgd" if "sgd" in flags else "adamw"]
    expect_same_bits(ours.saved, ours.parameters)
    for what in ("gradients", "parameters", "states"):
        expect_close(what, getattr(ours, what), getattr(theirs, what), TOLERANCES[what])


#===------------------------------------------------------------------------------------------------------------===#
# Resuming
#===------------------------------------------------------------------------------------------------------------===#

def check_resumes(bench):
    """Saved in the middle: the same plan goes on with the same bits, others with the same parameters."""
    executable = bench.compile(*SAVED)
    straight, saved = bench.path("straight"), bench.path("saved")
    steps = bench.train(executable, "straight", "--export", straight, "--checkpoint", saved, "--checkpoint-every", str(STEPS), steps=2 * STEPS)
    shutil.rmtree(step_folder(saved, 2 * STEPS))
    parameters = tensors_of(step_folder(saved, STEPS), "parameters")

    def resume(program, name, number, launch="threads"):
        folder, export = bench.path(name), bench.path(name + ".export")
        shutil.copytree(saved, folder)
        done = bench.train(program, name, "--resume", "--checkpoint", folder, "--export", export, steps=number, launch=launch)
        return done, safetensors_io.read(export)

    for launch in ("threads", "mpirun"):
        resumed, exported = resume(executable, f"resumed_{launch}", 2 * STEPS, launch)
        assert resumed == {step: numbers for step, numbers in steps.items() if step > STEPS}, (resumed, steps)
        expect_same_bits(exported, safetensors_io.read(straight))
    for mesh, flags in RESUMED:
        program = bench.compile(mesh, flags)
        name = os.path.basename(program.path)
        expect_same_bits(resume(program, name + "_loaded", STEPS)[1], parameters)
        resumed, _ = resume(program, name + "_resumed", 2 * STEPS)
        assert len(resumed) == STEPS, resumed
        for step, numbers in resumed.items():
            expect_close(f"{mesh}, step {step}", [float.fromhex(each) for each in numbers], [float.fromhex(each) for each in steps[step]],
                         TOLERANCES["losses"])


#===------------------------------------------------------------------------------------------------------------===#
# Text
#===------------------------------------------------------------------------------------------------------------===#

def generate(bench, mesh, flags, expected=0):
    executable = bench.compile(mesh, flags, generates=True)
    command = [executable.path, "--init", bench.path("given.safetensors"), *GENERATE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment())
    assert done.returncode == expected, done.stderr + done.stdout
    return done.stdout if expected == 0 else done.stderr


def check_generates(bench):
    text = generate(bench, "dp=1", ["--optimizer", "adam"])
    for flags in ([], BY_ROWS):
        assert generate(bench, "tp=2,pp=2", flags) == text, flags


def check_refused(bench):
    text = generate(bench, "fsdp=2,tp=3", ["--zero", "3"], expected=2)
    assert "--generate: compiled with --zero 3, so no rank has the model" in text, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", help="write models and executables there and leave them")
    harness = Harness("state of cut parameters", parser)
    with tempfile.TemporaryDirectory() as temporary:
        directory = harness.args.keep or temporary
        os.makedirs(directory, exist_ok=True)
        bench = Bench(harness.ppopt, directory)
        cases = [(" ".join(["files of", mesh, *flags]), functools.partial(check_files, bench, mesh, flags)) for mesh, flags in PLANS]
        cases += [("resumes", lambda: check_resumes(bench)), ("generates", lambda: check_generates(bench)),
                  ("refused: --generate of shards", lambda: check_refused(bench))]
        harness.cases(cases)
    sys.exit(harness.finish())


if __name__ == "__main__":
    main()
