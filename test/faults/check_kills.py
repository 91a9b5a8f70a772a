#!/usr/bin/env python3
"""kill -9 of a rank in each phase of a step: the others end and say which rank went, and what is resumed is bit-equal to
a run without a fault. A sample of campaign.py, which does many at random moments.
"""
import os
import random
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from campaign import make_plans  # noqa: E402
from job import Job  # noqa: E402
from kills import DEADLINE  # noqa: E402
from support.results import Harness  # noqa: E402

# One in each phase, by turns over plans; ranks are drawn.
KILLS = [("dp", "start"), ("pp", "forward"), ("dp", "backward"), ("pp", "transfer"), ("dp", "all-reduce"), ("pp", "update"),
         ("dp", "save"), ("pp", "save"), ("pp", "evaluate"), ("both", "backward"), ("both", "save"),
         ("shards", "all-reduce"), ("shards", "forward")]


class Checks:
    def __init__(self, harness, directory):
        self.harness, self.directory, self.plans = harness, directory, {}
        self.generator = random.Random(6)

    def plan(self, name):
        if name not in self.plans:
            self.plans.update(make_plans(self.harness.ppopt, [name], self.directory))
        return self.plans[name]

    def kill(self, name, phase):
        plan = self.plan(name)
        print(f"  {plan.kill(phase, self.generator.randrange(plan.executable.ranks), self.generator)}", flush=True)

    def while_starting(self):
        """Before the ranks know each other there is mpirun only, which must be alive: it ends the others."""
        plan = self.plan("dp")
        with Job(plan.executable, ["--data", plan.text], self.directory, "mpirun", name="starting") as job:
            while 1 not in job.pids:
                job.living()
            os.kill(job.pids[1], signal.SIGKILL)
            begin = time.time()
            status = job.process.wait(timeout=DEADLINE)
            job.wait_for_ranks(DEADLINE)
            assert status != 0 and not job.steps, (status, job.steps)
        print(f"  mpirun ended {time.time() - begin:.2f} s later")


harness = Harness("kills")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for name, phase in KILLS:
        harness.case(f"{phase}, {name}", lambda: checks.kill(name, phase), share="wait")
    harness.case("while starting", checks.while_starting, share="wait")
sys.exit(harness.finish())
