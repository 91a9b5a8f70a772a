"""The predicted time of collectives inside tasks, off `ppopt plan --trace`: nothing is exposed over an infinitely fast
link, and what a slow link exposes is what the rings' bytes and rounds say, computed here from the program alone.

    check_predicted.py --build build/release
"""

import collections
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import executable
from support.printed_times import predicted_step
from support.results import Harness

HERE = os.path.dirname(os.path.abspath(__file__))
WRITE_DEVICE = os.path.join(HERE, "..", "Driver", "Inputs", "write_device.py")
GPT = ["--layers", "4", "--width", "64", "--heads", "2", "--vocab", "80", "--seq", "12", "--batch", "16"]
RUNS = ("forward", "backward", "backward_input", "backward_weight")
SIZE = {"f32": 4, "bf16": 2}
INFINITE = (0, 1e30)  # latency in nanoseconds, bytes per nanosecond
CLOSE = 0.01          # microseconds: a trace has three decimals, and a run has some collectives

PLANS = {
    "zero 3": ["--mesh", "dp=4", "--zero", "3"],
    "zero 2": ["--mesh", "dp=4", "--zero", "2"],
    "zero 3, bf16": ["--mesh", "dp=4", "--zero", "3", "--precision", "bf16"],
    "zero 3, two axes": ["--mesh", "dp=2,fsdp=2", "--zero", "3", "--microbatches", "2"],
    "zero 3, pipeline": ["--mesh", "fsdp=2,pp=2", "--zero", "3", "--microbatches", "4", "--schedule", "zb-h1"],
}


class Planned:
    """A model and the flags of its plan."""

    def __init__(self, harness, folder, flags):
        self.ppopt, self.folder = harness.ppopt, folder
        self.model = os.path.join(folder, "gpt.mlir")
        executable.checked([self.ppopt, "model", "gpt", *GPT, "-o", self.model])
        self.flags = ["--threads", "1", "--bucket-bytes", "192KiB", *flags]

    def plan(self, *flags):
        return executable.checked([self.ppopt, "plan", self.model, *self.flags, *flags]).stdout

    def write_device(self, link):
        """A device whose collectives have this latency and rate."""
        latency, rate = link
        device = os.path.join(self.folder, "device.json")
        ranks = json.dumps({"transfer": {"latency": 0, "rate": 4}, "collective": {"latency": latency, "rate": rate}})
        executable.checked([sys.executable, WRITE_DEVICE, device, f"local_threads={ranks}", "launch=100"])
        return device

    def predict(self, link, *more):
        """(text, program, {(place, run): run}) of the predicted step. A run has its time and its collectives. The program is
        for this link, too, on which depends where a model is cut."""
        device, trace = self.write_device(link), os.path.join(self.folder, "plan.json")
        text = self.plan(*more, "--device", device, "--trace", trace)
        program = json.loads(self.plan(*more, "--device", device, "--json"))
        with open(trace) as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        runs = {}
        for event in events:
            if event["cat"] in RUNS:
                event["inside"] = [other for other in events if other["pid"] == event["pid"] and "exposed" in other["args"]
                                   and event["ts"] - CLOSE <= other["ts"] and end_of(other) <= end_of(event) + CLOSE]
                runs[event["pid"], event["name"]] = event
        return text, program, runs


def times_of_links(program, link, task):
    """Microseconds of each collective of a task alone, by kind: rounds of a ring, each of a chunk."""
    latency, rate = link
    index = [each["name"] for each in program["tasks"]].index(task)
    times = collections.defaultdict(list)
    for each in program["collectives"]:
        if each["task"] == index:
            ranks = 1
            for axis in program["plan"]["mesh"]:
                ranks *= axis["size"] if axis["axis"] in each["axes"] else 1
            chunk = each["elements"] * SIZE[each["type"]] / ranks
            times[each["op"]].append((ranks - 1) * (latency + chunk / rate) / 1000)
    return times


def end_of(event):
    return event["ts"] + event["dur"]


def exposed(run):
    return sum(each["args"]["exposed"] for each in run["inside"])


def expect_near(what, ours, expected):
    assert abs(ours - expected) <= CLOSE + 1e-6 * abs(expected), f"{what}: {ours} us, not {expected}"


def with_planned(harness, flags, check):
    with tempfile.TemporaryDirectory() as folder:
        check(Planned(harness, folder, flags))


