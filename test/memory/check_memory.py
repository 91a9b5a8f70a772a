#!/usr/bin/env python3
"""Holds the memory of a step, planned and resident, against what the schedule and the stage of sharding promise.

Under 1f1b a step of 64 microbatches needs what one of 4 of the same size needs; 1,000 steps need what 10 do; a rank's resident
memory is within 80 MiB of its planned arena. The state of --zero 0 to 3 has the bytes of the formulas, and stage 3 needs no more
on top than the buckets that a task may have at one time.
"""
import functools
import glob
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import checked, compile_model, run  # noqa: E402
from support.results import SOURCE, Harness  # noqa: E402

MIB = 2**20
ROWS = 8  # of a microbatch
GPT = ["--layers", "4", "--width", "128", "--heads", "4", "--vocab", "256", "--seq", "64", "--batch", str(ROWS)]
TEXT = os.path.join(SOURCE, "runtime", "app")  # 512 windows and more

# Starts a rank and writes its peak of resident memory, in bytes, to a file of its own.
MEASURE = """
import os, resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
with open(sys.argv[1] + "." + os.environ.get("OMPI_COMM_WORLD_RANK", "0"), "w") as file:
    file.write(str(peak))
sys.exit(status)
"""


def resident(executable, flags, launch, **arguments):
    """The peaks of the ranks' processes (one, if ranks are threads)."""
    stem = f"{executable.path}.resident"
    for path in glob.glob(glob.escape(stem) + ".*"):
        os.remove(path)
    run(executable, flags, launch, before=["/usr/bin/python3", "-c", MEASURE, stem], **arguments)
    peaks = []
    for rank in range(executable.ranks if launch == "mpirun" else 1):
        with open(f"{stem}.{rank}") as file:
            peaks.append(int(file.read()))
    return peaks


def planned(executable, without=()):
    """Bytes of each place's arena, less regions of some kinds."""
    return [place["arena"]["bytes"] - sum(region["bytes"] for region in place["arena"]["regions"] if region["kind"] in without)
            for place in executable.program["places"]]


class Gpts:
    """A GPT on two places, compiled once for each schedule and number of microbatches."""

    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory
        self.model = os.path.join(directory, "gpt.mlir")
        checked([ppopt, "model", "gpt", *GPT, "-o", self.model])
        self.done = {}

    def compile(self, schedule, microbatches):
        key = (schedule, microbatches)
        if key not in self.done:
            self.done[key] = compile_model(
                self.ppopt, self.model, os.path.join(self.directory, f"gpt_{schedule}_{microbatches}"),
                ["--mesh", "pp=2", "--schedule", schedule, "--microbatches", str(microbatches), "--batch", str(ROWS * microbatches),
                 "--threads", "1"], optimized=True)
        return self.done[key]


def check_planned(gpts):
    few, many = (planned(gpts.compile("1f1b", m), ["inputs", "step_state"]) for m in (4, 64))
    print(f"  planned for 4 microbatches {few}, for 64 {many}", flush=True)
    # The step state has a random key of 120 bytes per microbatch.
    keys = [all_of - less for all_of, less in zip(planned(gpts.compile("1f1b", 64), ["inputs"]), many)]
    assert all(64 * 120 <= each < 64 * 120 + 1024 for each in keys), f"the step state of 64 microbatches has {keys} bytes"
    assert few == many, f"64 microbatches need {many} bytes, 4 need {few}"
    # gpipe keeps them all: the promise is one that a schedule can break.
    kept = planned(gpts.compile("gpipe", 64), ["inputs"])
    assert kept[0] > 4 * many[0], f"gpipe with 64 microbatches needs {kept[0]} bytes, 1f1b {many[0]}"


def check_resident(gpts, launch):
    peaks = {}
    for microbatches in (4, 64):
        executable = gpts.compile("1f1b", microbatches)
        inputs = sum(p - q for p, q in zip(planned(executable), planned(executable, ["inputs"])))
        arenas = planned(executable)
        peaks[microbatches] = resident(executable, ["--data", TEXT], launch, steps=1)
        print(f"  {launch}, {microbatches} microbatches: resident {[p // 1024 for p in peaks[microbatches]]} KiB, "
              f"arenas {[a // 1024 for a in arenas]} KiB, inputs {inputs // 1024} KiB", flush=True)
        if launch == "mpirun":
            for rank, (peak, arena) in enumerate(zip(peaks[microbatches], arenas)):
                assert peak - arena < 80 * MIB, f"rank {rank}: {peak} bytes are resident, {arena} planned"
    for few, many in zip(peaks[4], peaks[64]):
        # Sixteen times the actions take some; the activations of gpipe would take over 60 MiB.
        assert many - few < 8 * MIB, f"{many} bytes are resident with 64 microbatches, {few} with 4"


MLP = """
!x = tensor<16x8xf64>
func.func @mlp(%x: !x {pp.input = "x"}) -> tensor<f64> {
  %a = pp.param "a" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x8xf64>
  %b = pp.param "b" {init = #pp.init<normal, 0.0, 0.4>} : tensor<8x8xf64>
  %m = pp.matmul %x, %a : !x, tensor<8x8xf64>
  %t = pp.tanh %m : !x
  %n = pp.matmul %t, %b : !x, tensor<8x8xf64>
  %l = pp.mse %n, %x : !x, !x
  return %l : tensor<f64>
}
"""


