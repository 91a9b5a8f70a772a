"""Random plans for a description, and one pair of both: compiled, run, compared with what PyTorch made of it."""
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import adds_alike, environment, sums_in_tasks  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.random_plans import Marks, draw_plan, pick, without_sharding  # noqa: E402

from description import make_inputs, make_params  # noqa: E402
from pp_text import pp_text  # noqa: E402

# A process that computes for longer hangs, and so does one that waits for longer, on a machine however loaded.
SECONDS, SECONDS_OF_WAITING = 300, 3600
MOST_RANKS, MOST_PROCESSES = 12, 6


@dataclasses.dataclass
class Pair:
    """A plan for a description. `run` says the optimizer; `marks`, where ops are marked, (seed, places, share, stay); `bad`, where the
    program must refuse an input that is changed at (name, index in the first step, to value); `resume`, which other plan goes on from
    a checkpoint: its compile_flags, ranks and marks, after `step`."""
    compile_flags: list
    run_flags: list
    run: dict
    launch: str = "threads"
    ranks: int = 1
    marks: tuple = ()
    bad: tuple = ()
    resume: dict = dataclasses.field(default_factory=dict)

    def to_json(self):
        return dataclasses.asdict(self)


# --- drawing -----------------------------------------------------------------


def draw_run(random):
    """What trains: the optimizer and its numbers."""
    run = {"optimizer": "sgd", "lr": 0.05, "momentum": 0.0, "nesterov": False, "weight_decay": 0.0, "clip": 0.0, "eps": 1e-3,
           "evaluate": bool(random.random() < 0.4)}
    kind = random.random()
    if kind < 0.12:
        run.update(momentum=0.9, nesterov=bool(random.random() < 0.5))
    elif kind < 0.2:
        run.update(optimizer="adamw", lr=0.01, weight_decay=0.1)
    elif kind < 0.25:
        run.update(optimizer="adam", lr=0.01)
    if random.random() < 0.25:
        run["clip"] = float(random.choice([1e-2, 0.5]))
    return run


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
    return compile_flags, run_flags


def first_pair(run):
    """One rank, with the flags' defaults."""
    compile_flags, run_flags = flags_of_run(run)
    return Pair([*compile_flags, "--threads", "1"], [*run_flags, "--check-counters"], run)


def draw_marks(random, places):
    return int(random.integers(2**31)), places, float(pick(random, [0.2, 0.6, 1.0])), float(pick(random, [0.0, 0.6, 0.9]))


def draw_pair(random, description, run, thresholds=(), allows_mpi=False, **choices):
    """`choices`: those of draw_plan."""
    compile_flags, run_flags = flags_of_run(run)
    plan = draw_plan(random, description["batch"], MOST_RANKS, **choices)
    marks = draw_marks(random, plan.places) if plan.is_marked else ()
    compile_flags += plan.flags
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
    if random.random() < 0.2:
        run_flags += ["--check-replicas", "1"]
    launch = "mpirun" if allows_mpi and 1 < plan.ranks <= MOST_PROCESSES and random.random() < 0.05 else "threads"
    resume = draw_resume(random, description, run) if description["steps"] > 1 and random.random() < 0.25 else {}
    return Pair(compile_flags, run_flags, run, launch, plan.ranks, marks, resume=resume)


def draw_resume(random, description, run):
    """Another plan that goes on after one of the steps."""
    compile_flags, _ = flags_of_run(run)
    plan = draw_plan(random, description["batch"], MOST_RANKS)
    precision = ["--precision", run["precision"]] if run.get("precision") else []
    return {"compile_flags": [*compile_flags, *plan.flags, *precision, "--threads", "1"], "ranks": plan.ranks,
            "marks": draw_marks(random, plan.places) if plan.is_marked else (), "step": int(random.integers(1, description["steps"]))}


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


# --- one pair ----------------------------------------------------------------


