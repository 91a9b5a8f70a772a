"""A training run that something is done to.

    with Job(executable, ["--data", text], directory, "mpirun") as job:
        job.wait_for_step(3)
        job.stop_mpirun()                  # takes mpirun's own clean-up away
        os.kill(job.pid_of(1), signal.SIGKILL)
        job.wait_for_ranks(20)             # seconds from then until no process of a rank is left
    job.errors, job.records, job.statuses
"""

import json
import os
import signal
import subprocess
import time

from support.executable import environment, new_log
from support.mpirun import ON_ONE_MACHINE, under_mpirun

# What mpirun starts: a rank whose output and exit status are in files, also where mpirun is stopped. Signals are passed
# on; the rank has a session of its own, for mpirun sends some of them to a whole process group: they would come twice.
RANK = ["/bin/sh", "-c", """
stem=$0.$OMPI_COMM_WORLD_RANK
setsid "$@" >$stem.out 2>$stem.err &
for name in TERM USR1; do trap "kill -$name $!" $name; done
while :; do wait $!; status=$?; kill -0 $! 2>/dev/null || break; done
echo $status >$stem.status
exit $status"""]


class Job:
    def __init__(self, executable, flags, directory, launch, name="job", steps=1000000, mpirun=ON_ONE_MACHINE, before=()):
        """`executable`: of support.executable. `launch`: "threads" or "mpirun". `mpirun`: more of its flags. `before`: a
        command that becomes mpirun."""
        self.stem = os.path.join(directory, name)
        self.log = self.stem + ".jsonl"
        self.ranks = executable.ranks if launch == "mpirun" else 1
        self.launch = launch
        command = [executable.path, "--steps", str(steps), *new_log(self.log, flags), *flags]
        if launch == "mpirun":
            command = [*before, *under_mpirun(self.ranks, mpirun), *RANK, self.stem, *command]
        self.executable = os.path.realpath(executable.path)
        with open(self.stem + ".out", "w") as out, open(self.stem + ".err", "w") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, env=dict(environment(), PPOPT_TEST_JOB=self.stem),
                                            start_new_session=True)
        self.pids = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Nothing is left running, whatever became of the run."""
        for pid in [*self.living(), self.process.pid]:
            for number in (signal.SIGKILL, signal.SIGCONT):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass
        self.process.wait()

    def _read(self, kind):
        """What all ranks wrote, and for "err" mpirun too."""
        stems = [self.stem, *(f"{self.stem}.{rank}" for rank in range(self.ranks))]
        text = ""
        for path in (f"{stem}.{kind}" for stem in stems):
            if os.path.exists(path):
                with open(path) as file:
                    text += file.read()
        return text

    @property
    def text(self):
        return self._read("out")

    @property
    def error_text(self):
        return self._read("err")

    @property
    def records(self):
        """The lines of the log that are complete."""
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    @property
    def steps(self):
        return [record for record in self.records if record["event"] == "step"]

    @property
    def errors(self):
        """Lines of our processes."""
        return [line for line in self.error_text.splitlines() if line.startswith("error:")]

    @property
    def statuses(self):
        """Exit statuses by rank, of those that have ended."""
        if self.launch != "mpirun":
            return {0: self.process.poll()} if self.process.poll() is not None else {}
        statuses = {}
        for rank in range(self.ranks):
            path = f"{self.stem}.{rank}.status"
            if os.path.exists(path) and os.path.getsize(path):
                with open(path) as file:
                    statuses[rank] = int(file.read())
        return statuses

    def _find(self):
        """Pids of the ranks' own processes by rank."""
        if len(self.pids) == self.ranks:
            return
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) in self.pids.values():
                continue
            try:
                if os.readlink(f"/proc/{entry}/exe") != self.executable:
                    continue
                with open(f"/proc/{entry}/environ", "rb") as file:
                    variables = dict(item.partition(b"=")[::2] for item in file.read().split(b"\0"))
            except OSError:
                continue
            if variables.get(b"PPOPT_TEST_JOB") == os.fsencode(self.stem):
                self.pids[int(variables.get(b"OMPI_COMM_WORLD_RANK", b"0"))] = int(entry)

    def pid_of(self, rank):
        if rank not in self.pids:
            self._find()
        return self.pids[rank]

    def living(self):
        """Pids of the ranks' processes that have not ended."""
        self._find()

        def lives(pid):
            try:
                with open(f"/proc/{pid}/stat") as file:
                    return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
            except OSError:
                return False

        return [pid for pid in self.pids.values() if lives(pid)]

    def wait_for_step(self, step, seconds=120):
        """Until the log has the step, and all ranks' processes are known."""
        end = time.time() + seconds
        while not (self.steps and self.steps[-1]["step"] >= step):
            ended = self.process.poll()
            if ended is not None or time.time() > end:
                raise AssertionError(f"no step {step} (mpirun's status {ended}):\n" + self.error_text[-2000:])
            time.sleep(0.02)
        self._find()
        assert len(self.pids) == self.ranks, f"found {self.pids} of {self.ranks} ranks"

    def wait_for(self, text, seconds=120):
        """Until the text is in the output."""
        end = time.time() + seconds
        while text not in self.text:
            if self.process.poll() is not None or time.time() > end:
                raise AssertionError(f"no '{text}':\n" + self.error_text[-2000:])
            time.sleep(0.02)
        self._find()

    def stop_mpirun(self):
        if self.launch == "mpirun":
            os.kill(self.process.pid, signal.SIGSTOP)

    def wait_for_ranks(self, seconds, but=()):
        """Until no process of a rank is left, save those of the ranks `but`. Returns how long that took."""
        begin = time.time()
        kept = [self.pids[rank] for rank in but]
        while [pid for pid in self.living() if pid not in kept]:
            if time.time() - begin > seconds:
                raise AssertionError(f"after {seconds} s these still run: {self.living()} of {self.pids}; said: {self.errors}")
            if self.launch != "mpirun":
                self.process.poll()
            time.sleep(0.01)
        return time.time() - begin

    def wait_for_statuses(self, count, seconds=20):
        """The statuses as soon as there are `count` of them."""
        end = time.time() + seconds
        while len(self.statuses) < count and time.time() < end:
            time.sleep(0.02)
        return self.statuses
