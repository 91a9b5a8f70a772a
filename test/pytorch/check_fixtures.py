#!/usr/bin/env python3
"""Holds GPTs and MLPs against PyTorch's numbers in fixtures/: gradients of the first step, losses over 20 steps of AdamW and
of SGD, parameters after 20 steps of SGD. f32 within 1e-5, f64 within 1e-10 of a tensor's largest element; bf16 (--precision=bf16 against
autocast) within 8e-2, losses within 1e-2."""
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.results import Harness  # noqa: E402

import fixtures  # noqa: E402


def main():
    harness = Harness("pytorch fixtures")
    with tempfile.TemporaryDirectory() as scratch:
        harness.cases(fixtures.tests(harness.ppopt, scratch, str(HERE / "fixtures")))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
