"""Training with ranks as threads, and all that runs beside it, under the thread sanitizer: build/thread-sanitizer, whose
runtime is instrumented (docs/testing.md). Run by `tools/check --sanitize thread`."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from support.executable import checked  # noqa: E402
from support.results import Harness  # noqa: E402

RED = 66
PLANS = {
    "dp=2": ["--mesh", "dp=2", "--microbatches", "2"],
    "pp=2, 1f1b": ["--mesh", "pp=2", "--microbatches", "4"],
    "pp=2, zb-h1": ["--mesh", "pp=2", "--microbatches", "4", "--schedule", "zb-h1"],
    "dp=2, pp=2": ["--mesh", "dp=2,pp=2", "--microbatches", "2"],
    "local, pp=2": ["--mesh", "pp=2", "--microbatches", "2", "--launch", "local"],
}


def environment():
    options = f"halt_on_error=1 exitcode={RED} suppressions={HERE}/suppressions.txt second_deadlock_stack=1"
    return dict(os.environ, TSAN_OPTIONS=options, OMP_NUM_THREADS="1", GOMP_SPINCOUNT="0")


def compile_plan(harness, folder, flags):
    """The compiler has libMLIR's threads, and the sanitizer does not see how they wait for each other."""
    unseen = dict(os.environ, TSAN_OPTIONS="report_bugs=0")
    model = os.path.join(folder, "model.mlir")
    checked([harness.ppopt, "model", "gpt", "--layers", "2", "--width", "16", "--heads", "2", "--seq", "16", "--batch", "8",
             "--dropout", "0.1", "-o", model])
    train = os.path.join(folder, "train")
    checked([harness.ppopt, "compile", model, "-o", train, "--threads", "1", *flags], env=unseen)
    return train


def training(folder, train, steps):
    """Reads, shuffles, evaluates, saves, traces and profiles."""
    data = str(HERE.parent / "support")
    return [train, "--data", data, "--eval-data", data, "--eval-every", "2", "--eval-batches", "2", "--clip", "1",
            "--steps", str(steps), "--checkpoint", f"{folder}/saved", "--checkpoint-every", "2", "--keep", "2",
            "--trace", f"{folder}/trace.json", "--profile=all", "--log", f"{folder}/log.jsonl", "--check-counters",
            "--poison"]


def run_plan(harness, flags):
    with tempfile.TemporaryDirectory() as folder:
        train = compile_plan(harness, folder, flags)
        checked(training(folder, train, 5), timeout=600, env=environment())
        checked([*training(folder, train, 8), "--resume"], timeout=600, env=environment())


def run_until_signal(harness):
    """A training that is told to stop saves and ends."""
    with tempfile.TemporaryDirectory() as folder:
        train = compile_plan(harness, folder, PLANS["dp=2, pp=2"])
        running = subprocess.Popen(training(folder, train, 1000000), env=environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        output = ""
        for line in running.stdout:
            output += line
            if line.startswith("step ") and running.poll() is None:
                running.send_signal(signal.SIGTERM)
                break
        output += running.stdout.read()
        status = running.wait(timeout=600)
        assert status == 128 + signal.SIGTERM, f"exit status {status}\n{output[-5000:]}"


def see_planted_race(harness):
    program = os.path.join(harness.args.build, "bin", "test", "ppopt-planted-race")
    done = subprocess.run([program], env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == RED and "data race" in done.stderr, f"exit status {done.returncode}: {done.stderr[-3000:]}"


def main():
    harness = Harness("threads")
    harness.case("planted race is seen", lambda: see_planted_race(harness))
    for name, flags in PLANS.items():
        harness.case(name, lambda flags=flags: run_plan(harness, flags))
    harness.case("stopped by a signal", lambda: run_until_signal(harness))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
