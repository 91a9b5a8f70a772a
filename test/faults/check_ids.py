#!/usr/bin/env python3
"""Ids that index tables and name classes, those of the data and computed ones: good ones compute what numpy does; of bad ones the
run says which and where, under every plan alike, and with --skip-nonfinite-steps goes on as if the step had not been.
"""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import compile_model, environment, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

BATCH, ROWS, WIDTH, CLASSES = 8, 14, 6, 7
STEPS, BAD, ROW = 3, 1, 6  # the second step's batch has the bad id, in the second half
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "microbatches": ["--microbatches", "4"], "pp": ["--mesh", "pp=2", "--microbatches", "2"],
         "both": ["--mesh", "dp=2,pp=2", "--microbatches", "2"], "local": ["--mesh", "pp=2", "--launch", "local"],
         "zb": ["--mesh", "pp=2", "--microbatches", "4", "--schedule", "zb-h1"], "blocks": ["--block-bytes", "64"],
         "recomputed": ["--recompute", "layer"], "sharded": ["--mesh", "dp=2", "--microbatches", "2", "--zero", "3", "--bucket-bytes", "200"],
         "sharded places": ["--mesh", "fsdp=2,pp=2", "--microbatches", "2", "--zero", "2"],
         "rows": ["--mesh", "tp=2", "--shard", "w=[{tp}, {}]"],
         "rows of shards": ["--mesh", "fsdp=2,tp=2", "--shard", "w=[{tp}, {}]", "--zero", "3", "--bucket-bytes", "200", "--block-bytes", "64"]}
RANGE = f"0 to {ROWS - 1}"
ID, CLASS = "pp.embedding at ids.mlir", "pp.token_loss at ids.mlir"


def model(ints="i32", ids="add", targets="%t", ignore=""):
    """Cross entropy of (table[ids] * f) · h; the ids are computed of the input %i."""
    it, ft = f"tensor<{BATCH}x{ints}>", f"tensor<{BATCH}xf64>"
    one = f"%one = pp.constant dense<1> : tensor<{ints}>"
    computed = {"add": f"{one}\n  %id = pp.add %i, %one : {it}, tensor<{ints}>",
                "float": f"%x = pp.cast %i : {it} to {ft}\n  %y = pp.add %x, %f : {ft}, {ft}\n  %id = pp.cast %y : {ft} to {it}"}[ids]
    return f"""func.func @e(%i: {it} {{pp.input = "i"}}, %f: {ft} {{pp.input = "f"}}, %t: {it} {{pp.input = "t"}}) -> tensor<f64> {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{ROWS}x{WIDTH}xf64>
  %h = pp.param "h" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{WIDTH}x{CLASSES}xf64>
  {computed}
  %u = pp.sub %t, {"%one" if ids == "add" else "%t"} : {it}, {"tensor<" + ints + ">" if ids == "add" else it}
  %e = pp.embedding %w, %id : tensor<{ROWS}x{WIDTH}xf64>, {it}
  %g = pp.reshape %f : {ft} to tensor<{BATCH}x1xf64>
  %m = pp.mul %e, %g : tensor<{BATCH}x{WIDTH}xf64>, tensor<{BATCH}x1xf64>
  %l = pp.matmul %m, %h : tensor<{BATCH}x{WIDTH}xf64>, tensor<{WIDTH}x{CLASSES}xf64>
  %c = pp.cross_entropy %l, {targets} {ignore}: tensor<{BATCH}x{CLASSES}xf64>, {it}
  return %c : tensor<f64>
}}
"""


