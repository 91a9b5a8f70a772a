#!/usr/bin/env python3
"""Infinite and NaN numbers in inputs, parameters and by too large a learning rate: the line names the step, the rank that
began it and the parameter; no rank updates anything; with --skip-nonfinite-steps training goes on as if the step had not been.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import compile_model, environment, run  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import SOURCE, Harness  # noqa: E402

BATCH, STEPS, BAD = 48, 5, 2  # the third step, from 0, has the bad row
ROW = 30                      # of that step's batch: of the second of two ranks along dp
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "pp": ["--mesh", "pp=2"], "both": ["--mesh", "dp=2,pp=2"],
         "owner": ["--mesh", "pp=2", "--tied", "owner"], "local": ["--mesh", "pp=2", "--launch", "local"],
         "zero 2": ["--mesh", "dp=2", "--zero", "2"], "zero 3": ["--mesh", "dp=2", "--zero", "3", "--bucket-bytes", "200"],
         "step": ["--mesh", "dp=2", "--zero", "3", "--gather", "step"], "hybrid": ["--mesh", "dp=2,fsdp=2", "--zero", "3"],
         "zero 3, both": ["--mesh", "dp=2,pp=2", "--zero", "3", "--bucket-bytes", "200"]}
# Stages whose losses and parameters are compared with those of stage 0 on the same mesh, with one run that adds to each bucket.
STAGES = {"dp=2": [["--zero", "1"], ["--zero", "2"], ["--zero", "3"], ["--zero", "3", "--gather", "step"]],
          "dp=2,fsdp=2": [["--zero", "2"], ["--zero", "3"]]}
# In f32, where an update may leave what the type holds.
LINEAR = """
func.func @linear(%x: tensor<48x5xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.4>} : tensor<5x5xf32>
  %m = pp.matmul %x, %w : tensor<48x5xf32>, tensor<5x5xf32>
  %loss = pp.mse %m, %x : tensor<48x5xf32>, tensor<48x5xf32>
  return %loss : tensor<f32>
}
"""
SQRT = """
func.func @sqrt(%x: tensor<48x8xf32> {pp.input = "x"}) -> tensor<f32> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<8xf32>
  %m = pp.mul %x, %w : tensor<48x8xf32>, tensor<8xf32>
  %s = pp.sqrt %m : tensor<48x8xf32>
  %loss = pp.reduce mean %s [0, 1] : tensor<48x8xf32>
  return %loss : tensor<f32>
}
"""


def samples(name=None, value=None):
    """Rows for all steps; one element of `name` in the non-finite step's batch is `value`."""
    generator = np.random.default_rng(7)
    rows = {each: generator.normal(size=(STEPS * BATCH, 5)) for each in ("x", "y")}
    if name:
        rows[name][BAD * BATCH + ROW, 3] = value
    return rows


