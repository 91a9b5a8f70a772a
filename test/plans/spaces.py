"""Spaces of plans: the flags that narrow them, and drawn ones."""
import json
import os
import random

from models import MODELS, draw
from predictor import AXES, RECOMPUTES, WAYS, divisors, every_plan

MOST_PLANS = 80  # of a drawn space


def cluster(sizes, rates, trees=False):
    """A cluster of levels, each of so many units of the one before, with a latency in ns and a rate in bytes per ns."""
    return {"version": 1, "name": "levels", **({"trees": True} if trees else {}),
            "levels": [{"name": f"level{level}", "size": size, **{use: {"latency": latency, "rate": rate} for use in ("transfer", "collective")}}
                       for level, (size, (latency, rate)) in enumerate(zip(sizes, rates))]}


def shard_of(text):
    """The flags with which tp cuts a model: none if it is annotated."""
    return [] if "shard = " in text else ["--shard", "auto"]


def flags_of(recomputes=RECOMPUTES, ways=WAYS, zeros=(0, 1, 2, 3), counts=None, kept=None):
    """The flags of --plan auto for a space that every_plan lists with these."""
    flags = []
    if len(recomputes) == 1:
        flags += ["--recompute", recomputes[0]]
    if len(ways) == 1:
        flags += ["--schedule", ways[0][0], *ways[0][1]]
    if len(zeros) == 1:
        flags += ["--zero", str(zeros[0])]
    if counts:
        flags += ["--microbatches", str(counts[0])]
    if kept:
        flags += ["--keep", ",".join(f"{axis}={size}" for axis, size in kept.items())]
    return flags


class Space:
    """A model, a machine, a number of ranks and what is given, with all plans."""

    def __init__(self, ppopt, directory, seed):
        self.random = random.Random(seed)
        kind, sizes = draw(self.random)
        batch = self.random.choice((2, 4, 6, 8, 12, 16))
        self.path = os.path.join(directory, f"drawn_{seed}.mlir")
        text = MODELS[kind](ppopt, batch, **sizes)
        with open(self.path, "w") as file:
            file.write(text)
        self.ranks = self.random.choice((2, 4, 8))
        self.machine = self._draw_machine(directory, seed)
        self.plans = []
        while not 1 < len(self.plans) <= MOST_PLANS:
            given = self._draw_given(batch)
            self.plans = list(every_plan(self.ranks, batch, shard_of(text), **given))
        if "--cluster" in self.machine:
            self.plans = list(every_plan(self.ranks, batch, shard_of(text), orders=AXES, **given))
        self.given = flags_of(**given)
        self.name = f"{kind} {sizes}, batch {batch}"

    def __str__(self):
        return f"{self.name}: --ranks {self.ranks} {' '.join([*self.machine, *self.given])}"

    def _draw_machine(self, directory, seed):
        choose = self.random.choice
        flags = choose((["--device", "builtin", "--threads", "1"], ["--target", "cuda", "--device", "h100"], ["--target", "cuda", "--device", "a100"]))
        if self.random.random() < 0.3:
            return flags
        levels = choose((1, 2, 3))
        path = os.path.join(directory, f"drawn_{seed}.json")
        with open(path, "w") as file:
            json.dump(cluster([choose((2, 3, 4)) for _ in range(levels - 1)] + [16],
                              [(10 ** self.random.uniform(1, 4), 10 ** self.random.uniform(-2, 3)) for _ in range(levels)],
                              trees=choose((True, False))), file)
        return [*flags, "--cluster", path]

    def _draw_given(self, batch):
        choose, may = self.random.choice, lambda share: self.random.random() < share
        given = {}
        if may(0.8):
            given["recomputes"] = [choose(RECOMPUTES)]
        if may(0.5):
            given["ways"] = [choose(WAYS)]
        if may(0.3):
            given["zeros"] = [choose((0, 1, 2, 3))]
        if may(0.3):
            given["counts"] = [choose(divisors(batch))]
        if may(0.3):
            given["kept"] = {choose(("pp", "dp", "fsdp", "tp")): choose(divisors(self.ranks))}
        return given

    def limit(self, memories):
        """A limit on memory that some of the plans exceed, or none: the flag's value."""
        if not memories or self.random.random() < 0.3:
            return "unlimited"
        return str(int(self.random.uniform(0.98 * min(memories), max(memories))))
