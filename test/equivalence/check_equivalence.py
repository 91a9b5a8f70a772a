#!/usr/bin/env python3
"""Holds every plan of a model against its one-rank program: losses, gradients and parameters, in f64 within 1e-12.

The pairs are listed in plans.py. Further: ranks as threads and under mpirun log the same bits, and each planted bug
turns the comparison red. By hand: check_equivalence.py --filter 'lm dp2', --keep DIR.
"""
import argparse
import functools
import os
import pathlib
import sys
import tempfile
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "gradients")]
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

import plans  # noqa: E402
from graph import model_text  # noqa: E402
from random_graphs import LARGE, SMALL, random_graph  # noqa: E402

TOLERANCE = 1e-12


def initial_parameters(executable):
    """The same for every plan, whatever order a program lists its parameters in."""
    random = np.random.default_rng(2)
    shapes = sorted((p["name"], p["shape"]) for p in executable.program["parameters"])
    return {name: np.asarray(random.standard_normal(shape) * 0.4) for name, shape in shapes}


class Programs:
    """Compiles each (model, plan, flags) once; cases run on several threads."""

    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory
        self.locks = {}
        self.lock = threading.Lock()
        self.done = {}

    def once(self, key, make):
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self.done:
                self.done[key] = make()
            return self.done[key]

    def executable(self, model, plan, flags):
        name = "_".join([model, plan.name, *(f.strip("-").replace("=", "_") for f in flags)])
        return self.once(name, lambda: compile_model(
            self.ppopt, str(HERE / "models" / f"{model}.mlir"), os.path.join(self.directory, name),
            [*plan.flags, "--threads", "1", *flags]))

    def result(self, model, plan, run_name, launch="threads", extra=(), init=True):
        """Trains with the inputs of the model and, with `init`, parameters drawn here: the compiler's initial values
        leave biases zero."""
        _, compile_flags, flags, _ = next(r for r in plans.RUNS if r[0] == run_name)
        key = ("run", model, plan.name, run_name, launch, tuple(extra), init)

        def make():
            executable = self.executable(model, plan, [*compile_flags, *extra])
            make_inputs = next(m[1] for m in plans.MODELS if m[0] == model)
            momentum = ["--momentum", "0"] if executable.keeps_velocity and "momentum" not in " ".join(flags) \
                and "sgd" in compile_flags else []
            parameters = initial_parameters(executable) if init else None
            # A planted bug may change what is counted: the comparison itself is to see it.
            counters = [] if extra else ["--check-counters"]
            return run(executable, [*flags, *momentum, "--seed", "5", *counters], launch, dump_gradients=True,
                       init=parameters, inputs=make_inputs(np.random.default_rng(1)), steps=plans.STEPS,
                       name=run_name.replace(" ", "_") + ("" if init else "_own_init"))
        return self.once(key, make)


def compare(ours, reference, parameters):
    expect_close("losses", ours.losses, reference.losses, TOLERANCE)
    largest = max(np.abs(g).max() for g in reference.gradients.values())
    # A gradient that is zero by symmetry is rounding noise: measured against a thousandth of the largest of all.
    expect_close("gradient", ours.gradients, reference.gradients, TOLERANCE, least_scale=1e-3 * largest)
    if parameters:
        expect_close("parameter", ours.parameters, reference.parameters, TOLERANCE)


def check_plan(programs, model, plan, launch, run_name, parameters):
    reference = programs.result(model, plans.PLANS[0], run_name)
    compare(programs.result(model, plan, run_name, launch), reference, parameters)


def check_unchanged(programs, model, names):
    """Frozen parameters and such that cannot learn keep their bits, and have no gradient."""
    plan = plans.Plan(2, 2)
    before = initial_parameters(programs.executable(model, plan, ["--optimizer", "sgd"]))
    after = programs.result(model, plan, "sgd momentum").parameters
    gradients = programs.result(model, plan, "sgd").gradients
    for name in names:
        assert name not in gradients, f"{name} has a gradient"
        assert before[name].tobytes() == after[name].tobytes(), f"{name} changed"


