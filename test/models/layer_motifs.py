"""Motifs that models are made of: embeddings, attention, residual layers, a language model."""
import math

from builder import ROWS, SUM, WHOLE, Rejected, Value
from choices import Choices
from element_motifs import SMOOTH


class LayerMotifs(Choices):
    def m_adapter(self):
        """A matmul with a frozen matrix, and two thin ones beside it."""
        b, x = self.b, self.value(lambda v: v.rank >= 2 and v.state != SUM and not (v.state == ROWS and v.dim == v.rank - 1))
        size, rank = self.size(), int(self.random.integers(1, 4))
        h = b.matmul(b.matmul(x, self.one_param((x.shape[-1], rank))), self.one_param((rank, size)))
        if self.chance(0.5):
            h = b.binary("mul", h, b.scalar(2.0))
        return b.binary("add", b.matmul(x, self.one_param((x.shape[-1], size), is_frozen=True)), h)

    def m_rope(self):
        x = self.value(lambda v: v.rank >= 2 and v.shape[-1] % 2 == 0 and v.shape[-2] * v.shape[-1] <= 512)
        if x.state == SUM or x.state == ROWS and x.dim >= x.rank - 2:
            raise Rejected("rows")
        return self.b.result("rope", [x], x.dtype, x.shape, (x.state, x.dim, x.unit, ()), base=10.0)

    def m_attention(self):
        b = self.b
        x = self.value(lambda v: v.rank == 3 and v.state != SUM and (v.state == WHOLE or v.dim == 0) and v.unit == 1)
        heads, width = int(self.pick([1, 1, 2, 3])), int(self.pick([1, 2, 3, 4, 8]))
        parts, key_heads = [], heads if heads == 1 or self.chance(0.7) else 1
        for count in (heads, key_heads, key_heads):
            h = b.matmul(x, self.param_for((x.shape[2], count * width)))
            parts.append(b.transpose(b.reshape(h, (*x.shape[:2], count, width)), [0, 2, 1, 3]))
        if self.chance(0.4) and width % 2 == 0 and x.shape[1] <= 64:
            parts[:2] = [b.result("rope", [p], p.dtype, p.shape, (p.state, p.dim, p.unit, ()), base=10.0) for p in parts[:2]]
        causal, scale = self.chance(0.5), self.pick([None, None, 0.5, 1.0])
        if key_heads != heads or self.chance(0.5):
            changes = self.changed_scores(x, heads) if self.chance(0.6) else {}
            out = b.attention(*parts, causal, scale, **changes)
            if not changes and key_heads == heads and self.chance(0.2):
                self.keep(b.unary("detach", b.attention(*parts, causal, scale, is_lse=True))) if self.dtype != "bf16" else None
        else:
            out = self.attention_by_hand(parts, causal, scale)
        out = b.reshape(b.transpose(out, [0, 2, 1, 3]), (*x.shape[:2], heads * width))
        if heads * width == x.shape[2] and self.chance(0.7):
            out = b.binary("add", x, out)
        return out

    def changed_scores(self, x, heads):
        """What changes or hides scores, of queries and keys at the positions of x."""
        b, (batch, length, _), changes = self.b, x.shape, {}

        def broadcast(choices):
            return tuple(size if self.chance(0.7) else 1 for size in choices)

        def number(shape):
            value = self.one_param(shape, self.chance(0.3))
            return value if value.dtype == self.dtype else b.cast(value, self.dtype)
        if self.chance(0.3):
            changes["window"] = int(self.pick([1, 2, 3, length]))
        if self.chance(0.2):
            changes["cap"] = self.pick([0.5, 2.0, 30.0])
        if self.chance(0.3):
            changes["bias"] = number((1, *broadcast((heads, length, length))))
        if self.chance(0.3):
            shape = (1, *broadcast((heads, length, length)))
            changes["mask"] = b.constant("i1", shape, [bool(self.chance(0.7)) for _ in range(math.prod(shape))])
        if self.chance(0.2):
            changes["slopes"] = number((heads,))
        if self.chance(0.3) and x.state == ROWS:
            changes["segments"] = b.input((length,), "i32", kind="ids", high=int(self.pick([1, 2, 3])))
        return changes

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

    def tie(self, table, e):
        """The table as a head as well."""
        if table.rank == 2 and e.rank >= 2 and not (e.state == ROWS and e.dim == e.rank - 1):
            self.keep(self.b.matmul(self.b.unary("tanh", e), table, tb=True))

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
