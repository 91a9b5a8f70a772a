"""Prints the hexadecimal losses of an executable's log, one per line, and checks
that the log is well-formed. With --near OTHER, compares them with another log's
within 1e-12 of their size instead; with --distinct N, counts different ones."""

import argparse
import json

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("log")
parser.add_argument("--near")
parser.add_argument("--distinct", type=int)
parser.add_argument("--evaluations", action="store_true")
arguments = parser.parse_args()


def read(path):
    events = [json.loads(line) for line in open(path)]
    assert events[0]["event"] == "start" and events[-1]["event"] == "end", path
    wanted = ["step", "eval"] if arguments.evaluations else ["step"]
    rows = [e for e in events if e["event"] in wanted]
    for row in rows:
        assert float.fromhex(row["loss_hex"]) == row["loss"], row
    steps = [e["step"] for e in events if e["event"] == "step"]
    assert steps == list(range(1, len(steps) + 1)), steps
    return rows


losses = read(arguments.log)
if arguments.near:
    others = read(arguments.near)
    assert len(losses) == len(others) > 0
    for ours, other in zip(losses, others):
        difference = abs(ours["loss"] - other["loss"])
        assert difference <= 1e-12 * abs(other["loss"]), (ours, other)
elif arguments.distinct:
    found = {row["loss_hex"] for row in losses}
    assert len(found) == arguments.distinct, found
else:
    for row in losses:
        print(row["event"], row["step"], row["loss_hex"])
