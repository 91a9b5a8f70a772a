#!/usr/bin/env python3
"""Runs the Python of docs/import.md's walkthroughs, as it stands there, and trains the models in PyTorch on the same rows. Needs requirements.txt.

    make_walkthroughs.py [--gzip] FOLDER [NAME…]

FOLDER gets NAME.pt2 and NAME_data.safetensors, and walkthroughs.json with the losses of as many steps as the page's command trains, and with a digest of what
these were made from. --gzip compresses the files, as they are committed in walkthroughs/, and leaves out the machine's paths.
"""
import json
import os
import pathlib
import runpy
import sys

import torch
from safetensors.torch import load_file

import archives
from archive_model import CRITERIA

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import walkthroughs  # noqa: E402

torch.cuda.is_current_stream_capturing = lambda: False  # the stand-ins for CUDA of test/pytorch/install.sh have no stream to ask


def loss_of(walkthrough, model, batch):
    """The model's own loss, or that of --loss."""
    if not walkthrough.flag("--loss"):
        return model(**batch).loss
    inputs = dict(batch)
    targets = inputs.pop(walkthrough.flag("--targets"))
    return CRITERIA[walkthrough.flag("--loss")](model(**inputs), targets)


def train(walkthrough, model):
    """The losses of the steps of the page's command, whose other flags have PyTorch's defaults."""
    args, kwargs = torch.export.load(walkthrough.archive).example_inputs
    size = [*args, *kwargs.values()][0].shape[0]
    data = load_file(walkthrough.data)
    optimizer = torch.optim.AdamW(model.parameters(), lr=float(walkthrough.flag("--lr")))
    losses = []
    for step in range(int(walkthrough.flag("--steps"))):
        loss = loss_of(walkthrough, model, {name: rows[step * size:][:size] for name, rows in data.items()})
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def make(walkthrough, compress):
    """In the current folder."""
    script = pathlib.Path(walkthrough.python.file)
    script.write_text(walkthrough.python.text)
    model = runpy.run_path(str(script), run_name="__main__")["model"]
    script.unlink()
    entry = {"digest": walkthrough.digest, "losses": train(walkthrough, model)}
    if compress:
        archives.rewrite(walkthrough.archive, walkthrough.archive)
        for name in (walkthrough.archive, walkthrough.data):
            archives.compress(pathlib.Path(name))
    return entry


def main():
    torch.set_num_threads(1)
    words = sys.argv[1:]
    if compress := words[0] == "--gzip":
        words.pop(0)
    folder, *names = words
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    path = pathlib.Path("walkthroughs.json")
    described = json.loads(path.read_text())["walkthroughs"] if path.exists() else {}
    described.update({each.name: make(each, compress) for each in walkthroughs.read() if not names or each.name in names})
    path.write_text(json.dumps({"torch": torch.__version__, "walkthroughs": described}, indent=1) + "\n")


if __name__ == "__main__":
    main()
