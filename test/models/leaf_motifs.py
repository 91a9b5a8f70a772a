"""Motifs of what a model is given or has in its text: booleans, constants of many values, values of other types."""
import math

from builder import ROWS, SUM, Rejected
from choices import Choices


class LeafMotifs(Choices):
    # --- booleans --------------------------------------------------------------

    def boolean(self):
        """An input, something compared, or another boolean of one of them."""
        b = self.b
        if not self.masks or self.chance(0.6):
            self.masks.append(b.input(self.small_shape(0, 2), "i1", kind="bool"))
        mask = self.pick(self.masks)
        if mask.state != SUM and self.chance(0.3):
            # Not, and, or, exclusive or: of numbers.
            number = b.cast(mask, "i32")
            other = b.cast(self.pick(self.masks), "i32") if self.chance(0.5) else b.constant("i32", (), self.pick([0, 1]))
            mask = b.compare(self.pick(["eq", "ne", "lt", "ge"]), number, other)
        return mask

    def m_boolean(self):
        """As a float; as what chooses; counted; looked up."""
        b, mask = self.b, self.boolean()
        if mask.state == SUM:
            raise Rejected("a sum")
        kind = int(self.random.integers(6))
        if kind == 0:
            return b.select(mask, self.value(lambda v: v.state != SUM), b.scalar(self.pick([0.0, -1.0])))
        if kind == 1:
            return b.binary("mul", b.cast(mask, self.dtype), self.value(lambda v: v.state != SUM))
        if kind == 2:
            share = b.reduce("mean", b.cast(mask, self.dtype), list(range(mask.rank)))
            return b.binary("mul", self.value(), b.unary("tanh", share))
        numbers = b.cast(mask, self.pick(["i32", "i64"]))
        if kind == 3:
            dims = [d for d in range(mask.rank) if not (mask.state == ROWS and d == mask.dim)]
            counted = b.reduce("sum", numbers, dims) if dims else numbers
            return b.binary("mul", b.cast(counted, self.dtype), self.param_for(()))
        self.ids.append((numbers, 2))
        numbers, high = self.computed(numbers, 2) if kind == 4 else (numbers, 2)
        return b.embedding(self.param_for((high, self.size())), numbers)

    # --- constants -------------------------------------------------------------

    def m_constant(self):
        return self.pick([self.constant_looked_up, self.constant_ids, self.constant_matrix, self.constant_line, self.constant_of_constants,
                          self.constant_choice, self.constant_mask])()

    def constant_looked_up(self):
        """A constant at ids."""
        ids, high = self.pick(self.ids) if self.ids else self.id_input()
        table = self.table((high, self.size()))
        return self.b.binary("mul", self.b.embedding(table, ids), self.param_for((1,)))

    def constant_ids(self):
        """A parameter at ids that the model's text has."""
        high, shape = int(self.pick([1, 2, 3, 7])), self.small_shape(0, 2)
        ids = self.b.constant(self.pick(["i32", "i64"]), shape, [int(self.random.integers(high)) for _ in range(math.prod(shape))])
        return self.b.embedding(self.param_for((high, self.size())), ids)

    def constant_matrix(self):
        """A product with a constant: of any values, an identity, a triangle, a rotation of the elements."""
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM and not (v.state == ROWS and v.dim == v.rank - 1))
        n, kind = x.shape[-1], int(self.random.integers(4))
        if kind == 0:
            return self.b.matmul(x, self.table((n, self.size())))
        entry = [None, lambda i, j: i == j, lambda i, j: i <= j, lambda i, j: (i + 1) % n == j][kind]
        return self.b.matmul(x, self.b.constant(self.dtype, (n, n), [float(entry(i, j)) for i in range(n) for j in range(n)]))

    def constant_line(self):
        """A row or a column of constants, or one for each of several dimensions, as a factor or a term."""
        b, x = self.b, self.value(lambda v: v.rank >= 1 and v.state != SUM)
        dims = [d for d in range(x.rank) if not (x.state == ROWS and d == x.dim)]
        if not dims:
            raise Rejected("rows")
        kept = {self.pick(dims) for _ in range(int(self.random.integers(1, 3)))}
        table = self.table([s if i in kept else 1 for i, s in enumerate(x.shape)])
        return b.binary(self.pick(["mul", "add", "sub", "minimum"] if self.dtype == "f64" else ["mul", "add"]), x, table)

    def constant_of_constants(self):
        """What constants alone make, for a value."""
        b, x = self.b, self.value(lambda v: v.rank >= 1 and v.state != SUM and not (v.state == ROWS and v.dim == v.rank - 1))
        shape = x.shape[-1:]
        kind = int(self.random.integers(4))
        if kind == 0:
            made = b.unary(self.pick(["tanh", "sigmoid", "exp", "square"]), self.table(shape))
        elif kind == 1:
            made = b.binary("add", b.cast(self.table(shape, "i1"), self.dtype), b.cast(self.table(shape, self.pick(["i32", "i64"])), self.dtype))
        elif kind == 2:
            made = b.select(b.compare(self.pick(["lt", "eq", "ge"]), self.table(shape, "i32"), self.table((), "i32")), self.table(shape), self.table(()))
        else:
            made = b.reduce("sum", self.table((self.size(), *shape)), [0])
        return b.binary(self.pick(["mul", "add"]), x, made)

    def constant_choice(self):
        """Between constants, by a value's sign or a boolean."""
        b = self.b
        mask = self.boolean()
        if mask.state == SUM or mask.state == ROWS and mask.rank and mask.dim == mask.rank - 1:
            raise Rejected("rows")
        shape = mask.shape[-1:]
        return b.binary("mul", b.select(mask, self.table(shape), self.table(shape)), self.param_for(()))

    def constant_mask(self):
        """A softmax of what a constant mask leaves: the others are minus infinity, or very small."""
        b = self.b
        x = self.value(lambda v: v.rank >= 2 and v.state != SUM and not (v.state == ROWS and v.dim >= v.rank - 2))
        rows, columns = x.shape[-2:]
        is_kept = [j == i % columns or bool(self.random.random() < 0.5) for i in range(rows) for j in range(columns)]
        lowest = self.pick([-math.inf, -1e4 if self.dtype == "f64" else -100.0])
        if self.chance(0.5):
            masked = b.select(b.constant("i1", (rows, columns), is_kept), x, b.scalar(lowest))
        else:
            masked = b.binary("add", x, b.constant(self.dtype, (rows, columns), [0.0 if kept else lowest for kept in is_kept]))
        return b.along("softmax", masked, x.rank - 1, x.shape, by_hand=self.chance(0.3))

    # --- other types -----------------------------------------------------------

    def m_other_type(self):
        """A matmul in the type that other parameters have, or a value that goes through it."""
        b = self.b
        if not self.other:
            raise Rejected("no other type")
        x = self.value(lambda v: v.state != SUM)
        other = b.cast(x, self.other)
        if x.rank >= 2 and not (x.state == ROWS and x.dim == x.rank - 1) and self.chance(0.7):
            w = b.param((x.shape[-1], self.size()), dtype=self.pick([self.dtype, self.other]))
            other = b.matmul(other, w if w.dtype == self.other else b.cast(w, self.other))
        return b.cast(other, self.dtype)
