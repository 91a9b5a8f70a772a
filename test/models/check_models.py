#!/usr/bin/env python3
"""Random models against PyTorch's autograd in f64: committed/ holds descriptions with losses and gradients, which need no PyTorch here.

Some of them are trained under drawn plans of stages 2 and 3 too, and beside stage 0. With --pytorch fresh models are drawn as well (generate.py).
The comparison is tested itself: another op printed, a gradient that is off by a part in a hundred million, or a mutation must turn it red.
"""
import copy
import dataclasses
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest.mock
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import mutations  # noqa: E402
from support.executable import without_optimizing  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

from comparison import check_pair  # noqa: E402
from pairs import draw_pair, pair_of  # noqa: E402
from trials import Finding, Refused, compile_pair  # noqa: E402
import comparison  # noqa: E402
import trials  # noqa: E402
import pp_text  # noqa: E402

LIVE = 30  # models drawn with --pytorch
SHARDED = 5  # each fifth model is trained under a drawn plan of stages 2 and 3
OPTIMIZED = 6  # LLVM optimises programs of about each sixth model: it changes no bit (test/equivalence/check_bits.py)


def expected_of(entry):
    return {"losses": entry["losses"], "norms": entry["norms"], "evaluations": entry["evaluations"], "parameters": None,
            "metrics": entry.get("metrics", []), "predictions": {n: np.array(values) for n, values in entry.get("predictions", {}).items()},
            "gradients": {n: np.array(g, dtype=np.float64) for n, g in entry["gradients"].items()}}


def pairs_of(entry, optimized=False):
    """`optimized`: whether LLVM optimises every third program: the first, of one rank with default flags, and some plans."""
    for number, pair in enumerate(entry["pairs"]):
        pair = pair_of(pair, run=entry["run"])
        yield pair if optimized and number % 3 == 0 else not_optimized(pair)


def not_optimized(pair):
    resume = dict(pair.resume, compile_flags=without_optimizing(pair.resume["compile_flags"])) if pair.resume else pair.resume
    return dataclasses.replace(pair, compile_flags=without_optimizing(pair.compile_flags), resume=resume)


def check_entry(ppopt, directory, path):
    """All plans of a committed description; a plan that is refused says so clearly, and one rank is never refused."""
    entry = json.loads(path.read_text())
    for number, pair in enumerate(pairs_of(entry, optimized=zlib.crc32(path.stem.encode()) % OPTIMIZED == 0)):
        stem = os.path.join(directory, f"{path.stem}_{number}")
        try:
            check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
        except Refused as refusal:
            assert number > 0 and "can't be split" not in str(refusal), f"{path.name}, pair {number}: {' '.join(pair.compile_flags)}: refused: {refusal}"
        except Finding as finding:
            raise AssertionError(f"{path.name}, pair {number}: ppopt compile {' '.join(pair.compile_flags)}; run with "
                                 f"{' '.join(pair.run_flags)}\n{finding}") from finding


def check_sharded(ppopt, directory, path):
    """A plan of stage 2 or 3 on several data-parallel ranks, always the same: PyTorch's numbers, and what stage 0 leaves."""
    entry = json.loads(path.read_text())
    random, stem = np.random.default_rng([zlib.crc32(path.stem.encode()), 17]), os.path.join(directory, f"{path.stem}_sharded")
    for _ in range(50):
        pair = not_optimized(draw_pair(random, entry["description"], entry["run"], stages=[2, 3]))
        if not any(f"{axis}=" in " ".join(pair.compile_flags) for axis in ("dp", "fsdp")):
            continue
        try:
            return check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
        except Refused:
            continue
        except Finding as finding:
            resume = f"; then {' '.join(pair.resume['compile_flags'])}" if pair.resume else ""
            raise AssertionError(f"{path.name}: ppopt compile {' '.join(pair.compile_flags)}; run with {' '.join(pair.run_flags)}{resume}\n"
                                 f"{finding}") from finding
    raise AssertionError(f"{path.name}: no plan of 50 is taken")


