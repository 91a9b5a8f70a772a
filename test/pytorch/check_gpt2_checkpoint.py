#!/usr/bin/env python3
"""Loads GPT-2 checkpoints as Hugging Face's transformers writes them, by tools/maps/gpt2.json, and compares with what transformers computes with
them: the first loss within 1e-6, all logits within 1e-5 of the largest, the continuation of a prompt at temperature 0 token for token. Exports them
by the same map, bit for bit, and PyTorch's linear layers by one that transposes. Needs no PyTorch: gpt2_checkpoint.py wrote fixtures/gpt2."""
import functools
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "generation")]
from check_generation import Tools  # noqa: E402
from support.results import Harness  # noqa: E402

import checkpoints  # noqa: E402


def main():
    harness = Harness("gpt2 checkpoint")
    with tempfile.TemporaryDirectory() as scratch:
        tools = Tools(harness.args.build, scratch)
        for folder in sorted((HERE / "fixtures" / "gpt2").iterdir()):
            for name, test in checkpoints.cases(tools, str(folder)):
                harness.case(name, test)
            harness.case(f"{folder.name}, planted", functools.partial(checkpoints.check_planted, tools, str(folder), scratch))
        harness.case("linear layers", functools.partial(checkpoints.check_linear_layers, harness.ppopt, scratch))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
