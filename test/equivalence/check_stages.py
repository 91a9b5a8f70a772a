#!/usr/bin/env python3
"""Holds models that are cut into places against their one-rank programs: losses, gradients, parameters, f64 within 1e-12.

stage_plans.py has the factors (model, schedule, places, microbatches, dp, how tied parameters live, how it is launched,
optimizer, poisoned memory, what is computed again, fsdp, the stage of ZeRO). What runs is a sample that covers every pair of values; `--all` runs the whole product. In every
run the bytes that each rank sends are the plan's. Further: same bits however a plan is launched, mutations, and what boundaries must not send.
By hand: check_stages.py --filter 'vee.*zb-h1', --keep DIR.
"""
import argparse
import functools
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.executable import checked  # noqa: E402
from support import mutations  # noqa: E402
from support.results import Harness  # noqa: E402

import check_zero  # noqa: E402
import plans  # noqa: E402
import stage_plans  # noqa: E402
from plans import PLANS, RUNS  # noqa: E402
from programs import Programs, check_unchanged, compare, expect_same_bits, mutation_cases  # noqa: E402
from stage_plans import StagePlan  # noqa: E402


class StagePrograms(Programs):
    def stages(self, model, plan):
        """(place, whether it has a backward) of each stage."""
        text = checked([self.ppopt, "compile", self.model_file(model, plan), *plan.flags, "--stop-after=train"]).stdout
        found = re.findall(r"pp\.place (\d+) stage (\d+)( backward| evaluation)?", text)
        learns = {int(stage) for _, stage, part in found if part == " backward"}
        return [(int(place), int(stage) in learns) for place, stage, part in found if not part]

    def plan_flags(self, model, plan):
        if getattr(plan, "schedule", "") != "file" or plan.local:
            return plan.flags
        path = os.path.join(self.directory, f"{model}_{plan.name}.csv")
        with open(path, "w") as file:
            file.write(stage_plans.write_schedule(self.stages(model, plan), plan.microbatches))
        return [*plan.flags, "--schedule", path]


def check_row(programs, row):
    plan, run_name, launch = stage_plans.plan_of(row), row["run"], row["launch"]
    flags = (["--poison"] if row["poison"] else []) + (["--check-replicas", "1"] if launch != "local" else [])
    result = programs.result(row["model"], plan, run_name, "threads" if launch == "local" else launch, flags=flags)
    parameters = next(r[3] for r in RUNS if r[0] == run_name)
    compare(result, programs.reference(row["model"], run_name), parameters)


def check_bits(programs, model, plan):
    """Threads, threads again and mpirun log the same hexadecimal losses and export the same bytes."""
    threads, again, mpi, poisoned = (
        programs.result(model, plan, "sgd momentum", launch, init=False, flags=flags, name=name)
        for launch, flags, name in [("threads", [], "first"), ("threads", [], "again"), ("mpirun", [], ""),
                                    ("threads", ["--poison"], "")])
    expect_same_bits(threads, again, "two runs")
    expect_same_bits(threads, mpi, "threads and mpirun")
    expect_same_bits(threads, poisoned, "runs with and without --poison")


def check_own_init(programs, model, plan):
    """Initial values and dropout depend on the seed, not on the plan."""
    one = programs.result(model, PLANS[0], "sgd", init=False)
    compare(programs.result(model, plan, "sgd", init=False), one, True)


def check_nothing_back(programs, plan):
    """A frozen front and token ids: nothing is sent back to place 0, by the program and by what it counts."""
    executable = programs.executable("frozen", plan, ["--optimizer", "sgd"])
    transfers = executable.program["transfers"]
    forward = [t for t in transfers if t["gradient_of"] is None and t["from"] == 0]
    assert forward, "place 0 sends nothing"
    for transfer in transfers:
        assert transfer["to"] != 0, f"{transfer['name']} goes back to the frozen front"
    assert not any(t["requires_grad"] for t in forward), "a frozen value requires a gradient"
    # The log counts what rank 0 sends: these, and its share of the sums of the loss, the count and the norm, of which each place has an entry.
    wanted = sum(t["bytes"] for t in forward) * plan.microbatches
    sent = programs.result("frozen", plan, "sgd").records[0]["bytes_sent"]
    assert 0 <= sent - wanted <= 8 * (2 * 2 + 2 * (plan.places - 1)), f"place 0 sends {sent} bytes, {wanted} by transfers"


