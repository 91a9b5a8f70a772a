"""The rows of the table of ops that compute: matmuls, elementwise ops, reductions, norms. (Those that move: op_rows_shapes.py.)"""
import math

import torch
import torch.nn.functional as F

from op_cases import BATCH, Case, row


# Matmuls.

@row(2)
def linear(r):
    k, n = r.size(), r.size()
    x = r.normal(*r.sizes(r.rank(0, 3)), k)
    if r.flip():
        yield Case(lambda x, weight, bias: F.linear(x, weight, bias), dict(x=x, weight=r.normal(n, k), bias=r.normal(n)))
    else:
        yield Case(lambda x, weight: F.linear(x, weight), dict(x=x, weight=r.normal(n, k)))


@row()
def linear_of_input(r):
    yield Case(lambda weight, bias, rows: F.linear(rows, weight, bias), dict(weight=r.normal(5, 4), bias=r.normal(5)),
               dict(rows=r.normal(BATCH, 2, 4)))


@row(2)
def addmm(r):
    m, k, n = r.sizes(3)
    beta, alpha = r.one_of((1, 1), (0.5, -2), (2, 0.25))
    yield Case(lambda x, y, z: torch.addmm(x, y, z, beta=beta, alpha=alpha),
               dict(x=r.normal(*r.broadcast([m, n])), y=r.normal(m, k), z=r.normal(k, n)))


@row()
def mm(r):
    m, k, n = r.sizes(3)
    yield Case(lambda x, y: torch.mm(x, y), dict(x=r.normal(m, k), y=r.normal(k, n)))


@row()
def bmm(r):
    b, m, k, n = r.sizes(4)
    yield Case(lambda x, y: torch.bmm(x, y), dict(x=r.normal(b, m, k), y=r.normal(b, k, n)))


@row()
def baddbmm(r):
    b, m, k, n = r.sizes(4)
    yield Case(lambda x, y, z: torch.baddbmm(x, y, z, beta=0.5, alpha=2),
               dict(x=r.normal(b, m, n), y=r.normal(b, m, k), z=r.normal(b, k, n)))


@row()
def matmul(r):
    """Every pair of ranks, with broadcasting."""
    for left in range(1, 5):
        for right in range(1, 5):
            m, k, n = r.sizes(3)
            batch = r.sizes(2, 2)
            batches = [r.broadcast(batch[2 - max(rank - 2, 0):] if rank > 2 else []) for rank in (left, right)]
            batches = [[1] * (max(rank - 2, 0) - len(b)) + b for rank, b in zip((left, right), batches)]
            x = r.normal(k) if left == 1 else r.normal(*batches[0], m, k)
            y = r.normal(k) if right == 1 else r.normal(*batches[1], k, n)
            yield Case(lambda x, y: torch.matmul(x, y), dict(x=x, y=y), label=f"{left}x{right}")


@row()
def einsum(r):
    a, b, c, d = r.sizes(4, 2)
    sizes = dict(a=a, b=b, c=c, d=d)
    for equation in ("ab,bc->ac", "abc,dc->abd", "abcd,abed->bace", "ab,ab->", "abc->ca", "a,b->ab", "aab->ab", "...a,ab->...b"):
        terms = equation.split("->")[0].split(",")
        shapes = [[sizes.get(n, 3) for n in t.replace("...", "cd")] for t in terms]
        if len(terms) == 2:
            yield Case(lambda x, y, e=equation: torch.einsum(e, x, y), dict(x=r.normal(*shapes[0]), y=r.normal(*shapes[1])), label=equation)
        elif equation != "aab->ab":
            yield Case(lambda x, e=equation: torch.einsum(e, x), dict(x=r.normal(*shapes[0])), label=equation)


@row()
def vectors(r):
    m, k = r.sizes(2)
    yield Case(lambda x, y: torch.dot(x, y), dict(x=r.normal(k), y=r.normal(k)), label="dot")
    yield Case(lambda x, y: torch.mv(x, y), dict(x=r.normal(m, k), y=r.normal(k)), label="mv")
    yield Case(lambda x, y: torch.outer(x, y), dict(x=r.normal(m), y=r.normal(k)), label="outer")


# Of two tensors.

def pair(r, make=None):
    make = make or r.normal
    shape = r.sizes(r.rank(1, 4))
    x, y = make(*shape), make(*r.broadcast(shape))
    return dict(x=x, y=y) if r.flip() else dict(x=y, y=x)


