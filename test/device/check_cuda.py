#!/usr/bin/env python3
"""Trains programs for GPUs on a driver without a GPU (test/device/fake) and compares them with the same plan's on CPUs.

A sample of plans covers every pair of values of FACTORS, each with another order of the device's operations. Further: many orders of one pipeline,
checkpoints between CPUs and GPUs, generation, types, predicted memory, and what the executable says when something is missing.
By hand: check_cuda.py --filter 'gpt.*zb-h1', --keep DIR.
"""
import argparse
import functools
import glob
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "equivalence")]
from support import mutations, safetensors_io  # noqa: E402
from support.executable import checked, compile_model, environment, expect_close, new_log, run, under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

import plans  # noqa: E402
import stand_in_ptxas  # noqa: E402
import stage_plans  # noqa: E402
from check_fake import GPT, losses_of  # noqa: E402
from pairwise import cover  # noqa: E402
from programs import Programs, compare, expect_same_bits, run_flags  # noqa: E402
from stage_plans import StagePlan  # noqa: E402

FACTORS = {
    "model": ["gpt", "lm", "losses", "tied", "spread"],
    "schedule": ["gpipe", "1f1b", "zb-h1", "zb-v"],
    "places": [1, 2],
    "microbatches": [1, 4],
    "dp": [1, 2],
    "tied": ["sum", "owner"],
    "launch": ["threads", "mpirun"],
    "run": ["sgd clipped", "sgd averaged", "adamw clipped"],
    "poison": [False, True],
    "recompute": ["none", "cheap", "layer"],
    "bucket_bytes": ["25MiB", "200"],
    "fsdp": [1, 2],
    "zero": [0, 1, 3],
    "gather": ["task", "step"],
    "matmul": ["library", "generated"],
    "share": [False, True],
}
# Which the sample has for GPT: places, microbatches, dp, schedule, zero.
PLANS = [(1, 1, 1, "1f1b", 0), (1, 1, 2, "1f1b", 0), (1, 4, 2, "1f1b", 1), (1, 1, 2, "1f1b", 3), (1, 4, 2, "1f1b", 3), (2, 1, 1, "1f1b", 0),
         (2, 4, 1, "1f1b", 0), (2, 4, 1, "zb-v", 0), (2, 1, 2, "1f1b", 1), (2, 4, 2, "zb-v", 3)]
PIPELINE = StagePlan(2, 4, 2, "1f1b", zero=1, bucket_bytes="200")
PAIR = StagePlan(1, 1, 2, zero=1)
SEEDS = 4


class Fake:
    """The libraries that stand in for the driver, cuBLASLt and NCCL."""

    def __init__(self, build):
        self.folder = os.path.join(build, "bin", "test", "fake-cuda")
        assert os.path.exists(os.path.join(self.folder, "libcuda.so.1")), f"{self.folder} is not built"

    def variables(self, code, seed, gpus=1, **others):
        """`code`: the device code that stands for the executable's PTX. What runs it once more finds it compiled beside it."""
        return {"LD_LIBRARY_PATH": self.folder, "PPOPT_FAKE_CUDA_CODE": code, "PPOPT_FAKE_CUDA": f"count={gpus},memory=4GiB",
                "PPOPT_FAKE_CUDA_OBJECTS": os.path.join(os.path.dirname(code.split(":")[0]), "objects"), "PPOPT_FAKE_CUDA_SEED": str(seed), **others}


