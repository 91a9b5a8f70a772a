#!/usr/bin/env python3
"""Trains on the fake device (docs/adding-a-device.md) and expects the bits of the CPU.

A sample of plans covers every pair of values of FACTORS, each with another order of the operations. Further: many orders of one pipeline, checkpoints,
generation, maps, replicas, a step that is not finite, and what the fake device must see: each wait that is left out, unless it is of no use.
By hand: check_fake.py --filter 'tied.*zb-h1', --keep DIR.
"""
import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import checked, compile_model, environment, new_log  # noqa: E402
from support.results import Harness  # noqa: E402

import plans  # noqa: E402
import stage_plans  # noqa: E402
from pairwise import cover  # noqa: E402
from programs import Programs, check_refused, expect_same_bits  # noqa: E402
from stage_plans import StagePlan  # noqa: E402

FACTORS = {
    "model": ["gpt", "tied", "losses"],
    "schedule": ["gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"],
    "places": [2, 3],
    "microbatches": [1, 3],
    "dp": [1, 2],
    "tied": ["sum", "owner"],
    "launch": ["local", "threads", "mpirun"],
    "run": ["sgd clipped", "sgd averaged", "adamw clipped"],
    "poison": [False, True],
    "recompute": ["none", "cheap", "layer"],
    "bucket_bytes": ["25MiB", "200"],
    "fsdp": [1, 2],
    "zero": [0, 1, 2, 3],
    "gather": ["task", "step"],
}
# Two places, two ranks each. With shards, gathers of parameters are in flight between steps, or inside tasks, where gradients are summed too.
PIPELINES = [StagePlan(2, 3, 2, "1f1b"), StagePlan(2, 3, 2, "1f1b", zero=1, bucket_bytes="200"), StagePlan(2, 3, 2, "1f1b", zero=2, bucket_bytes="2KiB"),
             StagePlan(2, 3, 2, "1f1b", zero=3, bucket_bytes="2KiB"), StagePlan(2, 3, 1, "1f1b", fsdp=2, zero=3, gather="step", bucket_bytes="2KiB")]
SEEDS = 20
MOST_PLANTS = 40
GPT = ["--layers", "2", "--width", "32", "--heads", "2", "--vocab", "256", "--seq", "16", "--batch", "8"]


class Fake:
    def __init__(self, build):
        self.module = os.path.join(build, "bin", "test", "libppopt_fake_device.so")
        assert os.path.exists(self.module), f"{self.module} is not built"

    def variables(self, seed, **others):
        return {"PPOPT_DEVICE_MODULE": self.module, "PPOPT_FAKE_SEED": str(seed), **others}

    def environment(self, seed, **others):
        return dict(environment(), **self.variables(seed, **others))


def expect_same(fake, cpu, what):
    expect_same_bits(fake, cpu, what)
    for name, values in cpu.gradients.items():
        assert values.tobytes() == fake.gradients[name].tobytes(), f"{what} have another gradient of {name}"
    assert "running on fake device, seed" in fake.output, fake.output


def check_row(programs, fake, row, seed):
    plan = stage_plans.plan_of(row)
    launch = "threads" if row["launch"] == "local" else row["launch"]
    flags = (["--poison"] if row["poison"] else []) + (["--check-replicas", "1"] if row["dp"] * row["fsdp"] > 1 else [])
    run = functools.partial(programs.result, row["model"], plan, row["run"], launch, flags=flags)
    expect_same(run(name="fake", variables=fake.variables(seed)), run(), "the fake device and the CPU")


def run_pipeline(programs, plan, name, variables):
    return programs.result("gpt", plan, "sgd clipped", name=name, variables=variables)


def check_seeds(programs, fake, plan):
    """Whatever order operations run in."""
    cpu = run_pipeline(programs, plan, "", None)
    for seed in range(SEEDS):
        expect_same(run_pipeline(programs, plan, f"seed{seed}", fake.variables(seed)), cpu, f"seed {seed} and the CPU")


def check_report(programs, fake, directory, plan):
    """A step allocates nothing, and nothing is left over at the end."""
    path = os.path.join(directory, f"report_{plan.name}.jsonl")
    run_pipeline(programs, plan, "report", fake.variables(3, PPOPT_FAKE_REPORT=path))
    with open(path) as file:
        lines = sorted((json.loads(line) for line in file), key=lambda line: line["rank"])
    assert [line["rank"] for line in lines] == list(range(4)), lines
    for line in lines:
        assert line["late_allocations"] == 0 and line["discarded"] == 0, line
        assert line["launches"] > 0 and line["matmuls"] > 0 and line["waits"] > 0 and line["synchronizations"] > 0, line
    return lines


