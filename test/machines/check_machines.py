#!/usr/bin/env python3
"""A job on two machines (machines.py): the same bits as on one; a rank that is killed on the other, a cable that is
pulled, a folder that they do not share.
"""
import functools
import os
import pathlib
import signal
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "faults"), str(HERE)]
from job import Job  # noqa: E402
from machines import Machines  # noqa: E402
from programs import PLANS, Programs  # noqa: E402
from support.executable import run  # noqa: E402
from support.results import Harness  # noqa: E402

TEXT = str(HERE / "machines.py")
# A killed process shows at once, a machine that does not answer after 15 s; a loaded machine gets more.
KILLED, LOST = 20, 40


def start(programs, machines, plan, directory, *flags, **arguments):
    program = programs.get(plan)
    return Job(program, ["--data", TEXT, *flags], directory, "mpirun", mpirun=machines.mpirun(program.ranks // 2),
               before=machines.before, **arguments)


def same_bits(programs, plan):
    alone = run(programs.get(plan), ["--data", TEXT], steps=6)
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory, Machines(directory) as machines:
        with start(programs, machines, plan, directory, steps=6) as job:
            assert job.process.wait(timeout=120) == 0, job.error_text
            assert [step["loss_hex"] for step in job.steps] == alone.hexadecimal, (job.steps, alone.records)


def kill_other(programs, plan):
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory, Machines(directory) as machines:
        with start(programs, machines, plan, directory) as job:
            job.wait_for_step(3)
            victim = job.ranks - 1
            assert job.pid_of(victim) in machines.processes(machines.names[1]), "it is on the first machine"
            machines.stop_launchers()
            os.kill(job.pid_of(victim), signal.SIGKILL)
            took = job.wait_for_ranks(KILLED)
            assert len(job.errors) == 1 and job.errors[0].startswith(f"error: rank {victim} is gone ("), job.errors
            print(f"  ended {took:.2f} s after the kill")


def pull_cable(programs, plan):
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory, Machines(directory) as machines:
        with start(programs, machines, plan, directory) as job:
            job.wait_for_step(3)
            machines.stop_launchers()
            machines.cut()
            took = job.wait_for_ranks(LOST)
            # Each side speaks for itself; the second machine's ranks have a connection to rank 0 alone.
            lost = [line for line in job.errors if " is gone (" in line and "its machine was lost" in line]
            assert len(lost) == len(job.errors) >= 2, job.errors
            assert any(line.startswith("error: rank 0 is gone") for line in lost), job.errors
            assert any(not line.startswith("error: rank 0 is gone") for line in lost), job.errors
            print(f"  ended {took:.2f} s after the cable was pulled")


def own_folder(programs):
    """The second machine has a folder of its own under the same name."""
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory:
        folder = os.path.join(directory, "checkpoints")
        os.mkdir(folder)
        with Machines(directory, private=folder) as machines:
            with start(programs, machines, "dp", directory, "--checkpoint", folder, steps=2) as job:
                assert job.process.wait(timeout=120) != 0
                assert job.errors == [f"error: rank 0: --checkpoint {folder}: rank 1 sees another folder of that name than rank "
                                      "0: give one on a file system that all machines share"], job.error_text
                assert not job.steps


def shared_folder(programs):
    with tempfile.TemporaryDirectory(dir=programs.directory) as directory, Machines(directory) as machines:
        folder = os.path.join(directory, "checkpoints")
        with start(programs, machines, "both", directory, "--checkpoint", folder, "--checkpoint-every", "2", steps=4) as job:
            assert job.process.wait(timeout=120) == 0, job.error_text
        with start(programs, machines, "both", directory, "--checkpoint", folder, "--resume", steps=6, name="resumed") as job:
            assert job.process.wait(timeout=120) == 0, job.error_text
            assert [step["step"] for step in job.steps] == [5, 6], job.steps
            alone = run(programs.get("both"), ["--data", TEXT], steps=6)
            assert [step["loss_hex"] for step in job.steps] == alone.hexadecimal[4:]


def main():
    harness = Harness("machines")
    with tempfile.TemporaryDirectory() as directory:
        programs = Programs(harness.ppopt, directory)
        for plan in PLANS:
            harness.case(f"the same bits, {plan}", functools.partial(same_bits, programs, plan))
        for plan in "dp", "both":
            harness.case(f"SIGKILL on the other machine, {plan}", functools.partial(kill_other, programs, plan))
        harness.case("the cable is pulled", functools.partial(pull_cable, programs, "both"), share="wait")
        harness.case("a folder of its own", functools.partial(own_folder, programs), share="wait")
        harness.case("a folder that both see", functools.partial(shared_folder, programs))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
