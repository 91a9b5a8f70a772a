#!/usr/bin/env python3
"""Batches of whose targets none is counted: under every plan, and whatever the model makes of the count, the step is skipped
as if the batch had not been; an evaluation is over the targets that are counted.
"""
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import checked, compile_model, run  # noqa: E402
from support.results import Harness  # noqa: E402

STEPS, EMPTY = 4, 1  # the second step's batch has no counted target
WIDTH, CLASSES = 3, 5
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "microbatches": ["--microbatches", "2"], "pp": ["--mesh", "pp=2", "--microbatches", "2"],
         "both": ["--mesh", "dp=2,pp=2", "--microbatches", "2"], "local": ["--mesh", "pp=2", "--launch", "local"],
         "zb": ["--mesh", "pp=2", "--microbatches", "4", "--schedule", "zb-h1"], "blocks": ["--block-bytes", "64"]}
# What the model makes of %n, the count, and of %s, the sum of the targets' losses.
MEANS = {"plain": "%l = pp.div %s, %n : tensor<f64>, tensor<f64>",
         "reshaped": """%a = pp.reshape %n : tensor<f64> to tensor<1xf64>
  %b = pp.reshape %s : tensor<f64> to tensor<1xf64>
  %c = pp.div %b, %a : tensor<1xf64>, tensor<1xf64>
  %l = pp.reshape %c : tensor<1xf64> to tensor<f64>""",
         "cast": """%a = pp.cast %n : tensor<f64> to tensor<f32>
  %b = pp.cast %a : tensor<f32> to tensor<f64>
  %l = pp.div %s, %b : tensor<f64>, tensor<f64>""",
         "in arithmetic": """%one = pp.constant dense<1.0> : tensor<f64>
  %a = pp.div %one, %n : tensor<f64>, tensor<f64>
  %b = pp.mul %a, %a : tensor<f64>, tensor<f64>
  %c = pp.mul %b, %n : tensor<f64>, tensor<f64>
  %l = pp.mul %s, %c : tensor<f64>, tensor<f64>"""}

# A step without counted targets runs to its end, as all steps do: a division of integers by their number does not stop it.
MEANS["of integers"] = """%a = pp.cast %n : tensor<f64> to tensor<i64>
  %many = pp.constant dense<1000000> : tensor<i64>
  %b = pp.div %many, %a : tensor<i64>, tensor<i64>
  %c = pp.cast %b : tensor<i64> to tensor<f64>
  %l = pp.mul %s, %c : tensor<f64>, tensor<f64>"""

# Defined where nothing is counted, but skipped all the same: what is skipped does not depend on arithmetic.
MEANS["guarded"] = """%one = pp.constant dense<1.0> : tensor<f64>
  %a = pp.add %n, %one : tensor<f64>, tensor<f64>
  %l = pp.div %s, %a : tensor<f64>, tensor<f64>"""


def linear(batch, mean="plain", second=False):
    """Mean over the counted targets of a linear model's losses; with `second`, plus that over other targets."""
    x, t, z = f"tensor<{batch}x{WIDTH}xf64>", f"tensor<{batch}xi32>", f"tensor<{batch}x{CLASSES}xf64>"
    more = f""", %u: {t} {{pp.input = "u"}}""" if second else ""
    end = "return %l : tensor<f64>"
    if second:
        end = f"""%other = pp.cross_entropy %z, %u {{ignore_index = -1 : i64}} : {z}, {t}
  %sum = pp.add %l, %other : tensor<f64>, tensor<f64>
  return %sum : tensor<f64>"""
    return f"""func.func @counted(%x: {x} {{pp.input = "x"}}, %t: {t} {{pp.input = "t"}}{more}) -> tensor<f64> {{
  %v = pp.param "v" {{init = #pp.init<normal, 0.0, 0.5>}} : tensor<{WIDTH}x{WIDTH}xf64>
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 0.5>}} : tensor<{WIDTH}x{CLASSES}xf64>
  %h = pp.matmul %x, %v : {x}, tensor<{WIDTH}x{WIDTH}xf64>
  %z = pp.matmul %h, %w : {x}, tensor<{WIDTH}x{CLASSES}xf64>
  %n = pp.count %t {{ignore_index = -100 : i64}} : {t} to tensor<f64>
  %k = pp.token_loss %z, %t {{ignore_index = -100 : i64}} : {z}, {t}
  %s = pp.reduce sum %k [0] : {t.replace("i32", "f64")}
  {MEANS[mean]}
  {end}
}}
"""


def mean_loss(parameters, x, t):
    """By numpy, over the targets that are counted."""
    z = x @ parameters["v"] @ parameters["w"]
    z = z - z.max(-1, keepdims=True)
    losses = np.log(np.exp(z).sum(-1))[t >= 0] - z[t >= 0, t[t >= 0]]
    return losses.mean()


