#!/usr/bin/env python3
"""Writes committed/*.json: descriptions, a few plans for each, and what PyTorch's autograd in f64 says of them.

    python test/models/make_committed.py                            computes the numbers of all of committed/ again
    python test/models/make_committed.py --check                    the same, but only says which differ
    python test/models/make_committed.py --pick 9 --first 50000     adds 9 of ops that the set has seldom
    python test/models/make_committed.py --planted                  writes those that errors are planted in, and others made by hand
    python test/models/make_committed.py --add found/seed7_2.json   adds a finding, which check_models.py then tests

Needs a Python with torch. check_models.py runs the set where there is numpy alone.
"""
import argparse
import collections
import dataclasses
import json
import math
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.random_plans import ranks_of  # noqa: E402

from description import all_nodes, results_of  # noqa: E402
from builder import Builder  # noqa: E402
from generate import bad_id, draw_case  # noqa: E402
from draw import Rejected  # noqa: E402
from pairs import draw_pair, draw_run, first_pair, pair_of  # noqa: E402
from reference import reference, train  # noqa: E402

FOLDER = HERE / "committed"
PLANS = 2
SELDOM = 3             # descriptions that have an op
MOST_NUMBERS = 200     # of the parameters of a description
MOST_ELEMENTS = 20000  # of all its values: it is to compile and run in no time
RUN = {"optimizer": "sgd", "lr": 0.05, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0, "clip": 0.0, "eps": 1e-3, "evaluate": 0}


def numbers(array):
    """Nested lists for JSON, of 13 digits."""
    return np.array([float(f"{x:.12e}") for x in np.asarray(array).reshape(-1)]).reshape(np.shape(array)).tolist()


def entry_of(description, pairs, expected, tolerance):
    """Gradients of the first step; losses, norms and evaluations of all. The parameters at the end follow in most of their bits from
    the losses of later steps."""
    entry = {"description": description, "pairs": [{k: v for k, v in pair.to_json().items() if k != "run"} for pair in pairs],
            "run": pairs[0].run, "tolerance": tolerance, "losses": expected["losses"], "norms": expected["norms"],
            "evaluations": expected["evaluations"], "gradients": {n: numbers(g) for n, g in expected["gradients"].items()}}
    if results_of(description):
        return dict(entry, metrics=expected["metrics"], predictions={n: numbers(values) for n, values in expected["predictions"].items()})
    return dict(entry, evaluations=entry["evaluations"][:2])


def draw_plans(seed, description, run):
    """The first is one rank; the others split the model where they can."""
    random, pairs = np.random.default_rng([seed, 11]), [first_pair(run)]
    if run.get("precision"):
        pairs[0].compile_flags += ["--precision", run["precision"]]
    while len(pairs) < PLANS:
        pair = draw_pair(random, description, run)
        # A table of many places for a model of few ops is refused: check_models.py would compare nothing.
        if pair.ranks > 4 or pair.marks and pair.marks[2] < 0.5 or "--chunks" in pair.compile_flags:
            continue
        pair.bad = bad_id(seed, len(pairs), description)
        pairs.append(pair)
    return pairs


def size_of(description):
    parameters = sum(math.prod(p["type"][1]) for p in description["params"])
    return parameters, sum(math.prod(n["type"][1]) for n in all_nodes(description) if n["type"])


def pick(count, first):
    """Seeds that bring ops that the set has seldom."""
    seen, seed = collections.Counter(), first
    for path in FOLDER.glob("*.json"):
        seen.update({n["op"] for n in all_nodes(json.loads(path.read_text())["description"])})
    while count > 0:
        seed += 1
        try:
            description, run, expected, tolerance = draw_case(seed)
        except Rejected:
            continue
        parameters, elements = size_of(description)
        ops = {n["op"] for n in all_nodes(description)}
        if parameters > MOST_NUMBERS or elements > MOST_ELEMENTS or len(ops) < 4:
            continue
        if all(seen[op] >= SELDOM for op in ops):
            continue
        seen.update(ops)
        count -= 1
        yield seed, entry_of(description, draw_plans(seed, description, run), expected, tolerance)


def by_hand():
    """{name: entry}. Errors are planted in two of them (check_models.py)."""
    return {"planted": planted(), "planted_groups": planted_groups(), "adapters": adapters(), "smoothed_and_binary": smoothed_and_binary(),
            "metrics_and_outputs": metrics_and_outputs()}


