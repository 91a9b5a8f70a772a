#!/usr/bin/env python3
"""Saves, goes on, and compares with a run that never stopped; damages what was saved, and sees it refused."""
import functools
import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.checkpoints import expect_same_bits, step_folder, tensors_of  # noqa: E402
from support.executable import checked  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

from checkpoint_runs import STEPS, TRAIN, Bench, expect_same_steps, expect_text, fingerprint, names_in  # noqa: E402
from failed_saves import check_disk_full, check_killed, check_one_disk_full, check_read_only, check_vanished  # noqa: E402
from refusals import check_damage, check_flags_named, check_folders, check_one_writer, check_other_model, check_other_samples, flip  # noqa: E402


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
    # As if it had been stopped in its sixth step; the log goes on in the same file, after a line that was torn.
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


PIPELINE = ["--mesh", "dp=2,pp=2", "--microbatches", "2"]
SHARDED = ["--mesh", "dp=2,fsdp=2", "--zero", "1", "--bucket-bytes", "4KiB"]
SHARDED_PIPELINE = [*PIPELINE, "--zero", "1"]  # the tied table's shards are on both places
CUT = ["--mesh", "dp=2,tp=2", *SHARDED[2:]]
FULLY_SHARDED = [*SHARDED[:2], "--zero", "3", *SHARDED[4:]]
FULLY_SHARDED_PIPELINE = [*PIPELINE, "--zero", "3"]  # each place has all of the tied table's shards


def check_memory(bench, model, flags=PIPELINE):
    """The copy's bound changes when files are written, not what is in them."""
    program = bench.program(model, *flags)
    prints = []
    for memory in ["1GiB", "30KB", "1000B", "0"]:
        folder = bench.path("memory_" + memory)
        shutil.rmtree(folder, ignore_errors=True)
        bench.train(program, "memory", "--checkpoint", folder, "--checkpoint-every", "2", "--checkpoint-memory", memory)
        prints.append(fingerprint(folder))
    assert prints[0] and all(each == prints[0] for each in prints), prints


def check_init(bench, model):
    """A checkpoint's parameters start another training, under another plan."""
    folder = bench.path("init_saved")
    bench.train(bench.program(model, "--mesh", "dp=2,pp=2", "--microbatches", "2"), "init", "--checkpoint", folder)
    program = bench.program(model, "--mesh", "dp=2")
    bench.train(program, "init_taken", "--init", step_folder(folder, STEPS), steps=0, train=[])
    expect_same_bits(bench.parameters("init_taken"), bench.parameters("init"))
    run = bench.train(program, "init_refused", "--init", folder, status=1)
    expect_text(run.errors, f"--init {folder}: a folder that is no checkpoint, and has neither ", f"; did you mean {step_folder(folder, STEPS)}?")
    path = glob.glob(os.path.join(step_folder(folder, STEPS), "parameters-*"))[0]
    flip(path, -1)
    run = bench.train(program, "init_refused", "--init", step_folder(folder, STEPS), status=1)
    expect_text(run.errors, path, "the file is damaged")


#===------------------------------------------------------------------------------------------------------------===#
# What is in it
#===------------------------------------------------------------------------------------------------------------===#

def check_contents(bench, model, mesh="dp=2,pp=2", flags=("--microbatches", "2"), places=((0, 2), (1, 3))):
    """numpy reads parameters and states by name; the manifest says what there is."""
    flags = ["--mesh", mesh, *flags]
    program = bench.program(model, *flags)
    folder = bench.path("contents")
    shutil.rmtree(folder, ignore_errors=True)
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
    assert manifest["flags"]["lr"] == "0.001" and manifest["plan"]["mesh"] == mesh, manifest
    (data,) = manifest["samples"]["files"]
    assert (data["path"], data["bytes"]) == (bench.data, os.path.getsize(bench.data)), data
    # The ranks of a place write about as much each, and what `plan` says.
    sizes = [sum(a.nbytes for path in glob.glob(f"{checkpoint}/*-{rank:04}.safetensors")
                 for a in safetensors_io.read(path).values()) for rank in range(4)]
    written = [[sizes[rank] for rank in ranks] for ranks in places]
    assert all(min(each) > 0.8 * max(each) for each in written), sizes
    text = checked([bench.harness.ppopt, "plan", model, "--threads", "1", *flags]).stdout
    (row,) = [line.split()[2:] for line in text.splitlines() if line.strip().startswith("checkpoint copy")]
    assert [int(n.replace(",", "")) for n in row] == [max(each) for each in written], (row, sizes)


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
                 ("bf16", f32, ["--mesh", "dp=2", "--precision", "bf16"], TRAIN),
                 ("sharded", f32, SHARDED, TRAIN),
                 ("sharded_pp", f64, [*SHARDED_PIPELINE, "--optimizer", "sgd"], [*TRAIN, "--momentum", "0.8"]),
                 ("fully_sharded", f32, FULLY_SHARDED, TRAIN),
                 ("fully_sharded_pp", f64, [*FULLY_SHARDED_PIPELINE, "--optimizer", "sgd"], [*TRAIN, "--momentum", "0.8"])]
        for name, model, flags, train in plans:
            for launch in "threads", "mpirun":
                harness.case(f"the same plan, {name}, {launch}",
                             functools.partial(check_same_plan, bench, name, model, flags, launch, train))
        harness.case("the same plan, local", lambda: check_same_plan(
            bench, "local", f32, ["--mesh", "pp=2", "--microbatches", "2", "--launch", "local"], "threads"))
        harness.case("other plans", lambda: check_other_plan(
            bench, f64, ["--mesh", "pp=2,dp=2", "--microbatches", "2"],
            [["--mesh", "dp=1"], ["--mesh", "dp=4"], ["--mesh", "pp=4", "--microbatches", "4"],
             ["--mesh", "pp=2", "--launch", "local"], ["--mesh", "pp=2", "--tied", "owner", "--microbatches", "4"],
             SHARDED, SHARDED_PIPELINE, FULLY_SHARDED, FULLY_SHARDED_PIPELINE], 1e-12))
        harness.case("other plans, sharded", lambda: check_other_plan(
            bench, f64, SHARDED, [["--mesh", "dp=1"], ["--mesh", "dp=8", "--zero", "1"], SHARDED_PIPELINE,
                                  ["--mesh", "pp=2", "--launch", "local", "--zero", "1"]], 1e-12))
        harness.case("other plans, fully sharded", lambda: check_other_plan(
            bench, f64, FULLY_SHARDED, [["--mesh", "dp=1"], ["--mesh", "pp=2"], ["--mesh", "dp=8", "--zero", "2"], SHARDED,
                                        FULLY_SHARDED_PIPELINE], 1e-12))
        harness.case("contents, fully sharded", lambda: check_contents(bench, f32, "dp=2,fsdp=2", FULLY_SHARDED[2:], [range(4)]))
        harness.case("contents, sharded", lambda: check_contents(bench, f32, "dp=2,fsdp=2", SHARDED[2:], [range(4)]))
        harness.case("contents, fully sharded pipeline", lambda: check_contents(bench, f32, flags=FULLY_SHARDED_PIPELINE[2:]))
        harness.case("contents, cut", lambda: check_contents(bench, f32, "dp=2,tp=2", CUT[2:], [range(4)]))
        for name, flags in ("", SHARDED), (" pipeline", SHARDED_PIPELINE), (" fully", FULLY_SHARDED), (" and cut", CUT):
            harness.case(f"bounded memory, sharded{name}", functools.partial(check_memory, bench, f32, flags))
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
