"""What the models are cut into places with: the factors, what goes with what, and the sample that is always run.

A model with marks is written for four places; on p places its mark i means i * p / 4.
"""
import dataclasses
import itertools
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from support.random_plans import GATHER, PLACING, RECOMPUTE, SCHEDULES, SUMS_IN_TASKS, TIED, ZERO  # noqa: E402

from pairwise import cover
from plans import lm_inputs, losses_inputs, sharding_flags, sharding_name, skip_inputs

#          model        its inputs    parameters that stay as they are
MODELS = {"lm":        (lm_inputs, set()),
          "losses":    (losses_inputs, set()),
          "skip":      (skip_inputs, {"fixed", "cut"}),
          "gpt":       (lm_inputs, set()),
          "tied":      (lm_inputs, set()),
          "feeds":     (skip_inputs, set()),
          "towers":    (skip_inputs, set()),
          "vee":       (skip_inputs, set()),
          "frozen":    (lm_inputs, {"wte", "front"}),
          "detached":  (skip_inputs, {"a", "b"}),
          "penalties": (skip_inputs, set()),
          "spread":    (losses_inputs, set())}
MARKED = {"tied", "feeds", "towers", "vee", "frozen", "detached", "penalties", "spread"}

FACTORS = {
    "model": list(MODELS),
    "schedule": [*SCHEDULES[:-1], "file", *SCHEDULES[-1:]],
    "places": [2, 3, 4],
    "microbatches": [1, 2, 3, 8],
    "dp": [1, 2],
    "tied": TIED,
    "launch": ["local", "threads", "mpirun", "mpirun with synchronous sends"],
    "run": ["sgd averaged", "sgd clipped", "sgd momentum", "adamw clipped"],
    "poison": [False, True],
    "recompute": RECOMPUTE,
    "bucket_bytes": ["25MiB", "200"],
    "fsdp": [1, 2],
    "zero": ZERO,
    "gather": GATHER,
}
# Threads start fast, processes do not.
MOST_RANKS = {"local": 4, "threads": 8, "mpirun": 6, "mpirun with synchronous sends": 6}


def allowed(row):
    """Whether the values given so far go together."""
    schedule, microbatches = row.get("schedule"), row.get("microbatches")
    if schedule == "naive" and microbatches not in (None, 1):
        return False
    if schedule in PLACING and row.get("model") in MARKED:
        return False
    # One process in program order: no schedule and no other ranks.
    if row.get("launch") == "local" and (schedule not in (None, "1f1b") or row.get("dp") == 2 or row.get("fsdp") == 2):
        return False
    # Tasks of one process gather nothing, and owners of a parameter that others use would have to gather its gradients.
    if row.get("gather") == "step" and row.get("zero", 3) != 3:
        return False
    if (row.get("zero") in SUMS_IN_TASKS or row.get("gather") == "step") and (row.get("launch") == "local" or row.get("tied") == "owner"):
        return False
    return row.get("places", 1) * row.get("dp", 1) * row.get("fsdp", 1) <= MOST_RANKS[row.get("launch", "threads")]


@dataclasses.dataclass(frozen=True)
class StagePlan:
    places: int = 2
    microbatches: int = 2
    dp: int = 1
    schedule: str = "1f1b"
    local: bool = False
    tied: str = "sum"
    recompute: str = "cheap"
    bucket_bytes: str = "25MiB"
    fsdp: int = 1
    zero: int = 0
    gather: str = "task"

    @property
    def name(self):
        order = "local" if self.local else self.schedule
        owner = "_owner" if self.tied == "owner" else ""
        again = "" if self.recompute == "cheap" else f"_{self.recompute}"
        rows = f"dp{self.dp}" + (f"_fsdp{self.fsdp}" if self.fsdp > 1 else "")
        return f"{rows}_pp{self.places}_mb{self.microbatches}_{order}{owner}{again}{sharding_name(self)}"

    @property
    def flags(self):
        """All but the schedule of a file, which depends on the model's stages."""
        rows = f"dp={self.dp}" + (f",fsdp={self.fsdp}" if self.fsdp > 1 else "")
        flags = ["--mesh", f"{rows},pp={self.places}", "--microbatches", str(self.microbatches), "--tied", self.tied,
                 "--recompute", self.recompute, *sharding_flags(self)]
        if self.local:
            return [*flags, "--launch", "local"]
        if self.schedule == "file":
            return flags
        return [*flags, "--schedule", self.schedule]

    def adapt(self, text):
        """The model with its marks for these places."""
        return re.sub(r"pp\.on (\d)", lambda mark: f"pp.on {int(mark[1]) * self.places // 4}", text)


def plan_of(row):
    return StagePlan(row["places"], row["microbatches"], row["dp"], row["schedule"], row["launch"] == "local", row["tied"],
                     row["recompute"], row["bucket_bytes"], row["fsdp"], row["zero"], row["gather"])


def product():
    """Every combination that goes together, some hours' work."""
    rows = (dict(zip(FACTORS, values)) for values in itertools.product(*FACTORS.values()))
    return [row for row in rows if allowed(row)]


def sample():
    """Every pair of values, and every schedule with every number of places and microbatches."""
    names = ["schedule", "places", "microbatches"]
    shapes = (dict(zip(names, values)) for values in itertools.product(*(FACTORS[name] for name in names)))
    return cover(FACTORS, allowed, [shape for shape in shapes if allowed(shape)])


def write_schedule(stages, microbatches):
    """A schedule by hand, for any stages, as text: the forward of a microbatch, the input part of the one before, the weight
    part of the one before that, as stages can run them one after another. `stages`: (place, whether it has a backward),
    in topological order. It has idle cells, cells of communication, and an overlap group, all of which mean nothing."""
    places = 1 + max(place for place, _ in stages)
    rows = [[] for _ in range(places)]
    for step in range(microbatches + 2):
        for work, late, order in [("F", 0, 1), ("I", 1, -1), ("W", 2, -1)]:
            microbatch = step - late
            if not 0 <= microbatch < microbatches:
                continue
            for stage, (place, learns) in list(enumerate(stages))[::order]:
                if work == "F" or learns:
                    rows[place].append(f"{stage}{work}{microbatch}")
        for place, row in enumerate(rows):
            row.append(["", "0SEND_F0"][place % 2])
    rows[0][:1] = [f"({rows[0][0]})OVERLAP_F_B"]
    return "".join(",".join(row) + "\n" for row in rows)
