#!/usr/bin/env python3
"""Holds models whose loss needs all rows of the batch together (Inputs/) against PyTorch on the whole batch, and each plan against one rank: the loss and
all gradients of the first step, then losses, evaluations and parameters of further steps, in f64. Further cases: what ranks send, bf16, dropout, what is
refused, and planted bugs, each of which must be seen.

By hand: check_rows.py --filter 'clip, dp=2'; fixtures are made by make_fixtures.py.
"""
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import mutations, safetensors_io  # noqa: E402
from support.executable import Mismatch, Once, checked, compile_model, environment, expect_close, run  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

ROWS, STEPS = 16, 3
TOLERANCE, OF_PARAMETERS, OF_BF16 = 1e-12, 1e-10, 2e-2

# Models, and what an axis of the model cuts of each.
MODELS = {"clip": "image.fc.weight=[{}, {tp}]; image.proj.weight=[{tp}, {}]",
          "simclr": "fc.weight=[{}, {tp}]; proj.weight=[{tp}, {}]",
          "batch_norm": "fc2.weight=[{}, {tp}]; fc3.weight=[{tp}, {}]",
          "switch": "fc.weight=[{}, {tp}]; head.weight=[{tp}, {}]",
          "quantile": "fc.weight=[{}, {tp}]; head.weight=[{tp}, {}]",
          "negatives": "fc.weight=[{}, {tp}]; proj.weight=[{tp}, {}]"}
SMALL = ["--bucket-bytes", "200"]
PLANS = [["dp=2"], ["fsdp=2", "--zero", "3", *SMALL], ["dp=2,fsdp=2"], ["dp=2,tp=2"], ["dp=2,pp=2"]]
MORE = [["dp=4"], ["fsdp=2"], ["dp=2", "--zero", "1"], ["dp=2", "--zero", "2", *SMALL], ["dp=2", "--zero", "3", *SMALL],
        ["dp=2,fsdp=2", "--zero", "3", *SMALL], ["dp=2", "--recompute", "layer"], ["dp=2", "--recompute", "none"], ["tp=2,dp=2", "--zero", "1"],
        ["fsdp=2,pp=2", "--zero", "3", *SMALL], ["dp=2,tp=2,pp=2"]]
WITH_MORE = ["clip", "batch_norm"]
BY_MPI = [("clip", "dp=2"), ("batch_norm", "dp=2,pp=2")]  # all run as threads

# A model and a plan that show a mutation (support/mutations.py).
MUTATED = [("statistics-of-one-rank", "batch_norm"), ("statistics-of-one-rank", "switch"), ("rows-not-scattered", "clip"),
           ("rows-not-scattered", "negatives"), ("share-not-divided", "quantile")]

# Models with pp.per_microbatch, plans, numbers of microbatches, and a mutation that one of them shows.
REGIONS = ["clip", "batch_norm", "switch"]
OF_REGIONS = [["dp=1"], ["dp=2"], ["fsdp=2", "--zero", "3", *SMALL], ["dp=2,pp=2"]]
MORE_OF_REGIONS = [["pp=2", "--schedule", "gpipe"], ["dp=2", "--zero", "1"], ["dp=2", "--zero", "2", *SMALL], ["dp=2", "--recompute", "layer"],
                   ["dp=2", "--recompute", "none"], ["dp=2,tp=2"], ["fsdp=2,pp=2", "--zero", "3", *SMALL], ["dp=2,fsdp=2"]]
MUTATED_REGIONS = [("ranks-outermost", "clip")]

# What of each model is refused over microbatches.
REFUSED = [("clip", "pp.matmul"), ("batch_norm", "pp.sub"), ("switch", "pp.mul"), ("quantile", "pp.sort")]

DROPOUT = ("%2 = pp.gelu %1 : tensor<16x10xTYPE>",
           "%kept = pp.dropout %1 {p = 0.25 : f64} : tensor<16x10xTYPE>\n    %2 = pp.gelu %kept : tensor<16x10xTYPE>")


