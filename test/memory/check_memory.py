#!/usr/bin/env python3
"""Holds the memory of a step, planned and resident, against what the schedule promises.

Under 1f1b a step of 64 microbatches needs what one of 4 of the same size needs; 1,000 steps need what 10 do; a rank's resident
memory is within 80 MiB of its planned arena.
"""
import functools
import glob
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
                 "--threads", "1"])
        return self.done[key]


def check_planned(gpts):
    few, many = (planned(gpts.compile("1f1b", m), ["inputs", "step_state"]) for m in (4, 64))
    print(f"  planned for 4 microbatches {few}, for 64 {many}", flush=True)
    # The step state has a random key of 96 bytes per microbatch.
    keys = [all_of - less for all_of, less in zip(planned(gpts.compile("1f1b", 64), ["inputs"]), many)]
    assert all(64 * 96 <= each < 64 * 96 + 1024 for each in keys), f"the step state of 64 microbatches has {keys} bytes"
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
        peaks[microbatches] = resident(executable, ["--data", TEXT], launch, steps=2)
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
    executable = compile_model(ppopt, model, model[:-5], ["--mesh", "pp=2", "--microbatches", "4", "--threads", "1"])
    inputs = {"x": np.random.default_rng(0).standard_normal((16, 8))}
    few, many = (max(resident(executable, ["--clip", "1"], launch, steps=steps, inputs=inputs, name=str(steps)))
                 for steps in (10, 1000))
    print(f"  {launch}: 10 steps {few // 1024} KiB, 1000 steps {many // 1024} KiB", flush=True)
    assert many - few < 1 * MIB, f"{many} bytes are resident after 1000 steps, {few} after 10"


def main():
    harness = Harness("memory")
    with tempfile.TemporaryDirectory() as directory:
        gpts = Gpts(harness.ppopt, directory)
        harness.case("planned for 4 and 64 microbatches", functools.partial(check_planned, gpts))
        for launch in ("threads", "mpirun"):
            harness.case(f"resident with 4 and 64 microbatches, {launch}", functools.partial(check_resident, gpts, launch))
            harness.case(f"10 and 1000 steps, {launch}", functools.partial(check_steps, harness.ppopt, directory, launch))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
