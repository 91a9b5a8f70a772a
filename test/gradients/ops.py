"""The ops whose gradients are checked: one line a case. A new op adds its lines here.

A case is (steps, operands): steps is "op text" and the same in numpy, or a list of such pairs; see graph.py. Domains of
operands: "any" (normal), "positive" (0.4 to 2), "apart" (distinct and away from 0, for ops with kinks), "steps" (away from
multiples of 1/2), "exact" (f32 holds them and their sums).
"""
import math

import numpy as np

from graph import Ids, P, Rows
from support.attention import attention
from support.convolution import conv

erf = np.vectorize(math.erf, otypes=[float])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x):
    m = x - x.max(-1, keepdims=True)
    return m - np.log(np.exp(m).sum(-1, keepdims=True))


def normalize(x, center, eps=1e-5):
    if center:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)


def transposed(x):
    return np.swapaxes(x, -1, -2)


def token_loss(logits, targets):
    picked = np.take_along_axis(log_softmax(logits), np.maximum(targets, 0)[..., None].astype(int), -1)[..., 0]
    return np.where(targets >= 0, -picked, 0)


def cross_entropy(logits, targets):
    return token_loss(logits, targets).sum() / (targets >= 0).sum()


def pad(x, shape, offsets):
    result = np.zeros(shape)
    result[tuple(slice(o, o + d) for o, d in zip(offsets, x.shape))] = x
    return result


