#!/usr/bin/env python3
"""Holds the transformers that `ppopt model` writes against Hugging Face's transformers (fixtures/, make_fixtures.py): from the config.json and the
checkpoint as they lie, the gradients of all parameters in the first step and the losses of 20 steps of AdamW (of 5 on several ranks), under each plan. A
packed row is held against its documents in rows of their own. Planted errors must be seen. Needs PyTorch for nothing but "fixtures again".

By hand: check_decoders.py --filter 'mistral.*tp=2'; check_decoders.py --filter planted.
"""
import functools
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import safetensors_io  # noqa: E402
from support.executable import Mismatch, Once, checked, compile_model, expect_close, run  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

FIXTURES, MAPS = HERE / "fixtures", HERE.parents[1] / "tools" / "maps"
CASES = ["llama", "packed", "qwen2", "qwen3", "mistral", "bert", "mixtral", "mixtral_dropped", "t5"]
# Two microbatches, so that positions and documents are not those of the first rows.
PLANS = {"one rank": [], "dp=2": ["--mesh", "dp=2"], "pp=2": ["--mesh", "pp=2", "--microbatches", "2"], "tp=2": ["--mesh", "tp=2"],
         "dp=2 zero 3": ["--mesh", "dp=2", "--zero", "3"]}
BY_MPI = [("llama", "tp=2")]  # others run as threads
TOLERANCE, BF16_TOLERANCE = 1e-9, 2e-2
LEAST_SCALE = 1e-3  # of the largest gradient of the model: what is zero by symmetry (a key's bias) is rounding of the others


def buckets(length, count, most):
    """T5's buckets of how far a key is from a query: half of them for keys that come later; of each half, half for a distance each."""
    distance = np.arange(length)[None, :] - np.arange(length)[:, None]
    half, exact = count // 2, count // 4
    away = np.abs(distance)
    far = exact + (np.log(np.maximum(away, 1) / exact) / np.log(most / exact) * (half - exact)).astype(int)
    return np.where(distance > 0, half, 0) + np.where(away < exact, away, np.minimum(far, half - 1))


class Fixture:
    def __init__(self, ppopt, scratch, name):
        self.ppopt, self.scratch, self.name, self.folder = ppopt, scratch, name, FIXTURES / name
        self.expected = json.loads((self.folder / "expected.json").read_text())
        self.inputs = safetensors_io.read(self.folder / "inputs.safetensors")
        self.gradients = safetensors_io.read(self.folder / "gradients.safetensors")
        self.losses = [float.fromhex(loss) for loss in self.expected["losses"]]

    @functools.cached_property
    def text(self):
        if self.name == "t5":
            config = json.loads((self.folder / "config.json").read_text())
            rows = buckets(12, config["relative_attention_num_buckets"], config["relative_attention_max_distance"])
            return (HERE / "Inputs" / "t5.mlir").read_text().replace("BUCKETS", str(rows.tolist()))
        return checked([self.ppopt, "model", self.expected["family"], "--config", str(self.folder / "config.json"), *self.expected["flags"]]).stdout

    @property
    def init(self):
        by_map = ["--init-map", str(MAPS / "mixtral.json")] if self.expected["family"] == "mixtral" else []
        return ["--init", str(self.folder), *by_map]

    def compile(self, text, plan, called):
        path = os.path.join(self.scratch, f"{self.name}.{called}".replace(" ", "_"))
        with open(path + ".mlir", "w", encoding="utf8") as file:
            file.write(text)
        return compile_model(self.ppopt, path + ".mlir", path, ["--optimizer", "adamw", *plan])

    def run(self, executable, launch="threads", steps=20, flags=()):
        adamw = self.expected["adamw"]
        options = ["--lr", repr(adamw["lr"]), "--betas", ",".join(map(repr, adamw["betas"])), "--eps", repr(adamw["eps"]),
                   "--weight-decay", repr(adamw["weight_decay"])]
        return run(executable, [*self.init, *options, *flags], launch, dump_gradients=True, inputs=self.inputs, steps=steps)

    def compare(self, result):
        scale = max(np.abs(g).max() for g in self.gradients.values())
        expect_close("first loss", result.losses[0], self.losses[0], TOLERANCE)
        expect_close("gradient", result.gradients, self.gradients, TOLERANCE, LEAST_SCALE * scale)
        expect_close("losses", result.losses, self.losses[:len(result.losses)], TOLERANCE)

    def check(self, plan):
        flags = PLANS[plan]
        launch = "mpirun" if (self.name, plan) in BY_MPI else "threads"
        self.compare(self.run(self.compile(self.text, flags, plan), launch, steps=5 if flags else 20))

    def check_bf16(self):
        """With matmuls and attention in bf16, the losses of f64."""
        flags = [flag for flag in self.expected["flags"] if flag not in ("--dtype", "f64")]
        text = checked([self.ppopt, "model", self.expected["family"], "--config", str(self.folder / "config.json"), *flags]).stdout
        result = self.run(self.compile(text, ["--precision", "bf16"], "bf16"))
        expect_close("losses", result.losses, self.losses, BF16_TOLERANCE)

    def check_export(self):
        """What `--init` reads is written again, by the map with its names, bit for bit."""
        executable = self.compile(self.text, ["--mesh", "dp=2", "--zero", "3"], "export")
        path, samples = executable.path + ".exported", executable.path + ".samples"
        safetensors_io.write(samples, self.inputs)
        by_map = [flag.replace("--init-map", "--export-map") for flag in self.init[2:]]
        checked([executable.path, *self.init, "--inputs", samples, "--steps", "0", "--export", path, *by_map])
        ours, theirs = safetensors_io.read(path), safetensors_io.read(self.folder / "model.safetensors")
        assert set(ours) == set(theirs), sorted(set(ours) ^ set(theirs))
        for name, tensor in theirs.items():
            assert ours[name].shape == tensor.shape and ours[name].tobytes() == tensor.tobytes(), name

    def check_planted(self, error):
        text = error(self.text)
        assert text != self.text, "the error is not in the text"
        try:
            self.compare(self.run(self.compile(text, [], error.__name__), steps=1))
        except Mismatch:
            return
        raise AssertionError("is not seen")


