#!/usr/bin/env python3
"""`--plan auto` against every plan: for small models and few ranks, all plans of its space are listed here, predicted one by one by `ppopt plan`, and none
may be faster than its choice by more than it says. What is given stays, limits on memory hold, and the chosen plan trains.

By hand: check_plans.py --filter 'gpt.*4 ranks'.
"""
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support.executable import Mismatch, checked, compile_model, expect_close, run  # noqa: E402
from support.printed_times import to_seconds  # noqa: E402
from support.results import Harness  # noqa: E402

from models import MODELS  # noqa: E402

ROUNDING = 1.002  # of printed times
WAYS = [("1f1b", []), ("interleaved", ["--chunks", "2"]), ("interleaved", ["--chunks", "4"]), ("zb-h1", []), ("zb-v", []), ("dualpipe-v", [])]
CPU, GPU = ["--device", "builtin", "--threads", "1"], ["--target", "cuda", "--device", "h100"]
# Machines of two devices on a slow network: what tp agrees on crosses it in parts.
CLUSTER = {"version": 1, "name": "pairs",
           "levels": [{"name": "near", "size": 2, **{use: {"latency": 100, "rate": 50} for use in ("transfer", "collective")}},
                      {"name": "far", "size": 8, **{use: {"latency": 2000, "rate": 0.2} for use in ("transfer", "collective")}}]}
SMALL = [*CPU, "--recompute", "cheap"]  # a third of the space
MOST_SLOWER = 0.02  # as the search promises


def divisors(number):
    return [n for n in range(1, number + 1) if number % n == 0]


def meshes(ranks):
    """All (pp, dp, fsdp, tp)."""
    return [sizes for sizes in itertools.product(divisors(ranks), repeat=4) if sizes[0] * sizes[1] * sizes[2] * sizes[3] == ranks]


