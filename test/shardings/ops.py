"""What each model op computes, of numpy arrays: written from the descriptions in ModelOps.td, ElementwiseOps.td and CompositeOps.td alone.

OPS has a function for each op: of the op (Op of interpreter.py) and the operands' arrays, of which the random key may be the last. It
returns the result's array, or a list of several.
"""
import math

import numpy as np

from layout import tile_indices
from support.convolution import conv

DTYPES = {"f64": np.float64, "f32": np.float32, "i32": np.int32, "i64": np.int64, "i1": np.bool_}
OPS = {}
# Ops that round nothing: elements move, or are chosen.
EXACT = {"pp." + name for name in ("neg", "abs", "sign", "floor", "ceil", "round", "relu", "clamp", "maximum", "minimum", "compare", "select", "cast", "copy",
                                   "constant", "iota", "reshape", "transpose", "slice", "pad", "concat", "broadcast", "embedding", "gather", "one_hot",
                                   "order", "count")}


def is_exact(op):
    return op.name in EXACT or op.get("kind", "") == "max"


def define(*names):
    def record(function):
        for name in names:
            OPS["pp." + name] = function
        return function
    return record


def elementwise(name, function):
    OPS["pp." + name] = lambda op, *operands: function(*operands)


erf = np.frompyfunc(math.erf, 1, 1)


def exact_erf(x):
    return np.asarray(erf(x), dtype=x.dtype)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def divide(a, b):
    """Of integers rounded toward zero."""
    if a.dtype.kind == "f":
        return a / b
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) == (b < 0), quotient, -quotient).astype(a.dtype)


elementwise("neg", lambda x: -x)
elementwise("abs", np.abs)
elementwise("exp", np.exp)
elementwise("log", np.log)
elementwise("expm1", np.expm1)
elementwise("log1p", np.log1p)
elementwise("sin", np.sin)
elementwise("cos", np.cos)
elementwise("sign", lambda x: np.where(np.isnan(x), 0, np.sign(x)).astype(x.dtype))
elementwise("floor", np.floor)
elementwise("ceil", np.ceil)
elementwise("round", np.round)
elementwise("power", np.power)
elementwise("sqrt", np.sqrt)
elementwise("rsqrt", lambda x: 1 / np.sqrt(x))
elementwise("tanh", np.tanh)
elementwise("atan", np.arctan)
elementwise("erf", exact_erf)
elementwise("sigmoid", sigmoid)
elementwise("softplus", lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))
elementwise("relu", lambda x: np.maximum(x, 0))
elementwise("add", lambda a, b: a + b)
elementwise("sub", lambda a, b: a - b)
elementwise("mul", lambda a, b: a * b)
elementwise("div", divide)
elementwise("maximum", np.maximum)
elementwise("minimum", np.minimum)
elementwise("select", np.where)
elementwise("copy", lambda x: x)

COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


@define("compare")
def compare(op, a, b):
    return COMPARISONS[op["predicate"]](a, b)


@define("cast")
def cast(op, x):
    dtype = np.dtype(DTYPES[op.dtype()])
    if x.dtype.kind != "f" or dtype.kind == "f":
        return x.astype(dtype)
    limits = np.iinfo(dtype)
    whole = np.trunc(np.where(np.isnan(x), 0, x))
    is_large, is_small = whole >= float(limits.max), whole <= float(limits.min)
    inside = np.where(is_large | is_small, 0, whole).astype(dtype)
    return np.where(is_large, limits.max, np.where(is_small, limits.min, inside)).astype(dtype)


@define("pow")
def power(op, x):
    return np.power(x, op["exponent"])


@define("clamp")
def clamp(op, x):
    return np.minimum(np.maximum(x, op.get("min", -np.inf)), op.get("max", np.inf))


# --- gelu --------------------------------------------------------------------

CUBE, ROOT = 0.044715, math.sqrt(2 / math.pi)


def normal(x):
    """The cumulative distribution and the density."""
    return 0.5 * (1 + exact_erf(x / math.sqrt(2))), np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