class CudaPrograms(Programs):
    """Programs for GPUs, and the device code of each beside it. ptxas assembles one program of each model: others have much the same kernels."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.assembled = set()

    def executable(self, model, plan, flags, mutation=None):
        bug = ["--mutate", mutation] if mutation else []
        name = "_".join([model, plan.name, *(f.strip("-").replace("=", "_") for f in [*flags, *bug])])
        path = os.path.join(self.directory, "cuda_" + name)
        return self.once("cuda_" + name, lambda: compile_model(
            mutations.tool_of(self.ppopt) if mutation else self.ppopt, self.model_file(model, plan), path,
            [*plan.flags, "--threads", "1", *flags, *bug, "--target", "cuda", "--save-device-ir", path + ".ll"],
            assembles=self.is_first_of(model)))

    def is_first_of(self, model):
        is_first = model not in self.assembled
        self.assembled.add(model)
        return is_first

    def train(self, fake, model, plan, run_name, launch="threads", matmul="library", share=False, seed=0, flags=(), name="", mutation=None,
              before=(), **others):
        compile_flags, _ = run_flags(run_name)
        wrapped = MatmulPlan(plan, matmul)
        ranks = plan.places * plan.dp * plan.fsdp
        executable = self.executable(model, wrapped, compile_flags, mutation)
        # Each rank is a process under mpirun and sees all GPUs.
        variables = fake.variables(executable.path + ".ll", seed, 1 if share else ranks, **others)
        own = ["--share-gpu"] if share and ranks > 1 else []
        return self.result(model, wrapped, run_name, launch, mutation=mutation, flags=[*own, *flags], name=f"{name}{seed}{share}",
                           variables=variables, before=before)


class MatmulPlan:
    """A plan with --matmul."""

    def __init__(self, plan, matmul):
        self.plan, self.matmul = plan, matmul
        self.name = f"{plan.name}_{matmul}"
        self.flags = [*plan.flags, "--matmul", matmul]

    def adapt(self, text):
        return self.plan.adapt(text)


def allowed(row):
    if row.get("places") == 1 and (row.get("schedule") not in (None, "1f1b") or row.get("tied") == "owner"):
        return False
    if row.get("gather") == "step" and row.get("zero", 3) != 3:
        return False
    if (row.get("zero") == 3 or row.get("gather") == "step") and row.get("tied") == "owner":
        return False
    if row.get("schedule") in ("zb-v", "interleaved") and row.get("model") in stage_plans.MARKED:
        return False
    # The library of a process compiles the device code for itself: of four processes GPT alone has some.
    most = 2 if row.get("launch") == "mpirun" and row.get("model", "gpt") != "gpt" else 4
    return row.get("places", 1) * row.get("dp", 1) * row.get("fsdp", 1) <= most


def plan_of(row):
    return StagePlan(row["places"], row["microbatches"], row["dp"], row["schedule"], False, row["tied"], row["recompute"], row["bucket_bytes"],
                     row["fsdp"], row["zero"], row["gather"])


def check_row(programs, cpu, fake, row, seed):
    plan = plan_of(row)
    flags = ["--poison"] if row["poison"] else []
    got = programs.train(fake, row["model"], plan, row["run"], row["launch"], row["matmul"], row["share"], seed, flags)
    compares = next(r[3] for r in plans.RUNS if r[0] == row["run"])
    compare(got, cpu.result(row["model"], plan, row["run"]), compares)
    assert "running on GPU 0" in got.output, got.output
    if plan.places * plan.dp * plan.fsdp > 1:
        assert ("NCCL" in got.output) != row["share"], got.output
        assert ("data through host memory" in got.output) == row["share"], got.output
    # Under mpirun, and alone, steps are graphs.
    is_eager = "steps run without a CUDA graph" in got.output
    assert is_eager == (plan.places * plan.dp * plan.fsdp > 1 and (row["share"] or row["launch"] == "threads")), got.output


def check_seeds(programs, fake):
    """Whatever order operations run in."""
    first = programs.train(fake, "gpt", PIPELINE, "sgd clipped", seed=1)
    for seed in range(2, SEEDS + 1):
        expect_same_bits(programs.train(fake, "gpt", PIPELINE, "sgd clipped", seed=seed), first, f"seeds {seed} and 1")


def check_types(programs, cpu_ppopt, fake, directory, precision, tolerance):
    """The losses of a small GPT in f32 and bf16."""
    model = os.path.join(directory, f"types_{precision}.mlir")
    checked([cpu_ppopt, "model", "gpt", *GPT, "-o", model])
    text = os.path.join(directory, f"types_{precision}.txt")
    with open(text, "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(4000)))
    losses = {}
    for target in ("cpu", "cuda"):
        path = os.path.join(directory, f"types_{precision}_{target}")
        saved = ["--target", "cuda", "--save-device-ir", path + ".ll"] if target == "cuda" else []
        compile_model(cpu_ppopt, model, path, ["--precision", precision, "--threads", "1", *saved])
        env = dict(environment(), **(fake.variables(path + ".ll", 3) if saved else {}))
        checked([path, "--data", text, "--steps", "4", "--lr", "0.001", "--log", path + ".jsonl"], env=env)
        losses[target] = [float.fromhex(loss) for _, _, loss in losses_of(path + ".jsonl")]
    expect_close("losses", losses["cuda"], losses["cpu"], tolerance)


def make_gpt(ppopt, directory):
    model, text = os.path.join(directory, "small.mlir"), os.path.join(directory, "text")
    checked([ppopt, "model", "gpt", *GPT, "-o", model])
    with open(text, "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(4000)))
    made = {}
    for target in ("cpu", "cuda"):
        path = os.path.join(directory, f"small_{target}")
        saved = ["--target", "cuda", "--save-device-ir", path + ".ll"] if target == "cuda" else []
        made[target] = compile_model(ppopt, model, path, ["--threads", "1", "--microbatches", "2", *saved], generates=True)
    return made, text


def train_gpt(directory, gpt, fake, target, name, *flags, steps=5):
    made, text = gpt
    stem = os.path.join(directory, name)
    env = dict(environment(), **(fake.variables(made[target].path + ".ll", 4) if target == "cuda" else {}))
    done = checked([made[target].path, "--data", text, "--steps", str(steps), "--lr", "0.001", *new_log(stem + ".jsonl", flags), "--export",
                    stem + ".safetensors", *flags], env=env)
    return [float.fromhex(loss) for _, _, loss in losses_of(stem + ".jsonl")], done.stdout


def check_checkpoints(fake, gpt, directory):
    """What one device saves the other goes on with, and the losses go on as they do without a stop."""
    straight, _ = train_gpt(directory, gpt, fake, "cpu", "straight")
    for saver, loader in (("cuda", "cpu"), ("cpu", "cuda"), ("cuda", "cuda")):
        folder = os.path.join(directory, f"saved by {saver} for {loader}")
        save = ["--checkpoint", folder, "--checkpoint-every", "2"]
        train_gpt(directory, gpt, fake, saver, f"saving {saver} {loader}", *save, steps=3)
        losses, output = train_gpt(directory, gpt, fake, loader, f"loading {saver} {loader}", *save, "--resume")
        assert "after step 3" in output, output
        expect_close(f"saved by {saver}, loaded by {loader}: losses", losses, straight[-len(losses):], 1e-5)


def check_generation(harness, fake, gpt, directory):
    """The same text."""
    made, _ = gpt
    train_gpt(directory, gpt, fake, "cpu", "to generate")
    # The program that generates has device code of its own.
    kernels, code = (os.path.join(directory, name) for name in ("generator.mlir", "generator.ll"))
    checked([harness.ppopt, "compile", os.path.join(directory, "small.mlir"), "--generator", "--stop-after", "kernels", "--target", "cuda",
             "--threads", "1", "-o", kernels])
    checked([os.path.join(harness.args.build, "bin", "test", "ppopt-emulate"), kernels, "--kernel", "attention_step", "--save-device-ir", code])
    texts = []
    for target in ("cpu", "cuda"):
        env = dict(environment(), **(fake.variables(f"{made[target].path}.ll:{code}", 5) if target == "cuda" else {}))
        done = subprocess.run([made[target].path, "--init", os.path.join(directory, "to generate.safetensors"), "--generate", "20", "--prompt", "abc"],
                              capture_output=True, timeout=100, env=env)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    assert texts[0] and texts[1].endswith(texts[0]), texts


def check_memory(programs, fake, directory):
    """The arena is the only memory of the GPU, as large as the plan says."""
    report = os.path.join(directory, "memory.jsonl")
    programs.train(fake, "gpt", StagePlan(1, 1, 1), "adamw clipped", name="memory", PPOPT_FAKE_CUDA_REPORT=report)
    executable = programs.executable("gpt", MatmulPlan(StagePlan(1, 1, 1), "library"), run_flags("adamw clipped")[0])
    with open(report) as file:
        counted = json.loads(file.read().splitlines()[-1])
    arena = executable.program["places"][0]["arena"]["bytes"]
    assert counted["most bytes allocated"] == arena, f"{counted['most bytes allocated']} bytes of the GPU, and an arena of {arena}"


def check_nccl_memory(programs, fake):
    """What NCCL allocates beside the arena is free when ranks join, or the job says what to do."""
    small = {"PPOPT_FAKE_CUDA": "count=2,memory=200MiB"}
    failure = None
    try:
        programs.train(fake, "gpt", PAIR, "sgd", name="little", **small)
    except AssertionError as caught:
        failure = str(caught)
    assert failure and re.search(r"has 1\d\d MiB free beside the arena, and the buffers of NCCL take about 240 MiB \(1 communicator of 24 channels\)",
                                 failure), failure
    programs.train(fake, "gpt", PAIR, "sgd", name="fewer", NCCL_MAX_NCHANNELS="4", **small)


def check_profile(fake, gpt, directory):
    """The GPU's clock times the launches, and the host does not wait for each. Lines add up to the step."""
    report = os.path.join(directory, "profile.jsonl")
    made, text = gpt
    log, steps = os.path.join(directory, "profile.log"), 4
    env = dict(environment(), **fake.variables(made["cuda"].path + ".ll", 6, PPOPT_FAKE_CUDA_REPORT=report))
    done = checked([made["cuda"].path, "--data", text, "--steps", str(steps), "--log", log, "--profile"], env=env)
    assert "which include its start: microseconds" in done.stdout, done.stdout
    with open(log) as file:
        records = [json.loads(line) for line in file]
    with open(report) as file:
        counted = json.loads(file.read().splitlines()[-1])
    lines = [record for record in records if record["event"] == "profile_line"]
    launches = next(record["launches"] for record in records if record["event"] == "step")
    timed = sum(line["calls_per_step"] for line in lines if line["kind"] in ("kernel", "matmul"))
    assert timed == launches, f"{timed} launches are in the profile, of {launches}"
    assert counted["calls"]["cuEventElapsedTime"] == launches * (steps - 1), counted
    assert counted["host synchronizations"] < launches, counted
    step = next(record["ms_per_step"] for record in records if record["event"] == "profile")
    expect_close("the lines", sum(line["ms_per_step"] for line in lines), step, 1e-6)
    assert all(line["ms_per_step"] > 0 for line in lines), lines


