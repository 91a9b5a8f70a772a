"""The cost model against what ran: times of tasks, of GPTs whose work differs in kind, and waits for collectives inside tasks."""
import collections
import json
import os
import statistics
import subprocess

from runs import SMALL, compile_model, ours, write_gpt

PIPELINE = ["--mesh", "pp=2", "--schedule", "zb-h1", "--microbatches", "4"]
SHARDED = ["--mesh", "dp=2", "--zero", "3", "--bucket-bytes", "4MiB"]
TASKS = ("forward", "backward", "backward_input", "backward_weight")
# runs.SHAPE
GPTS = {"small": SMALL, "narrow": (4, 128, 4, 256, 128, 32), "wide": (2, 768, 12, 256, 256, 4),
        "long": (3, 192, 6, 256, 768, 4), "many tokens": (2, 256, 4, 8192, 256, 4)}


def split_runs(events):
    """{(stage, kind): [(milliseconds of computing, of waiting for collectives inside)]} of each run in a trace."""
    runs = [event for event in events if event.get("cat") in TASKS]
    waits = collections.defaultdict(list)  # of a process
    for event in events:
        if event.get("cat") == "wait":
            waits[event["pid"]].append(event)
    split = collections.defaultdict(list)
    for run in runs:
        end = run["ts"] + run["dur"]
        waited = sum(wait["dur"] for wait in waits[run["pid"]] if run["ts"] <= wait["ts"] < end)
        split[run["args"]["stage"], run["cat"]].append(((run["dur"] - waited) / 1e3, waited / 1e3))
    return split


def times_of(path):
    """The medians of the runs of each task: of computing, and of waiting."""
    with open(path) as file:
        split = split_runs(json.load(file)["traceEvents"])
    return {task: tuple(statistics.median(part) for part in zip(*runs)) for task, runs in split.items()}


def measure_plan(options, directory, plan):
    for name, shape in GPTS.items():
        model, executable = write_gpt(options, directory, shape), os.path.join(directory, "train")
        predicted, measured = os.path.join(directory, "plan.json"), os.path.join(directory, "ran.json")
        subprocess.run([options.ppopt, "plan", model, "--threads", "1", *plan, "--trace", predicted], check=True,
                       stdout=subprocess.DEVNULL)
        compile_model(options, model, executable, 1, plan)
        ours(options, executable, os.path.join(directory, "log.jsonl"), 2, 1,
             ["--trace", measured, "--trace-steps", str(options.steps - 1)])
        ran = times_of(measured)
        for (stage, task), (time, waits) in sorted(times_of(predicted).items()):
            computed, waited = ran[stage, task]
            print(f"  {name:<12} stage {stage} {task:<15} {time:>6.2f} {computed:>9.2f} {computed / time:>6.2f} | {waits:>9.2f} {waited:>9.2f}",
                  flush=True)


def measure(options, directory):
    for title, plan in (("pipeline", PIPELINE), ("sharded parameters", SHARDED)):
        print(f"{title}: milliseconds of a task of one microbatch, two ranks at work\n  {'computing':>50}{'waiting inside':>25}\n"
              f"  {'':<32} {'predicted':>9} {'measured':>9}  ratio | {'predicted':>9} {'measured':>9}")
        measure_plan(options, directory, plan)
