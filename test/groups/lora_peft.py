#!/usr/bin/env python3
"""LoRA on a GPT-2 by transformers and peft, for check_groups.py.
usage: lora_peft.py base FOLDER                          writes a small GPT-2 as transformers saves it
       lora_peft.py train FOLDER ADAPTERS INPUTS OUTPUT  trains adapters on it, whose first values ADAPTERS has in peft's names; writes the
                                                         merged parameters, and prints the losses as JSON"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import subjects  # noqa: E402
from support import safetensors_io  # noqa: E402

# Where the libraries of CUDA are stand-ins (test/pytorch/stub_cuda.py), transformers' question would crash.
torch.cuda.is_current_stream_capturing = lambda: False


def base(folder):
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(n_layer=subjects.LAYERS, n_embd=subjects.WIDTH, n_head=subjects.HEADS, vocab_size=subjects.VOCABULARY,
                               n_positions=subjects.LENGTH, initializer_range=0.2)).save_pretrained(folder)


def train(folder, adapters, inputs, output):
    gpt2 = GPT2LMHeadModel.from_pretrained(folder, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = get_peft_model(gpt2, LoraConfig(r=subjects.RANK, lora_alpha=subjects.ALPHA, lora_dropout=0.0, target_modules=["c_attn"], fan_in_fan_out=True))
    first = {name.replace(".weight", ".default.weight"): torch.from_numpy(values.copy()) for name, values in safetensors_io.read(adapters).items()}
    missing, unknown = model.load_state_dict(first, strict=False)
    assert not unknown and not any("lora" in name for name in missing), (unknown, missing)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], **subjects.RATES)
    rows = safetensors_io.read(inputs)
    losses = []
    for at in range(0, len(rows["tokens"]), subjects.BATCH):
        tokens, targets = (torch.from_numpy(rows[name][at:at + subjects.BATCH].copy()).long() for name in ("tokens", "targets"))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input_ids=tokens).logits.flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    merged = model.merge_and_unload().state_dict()
    safetensors_io.write(output, {name: value.numpy() for name, value in merged.items() if name != "lm_head.weight"})
    print(json.dumps(losses))


if __name__ == "__main__":
    {"base": base, "train": train}[sys.argv[1]](*sys.argv[2:])
