"""Executes the entry of a module, as --test-print-json prints it, on all coordinates of all axes at once.

It knows shardings (docs/sharding.md) and what ops compute, and nothing of iteration spaces: each coordinate executes each op on its
own arrays, and only `pp.reshard` and `pp.batch_sum` look at those of other coordinates. Microbatches are coordinates like ranks. The
module is in phase `train`, before anything was sharded or after `pp-localize-shapes`.
"""
import dataclasses
import difflib

import numpy as np

from layout import Grid, Sharding, assemble, cut, reshard
from ops import DTYPES, OPS, is_exact

BATCH_AXES = ("dp", "fsdp", "mb")
STRUCTURE = ("func.return", "pp.yield", "pp.place", "pp.plan", "pp.param", "pp.add_grad", "pp.reshard", "pp.batch_sum")


class Failure(AssertionError):
    """An op that can't be executed, or whose result is not what the module says of it."""


class Op:
    def __init__(self, text):
        self.name, self.location = text["op"], text["location"]
        self.attributes, self.operands, self.results = text["attributes"], text["operands"], text["results"]
        self.body = [Op(inner) for inner in text.get("body", ())]

    def has(self, name):
        return name in self.attributes

    def get(self, name, default):
        return self.attributes.get(name, default)

    def __getitem__(self, name):
        return self.attributes[name]

    def dtype(self):
        return self.results[0]["type"]

    def shape(self):
        return tuple(self.results[0]["shape"])

    def shardings(self, name):
        """Of an attribute with one for each operand or result; None where there is none."""
        return [Sharding.of(text) for text in self.attributes[name]] if self.has(name) else None


class Module:
    def __init__(self, text):
        self.arguments = text["arguments"]
        self.ops = [Op(op) for op in text["ops"]]
        self.mesh = [(axis["axis"], axis["size"]) for axis in text["plan"]["mesh"]]
        self.microbatches = text["plan"]["microbatches"]

    def grid(self):
        """The axes that shard."""
        sizes = [(axis, size) for axis, size in self.mesh if axis != "pp" and size > 1]
        return Grid(sizes + ([("mb", self.microbatches)] if self.microbatches > 1 else []))

    def walk(self):
        """All ops, in the order in which they are executed; a place after what is in it."""
        def of(ops):
            for op in ops:
                yield from of(op.body)
                yield op
        return of(self.ops)


class Value:
    """The arrays of all coordinates, and how they lie, if the module says so."""

    def __init__(self, parts, sharding=None, param=None):
        self.parts, self.sharding, self.param = parts, sharding, param


