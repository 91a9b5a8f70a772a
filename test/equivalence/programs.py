"""Compiles a model under a plan and trains it, each once, and compares results; cases run on several threads.

A plan has a `name`, the compiler's `flags` and, where the model's text depends on it, `adapt(text)`.
"""
import functools
import os
import pathlib

import numpy as np

from support import mutations
from support.executable import Mismatch, Once, compile_model, environment, expect_close, run

import plans

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = 1e-12
SYNCHRONOUS = "mpirun with synchronous sends"
OPTIMIZED = "gpt"  # the model whose one-rank programs LLVM optimises: it changes no bit (check_bits.py)


def initial_parameters(executable):
    """The same for every plan, whatever order a program lists its parameters in."""
    random = np.random.default_rng(2)
    shapes = sorted((p["name"], p["shape"]) for p in executable.program["parameters"])
    return {name: np.asarray(random.standard_normal(shape) * 0.4) for name, shape in shapes}


def run_flags(run_name):
    """The compiler's and the executable's flags of one of plans.RUNS."""
    _, compile_flags, flags, _ = next(r for r in plans.RUNS if r[0] == run_name)
    return compile_flags, flags


def training_flags(executable, run_name):
    """The executable's flags of one of plans.RUNS, with a seed; without momentum unless the run asks for it."""
    compile_flags, own_flags = run_flags(run_name)
    momentum = ["--momentum", "0"] if executable.keeps_velocity and "momentum" not in " ".join(own_flags) and "sgd" in compile_flags else []
    return [*own_flags, *momentum, "--seed", "5"]


class Programs:
    """`make_inputs`: for each model the function that draws its inputs."""

    def __init__(self, ppopt, directory, make_inputs):
        self.ppopt, self.directory, self.make_inputs = ppopt, directory, make_inputs
        self.once = Once()

    def model_file(self, model, plan):
        """The model's file, or that of the text that the plan makes of it."""
        path = str(HERE / "models" / f"{model}.mlir")
        if not hasattr(plan, "adapt"):
            return path
        with open(path) as file:
            text = file.read()
        adapted = plan.adapt(text)
        if adapted == text:
            return path
        return self.once(f"{model}_{plan.name}.mlir", lambda: self.write(f"{model}_{plan.name}.mlir", adapted))

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def executable(self, model, plan, flags, mutation=None):
        """The program of a plan, with a mutation (support/mutations.py) if one is named."""
        bug = ["--mutate", mutation] if mutation else []
        name = "_".join([model, plan.name, *(f.strip("-").replace("=", "_") for f in [*flags, *bug])])
        return self.once(name, lambda: compile_model(
            mutations.tool_of(self.ppopt) if mutation else self.ppopt, self.model_file(model, plan),
            os.path.join(self.directory, name), [*self.plan_flags(model, plan), "--threads", "1", *flags, *bug],
            optimized=plan == plans.PLANS[0] and model == OPTIMIZED))

    def plan_flags(self, model, plan):
        return plan.flags

    def result(self, model, plan, run_name, launch="threads", mutation=None, init=True, flags=(), name="", variables=None, before=()):
        """Trains with the inputs of the model and, with `init`, parameters drawn here: the compiler's initial values
        leave biases zero. `flags` are the executable's, `variables` those of its environment, `before` a command that each rank is started by; `name` tells runs apart that
        have the same of all else."""
        compile_flags, _ = run_flags(run_name)
        key = ("run", model, plan.name, run_name, launch, mutation, init, tuple(flags), name)

        def make():
            executable = self.executable(model, plan, compile_flags, mutation)
            parameters = initial_parameters(executable) if init else None
            # A mutation may change what is counted: the comparison itself is to see it.
            counters = [] if mutation else ["--check-counters"]
            env = dict(environment(), **(variables or {}))
            if launch == SYNCHRONOUS:
                env["PPOPT_SYNC_SENDS"] = "1"
            stem = "_".join([run_name.replace(" ", "_"), launch.replace(" ", "_"), "given" if init else "own",
                             *(f.strip("-") for f in flags), name])
            return run(executable, [*training_flags(executable, run_name), *flags, *counters], launch.split()[0],
                       dump_gradients=True, init=parameters, inputs=self.make_inputs[model](np.random.default_rng(1)),
                       steps=plans.STEPS, name=stem, env=env, timeout=100, before=before)
        return self.once(key, make)

    def reference(self, model, run_name):
        """What the one-rank program computes."""
        return self.result(model, plans.PLANS[0], run_name)


def compare(ours, reference, parameters, tolerance=TOLERANCE):
    expect_close("losses", ours.losses, reference.losses, tolerance)
    largest = max((np.abs(g).max() for g in reference.gradients.values()), default=0)
    # A gradient that is zero by symmetry is rounding noise: measured against a thousandth of the largest of all.
    expect_close("gradient", ours.gradients, reference.gradients, tolerance, least_scale=1e-3 * largest)
    if parameters:
        expect_close("parameter", ours.parameters, reference.parameters, tolerance)


def expect_same_bits(one, other, what):
    assert one.hexadecimal == other.hexadecimal, f"{what} log other losses: {one.hexadecimal} and {other.hexadecimal}"
    for name, values in one.parameters.items():
        assert values.tobytes() == other.parameters[name].tobytes(), f"{what} leave another {name}"


def check_unchanged(programs, model, plan, names):
    """Frozen parameters and such that cannot learn keep their bits, and have no gradient."""
    before = initial_parameters(programs.executable(model, plan, ["--optimizer", "sgd"]))
    after = programs.result(model, plan, "sgd momentum").parameters
    gradients = programs.result(model, plan, "sgd").gradients
    for name in names:
        assert name not in gradients, f"{name} has a gradient"
        assert before[name].tobytes() == after[name].tobytes(), f"{name} changed"


def check_seen(programs, mutation, model, plan, run_name):
    """The comparison is green without the mutation and red with it."""
    reference = programs.reference(model, run_name)
    compare(programs.result(model, plan, run_name), reference, True)
    mutated = programs.result(model, plan, run_name, mutation=mutation)
    try:
        compare(mutated, reference, True)
    except Mismatch as seen:
        print(f"  {mutation}, {model} {plan.name}: {seen}", flush=True)
        return
    raise AssertionError(f"the comparison does not see {mutation}")


def check_refused(programs, mutation, model, plan, run_name):
    """The verifier lets the program pass without the mutation and refuses it with it."""
    compile_flags, _ = run_flags(run_name)
    programs.executable(model, plan, compile_flags)
    mutations.expect_refused(programs.ppopt, mutation, programs.model_file(model, plan),
                             [*programs.plan_flags(model, plan), *compile_flags])


def mutation_cases(programs, rows):
    """The cases of rows of a mutation, a model, a plan and a run."""
    for mutation, model, plan, run_name in rows:
        case = f"mutation {mutation}, {model} {plan.name}"
        yield case, functools.partial(check_seen, programs, mutation, model, plan, run_name)
        if mutations.VERIFIER[mutation]:
            yield f"{case}, is refused", functools.partial(check_refused, programs, mutation, model, plan, run_name)
