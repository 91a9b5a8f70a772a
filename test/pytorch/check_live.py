#!/usr/bin/env python3
"""Compares with the installed PyTorch (tools/check --with-pytorch): the fixtures made again, larger models, and GPT-2 124M."""
import functools
import json
import os
import pathlib
import shutil
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE), str(HERE.parent / "generation")]
from check_generation import Tools  # noqa: E402
from support import event_files, safetensors_io  # noqa: E402
from support.executable import checked, compile_model, expect_close, run  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

import checkpoints  # noqa: E402
import fixtures  # noqa: E402

COMPILE_SECONDS = 20  # GPT-2 124M
# What another machine may make of the fixtures: bf16 rounds what differs in the last bit of f32 to another value.
TOLERANCES = {".f64.": 1e-12, ".bf16.": 2e-2, "": 1e-5}


def check_fixtures_again(python, scratch):
    """The committed numbers are what make_fixtures.py computes here."""
    folder = os.path.join(scratch, "again")
    checked([python, str(HERE / "make_fixtures.py"), folder])
    for path in sorted((HERE / "fixtures").glob("*.safetensors")):
        tolerance = next(t for kind, t in TOLERANCES.items() if kind in path.name)
        theirs = safetensors_io.read(path)
        largest = max(float(abs(a).max()) for a in theirs.values())
        expect_close(path.name, safetensors_io.read(os.path.join(folder, path.name)), theirs, tolerance, 1e-3 * largest)


def check_gpt2(harness, scratch):
    """The 124M preset, a batch of one row: compiles in time, and its first three losses are PyTorch's within 1e-4."""
    model = os.path.join(scratch, "gpt2.mlir")
    checked([harness.ppopt, "model", "gpt", "--preset", "gpt2-124m", "--batch", "1", "-o", model])
    begin = time.monotonic()
    executable = compile_model(harness.ppopt, model, model[:-5], ["--optimizer", "adamw", "--threads", "2"], optimized=True)
    seconds = time.monotonic() - begin
    print(f"  GPT-2 124M compiles in {seconds:.1f} s", flush=True)
    spec = os.path.join(scratch, "spec.json")
    with open(spec, "w") as file:
        json.dump({"parameters": {p["name"]: p["shape"] for p in executable.program["parameters"]},
                   "inputs": {i["name"]: i["shape"] for i in executable.program["inputs"]},
                   "layers": 12, "heads": 12, "steps": 3, "adamw": {"lr": 6e-4, "betas": [0.9, 0.95], "eps": 1e-8,
                                                                     "weight_decay": 0.1}}, file)
    checked([harness.args.pytorch, str(HERE / "gpt2_124m.py"), spec, scratch], timeout=900)
    with open(spec) as file, open(os.path.join(scratch, "gpt2.losses.json")) as losses:
        options, expected = json.load(file)["adamw"], json.load(losses)
    result = run(executable, ["--init", os.path.join(scratch, "gpt2.init.safetensors"),
                              "--inputs", os.path.join(scratch, "gpt2.inputs.safetensors"), "--no-shuffle",
                              *fixtures.adamw_flags(options)], steps=3, timeout=900)
    difference = max(abs(a - b) for a, b in zip(result.losses, expected))
    print(f"  losses {[f'{x:.6f}' for x in result.losses]}, PyTorch {[f'{x:.6f}' for x in expected]}", flush=True)
    assert difference <= 1e-4, f"losses differ by {difference:.3g}"
    assert seconds < COMPILE_SECONDS, f"compiling took {seconds:.1f} s, allowed {COMPILE_SECONDS} s"


def norm(tensors):
    return float(np.sqrt(sum((t.astype(np.float64) ** 2).sum() for t in tensors)))


