"""The machine that the bench runs on, and what it can do."""
import datetime
import json
import os
import subprocess

from runs import HERE, cores, priority


def cpu_info(key):
    """Of the first core, as Linux says it; empty if it does not."""
    with open("/proc/cpuinfo") as file:
        return next((line.partition(":")[2].strip() for line in file if line.split(":")[0].strip() == key), "")


def has_fast_bf16(options):
    return not options.isa and bool({"amx_bf16", "avx512_bf16"} & set(cpu_info("flags").split()))


def describe(options):
    """The line that belongs to figures."""
    units = [name for name in ("avx512f", "avx512_bf16", "amx_bf16") if name in cpu_info("flags").split()]
    if options.isa:
        units = [f"all sides limited to {options.isa}"]
    commit = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty"], capture_output=True, text=True)
    return (f"{datetime.date.today()}, {cpu_info('model name')} ({', '.join(units) or 'no AVX-512'}), {len(cores())} cores, at " +
            (commit.stdout.strip() or "a commit not known"))


def matmul_rate(options, threads):
    """GFLOP/s of f32 matmuls with packed operands."""
    command = [*priority(options), "taskset", "-c", ",".join(map(str, cores()[:threads])),
               os.path.join(options.build, "bin", "test", "ppopt-matmul-rate"), str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["gflops"]