@row(2)
def add(r):
    alpha = r.one_of(1, 2, -0.5)
    yield Case(lambda x, y: torch.add(x, y, alpha=alpha), pair(r))
    yield Case(lambda x: torch.add(x, 3, alpha=alpha), dict(x=r.normal(r.size(), r.size())), label="scalar")


@row(2)
def sub(r):
    alpha = r.one_of(1, 2, -0.5)
    yield Case(lambda x, y: torch.sub(x, y, alpha=alpha), pair(r))
    yield Case(lambda x: 1.5 - x, dict(x=r.normal(r.size(), r.size())), label="rsub")


@row()
def mul(r):
    yield Case(lambda x, y: x * y, pair(r))
    yield Case(lambda x: x * -2.5, dict(x=r.normal(r.size(), r.size())), label="scalar")
    yield Case(lambda x, flags: x * flags, dict(x=r.normal(4, 5)), constants=dict(flags=r.flags(4, 5)), label="bool")


@row()
def div(r):
    yield Case(lambda x, y: x / y, pair(r, r.positive))
    yield Case(lambda x: x / 7, dict(x=r.normal(r.size(), r.size())), label="scalar")
    yield Case(lambda x: 2 / x, dict(x=r.positive(r.size(), r.size())), label="reciprocal")


@row()
def pow(r):
    for exponent in (2, 3, 0.5, -1, 2.5, 0, 1, -2):
        yield Case(lambda x, e=exponent: torch.pow(x, e), dict(x=r.positive(r.size(), r.size())), label=f"tensor_{exponent}")
    yield Case(lambda x: torch.pow(x, 3), dict(x=r.normal(3, 5)), label="tensor_3_of_negative")
    yield Case(lambda x: torch.pow(2.5, x), dict(x=r.normal(3, 4)), label="of_scalar")
    yield Case(lambda x, y: torch.pow(x, y), pair(r, r.positive), label="of_tensors")


@row()
def minimum(r):
    shape = r.sizes(2, 2)
    yield Case(lambda x, y: torch.minimum(x, y), dict(x=r.distinct(*shape), y=r.normal(*shape)))
    yield Case(lambda x, y: torch.maximum(x, y), dict(x=r.distinct(*shape), y=r.normal(shape[1])), label="maximum")
    yield Case(lambda x: torch.maximum(x, x.new_tensor(0.0)), dict(x=r.distinct(*shape)), label="with_constant")


@row()
def compare(r):
    """Of few values, so that some are equal."""
    def few(*shape):
        return r.ids(3, *shape).double()
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        f = getattr(torch, name)
        yield Case(lambda x, y, z, t, f=f: torch.where(f(x, y), z * x, t * y), dict(x=few(4, 3), y=few(3), z=r.normal(4, 3), t=r.normal(4, 1)), label=name)
        yield Case(lambda x, z, f=f: torch.where(f(x, 1), z, x), dict(x=torch.arange(5.0).double() - 1, z=r.normal(5)), label=f"{name}_scalar")


@row()
def logical(r):
    for name in ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or"):
        f = getattr(torch, name)
        yield Case(lambda x, y, f=f: torch.where(f(x > 0, y > 0), x, y), dict(x=r.distinct(4, 3), y=r.distinct(4, 3)), label=name)
    yield Case(lambda x: x * ~(x > 0), dict(x=r.distinct(5)), label="not")
    yield Case(lambda x: x * torch.logical_not(x > 0), dict(x=r.distinct(5)), label="logical_not")


# Of one tensor.

