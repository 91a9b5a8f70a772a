#!/usr/bin/env python3
"""JAX's side of bench.py's part `neighbours`: one process that trains a GPT and logs a JSON line per step. Run in .venv-jax."""
import argparse
import json
import os
import resource
import time

parser = argparse.ArgumentParser()
for name in ("layers", "width", "heads", "vocab", "seq", "batch", "steps"):
    parser.add_argument(f"--{name}", type=int, required=True)
parser.add_argument("--data", required=True)
parser.add_argument("--log", required=True)
OPTIONS = parser.parse_args()
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402


def initialise(random):
    """Names as in torch_gpt.py. Matrices are [in, out]."""
    width, scale = OPTIONS.width, 0.02 / (2 * OPTIONS.layers) ** 0.5
    normal = lambda rows, columns, deviation=0.02: random.normal(0, deviation, (rows, columns)).astype(np.float32)  # noqa: E731
    norm = lambda: {"weight": np.ones(width, np.float32), "bias": np.zeros(width, np.float32)}  # noqa: E731
    linear = lambda rows, columns, deviation=0.02: {"weight": normal(rows, columns, deviation),  # noqa: E731
                                                    "bias": np.zeros(columns, np.float32)}
    blocks = [{"ln_1": norm(), "ln_2": norm(), "qkv": linear(width, 3 * width), "attn_proj": linear(width, width, scale),
               "fc": linear(width, 4 * width), "mlp_proj": linear(4 * width, width, scale)} for _ in range(OPTIONS.layers)]
    return {"wte": normal(OPTIONS.vocab, width), "wpe": normal(OPTIONS.seq, width), "blocks": blocks, "ln_f": norm()}


def norm(x, of):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * of["weight"] + of["bias"]


def linear(x, of):
    return x @ of["weight"] + of["bias"]


def loss_of(parameters, tokens, targets):
    batch, seq = tokens.shape
    x = parameters["wte"][tokens] + parameters["wpe"]
    for block in parameters["blocks"]:
        q, k, v = jnp.split(linear(norm(x, block["ln_1"]), block["qkv"]).reshape(batch, seq, 3 * OPTIONS.heads, -1), 3, axis=2)
        x = x + linear(jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(batch, seq, -1), block["attn_proj"])
        x = x + linear(jax.nn.gelu(linear(norm(x, block["ln_2"]), block["fc"])), block["mlp_proj"])
    logits = norm(x, parameters["ln_f"]) @ parameters["wte"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


def main():
    random = np.random.default_rng(0)
    parameters = jax.tree.map(jnp.asarray, initialise(random))
    is_matrix = lambda tree: jax.tree.map(lambda leaf: leaf.ndim >= 2, tree)  # noqa: E731
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4, 0.9, 0.95, weight_decay=0.1, mask=is_matrix))
    state = optimizer.init(parameters)

    @jax.jit
    def step_of(parameters, state, tokens, targets):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, tokens, targets)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    data = np.fromfile(OPTIONS.data, np.uint8)
    with open(OPTIONS.log, "w") as log:
        log.write(json.dumps({"footprint": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}) + "\n")
        for step in range(1, OPTIONS.steps + 1):
            begin = time.perf_counter()
            starts = random.integers(0, len(data) - OPTIONS.seq - 1, OPTIONS.batch)
            window = np.stack([data[s:s + OPTIONS.seq + 1] for s in starts]).astype(np.int32)
            parameters, state, loss = step_of(parameters, state, window[:, :-1], window[:, 1:])
            loss = float(loss)
            jax.block_until_ready(parameters)
            log.write(json.dumps({"step": step, "loss": loss, "ms": (time.perf_counter() - begin) * 1e3}) + "\n")
            log.flush()


if __name__ == "__main__":
    main()
