#!/usr/bin/env python3
"""Times our training step against PyTorch's, in turn, pinned alike. README.md says how to run and read it."""
import argparse
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
SHAPE = ("layers", "width", "heads", "vocab", "seq", "batch")


def cores():
    return sorted(os.sched_getaffinity(0))


def ended(process):
    """Whether a child has ended; leaves it to be waited for, so that its resources can be read."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class Run:
    """One training run: milliseconds of its steps but the first, peak memory of its largest process, and the seconds from
    its start to the end of its first step."""

    def __init__(self, commands, log, env, steps):
        if os.path.exists(log):
            os.remove(log)
        begin = time.monotonic()
        processes = [subprocess.Popen(c, env=e, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                     for c, e in zip(commands, env)]
        self.first = None
        while self.first is None and not all(map(ended, processes)):
            time.sleep(0.005)
            if os.path.exists(log) and self.steps_of(log):
                self.first = time.monotonic() - begin
        self.peak = 0
        for process in processes:
            output = process.stdout.read().decode(errors="replace")
            # Of the process and those that it waited for: mpirun's is that of its largest rank.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.peak = max(self.peak, usage.ru_maxrss * 1024)
            if process.returncode != 0:
                for other in processes:
                    if other.returncode is None:
                        other.send_signal(signal.SIGTERM)
                sys.exit(f"{' '.join(process.args)}\nexit status {process.returncode}\n{output[-3000:]}")
        records = self.steps_of(log)
        if len(records) != steps:
            sys.exit(f"{log}: {len(records)} steps, expected {steps}")
        self.ms = [record["ms"] for record in records[1:]]

    @staticmethod
    def steps_of(log):
        with open(log) as file:
            lines = [line for line in file if line.endswith("\n")]
        return [r for r in map(json.loads, lines) if "step" in r and "ms" in r]


def ours(options, executable, log, ranks, threads):
    command = [executable, "--data", options.data, "--steps", str(options.steps), "--lr", "3e-4", "--clip", "1",
               "--log", log]
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if ranks == 1:
        return Run([["taskset", "-c", ",".join(map(str, cores()[:threads])), *command]], log, [env], options.steps)
    pinned = ["sh", "-c", 'shift "$OMPI_COMM_WORLD_LOCAL_RANK"; core=$1; while [ "$1" != -- ]; do shift; done; shift; '
              'exec taskset -c "$core" "$@"', "sh", *map(str, cores()[:ranks]), "--"]
    return Run([["mpirun", "--oversubscribe", "--bind-to", "none", "-np", str(ranks), *pinned, *command]], log, [env],
               options.steps)


def pytorchs(options, log, ranks, threads):
    command = [options.pytorch, str(HERE / "torch_step.py"), "--data", options.data, "--steps", str(options.steps),
               "--threads", str(threads), "--log", log]
    for name in SHAPE:
        command += [f"--{name}", str(getattr(options, name))]
    if options.compile:
        command.append("--compile")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    commands, environments = [], []
    for rank in range(ranks):
        pin = cores()[:threads] if ranks == 1 else [cores()[rank]]
        commands.append(["taskset", "-c", ",".join(map(str, pin)), *command])
        environments.append(dict(os.environ, OMP_NUM_THREADS=str(threads), RANK=str(rank), WORLD_SIZE=str(ranks),
                                 MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)))
    return Run(commands, log, environments, options.steps)


def compare(options, directory, title, ranks, threads):
    model, executable = os.path.join(directory, "gpt.mlir"), os.path.join(directory, f"train{ranks}")
    shape = [text for name in SHAPE for text in (f"--{name}", str(getattr(options, name)))]
    subprocess.run([options.ppopt, "model", "gpt", *shape, "-o", model], check=True)
    subprocess.run([options.ppopt, "compile", model, "--mesh", f"dp={ranks}", "--threads", str(threads),
                    "--microbatches", str(options.microbatches), "--optimizer", "adamw", "-o", executable], check=True)
    mine, theirs = [], []
    for number in range(options.rounds):
        mine.append(ours(options, executable, os.path.join(directory, "ours.jsonl"), ranks, threads))
        theirs.append(pytorchs(options, os.path.join(directory, "pytorch.jsonl"), ranks, threads))
        print(f"  round {number + 1}: ours {min(mine[-1].ms):.0f} ms, PyTorch {min(theirs[-1].ms):.0f} ms", flush=True)

    def row(what, unit, of):
        a, b = of(mine), of(theirs)
        print(f"  {what:<22} {a:>10.1f} {b:>10.1f}  {unit:<4} {a / b:>6.2f}")

    print(f"{title}\n  {'':<22} {'ours':>10} {'PyTorch':>10}  {'':<4} {'ratio':>6}")
    row("minimum step", "ms", lambda runs: min(ms for run in runs for ms in run.ms))
    row("median step", "ms", lambda runs: statistics.median(ms for run in runs for ms in run.ms))
    row("peak memory of a rank", "MiB", lambda runs: max(run.peak for run in runs) / 2**20)
    row("time to first step", "s", lambda runs: min(run.first for run in runs))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in zip(SHAPE, (6, 384, 6, 256, 256, 8)):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"of the GPT (default {value})")
    parser.add_argument("--steps", type=int, default=8, help="steps of a run; the first is not timed (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side, in turn (default 3)")
    parser.add_argument("--microbatches", type=int, default=1, help="of ours (default 1)")
    parser.add_argument("--compile", action="store_true", help="torch.compile instead of eager")
    parser.add_argument("--only", choices=("threads", "ranks"), help="one of the two comparisons")
    parser.add_argument("--build", default=str(SOURCE / "build" / "release"))
    parser.add_argument("--pytorch", default=str(SOURCE / ".venv-pytorch" / "bin" / "python"))
    parser.add_argument("--data", default=str(HERE / "bench.py"), help="text to train on; only speed matters")
    options = parser.parse_args()
    options.ppopt = os.path.join(options.build, "bin", "ppopt")
    for path, how in [(options.ppopt, "build it first (tools/check or ninja)"),
                      (options.pytorch, "run test/pytorch/install.sh")]:
        if not os.path.exists(path):
            sys.exit(f"bench.py: {path} is missing: {how}")
    if len(cores()) < 2:
        sys.exit("bench.py: needs two cores")
    with tempfile.TemporaryDirectory() as directory:
        if options.only != "ranks":
            compare(options, directory, "one process, two threads", 1, 2)
        if options.only != "threads":
            compare(options, directory, "two data-parallel ranks of one thread (mpirun; DDP over gloo)", 2, 1)


if __name__ == "__main__":
    main()
