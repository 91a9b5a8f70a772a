"""Several GPUs: plans against CPUs, as threads and as processes, with and without a CUDA graph; a rank that fails; tuning; NCCL's rates.

The plans are those of `equivalence` that have several ranks, each on a GPU of its own.
"""
import json
import os
import re
import shutil
import sys
import threading
import time

from measure import libraries, nccl_rates
from measure.context import Failed, Skip, last_line
from measure.driver import Driver, DriverError
from measure.executables import Executable, hexadecimal, read_log
from measure.launch import THREADS, find_mpirun
from measure.nccl import ENVIRONMENT
from measure.processes import OutOfTime
from measure.report import columns, number

from .equivalence import Case, have_same_bits
from .gpt2 import FLAGS

LIMIT = 30       # seconds of one run
ENDS_WITHIN = 20  # seconds after a failure
RATES_LIMIT = 40
STEPS_BEFORE_FAILURE = 3


def several_gpus(context):
    """Their number. Raises Skip if there are not two, or no NCCL."""
    try:
        count = Driver(context.fake).count()
    except (OSError, DriverError) as error:
        raise Failed(f"the driver: {error}") from None
    if count < 2:
        raise Skip(f"{count} GPU is here, and ranks that use NCCL need one each")
    if not libraries.find(libraries.LIBRARIES["NCCL"], context.fake):
        raise Skip("libnccl.so.2 is not here")
    return count


class Gpt:
    """GPT-2 on two ranks."""

    def __init__(self, context):
        gpt2, entry = context.manifest["gpt2"], context.manifest["scaling"]["2"]
        self.context, self.tokens = context, context.file(gpt2["tokens"])
        self.executable = Executable(context, context.manifest["executables"][entry["executable"]])

    def flags(self, tokens, steps):
        return ["--data", tokens, "--tokens", "uint16", *FLAGS, "--steps", str(steps)]


def check_case(context, entry, launchers):
    """Trains a plan in each way; returns what is found."""
    case = Case(context, entry)
    found = {"ranks": entry["ranks"], "wrong": None}
    wrong, runs = [], {}
    try:
        for launcher in launchers:
            # Threads have no graph.
            for graph in (True, False) if launcher is not THREADS else (False,):
                name = launcher.name + ("" if launcher is THREADS else ", graph" if graph else ", no graph")
                runs[name] = case.train(re.sub(r"\W+", "_", name), *([] if graph else ["--no-graph"]), launcher=launcher)
                found[name] = own = {}
                wrong += [f"{name}: {text}" for text in case.judge(runs[name], own)]
        if "processes, graph" in runs:
            found["same_bits"] = have_same_bits(runs["processes, graph"], runs["processes, no graph"])
            if not found["same_bits"]:
                wrong.append("with and without a graph the bits differ")
    except (Failed, OutOfTime) as error:
        wrong.append(str(error))
    found["wrong"] = "; ".join(wrong) or None
    return found


def spoil(path, log, ended):
    """Adds a byte to a data file while ranks train from it. Returns when, or None if they ended before."""
    while not ended.is_set():
        if os.path.exists(log):
            with open(log) as file:
                if file.read().count('"event":"step"') >= STEPS_BEFORE_FAILURE:
                    with open(path, "ab") as data:
                        data.write(b"x")
                    return time.monotonic()
        time.sleep(0.05)
    return None


def check_failure(context, launcher):
    """A rank whose data file changes under it, which is only seen by who reads next, ends all ranks, with its reason once."""
    gpt, name = Gpt(context), f"failure_{launcher.name}"
    tokens, log = context.scratch(f"{name}.bin"), context.scratch(f"{name}.jsonl")
    shutil.copy(gpt.tokens, tokens)
    command = gpt.executable.command(gpt.flags(tokens, 1000000), f"{name}.jsonl", launcher.words(2))
    ended, spoiled = threading.Event(), []
    watch = threading.Thread(target=lambda: spoiled.append(spoil(tokens, log, ended)))
    watch.start()
    try:
        done = context.run(command, LIMIT + ENDS_WITHIN, gpt.executable.environment(**launcher.variables), statuses=(1,))
        seconds = time.monotonic() - spoiled[0] if spoiled and spoiled[0] else None
    finally:
        ended.set()
        watch.join()
    errors = [line.replace(context.folder + "/", "") for line in done.error.splitlines() if line.startswith("error:")]
    context.found["failures"][launcher.name] = {"errors": errors, "seconds": None if context.fake else seconds}
    context.add()
    if len(errors) != 1 or not re.match(r"error: rank \d+: \S+: was changed while training", errors[0]):
        raise Failed(f"{launcher.name}: a rank whose data file changes: {len(errors)} reasons instead of one: {' / '.join(errors)}")
    if seconds is None or seconds > ENDS_WITHIN and not context.fake:
        raise Failed(f"{launcher.name}: {seconds} seconds from a rank's failure to the end of all")


