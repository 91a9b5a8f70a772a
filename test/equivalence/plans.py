"""The (model, plan) pairs that must all compute the same training.

A model is a file of models/ with a function that draws its inputs. Its program for the first plan, one rank and one
microbatch, is the reference; a new plan is a line of PLANS.
"""
import dataclasses

import numpy as np

BATCH, STEPS = 48, 3  # 48: divided by each dp times microbatches


@dataclasses.dataclass(frozen=True)
class Plan:
    dp: int = 1
    microbatches: int = 1
    launch: tuple = ("threads",)
    block_bytes: int = 0  # what is wider is computed in blocks of rows; 0: as the compiler has it
    recompute: str = "cheap"
    fsdp: int = 1
    zero: int = 0
    bucket_bytes: str = "25MiB"

    @property
    def name(self):
        again = "" if self.recompute == "cheap" else f"_{self.recompute}"
        rows = f"dp{self.dp}" + (f"_fsdp{self.fsdp}" if self.fsdp > 1 else "")
        blocks = f"_blocks{self.block_bytes}" if self.block_bytes else ""
        return f"{rows}_mb{self.microbatches}{blocks}{again}{sharding_name(self)}"

    @property
    def flags(self):
        blocks = ["--block-bytes", str(self.block_bytes)] if self.block_bytes else []
        axes = f"dp={self.dp}" + (f",fsdp={self.fsdp}" if self.fsdp > 1 else "")
        return ["--mesh", axes, "--microbatches", str(self.microbatches), "--recompute", self.recompute, *blocks,
                *sharding_flags(self)]


def sharding_name(plan):
    """What names end in: the stage of ZeRO, its gathers and the size of buckets, where they are not the default."""
    step = "_step" if getattr(plan, "gather", "task") == "step" else ""
    return (f"_zero{plan.zero}{step}" if plan.zero else "") + (f"_buckets{plan.bucket_bytes}" if plan.bucket_bytes != "25MiB" else "")


def sharding_flags(plan):
    step = ["--gather", "step"] if getattr(plan, "gather", "task") == "step" else []
    return ["--zero", str(plan.zero), *step, "--bucket-bytes", plan.bucket_bytes]


THREADS, BOTH = ("threads",), ("threads", "mpirun")

# With buckets of 200 bytes each model has several, and parameters that are smaller than a chunk.
SHARDED, SMALL = {"zero": 1}, {"bucket_bytes": "200"}

#             dp  microbatches  launched as, computes again
PLANS = [Plan(1, 1, THREADS),
         Plan(1, 2, THREADS),
         Plan(1, 4, THREADS, **SMALL),
         Plan(2, 1, BOTH, **SHARDED),
         Plan(2, 2, BOTH),
         Plan(2, 4, BOTH, **SHARDED, **SMALL),
         Plan(3, 1, BOTH),
         Plan(3, 2, BOTH, **SHARDED, **SMALL),
         Plan(3, 4, BOTH, zero=2, **SMALL),
         Plan(4, 1, BOTH, **SMALL),
         Plan(4, 2, BOTH, zero=3),
         Plan(4, 4, BOTH, **SHARDED, **SMALL),
         Plan(1, 1, THREADS, 12000),
         Plan(1, 2, THREADS, 300),
         Plan(2, 2, THREADS, 3000, **SHARDED),
         Plan(2, 2, THREADS, 300, zero=3, **SMALL),
         Plan(1, 1, THREADS, recompute="none"),
         Plan(1, 1, THREADS, recompute="layer"),
         Plan(2, 2, BOTH, recompute="layer", **SHARDED),
         Plan(1, 2, BOTH, fsdp=2, **SHARDED),
         Plan(2, 2, BOTH, fsdp=2, zero=3, **SMALL),
         Plan(2, 1, THREADS, fsdp=3, **SHARDED, **SMALL)]


def lm_inputs(random):
    """The first 12 rows of a batch have no counted target (4 of the 16 parts under dp 4, 4 microbatches), the others more
    and more of them."""
    window = random.integers(0, 7, (STEPS * BATCH, 6), dtype=np.int32)
    targets = window[:, 1:].copy()
    row = np.arange(STEPS * BATCH) % BATCH
    targets[random.random(targets.shape) > np.maximum(row - 11, 0)[:, None] / BATCH] = -1
    return {"tokens": window[:, :-1].copy(), "targets": targets}