def check_infinite(planned):
    """Nothing is waited for, and the step is as long as what it computes."""
    text, program, runs = planned.predict(INFINITE)
    kinds = [task["kind"] for task in program["tasks"]]
    listed = sum(1 for each in program["collectives"] if kinds[each["task"]] in RUNS)
    assert sum(len(run["inside"]) for run in runs.values()) >= listed > 0
    assert all(exposed(run) == 0 for run in runs.values())
    assert re.search(r"\n  in tasks, exposed +0\.0 us", text), text


def check_added(planned):
    """At every rate: the time of a run is that over an infinite link and what is exposed; what is in flight is hidden or
    waited for; more is exposed the slower the link."""
    _, _, compute = planned.predict(INFINITE)
    before = None
    for rate in (100, 1, 0.1, 0.01):
        text, _, runs = planned.predict((1000, rate))
        assert runs.keys() == compute.keys()
        assert not re.search(r"\n  in tasks, exposed +0\.0 us", text), text
        for name, run in runs.items():
            expect_near(f"{name} at {rate}", run["dur"], compute[name]["dur"] + exposed(run))
            for each in run["inside"]:
                args = each["args"]
                assert args["hidden"] <= each["dur"] + CLOSE and args["exposed"] <= run["dur"], each
                if run["cat"] == "forward":  # on one channel: what is in flight is waited for alone
                    expect_near(f"{each['name']} of {name}", args["hidden"] + args["exposed"], each["dur"])
        total = sum(exposed(run) for run in runs.values())
        assert before is None or total > before, f"{total} us are exposed at {rate}, {before} before"
        before = total


def check_unhidden(planned):
    """Without prefetch, a gather is exposed from its start to its end, unless a sum is waited for meanwhile."""
    link = (3000, 0.5)
    _, program, runs = planned.predict(link, "--prefetch", "none")
    gathers = 0
    for name, run in runs.items():
        mine = [each for each in run["inside"] if each["cat"] == "all-gather"]
        for task in {each["args"]["task"] for each in mine}:
            expected = sorted(times_of_links(program, link, task)["all_gather"])
            times = sorted(each["args"]["exposed"] for each in mine)
            assert len(times) == len(expected), f"{name} gathers {len(times)}, {task} {len(expected)}"
            for ours, theirs in zip(times, expected):
                expect_near(f"a gather of {name}", ours, theirs)
            gathers += len(times)
    assert gathers > 0


def check_slow(planned, prefix, kind):
    """Over links so slow that nothing is hidden for long, each microsecond more per byte is exposed whole."""
    slow, slower = (0, 1e-4), (0, 5e-5)
    (_, program, first), (_, _, second) = planned.predict(slow), planned.predict(slower)
    runs = [name for name in first if name[1].startswith(prefix)]
    assert runs
    for name in runs:
        task = {each["args"]["task"] for each in first[name]["inside"]}.pop()
        more, less = (sum(times_of_links(program, link, task)[kind]) for link in (slower, slow))
        expect_near(f"{name}, twice as slow", exposed(second[name]) - exposed(first[name]), more - less)


def check_auto(planned):
    """--schedule auto, which chooses before launches are known, counts collectives too: over links so slow that little else
    counts, it predicts what is predicted in the end."""
    flags = ["--schedule", "auto", "--device", planned.write_device((0, 1e-3))]
    done = executable.checked([planned.ppopt, "plan", planned.model, *planned.flags, *flags])
    chosen, times = re.search(r"--schedule auto takes (\S+); predicted, in ms: (.*)", done.stderr).groups()
    early = float(dict(each.split() for each in times.split(", "))[chosen])
    late = predicted_step(done.stdout) * 1000
    assert abs(early - late) < 0.02 * late, f"{chosen}: {early} ms at first, {late} ms in the end"


def main():
    harness = Harness("predicted")
    for name, flags in PLANS.items():
        harness.case(f"{name}: infinite link", lambda f=flags: with_planned(harness, f, check_infinite))
        harness.case(f"{name}: exposed is added", lambda f=flags: with_planned(harness, f, check_added))
        if name != "zero 2":
            harness.case(f"{name}: no prefetch", lambda f=flags: with_planned(harness, f, check_unhidden))
            harness.case(f"{name}: slow gathers", lambda f=flags: with_planned(harness, f, lambda p: check_slow(p, "F", "all_gather")))
    harness.case("schedule auto", lambda: with_planned(harness, PLANS["zero 3, pipeline"][:-2], check_auto))
    harness.case("zero 2: slow sums", lambda: with_planned(harness, PLANS["zero 2"], lambda p: check_slow(p, "B", "reduce_scatter")))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
