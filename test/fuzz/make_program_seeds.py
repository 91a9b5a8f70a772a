#!/usr/bin/env python3
"""make_program_seeds.py [--ppopt PPOPT]: writes seeds/program/{one,dp,pp,local,cut}.json, the documents of real programs.

Run it when the document changes. cut.json is dp.json with a parameter of which each rank has a part. The CPU is named, so that the files do not depend on
the machine. number-overflow.json is written by hand.
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
         "local": (GPT, ["--mesh", "pp=2", "--launch", "local"])}


def describe(ppopt, directory, model, flags):
    source, executable = os.path.join(directory, "m.mlir"), os.path.join(directory, "m")
    subprocess.run([ppopt, "model", *model, "-o", source], check=True)
    subprocess.run([ppopt, "compile", source, *flags, "--threads", "1", "--cpu", "x86-64-v3", "--no-generation", "-o", executable],
                   check=True, stdout=subprocess.DEVNULL, env=environment())
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ppopt", default=str(HERE.parent.parent / "build" / "release" / "bin" / "ppopt"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        documents = {name: describe(options.ppopt, directory, *seed) for name, seed in SEEDS.items()}
    documents["cut"] = cut(json.loads(json.dumps(documents["dp"])))
    for name, document in documents.items():
        (HERE / "seeds" / "program" / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")))


if __name__ == "__main__":
    main()