def check_non_finite(programs, cpu, fake, launch):
    """A step that is not finite is explained in the CPU's words; skipped, it changes what it changes on CPUs: nothing."""
    random = np.random.default_rng(7)
    rows = {name: random.normal(size=(3 * plans.BATCH, 5)) for name in "xy"}
    rows["x"][plans.BATCH + 7, 3] = np.nan
    plan, flags = MatmulPlan(StagePlan(1, 2, 2, zero=1, bucket_bytes="200"), "library"), run_flags("adamw clipped")[0]
    made = {"cpu": cpu.executable("skip", plan.plan, flags), "cuda": programs.executable("skip", plan, flags)}
    results, errors = {}, {}
    for target, executable in made.items():
        env = dict(environment(), **(fake.variables(executable.path + ".ll", 6, gpus=2) if target == "cuda" else {}))
        results[target] = run(executable, ["--lr", "0.01", "--clip", "0.1", "--skip-nonfinite-steps", "1"], launch, inputs=rows, steps=3, env=env,
                              name="skips")
        failed = subprocess.run([*(under_mpirun(2) if launch == "mpirun" else []), executable.path, "--inputs", f"{executable.path}.skips.{launch}.inputs.safetensors",
                                 "--no-shuffle", "--steps", "2"], capture_output=True, text=True, env=env, timeout=100)
        assert failed.returncode == 1, failed.stderr
        errors[target] = [line.replace(executable.path, "") for line in failed.stderr.splitlines() if line.startswith("error")]
    assert "input 'x' is nan at [7, 3], row 55 of" in errors["cpu"][0] and errors["cpu"] == errors["cuda"], errors
    losses = {target: [record["loss"] for record in result.records if record.get("event") == "step"] for target, result in results.items()}
    assert losses["cpu"][1] is None and losses["cuda"][1] is None, losses
    expect_close("losses", [losses["cuda"][i] for i in (0, 2)], [losses["cpu"][i] for i in (0, 2)], 1e-12)
    for name, values in results["cpu"].parameters.items():
        expect_close(name, results["cuda"].parameters[name], values, 1e-9)