UNCOUNTED = """func.func @uncounted(%x: tensor<8x5xf64> {pp.input = "x"}, %t: tensor<8xi64> {pp.input = "t"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<5xf64>
  %0 = pp.mul %x, %w : tensor<8x5xf64>, tensor<5xf64>
  %1 = pp.per_microbatch -> tensor<f64> {
    %2 = pp.cross_entropy %0, %t {ignore_index = -1 : i64} : tensor<8x5xf64>, tensor<8xi64>
    pp.yield %2 : tensor<f64>
  }
  return %1 : tensor<f64>
}
"""


class Rows:
    def __init__(self, ppopt, scratch):
        self.ppopt, self.scratch, self.once = ppopt, scratch, Once()
        self.fixtures = {name: safetensors_io.read(HERE / "fixtures" / f"{name}.safetensors") for name in MODELS}
        for name in [*MODELS, *(f"{each}_regions" for each in REGIONS)]:
            self.write(name)

    def write(self, name, dtype="f64", change=("", ""), called=None):
        text = (HERE / "Inputs" / f"{name}.mlir").read_text()
        assert change[0] in text
        path = os.path.join(self.scratch, f"{called or name}.mlir")
        pathlib.Path(path).write_text(text.replace(*change).replace("TYPE", dtype))
        return path

    def tensors(self, name, kind):
        return {key[len(kind) + 1:]: value for key, value in self.fixtures[name].items() if key.startswith(kind + ".")}

    def compile(self, name, plan, mutation=None, path=None):
        mesh, *flags = plan
        by_tp = ["--shard", MODELS[name.removesuffix("_regions")]] if "tp" in mesh else []
        tool, mutated = (mutations.tool_of(self.ppopt), ["--mutate", mutation]) if mutation else (self.ppopt, [])
        path = path or os.path.join(self.scratch, f"{name}.mlir")
        called = path[:-5] + "_" + re.sub(r"\W+", "_", " ".join([*plan, mutation or ""]))
        return compile_model(tool, path, called, ["--mesh", mesh, *by_tp, *flags, "--optimizer", "adamw", "--threads", "1", *mutated])

    def train(self, executable, name, launch="threads", dtype=np.float64):
        inputs = {key: np.concatenate([value] * STEPS).astype(dtype) for key, value in self.tensors(name, "input").items()}
        evaluated = executable.path + ".evaluated.safetensors"
        safetensors_io.write(evaluated, {key: 0.5 * np.concatenate([value, -value]).astype(dtype) for key, value in self.tensors(name, "input").items()})
        flags = ["--lr", "0.01", "--clip", "0.5", "--seed", "5", "--check-counters", "--poison", "--eval-inputs", evaluated, "--eval-every", "1"]
        return run(executable, flags, launch, dump_gradients=True, steps=STEPS, inputs=inputs, timeout=100,
                   init={key: value.astype(dtype) for key, value in self.tensors(name, "init").items()})

    def one_rank(self, name):
        return self.once(name, lambda: self.train(self.compile(name, ["dp=1"]), name))

    def compare_with_torch(self, result, name):
        expect_close("loss", result.losses[0], self.fixtures[name]["loss"], TOLERANCE)
        expect_close("gradient", result.gradients, self.tensors(name, "gradient"), TOLERANCE, 1e-2)

    def check(self, name, plan):
        executable = self.compile(name, plan)
        one = self.one_rank(name)
        self.compare_with_torch(one, name)
        for launch in ["threads"] + (["mpirun"] if (name, " ".join(plan)) in BY_MPI else []):
            result = self.train(executable, name, launch)
            self.compare_with_torch(result, name)
            compare(result, one)

    def check_regions(self, name, plan, parts, mutation=None):
        """Against one forward of each microbatch, and any other plan against one rank."""
        def train(each):
            return self.train(self.compile(f"{name}_regions", [*each, "--microbatches", str(parts)], mutation), name)
        one = self.once((name, parts), lambda: train(["dp=1"])) if not mutation else None
        result = one if one and plan == ["dp=1"] else train(plan)
        expect_close("loss", result.losses[0], self.fixtures[name][f"in_parts.{parts}.loss"], TOLERANCE)
        expect_close("gradient", result.gradients, self.tensors(name, f"in_parts.{parts}.gradient"), TOLERANCE, 1e-2)
        if one:
            compare(result, one)

    def check_one_microbatch(self, name):
        """A region of all rows is nothing but its ops: same numbers."""
        result, one = self.train(self.compile(f"{name}_regions", ["dp=1"]), name), self.one_rank(name)
        assert np.array_equal(result.losses, one.losses) and evaluations_of(result) == evaluations_of(one), (result.losses, one.losses)

    def check_dropout(self, plan):
        """Of rows that meet: each element is dropped, or not, as on one rank."""
        path = self.write("simclr", change=DROPOUT, called="dropout " + " ".join(plan))
        ours, one = (self.train(self.compile("simclr", each, path=path), "simclr") for each in (plan, ["dp=1"]))
        compare(ours, one)
        assert abs(one.losses[0] - self.fixtures["simclr"]["loss"]) > 1e-3, "nothing is dropped"

    def check_bytes(self, ranks, flags, width):
        """Rows of one side are gathered and their gradient is scattered; of the columns' cross entropy, maxima and sums are exchanged. Each once, whatever
        is computed again, and `ppopt plan` lists them with the lines of the model."""
        name = "clip"
        path = self.write(name, "f64" if width == 8 else "f32", called=f"{name}.{width}")
        executable = self.compile(name, [f"dp={ranks}", *flags], path=path)
        of_training = [each for each in executable.program["collectives"] if executable.program["tasks"][each["task"]]["name"] != "s0_L"]
        rows, features = ROWS, ROWS * 4
        wanted = [("all_gather", features), ("all_reduce", rows), ("all_reduce_max", rows), ("reduce_scatter", features)]
        assert sorted((each["op"], each["elements"]) for each in of_training) == wanted, of_training
        sent = sum((2 if op.startswith("all_reduce") else 1) * elements for op, elements in wanted) * width * (ranks - 1) // ranks
        lines = checked([self.ppopt, "plan", path, "--mesh", f"dp={ranks}", *flags]).stdout
        assert f"a rank sends {sent:,} bytes" in lines, lines
        assert len(re.findall(r"(?:all-gather|sum|maximum|reduce-scatter) over dp .* pp\.\w+ at \S+:\d+:\d+$", lines, re.M)) == len(wanted), lines

    def check_bf16(self, flags):
        path = self.write("batch_norm", "f32", called="bf16" + "_".join(flags))
        ours, one = (self.train(self.compile("batch_norm", [mesh, "--precision", "bf16", *more], path=path), "batch_norm", dtype=np.float32)
                     for mesh, more in (("dp=2", flags), ("dp=1", [])))
        expect_close("losses", ours.losses, one.losses, OF_BF16)
        expect_close("losses", one.losses[0], self.fixtures["batch_norm"]["loss"], OF_BF16)

    def check_refused(self, name, op):
        """Over microbatches; the op and its line, and what accepts it."""
        path = os.path.join(self.scratch, f"{name}.mlir")
        done = subprocess.run([self.ppopt, "compile", path, "-o", os.devnull, "--mesh", "dp=2", "--microbatches", "2"], capture_output=True, text=True,
                              env=environment())
        assert done.returncode == 1, done
        assert re.search(rf"{name}\.mlir:\d+:\d+: error: '{op}' op can't be split over the batch: .*; it compiles with --microbatches 1: an op that mixes rows "
                         "has no equal step over microbatches; .* write pp.per_microbatch", done.stderr), done.stderr

    def check_resized(self, name):
        """A model that is written for half of the rows, with --batch."""
        path = self.write(name, called=f"{name}.half")
        text = pathlib.Path(path).read_text()
        pathlib.Path(path).write_text(re.sub(rf"(?<=[<x]){ROWS}(?=x)", str(ROWS // 2), text))
        self.compare_with_torch(self.train(self.compile(name, ["dp=2", "--batch", str(ROWS)], path=path), name), name)

    def check_uncounted(self):
        """A loss of a microbatch without counted targets is not a number, as in PyTorch, and the step says so."""
        path = os.path.join(self.scratch, "uncounted.mlir")
        pathlib.Path(path).write_text(UNCOUNTED)
        executable = compile_model(self.ppopt, path, path[:-5], ["--microbatches", "2", "--threads", "1"])
        logits, targets = np.random.default_rng(0).normal(size=(8, 5)), np.array([-1, 2, -1, -1, 0, 1, -1, 4])
        result = run(executable, [], inputs={"x": logits, "t": targets}, steps=1)
        logs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
        counted = [[-logs[row, targets[row]] for row in range(first, first + 4) if targets[row] >= 0] for first in (0, 4)]
        expect_close("loss", result.losses[0], np.mean([np.mean(each) for each in counted]), TOLERANCE)
        targets[1] = -1
        try:
            run(executable, [], inputs={"x": logits, "t": targets}, steps=1)
        except AssertionError as error:
            assert "step 1: the loss is nan" in str(error), error
        else:
            raise AssertionError("a microbatch without targets has a loss")

    def check_seen(self, mutation, name):
        try:
            if (mutation, name) in MUTATED_REGIONS:
                self.check_regions(name, ["dp=2"], 2, mutation)
            else:
                self.compare_with_torch(self.train(self.compile(name, ["dp=2"], mutation), name), name)
        except Mismatch as seen:
            print(f"  {mutation}, {name}: {seen}", flush=True)
            return
        raise AssertionError(f"the comparison does not see {mutation}")


def evaluations_of(result):
    return [float.fromhex(record["loss_hex"]) for record in result.all_records if record["event"] == "eval"]


def compare(result, one):
    expect_close("gradient", result.gradients, one.gradients, TOLERANCE, 1e-2)
    expect_close("losses", result.losses, one.losses, TOLERANCE)
    assert len(evaluations_of(one)) >= STEPS
    expect_close("evaluations", evaluations_of(result), evaluations_of(one), TOLERANCE)
    expect_close("parameters", result.parameters, one.parameters, OF_PARAMETERS)


def check_fixtures_again(python, scratch):
    """The committed numbers are what make_fixtures.py computes here."""
    if not python:
        raise Skip("needs tools/check --with-pytorch")
    again = os.path.join(scratch, "again")
    checked([python, str(HERE / "make_fixtures.py"), again])
    for name in MODELS:
        expect_close(name, safetensors_io.read(os.path.join(again, f"{name}.safetensors")),
                     safetensors_io.read(HERE / "fixtures" / f"{name}.safetensors"), TOLERANCE, 1e-2)


def main():
    harness = Harness("rows")
    with tempfile.TemporaryDirectory() as scratch:
        rows = Rows(harness.ppopt, scratch)
        cases = [(", ".join([name, " ".join(plan)]), functools.partial(rows.check, name, plan))
                 for name in MODELS for plan in [*PLANS, *(MORE if name in WITH_MORE else [])]]
        cases += [(f"dropout, {' '.join(plan)}", functools.partial(rows.check_dropout, plan)) for plan in (["dp=2"], ["fsdp=2,pp=2", "--zero", "3"])]
        cases += [(f"bytes, dp={ranks} {' '.join(flags)}", functools.partial(rows.check_bytes, ranks, flags, width))
                  for ranks, flags, width in ((2, [], 8), (4, ["--recompute", "layer"], 4))]
        cases += [(f"bf16 {' '.join(flags)}", functools.partial(rows.check_bf16, flags)) for flags in ([], ["--reshard-dtype", "f32"])]
        cases += [(f"microbatches of {name}", functools.partial(rows.check_refused, name, op)) for name, op in REFUSED]
        cases += [(f"regions of {name}, {parts} microbatches, {' '.join(plan)}", functools.partial(rows.check_regions, name, plan, parts))
                  for name in REGIONS for parts in (2, 4) for plan in [*OF_REGIONS, *(MORE_OF_REGIONS if (name, parts) in (("clip", 2), ("batch_norm", 2)) else [])]]
        cases += [(f"regions of {name}, one microbatch", functools.partial(rows.check_one_microbatch, name)) for name in REGIONS]
        cases += [(f"--batch, {name}", functools.partial(rows.check_resized, name)) for name in ("batch_norm", "switch")]
        cases.append(("a microbatch without targets", rows.check_uncounted))
        cases += [(f"mutation {mutation} of {name}", functools.partial(rows.check_seen, mutation, name))
                  for mutation, name in [*MUTATED, *MUTATED_REGIONS]]
        cases.append(("fixtures again", lambda: check_fixtures_again(harness.args.pytorch, scratch)))
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
