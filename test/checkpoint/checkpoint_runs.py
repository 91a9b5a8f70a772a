"""Runs that save, and what is compared of them."""
import hashlib
import json
import os
import pathlib
import subprocess

from support import safetensors_io
from support.executable import checked, compile_model, environment, new_log
from support.mpirun import under_mpirun

SIZES = {"layers": 4, "width": 16, "heads": 2, "vocab": 256, "seq": 8, "batch": 8, "dropout": 0.1}
STEPS = 8
#: With a learning rate that depends on the total of steps, and a clipped norm.
TRAIN = ["--lr", "1e-3", "--lr-schedule", "cosine", "--warmup", "2", "--clip", "0.5", "--seed", "3"]


class Run:
    """A run that has ended, and its log."""

    def __init__(self, done, log):
        self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
        self.records = []
        if os.path.exists(log):
            with open(log) as file:
                self.records = [json.loads(line) for line in file]

    def of(self, event):
        return [record for record in self.records if record["event"] == event]

    @property
    def steps(self):
        """The last that was logged of each step: {number: (loss, norm)}, bit for bit."""
        return {r["step"]: (r["loss_hex"], r["norm_hex"], r["lr"]) for r in self.of("step")}

    @property
    def losses(self):
        return {number: float.fromhex(loss) for number, (loss, _, _) in self.steps.items()}


class Bench:
    """A folder, the programs that were compiled into it, and a text to train on."""

    def __init__(self, harness, directory):
        self.harness, self.directory = harness, directory
        self.data = self.path("text")
        sources = sorted(pathlib.Path(__file__).parent.glob("*.py"))
        pathlib.Path(self.data).write_bytes(b"".join(path.read_bytes() for path in sources)[:20000])
        self.programs = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    def model(self, **sizes):
        """The model file of these flags of `ppopt model gpt`, and SIZES."""
        path = self.path("_".join(["gpt", *(f"{name}{value}" for name, value in sizes.items())]) + ".mlir")
        if not os.path.exists(path):
            flags = [word for name, value in {**SIZES, **sizes}.items() for word in (f"--{name}", str(value))]
            checked([self.harness.ppopt, "model", "gpt", *flags, "-o", path])
        return path

    def program(self, model, *flags):
        key = (model, flags)
        if key not in self.programs:
            self.programs[key] = compile_model(self.harness.ppopt, model, self.path(f"train{len(self.programs)}"),
                                               ["--threads", "1", *flags])
        return self.programs[key]

    def train(self, program, name, *flags, launch="threads", status=0, data=None, train=TRAIN, steps=STEPS, **how):
        """Trains; the log is `name`.jsonl, the parameters `name`.safetensors."""
        train = [word for pair in zip(train[::2], train[1::2]) if pair[0] not in flags for word in pair]
        log, export = self.path(name + ".jsonl"), self.path(name + ".safetensors")
        command = [program.path, "--data", data or self.data, "--steps", str(steps), *new_log(log, flags), "--export", export,
                   *train, *flags]
        if launch == "mpirun":
            command = [*under_mpirun(program.ranks), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(), **how)
        assert done.returncode == status, (f"{' '.join(command)}\nexit status {done.returncode} instead of {status}:\n"
                                           f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return Run(done, log)

    def parameters(self, name):
        return safetensors_io.read(self.path(name + ".safetensors"))


def names_in(folder):
    return sorted(name for name in os.listdir(folder) if name != ".lock")


def fingerprint(folder):
    """Every file under a folder, and its bytes."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file() and path.name != ".lock"}


def expect_same_steps(ours, theirs):
    assert ours == theirs, "\n".join(f"step {n}: {ours.get(n)} instead of {theirs.get(n)}"
                                     for n in sorted({*ours, *theirs}) if ours.get(n) != theirs.get(n))


def expect_text(text, *parts):
    for part in parts:
        assert part in text, f"no '{part}' in:\n{text[-3000:]}"