def check_dropped_waits(programs, fake, directory, plan):
    """Without one of its waits the pipeline is a race that names two operations, or, where other orders imply it, the same."""
    cpu = run_pipeline(programs, plan, "", None)
    waits = min(line["waits"] for line in check_report(programs, fake, directory, plan))
    red = 0
    plants = sorted(set(np.linspace(1, waits, min(waits, MOST_PLANTS)).astype(int).tolist()))
    for number in plants:
        try:
            result = run_pipeline(programs, plan, f"dropped{number}", fake.variables(number, PPOPT_FAKE_PLANT=f"drop-wait:{number}"))
        except AssertionError as failure:
            assert "race: " in str(failure) and "in no order" in str(failure), failure
            red += 1
        else:
            expect_same(result, cpu, f"the fake device without wait {number} and the CPU")
    print(f"  {plan.name}: {red} of {len(plants)} waits that were left out are races", flush=True)
    assert red > 0, "no wait is needed"


def check_race(programs, fake, mutation, model, plan, run_name):
    """What a mutation leaves in no order is a race; without it there is none."""
    variables = fake.variables(1)
    programs.result(model, plan, run_name, name="fake", variables=variables)
    try:
        programs.result(model, plan, run_name, mutation=mutation, name="fake", variables=variables)
    except AssertionError as failure:
        assert "race: " in str(failure) and "in no order" in str(failure), failure
        print(f"  {mutation}, {model} {plan.name}: {next(line for line in str(failure).splitlines() if 'race: ' in line)}", flush=True)
        return
    raise AssertionError(f"the fake device does not see {mutation}")


def check_stale(programs, fake, mutation, model, plan, run_name):
    """The fake device computes what the CPU does; with a mutation that sends what is out of date it does not."""
    cpu = programs.result(model, plan, run_name)
    run = functools.partial(programs.result, model, plan, run_name, name="fake", variables=fake.variables(1))
    expect_same(run(), cpu, "the fake device and the CPU")
    assert run(mutation=mutation).hexadecimal != cpu.hexadecimal, f"the fake device does not see {mutation}"