class Refused(Exception):
    """The compiler said clearly that it does not take this plan."""


class Finding(Exception):
    """What must not happen. `kind` groups them."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


# In a message: the compiler failed, not the model. What a model is made of are model ops; an error about another op is about
# what the compiler made.
REFERENCE = HERE.parent.parent / "docs" / "reference" / "internal-ops.md"
INTERNAL_OPS = re.findall(r"^## `pp\.(\w+)`", REFERENCE.read_text(), re.MULTILINE)
INTERNAL = re.compile(r"internal|please report|without a reason|dominate|Assertion|LLVM ERROR|terminate called|UNREACHABLE|"
                      r"operand #|block arguments|failed to legalize|llvm\.|memref|undefined reference|has no uses|"
                      rf"'pp\.({'|'.join(INTERNAL_OPS)}|yield)'|'(?!pp\.)\w+\.\w+' op")


# What a plan may be refused for, and the page that says so. All else is a finding.
ACCEPTED = {"no op is on place": "stages.md: with pp=N every place needs an op",
            "can't be cut for --mesh": "stages.md: a model is cut into as many pieces as there are stages",
            "whose gradients the owner would have to gather": "sharded-state.md: --tied owner with stages 2 and 3"}


def run_command(command, what):
    """On a loaded machine all takes longer: what a process computes is limited, and how long one may wait only by far more."""
    limited = ["/bin/sh", "-c", f'ulimit -S -t {SECONDS}; exec "$@"', "sh", *command]
    try:
        done = subprocess.run(limited, capture_output=True, text=True, timeout=SECONDS_OF_WAITING, env=environment(), errors="replace")
    except subprocess.TimeoutExpired:
        raise Finding(f"{what} hangs", f"ends not in {SECONDS_OF_WAITING} s") from None
    if done.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        raise Finding(f"{what} hangs", f"computes for more than {SECONDS} s")
    return done


def message_of(text):
    """The first error, with what differs from model to model left out."""
    line = next((l for l in text.splitlines() if "error" in l), text.strip().splitlines()[0] if text.strip() else "no message")
    line = re.sub(r"^\S+?:(\d+:\d+:)? ?", "", line)
    line = re.sub(r"tensor<[^>]*>", "T", line)
    return re.sub(r"[@%]?\b[a-z]*\d+\b", "N", line)[:160]


def crash_text(text):
    """What was said before the stack, and the stack's frames of ours."""
    lines = [l for l in text.splitlines() if not re.match(r" *#\d+ ", l) or "pp::" in l or ".cpp" in l or "anonymous" in l]
    return "\n".join(l[:300] for l in lines[:12])


def compile_pair(ppopt, description, pair, stem):
    """Writes stem.mlir and the executable stem; raises Refused or Finding."""
    mark = Marks(*pair.marks) if pair.marks else lambda: None
    with open(stem + ".mlir", "w") as file:
        file.write(pp_text(description, mark))
    done = run_command([ppopt, "compile", stem + ".mlir", "-o", stem, *pair.compile_flags], "compiling")
    if done.returncode == 0:
        return
    text = done.stderr + done.stdout
    if done.returncode < 0 or done.returncode > 2 or "error" not in text:
        raise Finding("the compiler crashes", f"status {done.returncode}: {crash_text(text)}")
    message = message_of(text)
    if INTERNAL.search(message):
        raise Finding("internal error", text[:1500])
    if not any(accepted in message for accepted in ACCEPTED):
        raise Finding("refused for another reason", text[:1500])
    raise Refused(message)


