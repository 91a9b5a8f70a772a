#!/usr/bin/env python3
"""What asynchronous training gains where ranks are late, and what it costs in learning (docs/asynchronous.md).

    test/bench/asynchronous.py                      the table of throughput, seven minutes
    test/bench/asynchronous.py --curves quickstart  held-out loss by samples and by second, of the quickstart's model

All modes run in turn, on the same machine and in one go, each round again; a ratio is that of the medians of rounds. Delays are made by the executable
(--delay): the rank stands still, and serves, as long as a slower machine would compute. So two ranks need two cores, and nothing else should run, or `chrt -f 10` before the command.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support.executable import new_log  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402

MODES = {"step": ["--sync", "step"], "stale=1": ["--sync", "stale=1"], "stale=4": ["--sync", "stale=4"], "async": ["--sync", "async"]}
# What is late, the flag, the least throughput relative to `step`, and the most.
DELAYS = [("rank 1 takes 3 times as long, always", "3:1:1", {"stale=4": (0.95, 1.05), "async": (1.6, None)}),
          ("each step on each rank takes 5 times as long, with probability 1/4", "5:0.25", {"stale=1": (1.08, None), "stale=4": (1.2, None)}),
          ("nobody is late", None, {})]
RANKS = 2


def compile_modes(options, model, directory):
    made = {}
    for mode, flags in MODES.items():
        path = os.path.join(directory, "train-" + mode)
        subprocess.run([options.ppopt, "compile", model, "--mesh", f"dp={RANKS}", "--threads", "1", *flags, "-o", path], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        made[mode] = path
    return made


def run(options, executable, log, flags):
    command = [executable, *flags, *new_log(log)]
    env = dict(os.environ)
    if options.mpirun:
        command = under_mpirun(RANKS) + command
        env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    with open(log) as file:
        return [json.loads(line) for line in file]


def throughput(options, directory):
    """Prints the table; returns whether all ratios are as promised."""
    model, text = os.path.join(directory, "gpt.mlir"), os.path.join(directory, "text")
    subprocess.run([options.ppopt, "model", "gpt", "--layers", "4", "--width", "192", "--heads", "4", "--vocab", "256", "--seq", "128", "--batch", "8", "-o", model],
                   check=True)
    with open(text, "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(200000)))
    made, is_kept = compile_modes(options, model, directory), True
    for what, delay, goals in DELAYS:
        rates = {mode: [] for mode in made}
        for _ in range(options.rounds):
            for mode, executable in made.items():
                flags = ["--data", text, "--steps", str(options.steps), "--lr", "0.001", "--clip", "1", *(["--delay", delay] if delay else [])]
                steps = [r for r in run(options, executable, os.path.join(directory, "log"), flags) if r["event"] == "step"]
                # Without the first step, which touches memory for the first time.
                rates[mode].append((len(steps) - 1) * 8 / sum(r["ms"] for r in steps[1:]) * 1e3)
        medians = {mode: statistics.median(each) for mode, each in rates.items()}
        print(f"\n{what}\n  {'':10}{'samples/s':>10}{'ratio':>8}   goal", flush=True)
        for mode, rate in medians.items():
            ratio = rate / medians["step"]
            least, most = goals.get(mode, (None, None))
            goal = "" if least is None else f">= {least}" if most is None else f"{least} to {most}"
            is_met = least is None or (ratio >= least and (most is None or ratio <= most))
            is_kept &= is_met
            print(f"  {mode:10}{rate:10.1f}{ratio:8.2f}   {goal}{'' if is_met else '  MISSED'}", flush=True)
    return is_kept


def curves(options, directory):
    """Trains the quickstart's model in each mode, with random delays."""
    folder = pathlib.Path(options.curves)
    model = str(folder / "gpt.mlir")
    if not os.path.exists(model):
        subprocess.run([options.ppopt, "model", "gpt", "--preset", "byte-gpt", "-o", model], check=True)
    steps = options.steps
    for mode, executable in compile_modes(options, model, directory).items():
        log = str(folder / f"{mode.replace('=', '')}.jsonl")
        flags = ["--data", str(folder / "text/train"), "--eval-data", str(folder / "text/held-out"), "--eval-every", str(steps // 8), "--eval-batches", "32",
                 "--steps", str(steps), "--lr", "2e-3", "--min-lr", "2e-4", "--lr-schedule", "cosine", "--warmup", str(steps // 20), "--weight-decay", "0.1",
                 "--betas", "0.9,0.95", "--clip", "1", "--delay", "5:0.25"]
        seconds, rows, stale = 0.0, [], []
        for record in run(options, executable, log, flags):
            if record["event"] == "step":
                seconds += record["ms"] / 1e3
                stale.append(record.get("staleness", {}).get("mean", 0))
            elif record["event"] == "eval":
                rows.append((record["step"], seconds, record["loss"], statistics.mean(stale) if stale else 0))
                stale = []
        print(f"\n{mode}\n  {'step':>6}{'seconds':>9}{'held-out loss':>15}{'staleness':>11}", flush=True)
        for step, second, loss, mean in rows:
            print(f"  {step:6}{second:9.1f}{loss:15.4f}{mean:11.2f}", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--steps", type=int, help="steps of each run (150; with --curves 160)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--mpirun", action="store_true", help="a process per rank, not a thread")
    parser.add_argument("--curves", metavar="FOLDER", help="the quickstart's folder, with its text; logs are written there, for ppopt plot")
    options = parser.parse_args()
    options.steps = options.steps or (160 if options.curves else 150)
    options.ppopt = os.path.join(options.build, "bin", "ppopt")
    with tempfile.TemporaryDirectory() as directory:
        return 0 if (curves if options.curves else throughput)(options, directory) else 1


if __name__ == "__main__":
    sys.exit(main())