@define("gelu")
def gelu(op, x):
    if op.has("tanh"):
        return 0.5 * x * (1 + np.tanh(ROOT * (x + CUBE * x**3)))
    return x * normal(x)[0]


@define("gelu_grad")
def gelu_grad(op, x, dy):
    if op.has("tanh"):
        t = np.tanh(ROOT * (x + CUBE * x**3))
        return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * ROOT * (1 + 3 * CUBE * x * x))
    cumulative, density = normal(x)
    return dy * (cumulative + x * density)


# --- what depends on the global index ----------------------------------------


def global_indices(op, key, shape):
    """For each dimension the global indices, and the global shape. `shape` is the local one."""
    if not op.has("tile"):
        return [np.arange(size) for size in shape], list(shape)
    tile = op["tile"]
    if key is None:
        raise AssertionError("has a tile, but no key")
    indices = [tile_indices(size, [cut for cut in tile["cuts"] if cut["dim"] == dim], key) for dim, size in enumerate(tile["shape"])]
    if [each.size for each in indices] != list(shape):
        raise AssertionError(f"{op.name}: a tile of shape {[each.size for each in indices]} in a tensor of shape {list(shape)}")
    return indices, tile["shape"]


@define("iota")
def iota(op, key=None):
    indices, _ = global_indices(op, key, op.shape())
    dim = op["dim"]
    view = [-1 if i == dim else 1 for i in range(len(op.shape()))]
    return np.broadcast_to(indices[dim].reshape(view), op.shape()).astype(DTYPES[op.dtype()])


def uniform(stream, numbers):
    """Numbers in [0, 1), by splitmix64 of the stream and the element's number."""
    with np.errstate(over="ignore"):
        z = np.uint64(stream % 2**64) + (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) / 2**53


@define("dropout")
def dropout(op, x, key=None):
    """Of training. The draws are not the compiler's, but are of the same things: stream and global index."""
    indices, shape = global_indices(op, key, x.shape)
    numbers = np.zeros((1,) * len(shape), np.int64)
    for dim, size in enumerate(shape):
        numbers = numbers * size + indices[dim].reshape([-1 if i == dim else 1 for i in range(len(shape))])
    p = op["p"]
    return np.where(uniform(op.get("stream", 0), numbers) < p, 0.0, x / (1 - p) if p < 1 else 0.0).astype(x.dtype).reshape(x.shape)


@define("mask_rows")
def mask_rows(op, x, key=None):
    """The key's third last number says how many rows of the batch count."""
    if key is None:
        return x
    dim, period = op["dim"], op["period"]
    indices = global_indices(op, key, x.shape)[0][dim]
    counts = indices % period // (period // op["rows"]) < key[-3]
    return np.where(counts.reshape([-1 if i == dim else 1 for i in range(x.ndim)]), x, op.get("fill", 0)).astype(x.dtype)


@define("evaluation_share")
def evaluation_share(op, x, key=None):
    """The key's last numbers are the rows of all batches, and how many batches there are."""
    if key is None:
        return x
    return x * (op["rows"] / key[-2] if op.has("rows") else 1 / key[-1])


# --- shape -------------------------------------------------------------------


@define("constant")
def constant(op):
    value = op["value"]
    dtype, shape = DTYPES[value["type"]], value["shape"]
    if "splat" in value:
        return np.full(shape, float(value["splat"]) if isinstance(value["splat"], str) else value["splat"], dtype)
    return np.array([float(v) if isinstance(v, str) else v for v in value["values"]], dtype).reshape(shape)


@define("reshape")
def reshape(op, x):
    return x.reshape(op.shape())


@define("transpose")
def transpose(op, x):
    return np.transpose(x, op["perm"])


@define("slice")
def window(op, x):
    return x[tuple(slice(begin, begin + size) for begin, size in zip(op["offsets"], op.shape()))]


@define("pad")
def pad(op, x):
    result = np.zeros(op.shape(), x.dtype)
    result[tuple(slice(begin, begin + size) for begin, size in zip(op["offsets"], x.shape))] = x
    return result


