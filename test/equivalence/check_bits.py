#!/usr/bin/env python3
"""A value's bits follow from its expression and shape: fusion and recomputation change no bit.

For one mesh, schedule, number of microbatches, block size, threads and CPU, programs with kernels of one op each, with normal fusion, with other tiles,
and with every choice of --recompute (where no small blocks of rows are made) log the same losses and give the same gradients and parameters, bit for bit
(f64). LLVM optimises the first of them and one other, in turn. The cases are the equivalence
models under some of their plans, and random graphs under random plans; thresholds that order sums are drawn for all programs of a case.
By hand: test/equivalence/check_bits.py --count 200 --seed 7; a case that fails says its seed and leaves its model.
"""
import argparse
import functools
import os
import pathlib
import shutil
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "gradients")]
from support.executable import compile_model, run  # noqa: E402
from support.random_plans import draw_marks, draw_plan, without  # noqa: E402
from support.results import Harness  # noqa: E402

from check_random import MOST_RANKS, REFUSED  # noqa: E402
from graph import model_text  # noqa: E402
from plans import BATCH, STEPS  # noqa: E402
from programs import HERE as MODELS_HERE, initial_parameters  # noqa: E402
from random_graphs import LARGE, SMALL, random_graph  # noqa: E402
from stage_plans import MODELS, StagePlan  # noqa: E402

# Programs of which none may differ from the first: --recompute, thresholds, and those of the parts that LLVM optimises, if it does.
VARIANTS = [("fused", "cheap", [], []),
            ("one op each", "cheap", ["kernel-ops=1"], []),
            ("nothing again", "none", ["kernel-ops=3,flat-tile=5,column-tile=3"], ["native-parts=1"]),
            ("layers again", "layer", ["kernel-ops=7,flat-tile=100,column-tile=8"], ["native-parts=3,part-ops=1"])]
LAYERS_ALONE = ("layers again, one op each", "layer", ["kernel-ops=1"], [])

PLANS = [["--mesh", "dp=1"], ["--mesh", "dp=2", "--microbatches", "2"], ["--mesh", "dp=1", "--block-bytes", "1500"],
         ["--mesh", "dp=1,pp=2", "--microbatches", "3", "--schedule", "zb-h1"]]


def random_sums(random):
    """Thresholds that say how sums are ordered."""
    return [f"sum-lanes={random.choice([0, 1, 2, 8, 64])}", f"long-sum={random.choice([1, 20, 16384])}",
            f"partial-sums={random.choice([2, 3, 64])}"]


def train(ppopt, model, stem, flags, thresholds, inputs, init=None, optimized=True):
    executable = compile_model(ppopt, model, stem, [*flags, "--optimizer", "sgd", "--threshold", ",".join(thresholds)], optimized=optimized)
    result = run(executable, ["--lr", "0.01", "--clip", "1", "--poison"], dump_gradients=True,
                 init=initial_parameters(executable) if init is None else init, inputs=inputs, steps=STEPS)
    os.remove(executable.path)
    return result


def differences(one, other):
    """What differs, in words."""
    found = []
    if one.hexadecimal != other.hexadecimal:
        found.append(f"losses {one.hexadecimal} and {other.hexadecimal}")
    for what, ours, theirs in (("gradient", one.gradients, other.gradients), ("parameter", one.parameters, other.parameters)):
        for name, values in ours.items():
            if values.tobytes() != theirs[name].tobytes():
                scale = np.abs(values).max() or 1
                found.append(f"{what} of {name} by {np.abs(values - theirs[name]).max() / scale:.2g}")
    return found


def comparable(flags):
    """Groups of programs whose bits are to be the same. Blocks of rows are made of what a task computes itself: with small ones, what is saved changes
    which sums are in parts."""
    if "--block-bytes" not in flags or flags[flags.index("--block-bytes") + 1] in ("unlimited", "64MiB"):
        return [VARIANTS]
    fused, one_op, _, layers = VARIANTS
    return [[fused, one_op], [layers, LAYERS_ALONE]]


def check_variants(ppopt, model, stem, flags, sums, inputs, init=None, turn=0):
    for variants in comparable(flags):
        check_group(ppopt, model, stem, flags, sums, inputs, init, variants, turn)


