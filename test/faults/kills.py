"""Kills a rank in a phase of its step, mpirun's own clean-up taken away, and goes on from what was saved.

    plan = Plan("dp", executable, text, directory)     # with the run that nobody disturbs
    done = plan.kill("update", rank=1, generator)      # raises Mismatch, or says how it went

A run keeps with --publish-phases what each rank is doing. The victim is stopped at a random moment; if it stands in the
wanted phase it is killed there, else it goes on and is stopped again: no kill misses its phase.
"""

import glob
import mmap
import os
import re
import shutil
import signal
import struct
import time

from job import Job
from support.executable import Mismatch

# As runtime/executor/phase_board.h has them.
PHASES = ("start", "forward", "backward", "all-reduce", "transfer", "update", "evaluate", "other")
ROW = struct.Struct("<4q32x")
STEPS, EVERY = 120, 6
# Everything that resuming must bring back: moments and their count, the order of samples, dropout, the learning rate.
FLAGS = ["--lr", "1e-3", "--warmup", "20", "--lr-schedule", "cosine", "--clip", "0.9", "--seed", "3", "--eval-every", "20",
         "--eval-batches", "2"]
# What is asked for is 5 s; a loaded machine gets more, and the figure is printed.
DEADLINE = 30


class Board:
    """What the ranks publish."""

    def __init__(self, path, ranks):
        self.path, self.ranks, self.rows = path, ranks, None

    def is_complete(self):
        """Whether all ranks are there."""
        if self.rows is None and os.path.exists(self.path) and os.path.getsize(self.path) == self.ranks * ROW.size:
            with open(self.path, "rb") as file:
                self.rows = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        return self.rows is not None and all(self.row(rank)[0] for rank in range(self.ranks))

    def row(self, rank):
        """Its process, step (from 1), phase, and whether it saves."""
        process, step, phase, saving = ROW.unpack_from(self.rows, rank * ROW.size)
        return process, step, PHASES[phase], bool(saving)


class Missed(Exception):
    """The run ended before the victim stood in the phase."""


class Kill:
    """How one went."""

    def __init__(self, plan, phase, rank, step, seconds, saved):
        self.plan, self.phase, self.rank, self.step, self.seconds, self.saved = plan, phase, rank, step, seconds, saved

    def __str__(self):
        return (f"{self.plan}: rank {self.rank} killed in {self.phase} of step {self.step}; the others ended in "
                f"{self.seconds:.2f} s; resumed after step {self.saved}")


def freeze(process):
    """Stops a process; returns when all its threads have."""
    os.kill(process, signal.SIGSTOP)
    while True:
        states = set()
        for path in glob.glob(f"/proc/{process}/task/*/stat"):
            with open(path) as file:
                states.add(file.read().rpartition(")")[2].split()[0])
        if not states - {"T", "t", "Z", "X"}:
            return
        time.sleep(0.0005)


