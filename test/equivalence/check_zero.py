#!/usr/bin/env python3
"""Holds programs with --zero 1, 2 and 3 against those with --zero 0: losses, norms, evaluations, gradients and last parameters have the same bits
where the same numbers are added in the same order (adds_alike), and else agree within the rounding of their types.

A sample covers every pair of values of FACTORS: models with parameters of all types, of one element, of fewer than there are ranks, frozen and tied;
stages, meshes, schedules, optimizers, launches. All runs clip, evaluate between steps, poison memory, compare replicas and check what the compiler
predicted. Further: a larger GPT on two, three and four ranks, and a collective that one place leaves out.
By hand: check_zero.py --filter 'odd.*dp=3', --keep DIR.
"""
import argparse
import functools
import itertools
import json
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import mutations, safetensors_io  # noqa: E402
from support.executable import Mismatch, adds_alike, checked, compile_model, expect_close, new_log, run  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

from pairwise import cover  # noqa: E402
from plans import lm_inputs  # noqa: E402

STEPS, EVALUATED = 4, 2  # steps, and batches of an evaluation, of which there is one after each two steps
GPT = ["--layers", "2", "--width", "32", "--heads", "2", "--vocab", "64", "--seq", "16", "--batch", "24"]
LARGER_GPT = ["--layers", "4", "--width", "128", "--heads", "4", "--seq", "16", "--batch", "24"]
LEAST_BUCKETS = 8
SECONDS = 5  # that a rank may wait for what never comes


def odd_inputs(random):
    return {name: random.standard_normal((STEPS * 24, size)) for name, size in (("x", 7), ("y", 3))}


def token_inputs(random):
    window = random.integers(0, 64, (STEPS * 24, 17), dtype=np.int32)
    return {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()}


def more_lm_inputs(random):
    """A step more than plans.py has."""
    first, second = lm_inputs(random), lm_inputs(random)
    return {name: np.concatenate([first[name], second[name]])[:STEPS * 48] for name in first}


#          model      inputs          flags
MODELS = {"odd":      (odd_inputs, []),
          "tied":     (more_lm_inputs, []),
          "frozen":   (more_lm_inputs, []),
          "gpt bf16": (token_inputs, ["--precision", "bf16"])}

#             optimizer    compiler's flags                        executable's
OPTIMIZERS = {"nesterov": (["--optimizer", "sgd", "--nesterov"], ["--lr", "0.1", "--momentum", "0.9"]),
              "adam":     (["--optimizer", "adam"], ["--lr", "0.01"]),
              "adamw":    (["--optimizer", "adamw"], ["--lr", "0.01", "--weight-decay", "0.1"])}
CLIP = 1e-3

#         compiler's flags                    what of a parameter is sharded
STAGES = {"0":      (["--zero", "0"], None),
          "1":      (["--zero", "1"], "states"),
          "2":      (["--zero", "2"], "gradients"),
          "3":      (["--zero", "3"], "parameters"),
          "3 step": (["--zero", "3", "--gather", "step"], "gradients")}
SUMS_IN_TASKS = {"2", "3", "3 step"}

# Relative to a tensor's largest element: what another order of additions may change. A bf16 parameter may be rounded the other way.
TOLERANCES = {"f64": 1e-12, "f32": 1e-5, "bf16": 2.0**-7}

FACTORS = {
    "model": ["odd", "tied", "frozen"],
    "zero": ["1", "2", "3", "3 step"],
    "mesh": ["dp=3", "fsdp=4", "fsdp=2,dp=3", "pp=2", "pp=2,dp=3", "dp=2,fsdp=2,pp=2", "dp=2,pp=4"],
    "optimizer": list(OPTIMIZERS),
    "launch": ["threads", "mpirun", "local"],
    "microbatches": [1, 2],
    "schedule": ["1f1b", "gpipe", "zb-h1"],
    "tied": ["sum", "owner"],
    "recompute": ["none", "cheap", "layer"],
    "bucket_bytes": ["25MiB", "200", "2KiB"],
}

# --precision bf16 computes with copies of parameters; it compiles slowly.
COMMON = {"model": "gpt bf16", "launch": "threads", "schedule": "1f1b", "tied": "sum", "recompute": "cheap"}
MIXED = [dict(COMMON, zero="1", mesh="dp=3", optimizer="adamw", microbatches=2, bucket_bytes="25MiB"),
         dict(COMMON, zero="3", mesh="dp=2", optimizer="adamw", microbatches=1, bucket_bytes="2KiB"),
         dict(COMMON, zero="3", mesh="fsdp=2,pp=2", optimizer="nesterov", microbatches=2, bucket_bytes="2KiB")]

