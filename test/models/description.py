"""A neutral description of a model: what is computed, in nobody's dialect.

A description is a dictionary that JSON holds:

    {"batch": 6, "steps": 2, "float": "f64",
     "inputs": [{"name": "x", "type": ["f64", [6, 3]], "draw": {"kind": "real"}}],
     "params": [{"name": "w", "type": ["f64", [3]], "draw": {"kind": "real"}}],
     "functions": {"f": {"args": [["a", ["f64", [6, 3]]]], "nodes": [...], "results": ["h"]}},
     "nodes": [{"name": "y", "op": "mul", "in": ["x", "w"], "type": ["f64", [6, 3]]}, ...],
     "loss": "l", "results": [{"kind": "metric", "name": "m", "value": "h"}]}

Results beside the loss are metrics ("metric", and with "count" of the same name a ratio) and outputs ("output").

A parameter may be "frozen", have "no_decay", or factors: "lr_scale" of the learning rate, "decay_scale" of the weight decay.

With "mixes" ops may mix rows of the batch: plans have one microbatch, and an evaluation is one batch.

"coarsest" is the type of fewest bits that computed values or parameters have; without it, "float".

Shapes are those of the global batch, the first dimension of every input. An op is named for what it computes (OPS in
torch_text.py and pp_text.py print each): `silu`, `one_hot`, `conv1d`, `argmax_pick`. A node `call` names a function; its
results are "name:0", "name:1" …

Values are drawn by name and position alone with integer arithmetic, so that they are the same everywhere and need not be stored.
"""
import copy
import json
import zlib

import numpy as np

NUMPY = {"f64": np.float64, "f32": np.float32, "bf16": np.float32, "i32": np.int32, "i64": np.int64, "i1": np.bool_}
FLOATS = ("f64", "f32", "bf16")


def uniform(key, count):
    """`count` numbers in [0, 1), by splitmix64 of the key and the position."""
    start = np.uint64(zlib.crc32(key.encode()) * 0x9E3779B97F4A7C15 % 2**64)
    with np.errstate(over="ignore"):
        z = start + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) / 2**53


def draw_values(key, dtype, shape, rule):
    """`rule["kind"]`: "real" in [-scale, scale); "positive" in [0.5, 1.5); "dyadic": multiples of 1/8, with ties and zeros;
    "share": 0, 0.25, … 1, most often one of the ends;
    "ids" in [0, high), or `ignore` with the chance `ignored` of each row's step; "bool"."""
    count = int(np.prod(shape)) if len(shape) else 1
    u = uniform(key, count)
    kind = rule["kind"]
    if kind == "real":
        values = (2 * u - 1) * rule.get("scale", 1.5)
    elif kind == "positive":
        values = 0.5 + u
    elif kind == "dyadic":
        values = np.floor(u * 25) / 8 - 1.5
    elif kind == "share":
        values = np.clip(np.round(u * 12 - 4), 0, 4) / 4
    elif kind == "ids":
        values = np.floor(u * rule["high"])
    elif kind == "bool":
        values = u < 0.6
    else:
        raise ValueError(f"no values of kind {kind}")
    values = np.asarray(values).reshape(shape)
    if dtype == "bf16":
        return round_to_bf16(values)
    return values.astype(NUMPY[dtype])


def round_to_bf16(values):
    """The nearest values that bf16 has, as f32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return np.asarray(bits).astype(np.uint32).reshape(np.shape(values)).view(np.float32)


def make_inputs(description, rows, stream="train"):
    """{name: array} of `rows` samples for each input."""
    batch, arrays = description["batch"], {}
    for entry in description["inputs"]:
        dtype, shape = entry["type"]
        rule = entry["draw"]
        key = f"{description['seed']}/{stream}/{entry['name']}"
        values = draw_values(key, dtype, [rows, *shape[1:]], rule)
        if "ignore" in rule:
            chances = rule["ignored"] if stream == "train" else rule["ignored_in_evaluation"]
            chance = np.array([chances[row // batch % len(chances)] for row in range(rows)])
            u = uniform(key + "/ignored", values.size).reshape(values.shape)
            values = np.where(u < chance.reshape(-1, *[1] * (values.ndim - 1)), rule["ignore"], values).astype(values.dtype)
        arrays[entry["name"]] = np.ascontiguousarray(values)
    return arrays


def results_of(description, kind=None):
    """Those beside the loss; of one kind."""
    return [each for each in description.get("results", ()) if kind in (None, each["kind"])]


def coarsest(description):
    return description.get("coarsest", description["float"])


def make_params(description):
    return {entry["name"]: draw_values(f"{description['seed']}/param/{entry['name']}", *entry["type"], entry["draw"])
            for entry in description["params"]}


def all_nodes(description):
    """Of the entry and of all functions."""
    for function in description["functions"].values():
        yield from function["nodes"]
    yield from description["nodes"]


def features(description):
    """Words for what is in it, to leave out models of a kind that is known to fail."""
    found = set()
    for node in all_nodes(description):
        op, value = node["op"], node.get("value")
        if op == "rope" or isinstance(value, list) and len(set(value)) > 1 or node.get("by_constant"):
            found.add("tables")
        if op in ("amax", "amin", "sort", "top_k", "argmax_pick", "compare", "maximum", "minimum"):
            found.add("choices")
        if op in ("count", "token_loss", "cross_entropy") and node["ignore"] is not None:
            found.add("counts")
        if op == "embedding":
            found.add("embeddings")
        found.add(op)
    return found


def prune(description):
    """Without nodes, functions, parameters and inputs that no result needs; at least one input stays."""
    result = copy.deepcopy(description)

    def live(nodes, wanted):
        wanted, kept = {name.split(":")[0] for name in wanted}, []
        for node in reversed(nodes):
            if node["name"] in wanted:
                kept.append(node)
                wanted |= {name.split(":")[0] for name in node["in"]}
        return kept[::-1], wanted

    result["nodes"], wanted = live(result["nodes"], [result["loss"], *(each["value"] for each in results_of(result))])
    called, pending = set(), [result["nodes"]]
    while pending:
        for node in pending.pop():
            if node["op"] == "call" and node["function"] not in called:
                called.add(node["function"])
                function = result["functions"][node["function"]]
                function["nodes"], _ = live(function["nodes"], function["results"])
                pending.append(function["nodes"])
    result["functions"] = {name: f for name, f in result["functions"].items() if name in called}
    result["params"] = [p for p in result["params"] if p["name"] in wanted]
    result["inputs"] = [i for i in result["inputs"] if i["name"] in wanted] or result["inputs"][:1]
    return result


def to_json(description):
    return json.dumps(description, separators=(",", ":"))