def check_models(programs, fake):
    """Different GPUs of a job are named; of one that has a data sheet the log says what share of its peak is used."""
    h100, other = "NVIDIA H100 80GB HBM3", "Another GPU"
    plan = StagePlan(1, 1, 2)
    machine = "count=2,memory=1GiB,name={}"
    alike = programs.train(fake, "gpt", plan, "sgd", name="alike", PPOPT_FAKE_CUDA=machine.format(h100))
    mixed = programs.train(fake, "gpt", plan, "sgd", name="mixed", PPOPT_FAKE_CUDA=machine.format(f"{h100}/{other}"))
    assert "GPUs of several models" not in alike.output, alike.output
    assert f"GPUs of several models: {other} (ranks 1); {h100} (ranks 0)" in mixed.output, mixed.output
    end = alike.all_records[-1]
    flops = sum(place["predicted"]["flops"] for place in programs.executable("gpt", MatmulPlan(plan, "library"), run_flags("sgd")[0]).program["places"])
    # Its peak in f64 is 67 TFLOP/s; two ranks have a part of the batch each.
    expected = flops / (end["mean_ms"] / 1e3 * 67e12)
    assert end["mfu"] and abs(end["mfu"] / expected - 1) < 1e-9, (end, expected)


def run_cuda(executable, env, *flags):
    return subprocess.run([executable.path, *flags], capture_output=True, text=True, timeout=100, env=env)