PACKED = f"""func.func @e(%p: tensor<{BATCH}x2xi32> {{pp.input = "p"}}) -> tensor<f64> {{
  %wa = pp.param "wa" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<5x{WIDTH}xf64>
  %wb = pp.param "wb" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{ROWS}x{WIDTH}xf64>
  %u = pp.slice %p [0, 0] : tensor<{BATCH}x2xi32> to tensor<{BATCH}x1xi32>
  %v = pp.transpose %p [1, 0] : tensor<{BATCH}x2xi32>
  %x = pp.slice %v [1, 0] : tensor<2x{BATCH}xi32> to tensor<1x{BATCH}xi32>
  %y = pp.reshape %x : tensor<1x{BATCH}xi32> to tensor<{BATCH}x1xi32>
  %a = pp.embedding %wa, %u : tensor<5x{WIDTH}xf64>, tensor<{BATCH}x1xi32>
  %b = pp.embedding %wb, %y : tensor<{ROWS}x{WIDTH}xf64>, tensor<{BATCH}x1xi32>
  %m = pp.mul %a, %b : tensor<{BATCH}x1x{WIDTH}xf64>, tensor<{BATCH}x1x{WIDTH}xf64>
  %l = pp.reduce mean %m [0, 1, 2] : tensor<{BATCH}x1x{WIDTH}xf64>
  return %l : tensor<f64>
}}
"""
TABLES = f"""func.func @e(%i: tensor<{BATCH}xi32> {{pp.input = "i"}}) -> tensor<f64> {{
  %wa = pp.param "wa" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{ROWS}x{WIDTH}xf64>
  %wb = pp.param "wb" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<5x{WIDTH}xf64>
  %a = pp.embedding %wa, %i : tensor<{ROWS}x{WIDTH}xf64>, tensor<{BATCH}xi32>
  %b = pp.embedding %wb, %i : tensor<5x{WIDTH}xf64>, tensor<{BATCH}xi32>
  %m = pp.mul %a, %b : tensor<{BATCH}x{WIDTH}xf64>, tensor<{BATCH}x{WIDTH}xf64>
  %l = pp.reduce mean %m [0, 1] : tensor<{BATCH}x{WIDTH}xf64>
  return %l : tensor<f64>
}}
"""
# Only a metric reads the table.
METRIC = f"""func.func @e(%i: tensor<{BATCH}xi32> {{pp.input = "i"}}, %f: tensor<{BATCH}xf64> {{pp.input = "f"}}) -> (tensor<f64>, tensor<f64> {{pp.metric = "m"}}) {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{ROWS}x{WIDTH}xf64>
  %h = pp.param "h" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<{WIDTH}xf64>
  %g = pp.reshape %f : tensor<{BATCH}xf64> to tensor<{BATCH}x1xf64>
  %x = pp.mul %g, %h : tensor<{BATCH}x1xf64>, tensor<{WIDTH}xf64>
  %l = pp.reduce mean %x [0, 1] : tensor<{BATCH}x{WIDTH}xf64>
  %one = pp.constant dense<1> : tensor<i32>
  %id = pp.add %i, %one : tensor<{BATCH}xi32>, tensor<i32>
  %e = pp.embedding %w, %id : tensor<{ROWS}x{WIDTH}xf64>, tensor<{BATCH}xi32>
  %m = pp.reduce mean %e [0, 1] : tensor<{BATCH}x{WIDTH}xf64>
  return %l, %m : tensor<f64>, tensor<f64>
}}
"""
BOOLEANS = f"""func.func @e(%k: tensor<{BATCH}x2xi1> {{pp.input = "k"}}) -> tensor<f64> {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 1.0>}} : tensor<2x{WIDTH}xf64>
  %u = pp.slice %k [0, 0] : tensor<{BATCH}x2xi1> to tensor<{BATCH}x1xi1>
  %i = pp.cast %u : tensor<{BATCH}x1xi1> to tensor<{BATCH}x1xi32>
  %yes = pp.constant dense<true> : tensor<1xi1>
  %j = pp.cast %yes : tensor<1xi1> to tensor<1xi32>
  %a = pp.embedding %w, %i : tensor<2x{WIDTH}xf64>, tensor<{BATCH}x1xi32>
  %b = pp.embedding %w, %j : tensor<2x{WIDTH}xf64>, tensor<1xi32>
  %m = pp.mul %a, %b : tensor<{BATCH}x1x{WIDTH}xf64>, tensor<1x{WIDTH}xf64>
  %l = pp.reduce mean %m [0, 1, 2] : tensor<{BATCH}x1x{WIDTH}xf64>
  return %l : tensor<f64>
}}
"""


