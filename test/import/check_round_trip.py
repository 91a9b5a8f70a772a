#!/usr/bin/env python3
"""The way from PyTorch and back, by the package in tools/python (tools/check --with-pytorch): models are trained by ppopt under dp=2 with --zero 3, and their
logits afterwards are those of training in PyTorch. Those of transformers and peft are skipped where these are not installed."""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import checked, environment  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

# The model, and what it needs besides torch and safetensors.
MODELS = {"tied": [], "time_major": [], "gpt2": ["transformers"], "lora": ["transformers", "peft"], "vit": ["transformers"]}
PACKAGE = HERE.parent.parent / "tools" / "python"


def check(harness, scratch, case, needed):
    python = harness.args.pytorch
    if not python:
        raise Skip("needs tools/check --with-pytorch")
    missing = [name for name in needed if subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode != 0]
    if missing:
        raise Skip(f"{python} has no {', '.join(missing)}")
    done = checked([python, str(HERE / "live.py"), case, os.path.join(scratch, case)], timeout=900,
                   env=dict(environment(), PPOPT=harness.ppopt, PYTHONPATH=str(PACKAGE)))
    print("".join(f"  {line}\n" for line in done.stdout.splitlines() if line.startswith(f"{case}: ")), end="", flush=True)


def main():
    harness = Harness("import live")
    with tempfile.TemporaryDirectory() as scratch:
        for case, needed in [*MODELS.items(), ("errors", []), ("mpirun", [])]:
            harness.case(case, functools.partial(check, harness, scratch, case, ["safetensors", *needed]))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
