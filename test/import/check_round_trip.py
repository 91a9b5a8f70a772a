#!/usr/bin/env python3
"""The way from PyTorch and back, by the package in tools/python (tools/check --with-pytorch): models are trained by ppopt under dp=2 with --zero 3, and their
logits afterwards are those of training in PyTorch."""
import functools
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import checked, environment  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

# Of live.py.
CASES = ("tied", "batch_norm", "time_major", "gpt2", "lora", "vit", "errors", "mpirun")
PACKAGE = HERE.parent.parent / "tools" / "python"


def check(harness, scratch, case):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    done = checked([harness.args.pytorch, str(HERE / "live.py"), case, os.path.join(scratch, case)], timeout=900,
                   env=dict(environment(), PPOPT=harness.ppopt, PYTHONPATH=str(PACKAGE)))
    print("".join(f"  {line}\n" for line in done.stdout.splitlines() if line.startswith(f"{case}: ")), end="", flush=True)


def main():
    harness = Harness("import live")
    with tempfile.TemporaryDirectory() as scratch:
        for case in CASES:
            harness.case(case, functools.partial(check, harness, scratch, case))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
