"""Draws descriptions. A motif adds a few ops that belong together to the values that are there; a term makes a part of the loss."""
import math

import numpy as np

from builder import ROWS, SUM, WHOLE, Builder, Rejected, Value
from description import prune

SIZES = [1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 11, 13, 16, 17, 33]
LARGE = [32, 48, 64, 65, 96, 100, 128, 130, 257]  # of several vectors, and their ends
BATCHES = [1, 2, 3, 4, 4, 6, 6, 8, 12, 12]
SMOOTH = ["neg", "tanh", "erf", "sigmoid", "softplus", "silu", "gelu", "gelu_tanh", "tanhshrink", "mish", "logsigmoid", "softsign"]
KINKED = ["abs", "relu", "sign", "trunc", "hardswish", "elu"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class Drawing:
    def __init__(self, seed, dtype):
        self.random = np.random.default_rng(seed)
        self.dtype = dtype
        self.b = Builder(int(self.pick(BATCHES)), dtype)
        self.values = []      # floats that motifs build on
        self.used = set()
        self.sizes = SIZES + (LARGE if self.chance(0.15) else [])
        self.ids = []         # (value, high): integers in [0, high)
        self.masks = []
        self.logits = None    # of a language model

    # --- choices -------------------------------------------------------------

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
        return self.b.param(shape, frozen=self.chance(0.04), no_decay=self.chance(0.1), **draw)

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

    # --- leaves --------------------------------------------------------------

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

    # --- motifs --------------------------------------------------------------

    def m_unary(self):
        return self.b.unary(self.pick(SMOOTH), self.value(lambda v: v.state != SUM))

    def m_kink(self):
        return self.b.unary(self.pick(KINKED), self.value(lambda v: v.state != SUM))

    def m_leaky(self):
        x = self.value(lambda v: v.state != SUM)
        if self.chance(0.5):
            return self.b.unary("leaky_relu", x, slope=self.pick([0.0, 0.125, -0.5]))
        low = self.pick([-1.0, -0.3, 0.0, 0.25])
        return self.b.unary("clamp", x, low=low, high=low + self.pick([0.5, 1.0]))

    def m_positive(self):
        b, x = self.b, self.value(lambda v: v.state != SUM)
        positive = b.binary("add", self.pick([lambda: b.unary("square", x), lambda: b.unary("softplus", x),
                                              lambda: b.unary("abs", x)])(), b.scalar(self.pick([0.1, 0.5, 1.0])))
        op = self.pick(["log", "sqrt", "rsqrt", "reciprocal"])
        return b.unary(op, positive)

    def m_exp(self):
        x = self.value(lambda v: v.state != SUM)
        return self.b.unary("exp", self.b.unary("clamp", x, low=-3.0, high=1.0) if self.chance(0.5) else self.b.unary("tanh", x))

    def m_binary(self):
        x = self.value()
        y = self.value(lambda v: v.state != SUM or x.state == SUM)
        op = self.pick(["add", "sub", "mul", "mul", "maximum", "minimum", "hypot", "logaddexp"])
        if op == "hypot":
            return self.b.binary(op, self.b.binary("add", self.b.unary("square", x), self.b.scalar(0.25)), y)
        return self.b.binary(op, x, y)

    def m_div(self):
        b, x, y = self.b, self.value(), self.value(lambda v: v.state != SUM)
        return b.binary("div", x, b.binary("add", b.unary("square", y), b.scalar(0.5)))

    def m_affine(self):
        b, x = self.b, self.value(lambda v: v.state != SUM)
        shape = tuple(1 if self.chance(0.2) or x.state == ROWS and i == x.dim else s for i, s in enumerate(x.shape))
        skip = int(self.random.integers(0, x.rank + 1))
        if x.state == ROWS:
            skip = max(skip, x.dim + 1) if self.chance(0.7) else min(skip, x.dim)
        y = b.binary("mul", x, self.param_for(shape[skip:]))
        return b.binary("add", y, self.param_for(shape[max(skip, x.rank - 1):])) if self.chance(0.6) else y

    def m_matmul(self):
        b = self.b
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM and not (v.state == ROWS and v.dim == v.rank - 1))
        size, tb = self.size(), self.chance(0.3)
        w = self.param_for((size, x.shape[-1]) if tb else (x.shape[-1], size))
        return b.matmul(x, w, tb=tb)

    def m_matmul_values(self):
        """Of two values, with transposes, or of one with itself."""
        b = self.b
        x = self.value(lambda v: v.rank >= 2)
        kind = int(self.random.integers(4))
        if kind == 0:
            return b.matmul(x, x, tb=True)
        if kind == 1:
            return b.matmul(x, x, ta=True)
        y = self.value(lambda v: v.rank >= 2 and v.shape[-1] in x.shape[-2:] + (0,) or v.rank >= 2 and v.shape[-2] in x.shape[-2:])
        return b.matmul(x, y, ta=self.chance(0.5), tb=self.chance(0.5))

    def m_outer(self):
        x = self.value(lambda v: v.rank >= 1 and v.rank <= 4)
        return self.b.outer(x, self.value(lambda v: v.shape[:-1] == x.shape[:-1] and v.rank == x.rank))

    def m_norm(self):
        b = self.b
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM)
        eps = float(self.pick([1e-5, 1e-2, 1e-1]))
        kind = int(self.random.integers(4))
        if kind == 0:
            return b.rows("layer_norm", [x, self.param_for(x.shape[-1:]), self.param_for(x.shape[-1:])], eps=max(eps, 1e-2))
        if kind == 1:
            return b.rows("rms_norm", [x, self.param_for(x.shape[-1:])], eps=max(eps, 1e-2))
        return b.rows("normalize", [x], center=kind == 2, eps=max(eps, 1e-2))

    def m_softmax(self):
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM)
        dim = x.rank - 1 if self.chance(0.7) else int(self.random.integers(x.rank))
        op = self.pick(["softmax", "log_softmax", "softmax"])
        return self.b.along(op, x, dim, x.shape, by_hand=self.chance(0.3))

    def m_reduce(self):
        x = self.value(lambda v: v.rank >= 1)
        return self.b.reduce(self.pick(["sum", "mean", "amax", "amax", "var"]), x, self.some_dims(x.rank), self.chance(0.5))

    def m_reduce_row(self):
        """Over dimensions of a row only."""
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM)
        dims = [d for d in self.some_dims(x.rank) if x.state != ROWS or d != x.dim]
        return self.b.reduce(self.pick(["sum", "mean", "amax", "amax", "var"]), x, dims or [x.rank - 1], self.chance(0.6))

    def m_maximum_again(self):
        """A maximum, or the choice of it, over a value that is cheap to compute again."""
        b = self.b
        h = self.pick([self.m_norm, self.m_unary, self.m_softmax, self.m_affine])()
        self.keep(h)
        if h.rank == 0:
            raise Rejected("no dimension")
        dim = h.rank - 1
        kind = int(self.random.integers(5))
        if kind == 0:
            return b.along("argmax_pick", h, dim, h.shape)
        if kind == 1:
            return b.binary("maximum", h, self.m_unary())
        top = b.reduce("amax", h, [dim], True)
        if kind == 2:
            return b.binary("sub", h, top)
        if kind == 3:
            is_top = b.compare("eq", h, b.unary("detach", top))
            self.masks.append(is_top)
            return b.select(is_top, h, b.unary("tanh", h))
        return b.reduce("amax", h, self.some_dims(h.rank), self.chance(0.5))

    def m_logsumexp(self):
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM)
        dim, keep = int(self.random.integers(x.rank)), self.chance(0.5)
        if x.state == ROWS and x.dim == dim:
            raise Rejected("rows")
        shape = [1 if i == dim else s for i, s in enumerate(x.shape) if keep or i != dim]
        moved = x.dim - (x.dim > dim and not keep)
        return self.b.result("logsumexp", [x], x.dtype, shape, (x.state, moved, x.unit, ()), dim=dim, keep=keep)

    def m_compare(self):
        b = self.b
        x = self.value(lambda v: v.state != SUM)
        y = self.pick([lambda: b.scalar(self.pick([0.0, 0.25, -0.5])), lambda: self.value(lambda v: v.state != SUM),
                       lambda: b.unary("detach", x)])()
        self.masks.append(b.compare(self.pick(COMPARISONS), x, y))
        return b.select(self.masks[-1], *self.pair(x))

    def pair(self, x):
        """x and something else, in any order."""
        other = self.pick([lambda: self.b.scalar(0.0), lambda: self.value(lambda v: v.state != SUM), lambda: self.b.unary("neg", x)])()
        return (x, other) if self.chance(0.5) else (other, x)

    def m_mask(self):
        """A mask of a constant, an input, a comparison; as a choice or as a factor."""
        b, x = self.b, self.value(lambda v: v.state != SUM)
        if self.masks and self.chance(0.5):
            mask = self.pick(self.masks)
        else:
            shape = [1 if x.state == ROWS and i == x.dim or self.chance(0.2) else s for i, s in enumerate(x.shape)]
            mask = self.table(shape[int(self.random.integers(x.rank + 1)):], "i1")
        if self.chance(0.4):
            return b.binary("mul", x, b.cast(mask, self.dtype))
        return b.select(mask, *self.pair(x))

    def m_table(self):
        """A constant of many values as a factor or a term: of floats, or of integers that are cast."""
        b, x = self.b, self.value(lambda v: v.state != SUM)
        shape = [1 if x.state == ROWS and i == x.dim else s for i, s in enumerate(x.shape)]
        dtype = self.pick([self.dtype, self.dtype, "i32", "i64"])
        table = self.table(shape[int(self.random.integers(x.rank + 1)):], dtype)
        if dtype != self.dtype:
            table = b.cast(table, self.dtype)
        return b.binary(self.pick(["mul", "add", "maximum"]), x, table)

    def m_iota(self):
        b, x = self.b, self.value(lambda v: v.rank >= 1 and v.state != SUM)
        dim = int(self.random.integers(x.rank))
        if self.chance(0.6):
            table = b.iota(self.dtype, (x.shape[-1],), 0)
        else:
            table = b.iota(self.dtype, x.shape, dim)
        return b.binary("mul", x, b.binary("mul", table, b.scalar(0.125)))

    def m_reshape(self):
        x = self.value(lambda v: v.rank >= 1)
        first, size = (x.dim, x.shape[x.dim] // x.unit) if x.state == ROWS else (0, 1)
        before = list(x.shape[:first])
        rest = math.prod(x.shape[first:]) // size
        shape = before + [size * s if i == 0 else s for i, s in enumerate(self.factors(rest))]
        if len(shape) > 5:
            raise Rejected("rank")
        return self.b.reshape(x, shape)

    def factors(self, product):
        """Sizes with this product, ones among them."""
        sizes, rest = [], product
        while rest > 1 and len(sizes) < 4:
            divisors = [d for d in range(1, rest + 1) if rest % d == 0 and d <= 64]
            d = int(self.pick(divisors))
            sizes.append(d)
            rest //= d
        return sizes + [rest] if rest > 1 or not sizes else sizes

    def m_transpose(self):
        x = self.value(lambda v: v.rank >= 2)
        return self.b.transpose(x, [int(p) for p in self.random.permutation(x.rank)])

    def m_slice(self):
        x = self.value(lambda v: v.rank >= 1)
        offsets, shape = [], []
        for i, s in enumerate(x.shape):
            size = s if x.state == ROWS and i == x.dim or self.chance(0.4) else int(self.random.integers(1, s + 1))
            shape.append(size)
            offsets.append(int(self.random.integers(0, s - size + 1)))
        return self.b.slice(x, offsets, shape)

    def m_pad(self):
        x = self.value(lambda v: v.rank >= 1)
        offsets, shape = [], []
        for i, s in enumerate(x.shape):
            more = 0 if x.state == ROWS and i == x.dim or self.chance(0.5) else int(self.random.integers(0, 4))
            shape.append(s + more)
            offsets.append(int(self.random.integers(0, more + 1)))
        return self.b.pad(x, offsets, shape)

    def m_concat(self):
        x = self.value(lambda v: v.rank >= 1)
        dim = int(self.random.integers(x.rank))
        others = [v for v in self.values if v.rank == x.rank and (v.state, v.dim, v.unit) == (x.state, x.dim, x.unit)
                  and all(a == b for i, (a, b) in enumerate(zip(v.shape, x.shape)) if i != dim)]
        parts = [x] + [self.pick(others) for _ in range(int(self.random.integers(1, 3)))]
        self.used |= {p.name for p in parts}
        return self.b.concat(parts, dim)

    def m_move(self):
        """Roll, flip, repeat."""
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM)
        dim = int(self.random.integers(x.rank))
        kind = int(self.random.integers(3))
        if kind == 0:
            return self.b.along("roll", x, dim, x.shape, by=int(self.random.integers(1, 4)))
        if kind == 1 and x.shape[dim] <= 8:
            return self.b.along("flip", x, dim, x.shape)
        times = int(self.random.integers(2, 4))
        shape = [s * times if i == dim else s for i, s in enumerate(x.shape)]
        return self.b.along("repeat", x, dim, shape, times=times, by_concat=self.chance(0.5))

    def m_broadcast(self):
        x = self.value(lambda v: v.rank <= 3)
        shape, dims = [], []
        for i, s in enumerate(x.shape):
            if self.chance(0.25):
                shape.append(self.size())
            dims.append(len(shape))
            shape.append(self.size() if s == 1 and not (x.state == ROWS and i == x.dim) and self.chance(0.5) else s)
        if self.chance(0.25) or len(shape) == len(x.shape):
            shape.append(self.size())
        if x.state == WHOLE and self.chance(0.2) and self.b.batch > 1:
            shape, dims = [self.b.batch, *shape], [d + 1 for d in dims]
        return self.b.broadcast(x, dims, shape)

    def m_cumsum(self):
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM and v.shape[-1] <= 17)
        return self.b.along("cumsum", x, x.rank - 1, x.shape)

    def m_conv(self):
        x = self.value(lambda v: v.rank == 3 and v.state != SUM)
        taps = int(self.random.integers(1, 4))
        weight = self.param_for((taps, x.shape[2], self.size()))
        return self.b.conv1d(x, weight, int(self.random.integers(0, taps)))

    def m_rope(self):
        x = self.value(lambda v: v.rank >= 2 and v.shape[-1] % 2 == 0 and v.shape[-2] * v.shape[-1] <= 512)
        if x.state == SUM or x.state == ROWS and x.dim >= x.rank - 2:
            raise Rejected("rows")
        return self.b.result("rope", [x], x.dtype, x.shape, (x.state, x.dim, x.unit, ()), base=10.0)

    def m_attention(self):
        b = self.b
        x = self.value(lambda v: v.rank == 3 and v.state != SUM and (v.state == WHOLE or v.dim == 0) and v.unit == 1)
        heads, width = int(self.pick([1, 1, 2, 3])), int(self.pick([1, 2, 3, 4, 8]))
        parts = []
        for _ in range(3):
            h = b.matmul(x, self.param_for((x.shape[2], heads * width)))
            parts.append(b.transpose(b.reshape(h, (*x.shape[:2], heads, width)), [0, 2, 1, 3]))
        if self.chance(0.4) and width % 2 == 0 and x.shape[1] <= 64:
            parts[:2] = [b.result("rope", [p], p.dtype, p.shape, (p.state, p.dim, p.unit, ()), base=10.0) for p in parts[:2]]
        causal, scale = self.chance(0.5), self.pick([None, None, 0.5, 1.0])
        if self.chance(0.5):
            out = b.attention(*parts, causal, scale)
            if self.chance(0.2):
                self.keep(b.unary("detach", b.attention(*parts, causal, scale, is_lse=True))) if self.dtype != "bf16" else None
        else:
            out = self.attention_by_hand(parts, causal, scale)
        out = b.reshape(b.transpose(out, [0, 2, 1, 3]), (*x.shape[:2], heads * width))
        if heads * width == x.shape[2] and self.chance(0.7):
            out = b.binary("add", x, out)
        return out

    def attention_by_hand(self, parts, causal, scale):
        b = self.b
        q, k, v = parts
        s = b.binary("mul", b.matmul(q, k, tb=True), b.scalar(scale or 0.5))
        if causal:
            length = q.shape[2]
            name = b.add("causal_mask", [], "i1", (length, length), by_constant=self.chance(0.5))
            mask = Value(name, "i1", (length, length))
            s = b.select(mask, s, b.scalar(-1e4 if self.dtype == "f64" else -100.0))
        return b.matmul(b.along("softmax", s, 3, s.shape, by_hand=self.chance(0.4)), v)

    def m_embedding(self):
        b = self.b
        ids, high = self.pick(self.ids) if self.ids and self.chance(0.7) else self.id_input()
        ids, high = self.computed(ids, high)
        table = self.param_for((high, self.size()))
        if self.chance(0.2):
            table = b.unary("tanh", table)
        if self.chance(0.15):
            self.keep(b.embedding(self.param_for((high + int(self.random.integers(0, 4)), self.size())), ids))
        e = b.embedding(table, ids)
        if self.chance(0.2):
            self.tie(table, e)
        return e

    def computed(self, ids, high):
        """Ids after some arithmetic, and what they are below."""
        b = self.b
        for _ in range(int(self.pick([0, 0, 1, 1, 2, 3]))):
            kind = int(self.random.integers(9))
            one = lambda v: b.constant(ids.dtype, (), int(v))
            if kind == 0:
                step = int(self.random.integers(1, 4))
                ids, high = b.binary("add", ids, one(step)), high + step
            elif kind == 1 and high <= 20:
                ids, high = b.binary("mul", ids, one(2)), 2 * high - 1
            elif kind == 2 and ids.rank >= 1:
                places = b.iota(ids.dtype, (ids.shape[-1],), 0)
                ids, high = b.binary("add", ids, places), high + ids.shape[-1] - 1
            elif kind == 3:
                ids = b.cast(ids, "i64" if ids.dtype == "i32" else "i32")
            elif kind == 4:
                ids, high = b.binary("idiv", ids, one(2)), (high - 1) // 2 + 1
            elif kind == 5:
                top = int(self.random.integers(1, high + 1))
                ids, high = b.binary("minimum", ids, one(top - 1)), min(high, top)
            elif kind == 6:
                ids = b.binary("sub", one(high - 1), ids)
            elif kind == 7:
                x = self.value(lambda v: v.state == ids.state and v.shape == ids.shape)
                ids, high = b.cast(b.compare("gt", x, b.scalar(0.0)), ids.dtype), 2
            elif kind == 8 and ids.rank >= 2 and not (ids.state == ROWS and ids.dim == ids.rank - 1):
                begin = int(self.random.integers(0, ids.shape[-1]))
                ids = b.slice(ids, [0] * (ids.rank - 1) + [begin], (*ids.shape[:-1], ids.shape[-1] - begin))
            if math.prod(ids.shape) * high > 20000:
                raise Rejected("size")
            self.ids.append((ids, high))
        return ids, high

    def m_integers(self):
        """Shapes, sums, maxima and choices of integers, as floats at the end."""
        b = self.b
        x, _ = self.pick(self.ids) if self.ids and self.chance(0.7) else self.id_input()
        for _ in range(int(self.random.integers(1, 4))):
            x = self.pick([lambda: self.shaped(x), lambda: self.shaped(x), lambda: self.row_reduced(x),
                           lambda: b.binary(self.pick(["maximum", "minimum", "add", "sub", "mul"]), x, self.small_table(x)),
                           lambda: b.select(b.compare(self.pick(COMPARISONS), x, self.small_table(x)), x, self.small_table(x))])()
        h = b.cast(x, self.dtype)
        return b.binary("mul", h, self.param_for(h.shape[-1:] if h.rank and not (h.state == ROWS and h.dim == h.rank - 1) else ()))

    def small_table(self, x):
        """A constant that meets x in its last dimension, of x's type."""
        is_wide = x.rank and not (x.state == ROWS and x.dim == x.rank - 1) and self.chance(0.6)
        return self.table(x.shape[-1:] if is_wide else (), x.dtype)

    def row_reduced(self, x):
        dims = [d for d in range(x.rank) if not (x.state == ROWS and d == x.dim)]
        if not dims:
            raise Rejected("no dimension")
        return self.b.reduce(self.pick(["sum", "amax"]), x, [self.pick(dims)], self.chance(0.5))

    def shaped(self, x):
        """A view, a part or a repetition of any type."""
        kept, self.values = self.values, [x]
        try:
            return self.pick([self.m_reshape, self.m_transpose, self.m_slice, self.m_pad, self.m_concat_self, self.m_broadcast])()
        finally:
            self.values = kept

    def m_concat_self(self):
        x = self.value(lambda v: v.rank >= 1)
        return self.b.concat([x] * int(self.random.integers(2, 4)), int(self.random.integers(x.rank)))

    def m_mask_shape(self):
        """A mask that was moved, as a float."""
        b = self.b
        mask = self.pick(self.masks) if self.masks and self.chance(0.6) else b.input(self.small_shape(0, 2), "i1", kind="bool")
        for _ in range(int(self.random.integers(1, 3))):
            mask = self.shaped(mask)
        self.masks.append(mask)
        h = b.cast(mask, self.dtype)
        return b.select(mask, h, self.value(lambda v: v.state != SUM)) if self.chance(0.4) else h

    def tie(self, table, e):
        """The table as a head as well."""
        if table.rank == 2 and e.rank >= 2 and not (e.state == ROWS and e.dim == e.rank - 1):
            self.keep(self.b.matmul(self.b.unary("tanh", e), table, tb=True))

    def m_language_model(self):
        """Logits of the next token: embedded tokens and positions, layers of attention and two matmuls, a head that is tied or not."""
        b = self.b
        length, classes, heads, width = int(self.pick([1, 4, 5, 8, 17])), int(self.pick([5, 13, 40, 97])), int(self.pick([1, 2])), \
            int(self.pick([2, 4, 8]))
        channels = heads * width
        tokens = b.input((length,), "i32", kind="ids", high=classes)
        table = self.param_for((classes, channels))
        h = b.embedding(table, tokens)
        if self.chance(0.8):
            h = b.binary("add", h, b.embedding(self.param_for((length, channels)), b.iota("i64", (length,), 0)))
        for _ in range(int(self.random.integers(1, 3))):
            h = self.layer(h, heads, width)
        h = b.rows("layer_norm", [h, self.param_for((channels,)), self.param_for((channels,))], eps=1e-5 if self.dtype == "f64" else 1e-2)
        self.logits = b.matmul(h, table, tb=True) if self.chance(0.5) else b.matmul(h, self.param_for((channels, classes)))
        return self.logits

    def layer(self, h, heads, width):
        b, channels = self.b, heads * width
        x = b.rows("rms_norm", [h, self.param_for((channels,))], eps=0.01)
        both = b.matmul(x, self.param_for((channels, 3 * channels)))
        parts = []
        for i in range(3):
            part = b.slice(both, [0, 0, i * channels], h.shape)
            parts.append(b.transpose(b.reshape(part, (*h.shape[:2], heads, width)) if heads > 1 else b.reshape(part, (*h.shape[:2], 1, width)),
                                     [0, 2, 1, 3]))
        out = b.attention(*parts, True, None)
        h = b.binary("add", h, b.matmul(b.reshape(b.transpose(out, [0, 2, 1, 3]), h.shape), self.param_for((channels, channels))))
        y = b.unary(self.pick(["gelu", "gelu_tanh", "silu"]), b.matmul(h, self.param_for((channels, 2 * channels))))
        return b.binary("add", h, b.matmul(y, self.param_for((2 * channels, channels))))

    def m_position(self):
        """Learned positions: a table at the numbers of an iota."""
        b, x = self.b, self.value(lambda v: v.rank >= 2 and v.state != SUM)
        if x.state == ROWS and x.dim >= x.rank - 1:
            raise Rejected("rows")
        if x.state == ROWS and x.dim == x.rank - 2:
            raise Rejected("rows")
        table = self.param_for((x.shape[-2] + int(self.random.integers(0, 3)), x.shape[-1]))
        return b.binary("add", x, b.embedding(table, b.iota("i64", (x.shape[-2],), 0)))

    def m_one_hot(self):
        b = self.b
        ids, high = self.pick(self.ids) if self.ids else self.id_input()
        hot = b.one_hot(ids, high)
        if hot.rank >= 2 and not (hot.state == ROWS and hot.dim == hot.rank - 1) and self.chance(0.6):
            return b.matmul(hot, self.param_for((high, self.size())))
        return hot

    def m_gather(self):
        x = self.value(lambda v: v.rank >= 2 and v.state == ROWS and v.dim == 0 and v.unit == 1 and v.shape[-1] >= 2)
        shape = x.shape[1:-1]
        ids = self.b.input(shape, "i32", kind="ids", high=x.shape[-1])
        return self.b.gather_last(x, ids)

    def m_gate(self):
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM and v.shape[-1] % 2 == 0)
        half = x.shape[-1] // 2
        if x.state == ROWS and x.dim == x.rank - 1:
            raise Rejected("rows")
        zeros = [0] * (x.rank - 1)
        a = self.b.slice(x, [*zeros, 0], (*x.shape[:-1], half))
        return self.b.binary("swiglu", a, self.b.slice(x, [*zeros, half], (*x.shape[:-1], half)))

    def m_residual(self):
        """A small network beside a value, added to it; as a function that is called several times or not."""
        b = self.b
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM and not (v.state == ROWS and v.dim == v.rank - 1))
        n, hidden, kind = x.shape[-1], self.size(), int(self.random.integers(3))
        act, norm, mark = self.pick(SMOOTH[1:]), self.chance(0.5), self.chance(0.3)

        def layer(c, values):
            y, w, v, s = values
            h = c.rows("rms_norm", [y, s], eps=0.01) if norm else c.binary("mul", y, s)
            h = c.matmul(c.unary(act, c.matmul(h, w)), v)
            result = c.binary("add", y, h)
            return [c.unary("checkpoint", result) if mark else result]

        def weights():
            return [self.param_for((n, hidden)), self.param_for((hidden, n)), self.param_for((n,))]
        first = weights()
        if kind == 0:
            return layer(b, [x, *first])[0]
        call = b.define([x, *first], layer) if kind == 1 else self.nested(x, first, layer)
        for i in range(int(self.random.integers(1, 4))):
            if x.from_inputs and i > 0 and kind >= 1:
                call = b.define([x, *first], layer)
            (x,) = call([x, *(weights() if i and self.chance(0.8) else first)])
            if i == 0:
                call = b.define([x, *first], layer)
        return x

    def nested(self, x, first, layer):
        """A function that calls another."""
        inner = self.b.define([x, *first], layer)

        def outer(c, values):
            nodes, self.b.nodes = self.b.nodes, c.nodes
            try:
                return [self.b.unary("tanh", inner(values)[0])]
            finally:
                self.b.nodes = nodes
        return self.b.define([x, *first], outer)

    def m_input_statistics(self):
        """Centered or scaled by sums of inputs over the batch."""
        b = self.b
        x = self.value(lambda v: v.from_inputs and v.state == ROWS)
        dims = sorted({x.dim, *(self.some_dims(x.rank) if self.chance(0.4) else ())})
        mean = b.reduce(self.pick(["mean", "sum", "mean"]), x, dims, True)
        kind = int(self.random.integers(5))
        if kind == 0:
            return b.binary("sub", self.value(lambda v: v.shape == x.shape), mean)
        centered = b.binary("sub", x, mean)
        variance = b.reduce("mean", b.unary("square", centered), dims, True)
        if kind == 1:
            return b.binary("mul", centered, b.unary("rsqrt", b.binary("add", variance, b.scalar(0.1))))
        if kind == 2:
            return b.unary(self.pick(["tanh", "sigmoid"]), variance)
        if kind == 3:
            return b.binary("mul", self.value(), b.unary("tanh", b.reduce("mean", x, list(range(x.rank)))))
        return b.binary("div", self.value(), b.binary("add", b.unary("square", mean), b.scalar(1.0)))

    def m_gram(self):
        """A matrix that sums over the batch: of inputs it is known before."""
        x = self.value(lambda v: v.rank == 2 and v.state == ROWS and v.dim == 0)
        return self.b.matmul(x, x, ta=True)

    def m_detach(self):
        return self.b.unary("detach", self.value())

    def m_checkpoint(self):
        return self.b.unary("checkpoint", self.value(lambda v: v.state != SUM))

    def m_dropout(self):
        return self.b.unary("dropout", self.value(lambda v: v.state != SUM))

    def m_param(self):
        return self.param_for(self.small_shape(0, 3))

    def m_whole(self):
        """Something of parameters alone."""
        x = self.value(lambda v: v.state == WHOLE)
        return self.b.unary(self.pick(SMOOTH), x)

    def m_through_integers(self):
        """Rounded toward zero, in i32 or i64, with arithmetic there."""
        b, x = self.b, self.value(lambda v: v.state != SUM)
        dtype = self.pick(["i32", "i64"])
        whole = b.cast(b.binary("mul", x, b.scalar(2.0)), dtype)
        whole = b.binary(self.pick(["add", "mul", "sub", "maximum", "minimum"]), whole, b.constant(dtype, (), 2))
        return b.binary(self.pick(["add", "mul"]), b.cast(whole, self.dtype), self.value(lambda v: v.state != SUM))

    # --- the loss ------------------------------------------------------------

    def target_input(self, shape, classes):
        """With an ignore_index most often, and steps in which many targets, or all, are ignored."""
        if self.chance(0.35):
            return self.b.input(shape, self.pick(["i32", "i64"]), kind="ids", high=classes), None
        ignore = int(self.pick([-1, -100, classes - 1]))
        chances = [float(self.pick([0.0, 0.2, 0.5, 0.9, 1.0])) for _ in range(3)]
        if chances[0] == 1.0 and self.chance(0.7):
            chances[0] = 0.5
        evaluation = [float(self.pick([0.0, 0.3, 1.0])), float(self.pick([0.0, 0.3, 0.9]))]
        return self.b.input(shape, self.pick(["i32", "i64"]), kind="ids", high=classes, ignore=ignore, ignored=chances,
                            ignored_in_evaluation=evaluation), ignore

    def t_cross_entropy(self, h):
        if h.state != ROWS or h.rank < 2 or h.dim != 0 or h.unit != 1 or h.dim == h.rank - 1:
            raise Rejected("no logits")
        targets, ignore = self.target_input(h.shape[1:-1], h.shape[-1])
        if h == self.logits:
            # The next tokens: such a model can generate.
            self.b.inputs[-1]["shift"] = 1
        kind = int(self.random.integers(4))
        if kind <= 1:
            return self.b.losses("cross_entropy", h, targets, ignore)
        rows = self.b.losses("token_loss", h, targets, ignore)
        if kind == 2:
            rows = self.b.binary("mul", rows, rows)
        total = self.b.reduce("sum", rows, list(range(rows.rank)))
        if ignore is None or self.chance(0.2):
            return self.b.binary("mul", total, self.b.scalar(0.125, total.dtype))
        if self.chance(0.5):
            return self.b.binary("div", total, self.b.count(targets, ignore))
        n = self.b.count(targets, ignore, in_arithmetic=True)
        more = self.pick([lambda: self.b.binary("add", n, self.b.scalar(1.0, n.dtype)), lambda: self.b.unary("sqrt", n),
                          lambda: self.b.binary("mul", n, self.b.scalar(0.5, n.dtype))])()
        return self.b.binary("div", total, more)

    def t_mse(self, h):
        if h.state != ROWS or h.dim != 0 or h.unit != 1:
            raise Rejected("no prediction")
        return self.b.binary("mse", h, self.b.input(h.shape[1:]))

    def t_reduce(self, h):
        b = self.b
        if h.state == SUM:
            if h.rank and self.chance(0.5):
                h = b.binary("mul", h, self.param_for(h.shape))
            return b.reduce(self.pick(["sum", "mean"]), h, list(range(h.rank)))
        kind = int(self.random.integers(4))
        if kind == 0:
            h = b.unary("square", h)
        elif kind == 1 and h.state == ROWS and h.dim == 0 and h.unit == 1:
            h = b.binary("mul", h, b.input(h.shape[1:], kind="dyadic"))
        elif kind == 2:
            h = b.unary(self.pick(SMOOTH), h)
        if h.rank and self.chance(0.2):
            dims = [d for d in self.some_dims(h.rank)]
            h = b.reduce("sum", h, dims)
            if h.state != SUM:
                h = b.unary("tanh", h)
        return b.reduce(self.pick(["sum", "mean", "mean"]), h, list(range(h.rank)))

    def term(self, h):
        if h.state == ROWS and h.rank >= 2 and self.chance(0.45):
            try:
                return self.t_cross_entropy(h)
            except Rejected:
                pass
        if self.chance(0.4):
            try:
                return self.t_mse(h)
            except Rejected:
                pass
        return self.t_reduce(h)

    def loss(self):
        """The sum of terms of what nothing else uses, and of some that is used."""
        leaves = [v for v in self.values if v.name not in self.used and v.learns]
        self.random.shuffle(leaves)
        chosen = leaves[:int(self.random.integers(1, 7))]
        if self.chance(0.3) or not chosen:
            pool = [v for v in self.values if v.learns]
            if not pool:
                raise Rejected("nothing learns")
            chosen.append(self.pick(pool))
        total, kind = None, "f32" if self.dtype == "bf16" else self.dtype
        for h in chosen:
            term = self.term(h)
            if term.rank:
                raise Rejected("no scalar")
            if term.dtype != kind:
                term = self.b.cast(term, kind)
            if self.chance(0.4):
                term = self.b.binary("mul", term, self.b.scalar(self.pick([0.5, 2.0, -0.25, 0.1]), kind))
            total = term if total is None else self.b.binary(self.pick(["add", "add", "sub"]), total, term)
        if self.chance(0.15):
            total = self.b.binary("add", total, self.b.scalar(1.0, kind))
        return total


