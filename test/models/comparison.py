"""Compares what a plan leaves with PyTorch's numbers, with stage 0, and with what another plan makes of its checkpoint."""
import dataclasses
import json
import math
import os
import shutil

import numpy as np

from support.executable import adds_alike, sums_in_tasks
from support.random_plans import without, without_sharding

from description import coarsest, make_params, results_of
from pairs import bad_inputs, evaluates_rows, inputs_not_finite
from trials import Finding, Refused, compile_for_cuda, compile_pair, predict_pair, run_command, run_pair


def expect(is_true, kind, text):
    if not is_true:
        raise Finding(kind, text)


def compare_numbers(kind, ours, theirs, tolerance):
    for step, (a, b) in enumerate(zip(ours, theirs)):
        if b is None or a is None:
            expect(a is None and b is None, f"wrong {kind}", f"step {step + 1}: {a} instead of {b}; None is a skipped step")
            continue
        error = abs(a - b) / max(abs(b), 1e-3)
        expect(error <= tolerance, f"wrong {kind}", f"step {step + 1}: {a!r} instead of {b!r}, relative error {error:.3g}")


# Gradients that are all smaller are zero but for rounding: PyTorch's are in f64.
ZERO = 1e-13


def compare_tensors(kind, ours, theirs, tolerance, skipped=()):
    largest = max((np.abs(g).max() for g in theirs.values()), default=0)
    for name in sorted(set(ours) | set(theirs)):
        if name in skipped:
            continue
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None:
            # A gradient that is zero may be left out.
            given = a if b is None else b
            expect(kind == "gradient" and np.abs(given).max() <= tolerance * (largest or 1), f"wrong {kind}",
                   f"{name} is {'missing' if a is None else 'there'}")
            continue
        scale = max(np.abs(b).max(), 1e-3 * largest) if largest > ZERO else 1.0
        error = np.abs(a.astype(np.float64) - b).max()
        expect(a.shape == b.shape and (error <= tolerance * scale), f"wrong {kind}",
               f"{name}: relative error {error / scale:.3g}, allowed {tolerance:.3g}")


def compare_parameters(pair, ours, expected, tolerance):
    # What has no gradient may be decayed or not.
    decays = pair.run["weight_decay"] > 0
    still = {n for n in ours["parameters"] if decays and not np.any(expected["gradients"].get(n, np.zeros(1)))}
    compare_tensors("parameter", ours["parameters"], expected["parameters"], tolerance, still)


def expect_frozen(description, ours):
    """What is frozen keeps its bits."""
    frozen = {p["name"] for p in description["params"] if p.get("frozen")}
    for name, values in make_params(description).items():
        expect(name not in frozen or np.array_equal(ours["parameters"][name], values), "wrong parameter", f"{name} is frozen, and changes")


def compare(pair, ours, expected, tolerance):
    """`expected` as reference.train has it; its parameters may be None."""
    compare_numbers("loss", ours["losses"][:1], expected["losses"][:1], tolerance)
    if expected["losses"] and expected["losses"][0] is not None:
        compare_tensors("gradient", ours["gradients"], expected["gradients"], tolerance)
    compare_first_evaluation(pair, ours, expected, tolerance)
    compare_steps(pair, ours, expected, tolerance)


def compare_evaluation(kind, found, wanted, tolerance):
    expect(len(found) == 3, f"wrong {kind}", "there is none")
    compare_numbers(kind, found[:1], wanted[:1], tolerance)
    expect(found[1] == wanted[1], f"wrong {kind}", f"over {found[1]} samples instead of {wanted[1]}")
    if wanted[0] is not None:
        compare_metrics(kind, found[2], wanted[2] if len(wanted) > 2 else {}, tolerance)


def compare_metrics(what, ours, theirs, tolerance):
    expect(set(ours) == set(theirs), "wrong metric", f"{what}: {sorted(ours)} instead of {sorted(theirs)}")
    for name, value in theirs.items():
        error = abs(ours[name] - value) / max(abs(value), 1e-3)
        expect(error <= tolerance, "wrong metric", f"{name} of the {what}: {ours[name]!r} instead of {value!r}, relative error {error:.3g}")


def compare_first_evaluation(pair, ours, expected, tolerance):
    """That before the first step."""
    if "--eval-every" in pair.run_flags and expected.get("first_evaluation"):
        compare_evaluation("first evaluation", ours["first_evaluation"], expected["first_evaluation"], tolerance)


def compare_steps(pair, ours, expected, tolerance):
    """All but the gradients of the first step."""
    compare_numbers("loss after a step", ours["losses"], expected["losses"], tolerance)
    compare_numbers("gradient norm", ours["norms"], expected["norms"], tolerance)
    if expected["parameters"] is not None:
        compare_parameters(pair, ours, expected, tolerance)
    if "--metrics-every" in pair.run_flags:
        for step, loss in enumerate(expected["losses"]):
            if loss is not None:
                compare_metrics(f"step {step + 1}", ours["metrics"][step], expected["metrics"][step], tolerance)
    if pair.run["evaluate"]:
        compare_evaluation("evaluation", ours["evaluations"], expected["evaluations"], tolerance)


