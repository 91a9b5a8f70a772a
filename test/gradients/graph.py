"""A model as text for the compiler and as numpy functions, side by side.

A value is a number: operands come first, each step adds one. A step is (template, forward): the template is an op with
`%0`, `%1` for values ("reduce sum %0 [1]"), forward the same in numpy. Types are taken from what forward returns.

A step may name its element type ("f32") where numpy, which always computes in f64, does not tell it. A detached value keeps
that of the unperturbed parameters, so that differences see what autodiff should.

Ops may be marked with places: `mark()` is asked for each, and says a place or None.

The loss is the sum over the graph's results of sum(weights * result), with fixed random weights that are a model input, so
that each element of a result has its own share in the loss.
"""
import re
from dataclasses import dataclass, field

import numpy as np

# Ops whose result type their operands do not tell.
TYPED_RESULT = {"reshape", "slice", "pad", "broadcast", "cast", "count", "one_hot", "dispatch", "combine", "conv"}
RESULTS = {"attention": 2, "top_k": 2, "sort": 2}
WITH_IDS = {"top_k", "sort"}  # ops whose second result is indices
TYPES = {"float64": "f64", "float32": "f32", "int32": "i32", "int64": "i64", "bool": "i1"}


def type_of(array, element=None):
    return "tensor<" + "".join(f"{d}x" for d in array.shape) + (element or TYPES[array.dtype.name]) + ">"


@dataclass
class Operand:
    """kind: "param" is trained; "ids" is an integer input [batch, ...]; "rows" is a parameter that a float input with a
    batch dimension was added to, so that the value has a row for each sample."""
    kind: str
    shape: tuple
    domain: str = "any"
    high: int = 0
    ignored: tuple = ()


def P(*shape, domain="any"):
    return Operand("param", shape, domain)


def Rows(*shape, domain="any"):
    return Operand("rows", shape, domain)


def Ids(*shape, high, ignored=()):
    """Integers in [0, high); at the flat positions `ignored` of the batch stands -1."""
    return Operand("ids", shape, high=high, ignored=ignored)


