"""Compares what transformers computes with a GPT-2 checkpoint with what a compiled model does that loaded it: see gpt2_checkpoint.py for the files."""
import functools
import json
import os
import pathlib
import re
import subprocess

import numpy as np

from support import safetensors_io
from support.executable import Mismatch, checked, compile_model, environment, expect_close, run

MAP = str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "maps" / "gpt2.json")
FLAGS = {"n_layer": "--layers", "n_embd": "--width", "n_head": "--heads", "vocab_size": "--vocab", "n_positions": "--seq", "n_inner": "--mlp-width",
         "batch": "--batch"}
IGNORED = -100


class Checkpoint:
    """A folder that gpt2_checkpoint.py wrote, and programs that are compiled for it."""

    def __init__(self, tools, folder, map_file=MAP):
        self.path = os.path.join(folder, "model.safetensors")
        self.tensors = safetensors_io.read(self.path)
        self.expected = json.loads(pathlib.Path(folder, "expected.json").read_text())
        computed = safetensors_io.read(os.path.join(folder, "expected.safetensors"))
        self.tokens, self.logits = computed["tokens"], computed["logits"]
        self.tools, self.name, self.init = tools, os.path.basename(folder), ["--init", self.path, "--init-map", map_file]

    @functools.cache
    def compile(self, *plan):
        flags = [word for key, flag in FLAGS.items() if key in self.expected for word in (flag, str(self.expected[key]))]
        gelu = {"gelu": "exact", "gelu_new": "tanh"}[self.expected.get("activation_function", "gelu_new")]
        return self.tools.compile(" ".join([self.name, *plan]), [*flags, "--gelu", gelu, f"--ignore-index={IGNORED}"], plan)

    def inputs(self):
        """Each token is the target of the one before, as transformers takes `labels`."""
        targets = np.concatenate([self.tokens[:, 1:], np.full((len(self.tokens), 1), IGNORED)], axis=1)
        return {"tokens": self.tokens, "targets": targets.astype(np.int32)}

    def first_loss(self):
        result = run(self.compile(), [*self.init, "--lr", "0"], inputs=self.inputs(), name="loss")
        expect_close("first loss", result.losses[0], float.fromhex(self.expected["loss"]), 1e-6)

    def continuation(self):
        """A token is a byte: the text ends with the prompt, the bytes that transformers made, and what may follow on a line of its own."""
        prompt, made = self.expected["prompt"].encode(), bytes(self.expected["continuation"])
        command = [self.compile().path, *self.init, "--generate", str(len(made)), "--temperature", "0", "--prompt", prompt.decode()]
        done = subprocess.run(command, capture_output=True, timeout=300, env=environment(), check=True)
        text = done.stdout[done.stdout.index(prompt):].removesuffix(b"\n")
        text = re.sub(rb"\ngenerated [^\n]*$", b"", text)
        if text != prompt + made:
            raise Mismatch(f"continuation {text} instead of {prompt + made}")

    def scores(self):
        """The logits of all positions, by the program that generates."""
        executable = self.compile()
        native, tokens, out = (f"{executable.path}.{kind}" for kind in ("native.safetensors", "tokens", "scores"))
        self.export(executable, native)
        self.tokens.astype(np.int64).tofile(tokens)
        checked([executable.path, "--score", tokens, *map(str, self.tokens.shape), native, out])
        expect_close("logits", np.fromfile(out).reshape(self.logits.shape), self.logits, 1e-5)

    def export(self, executable, path, *flags):
        checked([executable.path, "--steps", "0", "--inputs", self.samples(executable), *self.init, "--export", path, *flags])

    def samples(self, executable):
        path = executable.path + ".inputs.safetensors"
        safetensors_io.write(path, self.inputs())
        return path

    def round_trip(self, *plan):
        """Exported by the map, the file has transformers' names and its bits, and can be loaded by it again."""
        executable = self.compile(*plan)
        exported, again = (f"{executable.path}.{name}.safetensors" for name in ("exported", "again"))
        self.export(executable, exported, "--export-map", MAP)
        tensors = safetensors_io.read(exported)
        expected = {"transformer." + name.removeprefix("transformer."): tensor for name, tensor in self.tensors.items() if not name.endswith(".attn.bias")}
        assert set(tensors) == set(expected), f"names differ: {sorted(set(tensors) ^ set(expected))}"
        for name, tensor in expected.items():
            assert tensors[name].shape == tensor.shape and tensors[name].tobytes() == tensor.tobytes(), f"{name} has other values"
        content = pathlib.Path(exported).read_bytes()
        header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
        assert header["__metadata__"] == {"format": "pt"}, header["__metadata__"]
        checked([executable.path, "--steps", "0", "--inputs", self.samples(executable), "--init", exported, "--init-map", MAP, "--export", again,
                 "--export-map", MAP])
        assert pathlib.Path(again).read_bytes() == content, "loaded and exported again, it is another file"
        return exported