def plans(run, *flags, run_flags=()):
    """One rank with the flags' defaults, and plans with these flags."""
    pairs = [first_pair(run)]
    for each in flags:
        compile_flags = [*pairs[0].compile_flags, *each]
        pairs.append(dataclasses.replace(pairs[0], compile_flags=compile_flags, ranks=ranks_of(compile_flags),
                                         run_flags=[*pairs[0].run_flags, *run_flags]))
    return pairs


def planted_groups():
    """Parameters that are frozen, learn at another rate, or decay more or less."""
    b = Builder(6, "f64")
    w, bias = b.param((3, 4), scales={"lr_scale": 0.1, "decay_scale": 3.0}), b.param((4,), scales={"lr_scale": 2.5, "no_decay": True})
    frozen, last = b.param((4, 5), frozen=True), b.param((5, 2), scales={"decay_scale": 0.25})
    h = b.unary("tanh", b.binary("add", b.matmul(b.input((3,)), w), bias))
    loss = b.binary("mse", b.matmul(b.unary("tanh", b.matmul(h, frozen)), last), b.input((2,)))
    description = b.description(loss, 0, 3)
    run = dict(RUN, lr=0.2, momentum=0.9, weight_decay=0.1, clip=0.5, evaluate=8)
    said = ["--freeze", frozen.name, "--lr-scale", f"{w.name}=0.1; {bias.name}*=2.5", "--decay", f"{last.name}=0.25; {bias.name}=0.0"]
    pairs = plans(run, ["--mesh", "dp=2", "--zero", "3", *said], ["--mesh", "fsdp=3,pp=2", "--zero", "3", "--microbatches", "2", *said],
                  ["--zero", "1", "--mesh", "dp=3", *said[:2]], run_flags=["--check-replicas", "1", "--poison"])
    pairs[1].resume = {"compile_flags": pairs[2].compile_flags, "ranks": pairs[2].ranks, "marks": (), "step": 1, "save": []}
    return entry_of(description, pairs, *reference(description, run))


def adapters():
    """Layers that are frozen but for two thin matrices each, which learn at another rate; all is sharded."""
    b = Builder(4, "f64")
    h = b.input((5, 4))
    for _ in range(3):
        w, (down, up) = b.param((4, 4), frozen=True), (b.param((4, 2), scales={"lr_scale": 0.5}), b.param((2, 4), scales={"no_decay": True}))
        h = b.rows("rms_norm", [h, b.param((4,), frozen=True)], eps=0.01)
        h = b.binary("add", h, b.unary("gelu", b.binary("add", b.matmul(h, w), b.matmul(b.matmul(h, down), up))))
    table = b.param((7, 4), frozen=True)
    targets = b.input((5,), "i32", kind="ids", high=7)
    description = b.description(b.losses("cross_entropy", b.matmul(h, table, tb=True), targets, None), 1, 3)
    run = dict(RUN, optimizer="adamw", lr=0.02, weight_decay=0.1, evaluate=6)
    frozen = "; ".join(p["name"] for p in description["params"] if p.get("frozen"))
    pairs = plans(run, ["--mesh", "dp=2,fsdp=2", "--zero", "3", "--bucket-bytes", "200"], ["--mesh", "dp=2,pp=2", "--zero", "3", "--freeze", frozen],
                  ["--mesh", "dp=4", "--zero", "2"], run_flags=["--check-replicas", "1", "--poison"])
    pairs[1].resume = {"compile_flags": pairs[0].compile_flags, "ranks": 1, "marks": (), "step": 2, "save": []}
    return entry_of(description, pairs, *reference(description, run))


def smoothed_and_binary():
    """Smoothed targets, with and without some that are not counted, and a binary cross entropy."""
    b = Builder(12, "f64")
    x, w, frozen = b.input((3, 4)), b.param((4, 6)), b.param((6,), frozen=True)
    logits = b.binary("add", b.matmul(x, w), frozen)
    counted = b.input((3,), "i64", kind="ids", high=6, ignore=-1, ignored=[0.3, 0.8, 1.0], ignored_in_evaluation=[0.5, 0.2])
    loss = b.losses("cross_entropy", logits, counted, -1, smoothing=0.1)
    loss = b.binary("add", loss, b.losses("cross_entropy", b.unary("tanh", logits), b.input((3,), "i32", kind="ids", high=6), None, smoothing=0.4))
    loss = b.binary("add", loss, b.binary("bce_with_logits", b.binary("mul", logits, b.param((6,))), b.input((3, 6), kind="share")))
    description = b.description(loss, 2, 3)
    description["params"][0]["shard"] = "[{}, {tp}]"
    run = dict(RUN, evaluate=19)
    pairs = plans(run, ["--mesh", "dp=2", "--microbatches", "3", "--zero", "3"], ["--mesh", "fsdp=2,pp=2", "--zero", "2", "--microbatches", "2"],
                  ["--mesh", "dp=2,tp=2"], run_flags=["--check-replicas", "1", "--poison"])
    return entry_of(description, pairs, *reference(description, run))


