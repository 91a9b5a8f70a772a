"""Prints a description as PyTorch code: a function of inputs and parameters that returns the loss, the counts of targets, and other results.

All floats are f64, whatever the description says. `q` marks results that are rounded (reference.py): the identity, or noise.
"""

from description import results_of

# What is computed exactly, or chosen among operands: nothing is rounded there.
EXACT = {"reshape", "transpose", "slice", "pad", "concat", "broadcast", "amax", "amin", "sort", "top_k", "triangle", "maximum", "minimum", "relu", "abs", "neg", "select",
         "detach", "checkpoint", "embedding", "compare", "clamp", "sign", "floor", "ceil", "round", "trunc", "constant", "iota", "cast", "one_hot", "roll",
         "flip", "repeat", "argmax_pick", "call", "dropout", "count", "causal_mask", "tril", "gather_last"}

UNARY = {"neg": "-{0}", "abs": "torch.abs({0})", "exp": "torch.exp({0})", "log": "torch.log({0})", "sqrt": "torch.sqrt({0})",
         "rsqrt": "torch.rsqrt({0})", "tanh": "tanh({0})", "erf": "torch.erf({0})", "sigmoid": "sigmoid({0})",
         "softplus": "F.softplus({0}, threshold=1000.0)", "relu": "torch.relu({0})", "silu": "F.silu({0})", "gelu": "F.gelu({0})",
         "gelu_tanh": "F.gelu({0}, approximate='tanh')", "square": "torch.square({0})", "sign": "torch.sign({0})", "expm1": "torch.expm1({0})",
         "log1p": "torch.log1p({0})", "sin": "torch.sin({0})", "cos": "torch.cos({0})", "floor": "torch.floor({0})",
         "ceil": "torch.ceil({0})", "round": "torch.round({0})",
         "trunc": "torch.trunc({0})", "detach": "{0}.detach()", "checkpoint": "{0}", "reciprocal": "torch.reciprocal({0})",
         "tanhshrink": "({0} - tanh({0}))", "atan": "torch.atan({0})", "mish": "F.mish({0})", "hardsigmoid": "torch.clamp({0} + 3, 0, 6) / 6", "hardswish": "{0} * torch.clamp({0} + 3, 0, 6) / 6",
         "elu": "F.elu({0})", "logsigmoid": "F.logsigmoid({0})", "softsign": "F.softsign({0})"}
BINARY = {"add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "maximum": "torch.maximum({0}, {1})",
          "minimum": "torch.minimum({0}, {1})", "div": "{0} / {1}", "power": "{0} ** {1}", "idiv": "torch.div({0}, {1}, rounding_mode='trunc')",
          "mse": "F.mse_loss({0}, {1})", "bce_with_logits": "F.binary_cross_entropy_with_logits({0}, {1})",
          "swiglu": "F.silu({0}) * {1}", "hypot": "torch.hypot({0}, {1})",
          "logaddexp": "torch.logaddexp({0}, {1})", "outer": "torch.einsum('...i,...j->...ij', {0}, {1})"}
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
DTYPES = {"f64": "torch.float64", "f32": "torch.float64", "bf16": "torch.float64", "i32": "torch.int32", "i64": "torch.int64",
          "i1": "torch.bool"}