def check_planted(tools, folder, scratch):
    """A map that takes two vectors of a size for each other must be seen."""
    with open(MAP) as file:
        document = json.load(file)
    first, second = (f"h.{{i}}.{part}.proj.bias" for part in ("attn", "mlp"))
    entries = document["parameters"]
    entries[first], entries[second] = entries[second], entries[first]
    wrong = os.path.join(scratch, "wrong.json")
    with open(wrong, "w") as file:
        json.dump(document, file)
    checkpoint = Checkpoint(tools, folder, wrong)
    for compared in (checkpoint.first_loss, checkpoint.continuation, checkpoint.scores):
        try:
            compared()
        except Mismatch:
            continue
        raise AssertionError(f"{compared.__name__} does not see it")


def check_linear_layers(ppopt, scratch):
    """PyTorch's nn.Linear has [out, in]: loaded, kept by the place that has the layer, and exported in pieces (4 MiB), it lies so again."""
    model = os.path.join(scratch, "linear.mlir")
    checked([ppopt, "model", "mlp", "--widths", "3,1100,1000,2", "--batch", "2", "-o", model])
    path, exported, native = (os.path.join(scratch, f"linear.{kind}.safetensors") for kind in ("init", "exported", "native"))
    map_file = os.path.join(scratch, "linear.json")
    with open(map_file, "w") as file:
        json.dump({"format": "ppopt parameter map", "version": 1, "parameters": {
            "layers.{i}.weight": {"tensor": "net.{i}.weight", "transpose": True}, "layers.{i}.bias": "net.{i}.bias"}}, file)
    random, tensors = np.random.default_rng(0), {}
    for layer, (columns, rows) in enumerate([(3, 1100), (1100, 1000), (1000, 2)]):
        tensors[f"net.{layer}.weight"] = random.standard_normal((rows, columns)).astype(np.float32)
        tensors[f"net.{layer}.bias"] = random.standard_normal(rows).astype(np.float32)
    safetensors_io.write(path, tensors)
    inputs = os.path.join(scratch, "linear.inputs.safetensors")
    safetensors_io.write(inputs, {"x": np.zeros((2, 3), np.float32), "y": np.zeros((2, 2), np.float32)})
    for mesh in ("dp=1", "pp=3"):
        executable = compile_model(ppopt, model, model + mesh, ["--mesh", mesh, "--threads", "1"], generates=True)
        command = [executable.path, "--steps", "0", "--inputs", inputs, "--init", path, "--init-map", map_file, "--export"]
        checked([*command, exported, "--export-map", map_file])
        checked([*command, native])
        for name, tensor in safetensors_io.read(exported).items():
            assert tensor.tobytes() == tensors[name].tobytes(), f"{mesh}: {name} has other values"
        for name, tensor in safetensors_io.read(native).items():
            theirs = tensors[name.replace("layers", "net")]
            assert tensor.tobytes() == theirs.T.tobytes(), f"{mesh}: {name} has other values"


def cases(tools, folder):
    """[(name, function)] for one checkpoint."""
    checkpoint = Checkpoint(tools, folder)
    return [(f"{checkpoint.name}, {what}", test) for what, test in [
        ("first loss", checkpoint.first_loss), ("continuation", checkpoint.continuation), ("logits", checkpoint.scores),
        ("round trip", checkpoint.round_trip),
        ("round trip, two places", functools.partial(checkpoint.round_trip, "--mesh", "pp=2", "--microbatches", "2"))]]
