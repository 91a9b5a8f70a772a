#!/usr/bin/env python3
"""Trains small models until they know a text by heart and lets them write: under several plans, by threads and by mpirun, past the
end of their context, as bytes and with a tokenizer.

    /usr/bin/python3 test/generation/check_text.py [--filter REGEX]
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
from support.executable import checked, compile_model  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

# After "to be" comes one of two things: to know which, the model must look back.
VERSE = "to be, or not to be: that is it. "
GPT = ["gpt", "--layers", "2", "--width", "64", "--heads", "2", "--seq", "48", "--batch", "8"]
STEPS, FEW, LONG = 200, 20, 150  # FEW leave a model that knows little. LONG: tokens to write, three times the context
PLANS = {
    "one rank": ["--threads", "1"],
    "dp=2": ["--mesh", "dp=2", "--threads", "1"],
    "pp=2": ["--mesh", "pp=2", "--microbatches", "2", "--threads", "1"],
    "dp=2,pp=2": ["--mesh", "dp=2,pp=2", "--microbatches", "2", "--threads", "1"],
    "local pp=2": ["--mesh", "pp=2", "--microbatches", "2", "--launch", "local", "--threads", "1"],
}


def repeat(text, length):
    return (text * (length // len(text) + 2))[:length]


class Writer:
    """One model, compiled for several plans; all files are in `folder`."""

    def __init__(self, ppopt, folder, name, model, data, flags=()):
        self.ppopt, self.stem, self.data, self.flags = ppopt, os.path.join(folder, name), data, [*flags]
        checked([ppopt, "model", *model, "-o", self.stem + ".mlir"])

    @functools.cache
    def compile(self, plan, *more):
        output = self.stem + "".join(c if c.isalnum() else "_" for c in plan + "".join(more))
        return compile_model(self.ppopt, self.stem + ".mlir", output, [*PLANS[plan], *more], generates=True, optimized=True)

    def write(self, executable, flags, mpirun=False):
        """Standard output, less its last new line; what the run tells is on standard error."""
        launch = under_mpirun(executable.ranks) if mpirun else []
        done = checked([*launch, executable.path, *flags])
        told, last = done.stderr.split("\ndone: ", 1)[1].rsplit("\ngenerated ", 1)
        assert last.endswith(" s\n") and last.count("\n") == 1 and done.stdout.endswith("\n"), told + last
        return done.stdout[:-1]

    def train(self, executable, flags, mpirun=False, steps=STEPS):
        training = ["--data", self.data, "--steps", str(steps), "--lr", "3e-3", "--warmup", str(steps // 10), "--lr-schedule", "cosine"]
        return self.write(executable, [*training, *self.flags, *flags], mpirun)


def generation(prompt, *flags, count=LONG):
    return ["--generate", str(count), "--prompt", prompt, *flags]


def expect_equal(what, text, expected):
    assert text == expected, f"{what}:\n{text}\ninstead of\n{expected}"


def check_by_heart(writer, plan, *more):
    """What training left writes the text, however far."""
    text = writer.train(writer.compile(plan, *more), generation("that is", "--temperature", "0"))
    expect_equal(plan, text, repeat(VERSE[VERSE.index("that is"):] + VERSE[:VERSE.index("that is")], LONG + 7))


def check_launches(writer, plan):
    """Threads and processes write the same."""
    flags = generation("or ", "--temperature", "2", "--seed", "3")
    executable = writer.compile(plan)
    text = writer.train(executable, flags, steps=FEW)
    assert text[:len("or ") + 20] != repeat(VERSE[VERSE.index("or "):], len("or ") + 20), "nothing was drawn"
    expect_equal(plan, writer.train(executable, flags, mpirun=True, steps=FEW), text)


def check_plans(writer):
    """The same parameters write the same under every plan."""
    path = writer.stem + ".safetensors"
    drawn = generation("to ", "--temperature", "2", "--top-k", "20", "--seed", "1")
    text = writer.train(writer.compile("one rank"), ["--export", path, "--seed", "1", *drawn[:-2]], steps=FEW)
    for plan in PLANS:
        executable = writer.compile(plan)
        expect_equal(plan, writer.write(executable, ["--init", path, *drawn]), text)
    expect_equal("mpirun", writer.write(writer.compile("dp=2,pp=2"), ["--init", path, *drawn], mpirun=True), text)
    other = writer.write(writer.compile("one rank"), ["--init", path, *drawn[:-1], "2"])
    assert other != text, "another seed writes the same"


def check_tokenizer(ppopt, folder):
    """Tokens of GPT-2's form, of which the model has some that mean nothing."""
    tokenizer = HERE.parent / "runtime" / "Inputs" / "tokenizer"
    sentence = "The quick brown fox jumps over the lazy dog."
    cases = json.loads((tokenizer / "texts.json").read_text())
    tokens = next(case["tokens"] for case in cases if case["text"] == sentence)
    data = os.path.join(folder, "tokens.bin")
    np.array(tokens * 200, "<u2").tofile(data)
    writer = Writer(ppopt, folder, "tokens", [*GPT, "--vocab", "960"], data, ["--tokens", "uint16"])
    text = writer.train(writer.compile("dp=2"), generation("The quick", "--temperature", "0", "--tokenizer", str(tokenizer), count=150))
    expect_equal("text", text, repeat(sentence, len(text)))
    assert len(text) > 250, text


def main():
    harness = Harness("generation text")
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "verse")
        pathlib.Path(data).write_text(VERSE * 200)
        writer = Writer(harness.ppopt, folder, "gpt", [*GPT, "--vocab", "128"], data)
        double = Writer(harness.ppopt, folder, "double", [*GPT, "--vocab", "128", "--dtype", "f64"], data)
        for plan in PLANS:
            harness.case(f"by heart, {plan}", functools.partial(check_by_heart, writer, plan))
        harness.case("by heart, bf16", functools.partial(check_by_heart, writer, "one rank", "--precision", "bf16"))
        harness.case("by heart, f64", functools.partial(check_by_heart, double, "one rank"))
        for plan in ("dp=2", "pp=2"):
            harness.case(f"launches, {plan}", functools.partial(check_launches, writer, plan))
        harness.case("plans", functools.partial(check_plans, writer))
        harness.case("tokenizer", functools.partial(check_tokenizer, harness.ppopt, folder))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
