#!/usr/bin/env python3
"""`ppopt plan --mtbf` against a simulation of failures, and `--slow-rank` against what must follow.

The simulation draws the times between failures and follows a job second by second: failures during work, checkpoints and restarts. The printed useful
share must be that of the simulation, within its error, and no interval that differs by a third may be better by more than that.

By hand: check_goodput.py --filter 'failures.*1'.
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support.executable import checked, expect_close  # noqa: E402
from support.printed_times import TIMES, to_seconds  # noqa: E402
from support.results import Harness  # noqa: E402

CPU = ["--device", "builtin", "--threads", "1"]
SEGMENTS = 400_000
DEVIATIONS = 4  # of the simulated mean

# Ranks, hours between failures of a device, seconds of a checkpoint, of a restart: from rare failures to those that leave little.
SETTINGS = [(1, 10, 20, 300), (4, 10, 20, 600), (8, 2, 15, 250), (2, 0.1, 30, 200), (2, 0.05, 60, 30), (1, 0.02, 1, 100)]


def number(text, row):
    found = re.search(rf"^  {row} +([\d.,]+)(?: (\w+))?", text, re.MULTILINE)
    assert found, f"no line '{row}' in\n{text}"
    value = found[1].replace(",", "")
    return to_seconds(f"{value} {found[2]}") if found[2] in TIMES else float(value)


def simulate(mean, checkpoint, restart, interval, seed):
    """The useful share of a job's time and its standard error, from many intervals of work, each until it is saved."""
    draw = numpy.random.default_rng(seed).exponential
    times = numpy.zeros(SEGMENTS)
    working, restarting = numpy.arange(SEGMENTS), numpy.arange(0)
    while len(working) or len(restarting):
        failure = draw(mean, len(working))
        times[working] += numpy.minimum(failure, interval + checkpoint)
        failed = working[failure < interval + checkpoint]
        failure = draw(mean, len(restarting))
        times[restarting] += numpy.minimum(failure, restart)
        working, restarting = restarting[failure >= restart], numpy.concatenate([restarting[failure < restart], failed])
    share = interval / times.mean()
    return share, share * times.std() / times.mean() / SEGMENTS**0.5


class Case:
    def __init__(self, harness, directory):
        self.ppopt, self.path = harness.ppopt, os.path.join(directory, "mlp.mlir")
        checked([self.ppopt, "model", "mlp", "--widths", "64,64,64,8", "--batch", "32", "-o", self.path])

    def plan(self, *flags):
        return checked([self.ppopt, "plan", self.path, *CPU, *flags]).stdout

    def check_failures(self, ranks, hours, checkpoint, restart):
        flags = ["--mtbf", str(hours), "--checkpoint-time", str(checkpoint), "--restart-time", str(restart)]
        text = self.plan("--mesh", f"dp={ranks}", *flags)
        mean = hours * 3600 / ranks
        expect_close("failures per day", float(re.search(r"failures, expected: ([\d.e+]+)", text)[1]), 86400 / mean, 5e-3)
        interval, printed = number(text, "best interval"), number(text, "useful time") / 100
        share, error = simulate(mean, checkpoint, restart, interval, seed=ranks)
        print(f"  every {interval:.1f} s: {printed:.4f}, simulated {share:.4f} +- {error:.4f}")
        assert abs(printed - share) < DEVIATIONS * error + 5e-5, f"the useful time is {printed}, and {share} +- {error} in simulation"
        for other in (interval / 1.33, interval * 1.33):
            share, error = simulate(mean, checkpoint, restart, other, seed=ranks + 100)
            assert share < printed + DEVIATIONS * error, f"every {other} s {share} +- {error} of the time is useful, and every {interval} s {printed}"

    def check_rest(self):
        """The checkpoint's time follows from its bytes, and the throughput from the share."""
        text = self.plan("--mesh", "dp=2", "--mtbf", "100", "--checkpoint-rate", "1KB")
        bytes_of = int(re.search(r"^  checkpoint copy +([\d,]+)", text, re.MULTILINE)[1].replace(",", ""))
        expect_close("seconds of a checkpoint", number(text, "a checkpoint"), bytes_of / 1000, 1e-3)
        whole = float(re.search(r"^the step, predicted: .*, ([\d,]+) samples/s", text, re.MULTILINE)[1].replace(",", ""))
        expect_close("throughput", number(text, "throughput"), whole * number(text, "useful time") / 100, 2e-4)
        assert "best interval" in self.plan("--plan", "auto", "--ranks", "2", "--mtbf", "100")

    def check_refused(self):
        """With what the error asks for, half of the time is useful."""
        flags = ["--mesh", "dp=8", "--checkpoint-time", "30"]
        done = subprocess.run([self.ppopt, "plan", self.path, *CPU, *flags, "--mtbf", "0.1"], capture_output=True, text=True)
        needed = re.search(r"for half of it, devices need --mtbf ([\d.]+)", done.stderr)
        assert done.returncode == 1 and not done.stdout and needed, done.stderr
        expect_close("useful time", number(self.plan(*flags, "--mtbf", needed[1]), "useful time"), 50, 1e-2)

    def check_slow(self):
        """Two trainers, one of which takes 2.5 times as long: with `async` they do 1.4 steps per step, bounded 0.8."""
        for sync, left in [("async", 1.4 / 2), ("stale=4", 0.8 / 2)]:
            text = self.plan("--mesh", "dp=2", "--sync", sync, "--slow-rank", "2.5")
            less = float(re.search(r"([\d.]+) % less", text)[1]) / 100
            expect_close(f"throughput with {sync}", 1 - less, left, 2e-3)
        assert "in each step after their first 7" in text, text
        # In step, the work takes three times as long, and sums over ranks what they took.
        text = self.plan("--mesh", "dp=2", "--slow-rank", "3")
        slow, usual = re.search(r"the step +([\d.]+) us instead of ([\d.]+) us", text).groups()
        assert 1 < float(slow) / float(usual) <= 3, text
        # Only one of the places: more than without, less than if all were slow.
        text = self.plan("--mesh", "pp=2", "--microbatches", "8", "--slow-rank", "2")
        less = float(re.search(r"([\d.]+) % less", text)[1])
        assert re.search("on place [01], where it costs most", text) and 0 < less < 50, text


def main():
    harness = Harness("goodput")
    with tempfile.TemporaryDirectory() as directory:
        for at, setting in enumerate(SETTINGS):
            harness.case(f"failures {at + 1}", lambda setting=setting: Case(harness, directory).check_failures(*setting))
        harness.case("checkpoint and throughput", lambda: Case(harness, directory).check_rest())
        harness.case("refused", lambda: Case(harness, directory).check_refused())
        harness.case("slow rank", lambda: Case(harness, directory).check_slow())
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
