"""sent_after_run.py TRACE: counts the transfers of a predicted trace that begin before a run of their stage and microbatch has ended."""
import json
import sys

events = json.load(open(sys.argv[1]))["traceEvents"]
runs, sends, first = {}, [], {}
for event in events:
    if event.get("ph") != "X" or event.get("cat") == "step":
        continue
    if event["cat"] in ("forward", "backward"):
        runs[event["pid"], event["cat"], event["args"]["microbatch"]] = event["ts"] + event["dur"]
    if event["cat"] == "send":
        sends.append(event)
    if event["cat"] not in ("send", "receive"):
        first[event["pid"]] = min(first.get(event["pid"], event), event, key=lambda e: e["ts"])
early = 0
for send in sends:
    ends = [end for (pid, _, microbatch), end in runs.items() if (pid, microbatch) == (send["pid"], send["args"]["microbatch"])]
    early += send["ts"] < min(ends) - 1e-3
print(f"{len(sends)} sent, {early} too early")
print("first slice:", ", ".join(first[pid]["name"] for pid in sorted(first)))
