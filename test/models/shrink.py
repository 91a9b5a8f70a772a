"""Makes a failing pair small: drops flags, steps, terms, ops, sizes, as long as a finding of the same kind stays."""
import copy
import dataclasses
import time

from support.random_plans import ranks_of, without

from description import FLOATS, prune, results_of


# What a run must be given as its reference was.
KEPT = ("--optimizer", "--lr", "--momentum", "--weight-decay", "--eps", "--nesterov", "--ema", "--clip", "--threads")


def shorter_flags(flags, is_marked):
    """With one flag less, or one axis of the mesh; marks need the axis of places."""
    i = 0
    while i < len(flags):
        width = 2 if i + 1 < len(flags) and not flags[i + 1].startswith("--") else 1
        if flags[i] == "--mesh":
            axes = flags[i + 1].split(",")
            for axis in axes:
                if is_marked and axis.startswith("pp="):
                    continue
                left = ",".join(each for each in axes if each != axis)
                yield [*flags[:i], *(["--mesh", left] if left else []), *flags[i + 2:]]
        elif flags[i] not in KEPT:
            yield flags[:i] + flags[i + width:]
        i += width


def smaller_pairs(pair):
    """With less of one thing, one after the other."""
    if pair.marks:
        yield dataclasses.replace(pair, marks=())
        yield dataclasses.replace(pair, marks=(*pair.marks[:2], 0.2, pair.marks[3]))
    if pair.bad:
        yield dataclasses.replace(pair, bad=(pair.bad[0], 0, pair.bad[2]))
    if pair.not_finite:
        yield dataclasses.replace(pair, not_finite=())
    if pair.fake_seed:
        yield dataclasses.replace(pair, fake_seed=0)
    if pair.cuda:
        yield dataclasses.replace(pair, cuda=[])
        for flags in shorter_flags(pair.cuda, pair.marks):
            if "--target" in flags:
                yield dataclasses.replace(pair, cuda=flags)
    if pair.resume:
        yield dataclasses.replace(pair, resume={})
        for flags in shorter_flags(pair.resume["compile_flags"], pair.resume["marks"]):
            yield dataclasses.replace(pair, resume=dict(pair.resume, compile_flags=flags, ranks=ranks_of(flags)))
    rows = pair.run["evaluate"]
    if rows:
        yield dataclasses.replace(pair, run=dict(pair.run, evaluate=0), run_flags=without(pair.run_flags, ["--eval-every"]))
    for fewer in {1, rows // 2, rows - 1}:
        if 0 < fewer < rows:
            yield dataclasses.replace(pair, run=dict(pair.run, evaluate=fewer))
    for fewer in {1, pair.run.get("predict", 0) // 2}:
        if 0 < fewer < pair.run.get("predict", 0):
            yield dataclasses.replace(pair, run=dict(pair.run, predict=fewer))
    if pair.launch == "mpirun":
        yield dataclasses.replace(pair, launch="threads")
    for flags in shorter_flags(pair.compile_flags, pair.marks):
        yield dataclasses.replace(pair, compile_flags=flags, ranks=ranks_of(flags))
    for flags in shorter_flags(pair.run_flags, pair.marks):
        yield dataclasses.replace(pair, run_flags=flags)


def renamed(description, old, new):
    """Uses of `old` become uses of `new`."""
    result = copy.deepcopy(description)
    for node in result["nodes"]:
        node["in"] = [new if name == old else name for name in node["in"]]
    if result["loss"] == old:
        result["loss"] = new
    for each in results_of(result):
        each["value"] = new if each["value"] == old else each["value"]
    return prune(result)


def inlined(description, call):
    """The entry with the body of a called function in the call's place."""
    result = copy.deepcopy(description)
    function = result["functions"][call["function"]]
    at = next(i for i, n in enumerate(result["nodes"]) if n["name"] == call["name"])
    names = dict(zip((a for a, _ in function["args"]), call["in"]))
    for node in function["nodes"]:
        names[node["name"]] = f"{call['name']}_{node['name']}"
    body = []
    for node in copy.deepcopy(function["nodes"]):
        rename = lambda n: names.get(n) or f"{names[n.split(':')[0]]}:{n.split(':')[1]}"
        body.append(dict(node, name=names[node["name"]], **{"in": [rename(n) for n in node["in"]]}))
    result["nodes"][at:at + 1] = body
    for i, inner in enumerate(function["results"]):
        result = renamed(result, f"{call['name']}:{i}", names[inner])
    return result


def smaller_descriptions(description):
    if description["steps"] > 1:
        yield dict(copy.deepcopy(description), steps=1)
    for name in sorted({each["name"] for each in results_of(description)}):
        yield prune(dict(description, results=[each for each in results_of(description) if each["name"] != name]))
    types = {e["name"]: e["type"] for e in description["inputs"] + description["params"]}
    for node in description["nodes"]:
        if node["op"] == "call":
            for i, t in enumerate(node["types"]):
                types[f"{node['name']}:{i}"] = t
        else:
            types[node["name"]] = node["type"]
    batch = description["batch"]
    for node in reversed(description["nodes"]):
        results = [(f"{node['name']}:{i}", t) for i, t in enumerate(node["types"])] if node["op"] == "call" else [(node["name"], node["type"])]
        for name, (dtype, shape) in results:
            for operand in node["in"]:
                if types[operand] == [dtype, shape]:
                    yield renamed(description, name, operand)
        if node["op"] == "call":
            yield inlined(description, node)
    for node in reversed(description["nodes"]):
        # A value becomes an input or a parameter.
        results = [(f"{node['name']}:{i}", t) for i, t in enumerate(node["types"])] if node["op"] == "call" else [(node["name"], node["type"])]
        for name, (dtype, shape) in results:
            if dtype not in FLOATS or node["op"] in ("constant", "iota"):
                continue
            entry = {"name": "s_" + name.replace(":", "_"), "type": [dtype, shape], "draw": {"kind": "real"}}
            for key in ("inputs", "params"):
                if key == "inputs" and (not shape or shape[0] != batch):
                    continue
                larger = copy.deepcopy(description)
                larger[key].append(entry)
                yield renamed(larger, name, entry["name"])
    for size in sorted({s for t in types.values() for s in t[1] if s > 1}, reverse=True):
        for smaller in (1, 2, size // 2, size - 1):
            if 0 < smaller < size:
                yield resized(description, size, smaller)
    for i, entry in enumerate(description["inputs"] + description["params"]):
        for flag in ("frozen", "no_decay", "lr_scale", "decay_scale"):
            if flag in entry:
                result = copy.deepcopy(description)
                del (result["inputs"] + result["params"])[i][flag]
                yield result


def resized(description, size, smaller):
    """With another size everywhere; what then does not fit fails in the reference."""
    result = copy.deepcopy(description)

    def change(shape):
        shape[:] = [smaller if s == size else s for s in shape]

    def walk(node):
        if node["op"] == "call":
            for t in node["types"]:
                change(t[1])
            return
        old = list(node["type"][1])
        change(node["type"][1])
        if isinstance(node.get("value"), list):
            count = 1
            for s in node["type"][1]:
                count *= s
            if old != node["type"][1]:
                node["value"] = node["value"][:count] if count > 1 else node["value"][0]
    for entry in result["inputs"] + result["params"]:
        change(entry["type"][1])
        if entry["draw"].get("high") == size:
            entry["draw"]["high"] = smaller
    for function in result["functions"].values():
        for _, t in function["args"]:
            change(t[1])
        for node in function["nodes"]:
            walk(node)
    for node in result["nodes"]:
        walk(node)
    if result["batch"] == size:
        result["batch"] = smaller
    return result


def cost(description, pair):
    text = sum(len(n["in"]) + 1 for n in description["nodes"]) + sum(len(f["nodes"]) for f in description["functions"].values())
    sizes = sum(s for e in description["inputs"] + description["params"] for s in e["type"][1])
    return (text * 20 + sizes + 10 * len(description["params"] + description["inputs"]) + description["steps"]
            + 15 * len(pair.compile_flags) + 5 * len(pair.run_flags) + 30 * bool(pair.marks) + 5 * bool(pair.bad and pair.bad[1])
            + 2 * pair.ranks + 5 * (pair.launch == "mpirun") + sum(3 * len(pair.resume[key]) for key in ("compile_flags", "marks") if pair.resume)
            + (pair.resume["ranks"] if pair.resume else 0) + 5 * bool(pair.not_finite) + 5 * bool(pair.fake_seed)
            + 5 * len(pair.cuda) + pair.run["evaluate"] + pair.run.get("predict", 0) + 20 * len(results_of(description)))


def shrink(description, pair, still_fails, seconds=120):
    """`still_fails(description, pair)` says whether there is the same finding; never raises."""
    end, changed = time.monotonic() + seconds, True
    while changed and time.monotonic() < end:
        changed = False
        for candidate in smaller_pairs(pair):
            if time.monotonic() > end:
                break
            if cost(description, candidate) < cost(description, pair) and still_fails(description, candidate):
                pair, changed = candidate, True
                break
        if changed:
            continue
        for candidate in smaller_descriptions(description):
            if time.monotonic() > end:
                break
            if cost(candidate, pair) < cost(description, pair) and still_fails(candidate, pair):
                description, changed = candidate, True
                break
    return description, pair