def check_steps(ppopt, directory, launch):
    model = os.path.join(directory, f"mlp_{launch}.mlir")
    with open(model, "w") as file:
        file.write(MLP)
    executable = compile_model(ppopt, model, model[:-5], ["--mesh", "pp=2", "--microbatches", "4", "--threads", "1"], optimized=True)
    inputs = {"x": np.random.default_rng(0).standard_normal((16, 8))}
    few, many = (max(resident(executable, ["--clip", "1"], launch, steps=steps, inputs=inputs, name=str(steps)))
                 for steps in (10, 1000))
    print(f"  {launch}: 10 steps {few // 1024} KiB, 1000 steps {many // 1024} KiB", flush=True)
    assert many - few < 1 * MIB, f"{many} bytes are resident after 1000 steps, {few} after 10"


def gpt_parameters(layers, width, vocab, seq):
    """Their number, with a tied head: GPT-2's architecture."""
    return (vocab + seq) * width + layers * (12 * width * width + 13 * width) + 2 * width


def check_sharded(ppopt, directory, name, gpt, ranks, at_once, flags):
    """By the formulas of the ZeRO paper: 4 bytes each of parameters, gradients and two states of AdamW.

    At most `at_once` buckets, gathered parameters or gradients, are in memory on top."""
    model = os.path.join(directory, f"{name}.mlir")
    sizes = [word for key, value in gpt.items() for word in (f"--{key}", str(value))]
    checked([ppopt, "model", "gpt", *sizes, "-o", model])
    plan = functools.partial(plan_sharded, ppopt, model, ["--mesh", f"dp={ranks}", "--optimizer", "adamw", *flags])
    arenas, whole = [], None
    for stage in range(4):
        arena, regions, _ = plan(["--zero", str(stage)])
        arenas.append(arena)
        state = [regions[kind] for kind in ("parameters", "gradients", "optimizer")]
        whole = whole or state[0]
        expected = [whole // (ranks if stage >= least else 1) * count for least, count in ((3, 1), (2, 1), (1, 2))]
        assert state == expected, f"--zero {stage} keeps {state} bytes, not {expected}"
    exact = 4 * gpt_parameters(*(gpt[key] for key in ("layers", "width", "vocab", "seq")))
    assert exact <= whole < 1.001 * exact, f"{whole} bytes of parameters, {exact} without padding"
    _, _, buckets = plan(["--zero", "3"])
    bound = arenas[0] - 4 * (whole - whole // ranks) + sum(sorted(buckets)[-at_once:])
    print(f"  {name}: arenas {arenas}; stage 3 may need {bound} bytes", flush=True)
    assert arenas[3] <= bound, f"--zero 3 needs {arenas[3]} bytes, more than {bound}"
    kept, _, _ = plan(["--zero", "3", "--gather", "step"])
    assert kept > bound, f"--gather step needs {kept} bytes, no more than {bound}: the bound shows nothing"


def plan_sharded(ppopt, model, common, flags):
    """Bytes of the arena, of its regions by kind, and of each bucket that a task gathers."""
    program = json.loads(checked([ppopt, "plan", model, "--json", *common, *flags]).stdout)
    arena = program["places"][0]["arena"]
    buckets = {each["name"]: 4 * each["elements"] for each in program["collectives"] if each["op"] == "all_gather"}
    return arena["bytes"], {region["kind"]: region["bytes"] for region in arena["regions"]}, list(buckets.values())


# Two are gathered, the one in use and the next, and the gradients of two are computed and summed, beside which a small one may be
# gathered and another summed. Where the table is several times larger than all other buckets, nothing is in memory beside it.
SHARDED = {
    "gpt2-124m": ({"layers": 12, "width": 768, "heads": 12, "vocab": 50257, "seq": 256, "batch": 8}, 8, 2, []),
    "small": ({"layers": 6, "width": 384, "heads": 6, "vocab": 256, "seq": 256, "batch": 8}, 2, 4, ["--bucket-bytes", "4MiB"]),
    "odd": ({"layers": 5, "width": 96, "heads": 3, "vocab": 101, "seq": 33, "batch": 6}, 3, 6, ["--bucket-bytes", "100KiB"]),
}


def main():
    harness = Harness("memory")
    with tempfile.TemporaryDirectory() as directory:
        gpts = Gpts(harness.ppopt, directory)
        harness.case("planned for 4 and 64 microbatches", functools.partial(check_planned, gpts))
        for launch in ("threads", "mpirun"):
            harness.case(f"resident with 4 and 64 microbatches, {launch}", functools.partial(check_resident, gpts, launch))
            harness.case(f"10 and 1000 steps, {launch}", functools.partial(check_steps, harness.ppopt, directory, launch))
        for name, arguments in SHARDED.items():
            harness.case(f"sharded state, {name}",
                         functools.partial(check_sharded, harness.ppopt, directory, name, *arguments))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
