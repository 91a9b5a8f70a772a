"""Pairs of a description and a plan: what a pair says, and random ones."""
import dataclasses
import math
import pathlib
import re
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.random_plans import draw_asynchronous_plan, draw_plan, pick  # noqa: E402

from batch_size import Unresizable, with_batch  # noqa: E402
from description import FLOATS, make_inputs, results_of  # noqa: E402
from groups import draw_flags  # noqa: E402

MOST_RANKS, MOST_PROCESSES = 12, 6


@dataclasses.dataclass
class Pair:
    """A plan for a description. `run` says the optimizer; `marks`, where ops are marked, (seed, places, share, stay).

    bad: the program must refuse an input that is changed at (name, index in the first step, to value)
    resume: another plan goes on from a checkpoint: its compile_flags, ranks and marks, after `step`, and the flags that it is saved with
    not_finite: the program must skip the steps that stage 0 skips where an input is changed at (name, index in all steps, to "nan" or "inf")
    fake_seed: it runs on the fake device, in an order drawn with this seed; 0: on the CPU
    cuda: the flags with which it is compiled for GPUs too; none: it is not
    """
    compile_flags: list
    run_flags: list
    run: dict
    launch: str = "threads"
    ranks: int = 1
    marks: tuple = ()
    bad: tuple = ()
    resume: dict = dataclasses.field(default_factory=dict)
    not_finite: tuple = ()
    fake_seed: int = 0
    cuda: list = dataclasses.field(default_factory=list)

    @property
    def trainers(self):
        """How many train at their own pace."""
        axes = self.compile_flags[self.compile_flags.index("--mesh") + 1] if "--mesh" in self.compile_flags else ""
        dp = re.search(r"\bdp=(\d+)", axes)
        return int(dp.group(1)) if dp and "--sync" in self.compile_flags else 1

    def to_json(self):
        return dataclasses.asdict(self)


def pair_of(values, **others):
    """A pair from what JSON keeps of it."""
    tuples = {key: tuple(values[key]) for key in ("marks", "bad", "not_finite") if key in values}
    return Pair(**{**values, **tuples, **others})


# --- drawing -----------------------------------------------------------------


def draw_run(random, description):
    """What trains: the optimizer and its numbers; the rows of an evaluation, or 0."""
    run = {"optimizer": "sgd", "lr": 0.05, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0, "clip": 0.0, "eps": 1e-3,
           "evaluate": draw_evaluation(random, description) if random.random() < 0.4 else 0}
    kind = random.random()
    if kind < 0.12:
        run.update(momentum=0.9, nesterov=bool(random.random() < 0.5))
    elif kind < 0.2:
        run.update(optimizer="adamw", lr=0.01, weight_decay=0.1)
    elif kind < 0.25:
        run.update(optimizer="adam", lr=0.01)
    if random.random() < 0.25:
        run["clip"] = float(random.choice([1e-2, 0.5]))
    if random.random() < 0.3:
        run["weight_decay"] = 0.1
    if random.random() < 0.15:
        run["ema"] = float(random.choice([0.5, 0.9]))
    if results_of(description, "output"):
        run["predict"] = draw_evaluation(random, description)
    return run


def draw_evaluation(random, description):
    """A number of rows, often with a part of a batch at the end."""
    batch = description["batch"]
    if "mixes" in description:
        return batch
    least = 1 if evaluates_rows(description) else batch
    return max(least, int(pick(random, [1, batch - 1, batch, batch + 1, 2 * batch, int(random.integers(1, 2.7 * batch + 1))])))


def evaluates_rows(description):
    """Whether an evaluation is one batch of all its rows; else it is the mean of whole batches."""
    try:
        with_batch(description, 2 * description["batch"])
    except Unresizable:
        return False
    return True


def flags_of_run(run):
    compile_flags = ["--optimizer", run["optimizer"]]
    run_flags = ["--lr", repr(run["lr"]), "--weight-decay", repr(run["weight_decay"])]
    if run["optimizer"] == "sgd":
        run_flags += ["--momentum", repr(run["momentum"])]
        if run["nesterov"]:
            compile_flags.append("--nesterov")
    else:
        run_flags += ["--eps", repr(run["eps"])]
    if run["clip"]:
        run_flags += ["--clip", repr(run["clip"])]
    if "ema" in run:
        compile_flags.append("--ema")
        run_flags += ["--ema", repr(run["ema"])]
    return compile_flags, run_flags


def first_pair(run):
    """One rank, with the flags' defaults."""
    compile_flags, run_flags = flags_of_run(run)
    return Pair([*compile_flags, "--threads", "1"], [*run_flags, "--check-counters"], run)


def draw_marks(random, places):
    return int(random.integers(2**31)), places, float(pick(random, [0.2, 0.6, 1.0])), float(pick(random, [0.0, 0.6, 0.9]))


def draw_cuda(random, description, run):
    """How a pair is compiled for GPUs."""
    flags = ["--target", "cuda", "--no-generation"]
    if random.random() < 0.3:
        flags += ["--matmul", "generated"]
    if random.random() < 0.2:
        flags += ["--math", "accurate"]
    if description["float"] == "f32" and random.random() < 0.4 and not run.get("precision"):  # which all runs of the pair have
        flags += ["--precision", "bf16"]
    return flags