def can_shard(path):
    """Whether some drawn mesh divides the batch: 7 rows have none."""
    batch = json.loads(path.read_text())["description"]["batch"]
    return any(batch % ranks == 0 for ranks in (2, 3, 4))


@functools.cache
def check_unchanged(ppopt, directory, of, number):
    entry = json.loads((HERE / "committed" / f"{of}.json").read_text())
    check_pair(ppopt, entry["description"], list(pairs_of(entry))[number], expected_of(entry), entry["tolerance"], os.path.join(directory, f"unchanged_{of}"))


def check_sees(ppopt, directory, change):
    """Green without `change`, red with it."""
    check_unchanged(ppopt, directory, change.of, change.pair)
    entry = json.loads((HERE / "committed" / f"{change.of}.json").read_text())
    pair, stem = list(pairs_of(entry))[change.pair], os.path.join(directory, f"planted_{change.__name__}")
    try:
        with change(entry) as changed:
            check_pair(ppopt, changed["description"], pair, expected_of(changed), changed["tolerance"], stem)
    except Finding as seen:
        assert seen.kind.startswith("wrong"), f"another finding: {seen}"
        print(f"  {change.__name__}: {seen}", flush=True)
        return
    raise AssertionError(f"{change.__name__} was not seen")


class Changed:
    """Of a copy of the entry, for a while."""

    of, pair = "planted", 0

    def __init__(self, entry):
        self.entry = copy.deepcopy(entry)

    def __enter__(self):
        return self.entry

    def __exit__(self, *_):
        return False


class wrong_gradient(Changed):
    """One element is off by 1e-7 of the largest."""

    def __enter__(self):
        gradient = np.array(next(iter(self.entry["gradients"].values())))
        gradient.reshape(-1)[0] += 1e-7 * np.abs(gradient).max()
        self.entry["gradients"][next(iter(self.entry["gradients"]))] = gradient.tolist()
        return self.entry


class wrong_loss(Changed):
    def __enter__(self):
        self.entry["losses"][0] *= 1 + 1e-7
        return self.entry


class wrong_evaluation(Changed):
    def __enter__(self):
        self.entry["evaluations"][0] *= 1 + 1e-7
        return self.entry


class other_rows(Changed):
    """An evaluation over fewer rows than were asked for."""

    def __enter__(self):
        self.entry["evaluations"][1] += 1
        return self.entry


class wrong_printer(Changed):
    """tanh is printed as erf."""

    def __enter__(self):
        pp_text.SIMPLE.remove("tanh")
        pp_text.Printer.print_tanh = lambda self, node, dtype, shape, x, _: self.unary("erf", x)
        return self.entry

    def __exit__(self, *_):
        del pp_text.Printer.print_tanh
        pp_text.SIMPLE.add("tanh")
        return False


class dropped_detach(Changed):
    """A detach is left out: the loss is right, gradients are not."""

    def __enter__(self):
        detach = next(n for n in self.entry["description"]["nodes"] if n["op"] == "detach")
        detach["op"] = "checkpoint"
        return self.entry


class ignored_lr_scale(Changed):
    of = "planted_groups"

    def __enter__(self):
        for param in self.entry["description"]["params"]:
            param.pop("lr_scale", None)
        return self.entry


class ignored_decay_scale(Changed):
    of = "planted_groups"

    def __enter__(self):
        for param in self.entry["description"]["params"]:
            param.pop("decay_scale", None)
        return self.entry


class frozen_decays(Changed):
    """A frozen parameter has a gradient of next to nothing, and decays."""

    of = "planted_groups"

    def __enter__(self):
        description = self.entry["description"]
        param = next(p for p in description["params"] if p.pop("frozen", False))
        node = lambda name, op, operands, shape, **others: {"name": name, "op": op, "in": operands, "type": [param["type"][0], shape], **others}
        added = [node("still", "detach", [param["name"]], param["type"][1]), node("tiny", "constant", [], [], value=1e-200),
                 node("scaled", "mul", [param["name"], "tiny"], param["type"][1]), node("decaying", "add", ["still", "scaled"], param["type"][1])]
        for each in description["nodes"]:
            each["in"] = ["decaying" if name == param["name"] else name for name in each["in"]]
        description["nodes"][:0] = added
        return self.entry