def expect_refused_id(ppopt, description, pair, stem):
    """Ids outside of a table, or classes that are none: the run must end with an error, on every plan alike."""
    try:
        run_pair(ppopt, description, dataclasses.replace(pair, run=dict(pair.run, evaluate=0)), stem,
                 bad_inputs(description, pair.bad))
    except Finding as finding:
        if finding.kind == "the run fails":
            return
        raise Finding("an id out of range: " + finding.kind, str(finding)) from None
    raise Finding("an id out of range is taken", "exit status 0")


# Of what another order of additions changes: a model that 1e-14 changes by 1e-11 (reference.py) is changed by no more.
OTHER_ORDER = 1e-12
# Gradients that were rounded to bf16 before they were summed, relative to the largest of all.
ROUNDED_SUMS = 2.0**-4


def compare_rounded_sums(ours, expected, tolerance):
    """With --grad-dtype bf16: what precedes the first update is exact; the first gradients are near, and all steps finite."""
    compare_numbers("loss", ours["losses"][:1], expected["losses"][:1], tolerance)
    if expected["losses"][0] is not None:
        largest = max((np.abs(g).max() for g in expected["gradients"].values()), default=0)
        for name in set(ours["gradients"]) | set(expected["gradients"]):
            a, b = ours["gradients"].get(name, np.zeros(1)), expected["gradients"].get(name, np.zeros(1))
            expect(np.abs(a - b).max() <= ROUNDED_SUMS * largest, "wrong gradient",
                   f"{name}: {np.abs(a - b).max():.3g} off, and the largest of all is {largest:.3g}")
    for step, (a, b) in enumerate(zip(ours["losses"], expected["losses"])):
        expect((a is None) == (b is None) and (a is None or math.isfinite(a)), "wrong loss after a step", f"step {step + 1}: {a}")


def expect_same_bits(ours, others, whose="stage 0"):
    for kind in ("losses", "norms", "evaluations", "metrics"):
        expect(ours[kind] == others[kind], f"not the bits of {whose}", f"{kind}: {ours[kind]} instead of {others[kind]}")
    for kind in ("gradients", "parameters"):
        expect(set(ours[kind]) == set(others[kind]), f"not the bits of {whose}", f"{kind} of {sorted(set(ours[kind]) ^ set(others[kind]))}")
        for name, values in others[kind].items():
            expect(values.tobytes() == ours[kind][name].tobytes(), f"not the bits of {whose}",
                   f"{kind} of {name}: at most {np.abs(values - ours[kind][name]).max():.3g} off")


def expect_like_stage_0(pair, ours, whole, alike, tolerance):
    if alike:
        return expect_same_bits(ours, whole)
    try:
        compare(pair, ours, whole, tolerance)
    except Finding as finding:
        raise Finding(finding.kind + " beside stage 0", str(finding)) from None


def check_stage_0(ppopt, description, pair, ours, program, tolerance, stem):
    """The same plan with nothing sharded, on the CPU, leaves the same bits, or nearly where the numbers of a step are added in another order.
    It skips the same steps, if an input of one is not finite."""
    whole_pair = dataclasses.replace(pair, compile_flags=without_sharding(pair.compile_flags), fake_seed=0)
    if (whole_pair.compile_flags, whole_pair.fake_seed) == (pair.compile_flags, pair.fake_seed):
        return
    if coarsest(description) == "f64":
        tolerance = OTHER_ORDER
    inputs = inputs_not_finite(description, pair.not_finite) if pair.not_finite else None
    skipping = ["--skip-nonfinite-steps"]
    if inputs:
        ours_skipping = run_pair(ppopt, description, pair, stem, inputs, skipping)
    try:
        compile_pair(ppopt, description, whole_pair, stem)
    except Refused as refusal:
        raise Finding("stage 0 is refused", str(refusal)) from None
    # `--schedule auto` may choose another schedule, whose stages add other parts of the loss.
    stages = [(described["plan"].get("schedule"), len(described["stages"])) for described in (program, describe(stem))]
    alike = adds_alike(program) and stages[0] == stages[1]
    expect_like_stage_0(pair, ours, run_pair(ppopt, description, whole_pair, stem), alike, tolerance)
    if inputs:
        try:
            expect_like_stage_0(pair, ours_skipping, run_pair(ppopt, description, whole_pair, stem, inputs, skipping), alike, tolerance)
        except Finding as finding:
            raise Finding("not finite: " + finding.kind, f"{pair.not_finite}: {finding}") from None


