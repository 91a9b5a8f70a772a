"""Prints a description as a model of the pp dialect. What pp has no op for is composed of what it has."""
import math

from description import results_of


def type_text(dtype, shape):
    return "tensor<" + "".join(f"{s}x" for s in shape) + dtype + ">"


def statistics(dtype):
    """What pp computes losses of bf16 values in."""
    return "f32" if dtype == "bf16" else dtype


class Value:
    def __init__(self, ssa, dtype, shape):
        self.ssa, self.dtype, self.shape = ssa, dtype, tuple(shape)

    @property
    def type(self):
        return type_text(self.dtype, self.shape)

    @property
    def rank(self):
        return len(self.shape)


SIMPLE = {"neg", "abs", "exp", "log", "sqrt", "rsqrt", "expm1", "log1p", "sin", "cos", "sign", "floor",
          "ceil", "round", "tanh", "atan", "mish", "hardsigmoid", "hardswish", "elu", "erf", "sigmoid", "softplus", "relu", "silu", "gelu", "detach", "checkpoint"}
BINARY = {"add", "sub", "mul", "div", "maximum", "minimum", "idiv", "power"}


class Printer:
    """The lines of one function. `mark()` says for each op with one result a place, or None."""

    def __init__(self, prefix, mark=lambda: None):
        self.prefix, self.mark, self.lines, self.count = prefix, mark, [], 0
        self.values = {}

    # --- lines ---------------------------------------------------------------

    def fresh(self):
        self.count += 1
        return f"%{self.prefix}{self.count}"

    def op(self, text, types, dtype, shape, extra=""):
        """`text` has the op's name, operands and attributes, `types` the types after the colon."""
        result = Value(self.fresh(), dtype, shape)
        body = f"pp.{text} : {types}{extra}" if types else f"pp.{text}{extra}"
        place = self.mark()
        if place is None:
            self.lines.append(f"{result.ssa} = {body}")
        else:
            inner = self.fresh()
            self.lines += [f"{result.ssa} = pp.on {place} -> {result.type} {{", f"  {inner} = {body}",
                           f"  pp.yield {inner} : {result.type}", "}"]
        return result

    # --- pp's ops ------------------------------------------------------------

    def unary(self, name, x, attributes=""):
        return self.op(f"{name} {x.ssa}{attributes}", x.type, x.dtype, x.shape)

    def binary(self, name, a, b):
        return self.op(f"{name} {a.ssa}, {b.ssa}", f"{a.type}, {b.type}", a.dtype, broadcast_shape(a.shape, b.shape))

    def constant(self, dtype, shape, value):
        return self.op(f"constant dense<{constant_text(dtype, shape, value)}>", type_text(dtype, shape), dtype, shape)

    def scalar(self, x, value):
        return self.constant(x.dtype, (), value)

    def scale(self, x, factor):
        return self.binary("mul", x, self.scalar(x, factor))

    def compare(self, how, a, b):
        return self.op(f"compare {how} {a.ssa}, {b.ssa}", f"{a.type}, {b.type}", "i1", broadcast_shape(a.shape, b.shape))

    def select(self, c, a, b):
        shape = broadcast_shape(broadcast_shape(c.shape, a.shape), b.shape)
        return self.op(f"select {c.ssa}, {a.ssa}, {b.ssa}", f"{c.type}, {a.type}, {b.type}", a.dtype, shape)

    def cast(self, x, dtype):
        if x.dtype == dtype:
            return x
        return self.op(f"cast {x.ssa}", x.type, dtype, x.shape, f" to {type_text(dtype, x.shape)}")

    def reduce(self, kind, x, dims, keep=False):
        if not dims:
            return x
        shape = [1 if i in dims else s for i, s in enumerate(x.shape) if keep or i not in dims]
        return self.op(f"reduce {kind} {x.ssa} {list(dims)}" + (" {keep_dims}" if keep else ""), x.type, x.dtype, shape)

    def reshape(self, x, shape):
        return self.op(f"reshape {x.ssa}", x.type, x.dtype, shape, f" to {type_text(x.dtype, shape)}")

    def transpose(self, x, perm):
        return self.op(f"transpose {x.ssa} {list(perm)}", x.type, x.dtype, [x.shape[p] for p in perm])

    def window(self, name, x, offsets, shape):
        return self.op(f"{name} {x.ssa} {list(offsets)}", x.type, x.dtype, shape, f" to {type_text(x.dtype, shape)}")

    def part(self, x, dim, begin, size):
        """`size` elements along one dimension."""
        offsets = [begin if i == dim else 0 for i in range(x.rank)]
        return self.window("slice", x, offsets, [size if i == dim else s for i, s in enumerate(x.shape)])

    def concat(self, values, dim):
        shape = list(values[0].shape)
        shape[dim] = sum(v.shape[dim] for v in values)
        names = ", ".join(v.ssa for v in values)
        return self.op(f"concat {names} {{dim = {dim} : i64}}", ", ".join(v.type for v in values), values[0].dtype, shape)

    def broadcast(self, x, dims, shape):
        return self.op(f"broadcast {x.ssa} {list(dims)}", x.type, x.dtype, shape, f" to {type_text(x.dtype, shape)}")

    def iota(self, dtype, shape, dim):
        return self.op(f"iota {{dim = {dim} : i64}}", "", dtype, shape, f" -> {type_text(dtype, shape)}")

    def matmul(self, a, b, ta=False, tb=False):
        names = [name for name, is_set in (("transpose_lhs", ta), ("transpose_rhs", tb)) if is_set]
        m = a.shape[-1] if ta else a.shape[-2]
        n = b.shape[-2] if tb else b.shape[-1]
        attributes = f" {{{', '.join(names)}}}" if names else ""
        return self.op(f"matmul {a.ssa}, {b.ssa}{attributes}", f"{a.type}, {b.type}", a.dtype, [*a.shape[:-2], m, n])

    # --- descriptions' ops ---------------------------------------------------

    def node(self, node):
        operands = [self.values[name] for name in node["in"]]
        if node["op"] == "call":
            return self.call(node, operands)
        self.values[node["name"]] = self.compose(node, operands)

    def call(self, node, operands):
        names = [self.fresh() for _ in node["types"]]
        types = [type_text(*t) for t in node["types"]]
        arguments = ", ".join(o.ssa for o in operands)
        signature = f"({', '.join(o.type for o in operands)}) -> ({', '.join(types)})"
        place = self.mark()
        if place is None:
            self.lines.append(f"{', '.join(names)} = func.call @{node['function']}({arguments}) : {signature}")
        else:
            inner = [self.fresh() for _ in names]
            self.lines += [f"{', '.join(names)} = pp.on {place} -> {', '.join(types)} {{",
                           f"  {', '.join(inner)} = func.call @{node['function']}({arguments}) : {signature}",
                           f"  pp.yield {', '.join(inner)} : {', '.join(types)}", "}"]
        for i, (name, (dtype, shape)) in enumerate(zip(names, node["types"])):
            self.values[f"{node['name']}:{i}"] = Value(name, dtype, shape)

    def compose(self, node, operands):
        op = node["op"]
        dtype, shape = node["type"]
        x = operands[0] if operands else None
        if op in SIMPLE:
            return self.unary(op, x)
        if op in BINARY:
            return self.binary("div" if op == "idiv" else op, *operands)
        return getattr(self, f"print_{op}")(node, dtype, shape, x, operands)

    def print_gelu_tanh(self, node, dtype, shape, x, _):
        return self.unary("gelu", x, " {tanh}")

    def print_square(self, node, dtype, shape, x, _):
        return self.binary("mul", x, x)

    def print_reciprocal(self, node, dtype, shape, x, _):
        return self.binary("div", self.scalar(x, 1.0), x)

    def print_tanhshrink(self, node, dtype, shape, x, _):
        return self.binary("sub", x, self.unary("tanh", x))

    def print_logsigmoid(self, node, dtype, shape, x, _):
        return self.unary("neg", self.unary("softplus", self.unary("neg", x)))

    def print_softsign(self, node, dtype, shape, x, _):
        return self.binary("div", x, self.binary("add", self.unary("abs", x), self.scalar(x, 1.0)))

    def print_trunc(self, node, dtype, shape, x, _):
        return self.cast(self.cast(x, "i32"), dtype)

    def print_clamp(self, node, dtype, shape, x, _):
        return self.unary("clamp", x, f" {{min = {number_text(node['low'])} : f64, max = {number_text(node['high'])} : f64}}")

    def print_pow(self, node, dtype, shape, x, _):
        return self.unary("pow", x, f" {{exponent = {number_text(node['exponent'])} : f64}}")

    def print_leaky_relu(self, node, dtype, shape, x, _):
        return self.unary("leaky_relu", x, f" {{slope = {number_text(node['slope'])} : f64}}")

    def print_dropout(self, node, dtype, shape, x, _):
        return self.unary("dropout", x, f" {{p = {number_text(node.get('p', 0.0))} : f64}}")

    def print_constant(self, node, dtype, shape, x, _):
        return self.constant(dtype, shape, node["value"])

    def print_iota(self, node, dtype, shape, x, _):
        return self.iota(dtype, shape, node["dim"])

    def print_compare(self, node, dtype, shape, x, operands):
        return self.compare(node["how"], *operands)

    def print_select(self, node, dtype, shape, x, operands):
        return self.select(*operands)

    def print_cast(self, node, dtype, shape, x, _):
        return self.cast(x, dtype)

    def print_reshape(self, node, dtype, shape, x, _):
        return self.reshape(x, shape)

    def print_transpose(self, node, dtype, shape, x, _):
        return self.transpose(x, node["perm"])

    def print_slice(self, node, dtype, shape, x, _):
        return self.window("slice", x, node["offsets"], shape)

    def print_pad(self, node, dtype, shape, x, _):
        return self.window("pad", x, node["offsets"], shape)

    def print_concat(self, node, dtype, shape, x, operands):
        return self.concat(operands, node["dim"])

    def print_broadcast(self, node, dtype, shape, x, _):
        return self.broadcast(x, node["dims"], shape)

    def print_sum(self, node, dtype, shape, x, _):
        return self.reduce("sum", x, node["dims"], node["keep"])

    def print_mean(self, node, dtype, shape, x, _):
        return self.reduce("mean", x, node["dims"], node["keep"])

    def print_amax(self, node, dtype, shape, x, _):
        return self.reduce("max", x, node["dims"], node["keep"])

    def print_var(self, node, dtype, shape, x, _):
        centered = self.binary("sub", x, self.reduce("mean", x, node["dims"], True))
        return self.reduce("mean", self.binary("mul", centered, centered), node["dims"], node["keep"])

    def print_logsumexp(self, node, dtype, shape, x, _):
        """The maximum is cut from the gradient, in which it cancels."""
        dims = [node["dim"]]
        top = self.unary("detach", self.reduce("max", x, dims, True))
        total = self.reduce("sum", self.unary("exp", self.binary("sub", x, top)), dims, True)
        result = self.binary("add", self.unary("log", total), top)
        return result if node["keep"] else self.reshape(result, shape)

    def print_argmax_pick(self, node, dtype, shape, x, _):
        top = self.unary("detach", self.reduce("max", x, [node["dim"]], True))
        return self.select(self.compare("eq", x, top), x, self.scalar(x, 0.0))

    def print_matmul(self, node, dtype, shape, x, operands):
        return self.matmul(*operands, node["ta"], node["tb"])

    def print_outer(self, node, dtype, shape, x, operands):
        a, b = operands
        return self.binary("mul", self.reshape(a, [*a.shape, 1]), self.reshape(b, [*b.shape[:-1], 1, b.shape[-1]]))

    def print_softmax(self, node, dtype, shape, x, _):
        if node["dim"] == x.rank - 1 and not node.get("by_hand"):
            return self.unary("softmax", x)
        e = self.unary("exp", self.binary("sub", x, self.reduce("max", x, [node["dim"]], True)))
        return self.binary("div", e, self.reduce("sum", e, [node["dim"]], True))

    def print_log_softmax(self, node, dtype, shape, x, _):
        if node["dim"] == x.rank - 1 and not node.get("by_hand"):
            return self.unary("log_softmax", x)
        moved = self.binary("sub", x, self.reduce("max", x, [node["dim"]], True))
        total = self.reduce("sum", self.unary("exp", moved), [node["dim"]], True)
        return self.binary("sub", moved, self.unary("log", total))

    def print_normalize(self, node, dtype, shape, x, _):
        return self.unary("normalize", x, f" {{{'center, ' if node['center'] else ''}eps = {number_text(node['eps'])} : f64}}")

    def print_layer_norm(self, node, dtype, shape, x, operands):
        names = ", ".join(o.ssa for o in operands)
        return self.op(f"layer_norm {names} {{eps = {number_text(node['eps'])} : f64}}", ", ".join(o.type for o in operands), dtype, shape)

    def print_rms_norm(self, node, dtype, shape, x, operands):
        names = ", ".join(o.ssa for o in operands)
        return self.op(f"rms_norm {names} {{eps = {number_text(node['eps'])} : f64}}", ", ".join(o.type for o in operands), dtype, shape)

    def print_swiglu(self, node, dtype, shape, x, operands):
        return self.binary("mul", self.unary("silu", x), operands[1])

    def print_hypot(self, node, dtype, shape, x, operands):
        return self.unary("sqrt", self.binary("add", *(self.binary("mul", o, o) for o in operands)))

    def print_logaddexp(self, node, dtype, shape, x, operands):
        """b + softplus(a - b)"""
        return self.binary("add", operands[1], self.unary("softplus", self.binary("sub", *operands)))

    def print_embedding(self, node, dtype, shape, x, operands):
        table, ids = operands
        return self.op(f"embedding {table.ssa}, {ids.ssa}", f"{table.type}, {ids.type}", dtype, shape)

    def print_one_hot(self, node, dtype, shape, x, _):
        return self.op(f"one_hot {x.ssa}", x.type, dtype, shape, f" to {type_text(dtype, shape)}")

    def gather(self, x, ids, dim):
        return self.op(f"gather {x.ssa}, {ids.ssa} {{dim = {dim} : i64}}", f"{x.type}, {ids.type}", x.dtype, ids.shape)

    def print_gather_last(self, node, dtype, shape, x, operands):
        ids = self.reshape(operands[1], [*shape, 1])
        return self.reshape(self.gather(x, ids, x.rank - 1), shape)

    def print_scatter_last(self, node, dtype, shape, x, operands):
        """x with its first elements added where ids say."""
        ids = operands[1]
        updates = self.window("slice", x, [0] * x.rank, ids.shape)
        return self.op(f"scatter_add {x.ssa}, {ids.ssa}, {updates.ssa} {{dim = {x.rank - 1} : i64}}", f"{x.type}, {ids.type}, {updates.type}",
                       dtype, shape)

    def order(self, op, x, dim, ids_shape, flag=""):
        """The values of a sort or top_k."""
        values, ids = self.fresh(), self.fresh()
        count = f"k = {ids_shape[dim]} : i64, " if op == "top_k" else ""
        self.lines.append(f"{values}, {ids} = pp.{op} {x.ssa} {{{count}dim = {dim} : i64{flag}}} : {x.type} -> "
                          f"{type_text(x.dtype, ids_shape)}, {type_text('i64', ids_shape)}")
        return Value(values, x.dtype, ids_shape)

    def print_sort(self, node, dtype, shape, x, _):
        return self.order("sort", x, node["dim"], shape, ", descending" if node["descending"] else "")

    def print_top_k(self, node, dtype, shape, x, _):
        return self.order("top_k", x, node["dim"], shape, "" if node["descending"] else ", smallest")

    def print_triangle(self, node, dtype, shape, x, _):
        return self.op(f"{'tril' if node['lower'] else 'triu'} {x.ssa} {{diagonal = {node['diagonal']} : i64}}", x.type, dtype, shape)

    def print_amin(self, node, dtype, shape, x, _):
        return self.reduce("min", x, node["dims"], node["keep"])

    def print_cumsum(self, node, dtype, shape, x, _):
        return self.op(f"cumsum {x.ssa} {{dim = {x.rank - 1} : i64}}", x.type, dtype, shape)

    def print_roll(self, node, dtype, shape, x, _):
        return self.op(f"roll {x.ssa} {{dim = {node['dim']} : i64, shift = {node['by']} : i64}}", x.type, dtype, shape)

    def print_flip(self, node, dtype, shape, x, _):
        parts = [self.part(x, node["dim"], i, 1) for i in reversed(range(shape[node["dim"]]))]
        return self.concat(parts, node["dim"]) if len(parts) > 1 else x

    def print_repeat(self, node, dtype, shape, x, _):
        if node["by_concat"]:
            return self.concat([x] * node["times"], node["dim"])
        dim = node["dim"]
        wide = [*x.shape[:dim], node["times"], *x.shape[dim:]]
        dims = [i if i < dim else i + 1 for i in range(x.rank)]
        return self.reshape(self.broadcast(x, dims, wide), shape)

    def print_conv1d(self, node, dtype, shape, x, operands):
        """Channels of x and of the weight [taps, channels, results] come first, of one group."""
        rows, length, channels = x.shape
        weight = self.transpose(operands[1], [2, 1, 0])
        x = self.reshape(self.transpose(x, [0, 2, 1]), (rows, 1, channels, length))
        weight = self.reshape(weight, (1, *weight.shape))
        to = (rows, 1, shape[2], length)
        y = self.op(f"conv {x.ssa}, {weight.ssa} offsets [{-node['left']}]", f"{x.type}, {weight.type}", dtype, to, f" to {type_text(dtype, to)}")
        return self.transpose(self.reshape(y, (rows, shape[2], length)), [0, 2, 1])

    def print_rope(self, node, dtype, shape, x, _):
        if not node.get("by_hand", True):
            scaled = f" scaled linear {{factor = {number_text(node['factor'])} : f64, " if "factor" in node else " {"
            attributes = [f"base = {number_text(node['base'])} : f64"] + ["interleaved"] * node["interleaved"]
            attributes += [f"width = {node['width']} : i64"] if "width" in node else []
            return self.unary("rotary", x, f"{scaled}{', '.join(attributes)}}}")
        # The halves of the last dimension, by the position in the one before: constant tables.
        length, half = shape[-2], shape[-1] // 2
        angles = [p * node["base"] ** (-i / half) for p in range(length) for i in range(half)]
        cosines = self.constant(dtype, [length, half], [math.cos(a) for a in angles])
        sines = self.constant(dtype, [length, half], [math.sin(a) for a in angles])
        a, b = self.part(x, x.rank - 1, 0, half), self.part(x, x.rank - 1, half, half)
        first = self.binary("sub", self.binary("mul", a, cosines), self.binary("mul", b, sines))
        second = self.binary("add", self.binary("mul", b, cosines), self.binary("mul", a, sines))
        return self.concat([first, second], x.rank - 1)

    def print_causal_mask(self, node, dtype, shape, x, _):
        if node["by_constant"]:
            return self.constant("i1", shape, [column <= row for row in range(shape[0]) for column in range(shape[1])])
        return self.compare("ge", self.iota("i32", shape, 0), self.iota("i32", shape, 1))

    def attention_results(self, node, operands):
        """The output, and the log-sum-exp in two parts."""
        q, k, v, *changes = operands
        names = [n for n in ("causal",) if node["causal"]]
        if node.get("window"):
            names.append(f"window = {node['window']} : i64")
        if node.get("cap"):
            names.append(f"soft_cap = {number_text(node['cap'])} : f64")
        if node["scale"] is not None:
            names.append(f"scale = {number_text(node['scale'])} : f64")
        result = self.fresh()
        attributes = f" {{{', '.join(names)}}}" if names else ""
        self.lines.append(f"{result}:2 = pp.attention {', '.join(o.ssa for o in (q, k, v))}"
                          + "".join(f" {n} {o.ssa}" for n, o in zip(node.get("with", ()), changes)) + f"{attributes} : "
                          + ", ".join(o.type for o in operands))
        return (Value(result + "#0", q.dtype, [*q.shape[:3], v.shape[3]]), Value(result + "#1", statistics(q.dtype), [*q.shape[:3], 2]))

    def print_attention(self, node, dtype, shape, x, operands):
        return self.attention_results(node, operands)[0]

    def print_attention_lse(self, node, dtype, shape, x, operands):
        return self.reduce("sum", self.attention_results(node, operands)[1], [3])

    def losses(self, name, node, dtype, shape, operands):
        attributes = [f"label_smoothing = {number_text(node['smoothing'])} : f64"] if "smoothing" in node else []
        attributes += [f"ignore_index = {node['ignore']} : i64"] if node["ignore"] is not None else []
        text = f" {{{', '.join(attributes)}}}" if attributes else ""
        return self.op(f"{name} {', '.join(o.ssa for o in operands)}{text}", ", ".join(o.type for o in operands), dtype, shape)

    def print_cross_entropy(self, node, dtype, shape, x, operands):
        return self.losses("cross_entropy", node, dtype, shape, operands)

    def print_token_loss(self, node, dtype, shape, x, operands):
        return self.losses("token_loss", node, dtype, shape, operands)

    def print_mse(self, node, dtype, shape, x, operands):
        return self.op(f"mse {', '.join(o.ssa for o in operands)}", ", ".join(o.type for o in operands), dtype, shape)

    def print_bce_with_logits(self, node, dtype, shape, x, operands):
        return self.op(f"bce_with_logits {', '.join(o.ssa for o in operands)}", x.type, dtype, shape)

    def print_count(self, node, dtype, shape, x, _):
        return self.op(f"count {x.ssa} {{ignore_index = {node['ignore']} : i64}}", x.type, dtype, shape, f" to {type_text(dtype, shape)}")