class wrong_metric(Changed):
    """Of the second step."""

    of, pair = "metrics_and_outputs", 1

    def __enter__(self):
        self.entry["metrics"][1]["ratio"] *= 1 + 1e-7
        return self.entry


class wrong_prediction(Changed):
    """Of the last row."""

    of = "metrics_and_outputs"

    def __enter__(self):
        self.entry["predictions"]["h"][-1][-1][-1] += 1e-7
        return self.entry


# What a pair is compared with beside PyTorch's numbers must see a mutation (support/mutations.py) too: the mutation, of programs with --zero;
# what the pair says; the finding.
SHARDED_PLAN = ["--mesh", "dp=3,fsdp=2", "--zero", "1"]
SEEN = [("norm-over-replicas", {"compile_flags": SHARDED_PLAN}, "not the bits of stage 0"),
        ("norm-over-replicas", {"resume": {"compile_flags": SHARDED_PLAN, "ranks": 6, "marks": (), "step": 1}}, "resumed: wrong gradient norm"),
        ("update-ignores-hold", {"compile_flags": SHARDED_PLAN, "not_finite": ("x1", 0, "nan")}, "not finite: not the bits of stage 0"),
        ("norm-before-wait", {"compile_flags": SHARDED_PLAN, "fake_seed": 3}, "the run fails")]


def write_mutating_ppopt(ppopt, directory, mutation):
    """Returns a compiler that puts the mutation into programs with --zero, beside what lies beside the other."""
    folder = os.path.join(directory, mutation)
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "test")):
        os.symlink(os.path.join(os.path.dirname(ppopt), "test"), os.path.join(folder, "test"))
    path = os.path.join(folder, "ppopt")
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\ncase "$*" in *--zero*) exec {mutations.tool_of(ppopt)} "$@" --mutate {mutation};; esac\nexec {ppopt} "$@"\n')
    os.chmod(path, 0o755)
    return path


def check_sees_mutation(ppopt, directory, mutation, changes, kind):
    """Green without the mutation, and the finding with it, whatever PyTorch's numbers are."""
    entry = json.loads((HERE / "committed" / "planted.json").read_text())
    pair = next(pairs_of(entry))
    for key, value in changes.items():
        setattr(pair, key, pair.compile_flags + value if key == "compile_flags" else value)
    if pair.resume:
        pair.resume = dict(pair.resume, compile_flags=next(pairs_of(entry)).compile_flags + pair.resume["compile_flags"])
    # What is compared with PyTorch's numbers alone would see some mutations before.
    tolerance = entry["tolerance"] if pair.resume else float("inf")
    stem = os.path.join(directory, re.sub(r"\W+", "_", f"sees {mutation} {kind}"))
    check_pair(ppopt, entry["description"], pair, expected_of(entry), tolerance, stem)
    try:
        check_pair(write_mutating_ppopt(ppopt, directory, mutation), entry["description"], pair, expected_of(entry), tolerance, stem)
    except Finding as seen:
        assert seen.kind == kind, f"another finding: {seen}"
        print(f"  {mutation}: {seen}"[:400], flush=True)
        return
    raise AssertionError(f"{mutation} was not seen")


def check_sees_messages(directory):
    """An error about an op that no model has is the compiler's, not the model's; what a plan may be refused for is listed."""
    ppopt, entry = os.path.join(directory, "refuses"), json.loads((HERE / "committed" / "planted.json").read_text())
    for message, seen_as in (("'pp.launch' op is wrong", "internal error"), ("'pp.gemm' op is wrong", "internal error"),
                             ("'llvm.func' op is wrong", "internal error"), ("'pp.reshape' op is wrong", "refused for another reason"),
                             ("no op is on place 1 of --mesh pp=2", None)):
        with open(ppopt, "w") as file:
            file.write(f"#!/bin/sh\necho \"m.mlir:1:2: error: {message}\" >&2\nexit 1\n")
        os.chmod(ppopt, 0o755)
        try:
            compile_pair(ppopt, entry["description"], next(pairs_of(entry)), os.path.join(directory, "refused"))
        except (Finding, Refused) as seen:
            assert getattr(seen, "kind", None) == seen_as, f"{message}: {seen!r}"
        else:
            raise AssertionError(f"{message}: not refused")


