"""Compiles models for GPUs on whatever machine has one."""
import os
import re

from support.executable import checked, compile_model

CPU = "x86-64-v3"  # of the host code: not that of the machine that makes the bundle
GPU = "sm_90a"
DEVICES = ["a100", "h100", "h200"]
# "       12     50.725      12.897      104.9   1.259  compute   attention_8x12x1024x64"
KERNEL = re.compile(r"^ +(\d+) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+) +(memory|compute) +(\S+)$")


def cuda_flags(gpu=GPU):
    return ["--target", "cuda", "--cpu", CPU, "--gpu", gpu, "--threads", "1"]


def make_gpt(ppopt, path, sizes):
    """Writes a GPT. `sizes`: flags of `ppopt model gpt`."""
    checked([ppopt, "model", "gpt", *sizes, "-o", path])
    return path


def compile_cuda(ppopt, model, path, flags, gpu=GPU):
    """Compiles for GPUs; the device code is PATH.ll."""
    return compile_model(ppopt, model, path, [*cuda_flags(gpu), *flags, "--save-device-ir", path + ".ll"], optimized=True, assembles=True)


def predict(ppopt, model, flags, device):
    """What `ppopt plan` says of a step: its time, and its kernels. Times are in microseconds of one launch."""
    text = checked([ppopt, "plan", model, *cuda_flags(), *flags, "--device", device]).stdout
    heads = re.search(r"^kernels of a rank's step, predicted\n.*\n((?: .*\n)+)", text, re.MULTILINE)
    assert heads, f"ppopt plan prints no table of kernels:\n{text}"
    *rows, total = heads[1].splitlines()
    assert total.startswith("  kernels "), f"the table of kernels ends with: {total}"
    kernels = []
    for row in rows:
        match = KERNEL.match(row)
        assert match, f"a row of ppopt plan's kernels that is not understood: {row}"
        launches, megabytes, gflop, each, milliseconds, bound, name = match.groups()
        kernels.append({"name": name, "launches": int(launches), "bytes": round(float(megabytes) * 1e6), "flops": round(float(gflop) * 1e9),
                        "us": float(each), "ms_per_step": float(milliseconds), "bound": bound})
    step = re.search(r"^the step, predicted: ([\d.]+) (us|ms|s)", text, re.MULTILINE)
    recomputed = re.search(r"^ +recomputed +([\d,]+)$", text, re.MULTILINE)
    assert step and recomputed, f"ppopt plan prints no time of a step:\n{text}"
    return {"device": device, "step_ms": float(step[1]) * {"us": 1e-3, "ms": 1, "s": 1e3}[step[2]], "kernels": kernels,
            "recomputed_flops": int(recomputed[1].replace(",", ""))}


def matmul_rates(ppopt, model, device):
    """The FLOP/s of matmuls by type that predictions for a device assume."""
    text = checked([ppopt, "compile", model, *cuda_flags(), "--device", device, "--stop-after", "placed"]).stdout
    rates = {kind: 1e9 * float(rate) for rate, kind in re.findall(r'aliased = [^{}]*\brates = \[([^\],]*)\][^{}]*\btype = "(\w+)"', text)}
    assert set(rates) == {"f32", "f64", "bf16"}, f"{device}: rates of matmuls of {sorted(rates)}"
    return rates


def predictions(ppopt, model, flags):
    """For each GPU that the compiler knows."""
    return {device: {**predict(ppopt, model, flags, device), "matmul_flops_per_second": matmul_rates(ppopt, model, device)["bf16"]} for device in DEVICES}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    return path
