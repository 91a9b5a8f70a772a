"""GPT-2 as one writes it for speed in PyTorch: nn modules, fused qkv, scaled_dot_product_attention."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DTensor


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, seq, width = x.shape
        # With tensor parallelism these are the rank's heads.
        q, k, v = (part.view(batch, seq, -1, width // self.heads).transpose(1, 2) for part in self.qkv(self.ln_1(x)).chunk(3, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_proj(a.transpose(1, 2).reshape(batch, seq, -1))
        return x + self.mlp_proj(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """The layers of stage `stage` of `stages`: the first has the embeddings, the last the head, which is the first's `wte`."""

    def __init__(self, layers, width, heads, vocab, seq, stage=0, stages=1):
        super().__init__()
        self.first, self.last = stage == 0, stage == stages - 1
        if self.first or self.last:
            self.wte = nn.Embedding(vocab, width)
        if self.first:
            self.wpe = nn.Embedding(seq, width)
        self.blocks = nn.ModuleList(Block(width, heads)
                                    for _ in range(layers * stage // stages, layers * (stage + 1) // stages))
        if self.last:
            self.ln_f = nn.LayerNorm(width)
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(parameter)
            elif parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02 / math.sqrt(2 * layers) if "_proj" in name else 0.02)

    def forward(self, x):
        if self.first:
            x = self.wte(x) + self.wpe.weight[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight) if self.last else x


def cross_entropy(logits, targets):
    return F.cross_entropy(logits.flatten(0, 1), targets.reshape(-1))


def adamw(model, lr):
    """Decays matrices only; fused kernels for the update, which take parameters of one kind."""
    kinds = {}
    for parameter in model.parameters():
        kinds.setdefault((parameter.dim() >= 2, isinstance(parameter, DTensor)), []).append(parameter)
    groups = [{"params": group, "weight_decay": 0.1 if is_matrix else 0.0} for (is_matrix, _), group in kinds.items()]
    return torch.optim.AdamW(groups, lr=lr, betas=(0.9, 0.95), fused=True)