@define("concat")
def concat(op, *operands):
    return np.concatenate(operands, op["dim"])


@define("broadcast")
def broadcast(op, x):
    view = [1] * len(op.shape())
    for dim, size in zip(op["dims"], x.shape):
        view[dim] = size
    return np.broadcast_to(x.reshape(view), op.shape())


# --- reductions, matmuls, rows -----------------------------------------------


@define("reduce")
def reduce(op, x):
    function = {"sum": np.sum, "max": np.max}[op["kind"]]
    dims = tuple(op["dims"])
    return np.asarray(function(x, axis=dims, keepdims=op.has("keep_dims")), x.dtype) if dims else x


@define("matmul")
def matmul(op, a, b):
    return np.matmul(np.swapaxes(a, -1, -2) if op.has("transpose_lhs") else a, np.swapaxes(b, -1, -2) if op.has("transpose_rhs") else b)


def log_sum_exp(x):
    top = x.max(-1, keepdims=True)
    return top + np.log(np.exp(x - top).sum(-1, keepdims=True))


@define("softmax")
def softmax(op, x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@define("softmax_grad")
def softmax_grad(op, y, dy):
    return y * (dy - (dy * y).sum(-1, keepdims=True))


@define("log_softmax")
def log_softmax(op, x):
    return x - log_sum_exp(x)


@define("log_softmax_grad")
def log_softmax_grad(op, y, dy):
    return dy - np.exp(y) * dy.sum(-1, keepdims=True)


def normalized(op, x):
    """The result, and one over the root."""
    centered = x - x.mean(-1, keepdims=True) if op.has("center") else x
    scale = 1 / np.sqrt((centered * centered).mean(-1, keepdims=True) + op["eps"])
    return centered * scale, scale


@define("normalize")
def normalize(op, x):
    return normalized(op, x)[0]


@define("normalize_grad")
def normalize_grad(op, x, dy):
    y, scale = normalized(op, x)
    mean = dy.mean(-1, keepdims=True) if op.has("center") else 0
    return scale * (dy - mean - y * (dy * y).mean(-1, keepdims=True))


# --- lookups -----------------------------------------------------------------


def table_rows(op, key, ids, shape):
    """The local row of each id, and whether it is here."""
    rows = global_indices(op, key, shape)[0][0]
    positions = np.minimum(np.searchsorted(rows, ids), len(rows) - 1)
    return positions, rows[positions] == ids


@define("embedding")
def embedding(op, table, ids, key=None):
    positions, is_here = table_rows(op, key, ids, table.shape)
    if not op.has("tile") and not is_here.all():
        raise AssertionError("pp.embedding: an id is out of range")
    return np.where(is_here[..., None], table[positions], 0).astype(table.dtype)


@define("embedding_grad")
def embedding_grad(op, ids, dy, key=None):
    positions, is_here = table_rows(op, key, ids, op.shape())
    result = np.zeros(op.shape(), dy.dtype)
    np.add.at(result, positions[is_here], dy[is_here])
    return result


# --- indices -----------------------------------------------------------------


def along(dim, ids):
    """What selects elements at ids along a dimension."""
    return tuple(ids if at == dim else each for at, each in enumerate(np.indices(ids.shape, sparse=True)))


@define("gather")
def gather(op, x, ids):
    return x[along(op["dim"], ids)]


@define("scatter_add")
def scatter_add(op, x, ids, updates):
    result = x.copy()
    np.add.at(result, along(op["dim"], ids), updates)
    return result


@define("one_hot")
def one_hot(op, ids):
    return (ids[..., None] == np.arange(op.shape()[-1])).astype(DTYPES[op.dtype()])


@define("order")
def order(op, x):
    ids = np.argsort(x if op.has("smallest") else -x, axis=-1, kind="stable")
    return ids[..., :op.shape()[-1]].astype(DTYPES[op.dtype()])


@define("cumsum")
def cumsum(op, x):
    x = np.flip(x, op["dim"]) if op.has("reverse") else x
    sums = np.cumsum(x, op["dim"], dtype=x.dtype) - (x if op.has("exclusive") else 0)
    return np.flip(sums, op["dim"]) if op.has("reverse") else sums


# --- convolutions ------------------------------------------------------------


@define("conv")
def convolution(op, x, w):
    return conv(x, w, op.shape()[3:], **{name: op[name] for name in ("strides", "dilations", "offsets", "spreads") if op.has(name)})


# --- attention ---------------------------------------------------------------


def each_head(x, q):
    """Keys or values for each query head."""
    return x.repeat(q.shape[1] // x.shape[1], 1)


def scores(op, q, k, changes):
    """The scores, -infinity where hidden, and the derivative of the soft cap."""
    s = q @ np.swapaxes(each_head(k, q), -1, -2) * op.get("scale", 1 / math.sqrt(q.shape[-1]))
    slope = 1
    if op.has("soft_cap"):
        share = np.tanh(s / op["soft_cap"])
        s, slope = op["soft_cap"] * share, 1 - share * share
    changes = iter(changes)
    bias, mask, slopes, segments = (next(changes) if size else None for size in op["operandSegmentSizes"][-4:])
    distance = np.arange(s.shape[3]) - np.arange(s.shape[2])[:, None] - (s.shape[3] - s.shape[2])
    if slopes is not None:
        s = s + slopes[:, None, None] * distance
    if bias is not None:
        s = s + bias
    seen = (distance <= 0) if op.has("causal") else np.ones(s.shape, bool)
    if op.has("window"):
        seen = seen & (np.abs(distance) < op["window"])
    if mask is not None:
        seen = seen & mask
    if segments is not None:
        seen = seen & (segments[:, :, None] == segments[:, None, :])[:, None]
    return np.where(seen, s, -np.inf), slope


@define("attention")
def attention(op, q, k, v, *changes):
    s, _ = scores(op, q, k, changes)
    most = np.maximum(s.max(-1, keepdims=True), np.finfo(s.dtype).min)
    total = np.exp(s - most).sum(-1, keepdims=True)
    log = np.where(total > 0, np.log(np.where(total > 0, total, 1)), np.inf)
    return [np.exp(s - most - log) @ each_head(v, q), np.concatenate([most, log], -1)]


@define("attention_grad")
def attention_grad(op, q, k, v, out, lse, dout, *changes):
    s, slope = scores(op, q, k, changes)
    p = np.exp(s - lse[..., :1] - lse[..., 1:])
    dscores = p * (dout @ np.swapaxes(each_head(v, q), -1, -2) - (dout * out).sum(-1, keepdims=True))
    ds = dscores * slope * op.get("scale", 1 / math.sqrt(q.shape[-1]))

    def of_group(x, like):
        return x.reshape(*like.shape[:2], -1, *x.shape[2:]).sum(2)
    gradients = [ds @ each_head(k, q), of_group(np.swapaxes(ds, -1, -2) @ q, k), of_group(np.swapaxes(p, -1, -2) @ dout, v)]
    return [*gradients, dscores] if len(op.results) == 4 else gradients


# --- losses ------------------------------------------------------------------


def counted(op, targets):
    return targets != op["ignore_index"] if op.has("ignore_index") else np.ones(targets.shape, bool)


def one_hot(op, logits, targets):
    """1 at the target of each counted row."""
    return (targets[..., None] == np.arange(logits.shape[-1])) & counted(op, targets)[..., None]


@define("token_loss")
def token_loss(op, logits, targets):
    loss = log_sum_exp(logits)[..., 0] - np.where(one_hot(op, logits, targets), logits, 0).sum(-1)
    return np.where(counted(op, targets), loss, 0)


@define("token_loss_grad")
def token_loss_grad(op, logits, targets, dloss):
    difference = np.exp(logits - log_sum_exp(logits)) - one_hot(op, logits, targets)
    return np.where(counted(op, targets)[..., None], difference, 0) * dloss[..., None]


@define("count")
def count(op, targets):
    return np.asarray((targets != op["ignore_index"]).sum(), DTYPES[op.dtype()])
