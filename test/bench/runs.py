"""How bench.py compiles, starts, pins and measures training runs: ours and PyTorch's."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support.mpirun import under_mpirun  # noqa: E402
SHAPE = ("layers", "width", "heads", "vocab", "seq", "batch")
SMALL = (6, 384, 6, 256, 256, 8)
GPT2_124M = (12, 768, 12, 50257, 256, 4)


# How each side is limited to instructions: the environment (oneDNN's variable is for our matmuls and PyTorch's), and flags of ours.
ISAS = {"avx2": ({"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                  "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}, ["--cpu", "x86-64-v3"])}


class Unavailable(Exception):
    """What is to be measured is refused here; its text says why."""


class Failed(Exception):
    """A run that ended otherwise than it should; its text says how."""


def cores():
    return sorted(os.sched_getaffinity(0))


def priority(options):
    """What a command that is measured is started by."""
    return ["chrt", "-f", "10"] if options.realtime else []


def ended(process):
    """Whether a child has ended; leaves it to be waited for, so that its resources can be read."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class Run:
    """One training run: milliseconds of its steps but the first, peak memory of its largest process, the seconds from
    its start to the start and to the end of its first step, and all lines of its log."""

    def __init__(self, commands, log, env, steps):
        if os.path.exists(log):
            os.remove(log)
        begin = time.monotonic()
        processes = [subprocess.Popen(c, env=e, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                     for c, e in zip(commands, env)]
        first = None
        while first is None and not all(map(ended, processes)):
            time.sleep(0.002)
            if os.path.exists(log) and self.steps_of(self.lines_of(log)):
                first = time.monotonic() - begin
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
                raise Failed(f"{' '.join(process.args)}\nexit status {process.returncode}\n{output[-3000:]}")
        self.lines = self.lines_of(log)
        records = self.steps_of(self.lines)
        if len(records) != steps:
            raise Failed(f"{log}: {len(records)} steps, expected {steps}")
        self.first_begin, self.first_end = first - records[0]["ms"] / 1e3, first
        self.ms = [record["ms"] for record in records[1:]]
        self.losses = [record["loss"] for record in records]

    @staticmethod
    def lines_of(log):
        with open(log) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    @staticmethod
    def steps_of(lines):
        return [line for line in lines if "step" in line and "ms" in line]


def shape_flags(shape):
    return [text for name, value in zip(SHAPE, shape) for text in (f"--{name}", str(value))]


def write_gpt(options, directory, shape, name="gpt"):
    model = os.path.join(directory, f"{name}.mlir")
    subprocess.run([options.ppopt, "model", "gpt", *shape_flags(shape), "-o", model], check=True)
    return model


def compile_model(options, model, executable, threads, flags):
    """The seconds that it took. Raises Unavailable."""
    command = [*priority(options), options.ppopt, "compile", model, "--threads", str(threads), "--optimizer", "adamw",
               *(ISAS[options.isa][1] if options.isa else []), *flags, "-o", executable]
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Unavailable(next((line for line in done.stderr.splitlines() if "error" in line), done.stderr))
    return time.monotonic() - begin


def ours(options, executable, log, ranks, threads, flags=(), data=None):
    """`data`: the flags that say what is read, if not the text."""
    command = [*priority(options), executable, *(data or ["--data", options.data]), "--steps", str(options.steps), "--lr", "3e-4",
               "--betas", "0.9,0.95", "--clip", "1", "--log", log, *flags]
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if ranks == 1:
        return Run([["taskset", "-c", ",".join(map(str, cores()[:threads])), *command]], log, [env], options.steps)
    pinned = ["sh", "-c", 'shift "$OMPI_COMM_WORLD_LOCAL_RANK"; core=$1; while [ "$1" != -- ]; do shift; done; shift; '
              'exec taskset -c "$core" "$@"', "sh", *(str(cores()[rank % len(cores())]) for rank in range(ranks)), "--"]
    return Run([[*under_mpirun(ranks), *pinned, *command]], log, [env], options.steps)


def pytorchs(options, log, shape, ranks, threads, flags=()):
    command = [*priority(options), options.pytorch, str(HERE / "torch_step.py"), "--data", options.data,
               "--steps", str(options.steps), "--threads", str(threads), "--log", log, *shape_flags(shape), *flags]
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
