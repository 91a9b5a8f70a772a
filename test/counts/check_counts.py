#!/usr/bin/env python3
"""Holds the counts that speed and memory rest on against counts.txt: of a step's launches and FLOPs, of distinct kernels and
matmuls, of bytes by kind of region, for preset models under a few plans. Time is none of them: they are the same everywhere.

A change of one is no error as such. If it is meant, run

    /usr/bin/python3 test/counts/check_counts.py --update

(it rewrites the table for what the compiler in --build makes, also after a conflict in it) and commit the table with the change.
"""
import argparse
import collections
import functools
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import checked, compile_model  # noqa: E402
from support.results import Harness  # noqa: E402

TABLE = HERE / "counts.txt"
SMALL, DEEP = (["gpt", "--layers", layers, "--width", "384", "--heads", "6", "--vocab", "256", "--seq", "256", "--batch", "8"]
               for layers in ("6", "12"))
GPT2 = ["gpt", "--preset", "gpt2-124m", "--seq", "256", "--batch", "4"]
#        name: flags of `ppopt model`, flags of `ppopt compile`
CASES = {
    "small": (SMALL, ["--threads", "2"]),
    "small of 12 layers": (DEEP, ["--threads", "2"]),
    "small bf16": (SMALL, ["--threads", "2", "--precision", "bf16"]),
    "small dp=2": (SMALL, ["--mesh", "dp=2", "--threads", "1"]),
    "small pp=2 1f1b m=4": (SMALL, ["--mesh", "pp=2", "--schedule", "1f1b", "--microbatches", "4", "--threads", "1"]),
    "small pp=2 zb-h1 m=4": (SMALL, ["--mesh", "pp=2", "--schedule", "zb-h1", "--microbatches", "4", "--threads", "1"]),
    "124m": (GPT2, ["--threads", "2"]),
    "124m pp=4,dp=2 m=2": (GPT2, ["--mesh", "pp=4,dp=2", "--microbatches", "2", "--threads", "1"]),
    "mlp": (["mlp"], ["--threads", "2"]),
}
# Asked of a library that chooses by the processor it runs on.
NOT_COUNTED = {"workspace"}


def compile_case(ppopt, directory, name):
    """Whatever the processor of this machine is."""
    model_flags, plan = CASES[name]
    stem = os.path.join(directory, "".join(c if c.isalnum() else "_" for c in name))
    checked([ppopt, "model", *model_flags, "-o", stem + ".mlir"])
    return compile_model(ppopt, stem + ".mlir", stem, [*plan, "--cpu", "x86-64-v4"])


def count(program):
    """{figure: one number, or one for each place}."""
    figures = {"kernels": [len(program["kernels"])], "matmuls": [len(program["matmuls"])]}
    places = program["places"]
    for figure in ("launches", "flops", "bytes_sent"):
        figures[figure] = [place["predicted"][figure] for place in places]
    figures["actions"] = [len(place["actions"]) for place in places]
    kinds = collections.defaultdict(lambda: [0] * len(places))
    for number, place in enumerate(places):
        for region in place["arena"]["regions"]:
            kinds[region["kind"]][number] += region["bytes"]
    figures |= {f"bytes of {kind}": kinds[kind] for kind in sorted(kinds.keys() - NOT_COUNTED)}
    return figures


def read_table():
    """{case: {figure: text}}."""
    table = collections.defaultdict(dict)
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            case, figure, values = map(str.strip, line.split("|"))
            table[case][figure] = values
    return table


def format_counts(counts):
    return {figure: " ".join(map(str, values)) for figure, values in counts.items()}


def check_counts(ppopt, directory, name):
    was, now = read_table().get(name, {}), format_counts(count(compile_case(ppopt, directory, name).program))
    changed = [f"  {figure}: {was.get(figure, 'none')} in the table, now {now.get(figure, 'none')}"
               for figure in dict.fromkeys([*was, *now]) if was.get(figure) != now.get(figure)]
    assert not changed, "\n".join([*changed, "  if that is meant: /usr/bin/python3 test/counts/check_counts.py --update"])


def check_determinism(ppopt, directory):
    """The executable does not depend on how many processors compile it."""
    model, executable = os.path.join(directory, "same.mlir"), os.path.join(directory, "same")
    checked([ppopt, "model", *SMALL, "-o", model])
    digests = set()
    for before in ([], ["taskset", "-c", str(min(os.sched_getaffinity(0)))]):
        checked([*before, ppopt, "compile", model, "--threads", "2", "-o", executable])
        with open(executable, "rb") as file:
            digests.add(hashlib.sha256(file.read()).hexdigest())
    assert len(digests) == 1, "the same model and plan made two different executables"


def update(ppopt, directory):
    lines = ["# Written by test/counts/check_counts.py --update: case | figure | one number, or one for each place."]
    for name in CASES:
        counts = format_counts(count(compile_case(ppopt, directory, name).program))
        lines += ["", *(f"{name} | {figure} | {values}" for figure, values in counts.items())]
    TABLE.write_text("\n".join(lines) + "\n")
    subprocess.run(["git", "-C", str(HERE), "diff", "--stat", "--", TABLE.name], check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true", help="rewrite counts.txt instead")
    harness = Harness("counts", parser)
    with tempfile.TemporaryDirectory() as directory:
        if harness.args.update:
            update(harness.ppopt, directory)
            return 0
        cases = [(name, functools.partial(check_counts, harness.ppopt, directory, name)) for name in CASES]
        harness.cases([*cases, ("determinism", functools.partial(check_determinism, harness.ppopt, directory))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