class Plan:
    def __init__(self, name, executable, text, directory):
        self.name, self.executable, self.text = name, executable, text
        self.directory = os.path.join(directory, name + ".kills")
        os.makedirs(self.directory)
        with self._job("reference", []) as job:
            self._wait_for_end(job)
            self.losses, self.evaluations = self._read_losses(job)
        assert sorted(self.losses) == list(range(1, STEPS + 1)), "the run without a fault is not complete"
        self.parameters = self._read_parameters("reference")

    def _job(self, name, flags):
        path = os.path.join(self.directory, name)
        return Job(self.executable, ["--data", self.text, "--eval-data", self.text, "--export", path + ".safetensors",
                                     *FLAGS, *flags], self.directory, "mpirun", name=name, steps=STEPS)

    def _wait_for_end(self, job):
        job.process.wait(timeout=300)
        if job.process.returncode != 0:
            raise Mismatch(f"{self.name}: exit status {job.process.returncode}:\n{job.error_text[-2000:]}")

    def _read_losses(self, job):
        evaluations = {record["step"]: record["loss_hex"] for record in job.records if record["event"] == "eval"}
        return {record["step"]: record["loss_hex"] for record in job.steps}, evaluations

    def _read_parameters(self, name):
        with open(os.path.join(self.directory, name + ".safetensors"), "rb") as file:
            return file.read()

    def _strike(self, board, phase, rank, generator):
        """Kills the rank in the phase. Returns the step."""
        def is_there():
            _, _, seen, saves = board.row(rank)
            return saves if phase == "save" else seen == phase
        process = board.row(rank)[0]
        if phase != "start":
            time.sleep(generator.uniform(0, 0.01))
        while board.row(rank)[1] < STEPS:
            end = time.time() + 0.02
            while not is_there() and time.time() < end:
                pass  # an update takes some 50 us
            time.sleep(generator.choice((0, 0, generator.uniform(0, 0.002))))
            try:
                freeze(process)
                if is_there() and board.row(rank)[1] < STEPS:
                    os.kill(process, signal.SIGKILL)
                    return board.row(rank)[1]
                os.kill(process, signal.SIGCONT)
            except ProcessLookupError:
                break
        raise Missed

    def kill(self, phase, rank, generator, attempts=20):
        """`phase` is one of PHASES or "save". Raises Mismatch where anything is not as it must be."""
        for _ in range(attempts):
            try:
                return self._try(phase, rank, generator)
            except Missed:
                pass
        raise AssertionError(f"{self.name}: rank {rank} was never in {phase} when it was stopped")

    def _try(self, phase, rank, generator):
        checkpoints = os.path.join(self.directory, "checkpoints")
        shutil.rmtree(checkpoints, ignore_errors=True)
        for path in glob.glob(os.path.join(self.directory, "killed*")) + glob.glob(os.path.join(self.directory, "resumed*")):
            os.remove(path)
        saves = ["--checkpoint", checkpoints, "--checkpoint-every", str(EVERY)]
        board = Board(os.path.join(self.directory, "killed.phases"), self.executable.ranks)
        earliest = generator.randint(1, STEPS // 2)
        with self._job("killed", [*saves, "--publish-phases", board.path]) as job:
            while not board.is_complete():
                if job.process.poll() is not None:
                    raise Mismatch(f"{self.name}: did not start:\n{job.error_text[-2000:]}")
                time.sleep(0.002)
            while phase != "start" and board.row(rank)[1] < earliest:
                if job.process.poll() is not None:
                    raise Missed
                time.sleep(0.002)
            job.pids = {each: board.row(each)[0] for each in range(job.ranks)}
            job.stop_mpirun()
            step = self._strike(board, phase, rank, generator)
            seconds = self._expect_ended(job, rank, f"{phase} of step {step}")
            kept = [record["step"] for record in job.records if record["event"] == "checkpoint" and "error" not in record]
            known = self._read_losses(job)
        saved = self._resume(saves, max(kept, default=0), known, f"rank {rank} killed in {phase} of step {step}")
        return Kill(self.name, phase, rank, step, seconds, saved)

    def _expect_ended(self, job, victim, when):
        """The others end on their own with a status that is not 0, and say who went. Returns how long that took."""
        def fail(what):
            raise Mismatch(f"{self.name}: rank {victim} killed in {when}: {what}\n{job.error_text[-3000:]}")
        try:
            seconds = job.wait_for_ranks(DEADLINE)
        except AssertionError as error:
            fail(str(error))
        statuses = job.wait_for_statuses(job.ranks)
        others = {rank: status for rank, status in statuses.items() if rank != victim}
        if len(others) != job.ranks - 1 or not all(others.values()):
            fail(f"exit statuses {statuses}")
        # One speaks for all; where rank 0 is gone each may.
        gone = [re.match(r"error: rank (\d+) is gone ", line) for line in job.errors]
        if not gone or not all(found and int(found[1]) == victim for found in gone):
            fail("the others do not say just that this rank is gone")
        return seconds

    def _resume(self, flags, least, known, what):
        """From the newest checkpoint to the end, bit for bit as if nothing had been. Returns its step."""
        def compare(kind, found, expected):
            for step, loss in found.items():
                if expected[step] != loss:
                    raise Mismatch(f"{self.name}: {what}: {kind} {step} is {loss}, and {expected[step]} without a fault")
        compare("before it, the loss of step", known[0], self.losses)
        with self._job("resumed", [*flags, "--resume"]) as job:
            self._wait_for_end(job)
            first = [record["first_step"] for record in job.records if record["event"] == "start"][0]
            losses, evaluations = self._read_losses(job)
        if first <= least:
            raise Mismatch(f"{self.name}: {what}: the checkpoint of step {least} was complete, and the run went on with step {first}")
        if sorted(losses) != list(range(first, STEPS + 1)):
            raise Mismatch(f"{self.name}: {what}: resumed at step {first}, and has the steps {sorted(losses)}")
        compare("resumed, the loss of step", losses, self.losses)
        compare("resumed, the evaluation after step", evaluations, self.evaluations)
        if self._read_parameters("resumed") != self.parameters:
            raise Mismatch(f"{self.name}: {what}: the parameters differ at the end")
        left = [name for name in os.listdir(flags[1]) if not re.fullmatch(r"step-\d{8}|\.lock", name)]
        if left:
            raise Mismatch(f"{self.name}: {what}: left in the folder of checkpoints: {left}")
        return first - 1