UNARY = {
    "exp": torch.exp, "expm1": torch.expm1, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh, "erf": torch.erf, "sigmoid": torch.sigmoid,
    "silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu, "relu6": F.relu6,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2), "leaky_relu_default": F.leaky_relu, "elu": F.elu, "elu_alpha": lambda x: F.elu(x, 0.5),
    "celu": lambda x: F.celu(x, 0.5), "selu": F.selu, "softplus": F.softplus, "softplus_beta": lambda x: F.softplus(x, beta=2.0, threshold=1.0),
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.7), "hardswish": F.hardswish, "mish": F.mish,
    "logsigmoid": F.logsigmoid, "softsign": F.softsign, "abs": torch.abs, "neg": torch.neg, "square": torch.square,
}
POSITIVE = {"log": torch.log, "log1p": torch.log1p, "log2": torch.log2, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal}
# (No hardsigmoid: torch's own gradient in f64 has a sixth in f32.) Their gradient is zero.
STEPS = {"sign": torch.sign, "floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc}


@row()
def unary(r):
    for name, f in UNARY.items():
        yield Case(lambda x, f=f: f(x), dict(x=r.distinct(*r.sizes(r.rank(1, 3))) * 0.3), label=name)
    for name, f in POSITIVE.items():
        yield Case(lambda x, f=f: f(x), dict(x=r.positive(*r.sizes(r.rank(1, 3)))), label=name)
    for name, f in STEPS.items():
        yield Case(lambda x, f=f: f(x) * x, dict(x=r.distinct(*r.sizes(2))), label=name)


@row()
def clamp(r):
    x = r.distinct(3, 5)
    yield Case(lambda x: torch.clamp(x, -0.6, 1.1), dict(x=x))
    yield Case(lambda x: torch.clamp(x, min=0.4), dict(x=x), label="min")
    yield Case(lambda x: x.clamp_max(1), dict(x=x), label="max")
    yield Case(lambda x, y: torch.clamp(x, min=y), dict(x=x, y=r.normal(5)), label="tensor")


@row()
def where(r):
    yield Case(lambda x, y, flags: torch.where(flags, x, y), dict(x=r.normal(4, 3), y=r.normal(3)), constants=dict(flags=r.flags(4, 1)))
    yield Case(lambda x, flags: torch.where(flags, x, 0.25), dict(x=r.normal(4, 3)), constants=dict(flags=r.flags(4, 3)), label="scalar")
    yield Case(lambda x, rows: torch.where(rows > 1, x, -x), dict(x=r.normal(3)), dict(rows=r.ids(4, BATCH, 3)), label="computed")


@row()
def masked_fill(r):
    yield Case(lambda x, flags: x.masked_fill(flags, -2.5), dict(x=r.normal(4, 3)), constants=dict(flags=r.flags(3)))
    yield Case(lambda x, y, flags: x.masked_fill(flags, y), dict(x=r.normal(4, 3), y=torch.tensor(0.7, dtype=torch.float64)),
               constants=dict(flags=r.flags(4, 1)), label="tensor")
    yield Case(lambda x, flags: x.masked_fill(flags, float("-inf")).softmax(-1), dict(x=r.normal(4, 4)),
               constants=dict(flags=torch.ones(4, 4).triu(1).bool()), label="infinity")


# Over dimensions.

@row()
def softmax(r):
    for name, f in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
        for _ in range(2):
            shape = r.sizes(r.rank(1, 4))
            dim = r.dim(len(shape))
            yield Case(lambda x, f=f, dim=dim: f(x, dim), dict(x=r.normal(*shape)), label=name)


@row()
def logsumexp(r):
    shape = r.sizes(r.rank(1, 3))
    dims, keep = r.dims(len(shape)), r.flip()
    yield Case(lambda x: torch.logsumexp(x, dims, keepdim=keep), dict(x=r.normal(*shape)))


@row()
def reduce(r):
    for name in ("sum", "mean", "amax", "amin"):
        f = getattr(torch, name)
        for keep in (False, True):
            shape = r.sizes(r.rank(2, 4))
            dims = r.dims(len(shape))
            yield Case(lambda x, f=f, dims=dims, keep=keep: f(x, dims, keepdim=keep), dict(x=r.distinct(*shape)), label=f"{name}_{keep}".lower())
    for name in ("sum", "mean"):
        f = getattr(torch, name)
        yield Case(lambda x, f=f: f(x), dict(x=r.normal(*r.sizes(3))), label=f"{name}_all")
    yield Case(lambda x: torch.amax(x), dict(x=r.distinct(3, 4)), label="amax_all")
    yield Case(lambda x: x.max(), dict(x=r.distinct(3, 4)), label="max_all")
    yield Case(lambda x: x.max(dim=-1, keepdim=True).values, dict(x=r.distinct(3, 4)), label="max_dim")
    yield Case(lambda x: x.sum(0, dtype=torch.float64), dict(x=r.normal(3, 4)), label="sum_dtype")
    yield Case(lambda x: (x > 0).sum(1) * x.mean(1), dict(x=r.distinct(3, 4)), label="sum_of_bool")


@row()
def var(r):
    for correction in (0, 1, 2):
        shape = r.sizes(r.rank(2, 3), 3)
        dims, keep = r.dims(len(shape)), r.flip()
        yield Case(lambda x, c=correction, d=dims, k=keep: torch.var(x, dim=d, correction=c, keepdim=k), dict(x=r.normal(*shape)), label=f"correction_{correction}")
    yield Case(lambda x: torch.var(x), dict(x=r.normal(3, 4)), label="all")
    yield Case(lambda x: torch.std(x, dim=-1), dict(x=r.normal(3, 4)), label="std")
    yield Case(lambda x: list(torch.var_mean(x, dim=1, unbiased=False)), dict(x=r.normal(3, 4)), label="var_mean")


@row()
def vector_norm(r):
    yield Case(lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), dict(x=r.normal(3, 4)))
    yield Case(lambda x: F.normalize(x, dim=1), dict(x=r.normal(3, 4)), label="normalize")
    yield Case(lambda x, y: F.cosine_similarity(x, y, dim=-1), dict(x=r.normal(3, 4), y=r.normal(4)), label="cosine_similarity")