class Interpreter:
    """`inputs` and `params` are global, by name. Without `is_sharded` there is one coordinate, which has everything. `noise`: what
    each op rounds is changed by this much, relatively."""

    def __init__(self, module, inputs, params, is_sharded=False, noise=0.0):
        self.module, self.inputs, self.params, self.noise = module, inputs, params, noise
        self.is_sharded = is_sharded
        self.grid = module.grid() if is_sharded else Grid({})
        self.values, self.gradients, self.losses = {}, {}, []

    def run(self):
        for argument in self.module.arguments:
            attributes = argument.get("attributes", {})
            if "pp.input" in attributes:
                value = self.draw(self.inputs[attributes["pp.input"]], argument, attributes.get("pp.sharding"))
            else:
                value = Value([self.key(coordinate, argument["shape"][0]) for coordinate in self.grid.coordinates])
            self.define(argument, value)
        for op in self.module.ops:
            self.execute(op)
        return self

    def key(self, coordinate, size):
        """The random key: seed, step, training, microbatch, the coordinates on the mesh's axes, and at the end the rows that count, of how many,
        and of how many batches."""
        key = np.zeros(size, np.int64)
        elements = [0, 0, 1, coordinate.get("mb", 0), *(coordinate.get(axis, 0) for axis, _ in self.module.mesh)]
        key[:len(elements)] = elements
        rows = len(next(iter(self.inputs.values())))
        key[-3:] = rows, rows, 1
        return key

    def draw(self, value, result, text):
        """A leaf, of which each coordinate has its own part."""
        value = value.astype(DTYPES[result["type"]])
        sharding = Sharding.of(text) if text else Sharding.whole(value.ndim)
        return Value(cut(self.grid, value, sharding), sharding)

    def define(self, result, value):
        for part in value.parts:
            if list(part.shape) != result["shape"] or part.dtype != DTYPES[result["type"]]:
                raise Failure(f"a {part.dtype} of shape {list(part.shape)} where the module says {result['type']} of {result['shape']}")
        self.values[result["value"]] = value

    # --- ops -----------------------------------------------------------------

    def execute(self, op):
        try:
            operands = [self.values[number] for number in op.operands]
            if op.name == "pp.place":
                results = self.execute_body(op)
            elif op.name in STRUCTURE:
                results = getattr(self, op.name.replace(".", "_"))(op, operands)
            else:
                results = self.compute(op, operands)
            for result, value in zip(op.results, results, strict=True):
                self.define(result, value)
        except Failure:
            raise
        except (AssertionError, ValueError, KeyError, IndexError, TypeError) as error:
            raise Failure(f"{op.name} at {op.location}: {type(error).__name__}: {error}") from error

    def execute_body(self, op):
        for inner in op.body:
            self.execute(inner)
        return [self.values[number] for number in op.body[-1].operands]

    def compute(self, op, operands):
        if op.name not in OPS:
            raise Failure(f"{op.name} at {op.location} has no meaning in ops.py")
        shardings = op.shardings("pp.shardings") or [None] * len(op.results)
        columns = [[] for _ in op.results]
        for i in range(len(self.grid.coordinates)):
            with np.errstate(all="ignore"):
                results = OPS[op.name](op, *(operand.parts[i] for operand in operands))
            for column, result in zip(columns, results if isinstance(results, list) else [results], strict=True):
                column.append(self.perturb(op, np.asarray(result)))
        return [Value(column, sharding) for column, sharding in zip(columns, shardings)]

    def perturb(self, op, value):
        """By an amount that is a function of the value, so that equal values stay equal. Small dyadic numbers are exact."""
        if not self.noise or value.dtype.kind != "f" or is_exact(op):
            return value
        with np.errstate(all="ignore"):
            amount = np.sin(value * 1.2345678e7) * 43758.5453
        is_dyadic = (value * 1024 == np.round(value * 1024)) & (np.abs(value) < 2**20)
        return np.where(is_dyadic, value, value * (1 + (amount - np.floor(amount) - 0.5) * 2 * self.noise))

    # --- the program around ops ----------------------------------------------

    def pp_plan(self, op, operands):
        return []

    def pp_yield(self, op, operands):
        return []

    def pp_param(self, op, operands):
        shardings = op.get("pp.shardings", [None])
        value = self.draw(self.params[op["param_name"]], op.results[0], shardings[0])
        value.param = op["param_name"]
        return [value]

    def pp_reshard(self, op, operands):
        before, after = Sharding.of(op["from"]), Sharding.of(op["to"])
        return [Value(reshard(self.grid, operands[0].parts, before, after, op["shape"]), after)]

    def pp_batch_sum(self, op, operands):
        """Completes what the operand says is partial over the batch."""
        partial, = operands
        before = partial.sharding or Sharding.whole(partial.parts[0].ndim)
        after = dataclasses.replace(before, sum=tuple(axis for axis in before.sum if axis not in BATCH_AXES))
        shape = self.grid.global_shape(before, partial.parts[0].shape)
        return [Value(reshard(self.grid, partial.parts, before, after, shape), after)]

    def reads(self, op, number, operand):
        """What the op reads an operand as."""
        shardings = op.shardings("pp.reads")
        if shardings:
            return shardings[number]
        if self.is_sharded:
            raise Failure(f"{op.name} at {op.location} has no pp.reads")
        return Sharding.whole(operand.parts[0].ndim)

    def pp_add_grad(self, op, operands):
        name = operands[0].param
        if name is None:
            raise Failure(f"{op.name} at {op.location}: the first operand is no parameter")
        parts = [part / op.get("tiles", 1) for part in operands[1].parts]
        gradient = assemble(self.grid, parts, self.reads(op, 1, operands[1]), self.params[name].shape)
        self.gradients[name] = self.gradients[name] + gradient if name in self.gradients else gradient
        return []

    def func_return(self, op, operands):
        self.losses = [assemble(self.grid, operand.parts, self.reads(op, i, operand), operand.parts[0].shape)
                       for i, operand in enumerate(operands)]
        return []

    def differs(self, wanted, value):
        """What is wrong with a value, if it says how it lies; empty if nothing is."""
        if value.sharding is None:
            return ""
        try:
            found = assemble(self.grid, value.parts, value.sharding, wanted.shape)
        except AssertionError as error:
            return f"as {value.sharding}: {error}"
        if wanted.dtype.kind != "f":
            return "" if np.array_equal(wanted, found) else f"as {value.sharding} it is another"
        error, scale = np.abs(wanted - found).max(initial=0), np.abs(wanted).max(initial=0)
        return "" if error <= 1e-9 * max(scale, 1e-6) else f"as {value.sharding} it is off by {error:.3g} of {scale:.3g}"


def compare(wanted, found):
    """[(relative difference, what)] of the losses and gradients of two runs, the largest first."""
    lines = [(abs(a - b) / max(abs(a), 1e-3), f"loss {i} is {b} instead of {a}")
             for i, (a, b) in enumerate(zip(wanted.losses, found.losses, strict=True))]
    if set(wanted.gradients) != set(found.gradients):
        return [(np.inf, f"gradients of {sorted(found.gradients)} instead of {sorted(wanted.gradients)}")]
    largest = max((np.abs(g).max(initial=0) for g in wanted.gradients.values()), default=0)
    for name, a in wanted.gradients.items():
        error = np.abs(a - found.gradients[name]).max(initial=0)
        scale = max(np.abs(a).max(initial=0), 1e-3 * largest, 1e-6)
        lines.append((error / scale, f"gradient of {name} is off by {error:.3g} of {scale:.3g}"))
    return sorted(((float(ratio) if ratio == ratio else np.inf, text) for ratio, text in lines), reverse=True)


def first_difference(wanted, sharded, inputs, params):
    """The first op of the sharded module whose value is not that of the op that it was in the global one."""
    found, reason = Interpreter(sharded, inputs, params, is_sharded=True), ""
    try:
        found.run()
    except AssertionError as error:
        reason = f"; then {error}"
    originals, ops = list(wanted.module.walk()), list(sharded.walk())
    matcher = difflib.SequenceMatcher(None, [(op.name, op.location) for op in originals], [(op.name, op.location) for op in ops], autojunk=False)
    for i, j, size in matcher.get_matching_blocks():
        for original, op in zip(originals[i:i + size], ops[j:j + size]):
            for number, (a, b) in enumerate(zip(original.results, op.results)):
                if b["value"] not in found.values:
                    return f"no value differs before {op.name} at {op.location}{reason}"
                difference = found.differs(wanted.values[a["value"]].parts[0], found.values[b["value"]])
                if difference:
                    return f"result {number} of {op.name} at {op.location}: {difference}{reason}"
    return f"no value of an op differs{reason}"
