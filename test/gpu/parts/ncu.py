"""The six heaviest kernels of GPT-2 under Nsight Compute: throughput of compute and memory in per cent of the peaks, registers, occupancy."""
import csv
import io
import re

from measure import libraries
from measure.context import Failed, Skip
from measure.report import columns, number

from .gpt2 import Batch, in_order

HEAVIEST = 6
SECTIONS = ["SpeedOfLight", "LaunchStats", "Occupancy"]
LIMIT = 40
# (section, name) of what is kept: our name, and the units in which ncu may give it.
PERCENT, REGISTERS = {"%": 1}, {"register/thread": 1, "": 1}
MICROSECONDS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6}
BYTES = {"byte/block": 1, "Kbyte/block": 1e3, "Mbyte/block": 1e6}
SPEED = "GPU Speed Of Light Throughput"
METRICS = {(SPEED, "Compute (SM) Throughput"): ("compute_percent", PERCENT),
           (SPEED, "Memory Throughput"): ("memory_percent", PERCENT),
           (SPEED, "DRAM Throughput"): ("dram_percent", PERCENT),
           (SPEED, "L2 Cache Throughput"): ("l2_percent", PERCENT),
           (SPEED, "Duration"): ("duration_us", MICROSECONDS),
           ("Launch Statistics", "Registers Per Thread"): ("registers", REGISTERS),
           ("Launch Statistics", "Static Shared Memory Per Block"): ("static_shared_bytes", BYTES),
           ("Launch Statistics", "Dynamic Shared Memory Per Block"): ("dynamic_shared_bytes", BYTES),
           ("Occupancy", "Theoretical Occupancy"): ("theoretical_occupancy_percent", PERCENT),
           ("Occupancy", "Achieved Occupancy"): ("occupancy_percent", PERCENT)}


def parse(text):
    """Reads `ncu --csv --page details`: [{name, grid, block, metrics of METRICS}], one per launch that was profiled."""
    begin = re.search(r'^"ID",', text, re.MULTILINE)
    if not begin:
        return []
    launches = {}
    for row in csv.DictReader(io.StringIO("\n".join(line for line in text[begin.start():].splitlines() if line.startswith('"')))):
        launch = launches.setdefault(row["ID"], {"name": re.sub(r"\(.*", "", row["Kernel Name"])})
        launch.update(grid=row.get("Grid Size"), block=row.get("Block Size"))
        name, units = METRICS.get((row["Section Name"], row["Metric Name"]), (None, {}))
        if row["Metric Unit"] in units:
            launch[name] = float(row["Metric Value"].replace(",", "")) * units[row["Metric Unit"]]
        elif name:
            launch.setdefault("not_understood", []).append(f"{row['Metric Name']} {row['Metric Value']} {row['Metric Unit']}")
    return list(launches.values())


def heaviest(context, batch):
    """The kernels of ours with the most time per step, as gpt2 has measured or by a profile of its own."""
    measured = context.others.get("gpt2", {}).get("batches", {}).get(batch.name, {}).get("profile") or batch.profile()
    kernels = [line for line in measured["lines"] if line["kind"] == "kernel"]
    return [line["name"] for line in sorted(kernels, key=lambda line: -line["ms_per_step"])[:HEAVIEST]]


def profile(context, tool, batch, names, flags):
    """Runs two steps under ncu; returns what it says of each launch that the flags choose."""
    pattern = "regex:^(" + "|".join(map(re.escape, names)) + ")$"
    steps = batch.executable.command([*batch.data, "--no-shuffle", "--steps", "2", "--no-graph"])
    command = [tool, "--csv", "--page", "details", "--target-processes", "all", *(word for section in SECTIONS for word in ("--section", section)),
               *(flag.replace("PATTERN", pattern) for flag in flags), *steps]
    done = context.run(command, LIMIT, batch.executable.environment(), statuses=None)
    if "ERR_NVGPUCTRPERM" in done.text:
        raise Skip("ncu may not read the GPU's counters here (ERR_NVGPUCTRPERM)")
    launches = parse(done.out)
    if not launches:
        raise Failed(f"ncu: status {done.status}, and no kernel profiled: {done.text[-300:]}")
    return launches


def run(context):
    tool = None if context.fake else libraries.tool("ncu")
    if not tool:
        raise Skip("ncu is not on PATH, nor in the toolkit")
    batch = Batch(context, in_order(context.manifest["gpt2"]["batches"])[0])
    names = heaviest(context, batch)
    context.add(batch=batch.name, heaviest=names, kernels={})

    def keep(launches):
        for launch in launches:
            context.found["kernels"].setdefault(launch["name"], launch)
        context.add()
        return [name for name in names if name not in context.found["kernels"]]
    # The second launch of each, in one run; then one run for each that it left out.
    missing = keep(profile(context, tool, batch, names, ["--kernel-id", "::PATTERN:2", "--launch-count", str(HEAVIEST), "--kill", "yes"]))
    for name in list(missing):
        missing = keep(profile(context, tool, batch, [name], ["--kernel-name", "PATTERN", "--launch-skip", "1", "--launch-count", "1", "--kill", "yes"]))
    if missing:
        raise Failed(f"nothing of {', '.join(missing)}")


def lines(found):
    if found.get("heaviest"):
        yield f"GPT-2 at batch {found['batch']}; throughputs are per cent of the GPU's peaks"
    keys = ("duration_us", "compute_percent", "memory_percent", "dram_percent", "registers", "occupancy_percent", "theoretical_occupancy_percent")
    rows = [[name[:40], *(number(found.get("kernels", {}).get(name, {}).get(key), 0 if key == "registers" else 1) for key in keys)]
            for name in found.get("heaviest", [])]
    yield from columns(rows, ["", " us", " compute", " memory", " DRAM", " registers", " occupancy", " theoretical"])
