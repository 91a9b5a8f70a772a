#!/usr/bin/env python3
"""Writes fixtures/: what Hugging Face's transformers computes with small models of the families that `ppopt model` writes, in f64. Run it with
.venv-pytorch/bin/python (test/pytorch/install.sh):

    make_fixtures.py [FOLDER [NAME ...]]

For a case NAME: NAME/config.json and NAME/model.safetensors as save_pretrained writes them; NAME/inputs.safetensors (batches, in the order in which steps
take them); NAME/gradients.safetensors (of the first step); NAME/expected.json (flags, options, and the losses of STEPS steps of AdamW as
hexadecimal floats).

transformers computes norms, angles of rotary embeddings, the router's softmax and the loss in f32 whatever the model's type. Here they are
computed in f64 by functions of this file, which replace its own.
"""
import json
import math
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from transformers.models.mixtral import modeling_mixtral  # noqa: E402

torch.set_num_threads(1)  # the models are small
transformers.utils.logging.disable_progress_bar()
torch.cuda.is_current_stream_capturing = lambda: False  # install.sh's stand-ins for CUDA have no stream to ask

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support import safetensors_io  # noqa: E402

STEPS, BATCH, LENGTH, VOCABULARY = 20, 4, 12, 31
ADAMW = {"lr": 3e-3, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
IGNORED = -100

SIZES = dict(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
DECODER = dict(SIZES, num_key_value_heads=2, bos_token_id=None, eos_token_id=None)
# Of the four frequencies the first is kept, the last divided, and those between are interpolated.
LLAMA3 = dict(rope_type="llama3", rope_theta=100.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
CASES = {
    "llama": dict(family="llama", config=dict(DECODER, head_dim=8, rope_parameters=LLAMA3, max_position_embeddings=128,
                                               tie_word_embeddings=False)),
    "packed": dict(family="llama", flags=["--packed"], config=dict(DECODER, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)),
    "qwen2": dict(family="qwen", kind="Qwen2", config=dict(DECODER, tie_word_embeddings=True)),
    "qwen3": dict(family="qwen", kind="Qwen3", config=dict(DECODER, head_dim=6, tie_word_embeddings=True)),
    "mistral": dict(family="mistral", config=dict(DECODER, sliding_window=5)),
    "bert": dict(family="bert", kind="Bert", config=dict(SIZES, max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                                         layer_norm_eps=1e-6)),
    "mixtral": dict(family="mixtral", flags=["--capacity", "2"], config=dict(DECODER, num_local_experts=4, num_experts_per_tok=2)),
    "mixtral_dropped": dict(family="mixtral", flags=["--capacity", "0.8"], config=dict(DECODER, num_local_experts=4, num_experts_per_tok=2)),
    "t5": dict(family="t5", config=dict(vocab_size=VOCABULARY, d_model=16, d_kv=6, d_ff=24, num_layers=2, num_heads=4, relative_attention_num_buckets=8,
                                        relative_attention_max_distance=10, dropout_rate=0.0, pad_token_id=0)),
}


# What replaces functions of transformers that compute in f32.

def rms_norm(self, x):
    return self.weight * (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.variance_epsilon))


def frequencies(config):
    """Of rotary embeddings, in f64."""
    rope = config.rope_parameters
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    inverse = rope["rope_theta"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    if rope["rope_type"] == "llama3":
        turns = rope["original_max_position_embeddings"] * inverse / (2 * math.pi)  # in the original context
        smooth = ((turns - rope["low_freq_factor"]) / (rope["high_freq_factor"] - rope["low_freq_factor"])).clamp(0, 1)
        inverse = (1 - smooth) * inverse / rope["factor"] + smooth * inverse
    else:
        assert rope["rope_type"] == "default"
    return inverse


def rotary(self, x, position_ids):
    inverse = frequencies(self.config)
    assert torch.allclose(inverse.float(), self.original_inv_freq.float(), rtol=1e-5, atol=0), "not the frequencies of transformers"
    angles = position_ids[..., None].double() * inverse
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def route(self, x):
    logits = torch.nn.functional.linear(x.reshape(-1, self.hidden_dim), self.weight)
    values, picked = torch.topk(logits.softmax(-1), self.top_k, dim=-1)
    return logits, values / values.sum(-1, keepdim=True), picked


def experts_with_room(room):
    """MixtralExperts.forward, where an expert takes the first `room` tokens of each row that pick it, and the others get nothing from it."""
    def forward(self, x, picked, weights):
        out = torch.zeros_like(x)
        taken = np.zeros((len(x) // LENGTH, self.num_experts), int)
        dropped = 0
        for token, choice in np.ndindex(*picked.shape):
            expert = int(picked[token, choice])
            if taken[token // LENGTH, expert] == room:
                dropped += 1
                continue
            taken[token // LENGTH, expert] += 1
            gate, up = (self.gate_up_proj[expert] @ x[token]).chunk(2)
            y = self.down_proj[expert] @ (torch.nn.functional.silu(gate) * up)
            out = out.index_add(0, torch.tensor([token]), (y * weights[token, choice])[None])
        experts_with_room.dropped += dropped
        return out
    return forward


def in_f64(model, family):
    """`model`, which computes in f64 throughout."""
    for module in model.modules():
        name = type(module).__name__
        if name.endswith("RMSNorm") or name == "T5LayerNorm":
            module.forward = rms_norm.__get__(module)
        elif name.endswith("RotaryEmbedding"):
            module.forward = rotary.__get__(module)
        elif name == "MixtralTopKRouter":
            module.forward = route.__get__(module)
    return model.double().train()


# Models and batches.

class T5Encoder(torch.nn.Module):
    """T5's encoder with a head of tokens, tied to the embedding."""

    def __init__(self, config):
        super().__init__()
        self.encoder = transformers.T5EncoderModel(config)

    def forward(self, tokens):
        hidden = self.encoder(input_ids=tokens).last_hidden_state
        return hidden @ self.encoder.shared.weight.T

    def save_pretrained(self, folder):
        self.encoder.save_pretrained(folder)


def build(case):
    """The model, with parameters that are drawn so that each of them matters."""
    family = case["family"]
    kind = case.get("kind", family.capitalize())
    if family == "t5":
        config = transformers.T5Config(**case["config"])
        config._attn_implementation = "eager"  # whose softmax is of the model's type
        model = T5Encoder(config)
    else:
        config = getattr(transformers, kind + "Config")(**case["config"])
        config._attn_implementation = "sdpa"
        model = getattr(transformers, kind + ("ForMaskedLM" if family == "bert" else "ForCausalLM"))(config)
    model = in_f64(model, family)
    random = torch.Generator().manual_seed(sum(map(ord, kind)))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            draw = torch.randn(parameter.shape, generator=random, dtype=torch.float64)
            # Few bits, so that the files are small when they are packed.
            parameter.copy_((mean + 0.25 * draw).to(torch.bfloat16).double())
    return model, config


def documents(random):
    """Lengths of the documents of a row: from 1 token to most of the row."""
    cuts = np.sort(random.choice(np.arange(1, LENGTH), size=random.integers(1, 4), replace=False))
    return np.diff([0, *cuts, LENGTH])


def inputs_of(name, case):
    random = np.random.default_rng(sum(map(ord, name)))
    rows = STEPS * BATCH
    window = random.integers(1, VOCABULARY, (rows, LENGTH + 1), dtype=np.int32)  # 0 is BERT's padding
    inputs = {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()}
    shape = inputs["tokens"].shape
    if "--packed" in case.get("flags", []):
        inputs |= {"segments": np.zeros(shape, np.int32), "positions": np.zeros(shape, np.int32)}
        for row in range(rows):
            lengths = documents(random)
            inputs["segments"][row] = np.repeat(random.permutation(9)[:len(lengths)], lengths)
            inputs["positions"][row] = np.concatenate([np.arange(length) for length in lengths])
            inputs["targets"][row, np.cumsum(lengths) - 1] = IGNORED
    if case["family"] == "bert":
        lengths = random.integers(2, LENGTH + 1, rows)
        inside = np.arange(LENGTH) < lengths[:, None]
        inputs |= {"token_types": random.integers(0, 2, shape, dtype=np.int32), "attention_mask": inside.astype(np.int32)}
        masked = inside & (random.random(shape) < 0.4)
        masked[:, 0] = True
        inputs["targets"] = np.where(masked, inputs["tokens"], IGNORED).astype(np.int32)
        inputs["tokens"] = np.where(masked & (random.random(shape) < 0.8), VOCABULARY - 1, inputs["tokens"] * inside).astype(np.int32)
    return inputs


def logits_of(model, case, batch):
    tokens = batch["tokens"].long()
    if case["family"] == "t5":
        return model(tokens)
    if case["family"] == "bert":
        return model(input_ids=tokens, token_type_ids=batch["token_types"].long(), attention_mask=batch["attention_mask"].long()).logits
    if "segments" not in batch:
        return model(input_ids=tokens, use_cache=False).logits
    rows = []  # each document in a row of its own
    for row, segments in zip(tokens, batch["segments"]):
        _, lengths = torch.unique_consecutive(segments, return_counts=True)
        rows.append(torch.cat([model(input_ids=document[None], use_cache=False).logits[0] for document in row.split(lengths.tolist())]))
    return torch.stack(rows)


def loss_of(model, case, batch):
    logits = logits_of(model, case, batch)
    assert logits.dtype == torch.float64
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch["targets"].long().flatten(), ignore_index=IGNORED)


def gradients_of(model, case):
    """{name: gradient}, by the names of ppopt's parameters."""
    gradients = {}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad.numpy().copy()
        if case["family"] == "t5":
            name = name.removeprefix("encoder.")
        if "experts.gate_up_proj" in name:
            prefix = name.replace("mlp.experts.gate_up_proj", "block_sparse_moe.experts.")
            gradients[prefix + "w1.weight"], gradients[prefix + "w3.weight"] = np.split(gradient, 2, axis=1)
            continue
        name = name.replace("mlp.experts.down_proj", "block_sparse_moe.experts.w2.weight").replace("mlp.gate.weight", "block_sparse_moe.gate.weight")
        gradients[name] = gradient
    return gradients


def make(folder, name, case):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    if case["family"] == "mixtral":
        sizes, capacity = case["config"], float(case["flags"][1])
        room = math.ceil(capacity * LENGTH * sizes["num_experts_per_tok"] / sizes["num_local_experts"])
        modeling_mixtral.MixtralExperts.forward = experts_with_room(min(room, LENGTH))
        experts_with_room.dropped = 0
    model, config = build(case)
    model.save_pretrained(folder)
    for extra in set(os.listdir(folder)) - {"config.json", "model.safetensors", "inputs.safetensors", "gradients.safetensors", "expected.json"}:
        os.remove(os.path.join(folder, extra))
    os.chmod(os.path.join(folder, "model.safetensors"), 0o644)
    inputs = inputs_of(name, case)
    safetensors_io.write(os.path.join(folder, "inputs.safetensors"), inputs)
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2]},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=ADAMW["lr"], betas=ADAMW["betas"], eps=ADAMW["eps"], weight_decay=ADAMW["weight_decay"])
    losses = []
    for step in range(STEPS):
        batch = {key: torch.from_numpy(value[step * BATCH:(step + 1) * BATCH]) for key, value in inputs.items()}
        loss = loss_of(model, case, batch)
        optimizer.zero_grad()
        loss.backward()
        if step == 0:
            safetensors_io.write(os.path.join(folder, "gradients.safetensors"), gradients_of(model, case))
        optimizer.step()
        losses.append(float(loss.detach()))
    if case["family"] == "mixtral":
        print(f"  {experts_with_room.dropped} choices of experts were dropped")
    with open(os.path.join(folder, "expected.json"), "w") as file:
        json.dump({"family": case["family"], "flags": [*case.get("flags", []), "--batch", str(BATCH), "--seq", str(LENGTH), "--dtype", "f64"],
                   "torch": torch.__version__.split("+")[0], "transformers": transformers.__version__, "adamw": ADAMW,
                   "losses": [loss.hex() for loss in losses]}, file, indent=1)
    print(f"{name}: losses {losses[0]:.6f} … {losses[-1]:.6f}", flush=True)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else str(HERE / "fixtures")
    for name in sys.argv[2:] or CASES:
        make(os.path.join(folder, name), name, CASES[name])


if __name__ == "__main__":
    main()