def draw(random, shape, domain):
    if domain == "positive":
        return random.uniform(0.4, 2.0, shape)
    if domain == "exact":
        return np.round(random.standard_normal(shape) * 1024) / 1024
    if domain == "apart":  # distinct, and none near 0: no kink and no tie within a difference's reach
        count = int(np.prod(shape))
        values = (np.arange(count) - count // 2 + 0.5) * (3.0 / max(count, 1))
        return random.permutation(values).reshape(shape)
    if domain == "steps":  # not near a multiple of 1/2
        return np.array((random.integers(-6, 6, shape) + random.uniform(0.1, 0.9, shape)) / 2)
    return random.standard_normal(shape)


def marked(line, result_type, place):
    """The line of one op with one result, marked with a place."""
    if place is None:
        return line
    name, op = line.split(" = ", 1)
    return f"{name} = pp.on {place} -> {result_type} {{\n    %op = {op}\n    pp.yield %op : {result_type}\n  }}"


@dataclass
class Graph:
    """Operands, steps and results of one case; `prefix` keeps the names of several cases in one model apart, `frozen` are
    numbers of operands that are not trained."""
    operands: list
    steps: list
    batch: int = 2
    prefix: str = ""
    seed: int = 0
    results: list = None  # value numbers; default: the last
    frozen: tuple = ()
    params: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)

    def __post_init__(self):
        random = np.random.default_rng(self.seed)
        for i, operand in enumerate(self.operands):
            name = f"{self.prefix}p{i}"
            if operand.kind == "ids":
                ids = random.integers(0, operand.high, (self.batch, *operand.shape), dtype=np.int32)
                ids.reshape(-1)[list(operand.ignored)] = -1
                self.inputs[name] = ids
                continue
            self.params[name] = draw(random, operand.shape, operand.domain)
            if operand.kind == "rows":
                self.inputs[f"{self.prefix}x{i}"] = draw(random, (self.batch, *operand.shape), operand.domain)
        self.batched = any(o.kind != "param" for o in self.operands)
        if self.results is None:
            self.results = [len(self.operands) + len(self.steps) - 1]
        self.unperturbed = None
        self.unperturbed = values = self.values(self.params)
        self.weights = {}
        for r in self.results:
            shape = values[r].shape if self.batched else (self.batch, *values[r].shape)
            scalar = self.batched and values[r].shape == ()  # a sum over the batch: its weight can't depend on rows
            self.weights[r] = np.asarray(0.75) if scalar else draw(random, shape, "exact")
            if not scalar:
                self.inputs[f"{self.prefix}w{r}"] = self.weights[r]

    def values(self, params):
        values = []
        for i, operand in enumerate(self.operands):
            name = f"{self.prefix}p{i}"
            if operand.kind == "ids":
                values.append(self.inputs[name])
            elif operand.kind == "rows":
                values.append(self.inputs[f"{self.prefix}x{i}"] + params[name])
            else:
                values.append(params[name])
        for template, forward, *_ in self.steps:
            if template.startswith("detach") and self.unperturbed:
                values.append(self.unperturbed[len(values)])
                continue
            result = forward(*(values[int(k)] for k in re.findall(r"%(\d+)", template)))
            values.append(np.asarray(result[0] if isinstance(result, tuple) else result))
        return values

    def loss(self, params):
        values = self.values(params)
        return sum(float(np.sum(self.weights[r] * values[r])) for r in self.results)

    def gradients(self, h=1e-3):
        """Central differences, widths h and 2h extrapolated: error about 1e-11 where the function bends little."""
        gradients = {}
        for name, value in self.params.items():
            gradient = np.zeros(value.shape)
            for index in np.ndindex(value.shape):
                def at(delta):
                    moved = value.copy()
                    moved[index] += delta
                    return self.loss(dict(self.params, **{name: moved}))
                gradient[index] = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
            gradients[name] = gradient
        return gradients

    def slope(self, random, h):
        """A direction in the space of the parameters, {name: array} of size 1, and the loss's slope along it."""
        direction = {name: random.standard_normal(value.shape) for name, value in self.params.items()}
        size = np.sqrt(sum(np.sum(d * d) for d in direction.values()))
        direction = {name: d / size for name, d in direction.items()}

        def at(delta):
            return self.loss({name: value + delta * direction[name] for name, value in self.params.items()})
        return direction, (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)

    def body(self, mark=lambda: None):
        """(lines of MLIR, the SSA name of the loss)."""
        values = self.values(self.params)
        lines, name_of = [], {}
        p = self.prefix
        for i, operand in enumerate(self.operands):
            name_of[i] = f"%{p}p{i}"
            if operand.kind == "ids":
                continue
            param = self.params[f"{p}p{i}"]
            frozen = ", frozen" if i in self.frozen else ""
            lines.append(f'%{p}p{i} = pp.param "{p}p{i}" {{init = #pp.init<zeros>{frozen}}} : {type_of(param)}')
            if operand.kind == "rows":
                name_of[i] = f"%{p}r{i}"
                rows = type_of(self.inputs[f"{p}x{i}"])
                lines.append(marked(f"%{p}r{i} = pp.add %{p}x{i}, %{p}p{i} : {rows}, {type_of(param)}", rows, mark()))
        elements = {}
        for s, (template, _, *element) in enumerate(self.steps):
            number = len(self.operands) + s
            used = [int(k) for k in re.findall(r"%(\d+)", template)]
            text = re.sub(r"%(\d+)", lambda m: name_of[int(m.group(1))], template)
            op = template.split()[0]
            name_of[number] = f"%{p}v{number}" + ("#0" if op in RESULTS else "")
            left = f"%{p}v{number}" + (f":{RESULTS[op]}" if op in RESULTS else "")
            elements[number] = element[0] if element else None
            types = ", ".join(type_of(values[k], elements.get(k)) for k in used)
            if op in TYPED_RESULT:
                types += f" to {type_of(values[number], elements[number])}"
            if op in WITH_IDS:
                types += f" -> {type_of(values[number])}, {type_of(values[number], 'i64')}"
            place = None if op in RESULTS else mark()
            lines.append(marked(f"{left} = pp.{text} : {types}", type_of(values[number], elements[number]), place))
        loss = None
        for r in self.results:
            weight, value = self.weights[r], values[r]
            if weight.ndim == 0:
                lines.append(f"%{p}w{r} = pp.constant dense<{float(weight)!r}> : tensor<f64>")
            product = type_of(np.broadcast_to(value, np.broadcast_shapes(weight.shape, value.shape)))
            lines.append(marked(f"%{p}m{r} = pp.mul %{p}w{r}, {name_of[r]} : {type_of(weight)}, {type_of(value)}", product,
                                mark()))
            term = f"%{p}m{r}"
            if weight.ndim:
                term = f"%{p}s{r}"
                lines.append(marked(f"{term} = pp.reduce sum %{p}m{r} {list(range(weight.ndim))} : {type_of(weight)}",
                                    "tensor<f64>", mark()))
            if loss is None:
                loss = term
            else:
                lines.append(marked(f"%{p}t{r} = pp.add {loss}, {term} : tensor<f64>, tensor<f64>", "tensor<f64>", mark()))
                loss = f"%{p}t{r}"
        return lines, loss


def model_text(graphs, name="check", mark=lambda: None):
    """One model whose loss is the sum of the graphs' losses; `mark` as for Graph.body."""
    arguments = [f'%{n}: {type_of(a)} {{pp.input = "{n}"}}' for g in graphs for n, a in g.inputs.items()]
    lines, total = [], None
    for k, graph in enumerate(graphs):
        body, loss = graph.body(mark)
        lines += body
        if total is None:
            total = loss
        else:
            lines.append(f"%total{k} = pp.add {total}, {loss} : tensor<f64>, tensor<f64>")
            total = f"%total{k}"
    joined = ",\n    ".join(arguments)
    return (f"func.func @{name}(\n    {joined}) -> tensor<f64> {{\n  " + "\n  ".join(lines)
            + f"\n  return {total} : tensor<f64>\n}}\n")
