#!/usr/bin/env python3
"""Saves, goes on, and compares with a run that never stopped; damages what was saved, and sees it refused."""
import contextlib
import fcntl
import functools
import glob
import hashlib
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import safetensors_io  # noqa: E402
from support.executable import checked, compile_model, environment  # noqa: E402
from support.mpirun import MPIRUN, ON_ONE_MACHINE, under_mpirun  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

SIZES = {"layers": 4, "width": 16, "heads": 2, "vocab": 256, "seq": 8, "batch": 8, "dropout": 0.1}
STEPS = 8
#: With a learning rate that depends on the total of steps, and a clipped norm.
TRAIN = ["--lr", "1e-3", "--lr-schedule", "cosine", "--warmup", "2", "--clip", "0.5", "--seed", "3"]


class Run:
    """A run that has ended, and its log."""

    def __init__(self, done, log):
        self.status, self.output, self.errors = done.returncode, done.stdout, done.stderr
        self.records = []
        if os.path.exists(log):
            with open(log) as file:
                self.records = [json.loads(line) for line in file]

    def of(self, event):
        return [record for record in self.records if record["event"] == event]

    @property
    def steps(self):
        """The last that was logged of each step: {number: (loss, norm)}, bit for bit."""
        return {r["step"]: (r["loss_hex"], r["norm_hex"], r["lr"]) for r in self.of("step")}

    @property
    def losses(self):
        return {number: float.fromhex(loss) for number, (loss, _, _) in self.steps.items()}