WEIGHTS = {"m_unary": 5, "m_kink": 2, "m_leaky": 1, "m_positive": 2, "m_exp": 1, "m_binary": 5, "m_div": 2, "m_affine": 6,
           "m_matmul": 7, "m_matmul_values": 2, "m_outer": 1, "m_norm": 4, "m_softmax": 3, "m_reduce": 2, "m_reduce_row": 3,
           "m_maximum_again": 4, "m_logsumexp": 1, "m_compare": 2, "m_mask": 2, "m_table": 2, "m_iota": 1, "m_reshape": 3,
           "m_transpose": 3, "m_slice": 3, "m_pad": 2, "m_concat": 3, "m_move": 2, "m_broadcast": 2, "m_cumsum": 1, "m_conv": 2,
           "m_rope": 1, "m_attention": 3, "m_embedding": 5, "m_position": 1, "m_one_hot": 1, "m_gather": 1, "m_language_model": 1, "m_integers": 2, "m_mask_shape": 1, "m_gate": 1,
           "m_residual": 2, "m_input_statistics": 2, "m_gram": 1, "m_detach": 1, "m_checkpoint": 1, "m_dropout": 0.5, "m_param": 1,
           "m_whole": 1, "m_through_integers": 1}
# What of f32 and bf16 a rounding must not decide.
DECIDING = {"m_kink", "m_leaky", "m_maximum_again", "m_compare", "m_through_integers", "m_exp"}


