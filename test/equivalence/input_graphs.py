"""Random models whose parameters meet arithmetic on inputs alone: sums, means and counts over the batch, read anywhere.

A model is a list of steps; each has a line of MLIR and the same in numpy. Values that follow from inputs alone may be used by
any op, whatever the plan: they are complete before the first forward. `mixes` adds what no plan can split: ops that
need all rows of what depends on parameters.
"""
import dataclasses

import numpy as np

from plans import BATCH

COLUMNS, LENGTH = 3, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def largest(x):
    """The maximum over the rows; of complex numbers, that of the real parts."""
    return np.take_along_axis(x, np.argmax(x.real, axis=0)[None], axis=0)[0]


def softmax(x):
    e = np.exp(x - x.real.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@dataclasses.dataclass
class Value:
    name: str
    shape: tuple
    rows: bool     # has a row for each sample
    learns: bool   # depends on parameters
    level: int = 0  # how many sums over the batch, one inside of the other, it is made of

    @property
    def type(self):
        return "tensor<" + "".join(f"{d}x" for d in self.shape) + "f64>"


class InputGraph:
    """`mixes`: with ops that can't be split. `levels`: how deep sums of inputs may be nested."""

    def __init__(self, seed, mixes=False, levels=3):
        self.random = np.random.default_rng([seed, 1])
        self.levels = levels
        self.lines, self.functions, self.values = [], [], []
        draw = self.random.standard_normal
        self.inputs = {"x": draw((BATCH, COLUMNS)), "y": draw((BATCH, LENGTH, COLUMNS)), "s": draw(BATCH),
                       "t": self.random.integers(-1, 6, (BATCH, LENGTH), dtype=np.int32)}
        self.inputs["t"][0, 0] = 1  # some are counted
        self.params = {"w": 0.5 * draw(COLUMNS), "v": 0.5 * draw(COLUMNS), "u": np.asarray(0.5 * draw())}
        for name in ["x", "y", "s"]:
            self.add_source(name, self.inputs[name].shape, rows=True, learns=False)
        for name, value in self.params.items():
            self.lines.append((f'%{name} = pp.param "{name}" {{init = #pp.init<zeros>}} : {tensor(value.shape)}', None))
            self.add_source(name, value.shape, rows=False, learns=True)
        self.add_ids()
        for _ in range(int(self.random.integers(4, 9))):
            self.add_input_arithmetic()
        hidden = [self.add_hidden() for _ in range(int(self.random.integers(1, 4)))]
        for _ in range(int(self.random.integers(2, 8))):
            (self.add_input_arithmetic if self.random.random() < 0.5 else self.add_any)()
        if mixes:
            self.add_mixing(hidden[-1])
        self.add_loss(hidden)

    # Values

    def add_source(self, name, shape, rows, learns):
        self.values.append(Value(f"%{name}", shape, rows, learns))
        self.functions.append((lambda all_, n=name: all_[n], ()))

    def add(self, op, function, operands, shape, rows, level=None, suffix="", element="f64"):
        name = f"%a{len(self.values)}"
        types = ", ".join(o.type for o in operands)
        result = f"tensor<{''.join(f'{d}x' for d in shape)}{element}>"
        self.lines.append((f"{name} = pp.{op.format(*(o.name for o in operands))} : {types}{suffix.format(result)}", result))
        self.functions.append((function, tuple(self.values.index(o) for o in operands)))
        value = Value(name, tuple(shape), rows, any(o.learns for o in operands),
                      max((o.level for o in operands), default=0) if level is None else level)
        self.values.append(value)
        return value

    def constant(self, number):
        name = f"%a{len(self.values)}"
        self.lines.append((f"{name} = pp.constant dense<{float(number)!r}> : tensor<f64>", "tensor<f64>"))
        self.functions.append((lambda number=float(number): np.asarray(number), ()))
        self.values.append(Value(name, (), False, False))
        return self.values[-1]

    def choose(self, values):
        """Later ones more often."""
        return values[int(len(values) * np.sqrt(self.random.random()))] if values else None

    def pick(self, *options):
        return options[int(self.random.integers(len(options)))]

    # Ops

    def add_ids(self):
        """Counts of ids, and ids as numbers."""
        ids = Value("%t", (BATCH, LENGTH), True, False)
        text = f"tensor<{BATCH}x{LENGTH}xi32>"

        def add(line, function, shape, rows, level):
            name = f"%a{len(self.values)}"
            result = tensor(shape)
            self.lines.append((f"{name} = {line} : {text} to {result}", result))
            self.functions.append((lambda all_: function(all_["t"]), ("inputs",)))
            self.values.append(Value(name, shape, rows, False, level))
        if self.random.random() < 0.8:
            add(f"pp.count {ids.name} {{ignore_index = -1 : i64}}", lambda t: np.asarray(float(np.sum(t != -1))), (), False, 1)
        if self.random.random() < 0.5:
            add(f"pp.cast {ids.name}", lambda t: t.astype(float), ids.shape, True, 0)

    def add_input_arithmetic(self):
        pool = [v for v in self.values if not v.learns]
        if self.random.random() < 0.35:
            rows = [v for v in pool if v.rows and v.level < self.levels]
            return self.add_sum(self.choose(rows))
        return self.add_arithmetic(self.choose(pool), pool)

    def add_any(self):
        """Of what can be split: sums of what depends on parameters meet nothing but the loss."""
        pool = [v for v in self.values if v.level < 100]
        return self.add_arithmetic(self.choose(pool), pool)

    def add_sum(self, value, level=None):
        dims = [0] + [d for d in range(1, len(value.shape)) if self.random.random() < 0.4]
        keep = bool(self.random.random() < 0.2) and len(value.shape) > 1
        kind, function = self.pick(("mean", np.mean), ("mean", np.mean), ("sum", lambda x, **k: np.sum(x, **k)))
        shape = [1 if d in dims else n for d, n in enumerate(value.shape) if keep or d not in dims]
        small = value
        if kind == "sum":  # stays near 1
            small = self.add("mul {0}, {1}", np.multiply, [value, self.constant(0.1)], value.shape, value.rows)
        return self.add(f"reduce {kind} {{0}} {dims}" + (" {{keep_dims}}" if keep else ""),
                        lambda x, d=tuple(dims), k=keep, f=function: f(x, axis=d, keepdims=k), [small], shape, False,
                        value.level + 1 if level is None else level)

    def add_arithmetic(self, value, pool):
        kind = int(self.random.integers(7))
        same = (value.shape, value.rows)
        if kind <= 1:
            op, function = self.pick(("tanh", np.tanh), ("sigmoid", sigmoid), ("neg", np.negative), ("tanh", np.tanh))
            return self.add(f"{op} {{0}}", function, [value], *same)
        if kind == 2 and not value.learns:
            return self.add("detach {0}", lambda x: x, [value], *same)
        if kind == 3:
            op, function = self.pick(("add", np.add), ("mul", np.multiply), ("sub", np.subtract))
            pair = [value, self.constant(np.round(self.random.uniform(0.2, 1.5), 3))]
            if self.random.random() < 0.5:
                pair.reverse()
            return self.add(f"{op} {{0}}, {{1}}", function, pair, *same)
        partners = [v for v in pool if meets(value, v) or meets(v, value)]
        other = self.choose(partners)
        if kind == 4:  # divided by 1 + other², which is never 0
            square = self.add("mul {0}, {1}", np.multiply, [other, other], other.shape, other.rows)
            other = self.add("add {0}, {1}", np.add, [square, self.constant(1)], other.shape, other.rows)
        op, function = ("div", np.divide) if kind == 4 else self.pick(("add", np.add), ("sub", np.subtract), ("mul", np.multiply))
        return self.add(f"{op} {{0}}, {{1}}", function, [value, other], np.broadcast_shapes(value.shape, other.shape),
                        value.rows or other.rows)

    def add_hidden(self):
        """A layer: rows of inputs and a parameter, in something that bends."""
        rows = self.choose([v for v in self.values if v.rows and not v.learns and v.shape[-1] == COLUMNS and len(v.shape) > 1])
        weight = self.pick(*(v for v in self.values[:6] if v.name in ("%w", "%v")))
        product = self.add("mul {0}, {1}", np.multiply, [rows, weight], rows.shape, True)
        return self.add("tanh {0}", np.tanh, [product], rows.shape, True)

    def add_mixing(self, hidden):
        """What needs all rows of what depends on parameters, and is itself a number."""
        kind = int(self.random.integers(4))
        every = list(range(len(hidden.shape)))
        if kind == 0:
            mean = self.add(f"reduce mean {{0}} {every}", np.mean, [hidden], (), False, 100)
            mixed = self.add("mul {0}, {1}", np.multiply, [mean, mean], (), False)
        elif kind == 1:
            mean = self.add(f"reduce mean {{0}} {every}", np.mean, [hidden], (), False, 100)
            mixed = self.add("tanh {0}", np.tanh, [mean], (), False)
        else:
            row = hidden
            if len(hidden.shape) > 1:
                row = self.add(f"reduce mean {{0}} {every[1:]}", lambda x, d=tuple(every[1:]): x.mean(d), [hidden], (BATCH,), True)
            if kind == 2:
                mixed = self.add("reduce max {0} [0]", largest, [row], (), False, 100)
            else:
                soft = self.add("softmax {0}", softmax, [row], (BATCH,), True, 100)
                soft = self.add("mul {0}, {1}", np.multiply, [soft, soft], (BATCH,), True)
                mixed = self.add("reduce sum {0} [0]", np.sum, [soft], (), False, 100)
        self.mixed = mixed

    def add_loss(self, hidden):
        """The sum of means of what depends on parameters, some of them scaled by numbers that follow from inputs."""
        used = {k for _, operands in self.functions for k in operands}
        ends = [v for i, v in enumerate(self.values) if v.learns and i not in used and len(v.shape) > 0] + hidden[-1:]
        total = None
        for value in ends:
            mean = self.add(f"reduce mean {{0}} {list(range(len(value.shape)))}", np.mean, [value], (), False, 100)
            numbers = [v for v in self.values if v.shape == () and not v.learns]
            if numbers and self.random.random() < 0.6:
                op, function = self.pick(("mul", np.multiply), ("mul", np.multiply))
                mean = self.add(f"{op} {{0}}, {{1}}", function, [mean, self.choose(numbers)], (), False)
            total = mean if total is None else self.add("add {0}, {1}", np.add, [total, mean], (), False)
        numbers = [v for i, v in enumerate(self.values) if v.shape == () and v.level < 100 and i not in used]
        if numbers:
            total = self.add("add {0}, {1}", np.add, [total, self.choose(numbers)], (), False)
        if hasattr(self, "mixed"):
            total = self.add("add {0}, {1}", np.add, [total, self.mixed], (), False)
        self.loss_value = total

    # What it is

    def text(self, mark=lambda: None):
        arguments = ", ".join(f'%{n}: {tensor(a.shape, "i32" if a.dtype == np.int32 else "f64")} {{pp.input = "{n}"}}'
                              for n, a in self.inputs.items())
        body = []
        for line, result in self.lines:
            place = mark() if result else None
            name, op = line.split(" = ", 1)
            body.append(line if place is None else
                        f"{name} = pp.on {place} -> {result} {{\n    %op = {op}\n    pp.yield %op : {result}\n  }}")
        joined = "\n  ".join(body)
        return f"func.func @inputs({arguments}) -> tensor<f64> {{\n  {joined}\n  return {self.loss_value.name} : tensor<f64>\n}}\n"

    def loss(self, params):
        known, results = {**self.inputs, **params}, []
        for function, operands in self.functions:
            if operands == ("inputs",):
                results.append(function(known))
            elif operands:
                results.append(np.asarray(function(*(results[k] for k in operands))))
            elif function.__defaults__ and isinstance(function.__defaults__[0], str):
                results.append(np.asarray(function(known)))
            else:
                results.append(function())
        return results[self.values.index(self.loss_value)]

    def gradients(self):
        """By steps into the complex plane, which round nothing away."""
        h, gradients = 1e-30, {}
        for name, value in self.params.items():
            gradients[name] = np.zeros(value.shape)
            for index in np.ndindex(value.shape):
                moved = value.astype(complex)
                moved[index] += 1j * h
                gradients[name][index] = self.loss({**self.params, name: moved}).imag / h
        return gradients


def tensor(shape, element="f64"):
    return "tensor<" + "".join(f"{d}x" for d in shape) + element + ">"


def meets(value, other):
    """Whether `other` broadcasts to `value` and the batch's dimension meets nothing but itself."""
    if other.rows:
        return value.rows and value.shape == other.shape
    if value.rows and len(other.shape) >= len(value.shape):
        return False
    try:
        return np.broadcast_shapes(value.shape, other.shape) == value.shape
    except ValueError:
        return False