# Mutations (support/mutations.py), each with a stage, a mesh and microbatches with which the comparison with stage 0 must see it.
MUTATED = [("norm-over-replicas", "1", "dp=2,fsdp=2", 2), ("sum-before-last-addition", "1", "dp=2", 2),
           ("gather-left-out", "1", "fsdp=2,pp=2", 2), ("norm-over-replicas", "3", "dp=2,fsdp=2", 1), ("gather-left-out", "2", "fsdp=2,pp=2", 2),
           ("padding-not-zero", "3", "dp=2", 1), ("padding-not-zero", "2", "fsdp=2,dp=2", 2), ("add-own-slice", "2", "dp=3", 2), ("add-own-slice", "3", "dp=2", 1),
           ("sum-not-added", "3", "dp=2", 2), ("sum-not-added", "3 step", "fsdp=2,pp=2", 2), ("gathers-swapped", "3", "dp=2", 1)]
# What memory that holds something else turns into NaN with --poison.
POISONED = [("read-before-finish", "3", "dp=2", 2), ("release-before-last-reader", "3", "dp=2", 1), ("gather-over-gathered", "3", "dp=3", 1)]
# Tasks that do not make the collectives of their signatures: the error that ends the run.
ENDED = {"collective-left-out": r"program: task s\d_B ended and has not started its collective \d+ \('b\d+'\)",
         "collective-unsigned": r"program: task s\d_F starts collective \d+, and has no more",
         "begins-swapped": r"program: task s\d_F starts collective 1, and its next one is 0"}


def size_of(mesh, axes=("dp", "fsdp", "pp")):
    return int(np.prod([int(size) for name, size in re.findall(r"(\w+)=(\d+)", mesh) if name in axes]))


def allowed(row):
    mesh, launch = row.get("mesh"), row.get("launch")
    if mesh and launch == "mpirun" and size_of(mesh) > 6:
        return False
    # Tasks of one process gather nothing, and owners of a parameter that others use would have to gather its gradients.
    if row.get("zero") in SUMS_IN_TASKS and (launch == "local" or row.get("tied") == "owner"):
        return False
    # One process in program order.
    return launch != "local" or (mesh in (None, "pp=2") and row.get("schedule") in (None, "1f1b"))


class Models:
    """The files of models: those of models/ with their marks for some places, and GPTs."""

    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory

    def gpt(self, name, flags):
        path = os.path.join(self.directory, name)
        checked([self.ppopt, "model", "gpt", *flags, "-o", path])
        return path

    def file(self, stem, model, mesh):
        if model.startswith("gpt"):
            return self.gpt(stem + ".mlir", GPT)
        text = (HERE / "models" / f"{model}.mlir").read_text()
        path = os.path.join(self.directory, stem + ".mlir")
        with open(path, "w") as file:
            file.write(re.sub(r"pp\.on (\d)", lambda mark: f"pp.on {int(mark[1]) * size_of(mesh, ['pp']) // 4}", text))
        return path


def name_of(row):
    words = {"microbatches": "mb{}", "zero": "zero {}"}
    return " ".join(words.get(name, "{}").format(row[name]) for name in FACTORS)


def plan_flags(row):
    flags = ["--mesh", row["mesh"], "--microbatches", str(row["microbatches"]), "--tied", row["tied"], "--recompute", row["recompute"],
             "--bucket-bytes", row["bucket_bytes"], "--threads", "1"]
    return [*flags, *(["--launch", "local"] if row["launch"] == "local" else ["--schedule", row["schedule"]])]


def shards_of(executable):
    """What of parameters is sharded: of each that is, one of the words of STAGES."""
    return {parameter["shard"]["of"] for place in executable.program["places"] for parameter in place["parameters"] if "shard" in parameter}


def expect_shards(executable, stage, mesh):
    sharded, expected = shards_of(executable), STAGES[stage][1]
    # Without data-parallel ranks, stage 1 shards the states of parameters that several places have.
    is_optional = size_of(mesh, ["dp", "fsdp"]) == 1
    assert sharded == {expected} - {None} or (is_optional and not sharded), f"stage {stage} shards {sharded}"


