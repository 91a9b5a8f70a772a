"""What motifs and terms of the loss draw from: choices, the values so far, leaves."""
import math

import numpy as np

from builder import Builder, Rejected

SIZES = [1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 33]
LARGE = [32, 48, 64, 65, 96, 100, 128, 130, 257]  # of several vectors, and their ends
BATCHES = [1, 2, 3, 4, 4, 6, 6, 8, 12, 12]
MIXING = 0.12  # share of the models whose rows meet


# What parameters may have beside the model's type: wider and narrower ones.
OTHER = {"f64": ["f32", "f32", "bf16"], "f32": ["f64", "f64", "bf16"], "bf16": ["f32", "f64"]}


class Choices:
    def __init__(self, seed, dtype):
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.b = Builder(int(self.pick(BATCHES)), dtype, mixes=np.random.default_rng([*np.atleast_1d(seed), 5]).random() < MIXING)
        self.values = []      # floats that motifs build on
        self.used = set()
        self.sizes = SIZES + (LARGE if self.chance(0.15) else [])
        self.ids = []         # (value, high): integers in [0, high)
        self.masks = []
        self.logits = None    # of a language model
        character = np.random.default_rng([*np.atleast_1d(seed), 3])
        kind = character.random()
        self.frozen = 0.35 if kind < 0.1 else 0.85 if kind < 0.3 else 0.04  # share of the parameters
        # What half of the parameters have another type in, that is converted where they are read.
        self.other = OTHER[dtype][int(character.integers(len(OTHER[dtype])))] if character.random() < 0.2 else None
        self.adapts = self.frozen > 0.5 and character.random() < 0.7  # matrices are frozen, and learn by two thin ones
        self.has_results = character.random() < 0.3 and not self.b.mixes  # beside the loss
        self.scales = 0.5 if character.random() < 0.3 else 0.0  # share of the parameters with a factor

    def pick(self, items):
        return items[int(self.random.integers(len(items)))]

    def chance(self, p):
        return bool(self.random.random() < p)

    def size(self):
        return int(self.pick(self.sizes))

    def small_shape(self, low=0, high=3):
        return tuple(self.size() if self.chance(0.5) else int(self.random.integers(1, 6))
                     for _ in range(int(self.random.integers(low, high + 1))))

    def value(self, wanted=lambda v: True):
        """Of the values so far, later ones more often."""
        pool = [v for v in self.values if wanted(v)]
        if not pool:
            raise Rejected("no value")
        v = pool[int(len(pool) * math.sqrt(self.random.random()))]
        self.used.add(v.name)
        return v

    def keep(self, v):
        self.values.append(v)
        return v

    def param_for(self, shape, **draw):
        is_adapted = self.adapts and len(shape) == 2 and self.chance(0.6)
        w = self.one_param(shape, is_adapted or self.chance(self.frozen), **draw)
        if not is_adapted:
            return w
        rank = int(self.random.integers(1, 3))
        return self.b.binary("add", w, self.b.matmul(self.one_param((shape[0], rank)), self.one_param((rank, shape[1]))))

    def one_param(self, shape, is_frozen=False, **draw):
        dtype = self.other if self.other and self.chance(0.5) else self.dtype
        scales = {}
        if self.scales and self.chance(self.scales):
            scales["lr_scale"] = float(self.pick([0.0, 0.1, 0.5, 0.5, 2.5]))
        if self.chance(0.1):
            scales["no_decay"] = True
        elif self.scales and self.chance(self.scales):
            scales["decay_scale"] = float(self.pick([0.0, 0.25, 3.0]))
        w = self.b.param(shape, is_frozen, dtype, scales, **draw)
        return w if dtype == self.dtype else self.b.cast(w, self.dtype)

    def some_dims(self, rank):
        count = int(self.random.integers(1, rank + 1))
        return sorted(int(d) for d in self.random.choice(rank, count, replace=False))

    def table(self, shape, dtype=None):
        """A constant: of one value, or of different ones."""
        dtype = dtype or self.dtype
        count = math.prod(shape)
        if dtype == "i1":
            draw = lambda: bool(self.random.random() < 0.6)
        elif dtype in ("i32", "i64"):
            draw = lambda: int(self.random.integers(-3, 6))
        else:
            draw = lambda: float(np.round(self.random.uniform(-2, 2), 3)) if dtype != "bf16" else float(np.round(self.random.uniform(-2, 2) * 16) / 16)
        return self.b.constant(dtype, shape, draw() if self.chance(0.15) else [draw() for _ in range(count)])

    def leaves(self):
        for _ in range(int(self.random.integers(1, 4))):
            shape = self.small_shape(0, 3 if self.chance(0.8) else 4)
            x = self.b.input(shape, kind=self.pick(["real", "real", "dyadic"]))
            self.keep(x)
        if self.chance(0.5):
            self.id_input()
        if self.chance(0.15):
            self.masks.append(self.b.input(self.small_shape(0, 2), "i1", kind="bool"))
        if self.chance(0.3):
            self.keep(self.param_for(self.small_shape(0, 3)))

    def id_input(self, shape=None, **draw):
        high = int(self.pick([1, 2, 3, 5, 7, 13, 29]))
        shape = self.small_shape(0, 2) if shape is None else shape
        ids = self.b.input(shape, self.pick(["i32", "i32", "i64"]), kind="ids", high=high)
        self.ids.append((ids, high))
        return ids, high
