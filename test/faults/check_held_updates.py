#!/usr/bin/env python3
"""A step that must update nothing leaves parameters and optimizer states as they are, bit for bit, under every optimizer:
what comes after it is as if its batch had not been. A program whose updates do not hold is seen.
"""
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import mutations  # noqa: E402
from support.executable import compile_model, run  # noqa: E402
from support.results import Harness  # noqa: E402

BATCH, STEPS, BAD = 8, 4, 1
PLANS = {"one": [], "both": ["--mesh", "dp=2,pp=2", "--microbatches", "2"], "local": ["--mesh", "pp=2", "--launch", "local"],
         "owner": ["--mesh", "pp=2", "--tied", "owner", "--microbatches", "2"],
         "zero 2": ["--mesh", "dp=2,pp=2", "--microbatches", "2", "--zero", "2", "--bucket-bytes", "100"],
         "zero 3": ["--mesh", "dp=2,fsdp=2", "--microbatches", "2", "--zero", "3", "--bucket-bytes", "100"]}
#             the compiler's flags, the executable's
OPTIMIZERS = {"sgd": (["--optimizer", "sgd"], ["--momentum", "0.9", "--weight-decay", "0.1"]),
              "nesterov": (["--optimizer", "sgd", "--nesterov"], ["--momentum", "0.9"]),
              "adam": (["--optimizer", "adam"], ["--weight-decay", "0.1"]),
              "adamw": (["--optimizer", "adamw"], ["--clip", "0.1"])}
# Where a row of %x is zero the loss is finite, and the gradient of the square root 0 · inf. %v is tied: it is used first and last.
MODEL = """
func.func @held(%x: tensor<8x3xf64> {pp.input = "x"}, %t: tensor<8xi32> {pp.input = "t"}) -> tensor<f64> {
  %v = pp.param "v" {init = #pp.init<normal, 0.0, 0.5>} : tensor<3x3xf64>
  %w = pp.param "w" {init = #pp.init<normal, 0.0, 0.5>} : tensor<3x3xf64>
  %h = pp.matmul %x, %v : tensor<8x3xf64>, tensor<3x3xf64>
  %q = pp.mul %h, %h : tensor<8x3xf64>, tensor<8x3xf64>
  %r = pp.sqrt %q : tensor<8x3xf64>
  %k = pp.matmul %r, %w : tensor<8x3xf64>, tensor<3x3xf64>
  %z = pp.matmul %k, %v : tensor<8x3xf64>, tensor<3x3xf64>
  %l = pp.cross_entropy %z, %t {ignore_index = -100 : i64} : tensor<8x3xf64>, tensor<8xi32>
  return %l : tensor<f64>
}
"""
#       what the bad batch has, and what the step says
WRONG = {"no counted target": ("t", slice(BATCH), -100, "the batch has none of: targets, ignore_index -100 ("),
         "a loss that is not a number": ("x", (5, 1), np.nan, "the loss is nan and the gradient norm is nan."),
         "a gradient that is not a number": ("x", 5, 0, "the gradient norm is nan.")}


def samples():
    generator = np.random.default_rng(3)
    return {"x": generator.normal(size=(STEPS * BATCH, 3)), "t": generator.integers(0, 3, STEPS * BATCH).astype(np.int32)}


class Checks:
    def __init__(self, harness, directory):
        self.ppopt, self.directory = harness.ppopt, directory
        self.model = os.path.join(directory, "held.mlir")
        with open(self.model, "w") as file:
            file.write(MODEL)

    def compile(self, plan, optimizer, mutation=None):
        name = "-".join(filter(None, (plan, optimizer, mutation)))
        bug = ["--mutate", mutation] if mutation else []
        return compile_model(mutations.tool_of(self.ppopt) if mutation else self.ppopt, self.model, os.path.join(self.directory, name),
                             ["--threads", "1", *PLANS[plan], *OPTIMIZERS[optimizer][0], *bug])

    def compare(self, program, optimizer, kind):
        """Returns what differs, in words."""
        name, where, value, reason = WRONG[kind]
        flags = ["--no-shuffle", "--lr", "0.1", *OPTIMIZERS[optimizer][1]]
        rows = samples()
        rows[name][BAD * BATCH:(BAD + 1) * BATCH][where] = value
        kept = {key: np.delete(each, np.s_[BAD * BATCH:(BAD + 1) * BATCH], axis=0) for key, each in samples().items()}
        ours = run(program, [*flags, "--skip-nonfinite-steps=4"], inputs=rows, steps=STEPS, name="bad")
        theirs = run(program, flags, inputs=kept, steps=STEPS - 1, name="good")
        skipped = ours.records.pop(BAD).get("skipped", "")
        if not skipped.startswith(reason):
            return f"skipped: '{skipped}'"
        if ours.hexadecimal != theirs.hexadecimal:
            return f"losses {ours.hexadecimal} and {theirs.hexadecimal}"
        return ", ".join(key for key, array in theirs.parameters.items() if array.tobytes() != ours.parameters[key].tobytes())

    def holds(self, plan, optimizer):
        program = self.compile(plan, optimizer)
        for kind in WRONG:
            difference = self.compare(program, optimizer, kind)
            assert not difference, f"{kind}: {difference}"

    def is_seen(self, plan, optimizer):
        program = self.compile(plan, optimizer, "update-ignores-hold")
        for kind in WRONG:
            difference = self.compare(program, optimizer, kind)
            assert difference, f"{kind}: the comparison does not see it"
            print(f"  update-ignores-hold, {optimizer}, {kind}: {difference[:100]}", flush=True)


harness = Harness("held_updates")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for optimizer in OPTIMIZERS:
        for plan in ("one", "both"):
            harness.case(f"{optimizer}, {plan}", lambda: checks.holds(plan, optimizer))
        harness.case(f"update-ignores-hold, {optimizer}", lambda: checks.is_seen("one", optimizer))
    for plan in ("local", "owner", "zero 2", "zero 3"):
        harness.case(f"adamw, {plan}", lambda: checks.holds(plan, "adamw"))
    harness.case("nesterov, zero 3", lambda: checks.holds("zero 3", "nesterov"))
    harness.case("update-ignores-hold, adamw, zero 3", lambda: checks.is_seen("zero 3", "adamw"))
sys.exit(harness.finish())