def draw_pair(random, description, run, thresholds=(), allows_mpi=False, asynchronous=0, for_cuda=False, **choices):
    """`asynchronous`: how often trainers do not wait for each other. `choices`: those of draw_plan."""
    compile_flags, run_flags = flags_of_run(run)
    if "ema" not in run and asynchronous and random.random() < asynchronous and "mixes" not in description:
        plan = draw_asynchronous_plan(random, description["batch"], MOST_RANKS)
    else:
        plan = draw_plan(random, description["batch"], MOST_RANKS, **most_microbatches(description), **choices)
    is_asynchronous = "--sync" in plan.flags
    marks = draw_marks(random, plan.places) if plan.is_marked else ()
    said = draw_flags(random, description)
    compile_flags += plan.flags + said
    if random.random() < 0.4:
        compile_flags += ["--block-bytes", pick(random, ["64", "128", "256", "512", "1024", "4096", "unlimited"])]
    compile_flags += ["--threads", pick(random, ["1", "1", "1", "2", "3"])]
    if random.random() < 0.1:
        compile_flags += ["--cpu", pick(random, ["x86-64-v2", "x86-64-v3", "haswell"])]
    if run.get("precision"):
        compile_flags += ["--precision", run["precision"]]
    small = [f"{name}={draw_threshold(random, least, default)}" for name, least, default in thresholds if random.random() < 0.3]
    if small and random.random() < 0.7:
        compile_flags += ["--threshold", ",".join(small)]
    if random.random() < 0.5:
        run_flags.append("--poison")
    if random.random() < 0.7:
        run_flags.append("--check-counters")
    if random.random() < 0.2 and not is_asynchronous:
        run_flags += ["--check-replicas", "1"]
    launch = "mpirun" if allows_mpi and 1 < plan.ranks <= MOST_PROCESSES and random.random() < 0.05 else "threads"
    if run["evaluate"] and random.random() < 0.5:
        run_flags += ["--eval-every", "1"]
    if results_of(description, "metric") and random.random() < 0.5 and not is_asynchronous:
        run_flags += ["--metrics-every", "1"]
    resume = draw_resume(random, description, run, said) if description["steps"] > 1 and random.random() < 0.25 else {}
    not_finite = draw_not_finite(random, description) if random.random() < 0.15 else ()
    # Trainers that serve each other use the CPU's memory.
    on_fake = launch == "threads" and not is_asynchronous and random.random() < 0.15
    fake_seed = int(random.integers(1, 2**31)) if on_fake else 0
    cuda = draw_cuda(random, description, run) if for_cuda and not is_asynchronous else []
    return Pair(compile_flags, run_flags, run, launch, plan.ranks, marks, (), resume, not_finite, fake_seed, cuda)


def most_microbatches(description):
    return {"most_microbatches": 1} if "mixes" in description else {}


def draw_resume(random, description, run, said):
    """Another plan that goes on after one of the steps; flags say the same of parameters, so that it is the same model."""
    compile_flags, _ = flags_of_run(run)
    plan = draw_plan(random, description["batch"], MOST_RANKS, grad_dtypes=["f32"], **most_microbatches(description))
    precision = ["--precision", run["precision"]] if run.get("precision") else []
    return {"compile_flags": [*compile_flags, *plan.flags, *said, *precision, "--threads", "1"], "ranks": plan.ranks,
            "marks": draw_marks(random, plan.places) if plan.is_marked else (), "step": int(random.integers(1, description["steps"])),
            "save": pick(random, [[], [], ["--checkpoint-memory", "0"], ["--checkpoint-memory", "100B"]])}


def draw_not_finite(random, description):
    """A change of one element of a float input: Pair.not_finite; () where there is none."""
    names = [e["name"] for e in description["inputs"] if e["type"][0] in FLOATS]
    if not names:
        return ()
    name = pick(random, names)
    elements = np.prod(next(e["type"][1] for e in description["inputs"] if e["name"] == name)) * description["steps"]
    return name, int(random.integers(elements)), pick(random, ["nan", "inf"])


def draw_threshold(random, least, default):
    """From the least value to the default, small ones more often."""
    if default <= least:
        return int(least + random.choice([0, 1, 2, 4]))
    return int(round(least + (default - least) * random.random() ** 6))


def read_thresholds(path):
    """[(name, least, default)] of the compiler's table; none where there is no such file."""
    try:
        text = pathlib.Path(path).read_text()
    except OSError:
        return []
    rows = re.findall(r'PP_THRESHOLD\(\w+,\s*"([\w-]+)",\s*([\d* ]+),\s*(\d+),', text)
    return [(name, int(least), math.prod(int(f) for f in default.split("*"))) for name, default, least in rows]


def draw_bad(random, description):
    """A change of one integer of the first step to what may be out of range: Pair.bad; () where there are no integers."""
    entries = [e for e in description["inputs"] if e["draw"]["kind"] == "ids"]
    if not entries:
        return ()
    entry = entries[int(random.integers(len(entries)))]
    high = entry["draw"]["high"]
    choices = [high, high + 1, high + 10, 100000, -1, -2, -1000, 2**29 if entry["type"][0] == "i32" else 2**61]
    return entry["name"], int(random.integers(np.prod(entry["type"][1]))), int(choices[int(random.integers(len(choices)))])


def bad_inputs(description, bad):
    inputs = make_inputs(description, description["steps"] * description["batch"])
    name, index, value = bad
    inputs[name].reshape(-1)[index] = value
    return inputs


def inputs_not_finite(description, not_finite):
    inputs = make_inputs(description, description["steps"] * description["batch"])
    name, index, value = not_finite
    inputs[name].reshape(-1)[index] = float(value)
    return inputs
