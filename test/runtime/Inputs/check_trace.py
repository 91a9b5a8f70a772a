"""check_trace.py TRACE STEPS RANKS: holds a trace of the program on two places to docs/trace.md, and prints what its lanes have.

STEPS are the numbers of the steps that it has, as in 5,6. What is printed depends on the program alone, not on time.
"""

import collections
import json
import sys


def main():
    with open(sys.argv[1]) as file:
        text = file.read()
    steps = [int(step) for step in sys.argv[2].split(",")]
    ranks = int(sys.argv[3])
    events = json.loads(text)["traceEvents"]
    lines = text.splitlines()
    assert lines[0] == '{"displayTimeUnit": "ms", "traceEvents": [' and lines[-1] == "]}"
    assert [json.loads(line.rstrip(",")) for line in lines[1:-1]] == events  # one event a line

    names, lanes, starts, ends = {}, collections.defaultdict(list), {}, {}
    for event in events:
        lane = event["pid"], event["tid"]
        if event["ph"] == "M":
            assert lane not in lanes  # introduced before anything else
            if event["name"] == "thread_name":
                names[lane] = event["args"]["name"]
        elif event["ph"] == "X":
            assert list(event) == ["name", "cat", "ph", "pid", "tid", "ts", "dur", "args"], event
            assert event["dur"] >= 0 and lane in names
            lanes[lane].append(event)
        else:
            side = {"s": starts, "f": ends}[event["ph"]]
            assert event["id"] not in side
            side[event["id"]] = event
    assert {pid for pid, _ in lanes} == set(range(ranks))
    assert set(starts) == set(ends)
    for flow in starts.values():
        # A message arrives after it was sent. Ranks agree on the time by messages, which a loaded machine delays: 0.1 s.
        assert flow["ts"] <= ends[flow["id"]]["ts"] + 100_000, flow
        assert flow["id"].endswith(f"rank {flow['pid']}") and int(flow["id"].split()[3]) in steps

    slack = 0.0015  # rounding
    for (pid, tid), lane in sorted(lanes.items()):
        inside = lane
        if tid == 1:
            whole = [event for event in lane if event["cat"] == "step"]
            assert [event["args"]["step"] for event in whole] == steps
            inside = [event for event in lane if event["cat"] != "step"]
            for event in inside:
                assert any(step["ts"] - slack <= event["ts"] and event["ts"] + event["dur"] <= step["ts"] + step["dur"] + slack
                           for step in whole), event
        for before, after in zip(inside, inside[1:]):
            assert before["ts"] + before["dur"] <= after["ts"] + slack, (before, after)
        counts = collections.Counter(event["name"] for event in lane if event["cat"] != "wait")
        print(f"{pid} {names[pid, tid]}:", ", ".join(f"{name} x{count}" for name, count in counts.items()))
    first = min((event["ts"] for event in events if event["ph"] != "M"), default=0)
    assert first == 0, f"the trace begins at {first}"
    print("begins at zero")


main()