def samples(ints="i32"):
    generator = np.random.default_rng(11)
    kind = {"i32": np.int32, "i64": np.int64}[ints]
    return {"i": generator.integers(0, ROWS - 1, STEPS * BATCH).astype(kind), "f": np.ones(STEPS * BATCH),
            "t": generator.integers(1, CLASSES, STEPS * BATCH).astype(kind)}


def reference(parameters, rows):
    """Loss and gradients of the first step by numpy."""
    ids, t = rows["i"][:BATCH] + 1, rows["t"][:BATCH]
    e, w, h = np.arange(BATCH), parameters["w"], parameters["h"]
    m = w[ids] * rows["f"][:BATCH, None]
    z = m @ h
    p = np.exp(z - z.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    loss = -np.log(p[e, t]).mean()
    p[e, t] -= 1
    p /= BATCH
    dw = np.zeros_like(w)
    np.add.at(dw, ids, p @ h.T * rows["f"][:BATCH, None])
    return loss, {"w": dw, "h": m.T @ p}


class Checks:
    def __init__(self, harness, directory):
        self.ppopt, self.directory, self.made = harness.ppopt, directory, {}

    def compile(self, text, flags):
        key = (text, tuple(flags))
        if key not in self.made:
            folder = tempfile.mkdtemp(dir=self.directory)
            path = os.path.join(folder, "ids.mlir")
            with open(path, "w") as file:
                file.write(text)
            done = os.getcwd()
            os.chdir(folder)  # so that messages name ids.mlir
            try:
                self.made[key] = compile_model(self.ppopt, "ids.mlir", path[:-5], ["--threads", "1", "--optimizer", "adam", *flags])
            finally:
                os.chdir(done)
        return self.made[key]

    def fail(self, program, rows, flags=()):
        path = program.path + ".bad.safetensors"
        safetensors_io.write(path, rows)
        done = subprocess.run([program.path, "--inputs", path, "--no-shuffle", "--steps", str(STEPS), *flags],
                              capture_output=True, text=True, timeout=300, env=environment())
        assert done.returncode == 1, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
        lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert len(lines) == 1, done.stderr
        return lines[0]

    def computes(self, plan, ids="add"):
        program = self.compile(model(ids=ids), PLANS[plan])
        rows = samples()
        start = run(program, ["--no-shuffle"], inputs=rows, steps=0, name="start").parameters
        result = run(program, ["--no-shuffle"], inputs=rows, steps=1, name="good", dump_gradients=True)
        loss, gradients = reference(start, rows)
        expect_close("loss", result.losses[:1], [loss], 1e-12)
        expect_close("gradient", result.gradients, gradients, 1e-12)

    def names(self, plan, bad, said, text, name="i", who="rank", ints="i32", step=BAD):
        rows = samples(ints)
        rows[name][step * BATCH + ROW] = bad
        line = self.fail(self.compile(text, PLANS[plan]), rows)
        if PLANS[plan] == PLANS["local"]:
            who = "place"
        for pattern in (f"step {step + 1}: the loss is nan", rf"It began on {who} \d", re.escape(said), "No parameter was updated"):
            assert re.search(pattern, line), f"no '{pattern}' in: {line}"

    def skips(self, plan):
        program = self.compile(model(), PLANS[plan])
        rows = samples()
        kept = {key: np.delete(each, np.s_[BAD * BATCH:(BAD + 1) * BATCH], axis=0) for key, each in rows.items()}
        rows["i"][BAD * BATCH + ROW] = 2**31 - 2
        bad = run(program, ["--no-shuffle", "--skip-nonfinite-steps"], inputs=rows, steps=STEPS, name="bad")
        good = run(program, ["--no-shuffle"], inputs=kept, steps=STEPS - 1, name="good")
        assert f"id 2147483647 is out of range, {RANGE}" in bad.records.pop(BAD)["skipped"]
        assert bad.hexadecimal == good.hexadecimal, f"{bad.hexadecimal}\n{good.hexadecimal}"
        for name, array in good.parameters.items():
            assert array.tobytes() == bad.parameters[name].tobytes(), name

    def evaluates(self, plan):
        program = self.compile(model(), PLANS[plan])
        rows, bad = samples(), samples()
        bad["i"][BAD * BATCH + ROW] = -7
        path = program.path + ".eval.safetensors"
        safetensors_io.write(path, bad)
        flags = ["--eval-inputs", path, "--eval-batches", str(STEPS)]
        line = self.fail(program, rows, flags)
        assert f"evaluation, batch {BAD + 1}: It began on" in line and f"id -6 is out of range, {RANGE}" in line, line
        result = run(program, ["--no-shuffle", "--skip-nonfinite-steps", *flags], inputs=rows, steps=1, name="eval")
        assert f"{(STEPS - 1) * BATCH} of {STEPS * BATCH} samples | batches left out: 1 with ids out of range" in result.output, result.output
        assert re.search(r"loss \d", result.output), result.output

    def metrics(self, plan):
        """An id that only a metric reads, with --metrics-every."""
        program = self.compile(METRIC, [*PLANS[plan], "--freeze", "w"])
        rows = {name: each for name, each in samples().items() if name != "t"}
        good = run(program, ["--no-shuffle", "--metrics-every", "1"], inputs=rows, steps=STEPS, name="good")
        rows["i"][BAD * BATCH + ROW] = 15
        line = self.fail(program, rows, ["--metrics-every", "1"])
        assert f"metrics of step {BAD + 1}: It began on" in line and f"id 16 is out of range, {RANGE}" in line, line
        bad = run(program, ["--no-shuffle", "--metrics-every", "1", "--skip-nonfinite-steps"], inputs=rows, steps=STEPS, name="bad")
        assert bad.hexadecimal == good.hexadecimal, "the loss does not depend on the id"
        measured = [[record.get("metrics") for record in result.records] for result in (good, bad)]
        assert all(measured[0]) and measured[1] == [None if step == BAD else of for step, of in enumerate(measured[0])], measured

    def packed(self):
        program = self.compile(PACKED, [])
        generator = np.random.default_rng(2)
        rows = {"p": np.stack([generator.integers(0, 5, STEPS * BATCH), generator.integers(0, ROWS, STEPS * BATCH)], -1).astype(np.int32)}
        rows["p"][3] = [4, ROWS - 1]
        start = run(program, ["--no-shuffle"], inputs=rows, steps=0, name="start").parameters
        result = run(program, ["--no-shuffle"], inputs=rows, steps=1, name="good")
        p = rows["p"][:BATCH]
        expect_close("loss", result.losses[:1], [(start["wa"][p[:, 0]] * start["wb"][p[:, 1]]).mean()], 1e-12)
        for element, bad, last in ((0, 5, 4), (1, ROWS, ROWS - 1), (1, -1, ROWS - 1)):
            wrong = rows["p"].copy()
            wrong[2, element] = bad
            line = self.fail(program, {"p": wrong})
            assert f"'p' sample 2 element {element}: {bad} is outside the model's range of {last + 1} (0 to {last}), of {ID}" in line, line

    def tables(self):
        rows = np.zeros(STEPS * BATCH, np.int32)
        program = self.compile(TABLES, [])
        run(program, ["--no-shuffle"], inputs={"i": rows + 4}, steps=1)
        rows[2] = ROWS - 1
        line = self.fail(program, {"i": rows})
        assert f"'i' sample 2 element 0: {ROWS - 1} is outside the model's range of 5 (0 to 4)" in line, line

    def booleans(self):
        """Casts of booleans are 0 and 1, those of the data, of constants and through views."""
        rows = {"k": np.arange(STEPS * BATCH * 2).reshape(-1, 2) % 3 == 0}
        for ints in ("i32", "i64"):
            program = self.compile(BOOLEANS.replace("i32", ints), PLANS["both"])
            start = run(program, ["--no-shuffle"], inputs=rows, steps=0, name="start").parameters["w"]
            result = run(program, ["--no-shuffle"], inputs=rows, steps=1, name="good")
            k = rows["k"][:BATCH].astype(int)
            expect_close("loss", result.losses[:1], [(start[k[:, :1]] * start[1]).mean()], 1e-12)
        one_row = BOOLEANS.replace("tensor<2x", "tensor<1x")
        line = self.fail(self.compile(one_row, PLANS["one"]), rows)
        assert f"id 1 is out of range, 0 to 0 ({ID}" in line, line

    def constants(self):
        text = f"""func.func @e(%x: tensor<{BATCH}x2x3xf64> {{pp.input = "x"}}) -> tensor<f64> {{
  %w = pp.param "w" {{init = #pp.init<ones>}} : tensor<5x3xf64>
  %c = pp.constant dense<[1, 5]> : tensor<2xi32>
  %e = pp.embedding %w, %c : tensor<5x3xf64>, tensor<2xi32>
  %m = pp.mul %x, %e : tensor<{BATCH}x2x3xf64>, tensor<2x3xf64>
  %l = pp.reduce mean %m [0, 1, 2] : tensor<{BATCH}x2x3xf64>
  return %l : tensor<f64>
}}
"""
        self.compile(text.replace("[1, 5]", "[1, 4]"), [])
        try:
            self.compile(text, [])
        except AssertionError as error:
            assert "ids.mlir:4:8: error: 'pp.embedding' op has the constant 5 as operand 1, outside of its range of 5 (0 to 4)" in str(error), error
        else:
            raise AssertionError("compiled")


harness = Harness("ids")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for plan in PLANS:
        harness.case(f"computed, {plan}", lambda: checks.computes(plan))
        harness.case(f"out of range, {plan}", lambda: checks.names(plan, 15, f"id 16 is out of range, {RANGE} ({ID}", model()))
    for plan in ("one", "both", "local", "sharded", "rows"):
        harness.case(f"skipped, {plan}", lambda: checks.skips(plan))
        harness.case(f"evaluation, {plan}", lambda: checks.evaluates(plan))
        harness.case(f"metrics, {plan}", lambda: checks.metrics(plan))
        computed = model(targets="%u")
        harness.case(f"targets, {plan}", lambda: checks.names(plan, 8, f"id 7 is out of range, 0 to 6 ({CLASS}", computed, "t"))
    harness.case("negative", lambda: checks.names("both", -5, f"id -4 is out of range, {RANGE}", model()))
    harness.case("far", lambda: checks.names("both", 2**31 - 2, "id 2147483647 is out of range", model()))
    harness.case("i64", lambda: checks.names("both", 2**40, f"id {2**40 + 1} is out of range", model("i64"), ints="i64"))
    harness.case("i64, as if i32", lambda: checks.names("one", 2**32, f"id {2**32 + 1} is out of range", model("i64"), ints="i64"))
    harness.case("ignored targets", lambda: checks.names("one", -1, "id -2 is out of range, 0 to 6 or -100", model(
        targets="%u", ignore="{ignore_index = -100 : i64} "), "t"))
    harness.case("from floats", lambda: checks.computes("both", "float"))
    for value, said in ((np.nan, None), (1e30, 2147483647), (-np.inf, -2147483648)):
        def cast(value=value, said=said):
            rows = samples()
            rows["f"][ROW] = value
            line = checks.fail(checks.compile(model(ids="float"), PLANS["one"]), rows)
            assert said is None or f"id {said} is out of range" in line, line
        harness.case(f"from {value}", cast)
    harness.case("a table for each column", checks.packed)
    harness.case("two tables", checks.tables)
    harness.case("booleans", checks.booleans)
    harness.case("constants", checks.constants)
sys.exit(harness.finish())