def check_detach(programs):
    """With the boundary detached, the earlier stages have no backward, and each parameter that never learns is named."""
    plan = StagePlan(4, 2)
    assert [learns for _, learns in programs.stages("detached", plan)] == [False, False, True, True]
    executable = programs.executable("detached", plan, ["--optimizer", "sgd"])
    assert all(t["from"] > 1 and t["to"] > 1 for t in executable.program["transfers"] if t["gradient_of"] is not None)
    command = [programs.ppopt, "compile", programs.model_file("detached", plan), *plan.flags, "-o", executable.path + ".w"]
    warnings = checked(command).stderr
    for name in "ab":
        assert f"warning: '{name}' never learns: every path from the loss to it passes a detach" in warnings, warnings
    assert "'c' never learns" not in warnings and "'d' never learns" not in warnings, warnings
    try:
        checked([*command, "--werror"])
    except AssertionError as failed:
        assert "error: 2 warnings, which --werror makes errors" in str(failed), failed
        return
    raise AssertionError("--werror compiles a model with a warning")


def check_learns(programs):
    """Without the detach, the same boundary requires a gradient, and the earlier stages learn."""
    plan = StagePlan(4, 2)
    assert all(learns for _, learns in programs.stages("feeds", plan))
    transfers = programs.executable("feeds", plan, ["--optimizer", "sgd"]).program["transfers"]
    backward = [t["gradient_of"] for t in transfers if t["gradient_of"] is not None]
    assert sorted(backward) == [i for i, t in enumerate(transfers) if t["requires_grad"]], transfers
    # The gradient of a loss that another place adds is constant: nothing is sent for that.
    activations = [t for t in transfers if t["gradient_of"] is None and t["bytes"] > 8]
    assert len(activations) == 4 and all(t["requires_grad"] for t in activations), transfers


def check_mutations(programs):
    """Each mutation of ppopt-mutate says who must see it, and some harness has it."""
    names = set(checked([mutations.tool_of(programs.ppopt), "--mutations"]).stdout.split())
    assert names == set(mutations.VERIFIER), names ^ set(mutations.VERIFIER)
    missing = names - {row[0] for row in [*MUTATED, *plans.MUTATED, *plans.RACES, *plans.STALE]}
    missing -= {"mask-left-out", "share-left-out"}  # check_evaluation.py
    missing -= {"bias-in-each-part", "partial-gradient-scaled", "norm-counts-copies", "nested-cut-transposed", "look-up-at-zero",
                "look-up-not-masked", "scatter-at-zero", "sent-part-at-zero", "received-not-gathered"}  # check_tensor_parallel.py
    missing -= {row[0] for row in [*check_zero.MUTATED, *check_zero.POISONED]} | set(check_zero.ENDED)
    missing -= {"outputs-exchanged", "rows-rotated", "output-not-gathered"}  # check_predictions.py
    missing -= {"statistics-of-one-rank", "rows-not-scattered", "share-not-divided", "ranks-outermost"}  # check_rows.py
    missing -= {"commit-ignores-hold", "evaluation-reads-proposal", "open-left-out", "other-mode"}  # check_states.py
    # which check_generation.py, faults/check_held_updates.py and check_zero.py have.
    missing -= {"position-off-by-one", "tile-at-zero", "update-ignores-hold", "gather-not-on-place"}
    assert not missing, missing