def run_pair(description, pair, stem, inputs=None, flags=()):
    """{"losses", "norms", "gradients", "parameters", "evaluations"} as reference.train has them. `flags`: further ones of the executable."""
    batch, steps = description["batch"], description["steps"]
    safetensors_io.write(stem + ".inputs", make_safe(description, inputs or make_inputs(description, steps * batch)))
    safetensors_io.write(stem + ".init", make_safe(description, make_params(description)))
    resumes = "--resume" in flags
    if os.path.exists(stem + ".log"):
        os.remove(stem + ".log")  # a run that resumes writes to its end
    command = [stem, "--steps", str(steps), "--inputs", stem + ".inputs", "--no-shuffle", "--log", stem + ".log", "--export",
               stem + ".parameters", "--timeout", str(SECONDS), *pair.run_flags, *flags]
    command += [] if resumes else ["--init", stem + ".init", "--dump-gradients", stem + ".gradients"]
    if pair.run["evaluate"]:
        safetensors_io.write(stem + ".evaluation", make_safe(description, make_inputs(description, 2 * batch, "evaluation")))
        command += ["--eval-inputs", stem + ".evaluation"]
    if pair.launch == "mpirun":
        command = [*under_mpirun(pair.ranks), *command]
    done = run_command(command, "running")
    if done.returncode != 0:
        raise Finding("the run fails" if done.returncode in (1, 2) else "the run crashes",
                      f"status {done.returncode}: {(done.stderr + done.stdout)[-1500:]}")
    with open(stem + ".log") as file:
        records = [json.loads(line) for line in file]
    steps = [r for r in records if r["event"] == "step"]
    number = lambda r, key: None if r.get("skipped") else float.fromhex(r[key + "_hex"]) if r.get(key + "_hex") else r[key]
    result = {"losses": [number(r, "loss") for r in steps], "norms": [number(r, "norm") for r in steps],
              "gradients": safetensors_io.read(stem + ".gradients") if not resumes and os.path.exists(stem + ".gradients") else {},
              "parameters": safetensors_io.read(stem + ".parameters"), "evaluations": []}
    evaluations = [r for r in records if r["event"] == "eval"]
    if evaluations:
        last = evaluations[-1]
        result["evaluations"] = [None if last["loss"] is None else number(last, "loss"), last.get("skipped_batches", 0)]
    return result


def make_safe(description, arrays):
    """As the file has it: bf16 in two bytes."""
    types = {e["name"]: e["type"][0] for e in description["inputs"] + description["params"]}
    return {n: safetensors_io.BF16(a) if types[n] == "bf16" else a for n, a in arrays.items()}


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


# --- comparison --------------------------------------------------------------


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


def compare(pair, ours, expected, tolerance):
    """`expected` as reference.train has it; its parameters may be None."""
    compare_numbers("loss", ours["losses"][:1], expected["losses"][:1], tolerance)
    if expected["losses"] and expected["losses"][0] is not None:
        compare_tensors("gradient", ours["gradients"], expected["gradients"], tolerance)
    compare_steps(pair, ours, expected, tolerance)


def compare_steps(pair, ours, expected, tolerance):
    """All but the gradients of the first step."""
    compare_numbers("loss after a step", ours["losses"], expected["losses"], tolerance)
    compare_numbers("gradient norm", ours["norms"], expected["norms"], tolerance)
    if expected["parameters"] is not None:
        compare_parameters(pair, ours, expected, tolerance)
    if pair.run["evaluate"]:
        found, wanted = ours["evaluations"], expected["evaluations"]
        expect(len(found) == 2, "wrong evaluation", "there is none")
        compare_numbers("evaluation", found[:1], wanted[:1], tolerance)
        expect(found[1] == wanted[1], "wrong evaluation", f"{found[1]} skipped batches instead of {wanted[1]}")