class Bench:
    """A folder, the programs that were compiled into it, and a text to train on."""

    def __init__(self, harness, directory):
        self.harness, self.directory = harness, directory
        self.data = self.path("text")
        pathlib.Path(self.data).write_bytes(pathlib.Path(__file__).read_bytes()[:20000])
        self.programs = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    def model(self, **sizes):
        """The model file of these flags of `ppopt model gpt`, and SIZES."""
        path = self.path("_".join(["gpt", *(f"{name}{value}" for name, value in sizes.items())]) + ".mlir")
        if not os.path.exists(path):
            flags = [word for name, value in {**SIZES, **sizes}.items() for word in (f"--{name}", str(value))]
            checked([self.harness.ppopt, "model", "gpt", *flags, "-o", path])
        return path

    def program(self, model, *flags):
        key = (model, flags)
        if key not in self.programs:
            self.programs[key] = compile_model(self.harness.ppopt, model, self.path(f"train{len(self.programs)}"),
                                               ["--threads", "1", *flags])
        return self.programs[key]

    def train(self, program, name, *flags, launch="threads", status=0, data=None, train=TRAIN, steps=STEPS, **how):
        """Trains; the log is `name`.jsonl, the parameters `name`.safetensors."""
        train = [word for pair in zip(train[::2], train[1::2]) if pair[0] not in flags for word in pair]
        log, export = self.path(name + ".jsonl"), self.path(name + ".safetensors")
        command = [program.path, "--data", data or self.data, "--steps", str(steps), "--log", log, "--export", export,
                   *train, *flags]
        if launch == "mpirun":
            command = [*under_mpirun(program.ranks), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(), **how)
        assert done.returncode == status, (f"{' '.join(command)}\nexit status {done.returncode} instead of {status}:\n"
                                           f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return Run(done, log)

    def parameters(self, name):
        return safetensors_io.read(self.path(name + ".safetensors"))


def step_folder(folder, step):
    return os.path.join(folder, f"step-{step:08}")


def names_in(folder):
    return sorted(name for name in os.listdir(folder) if name != ".lock")


def tensors_of(checkpoint, part):
    """All tensors of a part; each is in one file."""
    tensors = {}
    for path in sorted(glob.glob(os.path.join(checkpoint, part + "-*.safetensors"))):
        for name, array in safetensors_io.read(path).items():
            assert name not in tensors, f"{name} is in two files"
            tensors[name] = array
    return tensors


def fingerprint(folder):
    """Every file under a folder, and its bytes."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file() and path.name != ".lock"}


def expect_same_bits(ours, theirs):
    assert ours.keys() == theirs.keys(), f"names differ: {sorted(set(ours) ^ set(theirs))}"
    for name, array in theirs.items():
        assert array.tobytes() == ours[name].tobytes(), f"{name} differs"


def expect_same_steps(ours, theirs):
    assert ours == theirs, "\n".join(f"step {n}: {ours.get(n)} instead of {theirs.get(n)}"
                                     for n in sorted({*ours, *theirs}) if ours.get(n) != theirs.get(n))


def expect_text(text, *parts):
    for part in parts:
        assert part in text, f"no '{part}' in:\n{text[-3000:]}"


#===------------------------------------------------------------------------------------------------------------===#
# Going on
#===------------------------------------------------------------------------------------------------------------===#

def check_same_plan(bench, name, model, flags, launch, train=TRAIN):
    """Neither saving nor stopping changes a bit."""
    program = bench.program(model, *flags)
    name = f"same_{name}_{launch}"
    folder = bench.path(name)
    straight = bench.train(program, name + "_straight", launch=launch, train=train)
    saving = ["--checkpoint", folder, "--checkpoint-every", "3"]
    saved = bench.train(program, name + "_saved", *saving, launch=launch, train=train)
    expect_same_steps(saved.steps, straight.steps)
    assert names_in(folder) == ["step-00000003", "step-00000006", "step-00000008"], names_in(folder)
    assert [r["step"] for r in saved.of("checkpoint")] == [3, 6, 8], saved.of("checkpoint")
    # As if it had been stopped in its sixth step; the log goes on in the same file, behind a line that was torn.
    for step in 6, 8:
        shutil.rmtree(step_folder(folder, step))
    with open(bench.path(name + "_saved.jsonl"), "a") as log:
        log.write('{"event":"step","step":')
    resumed = bench.train(program, name + "_saved", *saving, "--resume", launch=launch, train=train)
    expect_text(resumed.output, f"resumed from {step_folder(folder, 3)} after step 3")
    assert "resume: " not in resumed.output, resumed.output
    assert [r["first_step"] for r in resumed.of("start")] == [1, 4], resumed.of("start")
    assert [r["step"] for r in resumed.of("step")] == [*range(1, 9), *range(4, 9)], resumed.of("step")
    expect_same_steps(resumed.steps, straight.steps)
    expect_same_bits(bench.parameters(name + "_saved"), bench.parameters(name + "_straight"))


def check_other_plan(bench, model, flags, others, tolerance):
    """Show 2: saved under one plan, resumed under others."""
    program = bench.program(model, *flags)
    folder = bench.path("plans")
    shutil.rmtree(folder, ignore_errors=True)
    straight = bench.train(program, "plans_straight").losses
    bench.train(program, "plans_saved", "--checkpoint", folder, "--checkpoint-every", "4")
    shutil.rmtree(step_folder(folder, STEPS))
    for other in others:
        copy = bench.path("plans_copy")
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
        resumed = bench.train(bench.program(model, *other), "plans_resumed", "--checkpoint", copy, "--resume")
        numbers = list(range(5, STEPS + 1))
        assert [r["step"] for r in resumed.of("step")][-4:] == numbers, resumed.of("step")
        worst = max(abs(resumed.losses[n] - straight[n]) / abs(straight[n]) for n in numbers)
        print(f"  saved under {' '.join(flags)}, resumed under {' '.join(other)}: losses differ by {worst:.2g}")
        assert worst <= tolerance, f"{' '.join(other)}: losses differ by {worst}"
        os.remove(bench.path("plans_resumed.jsonl"))


def check_memory(bench, model):
    """The copy's bound changes when files are written, not what is in them."""
    program = bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2")
    prints = []
    for memory in ["1GiB", "30KB", "0"]:
        folder = bench.path("memory_" + memory)
        bench.train(program, "memory", "--checkpoint", folder, "--checkpoint-every", "2", "--checkpoint-memory", memory)
        prints.append(fingerprint(folder))
    assert prints[0] and prints[0] == prints[1] == prints[2], prints


def check_init(bench, model):
    """A checkpoint's parameters start another training, under another plan."""
    folder = bench.path("init_saved")
    bench.train(bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2"), "init", "--checkpoint", folder)
    program = bench.program(model, "--mesh", "dp=2")
    bench.train(program, "init_taken", "--init", step_folder(folder, STEPS), steps=0, train=[])
    expect_same_bits(bench.parameters("init_taken"), bench.parameters("init"))
    run = bench.train(program, "init_refused", "--init", folder, status=1)
    expect_text(run.errors, f"--init {folder}: a folder that is no checkpoint; did you mean {step_folder(folder, STEPS)}?")
    path = glob.glob(os.path.join(step_folder(folder, STEPS), "parameters-*"))[0]
    flip(path, -1)
    run = bench.train(program, "init_refused", "--init", step_folder(folder, STEPS), status=1)
    expect_text(run.errors, path, "the file is damaged")


#===------------------------------------------------------------------------------------------------------------===#
# What is in it
#===------------------------------------------------------------------------------------------------------------===#

def check_contents(bench, model):
    """numpy reads parameters and states by name; the manifest says what there is."""
    program = bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2")
    folder = bench.path("contents")
    bench.train(program, "contents", "--checkpoint", folder)
    checkpoint = step_folder(folder, STEPS)
    parameters, states = tensors_of(checkpoint, "parameters"), tensors_of(checkpoint, "optimizer")
    expect_same_bits(parameters, bench.parameters("contents"))
    assert set(states) == {f"{s}/{n}" for s in "mv" for n in parameters}, sorted(states)
    assert all(states["m/" + n].shape == a.shape and states["m/" + n].any() for n, a in parameters.items())
    manifest = json.loads(pathlib.Path(checkpoint, "manifest.json").read_text())
    files = {f["name"]: f["bytes"] for f in manifest["files"]}
    assert files == {n: os.path.getsize(os.path.join(checkpoint, n)) for n in names_in(checkpoint) if n != "manifest.json"}
    assert (manifest["step"], manifest["updates"], manifest["samples"]["position"]) == (8, 8, 64), manifest
    assert manifest["flags"]["lr"] == "0.001" and manifest["plan"]["mesh"] == "dp=2,pp=2", manifest
    (data,) = manifest["samples"]["files"]
    assert (data["path"], data["bytes"]) == (bench.data, os.path.getsize(bench.data)), data
    # The ranks of a place write about as much each, and what `plan` says: 0 and 2 are of one place, 1 and 3 of the other.
    sizes = [sum(a.nbytes for path in glob.glob(f"{checkpoint}/*-{rank:04}.safetensors")
                 for a in safetensors_io.read(path).values()) for rank in range(4)]
    assert all(min(pair) > 0.8 * max(pair) for pair in (sizes[::2], sizes[1::2])), sizes
    text = checked([bench.harness.ppopt, "plan", model, "--threads", "1", "--mesh", "dp=2,pp=2", "--microbatches", "2"]).stdout
    (row,) = [line.split()[2:] for line in text.splitlines() if line.strip().startswith("checkpoint copy")]
    assert [int(n.replace(",", "")) for n in row] == [max(sizes[::2]), max(sizes[1::2])], (row, sizes)


def check_python_package(bench, model):
    """Show 3: the `safetensors` package reads exported parameters, and a checkpoint's."""
    python = bench.harness.args.pytorch
    code = ("import glob, sys; from safetensors.numpy import load_file\n"
            "exported, found = load_file(sys.argv[1]), {}\n"
            "for path in glob.glob(sys.argv[2] + '/parameters-*.safetensors'): found.update(load_file(path))\n"
            "assert exported and set(exported) == set(found), sorted(set(exported) ^ set(found))\n"
            "assert all((exported[n] == found[n]).all() for n in found)\n"
            "print(len(found), 'parameters')")
    if not python or subprocess.run([python, "-c", "import safetensors"], capture_output=True).returncode != 0:
        raise Skip("no Python with the package safetensors (tools/check --with-pytorch)")
    folder = bench.path("package")
    bench.train(bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2"), "package", "--checkpoint", folder)
    print(" ", checked([python, "-c", code, bench.path("package.safetensors"), step_folder(folder, STEPS)]).stdout.strip())


def check_keep(bench, model):
    program = bench.program(model, "--mesh", "dp=2")
    folder = bench.path("keep")
    os.makedirs(os.path.join(folder, ".step-00000001.partial-77"))
    pathlib.Path(folder, ".step-00000001.partial-77", "parameters-0000.safetensors").write_text("torn")
    os.makedirs(os.path.join(folder, ".step-00000000.removed-77", "x"))
    os.makedirs(os.path.join(folder, "step-00000099"))  # without a manifest it is none
    os.makedirs(os.path.join(folder, "mine"))
    run = bench.train(program, "keep", "--checkpoint", folder, "--checkpoint-every", "1", "--keep", "2")
    assert names_in(folder) == ["mine", "step-00000007", "step-00000008", "step-00000099"], names_in(folder)
    assert [r["step"] for r in run.of("checkpoint")] == list(range(1, 9)), run.of("checkpoint")


#===------------------------------------------------------------------------------------------------------------===#
# What is refused
#===------------------------------------------------------------------------------------------------------------===#

def flip(path, position, bit=1):
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        content[position] ^= bit
        file.seek(0)
        file.write(content)


def cut(path, bytes_left):
    os.truncate(path, bytes_left)


def edit_manifest(path, change):
    """Signed anew, as an older program or a forger would have written it."""
    manifest = json.loads(pathlib.Path(path).read_text())
    change(manifest)
    pathlib.Path(path).write_text(json.dumps(manifest, indent=1, sort_keys=True) + "\n")


class Saved:
    """Checkpoints of steps 4 and 8 that a case may damage."""

    def __init__(self, bench, name, program, launch="threads"):
        self.bench, self.program, self.launch = bench, program, launch
        self.origin, self.folder = bench.path(name + "_origin"), bench.path(name)
        bench.train(program, "refused", "--checkpoint", self.origin, "--checkpoint-every", "4", launch=launch)

    def refuse(self, damage, *parts, program=None, flags=("--resume",), **how):
        """After `damage` to a copy, going on is refused with a line that has `parts`, and nothing is written."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.origin, self.folder)
        damage(step_folder(self.folder, 8))
        before = fingerprint(self.folder)
        run = self.bench.train(program or self.program, "refused_on", "--checkpoint", self.folder, "--checkpoint-every",
                               "1", *flags, launch=self.launch, status=1, steps=how.pop("steps", 12), **how)
        lines = [line for line in run.errors.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, run.errors
        expect_text(lines[0], *parts)
        assert fingerprint(self.folder) == before, "something was written"


def check_damage(bench, model, launch):
    program = bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2")
    saved = Saved(bench, "damage_" + launch, program, launch)
    latest = step_folder(saved.folder, 8)
    advice = f"to go on from step 4, the one before, move {latest} away"
    manifest, file = f"{latest}/manifest.json", f"{latest}/parameters-0002.safetensors"
    state = f"{latest}/optimizer-0001.safetensors"
    saved.refuse(lambda c: cut(file, 100), file, "has 100 bytes", "damaged", advice)
    saved.refuse(lambda c: flip(file, -9), file, "checksum", "damaged", advice)
    saved.refuse(lambda c: flip(file, 30), file, advice)
    saved.refuse(lambda c: flip(state, 5000), state, "checksum", "damaged", advice)
    saved.refuse(lambda c: os.remove(state), state, "cannot open", advice)
    saved.refuse(lambda c: cut(manifest, 500), manifest, "not the manifest of a checkpoint", advice)
    saved.refuse(lambda c: flip(manifest, pathlib.Path(manifest).read_text().index('"step": 8') + 8), manifest,
                 "checksum", "damaged or was edited", advice)
    saved.refuse(lambda c: pathlib.Path(manifest).write_text('{"weights": 1}'), manifest, "not the manifest", advice)
    saved.refuse(lambda c: edit_manifest(manifest, lambda m: m.update(version=0)), manifest,
                 "a checkpoint of format 0, and this program reads format 1", advice)
    saved.refuse(lambda c: shutil.rmtree(step_folder(saved.folder, 4)) or cut(file, 9), file,
                 "it is the only one; move it away to start anew")
    saved.refuse(lambda c: None, f"--checkpoint {saved.folder}: has checkpoints, the newest of step 8: go on from it "
                 "with --resume, or give another folder", flags=())


def check_other_model(bench, model):
    saved = Saved(bench, "model", bench.program(model, "--mesh", "dp=2"))
    latest = step_folder(saved.folder, 8)

    def refuse(*parts, compiled=(), **sizes):
        saved.refuse(lambda c: None, *parts, program=bench.program(bench.model(**sizes), *compiled))

    other = f"{latest}: a checkpoint of another model"
    refuse(other, "missing: h.4.", "and 4 more", layers=5)
    refuse(other, "not a parameter: h.3.", layers=3)
    refuse(other, "of another shape", "wte (file F32 [256, 16], model F32 [300, 16])", vocab=300)
    refuse(other, "of another type", "wte (file F32 [256, 16], model F64 [256, 16])", dtype="f64")
    refuse(f"{latest}: a checkpoint of another optimizer than this program's sgd; missing: momentum/wte", "not a state: m/",
           compiled=("--optimizer", "sgd"))
    text = pathlib.Path(model).read_text()
    relu = bench.path("relu.mlir")
    pathlib.Path(relu).write_text(text.replace("pp.gelu", "pp.relu"))
    saved.refuse(lambda c: None, other, "computes something else with the same parameters", f"--init {latest}",
                 program=bench.program(relu))


def check_other_samples(bench, model):
    saved = Saved(bench, "samples", bench.program(model, "--mesh", "dp=2"))
    anew = f"start anew from its parameters with --init {step_folder(saved.folder, 8)}"
    other = bench.path("other")
    pathlib.Path(other).write_bytes(pathlib.Path(bench.data).read_bytes() + b"!!")
    size = os.path.getsize(bench.data)
    saved.refuse(lambda c: None, f"its data file {bench.data} had {size} bytes, {other} has {size + 2}", anew, data=other)
    saved.refuse(lambda c: None, "its --seed was 3, 4 now", anew, flags=("--resume", "--seed", "4"))
    saved.refuse(lambda c: None, "its data were read as bytes, uint16 now", anew, flags=("--resume", "--tokens", "uint16"))
    saved.refuse(lambda c: None, "its batch was 8, 16 now", anew, program=bench.program(model, "--batch", "16"))
    saved.refuse(lambda c: None, "is of step 8, and --steps 6 is the total of steps", steps=6)


def check_flags_named(bench, model):
    """Other flags are named and taken."""
    program = bench.program(model, "--mesh", "dp=2")
    folder = bench.path("flags")
    bench.train(program, "flags", "--checkpoint", folder)
    run = bench.train(bench.program(model, "--mesh", "pp=2", "--microbatches", "2"), "flags", "--checkpoint", folder,
                      "--resume", steps=10, train=["--lr", "2e-3", "--lr-schedule", "linear", "--seed", "3"])
    expect_text(run.output, "resume: --clip was 0.5, is 0\n", "resume: --lr was 0.001, is 0.002\n",
                "resume: --lr-schedule was cosine, is linear\n", "resume: --warmup was 2, is 0\n",
                "resume: --steps was 8, is 10: from here on the learning rate is that of the new total\n",
                "resume: the plan's mesh was dp=2, is dp=1,pp=2\n")
    assert "--eps" not in run.output and "--seed" not in run.output, run.output
    assert [r["step"] for r in run.of("step")][-2:] == [9, 10]
    # Nothing left to do is done at once, and saved already.
    before = fingerprint(folder)
    run = bench.train(program, "flags_done", "--checkpoint", folder, "--resume", steps=10)
    assert not run.of("step") and fingerprint(folder) == before
    run = bench.train(program, "flags_none", "--checkpoint", bench.path("flags_none"), "--resume")
    expect_text(run.output, f"no checkpoint in {bench.path('flags_none')}: starts with step 1")


def check_one_writer(bench, model):
    """Two runs do not save to one folder."""
    program = bench.program(model, "--mesh", "dp=2")
    folder = bench.path("locked")
    os.makedirs(folder)
    with open(os.path.join(folder, ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = bench.train(program, "locked", "--checkpoint", folder, status=1)
        expect_text(run.errors, f"--checkpoint {folder}: another run saves to this folder")
    bench.train(program, "locked", "--checkpoint", folder)


def check_folders(bench, model):
    """Folders that cannot be had, and ranks that see different ones."""
    program = bench.program(model, "--mesh", "dp=2")
    missing, file = bench.path("missing/ckpt"), bench.path("file")
    pathlib.Path(file).write_text("")
    run = bench.train(program, "folders", "--checkpoint", missing, status=1)
    expect_text(run.errors, f"--checkpoint {missing}: cannot make the folder: No such file or directory")
    run = bench.train(program, "folders", "--checkpoint", file, status=1)
    expect_text(run.errors, f"--checkpoint {file}: cannot make the folder: ")
    for node in "ab":
        os.makedirs(bench.path("node_" + node))
    bench.train(program, "folders", "--checkpoint", bench.path("node_a/ckpt"))
    train = [program.path, "--data", bench.data, *TRAIN, "--steps", "9", "--checkpoint", "ckpt", "--resume"]
    nodes = [["-np", "1", "--wdir", bench.path("node_" + node), *train] for node in "ab"]
    done = subprocess.run([*MPIRUN, *ON_ONE_MACHINE, *nodes[0], ":", *nodes[1]],
                          capture_output=True, text=True, timeout=300, env=environment())
    assert done.returncode != 0, done.stdout
    expect_text(done.stderr, "--resume: rank 0 finds step 8 in ckpt, rank 1 finds no checkpoint: all must see the same folder")
    assert "step 9" not in done.stdout, done.stdout


#===------------------------------------------------------------------------------------------------------------===#
# What goes wrong while saving
#===------------------------------------------------------------------------------------------------------------===#

def expect_goes_on(run, straight, reason, steps, last):
    """Every step was made; each attempt to save was reported; the end is an error."""
    expect_same_steps(run.steps, straight.steps)
    failures = [r for r in run.of("checkpoint") if "error" in r]
    assert failures and all(reason in r["error"] for r in failures), run.of("checkpoint")
    for record in failures:
        line = f"warning: no checkpoint of step {record['step']}: {record['error']}; training goes on, {last}"
        expect_text(run.output, line)
    expect_text(run.errors, f"the run has ended without a checkpoint of step {steps}: ", reason)
    return [r["step"] for r in failures]


def check_disk_full(bench, model):
    """As a full disk does it: writing beyond a size fails. The limit is above the log and below the files."""
    program = bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2")
    folder, log = bench.path("full"), bench.path("full.jsonl")
    saving = ["--checkpoint", folder, "--checkpoint-every", "2", "--keep", "4"]
    straight = bench.train(program, "full", *saving)
    for step in 4, 6, 8:
        shutil.rmtree(step_folder(folder, step))
    before = fingerprint(folder)
    command = ["prlimit", "--fsize=16384", program.path, "--data", bench.data, "--steps", str(STEPS), "--log", log, *TRAIN,
               *saving, "--resume"]
    run = Run(subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment()), log)
    assert run.status == 1, run.output + run.errors
    run.records = run.records[len(straight.records):]
    straight.records = [r for r in straight.of("step") if r["step"] > 2]
    failed = expect_goes_on(run, straight, "cannot write: File too large", STEPS, f"the last is {step_folder(folder, 2)}")
    assert failed == [4, 6, 8], failed
    assert fingerprint(folder) == before and names_in(folder) == ["step-00000002"], names_in(folder)


def ranks_of(program):
    """{rank: process} of an MPI job that runs."""
    ranks = {}
    for process in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if os.path.samefile(f"/proc/{process}/exe", program.path):
                variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
                ranks.update({int(v.split(b"=")[1]): int(process) for v in variables
                              if v.startswith(b"OMPI_COMM_WORLD_RANK=")})
    return ranks


def check_one_disk_full(bench, model):
    """The disk of one rank fills up while the job runs: nobody's share of that step stays."""
    program = bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2")
    folder, log, steps = bench.path("one_full"), bench.path("one_full.jsonl"), 300
    straight = bench.train(program, "one_full_straight", launch="mpirun", steps=steps)
    command = [*under_mpirun(4), program.path, "--data", bench.data, "--steps", str(steps), "--log", log, *TRAIN,
               "--checkpoint", folder, "--checkpoint-every", "10", "--keep", "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as child:
        wait_for(child, step_folder(folder, 10))
        resource.prlimit(ranks_of(program)[3], resource.RLIMIT_FSIZE, (16384, resource.RLIM_INFINITY))
        output, errors = child.communicate(timeout=300)
    run = Run(subprocess.CompletedProcess(command, child.returncode, output, errors), log)
    assert run.status == 1, output[-2000:] + errors
    saved = [r["step"] for r in run.of("checkpoint") if "error" not in r]
    failed = expect_goes_on(run, straight, "-0003.safetensors: cannot write: File too large", steps,
                            f"the last is {step_folder(folder, saved[-1])}")
    assert sorted(saved + failed) == list(range(10, steps + 1, 10)), (saved, failed)
    assert names_in(folder) == [f"step-{step:08}" for step in saved], names_in(folder)


def wait_for(child, path):
    deadline = time.time() + 120
    while not os.path.exists(path):
        assert child.poll() is None and time.time() < deadline, f"no {path}"
        time.sleep(0.001)


def check_vanished(bench, model):
    """The folder is taken away, and a file put in its place, while training goes on."""
    program = bench.program(model, "--mesh", "dp=2")
    folder, log, steps = bench.path("vanished"), bench.path("vanished.jsonl"), 2000
    bench.train(program, "vanished", "--checkpoint", folder, steps=10)
    command = [program.path, "--data", bench.data, "--steps", str(steps), "--log", log, *TRAIN, "--checkpoint", folder,
               "--checkpoint-every", "20", "--resume"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) as child:
        wait_for(child, step_folder(folder, 20))
        # What the run went on from is not held on the disk once it is removed.
        assert folder not in pathlib.Path(f"/proc/{child.pid}/maps").read_text()
        os.rename(folder, folder + ".taken")
        pathlib.Path(folder).write_text("")
        output, errors = child.communicate(timeout=300)
    assert child.returncode == 1, output[-2000:] + errors
    expect_text(errors, f"the run has ended without a checkpoint of step {steps}: {folder}/.step-00002000.partial-",
                "cannot create the folder: Not a directory")
    expect_text(output, "warning: no checkpoint of step 2000: ", "training goes on, the last is " + folder)
    with open(log) as file:
        assert sum('"event":"step"' in line for line in file) == steps


def check_killed(bench, model):
    """A run that saves after every step is killed again and again, wherever it is: what is there is whole each time."""
    program = bench.program(model, "--mesh", "dp=2")
    folder, steps, kills, moments = bench.path("killed"), 200, 0, random.Random(5)
    straight = bench.train(program, "killed_straight", steps=steps)
    saving = ["--checkpoint", folder, "--checkpoint-every", "1", "--keep", "2", "--resume"]
    command = [program.path, "--data", bench.data, "--steps", str(steps), *TRAIN, "--log", bench.path("killed.jsonl"), *saving]
    while kills < 12:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()) as child:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(moments.uniform(0.03, 0.3))
            if child.poll() is None:
                child.kill()
                kills += 1
            else:
                assert child.returncode == 0, child.stderr.read()
                break
    left = names_in(folder) if os.path.isdir(folder) else []
    run = bench.train(program, "killed", *saving, steps=steps)
    expect_same_steps(run.steps, straight.steps)
    expect_same_bits(bench.parameters("killed"), bench.parameters("killed_straight"))
    assert names_in(folder) == [f"step-{steps - 1:08}", f"step-{steps:08}"], names_in(folder)
    print(f"  {kills} kills, the last left {', '.join(left)}; then went on from step {run.of('start')[-1]['first_step']}")


def check_read_only(bench, model):
    """A folder that the user may not write to, before and while training."""
    program = bench.program(model, "--mesh", "dp=2")
    folder = bench.path("readonly")
    os.makedirs(folder)
    os.chmod(folder, 0o555)
    how = {"user": 65534} if os.geteuid() == 0 else {}
    command = [program.path, "--data", bench.data, "--steps", "4", *TRAIN, "--checkpoint", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(), cwd="/", **how)
    assert done.returncode == 1, done.stdout
    expect_text(done.stderr, f"--checkpoint {folder}: cannot write to the folder: Permission denied")
    assert "step " not in done.stdout, done.stdout
    # The lock was made while it could be written to.
    pathlib.Path(folder, ".lock").write_text("")
    os.chmod(os.path.join(folder, ".lock"), 0o666)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment(), cwd="/", **how)
    assert done.returncode == 1, done.stdout
    expect_text(done.stdout, "warning: no checkpoint of step 4: ", "Permission denied; training goes on, there is none before it")


def main():
    harness = Harness("checkpoint")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)  # for another user
        bench = Bench(harness, directory)
        f32, f64 = bench.model(), bench.model(dtype="f64")
        plans = [("dp", f32, ["--mesh", "dp=2", "--microbatches", "2"], TRAIN),
                 ("pp_momentum", f32, ["--mesh", "pp=2", "--microbatches", "2", "--optimizer", "sgd"],
                  [*TRAIN, "--momentum", "0.8"]),
                 ("both", f64, ["--mesh", "dp=2,pp=2", "--microbatches", "2", "--optimizer", "adam"], TRAIN),
                 ("lent", f32, ["--mesh", "dp=2,pp=2", "--microbatches", "2", "--tied", "owner"], TRAIN),
                 ("bf16", f32, ["--mesh", "dp=2", "--precision", "bf16"], TRAIN)]
        for name, model, flags, train in plans:
            for launch in "threads", "mpirun":
                harness.case(f"the same plan, {name}, {launch}",
                             functools.partial(check_same_plan, bench, name, model, flags, launch, train))
        harness.case("the same plan, local", lambda: check_same_plan(
            bench, "local", f32, ["--mesh", "pp=2", "--microbatches", "2", "--launch", "local"], "threads"))
        harness.case("other plans", lambda: check_other_plan(
            bench, f64, ["--mesh", "pp=2,dp=2", "--microbatches", "2"],
            [["--mesh", "dp=1"], ["--mesh", "dp=4"], ["--mesh", "pp=4", "--microbatches", "4"],
             ["--mesh", "pp=2", "--launch", "local"], ["--mesh", "pp=2", "--tied", "owner", "--microbatches", "4"]], 1e-12))
        cases = [("bounded memory", check_memory), ("initial parameters", check_init), ("contents", check_contents),
                 ("Python's safetensors", check_python_package), ("the newest stay", check_keep),
                 ("another model", check_other_model), ("other samples", check_other_samples),
                 ("other flags", check_flags_named), ("one writer", check_one_writer), ("folders", check_folders),
                 ("the disk is full", check_disk_full),
                 ("the disk of one rank is full", check_one_disk_full), ("the folder vanishes", check_vanished), ("killed while saving", check_killed),
                 ("a folder that is read-only", check_read_only)]
        for name, run in cases:
            harness.case(name, functools.partial(run, bench, f32))
        for launch in "threads", "mpirun":
            harness.case(f"damage, {launch}", functools.partial(check_damage, bench, f32, launch))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