def check_tuning(context):
    """Measures the matmuls once; a run that reads them has the same bits."""
    gpt, file = Gpt(context), context.scratch("tuned.json")
    if os.path.exists(file):
        os.remove(file)
    runs = []
    for name, words in (("tuned", r"[1-9]\d* measured, 0 taken"), ("tuned_again", r"0 measured, [1-9]\d* taken")):
        log = f"{name}.jsonl"
        done = context.run(gpt.executable.command([*gpt.flags(gpt.tokens, 4), "--tune", file], log), LIMIT, gpt.executable.environment())
        line = re.search(rf"matmuls tuned: ({words}.*)", done.out)
        if not line:
            raise Failed(f"{name}: no line of --tune says {words}")
        runs.append(hexadecimal(read_log(context.scratch(log))))
        if not context.fake:
            context.found.setdefault("tuning", []).append(line[1])
    context.add()
    if runs[0] != runs[1]:
        raise Failed("--tune: what was measured and what was read have other bits")


def measure_rates(context, ranks):
    command = [sys.executable, nccl_rates.__file__, ranks, *(["fake"] if context.fake else [])]
    done = context.run(command, RATES_LIMIT, context.environment(**ENVIRONMENT), statuses=None)
    answers = [line for line in done.out.splitlines() if line.startswith("{")]
    found = json.loads(answers[-1]) if answers else {"error": f"status {done.status}: {last_line(done.error)}"}
    if "error" in found:
        raise Failed(f"NCCL's rates: {found['error']}")
    context.add(rates=found)


def run(context):
    count = several_gpus(context)
    mpirun, why = find_mpirun(context, Gpt(context).executable)
    launchers = [THREADS, *([mpirun] if mpirun else [])]
    entries = [entry for entry in context.manifest["equivalence"] if 1 < entry["ranks"] <= count]
    context.add(gpus=count, launchers=[launcher.name for launcher in launchers], no_processes=why, expected=len(entries), cases={}, failures={})
    wrong = []
    for entry in entries:
        found = context.found["cases"][entry["name"]] = check_case(context, entry, launchers)
        context.add()
        if found["wrong"]:
            wrong.append(f"{entry['name']}: {found['wrong']}")
    checks = [lambda launcher=launcher: check_failure(context, launcher) for launcher in launchers]
    for check in (*checks, lambda: check_tuning(context), lambda: measure_rates(context, count)):
        try:
            check()
        except (Failed, OutOfTime) as error:
            wrong.append(str(error))
    if wrong:
        raise Failed("; ".join(wrong))


def lines(found):
    cases = found.get("cases", {})
    yield (f"{found.get('gpus', '?')} GPUs, ranks as {' and '.join(found.get('launchers', []))}"
           + (f" (not as processes: {found['no_processes']})" if found.get("no_processes") else ""))
    yield f"{sum(not case['wrong'] for case in cases.values())} of {found.get('expected', '?')} plans as on CPUs, with the same bits with and without a graph"
    ways = ("threads", "processes, graph", "processes, no graph")
    rows = [[name[:44], str(case["ranks"]), *(f"{max(case[way]['errors'].values()):.1e}" if "errors" in case.get(way, {}) else "-" for way in ways),
             "WRONG" if case["wrong"] else ""] for name, case in cases.items()]
    yield from columns(rows, ["largest error of a plan", " ranks", " threads", " graph", " no graph", ""])
    for name, failure in found.get("failures", {}).items():
        yield f"a rank fails, {name}: " + (f"{failure['seconds']:.1f} s, " if failure["seconds"] else "") + " / ".join(failure["errors"])
    yield from (f"--tune: {line}" for line in found.get("tuning", []))
    rates = found.get("rates", {}).get("rates", [])
    rows = [[line["operation"], f"{line['bytes']:,}", *(number(line[key] and line[key] / 1e9) for key in ("bytes_per_second", "expected_bytes_per_second"))]
            for line in rates]
    yield from columns(rows, [f"NCCL, {found.get('gpus', '?')} ranks", " bytes", " GB/s of a link", " NCCL expects"])
