"""The options of plans that tests draw, and random plans made of them.

Each option's values are here alone: stage_plans.py covers pairs of them, check_random.py and models/pairs.py draw one of each (draw_plan).
"""
import dataclasses
import math

import numpy as np

SCHEDULES = ["naive", "gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "dualpipe-v", "auto"]
PLACING = {"interleaved", "zb-v", "dualpipe-v"}  # they say themselves where stages live
RECOMPUTE = ["none", "cheap", "layer"]
TIED = ["sum", "owner"]
ZERO = [0, 1, 2, 3]
SUMS_IN_TASKS = {2, 3}  # the stages whose tasks have collectives
GATHER = ["task", "step"]
PREFETCH = ["bucket", "none"]
GRAD_DTYPE = ["f32", "bf16"]
SYNC = ["async", "stale=1", "stale=2", "stale=4"]
BUCKET_BYTES = ["1", "64", "200", "300", "1000", "4KiB", "25MiB"]
MOST_MICROBATCHES = 8

# What only says where parameters, gradients and states are: without these flags a plan is that of stage 0.
SHARDING = ("--zero", "--gather", "--prefetch", "--grad-dtype")


@dataclasses.dataclass
class DrawnPlan:
    axes: dict      # name: ranks, in the order of --mesh
    flags: list     # the compiler's
    is_marked: bool  # whether the model's ops are to be marked with places

    @property
    def places(self):
        return self.axes.get("pp", 1)

    @property
    def ranks(self):
        return ranks_of(self.flags)


def ranks_of(flags):
    """How many processes or threads run what the compiler makes with these flags."""
    if "local" in flags or "--mesh" not in flags:
        return 1
    return math.prod(int(axis.split("=")[1]) for axis in flags[flags.index("--mesh") + 1].split(","))


class Marks:
    """Random places for ops: for some alone, for some in runs as long as `stay` makes them."""

    def __init__(self, seed, places, share, stay):
        self.random, self.places, self.share, self.stay = np.random.default_rng(seed), places, share, stay
        self.place = 0

    def __call__(self):
        if self.random.random() >= self.stay:
            self.place = int(self.random.integers(self.places))
        return self.place if self.random.random() < self.share else None


def draw_marks(random, plan):
    """Of a DrawnPlan; if it says that there are none, they are drawn all the same."""
    marks = Marks(random, plan.places, random.choice([0.3, 0.8, 1.0]), random.choice([0.0, 0.6, 0.9]))
    return marks if plan.is_marked else lambda: None


def divisors(n, most):
    return [d for d in range(1, most + 1) if n % d == 0]


def pick(random, items):
    return items[int(random.integers(len(items)))]


def draw_axes(random, batch, most_ranks):
    """Up to four ranks on each of dp, fsdp and pp; the batch divides by those that split it."""
    kind = pick(random, ["none", "dp", "dp", "fsdp", "fsdp", "both", "both"])
    dp = pick(random, divisors(batch, min(4, most_ranks))) if kind in ("dp", "both") else 1
    fsdp = pick(random, divisors(batch // dp, min(4, most_ranks // dp))) if kind in ("fsdp", "both") else 1
    places = min(pick(random, [1, 1, 2, 2, 3, 4]), most_ranks // (dp * fsdp))
    axes = [(name, size) for name, size in (("dp", dp), ("fsdp", fsdp), ("pp", places)) if size > 1]
    random.shuffle(axes)  # ranks are numbered by its order
    return dict(axes)


def draw_sharding(random, stages, grad_dtypes):
    """Where parameters, gradients and states are."""
    zero = pick(random, stages)
    flags = ["--zero", str(zero)] if zero else []
    if zero == 3 and random.random() < 0.3:
        flags += ["--gather", pick(random, GATHER)]
    if zero == 3 and random.random() < 0.4:
        flags += ["--prefetch", pick(random, PREFETCH)]
    if zero in SUMS_IN_TASKS and random.random() < 0.2:
        flags += ["--grad-dtype", pick(random, grad_dtypes)]
    if random.random() < (0.7 if zero else 0.3):
        flags += ["--bucket-bytes", pick(random, BUCKET_BYTES)]
    return flags


def draw_plan(random, batch, most_ranks, marks=0.6, stages=(0, 0, 1, 2, 2, 3, 3, 3), grad_dtypes=GRAD_DTYPE, most_microbatches=MOST_MICROBATCHES):
    """A plan for a model of this batch. `marks`: how often a model on several places is to be marked. `stages`: of --zero."""
    axes = draw_axes(random, batch, most_ranks)
    parts, places = axes.get("dp", 1) * axes.get("fsdp", 1), axes.get("pp", 1)
    microbatches = pick(random, divisors(batch // parts, most_microbatches)) if random.random() < 0.6 else 1
    is_marked = places > 1 and bool(random.random() < marks)
    is_local = parts == 1 and bool(random.random() < 0.12)
    flags = ["--mesh", ",".join(f"{name}={size}" for name, size in axes.items())] if axes else []
    sharding = draw_sharding(random, stages, grad_dtypes)
    if is_local:
        flags += ["--launch", "local"]
        # Tasks of one process gather nothing.
        if sharding[:1] == ["--zero"] and int(sharding[1]) in SUMS_IN_TASKS:
            sharding = []
    elif places > 1:
        schedule = pick(random, [s for s in SCHEDULES if not (is_marked and s in PLACING)])
        if schedule == "naive":
            microbatches = 1
        if schedule == "dualpipe-v" and microbatches == 1 and batch // parts % 2 == 0 and most_microbatches > 1:
            microbatches = 2
        flags += ["--schedule", schedule]
        if schedule == "interleaved" and random.random() < 0.5:
            flags += ["--chunks", pick(random, ["2", "3"])]
    if microbatches > 1:
        flags += ["--microbatches", str(microbatches)]
    if random.random() < 0.6:
        flags += ["--recompute", pick(random, RECOMPUTE)]
    if places > 1 and random.random() < 0.3:
        flags += ["--tied", pick(random, TIED)]
    return DrawnPlan(axes, [*flags, *sharding], is_marked)


def draw_asynchronous_plan(random, batch, most_ranks):
    """A plan whose data-parallel ranks do not wait for each other."""
    while True:
        plan = draw_plan(random, batch, most_ranks, stages=[0])
        if "fsdp" not in plan.axes and "local" not in plan.flags:
            return dataclasses.replace(plan, flags=[*plan.flags, "--sync", pick(random, SYNC)])


def without(flags, names):
    """The flags but for those of these names, each of which has a value."""
    return [flag for i, flag in enumerate(flags) if flag not in names and (i == 0 or flags[i - 1] not in names)]


def without_sharding(flags):
    """The flags of the plan of stage 0 that has the same mesh, buckets and order."""
    return without(flags, SHARDING)