class Checks:
    def __init__(self, harness, directory):
        self.ppopt, self.directory = harness.ppopt, directory

    def compile(self, name, text, flags):
        path = os.path.join(self.directory, name.replace(" ", "-"))
        with open(path + ".mlir", "w") as file:
            file.write(text)
        return compile_model(self.ppopt, path + ".mlir", path, ["--threads", "1", "--optimizer", "adam", *flags])

    def samples(self, batch, second):
        generator = np.random.default_rng(5)
        rows = {"x": generator.normal(size=(STEPS * batch, WIDTH)),
                "t": generator.integers(0, CLASSES, STEPS * batch).astype(np.int32)}
        rows["t"][::3] = -100
        if batch == 1:
            rows["t"][:] = np.abs(rows["t"]) % CLASSES
        if second:
            rows["u"] = generator.integers(0, CLASSES, STEPS * batch).astype(np.int32)
        rows["t"][EMPTY * batch:(EMPTY + 1) * batch] = -100
        return rows

    def skips(self, name, text, flags, batch, second=False, exact=True):
        """As a run without the batch: parameters and moments have the same bits; evaluation has the mean over all that is counted."""
        program = self.compile(name, text, flags)
        rows = self.samples(batch, second)
        kept = {key: np.delete(each, np.s_[EMPTY * batch:(EMPTY + 1) * batch], axis=0) for key, each in rows.items()}
        path = program.path + ".eval.safetensors"
        safetensors_io.write(path, rows)
        flags = ["--no-shuffle", "--lr", "0.1", "--eval-inputs", path, "--eval-batches", str(STEPS)]
        ours = run(program, flags, inputs=rows, steps=STEPS, name="all")
        theirs = run(program, ["--no-shuffle", "--lr", "0.1"], inputs=kept, steps=STEPS - 1, name="kept")
        skipped = ours.records.pop(EMPTY)
        assert "the batch has none of: targets, ignore_index -100 (" in skipped.get("skipped", ""), skipped
        assert ours.hexadecimal == theirs.hexadecimal, f"{ours.hexadecimal}\n{theirs.hexadecimal}"
        for key, array in theirs.parameters.items():
            assert array.tobytes() == ours.parameters[key].tobytes(), key
        if batch == 1:
            assert f"{STEPS - 1} of {STEPS} samples | batches left out: 1 without a counted target" in ours.output, ours.output
        elif exact and not second:
            loss = mean_loss(ours.parameters, rows["x"], rows["t"])
            assert f"loss {loss:.4f} | {STEPS * batch} of {STEPS * batch} samples" in ours.output, (loss, ours.output)

    def gpt(self, name, flags):
        """ppopt model's own, on text of nothing but the token that is not counted."""
        path = os.path.join(self.directory, "gpt." + name)
        checked([self.ppopt, "model", "gpt", "--layers", "1", "--width", "16", "--heads", "2", "--vocab", "97", "--seq", "8",
                 "--batch", "4", "--ignore-index", "96", "-o", path + ".mlir"])
        program = compile_model(self.ppopt, path + ".mlir", path, ["--threads", "1", *flags])
        with open(path + ".txt", "wb") as file:
            file.write(bytes([96]) * 1000)
        done = checked([program.path, "--data", path + ".txt", "--steps", "2", "--eval-data", path + ".txt"])
        assert "2 steps, 2 of them skipped" in done.stdout, done.stdout
        assert "eval after step 2 | none of the windows has a counted target" in done.stdout, done.stdout


harness = Harness("counted_targets")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for plan, flags in PLANS.items():
        harness.case(f"plain, {plan}", lambda: checks.skips(plan, linear(8), flags, 8))
        harness.case(f"gpt, {plan}", lambda: checks.gpt(plan, flags))
    harness.case("gpt, lent", lambda: checks.gpt("lent", ["--mesh", "pp=2", "--tied", "owner"]))
    for mean in [mean for mean in MEANS if mean != "plain"]:
        for plan in ("one", "both"):
            harness.case(f"{mean}, {plan}", lambda: checks.skips(f"{mean}.{plan}", linear(8, mean), PLANS[plan], 8, exact=mean not in ("guarded", "of integers")))
    harness.case("one row", lambda: checks.skips("row", linear(1), [], 1))
    harness.case("one row, pp", lambda: checks.skips("row.pp", linear(1), ["--mesh", "pp=2"], 1))
    for plan in ("one", "both"):
        harness.case(f"two counts, {plan}", lambda: checks.skips(f"two.{plan}", linear(8, second=True), PLANS[plan], 8, second=True))
sys.exit(harness.finish())