def draw_once(seed):
    random = np.random.default_rng([seed, 1])
    dtype = ["f64", "f32", "bf16"][int(random.choice(3, p=[0.88, 0.1, 0.02]))]
    drawing = Drawing([seed, 2], dtype)
    drawing.leaves()
    if drawing.chance(0.08):
        # Little else then, so that such a model can generate text.
        drawing.values = []
        drawing.keep(drawing.m_language_model())
        if drawing.chance(0.6):
            return finish(drawing, seed, random)
    names = [n for n in WEIGHTS if dtype == "f64" or n not in DECIDING]
    # Some motifs are left out, others come often: each model has a character.
    weights = np.array([WEIGHTS[n] for n in names]) * random.gamma(0.5, 2.0, len(names))
    weights /= weights.sum()
    wanted = int(random.integers(2, 7 if random.random() < 0.4 else 20))
    for _ in range(wanted):
        for _ in range(8):
            state = len(drawing.b.nodes)
            try:
                v = getattr(drawing, names[int(random.choice(len(names), p=weights))])()
            except Rejected:
                del drawing.b.nodes[state:]
                drawing.values = [v for v in drawing.values if v.name in known_names(drawing.b)]
                drawing.masks = [v for v in drawing.masks if v.name in known_names(drawing.b)]
                drawing.ids = [(v, h) for v, h in drawing.ids if v.name in known_names(drawing.b)]
                continue
            drawing.keep(v)
            break
    return finish(drawing, seed, random)


def finish(drawing, seed, random):
    loss = drawing.loss()
    return prune(drawing.b.description(loss, seed, int(random.integers(1, 4))))


def known_names(b):
    names = {e["name"] for e in b.inputs + b.params} | {n["name"] for n in b.nodes}
    return names | {f"{n['name']}:{i}" for n in b.nodes if n["op"] == "call" for i in range(len(n["types"]))}


def draw(seed):
    """A description; always the same of a seed."""
    for attempt in range(200):
        try:
            return dict(draw_once(seed * 1000 + attempt), seed=seed)
        except Rejected:
            continue
    raise Rejected(f"seed {seed}: no model")
