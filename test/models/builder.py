"""Builds a description op by op, and knows of each value how it lies to the batch.

A value is whole (the same for every row of the batch), has rows (dimension `dim` holds `unit` elements of each row, one row
after the other), or is a sum over the batch of what depends on parameters. A sum of inputs alone is whole: it is known before.
An op that a batch can't be split through raises Rejected: such a model is none. One that `mixes` rows has inputs that are whole: every op is allowed.
"""
import dataclasses
import math

WHOLE, ROWS, SUM = "whole", "rows", "sum"
STEPWISE = {"neg", "abs", "exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sigmoid", "softplus", "relu", "silu", "gelu", "gelu_tanh",
            "square", "expm1", "log1p", "sin", "cos", "sign", "floor", "ceil", "round", "pow", "trunc", "detach", "checkpoint", "reciprocal", "tanhshrink", "atan", "mish", "hardsigmoid", "hardswish", "elu", "logsigmoid",
            "softsign", "clamp", "leaky_relu", "dropout"}
MOST_ELEMENTS = 30000


class Rejected(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    dtype: str
    shape: tuple
    state: str = WHOLE
    dim: int = 0
    unit: int = 1
    from_inputs: bool = True    # on inputs and constants alone
    free: frozenset = frozenset()  # dimensions along which a whole value can be computed in parts
    learns: bool = False        # a gradient goes to some parameter
    is_smooth: bool = True

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def is_float(self):
        return self.dtype in ("f64", "f32", "bf16")


def statistics(dtype):
    """What losses of bf16 values are computed in."""
    return "f32" if dtype == "bf16" else dtype


def broadcast_shape(a, b):
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    for x, y in zip(a, b):
        if x != y and 1 not in (x, y):
            raise Rejected("shapes")
    return tuple(y if x == 1 else x for x, y in zip(a, b))


class Builder:
    def __init__(self, batch, dtype, parent=None, mixes=False):
        self.batch, self.dtype, self.parent, self.mixes = batch, dtype, parent, mixes
        self.nodes, self.inputs, self.params, self.functions = [], [], [], {}
        self.root = parent.root if parent else self
        self.number = 0

    # --- leaves --------------------------------------------------------------

    def name(self, prefix):
        self.root.number += 1
        return f"{prefix}{self.root.number}"

    def input(self, shape, dtype=None, **draw):
        dtype = dtype or self.dtype
        shape = (self.batch, *shape)
        name = self.name("x")
        self.root.inputs.append({"name": name, "type": [dtype, list(shape)], "draw": draw or {"kind": "real"}})
        return Value(name, dtype, shape, ROWS if self.batch > 1 and not self.mixes else WHOLE)

    def param(self, shape, frozen=False, dtype=None, scales=None, **draw):
        """`scales`: "no_decay" or factors, as the description has them."""
        name, dtype = self.name("w"), dtype or self.dtype
        entry = {"name": name, "type": [dtype, list(shape)], "draw": draw or {"kind": "real", "scale": 0.8}}
        if frozen:
            entry["frozen"] = True
        entry.update(scales or {})
        self.root.params.append(entry)
        return Value(name, dtype, tuple(shape), from_inputs=False, learns=not frozen)

    def add(self, op, operands, dtype, shape, **attributes):
        if math.prod(shape) > MOST_ELEMENTS:
            raise Rejected("size")
        node = {"name": self.name("v"), "op": op, "in": [o.name for o in operands], "type": [dtype, list(shape)], **attributes}
        self.nodes.append(node)
        return node["name"]

    def result(self, op, operands, dtype, shape, state, **attributes):
        """`state`: (state, dim, unit, free)."""
        kind, dim, unit, free = state
        differentiable = op not in ("detach", "compare", "sign", "floor", "ceil", "round", "trunc", "one_hot", "count") and dtype in ("f64", "f32", "bf16")
        from_inputs = all(o.from_inputs for o in operands)
        if kind == SUM and from_inputs:
            kind = WHOLE
        # A cast between floats is the only one that gradients go through.
        learns = differentiable and any(o.learns for o in operands if o.is_float)
        name = self.add(op, operands, dtype, shape, **attributes)
        return Value(name, dtype, tuple(shape), kind, dim, unit, from_inputs, frozenset(free), learns)

    def constant(self, dtype, shape, value):
        """`value`: one, or a list of all elements."""
        shape = tuple(shape)
        is_splat = not isinstance(value, list) or len(set(value)) == 1
        name = self.add("constant", [], dtype, shape, value=value)
        return Value(name, dtype, shape, free=frozenset(range(len(shape))) if is_splat else frozenset())

    def scalar(self, value, dtype=None):
        return self.constant(dtype or self.dtype, (), value)

    def iota(self, dtype, shape, dim):
        name = self.add("iota", [], dtype, shape, dim=dim)
        return Value(name, dtype, tuple(shape), free=frozenset(range(len(shape))))

    # --- elementwise ---------------------------------------------------------

    def unary(self, op, x, **attributes):
        if x.state == SUM and op not in ("neg", "detach", "checkpoint"):
            raise Rejected("not linear in a sum")
        return self.result(op, [x], x.dtype, x.shape, (x.state, x.dim, x.unit, x.free), **attributes)

    def meet(self, operands):
        """(shape, state) of an elementwise op."""
        shape = ()
        for o in operands:
            shape = broadcast_shape(shape, o.shape)
        rank = len(shape)
        rows = [o for o in operands if o.state == ROWS]
        if rows and any(o.state == SUM for o in operands):
            raise Rejected("rows with a sum")
        places = {(rank - o.rank + o.dim, o.unit) for o in rows}
        if len(places) > 1:
            raise Rejected("rows along different dimensions")
        free = set(range(rank))
        for o in operands:
            if o.state != ROWS:
                for i, size in enumerate(o.shape):
                    if size != 1 and i not in o.free:
                        free.discard(rank - o.rank + i)
        if rows:
            (dim, unit), = places
            if dim not in free:
                raise Rejected("a whole operand has the batch's dimension")
            return shape, (ROWS, dim, unit, ())
        return shape, (SUM if any(o.state == SUM for o in operands) else WHOLE, 0, 1, free)

    def binary(self, op, a, b):
        if a.dtype != b.dtype:
            raise Rejected("types")
        shape, state = self.meet([a, b])
        if state[0] == SUM:
            is_linear = (op in ("add", "sub") or op == "mul" and (a.state != SUM or b.state != SUM)
                         or op == "div" and b.state != SUM)
            if not is_linear:
                raise Rejected("not linear in a sum")
        if op in ("mse", "bce_with_logits"):
            if a.shape != b.shape or a.state == SUM or b.state == SUM:
                raise Rejected("shapes")
            state = (SUM if state[0] == ROWS else WHOLE, 0, 1, ())
            return self.result(op, [a, b], statistics(a.dtype), (), state)
        return self.result(op, [a, b], a.dtype, shape, state)

    def compare(self, how, a, b):
        if a.dtype != b.dtype or SUM in (a.state, b.state):
            raise Rejected("types")
        shape, state = self.meet([a, b])
        return self.result("compare", [a, b], "i1", shape, state, how=how)

    def select(self, c, a, b):
        if c.dtype != "i1" or a.dtype != b.dtype or SUM in (a.state, b.state, c.state):
            raise Rejected("types")
        shape, state = self.meet([c, a, b])
        return self.result("select", [c, a, b], a.dtype, shape, state)

    def cast(self, x, dtype):
        if x.state == SUM and not (x.is_float and dtype in ("f64", "f32", "bf16")):
            raise Rejected("not linear in a sum")
        return self.result("cast", [x], dtype, x.shape, (x.state, x.dim, x.unit, x.free))

    # --- shape ---------------------------------------------------------------

    def reshape(self, x, shape):
        shape = tuple(shape)
        if math.prod(shape) != x.size or shape == x.shape:
            raise Rejected("shapes")
        if x.state != ROWS:
            return self.result("reshape", [x], x.dtype, shape, (x.state, 0, 1, ()))
        # What stands before the batch stays; the dimension after it begins with whole rows.
        before = math.prod(x.shape[:x.dim])
        product = 1
        for dim, size in enumerate(shape):
            if product == before and size % self.batch == 0:
                return self.result("reshape", [x], x.dtype, shape, (ROWS, dim, size // self.batch, ()))
            product *= size
        raise Rejected("rows would mix")

    def transpose(self, x, perm):
        shape = [x.shape[p] for p in perm]
        dim = perm.index(x.dim) if x.state == ROWS else 0
        free = {i for i, p in enumerate(perm) if p in x.free}
        return self.result("transpose", [x], x.dtype, shape, (x.state, dim, x.unit, free), perm=list(perm))

    def slice(self, x, offsets, shape):
        if x.state == ROWS and shape[x.dim] != x.shape[x.dim]:
            raise Rejected("a part of the batch")
        return self.result("slice", [x], x.dtype, shape, (x.state, x.dim, x.unit, ()), offsets=list(offsets))

    def pad(self, x, offsets, shape):
        if x.state == ROWS and shape[x.dim] != x.shape[x.dim]:
            raise Rejected("more than the batch")
        return self.result("pad", [x], x.dtype, shape, (x.state, x.dim, x.unit, ()), offsets=list(offsets))

    def concat(self, values, dim):
        shape = list(values[0].shape)
        for v in values[1:]:
            if v.dtype != values[0].dtype or v.rank != len(shape):
                raise Rejected("types")
            if any(a != b for i, (a, b) in enumerate(zip(v.shape, shape)) if i != dim):
                raise Rejected("shapes")
        states = {(v.state, v.dim, v.unit) if v.state == ROWS else (v.state, 0, 1) for v in values}
        if len(states) > 1:
            raise Rejected("states differ")
        (state, at, unit), = states
        if state == ROWS and at == dim:
            raise Rejected("along the batch")
        shape[dim] = sum(v.shape[dim] for v in values)
        return self.result("concat", values, values[0].dtype, shape, (state, at, unit, ()), dim=dim)

    def broadcast(self, x, dims, shape):
        if x.state == ROWS and x.shape[x.dim] != shape[dims[x.dim]]:
            raise Rejected("the batch repeated")
        at = dims[x.dim] if x.state == ROWS else 0
        free = {i for i in range(len(shape)) if i not in dims or x.shape[dims.index(i)] == 1 or dims.index(i) in x.free}
        return self.result("broadcast", [x], x.dtype, shape, (x.state, at, x.unit, free if x.state == WHOLE else ()), dims=list(dims))

    def along(self, op, x, dim, shape, **attributes):
        """An op that mixes elements of one dimension, of one value."""
        if x.state == ROWS and x.dim == dim or x.state == SUM:
            raise Rejected("mixes rows")
        return self.result(op, [x], x.dtype, shape, (x.state, x.dim, x.unit, ()), dim=dim, **attributes)

    # --- reductions and products -------------------------------------------------

    def reduce(self, op, x, dims, keep=False):
        dims = sorted(dims)
        shape = [1 if i in dims else s for i, s in enumerate(x.shape) if keep or i not in dims]
        moved = x.dim if keep else x.dim - sum(d < x.dim for d in dims)
        state = (x.state, moved, x.unit, ())
        if x.state == SUM and op in ("amax", "amin", "var"):
            raise Rejected("not linear in a sum")
        if x.state == ROWS and x.dim in dims:
            if op in ("amax", "amin", "var"):
                raise Rejected("a maximum over rows")
            state = (SUM, 0, 1, ())
        return self.result(op, [x], x.dtype, shape, state, dims=dims, keep=keep)

    def matmul(self, a, b, ta=False, tb=False):
        if a.dtype != b.dtype or a.rank < 2 or b.rank < 2:
            raise Rejected("ranks")
        if (b.rank > 2 or ta) and (a.shape[:-2] != b.shape[:-2] or a.rank > 4):
            raise Rejected("batch dimensions")
        k, m = (a.rank - 2, a.rank - 1) if ta else (a.rank - 1, a.rank - 2)
        kb, n = (b.rank - 1, b.rank - 2) if tb else (b.rank - 2, b.rank - 1)
        if a.shape[k] != b.shape[kb]:
            raise Rejected("shapes")
        shape = (*a.shape[:-2], a.shape[m], b.shape[n])
        if a.state == SUM and b.state != WHOLE or b.state == SUM and a.state != WHOLE:
            raise Rejected("not linear in a sum")
        if SUM in (a.state, b.state):
            state = (SUM, 0, 1, ())
        elif ROWS not in (a.state, b.state):
            state = (WHOLE, 0, 1, ())
        elif a.state == b.state:
            is_batch = a.dim < a.rank - 2 and (a.dim, a.unit) == (b.dim, b.unit) and b.rank == a.rank
            is_contracted = a.dim == k and b.dim == kb and a.unit == b.unit
            if not is_batch and not is_contracted:
                raise Rejected("mixes rows")
            state = (ROWS, a.dim, a.unit, ()) if is_batch else (SUM, 0, 1, ())
        elif a.state == ROWS:
            if a.dim == k or a.dim < a.rank - 2 and b.rank > 2:
                raise Rejected("mixes rows")
            state = (ROWS, a.rank - 2 if a.dim == m else a.dim, a.unit, ())
        else:
            if b.dim != n or b.rank != a.rank and b.rank != 2:
                raise Rejected("mixes rows")
            state = (ROWS, len(shape) - 1, b.unit, ())
        return self.result("matmul", [a, b], a.dtype, shape, state, ta=ta, tb=tb)

    def outer(self, a, b):
        if a.dtype != b.dtype or a.rank < 1 or a.shape[:-1] != b.shape[:-1] or SUM in (a.state, b.state):
            raise Rejected("shapes")
        if a.state != b.state or a.state == ROWS and ((a.dim, a.unit) != (b.dim, b.unit) or a.dim == a.rank - 1):
            raise Rejected("rows")
        return self.result("outer", [a, b], a.dtype, (*a.shape, b.shape[-1]), (a.state, a.dim, a.unit, ()))

    # --- composites ----------------------------------------------------------

    def rows(self, op, operands, **attributes):
        """Of rows of the last dimension, with vectors."""
        x = operands[0]
        if x.rank == 0 or x.state == SUM or x.state == ROWS and x.dim == x.rank - 1:
            raise Rejected("mixes rows")
        if any(v.shape != x.shape[-1:] or v.state != WHOLE for v in operands[1:]):
            raise Rejected("shapes")
        return self.result(op, operands, x.dtype, x.shape, (x.state, x.dim, x.unit, ()), **attributes)

    def embedding(self, table, ids):
        if table.rank != 2 or table.state != WHOLE or ids.state == SUM:
            raise Rejected("shapes")
        return self.result("embedding", [table, ids], table.dtype, (*ids.shape, table.shape[1]), (ids.state, ids.dim, ids.unit, ()))

    def one_hot(self, ids, classes):
        return self.result("one_hot", [ids], self.dtype, (*ids.shape, classes), (ids.state, ids.dim, ids.unit, ()))

    def gather_last(self, x, ids):
        if x.shape[:-1] != ids.shape or x.rank == 0 or SUM in (x.state, ids.state):
            raise Rejected("shapes")
        if x.state != ids.state or x.state == ROWS and ((x.dim, x.unit) != (ids.dim, ids.unit) or x.dim == x.rank - 1):
            raise Rejected("rows")
        return self.result("gather_last", [x, ids], x.dtype, x.shape[:-1], (x.state, x.dim, x.unit, ()))

    def scatter_last(self, x, ids):
        if x.shape[:-1] != ids.shape[:-1] or x.rank == 0 or ids.shape[-1] > x.shape[-1] or SUM in (x.state, ids.state):
            raise Rejected("shapes")
        if x.state != ids.state or x.state == ROWS and ((x.dim, x.unit) != (ids.dim, ids.unit) or x.dim == x.rank - 1):
            raise Rejected("rows")
        return self.result("scatter_last", [x, ids], x.dtype, x.shape, (x.state, x.dim, x.unit, ()))

    def triangle(self, x, lower, diagonal):
        if x.state == ROWS and x.dim >= x.rank - 2 or x.state == SUM:
            raise Rejected("mixes rows")
        return self.result("triangle", [x], x.dtype, x.shape, (x.state, x.dim, x.unit, ()), lower=lower, diagonal=diagonal)

    def conv1d(self, x, weight, left):
        if x.rank != 3 or x.state == SUM or x.state == ROWS and x.dim != 0 or weight.state != WHOLE:
            raise Rejected("shapes")
        return self.result("conv1d", [x, weight], x.dtype, (*x.shape[:2], weight.shape[2]), (x.state, x.dim, x.unit, ()), left=left)

    def attention(self, q, k, v, causal, scale, is_lse=False, window=None, cap=None, **changes):
        """`changes`: bias, mask, slopes and segments, of which segments alone may have rows."""
        for o in (q, k, v):
            if o.rank != 4 or o.state == SUM or o.state == ROWS and o.dim > 1:
                raise Rejected("mixes rows")
        if len({(o.state, o.dim, o.unit) if o.state == ROWS else o.state for o in (q, k, v)}) > 1:
            raise Rejected("states differ")
        if is_lse:
            return self.result("attention_lse", [q, k, v], statistics(q.dtype), q.shape[:3],
                               (q.state, q.dim, q.unit, ()), causal=causal, scale=scale)
        changes = {n: changes[n] for n in ("bias", "mask", "slopes", "segments") if changes.get(n) is not None}
        for name, o in changes.items():
            same = o.state == q.state and (o.dim, o.unit) == (q.dim, q.unit) and o.dim == 0 if o.state == ROWS else o.state == WHOLE
            if not same or name == "segments" and o.state != q.state:
                raise Rejected("states differ")
        more = {"with": list(changes)} if changes else {}
        more |= {"window": window} if window else {}
        more |= {"cap": cap} if cap else {}
        return self.result("attention", [q, k, v, *changes.values()], q.dtype, (*q.shape[:3], v.shape[3]),
                           (q.state, q.dim, q.unit, ()), causal=causal, scale=scale, **more)

    def losses(self, op, logits, targets, ignore, **attributes):
        if logits.rank < 1 or logits.shape[:-1] != targets.shape or SUM in (logits.state, targets.state):
            raise Rejected("shapes")
        if logits.state != targets.state or logits.state == ROWS and (
                (logits.dim, logits.unit) != (targets.dim, targets.unit) or logits.dim == logits.rank - 1):
            raise Rejected("rows")
        dtype = statistics(logits.dtype)
        if op == "token_loss":
            return self.result(op, [logits, targets], dtype, targets.shape, (logits.state, logits.dim, logits.unit, ()), ignore=ignore)
        return self.result(op, [logits, targets], dtype, (), (SUM if logits.state == ROWS else WHOLE, 0, 1, ()), ignore=ignore, **attributes)

    def count(self, targets, ignore, in_arithmetic=False):
        """`in_arithmetic`: for more than a division, so that it must not be zero in any step."""
        return self.result("count", [targets], statistics(self.dtype), (), (WHOLE, 0, 1, ()), ignore=ignore, in_arithmetic=in_arithmetic)

    # --- functions -----------------------------------------------------------

    def define(self, arguments, build):
        """A function of values like `arguments`; `build(builder, values)` returns its results. Gives what calls it."""
        inner = Builder(self.batch, self.dtype, self)
        values = [dataclasses.replace(a, name=self.name("a")) for a in arguments]
        results = build(inner, values)
        if any(r in values for r in results):
            raise Rejected("returns an argument")
        name = self.name("f")
        self.root.functions[name] = {"args": [[v.name, [v.dtype, list(v.shape)]] for v in values], "nodes": inner.nodes,
                                     "results": [r.name for r in results]}

        def call(operands):
            for operand, value in zip(operands, values):
                if (operand.dtype, operand.shape, operand.state, operand.dim, operand.unit) != (
                        value.dtype, value.shape, value.state, value.dim, value.unit):
                    raise Rejected("another argument")
                if value.from_inputs and not operand.from_inputs:
                    raise Rejected("the function was drawn for inputs")
            node = {"name": self.name("c"), "op": "call", "in": [o.name for o in operands], "function": name, "type": None,
                    "types": [[r.dtype, list(r.shape)] for r in results]}
            self.nodes.append(node)
            return [dataclasses.replace(r, name=f"{node['name']}:{i}", from_inputs=all(o.from_inputs for o in operands),
                                        learns=r.learns and any(o.learns for o in operands), free=frozenset())
                    for i, r in enumerate(results)]
        return call

    def description(self, loss, seed, steps):
        return {"seed": seed, "batch": self.batch, "steps": steps, "float": self.dtype, "inputs": self.inputs, "params": self.params,
                "functions": self.functions, "nodes": self.nodes, "loss": loss.name, **({"mixes": True} if self.mixes else {})}
