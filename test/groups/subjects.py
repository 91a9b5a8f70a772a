"""What check_groups trains and make_torch_groups.py trains by PyTorch: GPTs whose parameters are not all trained alike, or are averaged."""
import fnmatch
import zlib

import numpy as np

LAYERS, WIDTH, HEADS, VOCABULARY, LENGTH, BATCH, STEPS = 2, 16, 2, 31, 12, 4, 6
RANK, ALPHA = 2, 3.0
GPT_FLAGS = ["--layers", str(LAYERS), "--width", str(WIDTH), "--heads", str(HEADS), "--vocab", str(VOCABULARY), "--seq", str(LENGTH),
             "--batch", str(BATCH), "--dtype", "f64"]
RATES = {"lr": 0.01, "weight_decay": 0.1}


class Subject:
    """A GPT, the groups that flags make of its parameters, and an optimizer. `rates`, `decays`: {glob: factor}. `ema`: the decay of the average
    of the parameters, or None."""

    def __init__(self, optimizer, lora=False, freeze=(), rates=(), decays=(), clip=0.4, ema=None):
        self.optimizer, self.lora, self.freeze, self.rates, self.decays, self.clip = optimizer, lora, freeze, dict(rates), dict(decays), clip
        self.ema = ema

    def model_flags(self):
        return GPT_FLAGS + (["--lora-rank", str(RANK), "--lora-alpha", repr(ALPHA)] if self.lora else [])

    def flags(self):
        """Of ppopt compile."""
        flags = ["--optimizer", self.optimizer, *(["--ema"] if self.ema is not None else [])]
        if self.freeze:
            flags += ["--freeze", "; ".join(self.freeze)]
        for flag, factors in (("--lr-scale", self.rates), ("--decay", self.decays)):
            if factors:
                flags += [flag, "; ".join(f"{glob}={factor}" for glob, factor in factors.items())]
        return flags

    def run_flags(self):
        return ["--lr", repr(RATES["lr"]), "--weight-decay", repr(RATES["weight_decay"]), "--clip", repr(self.clip),
                *(["--momentum", "0.9"] if self.optimizer == "sgd" else []), *(["--ema", repr(self.ema)] if self.ema is not None else [])]

    def shapes(self):
        c = WIDTH
        shapes = {"wte": (VOCABULARY, c), "wpe": (LENGTH, c), "ln_f.weight": (c,), "ln_f.bias": (c,)}
        block = {"ln_1": (c,), "attn.qkv": (c, 3 * c), "attn.proj": (c, c), "ln_2": (c,), "mlp.fc": (c, 4 * c), "mlp.proj": (4 * c, c)}
        for n in range(LAYERS):
            for layer, shape in block.items():
                shapes |= {f"h.{n}.{layer}.weight": shape, f"h.{n}.{layer}.bias": shape[-1:]}
            if self.lora:
                shapes |= {f"h.{n}.attn.qkv.lora_a": (c, RANK), f"h.{n}.attn.qkv.lora_b": (RANK, 3 * c)}
        return shapes

    def parameters(self):
        return {name: 0.3 * np.random.default_rng(zlib.crc32(name.encode())).normal(size=shape) for name, shape in self.shapes().items()}

    def group(self, name, rank):
        """(is trained, factor of the learning rate, of the decay)."""
        if self.lora:
            return "lora" in name, 1.0, 1.0
        factor_of = lambda factors, default: next((f for glob, f in factors.items() if fnmatch.fnmatchcase(name, glob)), default)
        return (not any(fnmatch.fnmatchcase(name, glob) for glob in self.freeze), factor_of(self.rates, 1.0),
                factor_of(self.decays, 1.0 if rank >= 2 else 0.0))


def project(name, values):
    """A few sums of a tensor's elements with weights, so that figures are short."""
    return np.random.default_rng(zlib.crc32(name.encode()) + 1).normal(size=(3, values.size)) @ values.reshape(-1)


def samples(rows, seed):
    window = np.random.default_rng(seed).integers(0, VOCABULARY, (rows, LENGTH + 1), dtype=np.int32)
    return {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()}


def batches():
    """The tokens and targets of all steps, row after row."""
    return samples(STEPS * BATCH, 7)


def evaluation():
    """Those that averages are evaluated on, before the first step and after each, a batch and a half."""
    return samples(BATCH + BATCH // 2, 8)


GROUPS = {"freeze": ["wte", "h.0.*", "*.ln_2.bias"], "rates": {"h.1.mlp.*": 0.1, "wpe": 3, "ln_f.*": 0}, "decays": {"*.bias": 0.5, "h.1.*.proj.weight": 0, "wpe": 2}}
SUBJECTS = {"lora": Subject("adamw", lora=True, clip=0.1), "adamw": Subject("adamw", **GROUPS), "adam": Subject("adam", **GROUPS), "sgd": Subject("sgd", **GROUPS),
            "averaged": Subject("adamw", **GROUPS, ema=0.7), "averaged sgd": Subject("sgd", ema=0.4)}