def expect_refused_id(description, pair, stem):
    """Ids outside of a table, or classes that are none: the run must end with an error, on every plan alike."""
    try:
        run_pair(description, dataclasses.replace(pair, run=dict(pair.run, evaluate=False)), stem,
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


def expect_same_bits(ours, whole):
    for kind in ("losses", "norms", "evaluations"):
        expect(ours[kind] == whole[kind], "not the bits of stage 0", f"{kind}: {ours[kind]} instead of {whole[kind]}")
    for kind in ("gradients", "parameters"):
        expect(set(ours[kind]) == set(whole[kind]), "not the bits of stage 0", f"{kind} of {sorted(set(ours[kind]) ^ set(whole[kind]))}")
        for name, values in whole[kind].items():
            expect(values.tobytes() == ours[kind][name].tobytes(), "not the bits of stage 0",
                   f"{kind} of {name}: at most {np.abs(values - ours[kind][name]).max():.3g} off")


def check_stage_0(ppopt, description, pair, ours, program, tolerance, stem):
    """The same plan with nothing sharded leaves the same bits, or nearly where the numbers of a step are added in another order."""
    flags = without_sharding(pair.compile_flags)
    if flags == pair.compile_flags:
        return
    whole_pair = dataclasses.replace(pair, compile_flags=flags)
    try:
        compile_pair(ppopt, description, whole_pair, stem)
    except Refused as refusal:
        raise Finding("stage 0 is refused", str(refusal)) from None
    whole = run_pair(description, whole_pair, stem)
    if adds_alike(program):
        return expect_same_bits(ours, whole)
    try:
        compare(pair, ours, whole, OTHER_ORDER if description["float"] == "f64" else tolerance)
    except Finding as finding:
        raise Finding(finding.kind + " beside stage 0", str(finding)) from None


def check_resumed(ppopt, description, pair, expected, tolerance, stem):
    """Another plan goes on from a checkpoint of this one."""
    step, folder = pair.resume["step"], stem + ".checkpoints"
    for name in os.listdir(folder):
        if name.startswith("step-") and int(name[5:]) > step:
            shutil.rmtree(os.path.join(folder, name))
    other = dataclasses.replace(pair, compile_flags=pair.resume["compile_flags"], ranks=pair.resume["ranks"], marks=tuple(pair.resume["marks"]),
                                launch="threads", resume={})
    compile_pair(ppopt, description, other, stem)
    try:
        ours = run_pair(description, other, stem, flags=["--checkpoint", folder, "--resume"])
        left = dict(expected, losses=expected["losses"][step:], norms=expected["norms"][step:])
        expect(len(ours["losses"]) == len(left["losses"]), "wrong steps", f"{len(ours['losses'])} instead of {len(left['losses'])}")
        compare_steps(other, ours, left, tolerance)
    except Finding as finding:
        raise Finding("resumed: " + finding.kind, f"under {' '.join(other.compile_flags)} after step {step}: {finding}") from None


def rounds_sums(pair, program):
    """Whether gradients are summed in bf16."""
    flags = pair.compile_flags
    return "--grad-dtype" in flags and flags[flags.index("--grad-dtype") + 1] == "bf16" and sums_in_tasks(program)


def describe(stem):
    return json.loads(run_command([stem, "--describe=json"], "describing").stdout)


def check_pair(ppopt, description, pair, expected, tolerance, stem):
    """Raises Refused or Finding. Leaves the model; removes what is large."""
    try:
        compile_pair(ppopt, description, pair, stem)
        program = describe(stem)
        saving = ["--checkpoint", stem + ".checkpoints", "--checkpoint-every", "1"] if pair.resume else []
        ours = run_pair(description, pair, stem, flags=saving)
        if pair.bad:
            expect_refused_id(description, pair, stem)
        if rounds_sums(pair, program):
            return compare_rounded_sums(ours, expected, tolerance)
        compare(pair, ours, expected, tolerance)
        check_stage_0(ppopt, description, pair, ours, program, tolerance, stem)
        if pair.resume:
            check_resumed(ppopt, description, pair, expected, tolerance, stem)
    finally:
        for end in ("", ".inputs", ".init", ".evaluation", ".log", ".parameters", ".gradients"):
            if os.path.exists(stem + end):
                os.remove(stem + end)
        shutil.rmtree(stem + ".checkpoints", ignore_errors=True)