def rotary(x, positions=None, base=1e4, interleaved=False, width=None, scale=lambda frequencies: frequencies):
    """transformers' modeling_rope_utils and apply_rotary_pos_emb."""
    width = width or x.shape[-1]
    frequencies = scale(base ** (-np.arange(0, width, 2) / width))
    positions = np.arange(x.shape[-2]) if positions is None else positions
    angles = positions[..., None] * frequencies
    if angles.ndim == 3:
        angles = angles.reshape(angles.shape[:1] + (1,) * (x.ndim - 3) + angles.shape[1:])
    cos, sin, y = np.cos(angles), np.sin(angles), x.copy()
    first, second = (slice(0, width, 2), slice(1, width, 2)) if interleaved else (slice(0, width // 2), slice(width // 2, width))
    a, b = x[..., first], x[..., second]
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y


def llama3(factor, low, high, length):
    def scale(frequencies):
        turns = length * frequencies / (2 * np.pi)
        share = (turns - low) / (high - low)
        between = (1 - share) * frequencies / factor + share * frequencies
        return np.where(turns < low, frequencies / factor, np.where(turns > high, frequencies, between))
    return scale


def scatter_add(x, ids, updates, dim):
    result = x.copy()
    for at in np.ndindex(ids.shape):
        result[at[:dim] + (ids[at],) + at[dim + 1:]] += updates[at]
    return result


def scatter(x, ids, updates, dim):
    result = x.copy()
    for at in np.ndindex(ids.shape):
        result[at[:dim] + (ids[at],) + at[dim + 1:]] = updates[at]
    return result


def one_hot(ids, count):
    return (ids[..., None] == np.arange(count)).astype(float)


def sorted_along(x, dim, count=None, descending=True):
    ids = np.argsort(-x if descending else x, axis=dim, kind="stable")
    return np.take_along_axis(x, np.take(ids, range(count or x.shape[dim]), axis=dim), dim)


def cumsum(x, dim, reverse=False, exclusive=False):
    x = np.flip(x, dim) if reverse else x
    y = np.cumsum(x, dim) - (x if exclusive else 0)
    return np.flip(y, dim) if reverse else y


def places(experts, count, capacity):
    """The place of each choice in its expert's buffer, first come first served; capacity or more: dropped."""
    flat = one_hot(experts.reshape(len(experts), -1), count)
    return ((np.cumsum(flat, 1) - flat) * flat).sum(-1).astype(int).reshape(experts.shape)


def dispatch(x, experts, count, capacity):
    result, place = np.zeros((len(x), count, capacity, x.shape[-1])), places(experts, count, capacity)
    for b, t, k in np.ndindex(experts.shape):
        if place[b, t, k] < capacity:
            result[b, experts[b, t, k], place[b, t, k]] = x[b, t]
    return result


def combine(y, experts, weights):
    place = places(experts, *y.shape[1:3])
    result = np.zeros((*experts.shape[:2], y.shape[-1]))
    for b, t, k in np.ndindex(experts.shape):
        if place[b, t, k] < y.shape[2]:
            result[b, t] += weights[b, t, k] * y[b, experts[b, t, k], place[b, t, k]]
    return result


def index_cases():
    """Ops that take or give indices."""
    c = []
    for shape, ids, dim in [((5,), (3,), 1), ((4, 3), (7, 3), 1), ((3, 4), (3, 1), 2), ((2, 3, 4), (2, 5, 4), 2)]:
        at = f"{{dim = {dim} : i64}}"
        high = shape[dim - 1]
        c += [(f"gather %0, %1 {at}", lambda x, i, d=dim: np.take_along_axis(x, i, d), [Rows(*shape), Ids(*ids, high=high)]),
              (f"scatter_add %0, %1, %2 {at}", lambda x, i, u, d=dim: scatter_add(x, i, u, d),
               [Rows(*shape), Ids(*ids, high=high), Rows(*ids)]),
               (f"scatter %0, %1, %2 {at}", lambda x, i, u, d=dim: scatter(x, i, u, d),
                [Rows(*shape), Ids(*ids, high=high), Rows(*ids)])]
    # A table of the model: the gradient is a sum over the batch.
    c += [("gather %0, %1 {dim = 0 : i64}", lambda x, i: np.take_along_axis(x, i, 0), [P(6, *s), Ids(*s, high=6)])
          for s in [(), (3,), (2, 3)]]
    for shape, dim, count in [((7,), 0, 3), ((5, 4), 0, 2), ((3, 9), 1, 9), ((2, 9), 1, 1), ((2, 5, 3), 1, 2)]:
        at = f"dim = {dim} : i64"
        x = P(*shape, domain="apart")
        c += [(f"top_k %0 {{k = {count} : i64, {at}}}", lambda x, d=dim, n=count: sorted_along(x, d, n), [x]),
              (f"top_k %0 {{k = {count} : i64, {at}, smallest}}", lambda x, d=dim, n=count: sorted_along(x, d, n, False), [x]),
              (f"sort %0 {{{at}}}", lambda x, d=dim: sorted_along(x, d, None, False), [x]),
              (f"sort %0 {{{at}, descending}}", lambda x, d=dim: sorted_along(x, d), [x])]
    for flags in ("", "reverse", "exclusive", "reverse, exclusive"):
        given = {name: name in flags for name in ("reverse", "exclusive")}
        c += [(f"cumsum %0 {{dim = {d} : i64{flags and ', ' + flags}}}", lambda x, d=d, g=given: cumsum(x, d, **g), [P(*s)])
              for s, d in [((5,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1)]]
    c += [([("one_hot %0", lambda i: one_hot(i, 5)), ("mul %2, %1", np.multiply)], None, [Ids(*s, high=5), P(5)])
          for s in [(), (3,)]]
    for op, forward in [("tril", np.tril), ("triu", np.triu)]:
        c += [(f"{op} %0 {{diagonal = {k} : i64}}", lambda x, f=forward, k=k: f(x, k), [P(*s)])
              for s, k in [((3, 4), 0), ((4, 3), 1), ((2, 3, 3), -1)]]
    c += [(f"roll %0 {{shift = {n} : i64, dim = {d} : i64}}", lambda x, n=n, d=d: np.roll(x, n, d), [P(*s)])
          for s, n, d in [((5,), 2, 0), ((3, 4), -1, 1), ((3, 4), 7, 0), ((2, 3), 3, 1)]]
    c += [([("compare lt %0, %1", np.less), (f"reduce {kind} %3 [1]", lambda x, f=f: f(x, 1)), ("select %4, %2, %2", np.where)],
           None, [P(3, 4), P(3, 4), P(3)]) for kind, f in [("any", np.any), ("all", np.all)]]
    for tokens, k, count, capacity, width in [(5, 1, 3, 5, 3), (5, 2, 3, 2, 4), (4, 2, 2, 1, 1)]:
        experts = Ids(tokens, k, high=count)
        c += [("dispatch %0, %1", lambda x, e, n=count, p=capacity: dispatch(x, e, n, p), [Rows(tokens, width), experts]),
              ("combine %0, %1, %2", combine, [Rows(count, capacity, width), experts, Rows(tokens, k)])]
    return c


def conv_cases():
    """[x, w, P..., windows]: x [B, G, C, S...], w [G, O, C, K...]."""
    shapes = [
        ((2, 1, 3, 8), (1, 4, 3, 3), (8,), {"offsets": [-1]}),
        ((2, 1, 2, 9), (1, 3, 2, 1), (9,), {}),
        ((1, 2, 2, 12), (2, 1, 2, 3), (5,), {"strides": [2]}),
        ((2, 5, 1, 7), (5, 1, 1, 4), (7,), {"offsets": [-3]}),
        ((1, 1, 2, 70), (1, 2, 2, 5), (35,), {"strides": [2], "offsets": [-2]}),
        ((1, 1, 2, 11), (1, 2, 2, 3), (5,), {"dilations": [3]}),
        ((1, 1, 2, 6), (1, 2, 2, 3), (13,), {"offsets": [-2], "spreads": [2]}),
        ((1, 1, 1, 5), (1, 2, 1, 4), (9,), {"strides": [2], "offsets": [-3], "spreads": [3]}),
        ((1, 1, 1, 5), (1, 1, 1, 4), (7,), {"strides": [4], "dilations": [3], "offsets": [-7], "spreads": [6]}),
        ((1, 1, 1, 9), (1, 1, 1, 4), (6,), {"strides": [-2], "dilations": [-1], "offsets": [11]}),
        ((1, 1, 1, 5), (1, 2, 1, 3), (6,), {"strides": [-3], "dilations": [2], "offsets": [9], "spreads": [2]}),
        ((1, 1, 1, 40), (1, 1, 1, 38), (3,), {}),
        ((2, 2, 2, 5, 6), (2, 3, 2, 3, 2), (5, 5), {"offsets": [-1, 0]}),
        ((1, 1, 2, 6, 7), (1, 2, 2, 3, 3), (3, 4), {"strides": [2, 2], "offsets": [-1, -1]}),
        ((1, 1, 1, 3, 2), (1, 1, 1, 2, 3), (6, 5), {"offsets": [-1, -2], "spreads": [2, 2]}),
        ((1, 1, 2, 3, 4, 2), (1, 1, 2, 2, 2, 2), (2, 3, 3), {"offsets": [0, 0, -1]})]
    return [("conv %0, %1" + "".join(f" {name} {values}" for name, values in windows.items()),
             lambda x, w, sizes=sizes, windows=windows: conv(x, w, sizes, **windows), [P(*x), P(*w)]) for x, w, sizes, windows in shapes]


def elementwise(op, forward, **domain):
    """Shapes of rank 0 to 3, odd sizes and a size that fills vectors."""
    return [(f"{op}", forward, [P(*shape, **domain)]) for shape in [(), (1,), (7,), (3, 16), (2, 3, 5)]]


def binary(op, forward, **domain):
    """Equal shapes and each way of broadcasting."""
    pairs = [((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((4,), (3, 4)), ((3, 1), (1, 4)), ((3, 4), ()),
             ((2, 1, 3), (5, 1)), ((2, 3, 4), (2, 3, 4))]
    return [(op, forward, [P(*a, **domain), P(*b, **domain)]) for a, b in pairs]


def cases():
    """[(text or steps, forward or None, operands)]"""
    c = []
    c += elementwise("neg %0", np.negative)
    c += elementwise("abs %0", np.abs, domain="apart")
    c += elementwise("exp %0", np.exp)
    c += elementwise("log %0", np.log, domain="positive")
    c += elementwise("sqrt %0", np.sqrt, domain="positive")
    c += elementwise("rsqrt %0", lambda x: 1 / np.sqrt(x), domain="positive")
    c += elementwise("expm1 %0", np.expm1)
    c += elementwise("log1p %0", np.log1p, domain="positive")
    c += elementwise("sin %0", np.sin)
    c += elementwise("cos %0", np.cos)
    for op, forward in [("sign", np.sign), ("floor", np.floor), ("ceil", np.ceil), ("round", np.round)]:
        c += elementwise(f"{op} %0", forward, domain="steps")
    for exponent in (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 2.5, -1.5):
        c += elementwise(f"pow %0 {{exponent = {exponent} : f64}}", lambda x, e=exponent: np.power(x, e), domain="positive")
    for exponent in (3.0, 4.0):
        c += elementwise(f"pow %0 {{exponent = {exponent} : f64}}", lambda x, e=exponent: np.power(x, e))
    for bounds in ({"min": -0.4}, {"max": 0.8}, {"min": -0.9, "max": 0.1}, {"min": 1.0, "max": -1.0}):
        text = ", ".join(f"{name} = {value} : f64" for name, value in bounds.items())
        c += elementwise(f"clamp %0 {{{text}}}", lambda x, b=bounds: np.minimum(np.maximum(x, b.get("min", -9)), b.get("max", 9)),
                         domain="apart")
    c += elementwise("atan %0", np.arctan)
    c += elementwise("tanh %0", np.tanh)
    c += elementwise("erf %0", erf)
    c += elementwise("sigmoid %0", sigmoid)
    c += elementwise("softplus %0", lambda x: np.log1p(np.exp(x)))
    c += elementwise("relu %0", lambda x: np.maximum(x, 0), domain="apart")
    c += elementwise("checkpoint %0", lambda x: x)
    c += elementwise("silu %0", lambda x: x * sigmoid(x))
    c += elementwise("mish %0", lambda x: x * np.tanh(np.log1p(np.exp(x))))
    hardsigmoid = lambda x: np.clip(x + 3, 0, 6) / 6
    for op, forward in [("hardsigmoid", hardsigmoid), ("hardswish", lambda x: x * hardsigmoid(x))]:
        c += [([("add %0, %0", np.add), ("add %1, %1", np.add), (f"{op} %2", forward)], None, [P(*shape, domain="apart")]) for shape in [(1,), (3, 16)]]
        c += elementwise(f"{op} %0", forward, domain="apart")
    for text, slope in [("", 0.01), (" {slope = 0.2 : f64}", 0.2), (" {slope = -1.5 : f64}", -1.5)]:
        c += elementwise(f"leaky_relu %0{text}", lambda x, s=slope: np.where(x > 0, x, s * x), domain="apart")
    for text, alpha in [("", 1.0), (" {alpha = 0.5 : f64}", 0.5)]:
        c += elementwise(f"elu %0{text}", lambda x, a=alpha: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))), domain="apart")
    c += elementwise("gelu %0", gelu)
    c += elementwise("gelu %0 {tanh}", gelu_tanh)
    c += binary("add %0, %1", np.add)
    c += binary("sub %0, %1", np.subtract)
    c += binary("mul %0, %1", np.multiply)
    c += binary("div %0, %1", np.divide, domain="positive")
    c += binary("power %0, %1", np.power, domain="positive")
    c += binary("maximum %0, %1", np.maximum)
    c += binary("minimum %0, %1", np.minimum)
    for predicate, compare in [("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal),
                               ("gt", np.greater), ("ge", np.greater_equal)]:
        c += [([(f"compare {predicate} %0, %1", compare), ("select %2, %0, %1", np.where)], None, [P(3, 4), P(3, 4)])]
    c += [([("compare lt %0, %1", np.less), ("select %3, %2, %0", np.where)], None, [P(3, 1), P(4), P(3, 4)])]
    c += [([("cast %0", np.copy, "f32"), ("cast %1", np.copy)], None, [P(2, 3, domain="exact")])]
    c += [([("detach %0", np.copy), ("mul %0, %1", np.multiply)], None, [P(5)])]

    c += [("reshape %0", lambda x, to=to: x.reshape(to), [P(*shape)]) for shape, to in
          [((6, 4), (3, 8)), ((24,), (2, 3, 4)), ((2, 3, 4), (24,)), ((1, 5), (5,)), ((3,), (3, 1))]]
    c += [(f"transpose %0 {perm}", lambda x, perm=perm: x.transpose(perm), [P(*shape)]) for shape, perm in
          [((3, 4), [1, 0]), ((2, 3, 4), [0, 2, 1]), ((2, 3, 4), [2, 0, 1]), ((2, 3, 2, 3), [0, 2, 1, 3])]]
    c += [(f"slice %0 {at}", lambda x, at=at, to=to: x[tuple(slice(a, a + n) for a, n in zip(at, to))], [P(*shape)])
          for shape, at, to in [((7,), [2], (3,)), ((4, 6), [1, 3], (2, 3)), ((2, 3, 4), [0, 1, 0], (2, 1, 4))]]
    c += [(f"pad %0 {at}", lambda x, at=at, to=to: pad(x, to, at), [P(*shape)])
          for shape, at, to in [((3,), [2], (7,)), ((2, 3), [1, 3], (4, 6)), ((2, 1, 4), [0, 1, 0], (2, 3, 4))]]
    c += [("concat %0, %1 {dim = 0 : i64}", lambda a, b: np.concatenate([a, b], 0), [P(2, 3), P(4, 3)]),
          ("concat %0, %1, %2 {dim = 1 : i64}", lambda *a: np.concatenate(a, 1), [P(2, 3), P(2, 1), P(2, 4)]),
          ("concat %0, %0 {dim = 0 : i64}", lambda a, b: np.concatenate([a, b], 0), [P(3)])]
    c += [("broadcast %0 [1]", lambda x: np.broadcast_to(x, (3, 4)), [P(4)]),
          ("broadcast %0 [0]", lambda x: np.broadcast_to(x[:, None], (3, 4)), [P(3)]),
          ("broadcast %0 []", lambda x: np.broadcast_to(x, (2, 3)), [P()]),
          ("broadcast %0 [0, 2]", lambda x: np.broadcast_to(x[:, None], (2, 5, 4)), [P(2, 1)])]

    for kind, forward, domain in [("sum", np.sum, "any"), ("mean", np.mean, "any"), ("max", np.max, "apart"),
                                  ("min", np.min, "apart")]:
        for shape, dims in [((5,), (0,)), ((3, 17), (1,)), ((3, 4), (0,)), ((3, 4), (0, 1)), ((2, 3, 4), (1,)),
                            ((2, 3, 4), (0, 2)), ((2, 3, 4), (0, 1, 2))]:
            for keep in (False, True):
                text = f"reduce {kind} %0 {list(dims)}" + (" {keep_dims}" if keep else "")
                c += [(text, lambda x, f=forward, d=dims, k=keep: f(x, axis=d, keepdims=k), [P(*shape, domain=domain)])]

    for lhs, rhs in [((2, 3), (3, 4)), ((1, 5), (5, 1)), ((2, 3, 4), (4, 5)), ((2, 2, 3, 4), (4, 5)),
                     ((3, 2, 4), (3, 4, 5)), ((2, 3, 2, 4), (2, 3, 4, 5))]:
        c += [("matmul %0, %1", np.matmul, [P(*lhs), P(*rhs)]),
              ("matmul %0, %1 {transpose_rhs}", lambda a, b: a @ transposed(b), [P(*lhs), P(*rhs[:-2], rhs[-1], rhs[-2])])]
        if len(lhs) == 2 or len(rhs) > 2:
            t = (*lhs[:-2], lhs[-1], lhs[-2])
            c += [("matmul %0, %1 {transpose_lhs}", lambda a, b: transposed(a) @ b, [P(*t), P(*rhs)]),
                  ("matmul %0, %1 {transpose_lhs, transpose_rhs}", lambda a, b: transposed(a) @ transposed(b),
                   [P(*t), P(*rhs[:-2], rhs[-1], rhs[-2])])]
    c += [("matmul %0, %0 {transpose_rhs}", lambda a, b: a @ b.T, [P(3, 4)])]

    for shape in [(5,), (3, 4), (2, 3, 17)]:
        c += [("softmax %0", softmax, [P(*shape)]), ("log_softmax %0", log_softmax, [P(*shape)]),
              ("normalize %0 {center, eps = 1.0e-05 : f64}", lambda x: normalize(x, True), [P(*shape)]),
              ("normalize %0 {eps = 1.0e-02 : f64}", lambda x: normalize(x, False, 1e-2), [P(*shape)]),
              ("layer_norm %0, %1, %2", lambda x, s, b: normalize(x, True) * s + b,
               [P(*shape), P(shape[-1]), P(shape[-1])]),
              ("rms_norm %0, %1", lambda x, s: normalize(x, False) * s, [P(*shape), P(shape[-1])])]
    for q, k, v in [((1, 1, 3, 4), (1, 1, 3, 4), (1, 1, 3, 4)), ((2, 2, 5, 3), (2, 2, 5, 3), (2, 2, 5, 4))]:
        c += [("attention %0, %1, %2", attention, [P(*q), P(*k), P(*v)]),
              ("attention %0, %1, %2 {causal}", lambda q, k, v: attention(q, k, v, True), [P(*q), P(*k), P(*v)])]
    c += [("attention %0, %1, %2 {scale = 7.0e-01 : f64}", lambda q, k, v: attention(q, k, v, scale=0.7),
           [P(1, 2, 3, 4), P(1, 2, 6, 4), P(1, 2, 6, 5)])]

    q, k, v = P(2, 4, 5, 3), P(2, 2, 5, 3), P(2, 2, 5, 4)
    c += [("attention %0, %1, %2", attention, [q, k, v]),
          ("attention %0, %1, %2 {causal, window = 2 : i64}", lambda *x: attention(*x, causal=True, window=2), [q, k, v]),
          ("attention %0, %1, %2 {window = 3 : i64}", lambda *x: attention(*x, window=3), [q, k, v]),
          ("attention %0, %1, %2 {causal, soft_cap = 1.5 : f64}", lambda *x: attention(*x, causal=True, cap=1.5), [q, k, v]),
          ("attention %0, %1, %2 {causal}", lambda *x: attention(*x, causal=True), [P(2, 4, 3, 3), k, v]),
          ("attention %0, %1, %2 slopes %3", lambda q, k, v, x: attention(q, k, v, slopes=x), [q, k, v, P(4)]),
          ("attention %0, %1, %2 segments %3 {causal}", lambda q, k, v, x: attention(q, k, v, True, segments=x),
           [q, k, v, Ids(5, high=2)])]
    c += [("attention %0, %1, %2 bias %3", lambda q, k, v, x: attention(q, k, v, bias=x), [q, k, v, P(*shape)])
          for shape in [(2, 4, 5, 5), (1, 4, 5, 5), (2, 1, 1, 5), (1, 1, 5, 1), (1, 1, 1, 1)]]
    c += [([("compare lt %3, %4", np.less), ("attention %0, %1, %2 mask %5", lambda q, k, v, x: attention(q, k, v, mask=x))], None,
           [q, k, v, P(*shape), P(1)]) for shape in [(2, 4, 5, 5), (2, 1, 1, 5), (1, 4, 5, 1)]]
    c += [([("compare lt %5, %6", np.less),
            ("attention %0, %1, %2 bias %3 mask %7 slopes %4 {causal, window = 3 : i64, soft_cap = 2.0 : f64}",
             lambda q, k, v, b, m, s: attention(q, k, v, True, None, 3, 2.0, b, m, s))], None,
           [q, k, v, P(1, 4, 5, 5), P(4), P(1, 1, 5, 5), P(1)])]

    for shape in [(1, 2), (3, 4), (2, 5, 6), (2, 3, 4, 8)]:
        c += [("rotary %0", rotary, [P(*shape)]),
              ("rotary %0 {interleaved, base = 20.0 : f64}", lambda x: rotary(x, base=20, interleaved=True), [P(*shape)]),
              ("rotary %0 {width = 2 : i64}", lambda x: rotary(x, width=2), [P(*shape)]),
              ("rotary %0 scaled linear {factor = 2.5 : f64}", lambda x: rotary(x, scale=lambda f: f / 2.5), [P(*shape)])]
    for shape in [(5, 6), (3, 5, 8), (1, 2, 7, 4)]:
        width = shape[-1]
        numbers = "factor = 8.0 : f64, low_freq_factor = 1.0 : f64, high_freq_factor = 4.0 : f64, original_length = 64 : i64"
        c += [("rotary %0 scaled ntk {factor = 4.0 : f64}", lambda x: rotary(x, base=1e4 * 4 ** (x.shape[-1] / (x.shape[-1] - 2))), [P(*shape)]),
              (f"rotary %0 scaled llama3 {{{numbers}, base = 100.0 : f64}}", lambda x: rotary(x, base=100, scale=llama3(8, 1, 4, 64)), [P(*shape)]),
              ("rotary %0 {interleaved, width = 4 : i64}", lambda x: rotary(x, interleaved=True, width=4), [P(*shape)])]
    c += [("rotary %0 at %1", rotary, [Rows(*shape, 4), Ids(shape[-1], high=50)]) for shape in [(3,), (2, 5), (2, 1, 4)]]
    c += [("embedding %0, %1", lambda t, i: t[i], [P(6, 3), Ids(*shape, high=6)]) for shape in [(), (4,), (3, 2)]]
    for shape, ignored in [((5,), ()), ((3, 4), ())]:
        c += [("token_loss %0, %1", token_loss, [Rows(*shape), Ids(*shape[:-1], high=shape[-1])]),
              ("cross_entropy %0, %1", cross_entropy, [Rows(*shape), Ids(*shape[:-1], high=shape[-1])])]
    c += [("token_loss %0, %1 {ignore_index = -1 : i64}", token_loss, [Rows(4, 5), Ids(4, high=5, ignored=(0, 5, 6))]),
          ("cross_entropy %0, %1 {ignore_index = -1 : i64}", cross_entropy,
           [Rows(4, 5), Ids(4, high=5, ignored=(0, 1, 2, 3, 6))])]
    c += index_cases()
    c += conv_cases()
    c += [("mse %0, %1", lambda x, y: ((x - y) ** 2).mean(), [Rows(*s), Rows(*s)]) for s in [(3,), (2, 4)]]
    return c
