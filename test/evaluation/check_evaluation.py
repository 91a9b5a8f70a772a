#!/usr/bin/env python3
"""An evaluation is one batch of all its rows, whatever the program's batch, plan and launch: its loss is PyTorch's over the same rows
(Inputs/torch_losses.json; make_torch_losses.py wrote it). The model has all that a batch can count differently: targets that are not counted, a mean over activations in the
first stage, a sum of parameters, and inputs that are centred and scaled by their mean and variance over the batch.
"""
import json
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import safetensors_io  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.mutations import tool_of  # noqa: E402
from support.results import Harness  # noqa: E402

from evaluations import compile_text, evaluate  # noqa: E402
from samples import CLASSES, FEATURES, ROWS, TOKENS, VOCABULARY, WIDTH, parameters, rows  # noqa: E402

with open(os.path.join(HERE, "Inputs", "torch_losses.json"), encoding="utf8") as file:
    LOSSES = {int(count): float.fromhex(loss) for count, loss in json.load(file)["losses"].items()}

PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "pp": ["--mesh", "pp=2"], "microbatches": ["--microbatches", "2"], "zero 3": ["--mesh", "dp=2", "--zero", "3"],
         "pp, microbatches": ["--mesh", "pp=2", "--microbatches", "2"], "lent": ["--mesh", "pp=2", "--tied", "owner"], "local": ["--mesh", "pp=2", "--launch", "local"],
         "dp, pp": ["--mesh", "dp=2,pp=2"], "zb-v": ["--mesh", "pp=2", "--schedule", "zb-v", "--microbatches", "2"], "trainers": ["--mesh", "dp=2", "--sync", "async"], "blocks": ["--block-bytes", "64"]}
BATCHES = (2, 4, 8)


def model(batch):
    b = batch
    ids, f, t = f"tensor<{b}x{TOKENS}xi32>", f"tensor<{b}x{FEATURES}xf64>", f"tensor<{FEATURES}xf64>"
    h, z, s = f"tensor<{b}x{TOKENS}x{WIDTH}xf64>", f"tensor<{b}x{TOKENS}x{CLASSES}xf64>", "tensor<f64>"
    param = lambda name, *shape: f'%{name} = pp.param "{name}" {{init = #pp.init<ones>}} : tensor<{"x".join(map(str, shape))}xf64>'
    return f"""func.func @evaluated(%ids: {ids} {{pp.input = "ids"}}, %f: {f} {{pp.input = "f"}}, %t: {ids} {{pp.input = "t"}}) -> {s} {{
  {param("table", VOCABULARY, WIDTH)}
  {param("u", FEATURES, WIDTH)}
  {param("v", WIDTH, WIDTH)}
  {param("w", WIDTH, CLASSES)}
  %mean = pp.reduce mean %f [0] : {f}
  %centred = pp.sub %f, %mean : {f}, {t}
  %squares = pp.mul %centred, %centred : {f}, {f}
  %variance = pp.reduce mean %squares [0] : {f}
  %one = pp.constant dense<1.0> : {s}
  %more = pp.add %variance, %one : {t}, {s}
  %scale = pp.rsqrt %more : {t}
  %whitened = pp.mul %centred, %scale : {f}, {t}
  %p = pp.matmul %whitened, %u : {f}, tensor<{FEATURES}x{WIDTH}xf64>
  %q = pp.reshape %p : tensor<{b}x{WIDTH}xf64> to tensor<{b}x1x{WIDTH}xf64>
  %e = pp.embedding %table, %ids : tensor<{VOCABULARY}x{WIDTH}xf64>, {ids}
  %h = pp.add %e, %q : {h}, tensor<{b}x1x{WIDTH}xf64>
  %hh = pp.mul %h, %h : {h}, {h}
  %size = pp.reduce mean %hh [0, 1, 2] : {h}
  %y = pp.matmul %h, %v : {h}, tensor<{WIDTH}x{WIDTH}xf64>
  %a = pp.tanh %y : {h}
  %z = pp.matmul %a, %w : {h}, tensor<{WIDTH}x{CLASSES}xf64>
  %entropy = pp.cross_entropy %z, %t {{ignore_index = -100 : i64}} : {z}, {ids}
  %ww = pp.mul %w, %w : tensor<{WIDTH}x{CLASSES}xf64>, tensor<{WIDTH}x{CLASSES}xf64>
  %decay = pp.reduce sum %ww [0, 1] : tensor<{WIDTH}x{CLASSES}xf64>
  %tenth = pp.constant dense<0.1> : {s}
  %hundredth = pp.constant dense<0.01> : {s}
  %size1 = pp.mul %size, %tenth : {s}, {s}
  %decay1 = pp.mul %decay, %hundredth : {s}, {s}
  %terms = pp.add %size1, %decay1 : {s}, {s}
  %loss = pp.add %entropy, %terms : {s}, {s}
  return %loss : {s}
}}
"""