def metrics_and_outputs():
    """Of a mean, a ratio of sums, and outputs of two layers."""
    b = Builder(6, "f64")
    x, w, v = b.input((3, 4)), b.param((4, 6)), b.param((6, 5), frozen=True)
    h = b.unary("tanh", b.matmul(x, w))
    scores = b.along("softmax", b.unary("sin", b.matmul(h, v)), 2, (6, 3, 5))
    loss = b.binary("mse", scores, b.input((3, 5)))
    mean, total = b.reduce("mean", scores, [0, 1]), b.reduce("sum", b.unary("square", scores), [0, 1, 2])
    squares = b.reduce("sum", b.unary("square", x), [0, 1, 2])
    description = b.description(loss, 3, 2)
    values = (("metric", "mean", b.reduce("sum", mean, [0])), ("output", "scores", scores), ("metric", "ratio", total),
              ("count", "ratio", squares), ("output", "h", h))
    description["results"] = [{"kind": kind, "name": name, "value": value.name} for kind, name, value in values]
    run = dict(RUN, evaluate=14, predict=17)
    pairs = plans(run, ["--mesh", "dp=3", "--zero", "3"], ["--mesh", "fsdp=2,pp=2", "--microbatches", "3", "--zero", "2"],
                  run_flags=["--poison", "--metrics-every", "1"])
    return entry_of(description, pairs, *reference(description, run))


def planted():
    b = Builder(6, "f64")
    x, w = b.input((3,)), b.param((3, 4))
    h = b.unary("tanh", b.matmul(x, w))
    loss = b.binary("mse", b.binary("mul", h, b.unary("detach", h)), b.input((4,)))
    description = b.description(loss, 0, 2)
    pair = first_pair(dict(RUN, evaluate=12))
    return entry_of(description, [pair], *reference(description, pair.run))


def write(name, entry):
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(entry, separators=(",", ":")) + "\n")


def difference(old, new):
    """Of losses and evaluations, and of gradients relative to the largest."""
    worst = 0.0
    scalars = lambda entry: entry["losses"] + entry["evaluations"][:2] + [x for each in entry["evaluations"][2:] for x in each.values()]
    for a, b in zip(scalars(old), scalars(new)):
        worst = max(worst, float((a is None) != (b is None)) if None in (a, b) else abs(a - b) / max(abs(a), 1e-3))
    largest = max((np.abs(g).max() for g in map(np.array, old["gradients"].values())), default=0) or 1.0
    for name, gradient in old["gradients"].items():
        worst = max(worst, np.abs(np.array(gradient) - np.array(new["gradients"][name])).max() / largest)
    for name, values in old.get("predictions", {}).items():
        worst = max(worst, np.abs(np.array(values) - np.array(new["predictions"][name])).max() / np.abs(values).max())
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pick", type=int, default=0)
    parser.add_argument("--first", type=int, default=20000)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--add", nargs="*", default=[])
    parser.add_argument("--name", help="with --add: what the cases are called, instead of the files' names")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    for seed, entry in pick(args.pick, args.first) if args.pick else ():
        write(f"seed{seed}", entry)
    if args.planted:
        for name, entry in by_hand().items():
            write(name, entry)
    for i, path in enumerate(args.add):
        kept = json.loads(pathlib.Path(path).read_text())
        pair = pair_of(kept["pair"])
        pairs = [first_pair(pair.run)] * (pair.compile_flags != first_pair(pair.run).compile_flags) + [pair]
        name = re.sub(r"\W", "_", args.name or pathlib.Path(path).stem) + (f"_{i}" if args.name and i else "")
        write(name, entry_of(kept["description"], pairs, *reference(kept["description"], pair.run)))
    differ = 0
    if not args.pick and not args.planted and not args.add:
        for path in sorted(FOLDER.glob("*.json")):
            old = json.loads(path.read_text())
            pairs = [pair_of(p, run=old["run"]) for p in old["pairs"]]
            # Noise is no part of the numbers: how much it changes depends on the processor's sine.
            new = entry_of(old["description"], pairs, train(old["description"], old["run"]), old["tolerance"])
            if not args.check:
                write(path.stem, new)
            elif difference(old, new) > 1e-10:
                print(f"{path.name}: PyTorch's numbers differ by {difference(old, new):.3g}")
                differ += 1
    return differ > 0


if __name__ == "__main__":
    sys.exit(main())