def check_sees_hang(directory):
    """A compiler that computes for too long is stopped."""
    ppopt, entry = os.path.join(directory, "hangs"), json.loads((HERE / "committed" / "planted.json").read_text())
    with open(ppopt, "w") as file:
        file.write("#!/bin/sh\nwhile :; do :; done\n")
    os.chmod(ppopt, 0o755)
    with unittest.mock.patch.object(trials, "SECONDS_OF_COMPILING", 1):
        try:
            compile_pair(ppopt, entry["description"], next(pairs_of(entry)), os.path.join(directory, "hanging"))
        except Finding as seen:
            assert seen.kind == "compiling takes too long", f"{seen!r}"
            return
    raise AssertionError("a compiler without an end is not seen")


def check_sees_evaluation(ppopt, directory):
    """A program that evaluates rows, of a model that mixes them."""
    entry, stem = json.loads((HERE / "committed" / "planted.json").read_text()), os.path.join(directory, "planted_evaluation")
    with unittest.mock.patch.object(comparison, "evaluates_rows", lambda description: False):
        try:
            check_pair(ppopt, entry["description"], next(pairs_of(entry)), expected_of(entry), entry["tolerance"], stem)
        except Finding as seen:
            assert seen.kind == "evaluates rows", f"another finding: {seen}"
            return
    raise AssertionError("another kind of evaluation is not seen")


