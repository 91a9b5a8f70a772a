#!/usr/bin/env python3
"""Draws models and plans, and compares what ppopt makes of them with PyTorch's autograd in f64.

    python test/models/generate.py --count 100 --seed 1 --ppopt build/release/bin/ppopt

needs a Python with torch and numpy. A model is always the same of a seed, and so are its plans. Prints a line for each finding, and
at the end how many models and pairs there were, what was refused and why. A finding is a wrong number, a crash, an internal error, a hang,
or a model that is refused on one rank with default flags. What it takes to see it again is kept: the model as text, its
description and the flags (--keep), made small (--shrink).
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from description import features  # noqa: E402
from draw import Rejected, draw  # noqa: E402
from support.random_plans import ZERO  # noqa: E402
from comparison import check_pair  # noqa: E402
from pairs import draw_bad, draw_cuda, draw_pair, draw_run, first_pair, pair_of, read_thresholds  # noqa: E402
from reference import IllPosed, is_out_of_range, reference  # noqa: E402
from shrink import shrink  # noqa: E402
from trials import Finding, Refused, message_of, text_of  # noqa: E402

def draw_case(seed):
    """(description, run, expected, tolerance): the first model from the seed whose numbers can be known."""
    random = np.random.default_rng([seed, 7])
    for attempt in range(30):
        try:
            description = dict(draw(seed + attempt * 10**9), seed=seed)
            run = draw_run(random, description)
            if description["float"] == "f32" and random.random() < 0.3:
                run["precision"] = "bf16"
            return (description, run, *reference(description, run))
        except (IllPosed, Rejected):
            continue
    raise Rejected("no model")


def bad_id(seed, number, description):
    """For some pairs: an id that a run must not take (Pair.bad)."""
    random = np.random.default_rng([seed, number, 13])
    # A one_hot of a class that is none is zeros in one place and an error in the other.
    if random.random() < 0.6 or features(description) & {"one_hot", "gather_last", "scatter_last"}:
        return ()
    bad = draw_bad(random, description)
    return bad if bad and is_out_of_range(description, bad) else ()


class Totals:
    def __init__(self):
        self.lock = threading.Lock()
        self.models = self.pairs = 0
        self.refusals, self.findings = collections.Counter(), collections.Counter()
        self.examples = {}  # of refusals: seed:number
        self.red = []

    def text(self):
        lines = [f"{self.models} models, {self.pairs} pairs compared, {sum(self.refusals.values())} refused, "
                 f"{sum(self.findings.values())} findings"]
        lines += [f"  refused {n} times, as {self.examples[m]}: {m}" for m, n in self.refusals.most_common()]
        lines += [f"  found {n} times: {m}" for m, n in self.findings.most_common()]
        return "\n".join(lines)


class Generator:
    def __init__(self, args, directory):
        self.args, self.directory, self.totals = args, directory, Totals()
        self.end = time.monotonic() + 60 * args.minutes if args.minutes else None
        self.thresholds = read_thresholds(args.thresholds)
        self.choices = {"stages": [int(stage) for stage in args.stages.split(",")]} if args.stages else {"asynchronous": 0.1}

    def model(self, seed):
        if self.end and time.monotonic() > self.end:
            return
        try:
            description, run, expected, tolerance = draw_case(seed)
        except Rejected:
            return
        if features(description) & set(self.args.avoid.split(",")):
            return
        with self.totals.lock:
            self.totals.models += 1
        random = np.random.default_rng([seed, 9])
        pairs = [first_pair(run)]
        pairs[0].compile_flags += ["--precision", "bf16"] if run.get("precision") else []
        pairs[0].cuda = draw_cuda(random, description, run) if self.args.cuda else []
        refused = 0
        done = 0
        while done < self.args.plans and refused < 12:
            pair = pairs[0] if done == 0 and refused == 0 else \
                draw_pair(random, description, run, self.thresholds, self.args.mpi, for_cuda=self.args.cuda, **self.choices)
            is_first = pair is pairs[0]
            pair.bad = bad_id(seed, done + refused, description)
            if self.args.only is not None and done + refused != self.args.only:
                done += 1
                continue
            try:
                self.check(seed, done + refused, description, pair, expected, tolerance, is_first)
            except Refused as refusal:
                refused += 1
                with self.totals.lock:
                    self.totals.refusals[str(refusal)] += 1
                    self.totals.examples.setdefault(str(refusal), f"{seed}:{done + refused - 1}")
                continue
            done += 1

    def check(self, seed, number, description, pair, expected, tolerance, is_first):
        stem = os.path.join(self.directory, f"seed{seed}_{number}")
        try:
            try:
                check_pair(self.args.ppopt, description, pair, expected, tolerance, stem)
            except Refused as refusal:
                if is_first:
                    raise Finding("refused on one rank", str(refusal)) from None
                raise
            with self.totals.lock:
                self.totals.pairs += 1
        except Finding as finding:
            self.report(seed, number, description, pair, finding, stem)
        finally:
            if os.path.exists(stem + ".mlir"):
                os.remove(stem + ".mlir")

    def report(self, seed, number, description, pair, finding, stem):
        kept = self.args.keep and os.path.join(self.args.keep, f"seed{seed}_{number}")
        with self.totals.lock:
            self.totals.findings[finding.kind] += 1
            self.totals.red.append((seed, number, finding.kind))
            self.totals.pairs += 1
        first = str(finding).strip().replace("\n", " | ")[:400]
        print(f"FINDING seed {seed} pair {number}: {first}\n    ppopt compile {kept or stem}.mlir {' '.join(pair.compile_flags)}\n"
              f"    run with {' '.join(pair.run_flags)}{' under mpirun' if pair.launch == 'mpirun' else ''}"
              f"{' and resume under ' + ' '.join(pair.resume['compile_flags']) if pair.resume else ''}", flush=True)
        if kept:
            os.makedirs(self.args.keep, exist_ok=True)
            shutil.copy(stem + ".mlir", kept + ".mlir")
            save(kept + ".json", description, pair, finding)
        with self.totals.lock:
            is_first = sum(s == seed and k == finding.kind for s, _, k in self.totals.red) == 1
        if kept and self.args.shrink and is_first:
            small, small_pair = shrink(description, pair, lambda d, p: self.fails_alike(d, p, finding, stem + "_small"), self.args.shrink)
            save_small(kept, description, small, small_pair, finding)

    def fails_alike(self, description, pair, finding, stem):
        """Whether there is a finding of the same kind."""
        try:
            if pair.bad and not is_out_of_range(description, pair.bad):
                return False
            expected, tolerance = reference(description, pair.run)
        except Exception:  # a description that is none any more
            return False
        try:
            check_pair(self.args.ppopt, description, pair, expected, tolerance, stem)
        except Refused as refusal:
            return finding.kind == "refused on one rank" and str(refusal) in str(finding)
        except Finding as other:
            return other.kind == finding.kind and (finding.kind.startswith("wrong") or first_line(other) == first_line(finding))
        except Exception:
            return False
        finally:
            if os.path.exists(stem + ".mlir"):
                os.remove(stem + ".mlir")
        return False


def first_line(finding):
    return message_of(str(finding))


def save_small(path, description, small, pair, finding):
    with open(path + "_small.mlir", "w") as file:
        file.write(text_of(small, pair))
    save(path + "_small.json", small, pair, finding)
    print(f"    small: {path}_small.mlir {' '.join(pair.compile_flags)} ({len(small['nodes'])} of {len(description['nodes'])} nodes)",
          flush=True)


def save(path, description, pair, finding):
    with open(path, "w") as file:
        json.dump({"description": description, "pair": pair.to_json(), "finding": str(finding)}, file)


def replay(args, directory):
    """One kept pair again, and with --shrink smaller: exit status 1 where it is still red."""
    with open(args.replay) as file:
        kept = json.load(file)
    description, pair = kept["description"], pair_of(kept["pair"])
    expected, tolerance = reference(description, pair.run)
    stem = os.path.join(directory, "replay")
    try:
        check_pair(args.ppopt, description, pair, expected, tolerance, stem)
    except (Finding, Refused) as finding:
        if isinstance(finding, Refused):
            finding = Finding("refused on one rank", str(finding))
        print(f"red {args.replay}: {finding}")
        if args.shrink:
            generator = Generator(args, directory)
            small, small_pair = shrink(description, pair, lambda d, p: generator.fails_alike(d, p, finding, stem), args.shrink)
            save_small(args.replay.removesuffix(".json"), description, small, small_pair, finding)
        return 1
    print(f"green {args.replay}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="how many models")
    parser.add_argument("--seed", type=int, default=1, help="of the first")
    parser.add_argument("--plans", type=int, default=3, help="pairs of each model; the first is one rank with default flags")
    parser.add_argument("--only", type=int, help="of each model only the pair of this number, as findings name it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="stop to draw after so long")
    parser.add_argument("--ppopt", default=str(HERE.parent.parent / "build" / "release" / "bin" / "ppopt"))
    parser.add_argument("--thresholds", default=str(HERE.parent.parent / "include" / "ppopt" / "Analysis" / "Thresholds.def"),
                        help="the compiler's table of thresholds, which are drawn small; none where there is no such file")
    parser.add_argument("--avoid", default="", help="leave out models with one of these, by commas: tables (constants of different "
                        "values), choices, counts, embeddings, or the name of an op")
    parser.add_argument("--stages", help=f"draw only these of --zero, by commas; they are {ZERO}")
    parser.add_argument("--keep", help="folder for findings")
    parser.add_argument("--shrink", type=float, default=0, help="seconds for making each finding small")
    parser.add_argument("--mpi", action="store_true", help="some pairs under mpirun")
    parser.add_argument("--no-cuda", dest="cuda", action="store_false", help="compile nothing for GPUs: a pair takes half as long")
    parser.add_argument("--replay", help="a kept finding's .json: run it again")
    args = parser.parse_args()
    args.ppopt = os.path.abspath(args.ppopt)
    with tempfile.TemporaryDirectory() as directory:
        if args.replay:
            return replay(args, directory)
        generator = Generator(args, directory)
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for future in [pool.submit(generator.model, seed) for seed in range(args.seed, args.seed + args.count)]:
                future.result()
        print(generator.totals.text())
        print("red: " + " ".join(f"{s}:{n}" for s, n, _ in generator.totals.red))
        return 1 if generator.totals.findings else 0


if __name__ == "__main__":
    sys.exit(main())
