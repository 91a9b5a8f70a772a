#!/usr/bin/env python3
"""Exports transformers' GPT-2 of given sizes as torch.export.save writes it, with random weights, and writes rows of random tokens for it and
for the model of `ppopt model gpt`: FOLDER/gpt2.pt2, imported_data.safetensors, gpt_data.safetensors."""
import argparse
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch  # noqa: E402
from safetensors.torch import save_file  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--rows", type=int, default=64, help="of the data")
    for name in ("layers", "width", "heads", "vocab", "seq", "batch"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=options.vocab, n_positions=options.seq, n_embd=options.width, n_layer=options.layers,
                                       n_head=options.heads, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0, use_cache=False,
                                       bos_token_id=None, eos_token_id=None))
    text = torch.randint(0, options.vocab, (options.rows, options.seq + 1))
    tokens, targets = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    rows = {"input_ids": tokens, "labels": tokens.clone()}  # forward shifts the labels
    batch = {name: data[:options.batch].clone() for name, data in rows.items()}
    torch.export.save(torch.export.export(model.train(), (), batch), os.path.join(options.folder, "gpt2.pt2"))
    save_file(rows, os.path.join(options.folder, "imported_data.safetensors"))
    save_file({"tokens": tokens.int(), "targets": targets.int()}, os.path.join(options.folder, "gpt_data.safetensors"))


if __name__ == "__main__":
    main()