def check_fixtures_again(python, scratch):
    """The committed numbers are what make_fixtures.py computes here."""
    if not python:
        raise Skip("needs tools/check --with-pytorch")
    again = os.path.join(scratch, "again")
    checked([python, str(HERE / "make_fixtures.py"), again], timeout=900)
    for name in CASES:
        for file in ("model", "inputs", "gradients"):
            expect_close(f"{name} {file}", safetensors_io.read(os.path.join(again, name, f"{file}.safetensors")),
                         safetensors_io.read(FIXTURES / name / f"{file}.safetensors"), 1e-11, 1e-6)


# Errors, each a change of a model's text.

def wide_window(text):
    return text.replace("window = 5 :", "window = 6 :")


def no_window(text):
    return text.replace(", window = 5 : i64", "")


def cyclic_groups(text):
    """Head h reads the keys of head h modulo the number of those."""
    pairs, flat = "tensor<4x2x2x12x8xf64>", "tensor<4x4x12x8xf64>"

    def swap(value, to):
        return (f"    {to}_1 = pp.reshape {value} : {flat} to {pairs}\n    {to}_2 = pp.transpose {to}_1 [0, 2, 1, 3, 4] : {pairs}\n"
                f"    {to} = pp.reshape {to}_2 : {pairs} to {flat}\n")
    begin, end = "    %a, %lse = pp.attention %q_h_r,", "    %a_t = pp.transpose %a "
    return (text.replace(begin, swap("%q_h_r", "%cyclic") + "    %a, %lse = pp.attention %cyclic,")
            .replace(end, swap("%a", "%back") + "    %a_t = pp.transpose %back "))


def local_positions(text):
    """The second half of a row begins at position 0, as if it were another tile's."""
    positions = "    %local = pp.constant dense<[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]> : tensor<12xi32>\n"
    return (text.replace("    %q_s = ", positions + "    %q_s = ").replace("pp.rotary %q_h ", "pp.rotary %q_h at %local ")
            .replace("pp.rotary %k_h ", "pp.rotary %k_h at %local ")
            .replace(": i64} : !q_heads\n", ": i64} : !q_heads, tensor<12xi32>\n").replace(": i64} : !k_heads\n", ": i64} : !k_heads, tensor<12xi32>\n"))


def no_segments(text):
    return text.replace(" segments %segments", "").replace("!k_heads, !k_heads, !ids", "!k_heads, !k_heads")


def unscaled_rotary(text):
    return text.replace(" scaled llama3", "").replace(", factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, "
                                                      "original_length = 64 : i64", "")


def no_padding(text):
    return text.replace(" mask %mask", "").replace("!q_heads, !q_heads, !q_heads, !mask", "!q_heads, !q_heads, !q_heads")


def swapped_bias(text):
    return text.replace("pp.transpose %looked_up [2, 0, 1]", "pp.transpose %looked_up [2, 1, 0]")


def one_more_place(text):
    """Each expert has room for another token."""
    return text.replace("x4x5x16xf64", "x4x6x16xf64").replace("tensor<4x20x", "tensor<4x24x")


PLANTED = [("mistral", wide_window), ("mistral", no_window), ("llama", cyclic_groups), ("llama", local_positions), ("llama", unscaled_rotary),
           ("packed", no_segments), ("bert", no_padding), ("t5", swapped_bias), ("mixtral_dropped", one_more_place)]


def main():
    harness = Harness("decoders")
    with tempfile.TemporaryDirectory() as scratch:
        fixtures = Once()

        def fixture(name):
            return fixtures(name, lambda: Fixture(harness.ppopt, scratch, name))
        cases = [(f"{name}, {plan}", lambda name=name, plan=plan: fixture(name).check(plan)) for name in CASES for plan in PLANS]
        cases += [(f"{name}, export", lambda name=name: fixture(name).check_export()) for name in ["qwen3", "mixtral"]]
        cases += [(f"{name}, bf16", lambda name=name: fixture(name).check_bf16()) for name in CASES if name != "t5"]
        cases += [(f"planted {error.__name__}", lambda name=name, error=error: fixture(name).check_planted(error)) for name, error in PLANTED]
        cases.append(("fixtures again", lambda: check_fixtures_again(harness.args.pytorch, scratch)))
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