def train(executable, row, launch, checks=("--check-counters", "--poison", "--check-replicas")):
    """What a run leaves: records of steps and evaluations as logged, gradients and parameters."""
    make_inputs, _ = MODELS[row["model"]]
    random = np.random.default_rng(7)
    inputs = make_inputs(random)
    evaluation = executable.path + ".evaluation.safetensors"
    safetensors_io.write(evaluation, {name: values[:EVALUATED * len(values) // STEPS] for name, values in make_inputs(random).items()})
    if "--check-replicas" in checks and executable.ranks > 1 and launch != "local":
        checks = [*checks, "1"]
    else:
        checks = [check for check in checks if check != "--check-replicas"]
    flags = [*OPTIMIZERS[row["optimizer"]][1], "--clip", str(CLIP), "--seed", "5", "--eval-inputs", evaluation, "--eval-every", "2",
             *checks]
    return run(executable, flags, "mpirun" if launch == "mpirun" else "threads", dump_gradients=True, inputs=inputs, steps=STEPS, timeout=100)


def expect_same(sharded, whole):
    """Bit for bit."""
    expect_same_records(sharded.all_records, whole.all_records)
    for kind in ("gradients", "parameters"):
        ours, theirs = getattr(sharded, kind), getattr(whole, kind)
        expect_same_names(kind, ours, theirs)
        for name, values in theirs.items():
            if values.tobytes() != ours[name].tobytes():
                raise Mismatch(f"the stages leave other {kind} of {name}")


def expect_same_names(kind, ours, theirs):
    if set(ours) != set(theirs):
        raise Mismatch(f"{kind} of {sorted(set(ours) ^ set(theirs))} are left by one stage only")


def bits_of(records):
    return [(record["event"], record["step"], record["loss_hex"], record.get("norm_hex")) for record in records if record["event"] in ("step", "eval")]


def expect_same_records(ours, theirs):
    ours, theirs = bits_of(ours), bits_of(theirs)
    if ours != theirs:
        raise Mismatch(f"the stages differ: {next(pair for pair in itertools.zip_longest(theirs, ours) if pair[0] != pair[1])}")


def numbers_of(records, key):
    return [float.fromhex(record[key]) for record in records if record["event"] in ("step", "eval") and key in record]


def expect_close_records(ours, theirs, tolerance):
    for key in ("loss_hex", "norm_hex"):
        expect_close(key, numbers_of(ours, key), numbers_of(theirs, key), tolerance)


def expect_near(sharded, whole, types, has_parameters):
    """Within the rounding of types: {parameter: its type}. What all gradients decide, as the norm does, is as exact as the coarsest."""
    coarsest = max(TOLERANCES[each] for each in types.values())
    expect_close_records(sharded.all_records, whole.all_records, coarsest)
    expect_same_names("gradients", sharded.gradients, whole.gradients)
    for name, values in whole.gradients.items():
        expect_close(f"gradient of {name}", sharded.gradients[name], values, TOLERANCES[types[name]])
    if has_parameters:
        expect_close("parameter", sharded.parameters, whole.parameters, coarsest)


def compile_stages(models, row, mutation=None):
    """The programs of stage 0 and of the row's stage, the latter with a mutation if one is named."""
    stem = re.sub(r"[^\w]+", "_", name_of(row)) + ("_" + mutation if mutation else "")
    model = models.file(stem, row["model"], row["mesh"])
    flags = [*plan_flags(row), *OPTIMIZERS[row["optimizer"]][0], *MODELS[row["model"]][1]]
    whole = compile_model(models.ppopt, model, model[:-5] + "_whole", [*flags, *STAGES["0"][0]])
    flags += STAGES[row["zero"]][0]
    if mutation:
        return whole, compile_model(mutations.tool_of(models.ppopt), model, model[:-5] + "_sharded", [*flags, "--mutate", mutation])
    return whole, compile_model(models.ppopt, model, model[:-5] + "_sharded", flags)


def compare(row, sharded, result, expected):
    """`result` of the program `sharded`, `expected` of stage 0."""
    if adds_alike(sharded.program):
        return expect_same(result, expected)
    types = {parameter["name"]: parameter["type"] for parameter in sharded.program["parameters"]}
    if row["model"] == "gpt bf16":
        types = {name: "bf16" for name in types}  # which it computes in
    # Adam turns the rounding noise of a gradient that is zero by symmetry into a full step.
    expect_near(result, expected, types, has_parameters=row["optimizer"] == "nesterov")


def check_row(models, row):
    whole, sharded = compile_stages(models, row)
    expect_shards(whole, "0", row["mesh"])
    expect_shards(sharded, row["zero"], row["mesh"])
    expected = train(whole, row, "local" if row["launch"] == "local" else "threads")
    evaluations = [record["step"] for record in expected.all_records if record["event"] == "eval"]
    assert evaluations == list(range(0, STEPS + 1, 2)), f"evaluations after steps {evaluations}"
    for record in expected.records:
        assert record["norm"] > CLIP, f"nothing is clipped: {record}"
    compare(row, sharded, train(sharded, row, row["launch"]), expected)


def mutated_row(zero, mesh, microbatches):
    return {"model": "odd", "zero": zero, "mesh": mesh, "optimizer": "adamw", "launch": "threads", "microbatches": microbatches, "schedule": "1f1b",
            "tied": "sum", "recompute": "cheap", "bucket_bytes": "200"}


def check_seen(models, mutation, zero, mesh, microbatches, checks=()):
    """The comparison is red with a mutation, or the run finds that its numbers are not finite."""
    row = mutated_row(zero, mesh, microbatches)
    whole, mutated = compile_stages(models, row, mutation)
    expected = train(whole, row, "threads")
    try:
        compare(row, mutated, train(mutated, row, "threads", checks), expected)
    except Mismatch as seen:
        print(f"  {mutation}, --zero {zero}, {mesh}: {seen}", flush=True)
        return
    except AssertionError as failure:
        found = re.search(r"error: rank \d+: step \d+: the (loss|gradient norm) is nan", str(failure))
        assert checks and found, failure
        print(f"  {mutation}, --zero {zero}, {mesh}: {found[0]}", flush=True)
        return
    raise AssertionError(f"the comparison does not see {mutation}")


def check_replicas_seen(models, zero, launch):
    """Where the shards of one fsdp group are not summed with those of the other, --check-replicas names the parameter and who has which copy."""
    mutation = "gradient-not-summed"
    row = dict(mutated_row(zero, "dp=2,fsdp=2", 1), launch=launch, bucket_bytes="25MiB")
    _, mutated = compile_stages(models, row, mutation)
    try:
        train(mutated, row, launch, ["--check-replicas"])
    except AssertionError as failure:
        # The mesh is {dp 0, fsdp 0}, {dp 0, fsdp 1}, {dp 1, fsdp 0}, {dp 1, fsdp 1}; from stage 3 on a copy is one of a chunk.
        holders = r"(, elements \d+ to \d+)?: (rank 0 / rank 2|rank 1 / rank 3)" if zero == "3" else ": ranks 0, 1 / ranks 2, 3"
        found = re.search(rf"error: rank 0: after step 1 the copies of parameter '\w+' have different bits{holders}", str(failure))
        assert found, failure
        print(f"  {mutation}, --zero {zero}, {launch}: {found[0]}", flush=True)
        return
    raise AssertionError(f"--check-replicas does not see {mutation}")


def check_refused(models, mutation, zero, mesh, microbatches):
    """The verifier after a mutation says what is wrong; what it lets pass is compiled by check_seen."""
    row = mutated_row(zero, mesh, microbatches)
    model = models.file(f"refused_{mutation}_{zero}".replace(" ", "_"), row["model"], mesh)
    mutations.expect_refused(models.ppopt, mutation, model, [*plan_flags(row), *OPTIMIZERS[row["optimizer"]][0], *STAGES[zero][0]])


def check_ended(models, mutation, launch):
    """A task that does not make the collectives of its signature ends the run; nobody waits for what never comes."""
    row = mutated_row("3", "dp=2", 2)
    _, mutated = compile_stages(models, dict(row, launch=launch), mutation)
    try:
        train(mutated, row, launch, ["--timeout", str(SECONDS)])
    except AssertionError as failure:
        found = re.search(ENDED[mutation], str(failure))
        assert found, failure
        print(f"  {mutation}: {found[0]}", flush=True)
        return
    raise AssertionError(f"a run with {mutation} ends well")


def train_larger(executable, text, launch):
    log = f"{executable.path}.{launch}.jsonl"
    command = [executable.path, "--data", text, "--steps", "3", "--clip", "1", "--check-counters", "--poison", *new_log(log)]
    checked([*under_mpirun(executable.ranks), *command] if launch == "mpirun" else command)
    with open(log) as file:
        return [json.loads(line) for line in file]


def larger_programs(models, name, ranks, flags, model_flags=()):
    """(stage, program) of a GPT of at least eight buckets, and a text for it."""
    model = models.gpt(f"{name}{ranks}.mlir", [*LARGER_GPT, *model_flags])
    text = os.path.join(models.directory, f"{name}{ranks}.txt")
    with open(text, "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(40000)))
    mesh = f"dp={ranks}"
    programs = []
    for stage, (stage_flags, _) in STAGES.items():
        executable = compile_model(models.ppopt, model, f"{model[:-5]}_{len(programs)}",
                                   ["--mesh", mesh, *stage_flags, "--bucket-bytes", "256KiB", "--threads", "1", *flags])
        expect_shards(executable, stage, mesh)
        assert count_sums(executable, stage) >= LEAST_BUCKETS, f"stage {stage} has {count_sums(executable, stage)} buckets"
        programs.append((stage, executable))
    return programs, text


def count_sums(executable, stage):
    """Of gradients over ranks."""
    if stage in SUMS_IN_TASKS:
        return len({each["name"] for each in executable.program["collectives"] if each["op"] == "reduce_scatter"})
    op = "reduce_scatter" if stage == "1" else "all_reduce"
    return len([action for action in executable.program["places"][0]["actions"] if action.get("op") == op])


def check_larger(models, ranks):
    """With one microbatch all stages log the same, as threads and under mpirun."""
    programs, text = larger_programs(models, "larger", ranks, [])
    expected = None
    for stage, executable in programs:
        for launch in ("threads", "mpirun"):
            records = train_larger(executable, text, launch)
            expected = expected or records
            assert max(record.get("norm", 0) for record in records) > 1, "nothing is clipped"
            expect_same_records(records, expected)


def check_larger_sums(models, ranks):
    """With four microbatches, stages that sum in tasks add in another order."""
    programs, text = larger_programs(models, "f64", ranks, ["--microbatches", "4"], ["--dtype", "f64"])
    expected = train_larger(programs[0][1], text, "threads")
    for stage, executable in programs[1:]:
        records = train_larger(executable, text, "mpirun" if stage == "3" else "threads")
        if stage in SUMS_IN_TASKS:
            expect_close_records(records, expected, TOLERANCES["f64"])
        else:
            expect_same_records(records, expected)


def check_left_out(models):
    """A gather of which one place takes no part: verify-schedule refuses it; without that, the run says who waits for whom."""
    mutation, row = "gather-not-on-place", {"model": "tied", "mesh": "dp=2,pp=2"}
    model = models.file(mutation, row["model"], row["mesh"])
    flags = ["--mesh", row["mesh"], "--zero", "1", "--threads", "1", "--optimizer", "sgd"]
    mutations.expect_refused(models.ppopt, mutation, model, flags)
    inputs = model[:-5] + ".inputs.safetensors"
    safetensors_io.write(inputs, more_lm_inputs(np.random.default_rng(7)))
    run_flags = ["--inputs", inputs, "--steps", "3"]
    right = compile_model(models.ppopt, model, model[:-5], flags)
    checked([right.path, *run_flags])
    wrong = compile_model(mutations.tool_of(models.ppopt), model, model[:-5] + "_mutated", [*flags, "--mutate", mutation])
    try:
        checked([wrong.path, *run_flags, "--timeout", str(SECONDS)], timeout=100)
    except AssertionError as failure:
        print(f"  {mutation}: {failure}", flush=True)
        assert re.search(r"rank \d+: step 2, waits .* for rank \d+: the all-gather of", str(failure)), failure
        return
    raise AssertionError(f"a run with {mutation} ends well")


def tests_of(models):
    for row in [*cover(FACTORS, allowed), *MIXED]:
        yield name_of(row), functools.partial(check_row, models, row)
    for ranks in (2, 3, 4):
        yield f"larger GPT, dp={ranks}", functools.partial(check_larger, models, ranks)
    yield "larger GPT, f64, four microbatches, dp=2", functools.partial(check_larger_sums, models, 2)
    for mutation, zero, mesh, microbatches in MUTATED:
        yield f"mutation {mutation}, --zero {zero}, {mesh}", functools.partial(check_seen, models, mutation, zero, mesh, microbatches)
    for mutation, zero, mesh, microbatches in POISONED:
        yield f"mutation {mutation}, --zero {zero}, {mesh}", functools.partial(check_seen, models, mutation, zero, mesh, microbatches, ["--poison"])
    for zero in ("2", "3", "3 step"):
        for launch in ("threads", "mpirun"):
            yield f"replicas that differ, --zero {zero}, {launch}", functools.partial(check_replicas_seen, models, zero, launch)
    for mutation in ENDED:
        for launch in ("threads", "mpirun"):
            yield f"mutation {mutation}, {launch}", functools.partial(check_ended, models, mutation, launch)
    for mutation, zero, mesh, microbatches in [*MUTATED, *POISONED, *((mutation, "3", "dp=2", 2) for mutation in ENDED)]:
        yield (f"mutation {mutation}, --zero {zero}, {mesh}, is refused",
               functools.partial(check_refused, models, mutation, zero, mesh, microbatches))
    yield "a gather that one place leaves out", functools.partial(check_left_out, models)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    harness = Harness("zero", parser)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        harness.cases(list(tests_of(Models(harness.ppopt, directory))))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
