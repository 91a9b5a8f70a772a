"""best.py LOG FOLDER NAME:min|max: what the log says of the best evaluation is what its evaluations give, and the folder's `best` is a checkpoint of that
step. Evaluations that a resumed run repeats count once. Prints those that the log says of each evaluation, and what the newest manifest records."""

import json
import os
import sys

log, folder, of = sys.argv[1:]
name, order = of.rsplit(":", 1)
evaluations = {}
for event in map(json.loads, open(log)):
    if event["event"] == "start":
        evaluations = {step: e for step, e in evaluations.items() if step < event["first_step"] - 1}
    if event["event"] == "eval":
        evaluations[event["step"]] = event
best = None
for step, event in sorted(evaluations.items()):
    value = {"loss": event["loss"], **event.get("metrics", {})}[name]
    better = value is not None and (best is None or (value < best["value"] if order == "min" else value > best["value"]))
    best = {"of": of, "value": value, "step": step, "since": 0} if better else {**best, "since": best["since"] + 1}
    assert event["best"] == best, (event["best"], best)
    print(step, json.dumps(best, sort_keys=True))
link = os.readlink(os.path.join(folder, "best"))
assert link == f"step-{best['step']:08}", (link, best)
kept = {entry: json.load(open(os.path.join(folder, entry, "manifest.json"))) for entry in os.listdir(folder) if entry.startswith("step-")}
assert kept[link]["step"] == best["step"]
newest = max(kept)
print(newest, json.dumps(kept[newest].get("best"), sort_keys=True))
