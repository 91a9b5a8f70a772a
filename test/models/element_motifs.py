"""Motifs of element ops: of one value, of two, of a value and a mask or a table."""
from builder import ROWS, SUM, WHOLE, Rejected
from choices import Choices

SMOOTH = ["neg", "sin", "cos", "tanh", "erf", "sigmoid", "softplus", "silu", "gelu", "gelu_tanh", "tanhshrink", "atan", "mish", "logsigmoid", "softsign"]
KINKED = ["abs", "relu", "sign", "floor", "ceil", "round", "trunc", "hardsigmoid", "hardswish", "elu"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class ElementMotifs(Choices):
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
        op = self.pick(["log", "log1p", "sqrt", "rsqrt", "reciprocal", "pow", "power"])
        if op == "pow":
            return b.unary(op, positive, exponent=self.pick([0.0, 1.0, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 1.5, -0.3]))
        if op == "power":
            return b.binary(op, positive, b.unary("tanh", self.value(lambda v: v.state != SUM)))
        return b.unary(op, positive)

    def m_exp(self):
        x = self.value(lambda v: v.state != SUM)
        op = self.pick(["exp", "expm1"])
        return self.b.unary(op, self.b.unary("clamp", x, low=-3.0, high=1.0) if self.chance(0.5) else self.b.unary("tanh", x))

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

    def m_gate(self):
        x = self.value(lambda v: v.rank >= 1 and v.state != SUM and v.shape[-1] % 2 == 0)
        half = x.shape[-1] // 2
        if x.state == ROWS and x.dim == x.rank - 1:
            raise Rejected("rows")
        zeros = [0] * (x.rank - 1)
        a = self.b.slice(x, [*zeros, 0], (*x.shape[:-1], half))
        return self.b.binary("swiglu", a, self.b.slice(x, [*zeros, half], (*x.shape[:-1], half)))

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
