"""A step of the small GPT with two threads on two cores, alone and while another program keeps one of them busy: ours, PyTorch's and JAX's."""
import contextlib
import os
import statistics
import subprocess
import sys

from goals import Comparison
from runs import HERE, SMALL, Failed, Run, compile_model, cores, ours, priority, pytorchs, shape_flags, write_gpt

GOAL = 1.35
THREADS = 2


def jaxs(options, log):
    command = [*priority(options), "taskset", "-c", ",".join(map(str, cores()[:THREADS])), options.jax, str(HERE / "jax_step.py"),
               "--data", options.data, "--steps", str(options.steps), "--log", log, *shape_flags(SMALL)]
    return Run([command], log, [dict(os.environ)], options.steps)


@contextlib.contextmanager
def busy(options):
    """A loop on the second of the cores."""
    loop = subprocess.Popen([*priority(options), "taskset", "-c", str(cores()[THREADS - 1]), sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def measure(options, directory, table):
    if options.realtime:
        raise Failed("with --realtime the loop would keep the core for good")
    executable, log = os.path.join(directory, "train"), os.path.join(directory, "log.jsonl")
    compile_model(options, write_gpt(options, directory, SMALL), executable, THREADS, [])
    sides = {"ours": lambda: ours(options, executable, log, 1, THREADS),
             "PyTorch": lambda: pytorchs(options, log, SMALL, 1, THREADS),
             "JAX": lambda: jaxs(options, log)}
    if not os.path.exists(options.jax):
        del sides["JAX"]
        table.add("neighbours: JAX's step, beside a busy loop", note=f"{options.jax} is missing: README.md says how to install it")
    alone, beside = {name: [] for name in sides}, {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, run in sides.items():
            alone[name].append(run())
            with busy(options):
                beside[name].append(run())
    Comparison.check_losses(alone)
    for name in sides:
        # Medians: in the least of its steps the neighbour happened to have less of the core.
        with_loop, without = (statistics.median(ms for run in of[name] for ms in run.ms) for of in (beside, alone))
        whose = "our" if name == "ours" else f"{name}'s"
        table.add(f"neighbours: {whose} step, beside a busy loop", GOAL if name == "ours" else None, with_loop, without, "ms",
                  with_loop / without, note="medians; theirs: the same alone")