def broadcast_shape(a, b):
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    return tuple(y if x == 1 else x for x, y in zip(a, b))


def number_text(value):
    """As MLIR reads a float: with a point."""
    text = repr(float(value))
    return text if "." in text else text.replace("e", ".0e")


# Infinity's bits.
INFINITY = {"f64": 0x7FF0000000000000, "f32": 0x7F800000, "bf16": 0x7F80}


def element_text(dtype, value):
    if dtype in INFINITY and math.isinf(value):
        digits = 2 * {"f64": 8, "f32": 4, "bf16": 2}[dtype]
        return f"0x{INFINITY[dtype] + (value < 0) * 8 * 16 ** (digits - 1):0{digits}X}"
    if dtype == "i1":
        return "true" if value else "false"
    if dtype in ("i32", "i64"):
        return str(int(value))
    return number_text(value)


def constant_text(dtype, shape, value):
    """`value` is one for all elements, or a list in row-major order."""
    if not isinstance(value, list):
        return element_text(dtype, value)
    if len(value) == 1:
        return element_text(dtype, value[0])

    def nested(shape, values):
        if not shape:
            return element_text(dtype, values[0])
        step = len(values) // shape[0]
        return "[" + ", ".join(nested(shape[1:], values[i * step:(i + 1) * step]) for i in range(shape[0])) + "]"
    return nested(list(shape), value)


