"""Runs executables of the bundle and reads their logs."""
import json
import os
import re
import statistics

from .context import Failed
from .launch import THREADS

# Of a run's output: what it does instead of what it was compiled for, and why.
FALLBACK = re.compile(r"^.*can't (?:load the kernels|start on this driver|capture one).*$", re.MULTILINE)


def read_log(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def of(records, event):
    return [record for record in records if record["event"] == event]


class Executable:
    """`entry`: of the manifest's executables: its `file` and, for the fake libraries, its `code`."""

    def __init__(self, context, entry):
        self.context, self.entry = context, entry

    def command(self, flags, log=None, launch=()):
        """With `log`, a new file of that name in the part's folder is among the flags. `launch`: words before the command."""
        logs = ["--log", self.context.scratch(log)] if log else []
        if log and os.path.exists(logs[1]):
            os.remove(logs[1])
        return [*launch, self.context.file(self.entry["file"]), *flags, *logs]

    def environment(self, **others):
        return self.context.environment(self.entry.get("code"), **others)

    def train(self, name, flags, limit, launcher=THREADS, ranks=1):
        """Trains; returns the records of the log, which is called `name`."""
        log = f"{name}.jsonl"
        done = self.context.run(self.command(flags, log, launcher.words(ranks)), limit, self.environment(**launcher.variables))
        for line in FALLBACK.findall(done.out):
            self.context.add_fallback(name, line)
        records = read_log(self.context.scratch(log))
        if not of(records, "end"):
            raise Failed(f"{name}: the log has no end")
        return records


def hexadecimal(records):
    """The losses, bit for bit."""
    return [record["loss_hex"] for record in of(records, "step")]


def losses(records):
    return [float.fromhex(loss) for loss in hexadecimal(records)]


def milliseconds(records, warm_up):
    """The times of the steps after the first ones, and their median."""
    times = [record["ms"] for record in of(records, "step")][warm_up:]
    if not times:
        raise Failed(f"no step after the first {warm_up}")
    return times, statistics.median(times)
