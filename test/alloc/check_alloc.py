#!/usr/bin/env python3
"""Counts allocations in steps after the first, by library (interpose.c), and finds none from our code.

Ours are the executable and the runtime's transport modules. What other libraries allocate is printed, a line each.
"""
import collections
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import checked, compile_model, environment, run  # noqa: E402
from support.results import SOURCE, Harness  # noqa: E402

STEPS = 6
MODEL = ["--layers", "2", "--width", "32", "--heads", "2", "--vocab", "256", "--seq", "16", "--batch", "8"]


def is_ours(library, executable):
    name = os.path.basename(library)
    return os.path.realpath(library) == os.path.realpath(executable) or "ppopt" in name


def place(library, offset):
    """Function and line of an offset in a library, as far as it has symbols."""
    done = subprocess.run(["addr2line", "-Cfpe", library, hex(int(offset, 16) - 1)], capture_output=True, text=True)
    return done.stdout.strip() or offset


def check(harness, interposer, directory, axis, ranks, launch):
    model = os.path.join(directory, f"gpt_{axis}_{ranks}_{launch}.mlir")
    checked([harness.ppopt, "model", "gpt", *MODEL, "-o", model])
    executable = compile_model(harness.ppopt, model, model[:-5], ["--mesh", f"{axis}={ranks}", "--microbatches", "2",
                                                                  "--threads", "1"])
    text = os.path.join(SOURCE, "test", "alloc", "interpose.c")
    report = executable.path + ".allocations"
    log = f"{executable.path}.run.{launch}.jsonl"
    env = dict(environment(), PPOPT_ALLOC_REPORT=report, PPOPT_ALLOC_LOG=log)
    # Under mpirun only the ranks are to be preloaded, not mpirun itself: `env` is what it starts.
    result = run(executable, ["--data", text, "--clip", "1", "--tensorboard", executable.path + ".events"], launch, steps=STEPS, env=env,
                 before=["env", f"LD_PRELOAD={interposer}"])
    assert len(result.records) == STEPS, f"{len(result.records)} steps logged"
    # Which step a line of the log ends.
    with open(log) as file:
        lines = [re.search(r'"step"', line) is not None for line in file]
    finished = [sum(lines[:n]) for n in range(len(lines) + 1)]
    ours, theirs = [], collections.Counter()
    with open(report) as file:
        for event in file:
            line, function, size, asker, owner, offset = event.split()
            step = finished[min(int(line), len(lines))]
            # In the last one a rank may have finished and be exporting before rank 0 has logged it.
            if not 1 <= step < STEPS - 1:
                continue
            if is_ours(owner, executable.path):
                ours.append(f"step {step + 1}: {function} of {size} bytes at {place(owner, offset)}")
            else:
                theirs[os.path.basename(owner)] += 1
    for library, count in theirs.most_common():
        print(f"  {axis}={ranks}, {launch}: {library} allocates {count / (STEPS - 2) / ranks:.1f} times per step and rank")
    assert not ours, f"{len(ours)} allocations in steps after the first:\n" + "\n".join(ours[:20])


def check_interposer(interposer, directory):
    """The counter counts: a program that allocates in its third step is seen to."""
    program = os.path.join(directory, "allocates")
    checked(["g++", "-g", "-O1", "-o", program, str(HERE / "allocates.cpp")])
    report, log = program + ".report", program + ".log"
    checked(["env", f"LD_PRELOAD={interposer}", program, log],
            env=dict(environment(), PPOPT_ALLOC_REPORT=report, PPOPT_ALLOC_LOG=log))
    with open(report) as file:
        events = [event.split() for event in file]
    seen = [(int(e[0]), e[1]) for e in events if is_ours(e[4], program)]
    assert seen == [(2, "malloc"), (2, "malloc"), (2, "mmap")], f"seen: {events}"


def main():
    harness = Harness("alloc")
    with tempfile.TemporaryDirectory() as directory:
        interposer = os.path.join(directory, "interpose.so")
        checked(["cc", "-O1", "-fPIC", "-shared", "-o", interposer, str(HERE / "interpose.c")])
        harness.case("the counter counts", functools.partial(check_interposer, interposer, directory))
        for axis, ranks, launch in [("dp", 1, "threads"), ("dp", 2, "threads"), ("dp", 2, "mpirun"), ("pp", 2, "threads"),
                                    ("pp", 2, "mpirun")]:
            harness.case(f"{axis}={ranks}, {launch}",
                         functools.partial(check, harness, interposer, directory, axis, ranks, launch))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
