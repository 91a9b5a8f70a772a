#!/usr/bin/env python3
"""`--shard auto` against every sharding: for small models, all ways to cut each class of parameters are listed here and predicted one by one as `ppopt plan`
does, and none may be faster than its choice. With tp forced, a GPT's choice is no slower than Megatron's. What is chosen trains as one rank does.

By hand: check_sharding_choice.py --filter 'skips.*tp=2'.
"""
import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support.executable import Mismatch, checked, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

from models import MODELS  # noqa: E402
from predictor import Predictor  # noqa: E402

CPU = ["--device", "builtin", "--threads", "1"]
GPUS = ["--target", "cuda", "--cluster", "hgx-h100-400g", "--precision", "bf16"]
WHOLE, COLUMNS, ROWS = "[{}, {}]", "[{}, {tp}]", "[{tp}, {}]"
HEADS = "[{}, {3 * tp}]"
# Estimates add up what independent classes save, as if all of what ranks exchange that split the batch were exposed.
MOST_SLOWER = 0.01
SIZES = {"skips": ["in", "l*", "last"], "towers": ["ain", "aw*", "aout", "bin"], "embedding": ["table"]}
STEPS, BATCH = 3, 8


def gpt(ppopt, layers, *flags):
    return checked([ppopt, "model", "gpt", "--layers", str(layers), "--width", "1024", "--heads", "8", "--vocab", "4096", "--seq", "256", "--batch", "16",
                    *flags]).stdout


def rows_of(random, inputs, targets):
    return {"x": random.standard_normal((STEPS * BATCH, inputs), np.float32), "t": random.standard_normal((STEPS * BATCH, targets), np.float32)}


def inputs_of(name):
    """Of a model of models.py; none for one that reads text."""
    random = np.random.default_rng(7)
    if name == "embedding":
        return {"ids": random.integers(0, 5003, (STEPS * BATCH, 16), np.int32), "t": random.standard_normal((STEPS * BATCH, 16), np.float32)}
    return {"skips": rows_of(random, 40, 8), "towers": rows_of(random, 32, 8)}.get(name)


def bare(text):
    return re.sub(r", shard = #pp.sharding<[^>]*>", "", text)


