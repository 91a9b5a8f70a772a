#!/usr/bin/env python3
"""Writes Inputs/torch_predictions.json, or the file that is given: what PyTorch in f64 gives for outputs of two models of subjects.py.
usage: make_torch_predictions.py [FILE] (in a Python with torch)"""
import json
import pathlib
import sys

import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from pytorch.reference import gpt_blocks, gpt_embed, gpt_logits, gpt_shapes  # noqa: E402

from subjects import GPT, Classifier, draw  # noqa: E402

ROWS = 11


def in_torch(tensors):
    return {name: torch.from_numpy(values) for name, values in tensors.items()}


def classifier():
    values, data = in_torch(Classifier().parameters()), in_torch(Classifier().rows(ROWS))
    hidden = torch.tanh(data["x"] @ values["u"])
    scores = hidden @ values["v"]
    return {"hidden": hidden, "scores": scores, "class": scores.argmax(-1), "sure": scores.max(-1).values > 0.5, "half": hidden.bfloat16(),
            "other": hidden.float(), "tenths": (scores * 10).int(), "accuracy": scores.max(-1).values}


def gpt():
    values = in_torch(draw(gpt_shapes(GPT.LAYERS, GPT.WIDTH, GPT.VOCABULARY, GPT.LENGTH), scale=GPT.SCALE))
    tokens = in_torch(GPT().rows())["tokens"].long()
    return {"logits": gpt_logits(values, gpt_blocks(values, gpt_embed(values, tokens), GPT.HEADS, range(GPT.LAYERS)))}


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "Inputs" / "torch_predictions.json"
    models = {name: {output: tensor.tolist() for output, tensor in model().items()} for name, model in (("classifier", classifier), ("gpt", gpt))}
    path.parent.mkdir(exist_ok=True)
    lines = [f'"torch": {json.dumps(torch.__version__.split("+")[0])}']
    for name, outputs in models.items():
        lines.append(f'"{name}": {{\n' + ",\n".join(f' "{output}": {json.dumps(values)}' for output, values in outputs.items()) + "\n}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
