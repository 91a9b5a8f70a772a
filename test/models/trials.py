"""Compiles a description under a plan and runs it. What may not happen is a Finding, a plan that is not taken Refused."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import environment  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.random_plans import Marks, without  # noqa: E402

from description import make_inputs, make_params  # noqa: E402
from groups import without_flags  # noqa: E402
from pp_text import pp_text  # noqa: E402

# A process that computes for longer hangs, and so does one that waits for longer, on a machine however loaded. Models are small: what compiles one
# for longer takes too long.
SECONDS, SECONDS_OF_WAITING, SECONDS_OF_COMPILING = 300, 3600, 60


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
            "has no stage; use fewer places": "predictions.md: every place needs an op that outputs need",
            "can't be cut for --mesh": "stages.md: a model is cut into as many pieces as there are stages",
            "ops in blocks, more than": "testing.md: sizes that the compiler refuses",
            "whose copies would be updated in different orders": "asynchronous.md: parameters tied across places",
            "whose gradients the owner would have to gather": "sharded-state.md: --tied owner with stages 2 and 3"}

# Of these, what may be true for GPUs alone: ops are placed by their cost there, and a parameter used on one place on CPUs may be on two.
OF_PLACEMENT = "whose gradients the owner would have to gather"


def run_command(command, what, variables=(), seconds=None):
    """On a loaded machine all takes longer: what a process computes is limited, and how long one may wait only by far more."""
    limited = ["/bin/sh", "-c", f'ulimit -S -t {seconds or SECONDS}; exec "$@"', "sh", *command]
    try:
        done = subprocess.run(limited, capture_output=True, text=True, errors="replace", timeout=SECONDS_OF_WAITING,
                              env=environment() | dict(variables))
    except subprocess.TimeoutExpired:
        raise Finding(f"{what} hangs", f"ends not in {SECONDS_OF_WAITING} s") from None
    if done.returncode in (-signal.SIGXCPU, 128 + signal.SIGXCPU):
        raise Finding(f"{what} takes too long", f"computes for more than {seconds or SECONDS} s")
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


def text_of(description, pair):
    """The model as the pair's flags leave it."""
    return pp_text(without_flags(description, pair.compile_flags), Marks(*pair.marks) if pair.marks else lambda: None)


def compile_pair(ppopt, description, pair, stem):
    """Writes stem.mlir and the executable stem; raises Refused or Finding."""
    with open(stem + ".mlir", "w") as file:
        file.write(text_of(description, pair))
    compile_file(ppopt, stem + ".mlir", stem, pair.compile_flags)


def compile_for_cuda(ppopt, pair, stem):
    """What compile_pair has written, for GPUs: it may not be refused but for where its ops are placed, and nothing runs."""
    flags = [*without(pair.compile_flags, ("--cpu", "--threads")), *pair.cuda]
    try:
        compile_file(ppopt, stem + ".mlir", stem + ".cuda", flags, {"PPOPT_PTXAS": "none"})
    except Finding as finding:
        raise Finding("for cuda: " + finding.kind, f"{' '.join(pair.cuda)}: {finding}") from None
    except Refused as refusal:
        if OF_PLACEMENT in str(refusal):
            return
        raise Finding("for cuda: refused", f"{' '.join(pair.cuda)}: {refusal}") from None


def compile_file(ppopt, model, output, flags, variables=()):
    """Raises Refused or Finding."""
    done = run_command([ppopt, "compile", model, "-o", output, *flags], "compiling", variables, SECONDS_OF_COMPILING)
    if done.returncode == 0:
        return
    text = done.stderr + done.stdout
    if done.returncode < 0 or done.returncode > 2 or "error" not in text:
        raise Finding("the compiler crashes", f"status {done.returncode}: {crash_text(text)}")
    message = message_of(text)
    if INTERNAL.search(message):
        raise Finding("internal error", f"{message}\n{text[:1500]}")
    if not any(accepted in message for accepted in ACCEPTED):
        raise Finding("refused for another reason", f"{message}\n{text[:1500]}")
    raise Refused(message)


def variables_of(ppopt, pair):
    """Of the environment of a pair's runs."""
    if not pair.fake_seed:
        return {}
    module = os.path.join(os.path.dirname(ppopt), "test", "libppopt_fake_device.so")
    return {"PPOPT_DEVICE_MODULE": module, "PPOPT_FAKE_SEED": str(pair.fake_seed)}