def losses_inputs(random):
    samples = STEPS * BATCH
    first = random.integers(0, 5, (samples, 2), dtype=np.int32)
    first[random.random(first.shape) < (np.arange(samples) % BATCH)[:, None] / BATCH] = -1
    second = random.integers(0, 5, samples, dtype=np.int32)
    second[np.arange(samples) % BATCH < 20] = 2
    return {"x": random.standard_normal((samples, 6)), "y": random.standard_normal((samples, 3)),
            "first": first, "second": second}


def skip_inputs(random):
    return {n: random.standard_normal((STEPS * BATCH, 5)) for n in "xy"}


#        model     its inputs     parameters that stay as they are
MODELS = [("lm", lm_inputs, set()),
          ("losses", losses_inputs, set()),
          ("skip", skip_inputs, {"fixed", "cut"})]

# What each program runs: (name, compiler's flags, executable's flags, whether parameters, or their averages, are compared). Adam turns the
# rounding noise of a gradient that is zero by symmetry into a full step: its losses are compared only.
RUNS = [("sgd", ["--optimizer", "sgd"], ["--lr", "0.1"], True),
        ("sgd clipped", ["--optimizer", "sgd"], ["--lr", "0.5", "--clip", "0.05"], True),
        ("sgd momentum", ["--optimizer", "sgd"], ["--lr", "0.1", "--momentum", "0.9", "--weight-decay", "0.1"], True),
        ("sgd nesterov", ["--optimizer", "sgd", "--nesterov"], ["--lr", "0.1", "--momentum", "0.9"], True),
        ("adamw clipped", ["--optimizer", "adamw"], ["--lr", "0.01", "--clip", "0.1", "--weight-decay", "0.1"], False),
        ("sgd averaged", ["--optimizer", "sgd", "--ema"], ["--lr", "0.1", "--momentum", "0.9", "--ema", "0.6"], True)]

# Which runs a plan gets: all of them where the plan is in this set, the first two elsewhere.
FULL = {"dp1_mb1", "dp2_mb2", "dp3_mb1", "dp4_mb4_zero1_buckets200"}

# Mutations (support/mutations.py), each with a model, a plan and a run that must see it. (The mean of means needs a plan
# without a part that counts no target, or it is not a number.)
MUTATED = [("local-clip-norm", "losses", Plan(2, 2), "sgd clipped"),
           ("drop-tied-sum", "lm", Plan(2, 1), "sgd"),
           ("scale-twice", "skip", Plan(2, 2), "sgd"),
           ("mean-of-means", "lm", Plan(2, 1), "sgd"),
           ("gradient-not-summed", "skip", Plan(2, 1), "sgd"),
           ("other-parameter", "skip", Plan(2, 1), "sgd"),
           ("other-bucket", "losses", Plan(2, 1), "sgd"),
           ("drop-block", "lm", Plan(1, 1, THREADS, 12000), "sgd"),
           ("gradient-not-summed", "skip", Plan(2, 1, **SHARDED), "sgd"),
           ("norm-over-replicas", "losses", Plan(2, 1, fsdp=2, **SHARDED), "sgd clipped"),
           ("sum-before-last-addition", "skip", Plan(2, 2, **SHARDED), "sgd"),
           ("sum-before-last-addition", "lm", Plan(2, 2, fsdp=2, **SHARDED, **SMALL), "sgd"),
           ("gather-left-out", "lm", Plan(2, 1, **SHARDED, **SMALL), "sgd momentum")]

# What may go well as threads: the fake device must see that it is a race (check_fake.py).
RACES = [("norm-before-wait", "skip", Plan(2, 1, **SHARDED), "sgd clipped"),
         ("norm-before-wait", "losses", Plan(2, 1, fsdp=2, **SHARDED), "sgd clipped"),
         ("read-before-gather", "lm", Plan(2, 1, **SHARDED, **SMALL), "sgd"),
         ("read-before-finish", "lm", Plan(2, 1, zero=3, **SMALL), "sgd")]

# What may go well where a device's memory is sent in place, and not where a start copies it, as on the fake device (check_fake.py).
STALE = [("gather-before-update", "lm", Plan(2, 1, zero=2, **SMALL), "sgd")]