class Checks:
    def __init__(self, harness, directory):
        self.ppopt, self.directory = harness.ppopt, directory
        model = os.path.join(SOURCE, "test", "equivalence", "models", "skip.mlir")
        self.programs = {name: compile_model(harness.ppopt, model, os.path.join(directory, name),
                                             [*flags, "--microbatches", "2", "--optimizer", "adam", "--threads", "1"])
                         for name, flags in PLANS.items()}

    def fail(self, plan, rows, flags=(), launch="threads"):
        """The line with which the run ends, which must be the only one."""
        program = self.programs[plan]
        path = f"{program.path}.bad.safetensors"
        safetensors_io.write(path, rows)
        command = [program.path, "--inputs", path, "--no-shuffle", "--steps", str(STEPS), *flags]
        if launch == "mpirun":
            command = [*under_mpirun(program.ranks), *command]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment())
        assert done.returncode == 1, f"exit status {done.returncode}: {done.stderr}"
        lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert len(lines) == 1, done.stderr
        return lines[0]

    def expect(self, line, *patterns):
        for pattern in patterns:
            assert re.search(pattern, line), f"no '{pattern}' in: {line}"

    def names_who_began(self, plan, name, who, launch="threads", gradient="its first non-finite gradient is that of 'w', "):
        value = {"x": "nan", "y": "inf"}[name]  # tanh takes an infinity to 1
        line = self.fail(plan, samples(name, float(value)), launch=launch)
        self.expect(line, f"step {BAD + 1}: ", rf"It began on {who}", rf"{gradient}\S+ at \[",
                    rf"input '{name}' is {value} at \[{ROW}, 3\], row {BAD * BATCH + ROW} of .+\.bad\.safetensors[;.]", r"No parameter was updated\. Look at the data, or leave")
        assert ("the loss of its rows is" in line) == (name == "y" or "pp" not in " ".join(PLANS[plan])), line

    def names_the_file(self, plan, flags=()):
        """Of several files, in whatever order: the one that has the bad row, and the row there, also where a trainer has another part of each batch."""
        program = self.programs[plan] if plan != "trainers" else compile_model(
            self.ppopt, os.path.join(SOURCE, "test", "equivalence", "models", "skip.mlir"), os.path.join(self.directory, plan),
            ["--mesh", "dp=2", "--sync", "async", "--optimizer", "adam", "--threads", "1"])
        rows, cuts = samples("x", np.nan), [0, 70, 90, STEPS * BATCH]
        paths = [f"{program.path}.{part}.safetensors" for part in range(3)]
        for path, begin, end in zip(paths, cuts, cuts[1:]):
            safetensors_io.write(path, {"unread": np.zeros(3), **{name: each[begin:end] for name, each in rows.items()}})
        done = subprocess.run([program.path, "--inputs", *paths, "--steps", str(STEPS), *flags], capture_output=True, text=True, timeout=300,
                              env=environment())
        self.expect(done.stderr, rf"input 'x' is nan at \[\d+, 3\], row {BAD * BATCH + ROW - cuts[2]} of {re.escape(paths[2])}")
        assert "--inputs: not read, since the model has no such input: unread\n" in done.stdout, done.stdout
        if "--no-shuffle" in flags:
            self.expect(done.stderr, rf"step {BAD + 1}: .* at \[{ROW}, 3\]")

    def skips(self, plan, launch):
        """The same as a run without that step's batch: parameters, moments and their count are untouched."""
        flags = ["--no-shuffle", "--lr", "0.01"]
        path = os.path.join(self.directory, "bad.trace.json")
        bad = run(self.programs[plan], [*flags, "--skip-nonfinite-steps", "--trace", path, "--trace-steps", str(STEPS)], launch,
                  inputs=samples("x", np.nan), steps=STEPS, name="bad")
        with open(path) as file:
            traced = [event["name"] for event in json.load(file)["traceEvents"] if event.get("cat") == "step"]
        assert set(traced) == {f"step {number}" for number in range(1, STEPS + 1)}, traced
        rows = {name: np.delete(each, np.s_[BAD * BATCH:(BAD + 1) * BATCH], axis=0) for name, each in samples().items()}
        good = run(self.programs[plan], flags, launch, inputs=rows, steps=STEPS - 1, name="good")
        skipped = bad.records.pop(BAD)
        self.expect(skipped["skipped"], "the loss is nan and the gradient norm is nan. It began on", "'w', nan at")
        assert re.search(rf"step {BAD + 1}/{STEPS} \| skipped, nothing updated: the loss is nan", bad.output), bad.output
        assert bad.hexadecimal == good.hexadecimal, f"{bad.hexadecimal}\n{good.hexadecimal}"
        for name, array in good.parameters.items():
            assert array.tobytes() == bad.parameters[name].tobytes(), name

    def skips_as_stage_0(self, mesh, launch):
        """A row of one rank is NaN: all ranks skip the step, with the bits of stage 0 after it."""
        model = os.path.join(SOURCE, "test", "equivalence", "models", "skip.mlir")
        rows, expected = samples("x", np.nan), None
        for stage in (["--zero", "0"], *STAGES[mesh]):
            name = re.sub(r"\W+", "_", " ".join([mesh, *stage]))
            flags = ["--mesh", mesh, "--optimizer", "adam", "--threads", "1", "--bucket-bytes", "200", *stage]
            program = compile_model(self.ppopt, model, os.path.join(self.directory, f"{name}_{launch}"), flags)
            result = run(program, ["--no-shuffle", "--lr", "0.01", "--skip-nonfinite-steps", "--check-counters", "--poison", "--check-replicas", "1"],
                         launch, inputs=rows, steps=STEPS, name="skipping")
            assert [bool(record.get("skipped")) for record in result.records] == [step == BAD for step in range(STEPS)], result.records
            expected = expected or result
            for ours, theirs in zip(result.records, expected.records):
                assert (ours["loss_hex"], ours.get("norm_hex")) == (theirs["loss_hex"], theirs.get("norm_hex")), f"{stage}: {ours}\n{theirs}"
            for parameter, array in expected.parameters.items():
                assert array.tobytes() == result.parameters[parameter].tobytes(), f"{stage}: other {parameter}"

    def gives_up(self):
        rows = samples()
        rows["y"][BAD * BATCH:] = np.inf
        line = self.fail("dp", rows, ["--skip-nonfinite-steps=2"])
        self.expect(line, f"step {STEPS}: ", "updated in 3 steps in a row, more than --skip-nonfinite-steps=2 allows")
        rows["y"][(BAD + 1) * BATCH:(BAD + 2) * BATCH] = 0  # one that is good in between
        run(self.programs["dp"], ["--no-shuffle", "--skip-nonfinite-steps=1"], inputs=rows, steps=STEPS, name="between")

    def names_a_parameter(self, plan, who):
        start = run(self.programs["one"], ["--no-shuffle"], inputs=samples(), steps=0).parameters
        start = {name: array.copy() for name, array in start.items()}
        start["b"][4] = -np.inf
        path = os.path.join(self.directory, "init.safetensors")
        safetensors_io.write(path, start)
        self.expect(self.fail(plan, samples(), ["--init", path]), "step 1: ", f"It began on {who}",
                    r"parameter 'b' was -inf at \[4\] before the step", "updated. Look at the initial values, or leave")

    def names_a_loss(self):
        """Squares that are too large, of what the gradient is a small multiple of."""
        line = self.fail("both", samples("y", 1e155))
        self.expect(line, "the loss is inf. It began on rank 3 ", "its gradients are finite; the loss of its rows is inf")

    def learning_rate(self):
        self.expect(self.fail("both", samples(), ["--lr", "1e200"]), "It began on rank ", "non-finite gradient", "updated. Lower --lr, ")

    def names_a_formula(self):
        """The gradient of a square root at 0 is infinite, and the rate is not to blame: not in the first step, not alone later."""
        model = os.path.join(self.directory, "sqrt.mlir")
        with open(model, "w") as file:
            file.write(SQRT)
        self.programs["sqrt"] = compile_model(self.ppopt, model, model[:-5], ["--optimizer", "sgd", "--threads", "1"])
        rows = {"x": np.full((STEPS * BATCH, 8), 4, np.float32)}
        for bad, advice in ((0, "Nothing was updated before: look at the initial values, the data, and ops "),
                            (2, "Lower --lr, clip with --clip, or look at ops ")):
            rows["x"][bad * BATCH + ROW] = 0
            line = self.fail("sqrt", rows)
            self.expect(line, f"step {bad + 1}: the gradient norm is (inf|nan)", f"updated. {advice}", r"the gradient of pp\.sqrt at 0")
            rows["x"][bad * BATCH + ROW] = 4

    def keeps_the_last_good_checkpoint(self, launch):
        """An update that makes parameters infinite without a bad gradient: what it left is not saved, here and in the bad
        steps after it, though only one checkpoint is to stay."""
        model = os.path.join(self.directory, "linear.mlir")
        with open(model, "w") as file:
            file.write(LINEAR)
        program = compile_model(self.ppopt, model, model[:-5], ["--mesh", "dp=2", "--optimizer", "sgd", "--threads", "1"])
        folder = os.path.join(self.directory, f"checkpoints.{launch}")
        flags = ["--no-shuffle", "--checkpoint", folder, "--checkpoint-every", "1", "--keep", "1"]
        rows = {"x": samples()["x"].astype(np.float32)}
        run(program, flags, launch, inputs=rows, steps=2, name="good")
        try:
            run(program, [*flags, "--resume", "--lr", "1e39", "--skip-nonfinite-steps"], launch, inputs=rows, steps=STEPS, name="bad")
            raise AssertionError("exit status 0")
        except AssertionError as error:
            text = str(error)
        assert "exit status 1: " in text and "ended without a checkpoint of step 5: parameter 'w' is" in text, text
        for step in (3, 4, 5):
            assert re.search(rf"step {step}/5 \| {'loss' if step == 3 else 'skipped'}", text), text
            assert re.search(rf"warning: no checkpoint of step {step}: parameter 'w' is \S+ at \[0, 0\]; training continues, the last is "
                             rf"{folder}/step-00000002", text), text
        assert sorted(os.listdir(folder)) == [".lock", "step-00000002"], os.listdir(folder)


