"""What is refused: damaged checkpoints, those of other models and samples, folders of others. Nothing is written then."""
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess

from support.checkpoints import step_folder
from support.executable import environment
from support.mpirun import MPIRUN, ON_ONE_MACHINE

from checkpoint_runs import TRAIN, expect_text, fingerprint


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
    advice = f"to continue from step 4, the one before, move {latest} away"
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
    saved.refuse(lambda c: None, f"--checkpoint {saved.folder}: has checkpoints, the newest of step 8: continue from it "
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
    pathlib.Path(relu).write_text(re.sub(r"pp\.gelu (%\w+) \{tanh\}", r"pp.relu \1", text))
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