def check_gpt2_gradients(harness, scratch):
    """The gradients of the 124M preset's first step over 1,024 tokens, whose logits are computed in blocks of rows: the error against PyTorch in f64 is at
    most twice that of PyTorch in f32, over all parameters and for the token embedding, which is also the head."""
    batches, model = (2, 4), os.path.join(scratch, "gradients.{}.mlir")
    for batch in batches:
        checked([harness.ppopt, "model", "gpt", "--preset", "gpt2-124m", "--batch", str(batch), "-o", model.format(batch)])
    executables = {(batch, dp): compile_model(harness.ppopt, model.format(batch), os.path.join(scratch, f"gradients.{batch}.{dp}"),
                                              ["--optimizer", "sgd", "--mesh", f"dp={dp}", "--threads", str(2 // dp)], optimized=True)
                   for batch in batches for dp in (1, 2)}
    spec = os.path.join(scratch, "gradients.json")
    program = next(iter(executables.values())).program
    with open(spec, "w") as file:
        json.dump({"parameters": {p["name"]: p["shape"] for p in program["parameters"]}, "layers": 12, "heads": 12,
                   "seq": program["inputs"][0]["shape"][1], "batches": batches}, file)
    checked([harness.args.pytorch, str(HERE / "gpt2_gradients.py"), spec, scratch], timeout=1800)
    for (batch, dp), executable in executables.items():
        ours = run(executable, [], init=safetensors_io.read(os.path.join(scratch, "gradients.init.safetensors")),
                   inputs=safetensors_io.read(os.path.join(scratch, f"gradients.{batch}.inputs.safetensors")), dump_gradients=True,
                   timeout=900).gradients
        in_f32, exact = (safetensors_io.read(os.path.join(scratch, f"gradients.{batch}.{kind}.safetensors")) for kind in ("f32", "f64"))
        for names in (list(exact), ["wte"]):
            scale = norm(exact[n] for n in names)
            error, allowed = (norm(g[n] - exact[n] for n in names) / scale for g in (ours, in_f32))
            print(f"  batch {batch}, dp={dp}, {'all parameters' if len(names) > 1 else names[0]}: error {error:.2e}, PyTorch's in f32 {allowed:.2e}",
                  flush=True)
            assert error <= 2 * allowed, f"batch {batch}, dp={dp}: gradients of {len(names)} parameters are off by {error:.3g}, twice {allowed:.3g} allowed"


def need_pytorch(python, test):
    if not python:
        raise Skip("needs tools/check --with-pytorch")
    test()


def check_larger(harness, scratch):
    """Makes fixtures of larger models live, and compares with each."""
    folder = os.path.join(scratch, "larger")
    checked([harness.args.pytorch, str(HERE / "make_fixtures.py"), folder, "larger"], timeout=900)
    for name, test in fixtures.tests(harness.ppopt, scratch, folder):
        print(f"  {name}", flush=True)
        test()


def check_gpt2_checkpoints(harness, scratch):
    """The committed checkpoints are what transformers makes here. With its small test configuration, other parameters and 512 positions: the first loss,
    the logits and the continuation are transformers', and from_pretrained takes what is exported for the same model, bit for bit."""
    python, script = harness.args.pytorch, str(HERE / "gpt2_checkpoint.py")
    again, drawn = os.path.join(scratch, "gpt2"), os.path.join(scratch, "drawn")
    checked([python, script, "make", again])
    for path in sorted((HERE / "fixtures" / "gpt2").glob("*/*.safetensors")):
        expect_close(str(path), safetensors_io.read(os.path.join(again, path.parent.name, path.name)), safetensors_io.read(path), 1e-5)
    checked([python, script, "make", drawn, "512", "100"])
    tools = Tools(harness.args.build, scratch)
    for name in sorted(os.listdir(drawn)):
        folder = os.path.join(drawn, name)
        for what, test in checkpoints.cases(tools, folder):
            print(f"  {what}", flush=True)
            test()
        tokens, ours, theirs = (os.path.join(folder, kind) for kind in ("expected.safetensors", "ours", "ours.logits"))
        os.mkdir(ours)
        os.link(os.path.join(folder, "config.json"), os.path.join(ours, "config.json"))
        shutil.move(checkpoints.Checkpoint(tools, folder).round_trip(), os.path.join(ours, "model.safetensors"))
        checked([python, script, "logits", ours, tokens, theirs])
        expected = safetensors_io.read(tokens)["logits"]
        assert safetensors_io.read(theirs)["logits"].tobytes() == expected.tobytes(), f"{name}: from_pretrained has other logits"


def check_tensorboard(harness, scratch):
    """TensorBoard reads what --log has, of a run that is resumed twice from one checkpoint."""
    program, text = os.path.join(harness.args.build, "bin", "test", "ppopt-train-program"), os.path.join(scratch, "text")
    with open(text, "w", encoding="utf8") as file:
        file.write("the quick brown fox " * 50)
    runs, log, saved = (os.path.join(scratch, name) for name in ("runs", "log.jsonl", "saved"))
    flags = ["--data", text, "--eval-data", text, "--eval-every", "2", "--log", log, "--tensorboard", runs, "--checkpoint", saved, "--resume"]
    for steps in ("3", "5", "7"):
        checked([program, *flags, "--steps", steps])
        shutil.rmtree(os.path.join(saved, "step-00000005"), ignore_errors=True)
    scalars = json.loads(checked([harness.args.pytorch, str(HERE / "read_events.py"), runs]).stdout)
    event_files.expect_same(scalars, log)
    assert [step for step, _ in scalars["train/loss"]] == list(range(1, 8)), scalars["train/loss"]


def main():
    harness = Harness("pytorch live")
    python = harness.args.pytorch
    with tempfile.TemporaryDirectory() as scratch:
        for name, test in [("fixtures again", functools.partial(check_fixtures_again, python, scratch)),
                           ("larger models", functools.partial(check_larger, harness, scratch)),
                           ("gpt2 124m", functools.partial(check_gpt2, harness, scratch)),
                           ("tensorboard", functools.partial(check_tensorboard, harness, scratch)),
                           ("gpt2 checkpoints", functools.partial(check_gpt2_checkpoints, harness, scratch)),
                           ("gpt2 124m gradients", functools.partial(check_gpt2_gradients, harness, scratch))]:
            # One checks how long compiling takes.
            harness.case(name, functools.partial(need_pytorch, python, test), share="all" if python and name == "gpt2 124m" else "core")
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