class Case:
    def __init__(self, harness, directory, name, text):
        self.ppopt, self.build, self.directory, self.name = harness.ppopt, harness.args.build, directory, name
        self.path = os.path.join(directory, f"{name}.mlir")
        with open(self.path, "w") as file:
            file.write(text)

    def auto(self, *flags):
        done = subprocess.run([self.ppopt, "plan", self.path, "--shard", "auto", *flags], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found = re.search(r"--shard auto is --shard '(.*)'", done.stderr)
        return found[1] if found else ""

    def check_best(self, classes, flags):
        """Classes by glob, each with the shardings that it may have."""
        chosen = self.auto(*flags)
        ways = [[f"{glob}={cut}" for cut in cuts if cut != WHOLE] + [""] * (WHOLE in cuts) for glob, cuts in classes.items()]
        shards = [shard for way in itertools.product(*ways) if (shard := "; ".join(filter(None, way)))]
        plans = Predictor(self.build, self.path, flags).predict(["--shard", shard] for shard in [chosen, *shards])
        step, *steps = [plan.get("step") for plan in plans]  # None where it is refused
        best = min((each, shard) for each, shard in zip(steps, shards) if each)
        print(f"  {sum(map(bool, steps))} of {len(shards)} compile; the best, {best[1]}: {best[0] / 1e3:.1f} us; the choice, {chosen}: {step / 1e3:.1f} us")
        if step > best[0] * (1 + MOST_SLOWER):
            raise Mismatch(f"{chosen} takes {step}, and {best[1]} {best[0]}")

    def check_trains(self, mesh, flags, inputs=None):
        """The choice trains as one rank does."""
        chosen = self.auto("--mesh", mesh, *flags)
        losses = {}
        for name, plan in {"one": [], "cut": ["--mesh", mesh, "--shard", chosen]}.items():
            executable = compile_model(self.ppopt, self.path, os.path.join(self.directory, f"{self.name}_{name}"), ["--optimizer", "sgd", *plan])
            data = [] if inputs else ["--data", __file__]
            losses[name] = run(executable, [*data, "--poison", "--check-counters"], "threads", inputs=inputs, steps=STEPS).losses
        print(f"  {chosen}")
        expect_close("losses", losses["cut"], losses["one"], 1e-5)


def main():
    harness = Harness("sharding_choice")
    with tempfile.TemporaryDirectory() as directory:
        def case(name, text):
            return Case(harness, directory, name, text)
        for name, classes in SIZES.items():
            for machine, flags in {"CPU": CPU, "GPUs": GPUS}.items():
                mesh = ["--mesh", "tp=2" if name != "towers" else "dp=2,tp=2"]
                cuts = {glob: [WHOLE, COLUMNS, ROWS] for glob in classes}
                harness.case(f"{name}, tp=2, {machine}", lambda name=name, cuts=cuts, machine=machine, flags=[*mesh, *flags]: case(
                    f"{name}_{machine}", MODELS[name](harness.ppopt, BATCH)).check_best(cuts, flags))
        widths = checked([harness.ppopt, "model", "mlp", "--widths", "256,512,256,512,256", "--batch", str(BATCH)]).stdout
        shapes = {"layers.[02].weight": [WHOLE, COLUMNS, ROWS], "layers.[13].weight": [WHOLE, COLUMNS, ROWS]}
        harness.case("mlp, shapes", lambda: case("shapes", widths).check_best(shapes, ["--mesh", "dp=2,tp=2", *CPU]))
        tables = {"wte": [WHOLE, COLUMNS, ROWS], "wpe": [WHOLE, COLUMNS, ROWS], "lm_head.weight": [WHOLE, COLUMNS, ROWS]}
        harness.case("gpt, tables", lambda: case("tables", gpt(harness.ppopt, 4, "--untied")).check_best(tables, ["--mesh", "tp=4", *GPUS]))
        blocks = {"*.qkv.weight": [WHOLE, COLUMNS, ROWS, HEADS], "*.attn.proj.weight": [WHOLE, COLUMNS, ROWS], "*.fc.weight": [WHOLE, COLUMNS, ROWS],
                  "*.mlp.proj.weight": [WHOLE, COLUMNS, ROWS], "wte": [WHOLE, ROWS]}
        harness.case("gpt, blocks", lambda: case("blocks", bare(gpt(harness.ppopt, 2))).check_best(blocks, ["--mesh", "tp=2", *GPUS]))
        # Megatron's cuts, with and without those of the vocabulary, with ranks that split the batch.
        megatron = {"*.qkv.weight": [HEADS], "*.attn.proj.weight": [ROWS], "*.fc.weight": [COLUMNS], "*.mlp.proj.weight": [ROWS], "wte": [WHOLE, ROWS],
                    "wpe": [WHOLE, ROWS]}
        for mesh in ("dp=4,tp=2", "fsdp=2,tp=4", "tp=8"):
            harness.case(f"Megatron's, {mesh}", lambda mesh=mesh: case(f"megatron_{mesh}", bare(gpt(harness.ppopt, 4))).check_best(
                megatron, ["--mesh", mesh, *GPUS]))
        text = checked([harness.ppopt, "model", "gpt", "--layers", "2", "--width", "64", "--heads", "4", "--vocab", "256", "--seq", "32", "--batch", "8"]).stdout
        harness.case("gpt trains", lambda: case("trains", bare(text)).check_trains("dp=2,tp=2", GPUS))
        llama = checked([harness.ppopt, "model", "llama", "--layers", "1", "--width", "64", "--heads", "4", "--kv-heads", "2", "--mlp-width", "96", "--vocab",
                         "256", "--seq", "16", "--batch", "8"]).stdout
        harness.case("llama trains", lambda: case("llama", bare(llama)).check_trains("tp=2", GPUS))
        mixture = checked([harness.ppopt, "model", "mixtral", "--layers", "1", "--width", "64", "--heads", "4", "--kv-heads", "2", "--mlp-width", "64", "--vocab",
                           "256", "--seq", "16", "--batch", "8"]).stdout
        harness.case("mixtral trains", lambda: case("mixtral", bare(mixture)).check_trains("tp=2", CPU))
        for name in ("embedding", "skips", "towers"):
            harness.case(f"{name} trains", lambda name=name: case(f"{name}_trains", bare(MODELS[name](harness.ppopt, BATCH))).check_trains(
                "tp=2", CPU, inputs_of(name)))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
