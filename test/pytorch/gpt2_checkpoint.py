#!/usr/bin/env python3
"""GPT-2 checkpoints by Hugging Face's transformers, and what transformers computes with them. Run it with .venv-pytorch/bin/python (install.sh):

    gpt2_checkpoint.py make [FOLDER [POSITIONS [SEED]]]   # default: the committed fixtures/gpt2
    gpt2_checkpoint.py logits FOLDER TOKENS OUT           # of the tokens of a safetensors file, by from_pretrained

`make` writes for each model NAME of the table: NAME/model.safetensors and NAME/config.json by save_pretrained; NAME/expected.safetensors with
tokens and their logits; NAME/expected.json with the loss, where each token is the target of the one before, and a prompt with its continuation by
generate(do_sample=False). Parameters are drawn anew, so that each of them matters.
"""
import json
import os
import pathlib
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import numpy as np  # noqa: E402
import torch  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

torch.cuda.is_current_stream_capturing = lambda: False  # install.sh's stand-ins for CUDA have no stream to ask

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support import safetensors_io  # noqa: E402

SIZES = dict(vocab_size=99, n_embd=32, n_layer=2, n_head=4)
# `tester` is what transformers tests GPT-2 with (GPT2ModelTester); `published` has what the published models have besides that: their names
# lack the prefix, and the masks of attention are stored.
MODELS = {"tester": dict(n_inner=37, activation_function="gelu"), "published": dict(n_layer=1)}
BATCH, PROMPT, COUNT = 2, "A 1ST TEXT: ", 20  # the prompt's tokens are its bytes; COUNT more follow
LEAST_GAP = 1e-3  # between the likeliest token and the next: rounding does not decide


def draw(name, positions, seed):
    config = GPT2Config(**SIZES | MODELS[name], n_positions=positions, bos_token_id=None, eos_token_id=None)
    model = GPT2LMHeadModel(config).eval()
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            mean = 1.0 if "ln_" in key and key.endswith("weight") else 0.0
            parameter.copy_(mean + 0.2 * torch.randn(parameter.shape, generator=random))
    return model


def continuation(model, count):
    """Tokens after PROMPT, and how far each is from the next likely one."""
    prompt = torch.tensor([list(PROMPT.encode())])
    made = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=count, pad_token_id=0,
                          return_dict_in_generate=True, output_scores=True)
    gap = min(float(top[0, 0] - top[0, 1]) for top in (scores.topk(2).values for scores in made.scores))
    return made.sequences[0, prompt.shape[1]:].tolist(), gap


def store_as_published(path, layers, positions):
    tensors = {name.removeprefix("transformer."): tensor for name, tensor in safetensors_io.read(path).items()}
    for layer in range(layers):
        tensors[f"h.{layer}.attn.bias"] = np.tril(np.ones((1, 1, positions, positions), np.float32))
    safetensors_io.write(path, tensors)


def make(folder, positions, seed):
    for name in MODELS:
        for attempt in range(100):
            model = draw(name, positions, seed + attempt)
            written, gap = continuation(model, COUNT)
            if gap > LEAST_GAP and len(set(written)) > COUNT // 4:
                break
        else:
            raise SystemExit(f"{name}: no model whose continuation is certain")
        model.save_pretrained(folder / name)
        (folder / name / "generation_config.json").unlink(missing_ok=True)
        if name == "published":
            store_as_published(folder / name / "model.safetensors", model.config.n_layer, positions)
        tokens = torch.from_numpy(np.random.default_rng(seed).integers(0, SIZES["vocab_size"], (BATCH, positions)))
        with torch.no_grad():
            out = model(tokens, labels=tokens)
        safetensors_io.write(folder / name / "expected.safetensors", {"tokens": tokens.int().numpy(), "logits": out.logits.numpy()})
        expected = dict(SIZES | MODELS[name], n_positions=positions, batch=BATCH, loss=out.loss.item().hex(), prompt=PROMPT, continuation=written)
        (folder / name / "expected.json").write_text(json.dumps(expected) + "\n")
        print(f"{name}: seed {seed + attempt}, loss {out.loss.item():.6f}, gap {gap:.4f}, {bytes(written)}")


def logits(folder, tokens, out):
    model = GPT2LMHeadModel.from_pretrained(folder).eval()
    with torch.no_grad():
        computed = model(torch.from_numpy(safetensors_io.read(tokens)["tokens"].copy()).long()).logits
    safetensors_io.write(out, {"logits": computed.numpy()})


def main():
    torch.set_num_threads(1)
    command, *arguments = sys.argv[1:]
    if command == "logits":
        return logits(*arguments)
    folder, positions, seed = [*arguments, *[HERE / "fixtures" / "gpt2", 32, 0][len(arguments):]]
    return make(pathlib.Path(folder), int(positions), int(seed))


if __name__ == "__main__":
    sys.exit(main())
