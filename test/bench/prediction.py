"""Predicted against measured steps, by the device that `ppopt machine` finds at the begin: models, plans, precisions.

A step is the median of all steps of some rounds, which take the cases in turn; predicted is what `ppopt plan --trace` says. Idle shares
are those of the schedule, from the begin of the first run of any rank to the end of the last, in the fastest step, as in schedules.py.
"Noise" is by how much the median exceeds the least step: where it is more than the goal, something else ran, and the ratio says little.
"""
import json
import os
import statistics
import subprocess

from runs import GPT2_124M, SMALL, compile_model, ours, write_gpt
from schedules import RANKS, Step, read_steps

MODELS = {"small": SMALL, "124M": GPT2_124M}
MLP = "h.*.mlp.fc.weight=[{}, {tp}]; h.*.mlp.proj.weight=[{tp}, {}]"
PIPELINE = ["--mesh", "pp=2", "--microbatches", "4", "--schedule"]
PLANS = {"one rank": [], "dp=2": ["--mesh", "dp=2"], "dp=2 zero 1": ["--mesh", "dp=2", "--zero", "1"],
         "dp=2 zero 3": ["--mesh", "dp=2", "--zero", "3"], "tp=2": ["--mesh", "tp=2", "--shard", MLP],
         "pp=2 1f1b": [*PIPELINE, "1f1b"], "pp=2 zb-h1": [*PIPELINE, "zb-h1"], "pp=2 zb-v": [*PIPELINE, "zb-v"]}
PRECISIONS = {"f32": [], "bf16": ["--precision", "bf16"]}
GOAL, IDLE_GOAL = 0.05, 2.0  # of the step; points


class Case:
    def __init__(self, options, directory, device, model, shape, plan, precision):
        self.name, self.pipelined = f"{model}, {plan}, {precision}", plan.startswith("pp")
        self.ranks = 1 if plan == "one rank" else RANKS
        self.executable = os.path.join(directory, self.name.replace(" ", "-").replace(",", ""))
        self.trace = self.executable + ".json"
        path = write_gpt(options, directory, shape, model)
        flags = [*PLANS[plan], *PRECISIONS[precision], "--device", device]
        subprocess.run([options.ppopt, "plan", path, "--threads", "1", "--optimizer", "adamw", *flags, "--trace", self.trace], check=True,
                       stdout=subprocess.DEVNULL)
        with open(self.trace) as file:
            [step] = [event["dur"] / 1e3 for event in json.load(file)["traceEvents"] if event.get("cat") == "step" and event["pid"] == 1000000]
        self.predicted, self.times, self.steps = step, [], []
        self.foreseen = read_steps(self.trace)[0] if self.pipelined else None
        compile_model(options, path, self.executable, 1, [*flags, "--no-generation"])

    def run(self, options):
        trace = ["--trace", self.trace, "--trace-steps", str(options.steps - 1)] if self.pipelined else []
        self.times += ours(options, self.executable, self.executable + ".jsonl", self.ranks, 1, trace).ms
        if self.pipelined:
            self.steps += read_steps(self.trace)

    def report(self):
        measured = statistics.median(self.times)
        ratio, noise = self.predicted / measured, measured / min(self.times) - 1
        verdict = "met" if abs(ratio - 1) <= GOAL else "not met" if noise <= GOAL else "unclear"
        line = f"  {self.name:<24} {self.predicted:>9.1f} {measured:>9.1f} {100 * noise:>6.1f} % {ratio:>6.2f} {verdict:<8}"
        if self.pipelined:
            fastest = min(self.steps, key=Step.milliseconds)
            for rank in range(RANKS):
                foreseen, idle = 100 * self.foreseen.idle(rank), 100 * fastest.idle(rank)
                met = "met" if abs(foreseen - idle) <= IDLE_GOAL else "not met"
                line += f" | {foreseen:>5.1f} {idle:>5.1f} {foreseen - idle:>+5.1f} {met:<7}"
        print(line, flush=True)


def measure(options, directory):
    device = options.device or os.path.join(directory, "device.json")
    if not options.device:
        subprocess.run([options.ppopt, "machine", "--threads", "1", "-o", device], check=True)
    print(f"ms of a step, ranks of one thread, predicted and measured\n  {'':<24} {'predicted':>9} {'measured':>9}    noise  ratio" + " " * 9 +
          "   idle of rank 0, 1 in %: predicted, measured, off")
    for model in options.models:
        cases = [Case(options, directory, device, model, MODELS[model], plan, precision) for precision in options.precisions for plan in PLANS]
        for _ in range(options.rounds):
            for case in cases:
                case.run(options)
        for case in cases:
            case.report()
            os.remove(case.executable)