def every_plan(ranks, batch, recomputes):
    """The flags of each plan, also of those that are the same under two names."""
    for pp, dp, fsdp, tp in meshes(ranks):
        parts = dp * fsdp
        if batch % parts:
            continue
        mesh = ["--mesh", f"pp={pp},dp={dp},fsdp={fsdp},tp={tp}"]
        for zero, count, recompute in itertools.product(range(4 if parts > 1 else 1), divisors(batch // parts), recomputes):
            flags = [*mesh, "--zero", str(zero), "--microbatches", str(count), "--recompute", recompute]
            for name, chunks in (WAYS if pp > 1 else WAYS[:1]):
                yield [*flags, "--schedule", name, *chunks]


def predicted(text):
    """The predicted step of a report, in seconds."""
    return to_seconds(re.search(r"^the step, predicted: ([\d.]+ \w+)", text, re.MULTILINE)[1])


def memory_of(text):
    """The bytes of the rank that has most."""
    rows = re.findall(r"^  all  +([\d, ]+)$", text, re.MULTILINE)
    return max(int(number.replace(",", "")) for row in rows for number in row.split())


def choice(text):
    """The flags of the first plan of a report of --plan auto, and by how much another may be faster."""
    flags = re.search(r"^  1 .*?(--mesh .*)$", text, re.MULTILINE)[1].split()
    return flags, float(re.search(r"by more than ([\d.]+) %", text)[1]) / 100


class Case:
    def __init__(self, harness, directory, name, batch):
        self.ppopt = harness.ppopt
        self.path = os.path.join(directory, f"{name}_{batch}.mlir")
        with open(self.path, "w") as file:
            file.write(MODELS[name](harness.ppopt, batch))
        self.batch = batch

    def plan(self, *flags, fails=False):
        done = subprocess.run([self.ppopt, "plan", self.path, *flags], capture_output=True, text=True)
        if fails:
            assert done.returncode == 1, f"succeeds: {done.stdout[:300]}"
            return done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout

    def auto(self, ranks, *flags):
        return self.plan("--plan", "auto", "--ranks", str(ranks), *flags)

    def check_best(self, ranks, machine, recomputes):
        given = ["--recompute", *recomputes] if len(recomputes) == 1 else []
        text = self.auto(ranks, *machine, *given)
        flags, gap = choice(text)
        assert gap <= MOST_SLOWER + 5e-4, f"another may be faster by {gap}"
        chosen = predicted(text)
        expect_close("the chosen plan alone", predicted(self.plan(*flags, *machine)), chosen, 1e-9)
        best, compiled = None, 0
        for plan in every_plan(ranks, self.batch, recomputes):
            done = subprocess.run([self.ppopt, "plan", self.path, *plan, *machine], capture_output=True, text=True)
            if done.returncode == 0:
                compiled += 1
                best = min(best or (chosen, flags), (predicted(done.stdout), plan))
        print(f"  {compiled} plans compile; the best takes {best[0] * 1e3:.3f} ms, the choice {chosen * 1e3:.3f} ms")
        if chosen > best[0] * (1 + MOST_SLOWER) * ROUNDING:
            raise Mismatch(f"{' '.join(flags)} takes {chosen}, and {' '.join(best[1])} {best[0]}")

    def check_given(self):
        """Flags that are given stay, and --keep does."""
        for flags, pattern in [(["--zero", "1"], "--zero 1"), (["--microbatches", "2"], "--microbatches 2"), (["--keep", "tp=2"], "tp=2"),
                               (["--keep", "pp=2", "--schedule", "1f1b"], "pp=2.*--schedule 1f1b"), (["--keep", "dp=4"], "dp=4")]:
            chosen = " ".join(choice(self.auto(4, *SMALL, *flags))[0])
            assert re.search(pattern, chosen), f"{flags}: {chosen}"

    def check_memory(self):
        """The choice under a limit is within it; below the least there is none, and the error says what would fit."""
        least = self.plan("--plan", "auto", "--ranks", "2", *CPU, "--device-memory", "20KB", fails=True)
        needed = re.search(r"takes least, ([\d.]+) (\w+) a rank", least)
        assert needed, least
        ranks = re.search(r"one fits with --ranks (\d+)", least)
        print(f"  {least.strip()}")
        limit = f"{float(needed[1]) * 1.01:.1f}{needed[2]}"
        text = self.auto(2, *CPU, "--device-memory", limit)
        scale = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[needed[2]]
        assert memory_of(text) <= 1.01 * float(needed[1]) * scale, text
        if ranks:
            self.auto(int(ranks[1]), *CPU, "--device-memory", "20KB")

    def check_file(self, directory):
        """--emit plan writes what --plan reads, edited too."""
        path = os.path.join(directory, "chosen.plan")
        self.auto(4, *SMALL, "--emit", "plan", "-o", path)
        text = self.auto(4, *SMALL)
        assert predicted(self.plan("--plan", path, *CPU)) == predicted(text)
        with open(path) as file:
            lines = [line for line in file if not line.startswith("#")]
        with open(path, "w") as file:
            file.writelines(["# mine\n", *(line for line in lines if not line.startswith("--recompute")), "--recompute none\n"])
        assert "recompute none" in self.plan("--plan", path, *CPU)
        done = subprocess.run([self.ppopt, "plan", self.path, "--plan", path, "--recompute", "layer"], capture_output=True, text=True)
        assert done.returncode == 2 and "leave it out of one of them" in done.stderr, done.stderr

    def check_again(self):
        """The search finds the same twice."""
        assert self.auto(4, *SMALL) == self.auto(4, *SMALL)

    def check_ended(self):
        """After few compilations there is a plan, and what is said of it holds."""
        whole, few = self.auto(4, *CPU), self.auto(4, *CPU, "--most-compilations", "1")
        assert "--most-compilations" not in whole and re.search(r"as far as \d+ compilations of the model tell \(--most-compilations\)", few), few[:300]
        flags, gap = choice(few)
        expect_close("the chosen plan alone", predicted(self.plan(*flags, *CPU)), predicted(few), 1e-9)
        print(f"  {predicted(few) * 1e3:.3f} ms, at most {100 * gap:.1f} % too many; {predicted(whole) * 1e3:.3f} ms without a limit")
        assert gap > MOST_SLOWER and predicted(few) * (1 - gap) <= predicted(whole) * ROUNDING

    def check_trains(self, directory):
        """What --plan auto compiles trains as one rank does."""
        losses = {}
        for name, plan in {"one": [], "auto": ["--plan", "auto", "--ranks", "4", *SMALL]}.items():
            executable = compile_model(self.ppopt, self.path, os.path.join(directory, f"trains_{name}"), ["--optimizer", "sgd", *plan])
            losses[name] = run(executable, ["--data", __file__], "threads", steps=3).losses
        expect_close("losses", losses["auto"], losses["one"], 1e-5)


def main():
    harness = Harness("plans")
    with tempfile.TemporaryDirectory() as directory:
        def case(name, batch):
            return Case(harness, directory, name, batch)
        for name in MODELS:
            harness.case(f"{name}, 2 ranks", lambda name=name: case(name, 4).check_best(2, CPU, ["none", "cheap", "layer"]))
        for name, machine in [("gpt", CPU), ("skips", GPU), ("towers", CPU)]:
            harness.case(f"{name}, 4 ranks", lambda name=name, machine=machine: case(name, 4).check_best(4, machine, ["cheap"]))
        cluster = os.path.join(directory, "cluster.json")
        with open(cluster, "w") as file:
            json.dump(CLUSTER, file)
        harness.case("gpt, 4 ranks on two machines", lambda: case("gpt", 4).check_best(4, [*CPU, "--cluster", cluster], ["cheap"]))
        harness.case("what is given", lambda: case("gpt", 4).check_given())
        harness.case("memory", lambda: case("skips", 8).check_memory())
        harness.case("file", lambda: case("skips", 4).check_file(directory))
        harness.case("ended", lambda: case("gpt", 4).check_ended())
        harness.case("again", lambda: case("skips", 4).check_again())
        harness.case("trains", lambda: case("gpt", 4).check_trains(directory))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
