"""Motifs that sum or take a maximum: matmuls, norms, reductions, statistics of inputs."""
from builder import ROWS, SUM, Rejected
from element_motifs import ElementMotifs


class SumMotifs(ElementMotifs):
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
        return self.b.reduce(self.pick(["sum", "mean", "amax", "amin", "var"]), x, self.some_dims(x.rank), self.chance(0.5))

    def m_reduce_row(self):
        """Over dimensions of a row only."""
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM)
        dims = [d for d in self.some_dims(x.rank) if x.state != ROWS or d != x.dim]
        return self.b.reduce(self.pick(["sum", "mean", "amax", "amin", "var"]), x, dims or [x.rank - 1], self.chance(0.6))

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

    def m_cumsum(self):
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM and v.shape[-1] <= 17)
        return self.b.along("cumsum", x, x.rank - 1, x.shape)

    def m_order(self):
        """Values in order, or the first of them."""
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM)
        dim, descending = int(self.random.integers(x.rank)), self.chance(0.5)
        if self.chance(0.5):
            return self.b.along("sort", x, dim, x.shape, descending=descending)
        shape = list(x.shape)
        shape[dim] = int(self.random.integers(1, shape[dim] + 1))
        return self.b.along("top_k", x, dim, tuple(shape), descending=descending)

    def m_triangle(self):
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM)
        return self.b.triangle(x, self.chance(0.5), int(self.random.integers(-2, 3)))

    def m_conv(self):
        x = self.value(lambda v: v.rank == 3 and v.state != SUM)
        taps = int(self.random.integers(1, 4))
        weight = self.param_for((taps, x.shape[2], self.size()))
        return self.b.conv1d(x, weight, int(self.random.integers(0, taps)))

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