# Each row is compared with all rows of its batch.
MIXING = """func.func @pairs(%x: tensor<4x3xf64> {pp.input = "x"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3x3xf64>
  %y = pp.matmul %x, %w : tensor<4x3xf64>, tensor<3x3xf64>
  %s = pp.matmul %y, %y {transpose_rhs} : tensor<4x3xf64>, tensor<4x3xf64>
  %e = pp.exp %s : tensor<4x4xf64>
  %l = pp.reduce mean %e [0, 1] : tensor<4x4xf64>
  return %l : tensor<f64>
}
"""


class Checks:
    def __init__(self, harness, directory):
        self.ppopt, self.directory = harness.ppopt, directory
        self.init = os.path.join(directory, "init.safetensors")
        safetensors_io.write(self.init, parameters())
        self.data = {}
        for count in LOSSES:
            self.data[count] = os.path.join(directory, f"rows{count}.safetensors")
            safetensors_io.write(self.data[count], rows(count))

    def compile(self, name, text, flags, ppopt=None):
        return compile_text(ppopt or self.ppopt, self.directory, name, text, flags)

    def evaluate(self, program, count, flags=(), launch=()):
        """(the loss, the event, the output) of an evaluation of the initial parameters."""
        event, text = evaluate(program, self.init, self.data[count], flags, launch)
        return float.fromhex(event["loss_hex"]), event, text

    def compare(self, program, count, flags=(), launch=()):
        loss, event, _ = self.evaluate(program, count, ["--eval-batches", "all", *flags], launch)
        error = abs(loss - LOSSES[count]) / abs(LOSSES[count])
        assert error <= 1e-12, f"{count} rows: {loss} instead of {LOSSES[count]}"
        assert (event["samples"], event["all_samples"]) == (count, count), event

    def plan(self, name, batch):
        program = self.compile(f"{name}-{batch}", model(8), ["--batch", str(batch), *PLANS[name]])
        for count in LOSSES:
            self.compare(program, count)
        self.compare(program, ROWS, ["--poison"])
        if program.ranks > 1 and batch == 4 and name != "local":
            self.compare(program, ROWS, launch=under_mpirun(program.ranks))

    def mutated(self, mutation):
        """A planted bug is seen by another loss, where there are several batches of which the last is partial."""
        program = self.compile(mutation, model(8), ["--batch", "4", "--mutate", mutation], ppopt=tool_of(self.ppopt))
        try:
            self.compare(program, ROWS)
        except AssertionError as wrong:
            assert "instead of" in str(wrong), wrong
            return
        raise AssertionError(f"{mutation} changes nothing")

    def said(self):
        """Of more rows than 8 batches the default takes as many; the output says how many of how many."""
        program = self.compile("said", model(2), [])
        _, event, text = self.evaluate(program, ROWS)
        assert (event["samples"], event["all_samples"]) == (16, ROWS) and "16 of 21 samples" in text, text
        _, event, text = self.evaluate(program, 16)
        assert event["samples"] == 16 and "16 of 16 samples" in text, text

    def mixing(self):
        """Rows that meet are evaluated by whole batches, and the output says why."""
        program = self.compile("mixing", MIXING, [])
        x = np.random.default_rng(1).normal(size=(11, 3)) * 0.3
        path, init = (program.path + end for end in (".x", ".init"))
        safetensors_io.write(path, {"x": x})
        safetensors_io.write(init, {"w": np.eye(3)})
        event, text = evaluate(program, init, path)
        assert event["samples"] == 8, event
        assert "'pp.matmul' op can't be split over the batch" in text and "mixing.mlir:4" in text, text
        # The samples are spaced evenly: 8 of 11.
        spaced = x[[i * 11 // 8 for i in range(8)]]
        expected = np.mean([np.exp(spaced[i:i + 4] @ spaced[i:i + 4].T).mean() for i in (0, 4)])
        assert abs(float.fromhex(event["loss_hex"]) - expected) <= 1e-12 * expected, (event, expected)


harness = Harness("evaluation")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for name in PLANS:
        for batch in BATCHES:
            # A trainer's part of a batch has more than one row.
            parts = 4 if name in ("pp, microbatches", "dp, pp", "zb-v", "trainers") else 2
            if batch >= parts and (batch == 4 or name in ("one", "dp", "pp", "microbatches", "zero 3", "trainers")):
                harness.case(f"{name}, batch {batch}", lambda: checks.plan(name, batch))
    for mutation in ("mask-left-out", "share-left-out"):
        harness.case(f"planted: {mutation}", lambda: checks.mutated(mutation))
    harness.case("how many of how many", checks.said)
    harness.case("rows that meet", checks.mixing)
sys.exit(harness.finish())
