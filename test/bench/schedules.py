"""What a pipeline of two ranks suffers from, predicted and measured: idle time, communication not hidden, memory.

Both are read off traces (docs/trace.md), `ppopt plan`'s and the executable's, by the same code, from the begin of the
first run of any rank to the end of the last: what stands before and after them (the counts, sums, norm, update) is no
part of a schedule.
"""
import json
import os
import subprocess

from runs import SMALL, compile_model, ours, write_gpt

RUNS = ("forward", "backward", "backward_input", "backward_weight")
RANKS = 2
PREDICTED = 1000000  # and the place: a pid


class Step:
    """The runs and transfers of one step; times in microseconds."""

    def __init__(self, runs, flights):
        self.begin = min(begin for spans in runs.values() for begin, _ in spans)
        self.end = max(end for spans in runs.values() for _, end in spans)
        self.runs, self.flights = runs, flights

    def milliseconds(self):
        return (self.end - self.begin) / 1e3

    def gaps(self, rank):
        """Where the rank runs nothing."""
        moment, gaps = self.begin, []
        for begin, end in [*sorted(self.runs[rank]), (self.end, self.end)]:
            if begin > moment:
                gaps.append((moment, begin))
            moment = max(moment, end)
        return gaps

    def idle(self, rank):
        return sum(end - begin for begin, end in self.gaps(rank)) / (self.end - self.begin)

    def exposed(self, rank):
        """The share in which the rank runs nothing while something that was sent is on its way to it."""
        total, arrived = 0, 0
        for sent, received in sorted(self.flights[rank]):
            sent = max(sent, arrived)
            arrived = max(arrived, received)
            total += sum(max(0, min(end, received) - max(begin, sent)) for begin, end in self.gaps(rank))
        return total / (self.end - self.begin)


def read_steps(path):
    """The steps of a trace file; ranks count from 0, predicted places too."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]

    def rank(event):
        return event["pid"] % PREDICTED

    bounds = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e.get("cat") == "step" and rank(e) == 0)
    sent = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
    steps = []
    for index, (begin, _) in enumerate(bounds):
        # A rank may begin its step a little earlier than rank 0, but runs nothing before all ranks have counted.
        end = bounds[index + 1][0] if index + 1 < len(bounds) else float("inf")
        runs = {r: [(e["ts"], e["ts"] + e["dur"]) for e in events
                    if e.get("cat") in RUNS and rank(e) == r and begin <= e["ts"] < end] for r in range(RANKS)}
        flights = {r: [(sent[e["id"]], e["ts"]) for e in events
                       if e["ph"] == "f" and rank(e) == r and begin <= e["ts"] < end] for r in range(RANKS)}
        steps.append(Step(runs, flights))
    return steps


def describe(executable):
    return json.loads(subprocess.run([executable, "--describe=json"], check=True, capture_output=True).stdout)


def measure_schedule(options, directory, model, schedule, microbatches):
    plan = ["--mesh", f"pp={RANKS}", "--schedule", schedule, "--microbatches", str(microbatches)]
    executable, predicted_trace = os.path.join(directory, "train"), os.path.join(directory, "plan.json")
    subprocess.run([options.ppopt, "plan", model, "--threads", "1", *plan, "--trace", predicted_trace], check=True,
                   stdout=subprocess.DEVNULL)
    [predicted] = read_steps(predicted_trace)
    compile_model(options, model, executable, 1, plan)
    arenas = [place["arena"]["bytes"] for place in describe(executable)["places"]]
    steps, times, resident = [], [], []
    for _ in range(options.rounds):
        trace = os.path.join(directory, "trace.json")
        run = ours(options, executable, os.path.join(directory, "log.jsonl"), RANKS, 1,
                   ["--trace", trace, "--trace-steps", str(options.steps - 1)])
        steps += read_steps(trace)
        times += run.ms
        resident.append(run.lines[-1]["peak_bytes"])
    # The fastest step is the one that was disturbed least.
    measured = min(steps, key=Step.milliseconds)
    print(f"  {schedule + ', m=' + str(microbatches):<12} {min(times):>6.0f} {predicted.milliseconds():>9.0f} "
          f"{measured.milliseconds():>5.0f}", end="")
    for rank in range(RANKS):
        foreseen, idle = 100 * predicted.idle(rank), 100 * measured.idle(rank)
        print(f"  {'|' if rank else ' '} {foreseen:>5.1f} {idle:>5.1f} {idle - foreseen:>+5.1f}  "
              f"{100 * predicted.exposed(rank):>5.2f} {100 * measured.exposed(rank):>5.2f}  "
              f"{arenas[rank] / 2**20:>5.0f} {max(of[rank] for of in resident) / 2**20:>5.0f}", end="")
    print(flush=True)


def measure(options, directory):
    model = write_gpt(options, directory, SMALL)
    print(f"""schedules on two ranks of one thread (mpirun): the least step, and the schedule's part of steps in ms, predicted and
measured. For each rank: idle share in %, predicted, measured, difference in points; communication not hidden (exposed) in %,
predicted and measured; memory in MiB, the planned arena and resident
  {'':<12} {'step':>6} {'schedule':^15}""" +
          "  | ".join(f"  {'idle':^17}  {'exposed':^11}  {'memory':^11}" for _ in range(RANKS)), flush=True)
    for schedule in ("naive", "gpipe", "1f1b", "zb-h1"):
        for microbatches in (1,) if schedule == "naive" else (4, 8):
            measure_schedule(options, directory, model, schedule, microbatches)
