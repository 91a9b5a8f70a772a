#!/usr/bin/env python3
"""make_program_seeds.py [--ppopt PPOPT]: writes seeds/program/{one,dp,pp,local,shards,averages,owners,short,cut,tasks,metrics,outputs}.json, the documents of real programs.

Run it when the document changes. cut.json is dp.json with a parameter of which each rank has a part, tasks.json with a task that has collectives. The CPU is
named, so that the files do not depend on the machine. number-overflow.json is written by hand.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support.executable import environment  # noqa: E402

MLP = ["mlp", "--widths", "8,2", "--batch", "4"]
DEEP = ["mlp", "--widths", "3,5,2", "--batch", "6"]
GPT = ["gpt", "--layers", "1", "--width", "4", "--heads", "1", "--vocab", "8", "--seq", "4", "--batch", "2"]
SEEDS = {"one": (MLP, []),
         "dp": (MLP, ["--mesh", "dp=2", "--optimizer", "sgd", "--microbatches", "2"]),
         "pp": (DEEP, ["--mesh", "pp=2", "--microbatches", "3", "--schedule", "zb-h1"]),
         "local": (GPT, ["--mesh", "pp=2", "--launch", "local"]),
         "shards": (MLP, ["--mesh", "dp=2", "--zero", "1"]),
         "averages": (MLP, ["--mesh", "dp=2", "--zero", "1", "--ema"]),
         "owners": (MLP, ["--mesh", "dp=2", "--sync", "stale=2"])}


def describe(ppopt, directory, model, flags):
    executable = os.path.join(directory, "m")
    # In the directory, so that no message has its name.
    subprocess.run([ppopt, "model", *model, "-o", "m.mlir"], check=True, cwd=directory)
    subprocess.run([ppopt, "compile", "m.mlir", *flags, "--threads", "1", "--cpu", "x86-64-v3", "--no-generation", "-o", executable],
                   check=True, stdout=subprocess.DEVNULL, env=environment(), cwd=directory)
    document = json.loads(subprocess.run([executable, "--describe=json"], check=True, capture_output=True).stdout)
    document["command"], document["source"] = "ppopt compile m.mlir " + " ".join(flags), "m.mlir"
    return document


def cut(document):
    """The first parameter is a half of one that dp cuts in its first dimension."""
    parameter = document["parameters"][0]
    rows = parameter["shape"][0]
    parameter["tile"] = {"global_shape": [2 * rows, *parameter["shape"][1:]],
                         "cuts": [[{"axis": "dp", "parts": 2, "period": 2 * rows}], *([] for _ in parameter["shape"][1:])]}
    return document


def shorten(document):
    """The last buffer ends beyond the arena, which must be seen before anything runs."""
    document["places"][0]["arena"]["bytes"] -= 60
    return document


def collect(document):
    """The first task gathers a bucket, scatters its sum, and sums a value on another channel."""
    document["collectives"] = [
        {"name": name, "task": 0, "op": op, "axes": ["dp"], "channel": channel, "elements": elements, "type": "f32"}
        for name, op, channel, elements in (("b0", "all_gather", 7, 64), ("h", "all_reduce", 8, 5), ("b0", "reduce_scatter", 7, 64))]
    return document


def measure(document):
    """A mean and a ratio, which lie where the loss does."""
    at = document["places"][0]["loss"]["offset"]
    document["metrics"] = [{"name": "a", "ratio": False}, {"name": "b", "ratio": True}]
    document["places"][0]["metrics"] = [{"offset": at, "count": None}, {"offset": at, "count": at + 8}]
    return document


def predict(document):
    """An output, which lies where the first input does."""
    place = document["places"][0]
    document["outputs"] = [{"name": "h", "shape": document["inputs"][0]["shape"], "type": document["inputs"][0]["type"]}]
    place["outputs"] = [{"output": 0, "offset": place["inputs"][0]["offset"]}]
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ppopt", default=str(HERE.parent.parent / "build" / "release" / "bin" / "ppopt"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        documents = {name: describe(os.path.abspath(options.ppopt), directory, *seed) for name, seed in SEEDS.items()}
    documents["short"] = shorten(json.loads(json.dumps(documents["dp"])))
    documents["cut"] = cut(json.loads(json.dumps(documents["dp"])))
    documents["metrics"] = measure(json.loads(json.dumps(documents["dp"])))
    documents["outputs"] = predict(json.loads(json.dumps(documents["dp"])))
    documents["tasks"] = collect(json.loads(json.dumps(documents["dp"])))
    for name, document in documents.items():
        (HERE / "seeds" / "program" / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")))


if __name__ == "__main__":
    main()