def check_sees_cuda(ppopt, directory):
    """What does not compile for GPUs is a finding, whatever the message."""
    entry, refuses = json.loads((HERE / "committed" / "planted.json").read_text()), os.path.join(directory, "refuses_cuda")
    with open(refuses, "w") as file:
        file.write(f'#!/bin/sh\ncase "$*" in *"--target cuda"*) echo "error: no op is on place 1" >&2; exit 1;; esac\nexec {ppopt} "$@"\n')
    os.chmod(refuses, 0o755)
    pair, stem = next(pairs_of(entry)), os.path.join(directory, "planted_cuda")
    pair.cuda = ["--target", "cuda", "--no-generation"]
    check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
    try:
        check_pair(refuses, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
    except Finding as seen:
        assert seen.kind == "for cuda: refused", f"another finding: {seen}"
        return
    raise AssertionError("a refusal is not seen")


def check_sees_frozen(ppopt, directory):
    """The last bit of a frozen parameter."""
    entry, stem = json.loads((HERE / "committed" / "planted_groups.json").read_text()), os.path.join(directory, "planted_frozen")
    frozen = next(p["name"] for p in entry["description"]["params"] if p.get("frozen"))

    def disturbed(*arguments, **others):
        result = trials.run_pair(*arguments, **others)
        result["parameters"][frozen] = np.nextafter(result["parameters"][frozen], np.inf)
        return result

    with unittest.mock.patch.object(comparison, "run_pair", disturbed):
        try:
            check_pair(ppopt, entry["description"], next(pairs_of(entry)), expected_of(entry), entry["tolerance"], stem)
        except Finding as seen:
            assert seen.kind == "wrong parameter", f"another finding: {seen}"
            return
    raise AssertionError("a frozen parameter that changes is not seen")


def parameter_off(result):
    """By one bit."""
    name, values = next(iter(result["parameters"].items()))
    result["parameters"][name] = np.nextafter(values, np.inf)


def trainer_off(result):
    result["trainer_steps"][1, 0][0] += 1e-9


def trainer_not_finite(result):
    result["trainer_steps"][1, 0][1] = float("inf")


# Asynchronous plans: the compiler's flags, the run that is disturbed, how, and the finding.
ASYNCHRONOUS = [(["--sync", "stale=1"], "second", parameter_off, "not the bits of --sync step"),
                (["--sync", "async", "--mesh", "dp=2"], "second", parameter_off, "not the bits of the record"),
                (["--sync", "async", "--mesh", "dp=3"], "second", trainer_off, "not the bits of the record"),
                (["--sync", "stale=2", "--mesh", "dp=2,pp=2"], "first", trainer_not_finite, "wrong loss of a trainer")]


def check_sees_trainers(ppopt, directory, number):
    """One trainer leaves what --sync step does, several what their record says, unless a run's result is disturbed."""
    flags, which, change, kind = ASYNCHRONOUS[number]
    entry, stem = json.loads((HERE / "committed" / "planted.json").read_text()), os.path.join(directory, f"planted_trainers_{number}")
    pair = next(pairs_of(entry))
    pair.compile_flags = pair.compile_flags + flags
    check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
    runs = []

    def disturbed(*arguments, **others):
        runs.append(trials.run_pair(*arguments, **others))
        if len(runs) == {"first": 1, "second": 2}[which]:
            change(runs[-1])
        return runs[-1]

    with unittest.mock.patch.object(comparison, "run_pair", disturbed):
        try:
            check_pair(ppopt, entry["description"], pair, expected_of(entry), entry["tolerance"], stem)
        except Finding as seen:
            assert seen.kind == kind, f"another finding: {seen}"
            return
    raise AssertionError(f"{change.__name__} of the {which} run was not seen")


def check_live(harness, directory):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    seed = int(time.time())
    command = [harness.args.pytorch, str(HERE / "generate.py"), "--count", str(LIVE), "--seed", str(seed), "--ppopt", harness.ppopt,
               "--keep", os.path.join(tempfile.gettempdir(), "ppopt_found"), "--jobs", str(len(os.sched_getaffinity(0)))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout, end="", flush=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def check_again(harness, _):
    """The committed numbers are what PyTorch makes of the descriptions here."""
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    done = subprocess.run([harness.args.pytorch, str(HERE / "make_committed.py"), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def main():
    harness = Harness("models")
    with tempfile.TemporaryDirectory() as directory:
        cases = [(path.stem, functools.partial(check_entry, harness.ppopt, directory, path))
                 for path in sorted((HERE / "committed").glob("*.json"))]
        harness.cases(cases)
        sharded = [path for path in sorted((HERE / "committed").glob("*.json")) if can_shard(path)][::SHARDED]
        harness.cases([(f"{path.stem}, sharded", functools.partial(check_sharded, harness.ppopt, directory, path)) for path in sharded])
        for change in (wrong_gradient, wrong_loss, wrong_evaluation, other_rows, wrong_printer, dropped_detach,
                       ignored_lr_scale, ignored_decay_scale, frozen_decays, wrong_metric, wrong_prediction):
            harness.case(f"sees {change.__name__}", functools.partial(check_sees, harness.ppopt, directory, change))
        for mutation, changes, kind in SEEN:
            harness.case(f"sees {mutation}, {kind}", functools.partial(check_sees_mutation, harness.ppopt, directory, mutation, changes, kind))
        harness.case("sees messages", functools.partial(check_sees_messages, directory))
        harness.case("sees an evaluation of rows", functools.partial(check_sees_evaluation, harness.ppopt, directory))
        harness.case("sees a frozen parameter change", functools.partial(check_sees_frozen, harness.ppopt, directory))
        harness.case("sees cuda", functools.partial(check_sees_cuda, harness.ppopt, directory))
        for number, (flags, *_, kind) in enumerate(ASYNCHRONOUS):
            harness.case(f"sees {kind}, {' '.join(flags)}", functools.partial(check_sees_trainers, harness.ppopt, directory, number))
        harness.case("sees a hang", functools.partial(check_sees_hang, directory))
        harness.case("committed again", functools.partial(check_again, harness, directory))
        harness.case("live", functools.partial(check_live, harness, directory))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
