"""Imports the cases of make_ops.py, some together in one program, and compares the loss and each case's gradients with PyTorch's."""
import json
import os
import re
import subprocess
import tarfile
import zipfile

import numpy as np

from support import safetensors_io
from support.executable import checked, compile_model, environment, expect_close, run

from models import import_model

TOLERANCE = 1e-9

# Casts to float32 and back round, and PyTorch's gradient of hardsigmoid has 1/6 in float32.
ROUNDED = ("casts_", "formulas_of_one_hardsigmoid.")

# It has a row of scores that are all -inf: after run_decompositions the gradient of their softmax is NaN, as that graph is written.
MASKED_WHOLE = "several_7_core"


class Cases:
    def __init__(self, directory, scratch):
        with open(os.path.join(directory, "ops.json")) as file:
            self.described = json.load(file)
        self.figures = safetensors_io.read(os.path.join(directory, "ops.safetensors"))
        self.scratch = os.path.join(scratch, "ops")
        with tarfile.open(os.path.join(directory, "ops.tar.xz")) as packed:
            packed.extractall(self.scratch)

    def groups(self, everything):
        """[(program, its cases, whether LLVM optimises it)]; of those after run_decompositions every third, and LLVM optimises every sixth of the others."""
        found = []
        for number, (group, described) in enumerate(self.described["groups"].items()):
            for program in (group, f"{group}_core"):
                core = program != group
                if (everything or not core or number % 3 == 0) and program != MASKED_WHOLE and os.path.exists(os.path.join(self.scratch, program + ".pt2")):
                    found.append((program, described["cases"], everything or not core and number % 6 == 1))
        return found

    def ops(self):
        """The ops of each program that groups() has without everything."""
        groups, cases = self.described["groups"], self.described["cases"]
        return [set(groups[program[:-len("_core")]]["core_ops"]) if program.endswith("_core") else {op for name in names for op in cases[name]["ops"]}
                for program, names, _ in self.groups(False)]

    def refused(self):
        return [(name, case["refused"]) for name, case in self.described["cases"].items() if "refused" in case]

    def of(self, case, kind):
        prefix = f"{case}/{kind}/"
        return {key[len(prefix):]: value for key, value in self.figures.items() if key.startswith(prefix)}


def storages_of(path):
    """{parameter: the entry of the archive that has it}"""
    with zipfile.ZipFile(path) as archive:
        config = next(name for name in archive.namelist() if name.endswith("model_weights_config.json"))
        return {name: entry["path_name"] for name, entry in json.loads(archive.read(config))["config"].items()}


def check_group(ppopt, cases, program, names, optimized=False):
    stem = os.path.join(cases.scratch, program)
    init, _ = import_model(ppopt, stem + ".pt2", stem + ".mlir")
    inputs = {f"{name}_{key}": value for name in names for key, value in cases.of(name, "inputs").items()}
    train = compile_model(ppopt, stem + ".mlir", stem, ["--optimizer", "sgd"], optimized=optimized)
    used = {entry["name"].lower(): entry["name"] for entry in train.program["inputs"]}  # PyTorch writes some in lower case
    inputs = {used[key.lower()]: value for key, value in inputs.items() if key.lower() in used}
    result = run(train, ["--lr", "0.01"], init=init, inputs=inputs, dump_gradients=True)
    # Cases that were drawn with one tensor share the parameter, and its gradient is the sum of theirs.
    expected, storages = {}, storages_of(stem + ".pt2")
    first = {}
    for name in names:
        for key, value in cases.of(name, "gradients").items():
            key = first.setdefault(storages[f"{name}.{key}"], f"{name}.{key}")
            expected[key] = expected.get(key, 0) + value
    for key, value in expected.items():
        ours = result.gradients.get(key)
        if ours is None and not value.any():
            continue  # a constant of the loss
        expect_close(f"gradient of {key}", ours, value, 1e-6 if key.startswith(ROUNDED) else TOLERANCE, least_scale=1e-3)
    loss = sum(float(cases.figures[f"{name}/loss"]) for name in names)
    expect_close("loss", result.losses, np.array([loss]), TOLERANCE)


# Listed, and in no program with figures.
WITHOUT_FIGURES = {
    "aten._native_batch_norm_legit.no_stats": "all of it is refused",
}


def listed_ops(page):
    """The ops in the table of docs/reference/import-ops.md."""
    return re.findall(r"^\| `([\w.]+)` \|", page, flags=re.MULTILINE)


def ops_of(archive):
    """The ops that an archive's graphs have."""
    with zipfile.ZipFile(archive) as opened:
        model = next(name for name in opened.namelist() if name.endswith("models/model.json"))
        return set(re.findall(r'"target": "torch\.ops\.(aten\.\w+\.\w+)"', opened.read(model).decode()))


def check_listed(page, programs, without=None):
    """Every op of the reference, or its form in place, is in a program whose figures are PyTorch's."""
    without = WITHOUT_FIGURES if without is None else without
    ops = set().union(*programs)
    compared = ops | {re.sub(r"_(\.\w+)$", r"\1", op) for op in ops}
    listed = set(listed_ops(page))
    assert listed, "the reference lists no op"
    missing, extra = listed - compared - set(without), set(without) - (listed - compared)
    assert not missing, f"in no program that is compared with PyTorch (op_rows*.py): {', '.join(sorted(missing))}"
    assert not extra, f"WITHOUT_FIGURES has what is compared, or not listed: {', '.join(sorted(extra))}"


def check_refused(ppopt, cases, name, word):
    """What a case needs and is not supported is named, with the line."""
    stem = os.path.join(cases.scratch, name)
    done = subprocess.run([ppopt, "import", stem + ".pt2", "-o", stem + ".mlir"], capture_output=True, text=True, env=environment())
    assert done.returncode == 1 and word in done.stderr and ".py:" in done.stderr, done.stderr


def check_unsupported(ppopt, scratch, unpack, directory):
    """One op each that is not supported: the op and the line of Python, alone."""
    with open(os.path.join(directory, "expected.json")) as file:
        expected = json.load(file)
    for name, what in expected.items():
        done = subprocess.run([ppopt, "import", "--list-unsupported", unpack(name, scratch)], capture_output=True, text=True, env=environment())
        wanted = f"{what['file']}:{what['line']}: error: '{what['op']}'"
        lines = [line for line in done.stderr.splitlines() if "error:" in line]
        assert done.returncode == 1 and len(lines) == 1 and lines[0].startswith(wanted), f"{name}: {wanted}, and it is\n{done.stderr}"


def check_hostile(ppopt, scratch, make, archive):
    """Broken archives are refused with words that say what is wrong; unusual ones that are right are taken. Nothing crashes."""
    folder = os.path.join(scratch, "hostile")
    checked([*make, archive, folder])
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    wrong = []
    for name, words in expected.items():
        done = subprocess.run([ppopt, "import", os.path.join(folder, name + ".pt2"), "-o", os.path.join(folder, "model.mlir")],
                              capture_output=True, text=True, errors="replace", timeout=120, env=environment())
        said = done.stderr.replace(os.path.join(folder, name), "").lower()
        if done.returncode != (words is not None) or any(word.lower() not in said for word in words or []):
            wrong.append(f"{name}: status {done.returncode}, expected {words}, and it says {done.stderr[:300]!r}")
    assert not wrong, "\n".join(wrong)