def expression(node, shapes):
    """The node's Python expression over variables named as its operands."""
    op, operands = node["op"], [variable(name) for name in node["in"]]
    dtype, shape = node["type"] if node["type"] else (None, None)
    x = operands[0] if operands else None
    if op in UNARY:
        return UNARY[op].format(x)
    if op in BINARY:
        return BINARY[op].format(*operands)
    if op == "constant":
        if isinstance(node["value"], list):
            return f"torch.tensor({node['value']!r}, dtype={DTYPES[dtype]}).reshape({shape})"
        return f"torch.full({shape}, {node['value']!r}, dtype={DTYPES[dtype]})"
    if op == "iota":
        size = shape[node["dim"]]
        view = [size if i == node["dim"] else 1 for i in range(len(shape))]
        return f"torch.arange({size}).to({DTYPES[dtype]}).reshape({view}).expand({shape})"
    if op == "compare":
        return f"{x} {COMPARISONS[node['how']]} {operands[1]}"
    if op == "select":
        return f"torch.where({', '.join(operands)})"
    if op == "cast":
        return f"{x}.to({DTYPES[dtype]})"
    if op == "clamp":
        return f"torch.clamp({x}, {node['low']!r}, {node['high']!r})"
    if op == "pow":
        return f"{x} ** {node['exponent']!r}"
    if op == "leaky_relu":
        return f"F.leaky_relu({x}, {node['slope']!r})"
    if op == "dropout":
        return x
    if op == "reshape":
        return f"{x}.reshape({shape})"
    if op == "transpose":
        return f"{x}.permute({node['perm']})"
    if op == "slice":
        parts = ", ".join(f"{o}:{o + s}" for o, s in zip(node["offsets"], shape))
        return f"{x}[{parts}]"
    if op == "pad":
        sides = []
        for offset, size, inner in list(zip(node["offsets"], shape, shapes[node["in"][0]]))[::-1]:
            sides += [offset, size - offset - inner]
        return f"F.pad({x}, {sides})"
    if op == "concat":
        return f"torch.cat([{', '.join(operands)}], {node['dim']})"
    if op == "broadcast":
        inner = shapes[node["in"][0]]
        view = [1] * len(shape)
        for position, size in zip(node["dims"], inner):
            view[position] = size
        return f"{x}.reshape({view}).expand({shape})"
    if op in ("sum", "mean", "amax", "amin"):
        return f"{x}.{op}({tuple(node['dims'])}, keepdim={node['keep']})" if node["dims"] else x
    if op == "var":
        return f"{x}.var({tuple(node['dims'])}, unbiased=False, keepdim={node['keep']})"
    if op == "logsumexp":
        return f"torch.logsumexp({x}, {node['dim']}, keepdim={node['keep']})"
    if op == "argmax_pick":
        return f"torch.where({x} == {x}.detach().amax({node['dim']}, keepdim=True), {x}, torch.zeros((), dtype={x}.dtype))"
    if op == "matmul":
        a = f"{x}.transpose(-1, -2)" if node["ta"] else x
        b = f"{operands[1]}.transpose(-1, -2)" if node["tb"] else operands[1]
        return f"torch.matmul({a}, {b})"
    if op in ("softmax", "log_softmax"):
        return f"F.{op}({x}, {node['dim']})"
    if op == "normalize":
        centered = f"{x} - {x}.mean(-1, keepdim=True)" if node["center"] else x
        return f"normalize({centered}, {node['eps']!r})"
    if op == "layer_norm":
        return f"F.layer_norm({x}, {shape[-1:]}, {', '.join(operands[1:])}, eps={node['eps']!r})"
    if op == "rms_norm":
        return f"normalize({x}, {node['eps']!r}) * {operands[1]}"
    if op == "embedding":
        return f"F.embedding({operands[1]}.long(), {x})"
    if op == "one_hot":
        return f"F.one_hot({x}.long(), {shape[-1]}).to({DTYPES[dtype]})"
    if op == "gather_last":
        return f"torch.gather({x}, -1, {operands[1]}.long().unsqueeze(-1)).squeeze(-1)"
    if op == "scatter_last":
        ids = f"{operands[1]}.long()"
        return f"torch.scatter_add({x}, -1, {ids}, {x}[..., :{shapes[node['in'][1]][-1]}])"
    if op == "sort":
        return f"torch.sort({x}, dim={node['dim']}, descending={node['descending']}, stable=True)[0]"
    if op == "top_k":
        return f"torch.sort({x}, dim={node['dim']}, descending={node['descending']}, stable=True)[0].narrow({node['dim']}, 0, {shape[node['dim']]})"
    if op == "triangle":
        return f"torch.{'tril' if node['lower'] else 'triu'}({x}, {node['diagonal']})"
    if op == "cumsum":
        return f"torch.cumsum({x}, -1)"
    if op == "roll":
        return f"torch.roll({x}, {node['by']}, {node['dim']})"
    if op == "flip":
        return f"torch.flip({x}, [{node['dim']}])"
    if op == "repeat":
        times = [node["times"] if i == node["dim"] else 1 for i in range(len(shape))]
        return f"{x}.repeat({times})"
    if op == "conv1d":
        width = shapes[node["in"][1]][0]
        return (f"F.conv1d(F.pad({x}.transpose(1, 2), [{node['left']}, {width - 1 - node['left']}]), "
                f"{operands[1]}.permute(2, 1, 0)).transpose(1, 2)")
    if op == "rope":
        return f"rope({x}, {node['base']!r}, {node.get('interleaved', False)}, {node.get('width', shape[-1])}, {node.get('factor', 1.0)!r})"
    if op == "causal_mask":
        return f"torch.ones({shape}, dtype=torch.bool).tril()"
    if op == "attention":
        scale = repr(node["scale"]) if node["scale"] is not None else "None"
        more = [f"{n}={o}" for n, o in zip(node.get("with", ()), operands[3:])]
        more += [f"{n}={node[n]}" for n in ("window", "cap") if node.get(n)]
        return f"attention({', '.join([*operands[:3], str(node['causal']), scale, *more])})"
    if op == "attention_lse":
        scale = repr(node["scale"]) if node["scale"] is not None else "None"
        return f"attention_lse({', '.join(operands[:2])}, {node['causal']}, {scale})"
    if op == "cross_entropy":
        return f"cross_entropy({', '.join(operands)}, {node['ignore']}, {node.get('smoothing', 0.0)!r}, counts)"
    if op == "token_loss":
        return f"token_loss({', '.join(operands)}, {node['ignore']})"
    if op == "count":
        return f"count({x}, {node['ignore']}, counts, {node.get('in_arithmetic', False)})"
    raise ValueError(f"no PyTorch for {op}")