def expect_message(done, status, pattern):
    assert done.returncode == status, f"status {done.returncode} instead of {status}: {done.stderr}"
    assert len(done.stderr.splitlines()) == 1 and re.search(pattern, done.stderr), done.stderr


def check_missing(fake, gpt, directory):
    """What is missing is said in one line, with a status of its own."""
    made, text = gpt
    executable = made["cuda"]
    flags = ["--data", text, "--steps", "1"]
    base = dict(environment(), LD_LIBRARY_PATH="")
    expect_message(run_cuda(executable, base, *flags), 3, r"libcuda\.so\.1 can't be loaded; install NVIDIA's driver")
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(fake.folder, "libcuda.so.1"), os.path.join(folder, "libcuda.so.1"))
        variables = dict(base, **fake.variables(executable.path + ".ll", 1))
        without = dict(variables, LD_LIBRARY_PATH=folder, CUDA_HOME=folder)
        if glob.glob("/usr/local/cuda/lib64/libcublasLt.so.1[23]"):
            print("  without cuBLASLt: skipped, this machine has a toolkit", flush=True)
        else:
            expect_message(run_cuda(executable, without, *flags), 3,
                           r"cuBLASLt, and neither libcublasLt\.so\.13 nor libcublasLt\.so\.12 can be loaded")
    for gpus, status, pattern in (("count=0", 3, "the driver finds none"), ("count=1,capability=7.5", 3, "is an sm_75, and this program needs sm_80"),
                                  ("count=1,memory=100KiB", 1, r"has .* free of .*, and the arena takes")):
        expect_message(run_cuda(executable, dict(variables, PPOPT_FAKE_CUDA=gpus), *flags), status, pattern)
    described = run_cuda(executable, base, "--describe")
    assert described.returncode == 0 and "cuda" in described.stdout, described


