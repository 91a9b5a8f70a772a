"""A description with another number of rows in its batch.

What is computed from inputs has their rows along one dimension, `unit` elements of each. What is not is the same for every batch; where rows read
it along their dimension (a broadcast, an iota), they read one of the new size, and all else reads the old one.
"""
import copy

from builder import STEPWISE
from torch_text import BINARY

ELEMENTWISE = STEPWISE | set(BINARY) - {"outer"} | {"compare", "select", "cast"}
OF_ROWS = {"softmax", "log_softmax", "argmax_pick", "cumsum", "roll", "flip", "normalize", "layer_norm", "rms_norm", "rope"}


class Unresizable(Exception):
    """A model of this batch alone."""


def aligned(shape, result):
    """The loops of an operand's dimensions, where those of the result are 0, 1, ..."""
    skipped = len(result) - len(shape)
    return [skipped + i if size == result[skipped + i] else None for i, size in enumerate(shape)]


def without(loops, dims):
    return [None if i in dims else loop for i, loop in enumerate(loops)]


def prefixes(shape):
    """A dimension's loop in a reshape: the elements before it. Sizes of one have none."""
    loops, product = [], 1
    for size in shape:
        loops.append(product if size > 1 else None)
        product *= size
    return loops


def loops_of(node, shapes):
    """([the loop of each dimension] of each operand, that of the result); None where a dimension has one of its own."""
    op, result = node["op"], node["type"][1]
    x = shapes[0] if shapes else []
    own = list(range(len(x)))
    if op in ("mse", "bce_with_logits"):
        return [own, own], []
    if op in ELEMENTWISE:
        return [aligned(shape, result) for shape in shapes], list(range(len(result)))
    if op in OF_ROWS:
        apart = without(own, range(len(x) - 2, len(x)) if op == "rope" else [node.get("dim", len(x) - 1)])
        return [apart, *[[None] for _ in shapes[1:]]], apart
    if op == "reshape":
        return [prefixes(x)], prefixes(result)
    if op == "transpose":
        return [own], node["perm"]
    if op in ("slice", "pad", "repeat"):
        return [aligned(x, result)], own
    if op == "concat":
        apart = without(own, [node["dim"]])
        return [apart] * len(shapes), apart
    if op == "broadcast":
        return [[dim if x[i] == result[dim] else None for i, dim in enumerate(node["dims"])]], list(range(len(result)))
    if op in ("sum", "mean", "amax", "var", "logsumexp"):
        reduced = [node["dim"]] if op == "logsumexp" else node["dims"]
        kept = [None if i in reduced else i for i in own if node["keep"] or i not in reduced]
        return [own if op in ("sum", "mean") else without(own, reduced)], kept
    if op in ("matmul", "outer"):
        return loops_of_product(node, shapes)
    if op in ("embedding", "one_hot"):
        ids = list(range(len(shapes[-1])))
        return [[None, None], ids] if op == "embedding" else [ids], [*ids, None]
    if op in ("gather_last", "token_loss", "cross_entropy"):
        return [own, own[:-1]], [] if op == "cross_entropy" else own[:-1]
    if op == "conv1d":
        return [[0, 1, None], [None] * 3], [0, 1, None]
    if op in ("attention", "attention_lse"):
        # Query heads may share those of keys.
        head = 1 if shapes[1][1] == shapes[0][1] else None
        changes = {"slopes": [1], "segments": [0, None]}
        more = [changes.get(name) or [i if i < 3 and n != 1 else None for i, n in enumerate(shape)]
                for name, shape in zip(node.get("with", ()), shapes[3:])]
        return [[0, 1, 2, None], [0, head, None, None], [0, head, None, None], *more], [0, 1, 2, None][:len(result)]
    if op == "count":
        return [own], []
    if op in ("constant", "iota", "causal_mask"):
        return [], [None] * len(result)
    raise ValueError(f"no loops of {op}")


def loops_of_product(node, shapes):
    a, b = ([*range(len(shape) - 2), "m", "k"] for shape in shapes)
    if node["op"] == "outer":
        a = [*range(len(shapes[0]) - 1), "m"]
        return [a, [*a[:-1], "n"]], [*a, "n"]
    b = [*b[:-2], "k", "n"]
    a = a[:-2] + a[-1:] + a[-2:-1] if node["ta"] else a
    b = b[:-2] + b[-1:] + b[-2:-1] if node["tb"] else b
    return [a, b], [*range(len(shapes[0]) - 2), "m", "n"]


