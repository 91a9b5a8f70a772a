#!/usr/bin/env python3
"""GPT-2 in PyTorch on one GPU, beside test/gpu/parts/gpt2.py: bf16 autocast, torch.compile, AdamW, the same tokens and batches.

    torch_gpt2.py --layers 12 --width 768 --heads 12 --vocab 50257 --seq 1024 --batches 8,64,16 --tokens tokens.bin --log log.jsonl

Adds a line of JSON to --log per batch, when it is measured: the times and losses of its steps, and the gradient's norm in the first one. With
--export the initial parameters are written for our executable, by its names.
"""
import argparse
import ctypes
import json
import os
import struct
import sys
import time

import torch

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "bench")]
from torch_gpt import Gpt, adamw, cross_entropy  # noqa: E402

CLIP = 1.0
LR = 3e-4
# Our names of a block's parameters; weights of nn.Linear are transposed.
BLOCK = {"ln_1.weight": "ln_1.weight", "ln_1.bias": "ln_1.bias", "qkv.weight": "attn.qkv.weight", "qkv.bias": "attn.qkv.bias",
         "attn_proj.weight": "attn.proj.weight", "attn_proj.bias": "attn.proj.bias", "ln_2.weight": "ln_2.weight", "ln_2.bias": "ln_2.bias",
         "fc.weight": "mlp.fc.weight", "fc.bias": "mlp.fc.bias", "mlp_proj.weight": "mlp.proj.weight", "mlp_proj.bias": "mlp.proj.bias"}
LINEAR = {"qkv.weight", "attn_proj.weight", "fc.weight", "mlp_proj.weight"}


def our_parameters(model):
    """{our name: tensor in our layout}."""
    found = {}
    for name, tensor in model.state_dict().items():
        if name.startswith("blocks."):
            _, number, part = name.split(".", 2)
            found[f"h.{number}.{BLOCK[part]}"] = tensor.t() if part in LINEAR else tensor
        else:
            found[name.removesuffix(".weight") if name.startswith(("wte", "wpe")) else name] = tensor
    return found


def write_safetensors(path, tensors):
    header, offset = {}, 0
    for name, tensor in tensors.items():
        size = 4 * tensor.numel()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            values = tensor.detach().float().cpu().contiguous()
            file.write(ctypes.string_at(values.data_ptr(), 4 * values.numel()))


class Windows:
    """The samples of a file of uint16 tokens in its order, as our executable reads them with --no-shuffle."""

    def __init__(self, path, seq):
        with open(path, "rb") as file:
            tokens = torch.frombuffer(bytearray(file.read()), dtype=torch.uint16).to(torch.int64)
        self.count = (len(tokens) - 1) // seq
        self.windows = torch.stack([tokens[k * seq:(k + 1) * seq + 1] for k in range(self.count)])

    def batch(self, step, rows, device):
        taken = self.windows[[(step * rows + row) % self.count for row in range(rows)]].to(device)
        return taken[:, :-1], taken[:, 1:]


def train(model, windows, rows, steps, device, compiles):
    """Returns the seconds of the steps, their losses, and the first step's gradient norm. A step ends when its loss is known to the host and the
    update is done, as ours."""
    optimizer = adamw(model, LR)

    def loss_of(tokens, targets):
        return cross_entropy(model(tokens), targets)
    step_loss = torch.compile(loss_of, dynamic=False) if compiles else loss_of
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    times, losses, norms = [], [], []
    for step in range(steps):
        wait()
        begin = time.perf_counter()
        tokens, targets = windows.batch(step, rows, device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = step_loss(tokens, targets)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        losses.append(loss.item())
        wait()
        times.append(time.perf_counter() - begin)
        norms.append(norm.item())
    return times, losses, norms[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("layers", "width", "heads", "vocab", "seq"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--batches", required=True, help="rows of each, separated by commas")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--tokens", required=True)
    parser.add_argument("--log", required=True)
    parser.add_argument("--export", help="file for the initial parameters")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="cpu: to compare losses where there is no GPU")
    arguments = parser.parse_args()
    on_gpu = arguments.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        sys.exit("torch_gpt2.py: torch finds no GPU")
    windows = Windows(arguments.tokens, arguments.seq)
    for number, rows in enumerate(map(int, arguments.batches.split(","))):
        torch.manual_seed(0)
        torch.compiler.reset()
        begin = time.perf_counter()
        with torch.device(arguments.device):
            model = Gpt(arguments.layers, arguments.width, arguments.heads, arguments.vocab, arguments.seq)
        if arguments.export and number == 0:
            write_safetensors(arguments.export, our_parameters(model))
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        times, losses, norm = train(model, windows, rows, arguments.steps, arguments.device, not arguments.eager)
        record = {"rows": rows, "ms": [1e3 * seconds for seconds in times], "losses": losses, "norm": norm, "seconds": time.perf_counter() - begin,
                  "torch": torch.__version__, "gpu": torch.cuda.get_device_name() if on_gpu else None,
                  "peak_bytes": torch.cuda.max_memory_allocated() if on_gpu else None}
        with open(arguments.log, "a") as file:
            file.write(json.dumps(record) + "\n")
        del model
        if on_gpu:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
