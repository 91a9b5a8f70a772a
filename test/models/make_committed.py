#!/usr/bin/env python3
"""Writes committed/*.json: descriptions, a few plans for each, and what PyTorch's autograd in f64 says of them.

    python test/models/make_committed.py                            computes the numbers of all of committed/ again
    python test/models/make_committed.py --check                    the same, but only says which differ
    python test/models/make_committed.py --pick 9 --first 50000     adds 9 of ops that the set has seldom
    python test/models/make_committed.py --planted                  writes the one that errors are planted in
    python test/models/make_committed.py --add found/seed7_2.json   adds a finding, which check_models.py then tests

Needs a Python with torch. check_models.py runs the set where there is numpy alone.
"""
import argparse
import collections
import json
import math
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from description import all_nodes  # noqa: E402
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


def numbers(array):
    """Nested lists for JSON, of 13 digits."""
    return np.array([float(f"{x:.12e}") for x in np.asarray(array).reshape(-1)]).reshape(np.shape(array)).tolist()


def entry_of(description, pairs, expected, tolerance):
    """Gradients of the first step; losses, norms and evaluations of all. The parameters at the end follow in most of their bits from
    the losses of later steps."""
    return {"description": description, "pairs": [{k: v for k, v in pair.to_json().items() if k != "run"} for pair in pairs],
            "run": pairs[0].run, "tolerance": tolerance, "losses": expected["losses"], "norms": expected["norms"],
            "evaluations": expected["evaluations"], "gradients": {n: numbers(g) for n, g in expected["gradients"].items()}}


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


def planted():
    """What check_models.py plants errors in."""
    b = Builder(6, "f64")
    x, w = b.input((3,)), b.param((3, 4))
    h = b.unary("tanh", b.matmul(x, w))
    loss = b.binary("mse", b.binary("mul", h, b.unary("detach", h)), b.input((4,)))
    description = b.description(loss, 0, 2)
    pair = first_pair(dict(draw_run(np.random.default_rng(0), description), optimizer="sgd", clip=0.0, evaluate=12))
    return entry_of(description, [pair], *reference(description, pair.run))


def write(name, entry):
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(entry, separators=(",", ":")) + "\n")


def difference(old, new):
    """Of losses and evaluations, and of gradients relative to the largest."""
    worst = 0.0
    for a, b in zip(old["losses"] + old["evaluations"], new["losses"] + new["evaluations"]):
        worst = max(worst, float((a is None) != (b is None)) if None in (a, b) else abs(a - b) / max(abs(a), 1e-3))
    largest = max((np.abs(g).max() for g in map(np.array, old["gradients"].values())), default=0) or 1.0
    for name, gradient in old["gradients"].items():
        worst = max(worst, np.abs(np.array(gradient) - np.array(new["gradients"][name])).max() / largest)
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
        write("planted", planted())
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