MUTATED = [("drop-boundary-gradient", "feeds", StagePlan(4, 3), "sgd"),
           ("drop-boundary-gradient", "gpt", StagePlan(2, 2, schedule="zb-v"), "sgd"),
           ("slot-too-early", "feeds", StagePlan(2, 8), "sgd"),
           ("slot-too-early", "vee", StagePlan(3, 8, schedule="zb-h1"), "sgd"),
           ("other-microbatch", "feeds", StagePlan(2, 8), "sgd"),
           ("other-microbatch", "gpt", StagePlan(2, 2, schedule="zb-v"), "sgd"),
           ("tied-not-summed", "tied", StagePlan(4, 2), "sgd clipped"),
           ("tied-not-summed", "lm", StagePlan(2, 2, dp=2), "sgd"),
           ("local-clip-norm", "spread", StagePlan(3, 2), "sgd clipped"),
           ("local-clip-norm", "feeds", StagePlan(2, 2, dp=2), "sgd clipped"),
           ("decide-before-sum", "spread", StagePlan(3, 2), "sgd clipped"),
           ("decide-before-sum", "feeds", StagePlan(2, 2, dp=2), "sgd clipped"),
           ("drop-tied-sum", "vee", StagePlan(2, 2), "sgd"),
           ("scale-twice", "towers", StagePlan(3, 3), "sgd"),
           ("gather-left-out", "feeds", StagePlan(2, 2, dp=2, zero=1), "sgd"),
           ("mean-of-means", "gpt", StagePlan(2, 2), "sgd"),
           ("other-parameter", "feeds", StagePlan(2, 2), "sgd"),
           ("other-bucket", "lm", StagePlan(2, 2, tied="owner"), "sgd"),
           ("skip-update", "feeds", StagePlan(2, 2), "sgd"),
           ("borrowed-not-returned", "tied", StagePlan(4, 2, tied="owner"), "sgd"),
           ("temporary-too-early", "gpt", StagePlan(2, 2, recompute="layer"), "sgd"),
           ("temporary-too-early", "vee", StagePlan(3, 8, schedule="zb-h1"), "sgd")]

BITS = [("tied", StagePlan(4, 3)), ("tied", StagePlan(3, 2, dp=2, tied="owner")), ("vee", StagePlan(3, 2, schedule="zb-h1")), ("gpt", StagePlan(2, 8, schedule="dualpipe-v")),
        ("lm", StagePlan(2, 3, dp=2, schedule="interleaved")), ("spread", StagePlan(4, 2, dp=2, schedule="gpipe"))]


def name_of(row):
    plan = stage_plans.plan_of(row)
    return f"{row['model']} {plan.name} {row['run']}, {row['launch']}" + (", poisoned" if row["poison"] else "")


def tests_of(programs, everything):
    for row in stage_plans.product() if everything else stage_plans.sample():
        yield name_of(row), functools.partial(check_row, programs, row)
    for model, plan in BITS:
        yield f"bits of {model} {plan.name}", functools.partial(check_bits, programs, model, plan)
        yield f"own init of {model} {plan.name}", functools.partial(check_own_init, programs, model, plan)
    for model, (_, unchanged) in stage_plans.MODELS.items():
        if unchanged:
            yield f"unchanged in {model}", functools.partial(check_unchanged, programs, model, StagePlan(3, 2), unchanged)
    for plan in (StagePlan(4, 3), StagePlan(4, 2, schedule="zb-h1")):
        yield f"nothing back to a frozen front, {plan.name}", functools.partial(check_nothing_back, programs, plan)
    yield "detached boundary", functools.partial(check_detach, programs)
    yield "boundary that requires a gradient", functools.partial(check_learns, programs)
    yield from mutation_cases(programs, MUTATED)
    yield "every mutation has a case", functools.partial(check_mutations, programs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    parser.add_argument("--all", action="store_true", help="the whole product of the factors, not a sample (hours)")
    harness = Harness("stages", parser)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        programs = StagePrograms(harness.ppopt, directory, {name: m[0] for name, m in stage_plans.MODELS.items()})
        harness.cases(list(tests_of(programs, harness.args.all)))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
