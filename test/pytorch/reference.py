"""The models of `ppopt model` in plain PyTorch, on a dict of named tensors.

GPT is GPT-2's architecture: token and position embeddings, blocks with layer norm first, fused qkv, causal attention, an
MLP four times as wide with the tanh form of gelu, a last layer norm and a head that is the token embedding (or
`lm_head.weight`, if there is one). Weights multiply from the right: y = x @ W + b, W [in, out].
"""
import math

import torch
import torch.nn.functional as F


def gpt_shapes(layers, width, vocab, seq, tied=True):
    """{name: shape} in the order of the model file."""
    shapes = {"wte": (vocab, width), "wpe": (seq, width)}
    for n in range(layers):
        h = f"h.{n}"
        shapes |= {
            f"{h}.ln_1.weight": (width,), f"{h}.ln_1.bias": (width,),
            f"{h}.attn.qkv.weight": (width, 3 * width), f"{h}.attn.qkv.bias": (3 * width,),
            f"{h}.attn.proj.weight": (width, width), f"{h}.attn.proj.bias": (width,),
            f"{h}.ln_2.weight": (width,), f"{h}.ln_2.bias": (width,),
            f"{h}.mlp.fc.weight": (width, 4 * width), f"{h}.mlp.fc.bias": (4 * width,),
            f"{h}.mlp.proj.weight": (4 * width, width), f"{h}.mlp.proj.bias": (width,)}
    shapes |= {"ln_f.weight": (width,), "ln_f.bias": (width,)}
    if not tied:
        shapes["lm_head.weight"] = (vocab, width)
    return shapes


def mlp_shapes(widths):
    shapes = {}
    for n, (rows, columns) in enumerate(zip(widths, widths[1:])):
        shapes |= {f"layers.{n}.weight": (rows, columns), f"layers.{n}.bias": (columns,)}
    return shapes


def init(shapes, layers=0, seed=0, dtype=torch.float32, perturb=0.0):
    """GPT-2's scheme: normal(0, 0.02), for projections into the residual stream divided by sqrt(2 layers); biases 0, layer
    norm weights 1. `perturb` adds normal noise to these too, so that a test sees each of them."""
    generator = torch.Generator().manual_seed(seed)
    parameters = {}
    for name, shape in shapes.items():
        noise = torch.randn(shape, generator=generator, dtype=dtype)
        if len(shape) == 1:
            parameters[name] = (1.0 if "ln_" in name and name.endswith("weight") else 0.0) + perturb * noise
        elif name.startswith("layers."):
            parameters[name] = noise / math.sqrt(shape[0])
        else:
            std = 0.02 / math.sqrt(2 * layers) if ".proj." in name else 0.02
            parameters[name] = max(std, perturb) * noise
    return parameters


def layer_norm(p, x, name):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.weight"], p[f"{name}.bias"], eps=1e-5)


def gpt_embed(p, tokens):
    return p["wte"][tokens] + p["wpe"][:tokens.shape[1]]


def gpt_blocks(p, x, heads, layers):
    """The blocks with the numbers `layers`."""
    batch, seq, width = x.shape

    def linear(x, name):
        return x @ p[f"{name}.weight"] + p[f"{name}.bias"]

    def split_heads(x):
        return x.view(batch, seq, heads, width // heads).transpose(1, 2)

    for n in layers:
        h = f"h.{n}"
        q, k, v = map(split_heads, linear(layer_norm(p, x, f"{h}.ln_1"), f"{h}.attn.qkv").split(width, dim=-1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # scale 1/sqrt(width/heads)
        x = x + linear(a.transpose(1, 2).reshape(batch, seq, width), f"{h}.attn.proj")
        m = F.gelu(linear(layer_norm(p, x, f"{h}.ln_2"), f"{h}.mlp.fc"), approximate="tanh")
        x = x + linear(m, f"{h}.mlp.proj")
    return x


def gpt_logits(p, x):
    return layer_norm(p, x, "ln_f") @ p.get("lm_head.weight", p["wte"]).T


def cross_entropy(logits, targets, ignore_index=None):
    """The mean over the positions whose target is not `ignore_index`."""
    ignored = -100 if ignore_index is None else ignore_index
    return F.cross_entropy(logits.flatten(0, 1), targets.reshape(-1).long(), ignore_index=ignored)


def gpt_loss(p, tokens, targets, heads, ignore_index=None):
    layers = sum(name.endswith(".ln_1.weight") for name in p)
    return cross_entropy(gpt_logits(p, gpt_blocks(p, gpt_embed(p, tokens), heads, range(layers))), targets, ignore_index)


def mlp_loss(p, x, y, activation):
    """Mean squared error over all elements; the activation stands after each layer but the last."""
    act = {"relu": F.relu, "gelu": lambda v: F.gelu(v, approximate="tanh"), "tanh": torch.tanh}[activation]
    layers = len(p) // 2
    for n in range(layers):
        x = x @ p[f"layers.{n}.weight"] + p[f"layers.{n}.bias"]
        if n + 1 < layers:
            x = act(x)
    return F.mse_loss(x, y)


def optimizer(parameters, kind, lr, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, momentum=0.0, nesterov=False):
    """AdamW decays matrices only (rank 2 and above)."""
    matrices = [p for p in parameters.values() if p.dim() >= 2]
    vectors = [p for p in parameters.values() if p.dim() < 2]
    if kind == "sgd":
        return torch.optim.SGD(matrices + vectors, lr=lr, momentum=momentum, nesterov=nesterov)
    return torch.optim.AdamW([{"params": matrices, "weight_decay": weight_decay},
                              {"params": vectors, "weight_decay": 0.0}], lr=lr, betas=betas, eps=eps)


def train(loss_of, parameters, batches, steps, kind, lr, clip=None, **options):
    """Trains on batches[i % len]; returns (losses, first gradients, parameters after the last step)."""
    parameters = {n: t.clone().requires_grad_() for n, t in parameters.items()}
    opt = optimizer(parameters, kind, lr, **options)
    losses, first = [], None
    for step in range(steps):
        opt.zero_grad()
        loss = loss_of(parameters, *batches[step % len(batches)])
        loss.backward()
        if first is None:
            first = {n: t.grad.clone() for n, t in parameters.items()}
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters.values(), clip)
        opt.step()
        losses.append(loss.item())
    return losses, first, {n: t.detach() for n, t in parameters.items()}
