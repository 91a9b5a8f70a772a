#!/usr/bin/env python3
"""Random models with batch norms, states and regions of microbatches under plans are what PyTorch in f64 makes of one forward per microbatch: losses,
parameters and states after some steps, and an evaluation. Needs --with-pytorch; by hand: check_drawn.py --pytorch PYTHON --seeds 0-100."""
import argparse
import functools
import json
import os
import pathlib
import random
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import checked, compile_model, expect_close, run  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

from drawn import STEPS, Drawn  # noqa: E402
from subjects import LR  # noqa: E402

TOLERANCE, LEAST_SCALE = 1e-9, 1e-2
PLANS = [[], ["--block-bytes", "64"], ["--recompute", "layer"], ["--recompute", "none"], ["--mesh", "dp=2"], ["--mesh", "dp=2", "--zero", "1"],
         ["--mesh", "dp=2", "--zero", "2"], ["--mesh", "dp=2", "--zero", "3", "--bucket-bytes", "100"], ["--mesh", "fsdp=2", "--zero", "3"],
         ["--mesh", "tp=2", "--shard", "l0=[{}, {tp}]"], ["--mesh", "dp=2,tp=2", "--shard", "l0=[{}, {tp}]"], ["--mesh", "pp=2"],
         ["--mesh", "pp=2", "--launch", "local"], ["--mesh", "dp=2,pp=2"], ["--mesh", "fsdp=2,pp=2", "--zero", "3", "--recompute", "layer"],
         *(["--mesh", "pp=2", "--schedule", schedule] for schedule in ("gpipe", "zb-h1", "zb-v")), ["--mesh", "tp=2,pp=2", "--shard", "l0=[{}, {tp}]"]]


def check(ppopt, directory, expected, seed, plan):
    drawn = Drawn(seed)
    stem = os.path.join(directory, f"{seed}.{PLANS.index(plan)}")
    pathlib.Path(stem + ".mlir").write_text(drawn.text(), encoding="utf8")
    train = compile_model(ppopt, stem + ".mlir", stem, ["--threads", "1", "--optimizer", "sgd", "--microbatches", str(drawn.microbatches), *plan])
    of_steps = STEPS * drawn.batch
    rows, evaluated = drawn.rows(), stem + ".evaluated.safetensors"
    safetensors_io.write(evaluated, {name: array[of_steps:] for name, array in rows.items()})
    result = run(train, ["--lr", str(LR), "--momentum", "0", "--weight-decay", "0", "--eval-inputs", evaluated, "--eval-batches", "all"], init=drawn.values(),
                 inputs={name: array[:of_steps] for name, array in rows.items()}, steps=STEPS)
    expect_close("losses", result.losses, expected["losses"], TOLERANCE)
    expect_close("parameters and states", result.parameters, expected["parameters"], TOLERANCE, LEAST_SCALE)
    evaluation = next(float.fromhex(record["loss_hex"]) for record in result.all_records if record["event"] == "eval")
    expect_close("evaluation", evaluation, expected["evaluation"], TOLERANCE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="0-9", help="the first and the last")
    parser.add_argument("--plans", type=int, default=3, help="of each model")
    harness = Harness("drawn states", parser)
    first, last = map(int, harness.args.seeds.split("-"))
    with tempfile.TemporaryDirectory() as directory:
        if not harness.args.pytorch:
            def skip():
                raise Skip("needs tools/check --with-pytorch")
            harness.case("live", skip)
            return harness.finish()
        figures = os.path.join(directory, "torch.json")
        checked([harness.args.pytorch, str(HERE / "train_drawn.py"), figures, *map(str, range(first, last + 1))], timeout=600)
        expected = json.loads(pathlib.Path(figures).read_text(encoding="utf8"))
        harness.cases([(f"seed {seed}, {' '.join(plan) or 'one rank'}", functools.partial(check, harness.ppopt, directory, expected[str(seed)], seed, plan))
                       for seed in range(first, last + 1) for plan in random.Random(seed).sample(PLANS, harness.args.plans)])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