def run_pair(ppopt, description, pair, stem, inputs=None, flags=()):
    """{"losses", "norms", "gradients", "parameters", "first_evaluation", "evaluations"} as reference.train has them, and what each of several trainers
    said of its steps. `flags`: further ones of the executable."""
    batch, steps = description["batch"], description["steps"]
    safetensors_io.write(stem + ".inputs", make_safe(description, inputs or make_inputs(description, steps * batch)))
    safetensors_io.write(stem + ".init", make_safe(description, make_params(description)))
    resumes = "--resume" in flags
    if os.path.exists(stem + ".log"):
        os.remove(stem + ".log")
    command = [stem, "--steps", str(steps), "--inputs", stem + ".inputs", "--no-shuffle", "--log", stem + ".log", "--export",
               stem + ".parameters", "--timeout", str(SECONDS), *pair.run_flags, *flags]
    command += [] if resumes else ["--init", stem + ".init"]
    dumps = not resumes and pair.trainers == 1
    command += ["--dump-gradients", stem + ".gradients"] if dumps else []
    if pair.run["evaluate"]:
        safetensors_io.write(stem + ".evaluation", make_safe(description, make_inputs(description, pair.run["evaluate"], "evaluation")))
        command += ["--eval-inputs", stem + ".evaluation"]
    if pair.launch == "mpirun":
        command = [*under_mpirun(pair.ranks), *command]
    done = run_command(command, "running", variables_of(ppopt, pair))
    if done.returncode != 0:
        raise Finding("the run fails" if done.returncode in (1, 2) else "the run crashes",
                      f"status {done.returncode}: {(done.stderr + done.stdout)[-1500:]}")
    with open(stem + ".log") as file:
        records = [json.loads(line) for line in file]
    steps = [r for r in records if r["event"] == "step"]
    number = lambda r, key: None if r.get("skipped") or r[key] is None else float.fromhex(r[key + "_hex"]) if r.get(key + "_hex") else r[key]
    result = {"losses": [number(r, "loss") for r in steps], "norms": [number(r, "norm") for r in steps],
              "gradients": safetensors_io.read(stem + ".gradients") if dumps and os.path.exists(stem + ".gradients") else {},
              "parameters": safetensors_io.read(stem + ".parameters"), "evaluations": [], "metrics": [r.get("metrics", {}) for r in steps]}
    evaluations = [[number(r, "loss"), r["samples"], r.get("metrics", {})] for r in records if r["event"] == "eval"]
    if evaluations:
        result["first_evaluation"], result["evaluations"] = evaluations[0], evaluations[-1]
    result["trainer_steps"] = {(r["step"], r["part"]): [number(r, "loss"), number(r, "norm")] for r in records if r["event"] == "trainer_step"}
    return result


def predict_pair(ppopt, description, pair, stem):
    """The outputs for rows that are not trained on, with the initial parameters: {name: array}."""
    safetensors_io.write(stem + ".inputs", make_safe(description, make_inputs(description, pair.run["predict"], "prediction")))
    safetensors_io.write(stem + ".init", make_safe(description, make_params(description)))
    if os.path.exists(stem + ".outputs"):
        os.remove(stem + ".outputs")
    command = [stem, "--init", stem + ".init", "--predict", stem + ".inputs", "-o", stem + ".outputs", "--timeout", str(SECONDS),
               *(["--poison"] if "--poison" in pair.run_flags else [])]
    done = run_command([*(under_mpirun(pair.ranks) if pair.launch == "mpirun" else []), *command], "predicting", variables_of(ppopt, pair))
    if done.returncode != 0:
        raise Finding("the prediction fails" if done.returncode in (1, 2) else "the prediction crashes",
                      f"status {done.returncode}: {(done.stderr + done.stdout)[-1500:]}")
    return safetensors_io.read(stem + ".outputs")


def make_safe(description, arrays):
    """As the file has it: bf16 in two bytes."""
    types = {e["name"]: e["type"][0] for e in description["inputs"] + description["params"]}
    return {n: safetensors_io.BF16(a) if types[n] == "bf16" else a for n, a in arrays.items()}