harness = Harness("non_finite_steps")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for plan, name, who in (("one", "x", "rank 0:"), ("dp", "x", r"rank 1 \(dp 1\)"), ("pp", "x", r"rank 0 \(pp 0\): it sends"),
                            ("pp", "y", r"rank 1 \(pp 1\): it sends"), ("both", "x", r"rank 2 \(dp 1, pp 0\): it sends"),
                            ("both", "y", r"rank 3 \(dp 1, pp 1\): it sends"), ("owner", "y", r"rank 1 \(pp 1\): it sends"), ("local", "y", "place 1: it sends")):
        harness.case(f"a bad row of {name}, {plan}", lambda: checks.names_who_began(plan, name, who))
    for plan, name, who, summed in (("zero 2", "x", r"rank 1 \(dp 1\)", "0, 1"), ("zero 3", "x", r"rank 1 \(dp 1\)", "0, 1"), ("zero 3", "y", r"rank 1 \(dp 1\)", "0, 1"),
                                    ("step", "x", r"rank 1 \(dp 1\)", "0, 1"), ("hybrid", "x", r"rank 2 \(dp 1, fsdp 0\)", "2, 3"),
                                    ("zero 3, both", "x", r"rank 2 \(dp 1, pp 0\): it sends", "0, 2"), ("zero 3, both", "y", r"rank 3 \(dp 1, pp 1\): its part", "1, 3")):
        harness.case(f"a bad row of {name}, {plan}", lambda: checks.names_who_began(
            plan, name, who, gradient=rf"the first non-finite gradient is that of '\w+', (?=.*summed over ranks {summed})"))
    harness.case("a bad row of y, both, mpirun", lambda: checks.names_who_began("both", "y", "rank 3 ", "mpirun"))
    for plan, launch in (("one", "threads"), ("dp", "threads"), ("both", "mpirun"), ("owner", "threads"), ("local", "threads"),
                         ("zero 3", "threads"), ("hybrid", "mpirun"), ("zero 3, both", "threads")):
        harness.case(f"skipped, {plan}, {launch}", lambda: checks.skips(plan, launch))
    for mesh, launch in (("dp=2", "threads"), ("dp=2", "mpirun"), ("dp=2,fsdp=2", "threads")):
        harness.case(f"skipped as by stage 0, {mesh}, {launch}", lambda: checks.skips_as_stage_0(mesh, launch))
    for plan, flags in (("one", []), ("both", []), ("both", ["--no-shuffle"]), ("local", []), ("trainers", ["--no-shuffle"])):
        harness.case(" ".join(["the file of a bad row,", plan, *flags]), lambda: checks.names_the_file(plan, flags))
    harness.case("too many in a row", checks.gives_up)
    for plan, who in (("pp", r"rank 0 \(pp 0\): it sends"), ("zero 2", "rank 0 "), ("zero 3", r"rank \d .*: its part of the all-gather of"),
                      ("hybrid", r"rank \d .*: its part of the all-gather of"), ("zero 3, both", r"rank \d .*: its part of the all-gather of")):
        harness.case(f"an infinite parameter, {plan}", lambda: checks.names_a_parameter(plan, who))
    harness.case("an infinite loss with finite gradients", checks.names_a_loss)
    harness.case("too large a learning rate", checks.learning_rate)
    harness.case("a formula's gradient", checks.names_a_formula)
    for launch in ("threads", "mpirun"):
        harness.case(f"the last good checkpoint stays, {launch}", lambda: checks.keeps_the_last_good_checkpoint(launch))
sys.exit(harness.finish())