class Resizing:
    """Of one function, or of the entry: its nodes with `rows` rows instead of `batch`."""

    def __init__(self, description, rows):
        self.description, self.batch, self.rows = description, description["batch"], rows
        self.types, self.dims, self.nodes = {}, {}, []  # the old types; the dimension with the rows
        self.made_by, self.copies = {}, {}
        self.functions, self.results = {}, {}  # of functions: the new one, the dimensions of its arguments and results

    def size(self, size):
        if size % self.batch:
            raise Unresizable(f"{size} elements of {self.batch} rows")
        return size // self.batch * self.rows

    def resized(self, t, dim):
        dtype, shape = t
        return [dtype, [self.size(s) if i == dim else s for i, s in enumerate(shape)]]

    def add_leaf(self, name, t, dim):
        self.types[name] = t
        if dim is not None:
            self.dims[name] = dim

    def add(self, node):
        if node["op"] == "call":
            self.add_call(node)
            return
        self.types[node["name"]] = node["type"]
        operands, result = loops_of(node, [self.types[name][1] for name in node["in"]])
        of_rows = {loops[self.dims[name]] for name, loops in zip(node["in"], operands) if name in self.dims}
        if len(of_rows) > 1 or None in of_rows:
            raise Unresizable(f"{node['op']} mixes rows")
        self.made_by[node["name"]] = node
        new = copy.deepcopy(node)
        for loop in of_rows:
            new["in"] = self.read(node, operands, loop)
            if loop in result:
                self.dims[node["name"]] = result.index(loop)
                new["type"] = self.resized(node["type"], result.index(loop))
        self.nodes.append(new)

    def read(self, node, operands, loop):
        """The operands' names, where the loop is over rows."""
        names = []
        for name, loops in zip(node["in"], operands):
            dim = loops.index(loop) if loop in loops else None
            if name in self.dims and dim != self.dims[name]:
                raise Unresizable(f"{node['op']} mixes rows")
            names.append(name if dim is None or name in self.dims else self.cut(name, dim))
        return names

    def cut(self, name, dim):
        """The name of a copy of what does not depend on inputs, with rows along the dimension."""
        if (name, dim) in self.copies:
            return self.copies[name, dim]
        node = self.made_by.get(name)
        if node is None or isinstance(node.get("value"), list) or node["op"] == "iota" and node["dim"] == dim:
            raise Unresizable(f"{name} has a size of the batch, or numbers its rows")
        operands, result = loops_of(node, [self.types[n][1] for n in node["in"]])
        new = dict(copy.deepcopy(node), name=f"{name}_rows{dim}", type=self.resized(node["type"], dim))
        if result[dim] is not None:
            new["in"] = self.read(node, operands, result[dim])
        elif node["op"] not in ("constant", "iota", "broadcast"):
            raise Unresizable(f"{name} has a size of the batch")
        self.nodes.append(new)
        self.copies[name, dim] = new["name"]
        return new["name"]

    def add_call(self, node):
        name = node["function"]
        dims = [self.dims.get(operand) for operand in node["in"]]
        if name not in self.functions:
            old = self.description["functions"][name]
            inner = Resizing(self.description, self.rows)
            inner.functions, inner.results = self.functions, self.results
            for (argument, t), dim in zip(old["args"], dims):
                inner.add_leaf(argument, t, dim)
            for each in old["nodes"]:
                inner.add(each)
            arguments = [[argument, self.resized(t, dim)] for (argument, t), dim in zip(old["args"], dims)]
            self.functions[name] = dict(old, args=arguments, nodes=inner.nodes)
            self.results[name] = dims, [inner.dims.get(result) for result in old["results"]]
        if self.results[name][0] != dims:
            raise Unresizable(f"{name} is called with rows and without")
        new = copy.deepcopy(node)
        for i, (t, dim) in enumerate(zip(node["types"], self.results[name][1])):
            self.add_leaf(f"{node['name']}:{i}", t, dim)
            new["types"][i] = self.resized(t, dim)
        self.nodes.append(new)


def resizing_of(description, rows):
    if description["batch"] == 1 or any("shard" in entry for entry in description["inputs"]):
        raise Unresizable("a batch of one row")
    resizing = Resizing(description, rows)
    for entry in description["params"]:
        resizing.add_leaf(entry["name"], entry["type"], None)
    for entry in description["inputs"]:
        resizing.add_leaf(entry["name"], entry["type"], 0)
    for node in description["nodes"]:
        resizing.add(node)
    return resizing


def with_rows_apart(description, names):
    """Of the names of values, those whose rows are each computed from one row of the inputs; none where the model has one batch size alone."""
    try:
        resizing = resizing_of(description, 2 * description["batch"])
    except Unresizable:
        return []
    mixed = set()  # what depends on several rows
    for node in description["nodes"]:
        results = [f"{node['name']}:{i}" for i in range(len(node["types"]))] if node["op"] == "call" else [node["name"]]
        reads_rows = any(name in resizing.dims for name in node["in"])
        mixed |= {name for name in results if reads_rows and name not in resizing.dims or mixed & set(node["in"])}
    return [name for name in names if name not in mixed and resizing.dims.get(name) == 0]


def with_batch(description, rows):
    """The description of the same model with a batch of `rows` rows; Unresizable where there is none."""
    resizing = resizing_of(description, rows)
    result = copy.deepcopy(description)
    for entry in result["inputs"]:
        entry["type"] = resizing.resized(entry["type"], 0)
    return dict(result, batch=rows, nodes=resizing.nodes, functions=resizing.functions)