# Attributes of results by their kind.
RESULTS = {"metric": "metric", "count": "metric_count", "output": "output"}


def pp_text(description, mark=lambda: None, name="model"):
    """`mark()` is asked for a place, or None, for each op of the entry and of functions."""
    texts = []
    for function_name, function in description["functions"].items():
        printer = Printer("f", mark)
        arguments = []
        for i, (argument, (dtype, shape)) in enumerate(function["args"]):
            printer.values[argument] = Value(f"%a{i}", dtype, shape)
            arguments.append(f"%a{i}: {type_text(dtype, shape)}")
        for node in function["nodes"]:
            printer.node(node)
        results = [printer.values[result] for result in function["results"]]
        types = ", ".join(r.type for r in results)
        texts.append(f"func.func private @{function_name}({', '.join(arguments)}) -> ({types}) {{\n  " + "\n  ".join(
            [*printer.lines, f"return {', '.join(r.ssa for r in results)} : {types}"]) + "\n}\n")
    printer = Printer("", mark)
    arguments = []
    for entry in description["inputs"]:
        ssa = f"%in_{entry['name']}"
        printer.values[entry["name"]] = Value(ssa, *entry["type"])
        shift = f", pp.shift = {entry['shift']} : i64" if entry.get("shift") else ""
        shard = f", pp.shard = #pp.sharding<{entry['shard']}>" if entry.get("shard") else ""
        arguments.append(f"{ssa}: {type_text(*entry['type'])} {{pp.input = \"{entry['name']}\"{shift}{shard}}}")
    for entry in description["params"]:
        ssa = f"%p_{entry['name']}"
        printer.values[entry["name"]] = Value(ssa, *entry["type"])
        flags = "".join(f", {flag}" for flag in ("frozen", "no_decay") if entry.get(flag))
        flags += "".join(f", {name} = {number_text(entry[name])} : f64" for name in ("lr_scale", "decay_scale") if name in entry)
        flags += f", shard = #pp.sharding<{entry['shard']}>" if entry.get("shard") else ""
        printer.lines.append(f"{ssa} = pp.param \"{entry['name']}\" {{init = #pp.init<zeros>{flags}}} : {type_text(*entry['type'])}")
    for node in description["nodes"]:
        printer.node(node)
    results = [printer.values[value] for value in (description["loss"], *(each["value"] for each in results_of(description)))]
    marked = ["", *(f' {{pp.{RESULTS[each["kind"]]} = "{each["name"]}"}}' for each in results_of(description))]
    types = ", ".join(r.type for r in results)
    signature = ", ".join(r.type + mark for r, mark in zip(results, marked))
    texts.append(f"func.func @{name}({', '.join(arguments)}) -> ({signature}) {{\n  " + "\n  ".join(
        [*printer.lines, f"return {', '.join(r.ssa for r in results)} : {types}"]) + "\n}\n")
    return "\n".join(texts)