def check_cubins(harness, fake, directory):
    """A cubin that the driver is too old for: the driver compiles the PTX, and a line of the log says so. If it can't, both errors are named."""
    model, text = os.path.join(directory, "cubins.mlir"), os.path.join(directory, "cubins.txt")
    checked([harness.ppopt, "model", "gpt", *GPT, "-o", model])
    with open(text, "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(4000)))
    ptxas = stand_in_ptxas.make(os.path.join(directory, "ptxas 13.0"), "13.0", ["sm_80"])
    path = os.path.join(directory, "cubins")
    checked([harness.ppopt, "compile", model, "-o", path, "--target", "cuda", "--threads", "1", "--mesh", "dp=2", "--no-generation",
             "--save-device-ir", path + ".ll"], env=dict(environment(), PPOPT_PTXAS=os.path.join(ptxas, "ptxas")))

    def train(driver, *before, plant=""):
        variables = fake.variables(path + ".ll", 1, PPOPT_FAKE_CUDA=f"count=2,memory=1GiB,cubin=accept,driver={driver}", PPOPT_FAKE_CUDA_PLANT=plant)
        return subprocess.run([*before, path, "--data", text, "--steps", "1"], capture_output=True, text=True, timeout=100,
                              env=dict(environment(), **variables))
    new = train(13000)
    assert new.returncode == 0 and "kernels compiled for sm_80" in new.stdout and "can't load" not in new.stdout, new.stdout + new.stderr
    note = "can't load the kernels for sm_80: {}; it compiled the program's PTX instead (ranks 0, 1)"
    old = train(12080, *under_mpirun(2))
    assert old.returncode == 0 and "kernels compiled by the driver" in old.stdout, old.stdout + old.stderr
    assert old.stdout.count("the driver (12.8) " + note.format("device kernel image is invalid (CUDA_ERROR_INVALID_IMAGE)")) == 1, old.stdout
    # Whatever the error is; and that of the PTX too.
    other = train(13000, *under_mpirun(2), plant="fail:cuModuleLoadDataEx:1:2")
    assert other.returncode == 0 and note.format("out of memory (CUDA_ERROR_OUT_OF_MEMORY)") in other.stdout, other.stdout + other.stderr
    both = train(12080, *under_mpirun(2), plant="fail:cuModuleLoadDataEx:2:218")
    assert both.returncode == 1, both.stdout + both.stderr
    assert re.search(r"can't load the kernels for sm_80: device kernel image is invalid \(CUDA_ERROR_INVALID_IMAGE\); the driver can't compile the "
                     r"kernels: a PTX JIT compilation failed \(CUDA_ERROR_INVALID_PTX\)", both.stderr), both.stderr


def check_library_versions(fake, gpt):
    """A driver of CUDA 12 gets the library of CUDA 12. One that does not start is replaced by the other, and the log says so."""
    made, text = gpt
    executable, started = made["cuda"], "running on GPU 0 .* cuBLASLt {}"

    def train(folder=fake.folder, driver=13000, plant=""):
        variables = fake.variables(executable.path + ".ll", 1, PPOPT_FAKE_CUDA=f"driver={driver}", PPOPT_FAKE_CUDA_PLANT=plant)
        return run_cuda(executable, {**environment(), **variables, "LD_LIBRARY_PATH": folder, "CUDA_HOME": ""}, "--data", text, "--steps", "1")
    old = train(driver=12080)
    assert old.returncode == 0 and re.search(started.format(r"12\.9\.0"), old.stdout) and "can't start" not in old.stdout, old.stdout + old.stderr
    other = train(plant="fail:cublasLtCreate:1:1")
    note = "libcublasLt.so.13 can't start on this driver (13.0): not initialized (1); matmuls use libcublasLt.so.12"
    assert other.returncode == 0 and re.search(started.format(r"12\.9\.0"), other.stdout) and note in other.stdout, other.stdout + other.stderr
    none = train(plant="fail:cublasLtCreate:1:1,fail:cublasLtCreate:2:3")
    assert none.returncode == 1 and re.search(r"\.13 can't start .*\(1\); libcublasLt\.so\.12 can't start .*out of memory \(3\)", none.stderr), none.stderr
    with tempfile.TemporaryDirectory() as folder:
        for name in ("libcuda.so.1", "libcublasLt.so.13"):
            os.symlink(os.path.join(fake.folder, name), os.path.join(folder, name))
        if glob.glob("/usr/local/cuda/lib64/libcublasLt.so.12"):
            print("  with the library of CUDA 13 alone: skipped, this machine has that of 12", flush=True)
        else:
            alone = train(folder, 12080)
            assert alone.returncode == 1 and re.search(r"\.13 can't start on this driver \(12\.8\): not initialized .*install", alone.stderr), alone.stderr


def check_failed_capture(programs, fake):
    """A step that one rank can't capture is run without a graph by all, and so are the following ones; a line of the log says so."""
    made = programs.executable("gpt", MatmulPlan(PAIR, "library"), run_flags("sgd")[0])
    second = made.program["places"][0]["predicted"]["launches"]  # with matmuls: a kernel of the second step
    for rank, plant, reason in ((0, f"fail:cuLaunchKernel:{second}:900", "launching kernel .*CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"),
                                (1, "fail:cuGraphInstantiateWithFlags:1:2", "preparing a graph: out of memory")):
        got = train_pair(programs, fake, f"failing{rank}", before=["sh", "-c", (
            f'[ $OMPI_COMM_WORLD_RANK = {rank} ] && export PPOPT_FAKE_CUDA_PLANT={plant}; exec "$0" "$@"')])
        expect_same_bits(got, train_pair(programs, fake, "both"), f"with {plant} and without")
        note = f"steps run without a CUDA graph: rank {rank} can't capture one: .*{reason}"
        assert len(re.findall(note, got.output)) == 1 and got.output.count("without a CUDA graph") == 1, got.output


def check_few_gpus(programs, fake):
    executable = programs.executable("gpt", MatmulPlan(StagePlan(2, 1, 1), "library"), run_flags("sgd")[0])
    env = dict(environment(), **fake.variables(executable.path + ".ll", 1, gpus=1))
    inputs = executable.path + ".few.safetensors"
    safetensors_io.write(inputs, programs.make_inputs["gpt"](np.random.default_rng(1)))
    done = run_cuda(executable, env, "--inputs", inputs, "--steps", "1")
    assert done.returncode == 1 and re.search(r"2 ranks run on \S+ and see 1 GPU: ranks 0 and 1 have .* --share-gpu", done.stderr), done.stderr


def train_pair(programs, fake, name, **others):
    """Two ranks under mpirun; with the same name once."""
    return programs.train(fake, "gpt", PAIR, "sgd", launch="mpirun", name=name, **others)


# A launcher that shows each process the GPU of its number, as Slurm's --gpus-per-task does.
SHOWN = ["sh", "-c", 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK exec "$0" "$@"']


def check_shown_gpus(programs, fake):
    """Each rank sees one GPU, of another UUID: the ranks have a GPU each."""
    own = train_pair(programs, fake, "own", before=SHOWN, PPOPT_FAKE_CUDA="count=2,memory=1GiB,uuid=8/9")
    assert "NCCL" in own.output and "running on GPU 0" in own.output, own.output
    expect_same_bits(own, train_pair(programs, fake, "both"), "with a GPU shown to each rank and with all")


def check_same_gpu(programs, fake, **others):
    """Each rank sees one GPU, and both are the same: they are refused, since they have not asked to share."""
    try:
        train_pair(programs, fake, "same", before=SHOWN, PPOPT_FAKE_CUDA="count=2,memory=1GiB,uuid=7", **others)
    except AssertionError as failure:
        assert re.search(r"ranks 0 and 1 have the same GPU \(a0a1a2a3-[-\w]*07\)", str(failure)) and "--share-gpu" in str(failure), failure
    else:
        raise AssertionError("two ranks have one GPU, and nobody minds")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    harness = Harness("cuda", parser)
    fake = Fake(harness.args.build)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        inputs = {name: make for name, (make, _) in stage_plans.MODELS.items()}
        programs, cpu = CudaPrograms(harness.ppopt, directory, inputs), Programs(harness.ppopt, directory, inputs)
        gpt = functools.partial(programs.once, "small gpt", lambda: make_gpt(harness.ppopt, directory))
        cases = [("seeds", functools.partial(check_seeds, programs, fake)),
                 ("checkpoints", lambda: check_checkpoints(fake, gpt(), directory)),
                 ("generation", lambda: check_generation(harness, fake, gpt(), directory)),
                 ("f32", functools.partial(check_types, programs, harness.ppopt, fake, directory, "model", 1e-5)),
                 ("bf16", functools.partial(check_types, programs, harness.ppopt, fake, directory, "bf16", 1e-2)),
                 ("memory", functools.partial(check_memory, programs, fake, directory)),
                 ("memory for NCCL", functools.partial(check_nccl_memory, programs, fake)),
                 ("profile", lambda: check_profile(fake, gpt(), directory)),
                 *((f"a step that is not finite, {launch}", functools.partial(check_non_finite, programs, cpu, fake, launch))
                   for launch in ("threads", "mpirun")),
                 ("models of GPUs", functools.partial(check_models, programs, fake)),
                 ("a cubin that the driver is too old for", functools.partial(check_cubins, harness, fake, directory)),
                 ("what is missing", lambda: check_missing(fake, gpt(), directory)),
                 ("a step that can't be captured", functools.partial(check_failed_capture, programs, fake)),
                 ("versions of cuBLASLt", lambda: check_library_versions(fake, gpt())),
                 ("fewer GPUs than ranks", functools.partial(check_few_gpus, programs, fake)),
                 ("a GPU shown to each rank", functools.partial(check_shown_gpus, programs, fake)),
                 ("a GPU shown to two ranks", functools.partial(check_same_gpu, programs, fake))]
        begun = [dict(model="gpt", places=places, microbatches=microbatches, dp=dp, schedule=schedule, zero=zero, fsdp=1, tied="sum", launch="threads")
                 for places, microbatches, dp, schedule, zero in PLANS]
        for seed, row in enumerate(cover(FACTORS, allowed, begun)):
            name = f"{row['model']} {plan_of(row).name} {row['run']} {row['launch']} {row['matmul']}" + (" shared" if row["share"] else "") + (
                " poisoned" if row["poison"] else "")
            cases.append((name, functools.partial(check_row, programs, cpu, fake, row, seed)))
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