def check_bits(programs, model, ranks):
    """Threads and mpirun log the same hexadecimal losses and export the same bytes, from the compiler's own initial values."""
    plan = plans.Plan(ranks, 2)
    threads, mpi = (programs.result(model, plan, "sgd momentum", launch, init=False) for launch in ("threads", "mpirun"))
    assert threads.hexadecimal == mpi.hexadecimal, f"threads {threads.hexadecimal}, mpirun {mpi.hexadecimal}"
    for name, values in threads.parameters.items():
        assert values.tobytes() == mpi.parameters[name].tobytes(), f"{name} differs between threads and mpirun"


def check_own_init(programs, model):
    """Initial values and dropout depend on the seed, not on the plan."""
    one, four = (programs.result(model, plan, "sgd", init=False) for plan in (plans.Plan(1, 1), plans.Plan(4, 2)))
    compare(four, one, True)


def check_planted(programs, bug, model, plan, run_name):
    reference = programs.result(model, plans.PLANS[0], run_name)
    compare(programs.result(model, plan, run_name), reference, True)  # green without the bug
    planted = programs.result(model, plan, run_name, extra=(f"--plant={bug}",))
    try:
        compare(planted, reference, True)
    except Mismatch as seen:
        print(f"  planted {bug}: {seen}", flush=True)
        return
    raise AssertionError(f"the planted bug {bug} was not seen")


def check_random(programs, seed):
    """A random graph, small or large, under a random plan of one or two threads a rank, and its loss in numpy as well."""
    random = np.random.default_rng(seed)
    graph = random_graph(seed, plans.BATCH, LARGE if seed % 2 else SMALL)
    model = os.path.join(programs.directory, f"random_{seed}.mlir")
    with open(model, "w") as file:
        file.write(model_text([graph], "random"))
    plan = plans.Plan(int(random.integers(1, 5)), int(random.choice([2, 4])))
    results = []
    for number, flags in enumerate(([*plans.PLANS[0].flags, "--threads", "1"],
                                    [*plan.flags, "--threads", str(random.integers(1, 3))])):
        executable = compile_model(programs.ppopt, model, f"{model[:-5]}_{number}", [*flags, "--optimizer", "sgd"])
        results.append(run(executable, ["--lr", "0.01", "--check-counters"], dump_gradients=True, init=graph.params,
                           inputs=graph.inputs))
    compare(results[1], results[0], True)
    expect_close(f"loss under {plan.name}", results[1].losses[0], graph.loss(graph.params), 1e-11)


def tests_of(programs, graphs, seed):
    for model, _, unchanged in plans.MODELS:
        for plan in plans.PLANS:
            for number, (run_name, _, _, parameters) in enumerate(plans.RUNS):
                if plan == plans.PLANS[0] or (number > 1 and plan.name not in plans.FULL):
                    continue
                for launch in plan.launch if number == 0 else ("threads",):
                    yield (f"{model} {plan.name} {run_name} {launch}",
                           functools.partial(check_plan, programs, model, plan, launch, run_name, parameters))
        yield f"{model} own init", functools.partial(check_own_init, programs, model)
        if unchanged:
            yield f"{model} unchanged", functools.partial(check_unchanged, programs, model, unchanged)
        for ranks in (2, 3, 4):
            yield f"{model} bits of {ranks} ranks", functools.partial(check_bits, programs, model, ranks)
    for number in range(seed, seed + graphs):
        yield f"random {number}", functools.partial(check_random, programs, number)
    for bug, model, plan, run_name in plans.PLANTED:
        yield f"planted {bug}", functools.partial(check_planted, programs, bug, model, plan, run_name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    parser.add_argument("--graphs", type=int, default=8, help="how many random graphs, each under a random plan (default 8)")
    parser.add_argument("--seed", type=int, default=100, help="of the first random graph")
    harness = Harness("equivalence", parser)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        harness.cases(list(tests_of(Programs(harness.ppopt, directory), harness.args.graphs, harness.args.seed)))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