def make_gpt(ppopt, directory):
    model = os.path.join(directory, "small.mlir")
    checked([ppopt, "model", "gpt", *GPT, "-o", model])
    text = os.path.join(directory, "text")
    with open(text, "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(4000)))
    return compile_model(ppopt, model, os.path.join(directory, "small"),
                         ["--mesh", "dp=2,pp=2", "--microbatches", "2", "--threads", "1", "--zero", "1", "--bucket-bytes", "4KiB"], generates=True), text


def losses_of(log):
    with open(log) as file:
        records = [json.loads(line) for line in file]
    return [(record["event"], record["step"], record["loss_hex"]) for record in records if record["event"] in ("step", "eval")]


def train_gpt(directory, gpt, name, env, *flags, steps=5):
    """Trains a small GPT. Returns its losses and evaluations, the bytes of its parameters, and what it printed."""
    executable, text = gpt
    stem = os.path.join(directory, name)
    done = checked([executable.path, "--data", text, "--eval-data", text, "--eval-batches", "2", "--eval-every", "2", "--steps", str(steps),
                    *new_log(stem + ".jsonl", flags), "--export", stem + ".safetensors", *flags], env=env)
    assert ("running on fake device" in done.stdout) == ("PPOPT_DEVICE_MODULE" in env), done.stdout
    with open(stem + ".safetensors", "rb") as file:
        return losses_of(stem + ".jsonl"), file.read(), done.stdout


def check_checkpoints(fake, gpt, directory):
    """What one device saves the other goes on with."""
    cpu_losses, cpu_parameters, _ = train_gpt(directory, gpt, "straight", environment())
    for saver, loader in (("fake", "cpu"), ("cpu", "fake")):
        env = {"fake": fake.environment(5), "cpu": environment()}
        folder = os.path.join(directory, f"saved by {saver}")
        save = ["--checkpoint", folder, "--checkpoint-every", "2"]
        train_gpt(directory, gpt, f"saving {saver}", env[saver], *save, steps=3)
        losses, parameters, output = train_gpt(directory, gpt, f"loading {loader}", env[loader], *save, "--resume")
        assert "after step 3" in output, output
        assert losses == cpu_losses[-len(losses):], (losses, cpu_losses)
        assert parameters == cpu_parameters, f"saved by {saver}, loaded by {loader}: other parameters"


def check_generation(fake, gpt, directory):
    report = os.path.join(directory, "generated.jsonl")
    train_gpt(directory, gpt, "to generate", environment())
    command = [gpt[0].path, "--init", os.path.join(directory, "to generate.safetensors"), "--generate", "20", "--prompt", "abc"]
    cpu, other = (subprocess.run(command, capture_output=True, check=True, env=env, timeout=100).stdout
                  for env in (environment(), fake.environment(7, PPOPT_FAKE_REPORT=report)))
    assert cpu and cpu == other, (cpu, other)
    assert os.path.getsize(report) > 0, "the fake device did not generate"


def check_maps(fake, gpt, directory):
    """Matrices that a map transposes are written and read as on the CPU."""
    _, plain, _ = train_gpt(directory, gpt, "plain", environment(), steps=1)
    parameters = safetensors_io.read(os.path.join(directory, "plain.safetensors"))
    path = os.path.join(directory, "transposed.json")
    with open(path, "w") as file:
        entries = {name: {"tensor": "t." + name, "transpose": values.ndim == 2} for name, values in parameters.items()}
        json.dump({"format": "ppopt parameter map", "version": 1, "parameters": entries}, file)
    train_gpt(directory, gpt, "transposed", fake.environment(8), "--export-map", path, steps=1)
    transposed = safetensors_io.read(os.path.join(directory, "transposed.safetensors"))
    assert any(values.ndim == 2 for values in parameters.values()) and len(transposed) == len(parameters), sorted(transposed)
    for name, values in parameters.items():
        assert np.array_equal(transposed["t." + name], values.T), f"{name} is not transposed"
    init = ["--init", os.path.join(directory, "transposed.safetensors"), "--init-map", path]
    _, again, _ = train_gpt(directory, gpt, "transposed back", fake.environment(9), *init, steps=0)
    assert again == plain, "transposed back: other parameters"


def check_non_finite(ppopt, fake, directory):
    """A step that is not finite is found, replayed and explained in the same words."""
    random = np.random.default_rng(7)
    rows = {name: random.normal(size=(2 * plans.BATCH, 5)) for name in "xy"}
    rows["x"][plans.BATCH + 7, 3] = np.nan
    inputs = os.path.join(directory, "bad.safetensors")
    safetensors_io.write(inputs, rows)
    executable = compile_model(ppopt, str(HERE / "models" / "skip.mlir"), os.path.join(directory, "skip"),
                               ["--mesh", "dp=2", "--microbatches", "2", "--threads", "1", "--zero", "1"])
    errors = []
    for env in (environment(), fake.environment(1)):
        done = subprocess.run([executable.path, "--inputs", inputs, "--no-shuffle", "--steps", "2"], capture_output=True, text=True, env=env, timeout=100)
        assert done.returncode == 1, done.stderr
        errors.append(done.stderr)
    assert "input 'x' is nan at [7, 3]" in errors[0] and errors[0] == errors[1], errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    harness = Harness("fake", parser)
    fake = Fake(harness.args.build)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        programs = Programs(harness.ppopt, directory, {name: inputs for name, (inputs, _) in stage_plans.MODELS.items()})
        gpt = functools.partial(programs.once, "small gpt", lambda: make_gpt(harness.ppopt, directory))
        cases = [("checkpoints", lambda: check_checkpoints(fake, gpt(), directory)),
                 ("generation", lambda: check_generation(fake, gpt(), directory)),
                 ("maps", lambda: check_maps(fake, gpt(), directory)),
                 ("a step that is not finite", functools.partial(check_non_finite, harness.ppopt, fake, directory))]
        for plan in PIPELINES:
            cases += [(f"seeds {plan.name}", functools.partial(check_seeds, programs, fake, plan)),
                      (f"dropped waits {plan.name}", functools.partial(check_dropped_waits, programs, fake, directory, plan))]
        for check, (mutation, model, plan, run_name) in [*((check_race, row) for row in plans.RACES), *((check_stale, row) for row in plans.STALE)]:
            case = (mutation, model, plan, run_name)
            cases += [(f"mutation {mutation}, {model} {plan.name}", functools.partial(check, programs, fake, *case)),
                      (f"mutation {mutation}, {model} {plan.name}, is refused", functools.partial(check_refused, programs, *case))]
        for seed, row in enumerate(cover(FACTORS, stage_plans.allowed)):
            name = f"{row['model']} {stage_plans.plan_of(row).name} {row['run']} {row['launch']}{' poisoned' if row['poison'] else ''}"
            cases.append((name, functools.partial(check_row, programs, fake, row, seed)))
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