def check_resumed(ppopt, description, pair, expected, tolerance, stem):
    """Another plan goes on from a checkpoint of this one."""
    step, folder = pair.resume["step"], stem + ".checkpoints"
    for name in os.listdir(folder):
        if name.startswith("step-") and int(name[5:]) > step:
            shutil.rmtree(os.path.join(folder, name))
    other = dataclasses.replace(pair, compile_flags=pair.resume["compile_flags"], ranks=pair.resume["ranks"], marks=tuple(pair.resume["marks"]),
                                launch="threads", resume={}, fake_seed=0)
    compile_pair(ppopt, description, other, stem)
    try:
        ours = run_pair(ppopt, description, other, stem, flags=["--checkpoint", folder, "--resume"])
        left = dict(expected, **{kind: expected[kind][step:] for kind in ("losses", "norms", "metrics")})
        expect(len(ours["losses"]) == len(left["losses"]), "wrong steps", f"{len(ours['losses'])} instead of {len(left['losses'])}")
        compare_steps(other, ours, left, tolerance)
        expect_frozen(description, ours)
    except Finding as finding:
        raise Finding("resumed: " + finding.kind, f"under {' '.join(other.compile_flags)} after step {step}: {finding}") from None


def check_step(ppopt, description, pair, ours, stem):
    """One trainer waits for nobody: what --sync step leaves."""
    if "--sync" not in pair.compile_flags:
        return
    other = dataclasses.replace(pair, compile_flags=without(pair.compile_flags, ["--sync"]), fake_seed=0)
    compile_pair(ppopt, description, other, stem)
    expect_same_bits(ours, run_pair(ppopt, description, other, stem), "--sync step")


def check_trainers(ppopt, description, pair, expected, tolerance, stem):
    """Several trainers, whose order is their own: what is said before the first update is PyTorch's, all is finite, and a replay has the same bits."""
    ours = run_pair(ppopt, description, pair, stem, flags=["--record", stem + ".order", "--delay", "2:0.3"])
    expect_frozen(description, ours)
    compare_first_evaluation(pair, ours, expected, tolerance)
    expect(len(ours["trainer_steps"]) == description["steps"] * pair.trainers, "wrong steps of trainers", f"{sorted(ours['trainer_steps'])}")
    for step, numbers in ours["trainer_steps"].items():
        expect(all(number is None or math.isfinite(number) for number in numbers), "wrong loss of a trainer", f"{step}: {numbers}")
    again = run_pair(ppopt, description, pair, stem, flags=["--replay", stem + ".order"])
    expect(again["trainer_steps"] == ours["trainer_steps"], "not the bits of the record", f"{again['trainer_steps']} instead of {ours['trainer_steps']}")
    # Those of a step are means over trainers, in the order in which their reports come.
    of_steps = {"losses": [], "norms": []}
    expect_same_bits(again | of_steps, ours | of_steps, "the record")


def rounds_sums(pair, program):
    """Whether gradients are summed in bf16."""
    flags = pair.compile_flags
    return "--grad-dtype" in flags and flags[flags.index("--grad-dtype") + 1] == "bf16" and sums_in_tasks(program)


def describe(stem):
    done = run_command([stem, "--describe=json"], "describing")
    expect(done.returncode == 0, "the program does not start", done.stderr)
    return json.loads(done.stdout)


def check_evaluates_rows(description, pair, program):
    """Whether an evaluation is over rows, or over whole batches, is a property of the model; a trainer's batch of one row tells nothing of it."""
    if "mixes" in description:  # or may, so that it is not known here
        return
    reason = program["plan"].get("mixes_rows", "")
    by_rows = evaluates_rows(description) and description["batch"] > pair.trainers
    expect(bool(reason) != by_rows, "evaluates batches" if reason else "evaluates rows", reason or "though the model mixes them")


def check_pair(ppopt, description, pair, expected, tolerance, stem):
    """Raises Refused or Finding. Leaves the model; removes what is large."""
    try:
        compile_pair(ppopt, description, pair, stem)
        if pair.cuda:
            compile_for_cuda(ppopt, pair, stem)
        program = describe(stem)
        check_evaluates_rows(description, pair, program)
        if results_of(description, "output"):
            compare_tensors("prediction", predict_pair(ppopt, description, pair, stem), expected["predictions"], tolerance)
        if pair.bad:
            expect_refused_id(ppopt, description, pair, stem)
        if pair.trainers > 1:
            return check_trainers(ppopt, description, pair, expected, tolerance, stem)
        saving = ["--checkpoint", stem + ".checkpoints", "--checkpoint-every", "1", *pair.resume.get("save", [])] if pair.resume else []
        ours = run_pair(ppopt, description, pair, stem, flags=saving)
        expect_frozen(description, ours)
        if rounds_sums(pair, program):
            return compare_rounded_sums(ours, expected, tolerance)
        compare(pair, ours, expected, tolerance)
        check_step(ppopt, description, pair, ours, stem)
        check_stage_0(ppopt, description, pair, ours, program, tolerance, stem)
        if pair.resume:
            check_resumed(ppopt, description, pair, expected, tolerance, stem)
    finally:
        for end in ("", ".inputs", ".init", ".evaluation", ".log", ".parameters", ".gradients", ".order", ".cuda", ".outputs"):
            if os.path.exists(stem + end):
                os.remove(stem + end)
        shutil.rmtree(stem + ".checkpoints", ignore_errors=True)
