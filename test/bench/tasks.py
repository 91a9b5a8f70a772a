"""The cost model against what ran: times of tasks, of GPTs whose work differs in kind."""
import collections
import json
import os
import statistics
import subprocess

from runs import SMALL, compile_model, ours, write_gpt

PLAN = ["--mesh", "pp=2", "--schedule", "zb-h1", "--microbatches", "4"]
TASKS = ("forward", "backward_input", "backward_weight")
# runs.SHAPE
GPTS = {"small": SMALL, "narrow": (4, 128, 4, 256, 128, 32), "wide": (2, 768, 12, 256, 256, 4),
        "long": (3, 192, 6, 256, 768, 4), "many tokens": (2, 256, 4, 8192, 256, 4)}


def times_of(path):
    """Milliseconds of each task, the median of its runs."""
    times = collections.defaultdict(list)
    with open(path) as file:
        for event in json.load(file)["traceEvents"]:
            if event.get("cat") in TASKS:
                times[event["args"]["stage"], event["cat"]].append(event["dur"] / 1e3)
    return {task: statistics.median(of) for task, of in times.items()}


def measure(options, directory):
    print(f"milliseconds of a task of one microbatch, two ranks at work\n  {'':<32} {'predicted':>9} {'measured':>9}  ratio")
    for name, shape in GPTS.items():
        model, executable = write_gpt(options, directory, shape), os.path.join(directory, "train")
        predicted, measured = os.path.join(directory, "plan.json"), os.path.join(directory, "ran.json")
        subprocess.run([options.ppopt, "plan", model, "--threads", "1", *PLAN, "--trace", predicted], check=True,
                       stdout=subprocess.DEVNULL)
        compile_model(options, model, executable, 1, PLAN)
        ours(options, executable, os.path.join(directory, "log.jsonl"), 2, 1,
             ["--trace", measured, "--trace-steps", str(options.steps - 1)])
        ran = times_of(measured)
        for (stage, task), time in sorted(times_of(predicted).items()):
            print(f"  {name:<12} stage {stage} {task:<15} {time:>6.2f} {ran[stage, task]:>9.2f} {ran[stage, task] / time:>6.2f}",
                  flush=True)