# Norms.

@row()
def layer_norm(r):
    shape = r.sizes(3, 2)
    for count in (1, 2):
        ends = shape[-count:]
        yield Case(lambda x, weight, bias, e=ends: F.layer_norm(x, e, weight, bias, 1e-3),
                   dict(x=r.normal(*shape), weight=r.normal(*ends), bias=r.normal(*ends)), label=f"over_{count}")
    yield Case(lambda x: F.layer_norm(x, shape[-1:]), dict(x=r.normal(*shape)), label="plain")
    yield Case(lambda x, weight: F.layer_norm(x, shape[-1:], weight), dict(x=r.normal(*shape), weight=r.normal(shape[-1])), label="weight")
    yield Case(lambda x, weight, bias: torch.native_layer_norm(x, shape[-1:], weight, bias, 1e-5)[0],
               dict(x=r.normal(*shape), weight=r.normal(shape[-1]), bias=r.normal(shape[-1])), label="native")


@row()
def group_norm(r):
    yield Case(lambda x, weight, bias: F.group_norm(x, 3, weight, bias, 1e-4), dict(x=r.normal(2, 6, 4), weight=r.normal(6), bias=r.normal(6)))
    yield Case(lambda x: F.group_norm(x, 2), dict(x=r.normal(3, 4, 2, 2)), label="plain")


@row()
def rms_norm(r):
    yield Case(lambda x, weight: F.rms_norm(x, [5], weight, 1e-3), dict(x=r.normal(2, 3, 5), weight=r.normal(5)))
    yield Case(lambda x: F.rms_norm(x, [3, 5]), dict(x=r.normal(2, 3, 5)), label="plain")
    yield Case(lambda x, weight: weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)),
               dict(x=r.normal(2, 3, 5), weight=r.normal(5)), label="written_out")


# Attention.

def heads(r, queries=3, keys=4, count=2, shared=None):
    shared = shared or count
    return dict(q=r.normal(2, count, queries, 5), k=r.normal(2, shared, keys, 5), v=r.normal(2, shared, keys, 5))


@row()
def attention(r):
    f = F.scaled_dot_product_attention
    yield Case(lambda q, k, v: f(q, k, v), heads(r))
    yield Case(lambda q, k, v: f(q, k, v, is_causal=True), heads(r, 4), label="causal")
    yield Case(lambda q, k, v: f(q, k, v, is_causal=True, scale=0.3), heads(r, 4), label="causal_scale")
    yield Case(lambda q, k, v: f(q, k, v, is_causal=True), {n: t[0] for n, t in heads(r, 4).items()}, label="rank_3")
    yield Case(lambda q, k, v, mask: f(q, k, v, mask), heads(r), constants=dict(mask=r.normal(3, 4)), label="additive")
    yield Case(lambda q, k, v, mask: f(q, k, v, mask), dict(**heads(r), mask=r.normal(2, 1, 3, 4)), label="additive_parameter")
    flags = r.flags(2, 1, 3, 4)
    flags[..., 0] = True
    yield Case(lambda q, k, v, flags: f(q, k, v, flags, scale=0.5), heads(r), constants=dict(flags=flags), label="bool")
    yield Case(lambda q, k, v, flags: f(q, k, v, flags), heads(r, 4), constants=dict(flags=torch.ones(4, 4).tril().bool()), label="bool_causal")
    empty = r.flags(3, 4)
    empty[1], empty[2, 1] = False, True
    yield Case(lambda q, k, v, flags: f(q, k, v, flags), heads(r), constants=dict(flags=empty), label="row_masked_whole")
    yield Case(lambda q, k, v: f(q, k, v, is_causal=True, enable_gqa=True), heads(r, 4, 4, 4, 2), label="gqa")
    yield Case(lambda q, k, v: f(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)), heads(r, 3, 4, 4, 2), label="repeated")
    yield Case(lambda q, k, v: (q @ k.transpose(-2, -1) / math.sqrt(5)).softmax(-1) @ v, heads(r), label="written_out")