def check_group(ppopt, model, stem, flags, sums, inputs, init, variants, turn):
    """LLVM optimises the first program and, of several others, one: the others' bits are those of what is not optimised."""
    first = None
    others = len(variants) - 1
    for number, (name, recompute, thresholds, parts) in enumerate(variants):
        optimized = number == 0 or others > 1 and number == 1 + turn % others
        thresholds = [*sums, *thresholds, *(parts if optimized else [])]
        plan = [*flags, "--recompute", recompute]
        result = train(ppopt, model, stem, plan, thresholds, inputs, init, optimized)
        if first is None:
            first = result
        elif found := differences(first, result):
            raise AssertionError(f"'{name}'{', optimised,' if optimized else ''} differs from '{variants[0][0]}': {'; '.join(found)}\n"
                                 f"ppopt compile {model} {' '.join(plan)} --threshold {','.join(thresholds)}")


def check_model(ppopt, directory, model, plan_number):
    make_inputs, _ = MODELS[model]
    plan = PLANS[plan_number]
    text = (MODELS_HERE / "models" / f"{model}.mlir").read_text()
    places = 2 if "pp=2" in plan[1] else 1
    path = os.path.join(directory, f"{model}_{plan_number}.mlir")
    with open(path, "w") as file:
        file.write(StagePlan(places).adapt(text))
    random = np.random.default_rng(plan_number)
    check_variants(ppopt, path, path[:-5], [*plan, "--threads", "1"], random_sums(random), make_inputs(random),
                   turn=hash_of(model) + plan_number)


def check_random(ppopt, directory, seed):
    random = np.random.default_rng(seed)
    graph = random_graph(seed, BATCH, LARGE if seed % 4 == 3 else SMALL, may_stop=True)
    model = os.path.join(directory, f"bits_{seed}.mlir")
    for _ in range(20):
        plan = draw_plan(random, BATCH, MOST_RANKS, grad_dtypes=["f32"])
        flags = [*without(plan.flags, ["--recompute"]), "--threads", str(random.choice([1, 2])), "--block-bytes",
                 str(random.choice(["unlimited", "64MiB", "2000"]))]
        marks = draw_marks(random, plan)
        with open(model, "w") as file:
            file.write(model_text([graph], "random", marks))
        try:
            return check_variants(ppopt, model, model[:-5], flags, random_sums(random), graph.inputs, graph.params, seed)
        except Exception as error:
            if any(text in str(error) for text in REFUSED):
                continue
            kept = shutil.copy(model, tempfile.gettempdir())
            raise AssertionError(f"seed {seed}: {kept}\n{error}") from error
    raise AssertionError(f"seed {seed}: every plan was refused")


def check_order_of_sums(ppopt, directory):
    """The comparison sees another order of additions: the property would not hold for it."""
    model = str(MODELS_HERE / "models" / "lm.mlir")
    inputs = MODELS["lm"][0](np.random.default_rng(1))
    one, other = (train(ppopt, model, os.path.join(directory, "sums"), ["--mesh", "dp=1", "--threads", "1"], [sums], inputs)
                  for sums in ("sum-lanes=1", "sum-lanes=2"))
    assert differences(one, other), "sums in another order gave the same bits: the comparison compares nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=18, help="how many random graphs (default 18)")
    parser.add_argument("--seed", type=int, default=5000, help="of the first (default 5000)")
    harness = Harness("bits", parser)
    first, count = harness.args.seed, harness.args.count
    with tempfile.TemporaryDirectory() as directory:
        cases = [("order of sums", functools.partial(check_order_of_sums, harness.ppopt, directory))]
        cases += [(f"{model} {' '.join(plan)}", functools.partial(check_model, harness.ppopt, directory, model, number))
                  for model in MODELS for number, plan in enumerate(PLANS) if (hash_of(model) + number) % 2 == 0 or harness.args.count > 100]
        cases += [(f"seed {seed}", functools.partial(check_random, harness.ppopt, directory, seed)) for seed in range(first, first + count)]
        harness.cases(cases)
    return harness.finish()


def hash_of(name):
    """The same in every process."""
    return sum(name.encode())


if __name__ == "__main__":
    sys.exit(main())