def variable(name):
    return "v_" + name.replace(":", "_")


def lines_of(nodes, shapes):
    lines = []
    for node in nodes:
        if node["op"] == "call":
            results = ", ".join(variable(f"{node['name']}:{i}") for i in range(len(node["types"])))
            operands = ", ".join(variable(n) for n in node["in"])
            lines.append(f"({results},) = fn_{node['function']}(q, counts, {operands})")
            for i, (_, shape) in enumerate(node["types"]):
                shapes[f"{node['name']}:{i}"] = shape
            continue
        shapes[node["name"]] = node["type"][1]
        text = expression(node, shapes)
        is_float = node["type"][0] in ("f64", "f32", "bf16")
        lines.append(f"{variable(node['name'])} = " + (f"q({text})" if is_float and node["op"] not in EXACT else text))
    return lines


def torch_text(description):
    """The code of `model(q, inputs, params)`, which returns (loss, [counts], [results beside the loss])."""
    parts = []
    for name, function in description["functions"].items():
        shapes = {n: t[1] for n, t in function["args"]}
        body = lines_of(function["nodes"], shapes)
        results = ", ".join(variable(n) for n in function["results"])
        parts.append(f"def fn_{name}(q, counts, {', '.join(variable(n) for n, _ in function['args'])}):\n    "
                     + "\n    ".join([*body, f"return ({results},)"]) + "\n")
    shapes = {e["name"]: e["type"][1] for e in description["inputs"] + description["params"]}
    body = ["counts = []"]
    body += [f"{variable(e['name'])} = inputs[{e['name']!r}]" for e in description["inputs"]]
    body += [f"{variable(e['name'])} = params[{e['name']!r}]" for e in description["params"]]
    body += lines_of(description["nodes"], shapes)
    results = ", ".join(variable(each["value"]) for each in results_of(description))
    body.append(f"return {variable(description['loss'])}, counts, [{results}]")
    parts.append("def model(q, inputs, params):\n    " + "\n    ".join(body) + "\n")
    return "\n".join(parts)
