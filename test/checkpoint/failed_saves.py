"""What goes wrong while saving: a full disk, a folder that vanishes, a killed run. Training goes on."""
import contextlib
import os
import pathlib
import random
import resource
import shutil
import subprocess
import time

from support.checkpoints import expect_same_bits, step_folder
from support.executable import environment
from support.mpirun import under_mpirun

from checkpoint_runs import STEPS, TRAIN, Run, expect_same_steps, expect_text, fingerprint, names_in


def expect_goes_on(run, straight, reason, steps, last):
    """Every step was made; each attempt to save was reported; the end is an error."""
    expect_same_steps(run.steps, straight.steps)
    failures = [r for r in run.of("checkpoint") if "error" in r]
    assert failures and all(reason in r["error"] for r in failures), run.of("checkpoint")
    for record in failures:
        line = f"warning: no checkpoint of step {record['step']}: {record['error']}; training continues, {last}"
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
    folder, log, steps = bench.path("vanished"), bench.path("vanished.jsonl"), 1000
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
    expect_text(errors, f"the run has ended without a checkpoint of step {steps}: {folder}/.step-{steps:08}.partial-",
                "cannot create the folder: Not a directory")
    expect_text(output, f"warning: no checkpoint of step {steps}: ", "training continues, the last is " + folder)
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
    expect_text(done.stdout, "warning: no checkpoint of step 4: ", "Permission denied; training continues, there is none before it")
