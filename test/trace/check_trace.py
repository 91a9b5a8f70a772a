"""Reads off the trace of what ran what a schedule promises: on a chain of equal layers, the order of each rank's runs,
how many microbatches it has in flight, and the bytes that it sends, against the formulas of the literature.

    check_trace.py --build build/release
"""

import json
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import executable
from support.results import Harness

ROWS, WIDTH = 32, 256  # of a microbatch: a layer costs more than a transfer, so that the cut by cost gives each piece one
FLOAT = 8


def chain(layers, microbatches):
    """A model of equal layers: each a product and a softmax, so that no layer's output is cheap to compute again."""
    batch = ROWS * microbatches
    row = f"tensor<{batch}x{WIDTH}xf64>"
    lines = [f'func.func @chain(%x: {row} {{pp.input = "x"}}) -> tensor<f64> {{']
    value = "%x"
    for layer in range(layers):
        lines += [
            f'  %w{layer} = pp.param "w{layer}" {{init = #pp.init<normal, 0.0, 0.5>}} : tensor<{WIDTH}x{WIDTH}xf64>',
            f"  %p{layer} = pp.matmul {value}, %w{layer} : {row}, tensor<{WIDTH}x{WIDTH}xf64>",
            f"  %h{layer} = pp.softmax %p{layer} : {row}"]
        value = f"%h{layer}"
    lines += [f"  %l = pp.reduce mean {value} [0, 1] : {row}", "  return %l : tensor<f64>", "}"]
    return "\n".join(lines) + "\n"


def trace_of(harness, schedule, places, microbatches, chunks):
    """The trace's complete events of the last of two steps, and the program."""
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "chain.mlir")
        with open(model, "w") as file:
            file.write(chain(places * chunks, microbatches))
        flags = ["--mesh", f"pp={places}", "--schedule", schedule, "--microbatches", str(microbatches), "--optimizer", "sgd",
                 "--threads", "1"]
        if schedule == "interleaved":
            flags += ["--chunks", str(chunks)]
        train = executable.compile_model(harness.ppopt, model, os.path.join(folder, "train"), flags)
        path = os.path.join(folder, "trace.json")
        inputs = {"x": np.random.default_rng(0).standard_normal((ROWS * microbatches, WIDTH))}
        executable.run(train, ["--check-counters", "--trace", path], inputs=inputs, steps=2)
        with open(path) as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
        return events, train.program


RUNS = ("forward", "backward", "backward_input", "backward_weight")


def rows_of(events, places):
    """For each rank the runs of its last step, by time."""
    rows = []
    for rank in range(places):
        mine = [event for event in events if event["pid"] == rank]
        last = max((event for event in mine if event["cat"] == "step"), key=lambda event: event["ts"])
        rows.append(sorted((event for event in mine if event["cat"] in RUNS and event["ts"] >= last["ts"]),
                           key=lambda event: event["ts"]))
    return rows


def in_flight(row):
    """The most (stage, microbatch) pairs that are open at once: a forward opens one, the weight part or the full backward closes it."""
    open_now = most = 0
    for event in row:
        if event["cat"] == "forward":
            open_now += 1
        most = max(most, open_now)
        if event["cat"] in ("backward", "backward_weight"):
            open_now -= 1
    assert open_now == 0, f"{open_now} forwards have no backward"
    return most


def expected_in_flight(schedule, p, m, v, rank):
    """(least, most), in stages' microbatches."""
    if schedule == "naive":
        return 1, 1
    if schedule == "gpipe":
        return m, m
    if schedule == "1f1b":
        return min(m, p - rank), min(m, p - rank)
    if schedule == "interleaved":
        return 1, min(m * v, 2 * (p - rank - 1) + (v - 1) * p + 1)
    if schedule == "zb-h1":
        return 1, min(m, p)
    if schedule == "zb-v":
        return 1, min(2 * m, 2 * p)
    if schedule == "dualpipe-v":
        return 1, min(2 * m, 2 * p + 1)
    raise AssertionError(schedule)


def check_chain(harness, schedule, p, m, v):
    events, program = trace_of(harness, schedule, p, m, v)
    stages = [stage["place"] for stage in program["stages"]]
    assert len(stages) == p * v, f"{len(stages)} stages"
    rows = rows_of(events, p)
    for rank, row in enumerate(rows):
        owned = [stage for stage, place in enumerate(stages) if place == rank]
        for kind in ("forward",):
            ran = sorted((event["args"]["stage"], event["args"]["microbatch"]) for event in row if event["cat"] == kind)
            assert ran == [(s, mb) for s in owned for mb in range(m)], f"rank {rank} ran {kind}s {ran}"
        least, most = expected_in_flight(schedule, p, m, v, rank)
        measured = in_flight(row)
        assert least <= measured <= most, f"rank {rank} has {measured} in flight, not {least} to {most}"
        # Each boundary between two places carries an activation down and its gradient up, for every microbatch.
        boundaries = sum(1 for s in range(p * v - 1) if rank == stages[s] != stages[s + 1])
        boundaries += sum(1 for s in range(1, p * v) if rank == stages[s] != stages[s - 1])
        wanted = boundaries * m * ROWS * WIDTH * FLOAT
        steps = [event["ts"] for event in events if event["pid"] == rank and event["cat"] == "step"]
        sent = sum(event["args"]["bytes"] for event in events if event["pid"] == rank and event["cat"] == "send") // len(steps)
        assert sent == wanted, f"rank {rank} sent {sent} bytes per step, not {wanted}"


def main():
    harness = Harness("trace")
    for schedule, chunks in (("naive", 1), ("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("zb-h1", 1), ("zb-v", 2),
                             ("dualpipe-v", 2)):
        for p, m in ((2, 1), (2, 4), (2, 8), (3, 6), (4, 2), (4, 8)):
            if schedule == "naive" and m != 1:
                continue
            harness.case(f"{schedule}, {p} places, {m} microbatches",
                         lambda s=schedule, p=p, m=m, v=chunks: check_chain(harness, s, p, m, v))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
