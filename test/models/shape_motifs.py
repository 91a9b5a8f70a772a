"""Motifs that move elements: views, parts, repetitions, of floats, integers and masks."""
import math

from builder import ROWS, SUM, WHOLE, Rejected
from choices import Choices
from element_motifs import COMPARISONS


class ShapeMotifs(Choices):
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

    def m_mask_shape(self):
        """A mask that was moved, as a float."""
        b = self.b
        mask = self.pick(self.masks) if self.masks and self.chance(0.6) else b.input(self.small_shape(0, 2), "i1", kind="bool")
        for _ in range(int(self.random.integers(1, 3))):
            mask = self.shaped(mask)
        self.masks.append(mask)
        h = b.cast(mask, self.dtype)
        return b.select(mask, h, self.value(lambda v: v.state != SUM)) if self.chance(0.4) else h
