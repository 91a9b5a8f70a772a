"""Random models with batch norms, states and regions: as text, as lines of PyTorch, and with values in f64."""
import random

import numpy as np

STEPS, OUT = 4, 3


def tensor(shape):
    return "tensor<" + "".join(f"{size}x" for size in shape) + "f64>"


class Drawn:
    """A chain of layers on `shape`, each written in both languages."""

    def __init__(self, seed):
        self.seed, self.random = seed, random.Random(seed)
        self.batch, self.microbatches = self.random.choice([(8, 1), (8, 2), (16, 2), (16, 4)])
        self.inputs, self.width = self.random.choice([3, 6]), self.random.choice([4, 6])
        self.parameters = {}  # name: (shape, is a state, smallest value that is drawn or None)
        self.lines, self.torch = [], []
        self.value, self.shape, self.count = "%x", (self.batch, self.inputs), 0
        kinds = [self.norm] * 3 + [self.activate, self.add, self.centre, self.soften, self.below_largest, self.follow, self.fold]
        for _ in range(self.random.randint(2, 4)):
            self.multiply(self.width)
            for _ in range(self.random.randint(1, 3)):
                self.random.choice(kinds)()
            self.activate()
        if len(self.shape) == 3:
            self.fold()
        self.multiply(OUT)

    def text(self):
        params = [f'  %{name.replace(".", "_")} = pp.param "{name}" {{init = #pp.init<zeros>{", state" if is_state else ""}}} : {tensor(shape)}'
                  for name, (shape, is_state, _) in self.parameters.items()]
        target = tensor((self.batch, OUT))
        return "\n".join([f'func.func @drawn(%x: {tensor((self.batch, self.inputs))} {{pp.input = "x"}}, %y: {target} {{pp.input = "y"}}) -> tensor<f64> {{',
                          *params, *self.lines, f"  %loss = pp.mse {self.value}, %y : {target}, {target}", "  return %loss : tensor<f64>", "}", ""])

    def values(self):
        generator = np.random.default_rng(self.seed)
        return {name: generator.normal(0, 0.5, shape) if least is None else generator.uniform(least, least + 1, shape)
                for name, (shape, _, least) in self.parameters.items()}

    def rows(self):
        """Those of all steps, and a batch to evaluate."""
        generator = np.random.default_rng(self.seed + 1000)
        count = self.batch * (STEPS + 1)
        return {"x": generator.normal(0.3, 1, (count, self.inputs)), "y": generator.normal(0, 1, (count, OUT))}

    def parameter(self, name, shape, is_state=False, least=None):
        self.parameters[name] = (tuple(shape), is_state, least)
        return "%" + name.replace(".", "_")

    def fresh(self):
        self.count += 1
        return f"%v{self.count}"

    def write(self, op, torch, shape=None):
        """`op` reads {x} and has {type}, the type of x."""
        result = self.fresh()
        self.lines.append(f"  {result} = " + op.format(x=self.value, type=tensor(self.shape)))
        self.torch.append(torch)
        self.value, self.shape = result, shape or self.shape

    def multiply(self, width):
        name, shape = f"l{len(self.parameters)}", (self.shape[-1], width)
        weight = self.parameter(name, shape)
        self.write(f"pp.matmul {{x}}, {weight} : {{type}}, {tensor(shape)}", f"h = h @ p['{name}']", (*self.shape[:-1], width))

    def activate(self):
        kind = self.random.choice(["tanh", "sigmoid"])
        self.write(f"pp.{kind} {{x}} : {{type}}", f"h = torch.{kind}(h)")

    def add(self):
        self.write("pp.add {x}, {x} : {type}, {type}", "h = h + h")

    def fold(self):
        """Rows of vectors as rows of matrices, and back."""
        if len(self.shape) == 3:
            shape = (self.batch, self.shape[1] * self.shape[2])
        elif self.shape[1] % 2 == 0:
            shape = (self.batch, 2, self.shape[1] // 2)
        else:
            return
        self.write(f"pp.reshape {{x}} : {{type}} to {tensor(shape)}", f"h = h.reshape(-1, {', '.join(map(str, shape[1:]))})", shape)

    def norm(self):
        name, dim = f"n{len(self.parameters)}", self.random.randrange(1, len(self.shape))
        vector = (self.shape[dim],)
        operands = [self.parameter(f"{name}.weight", vector), self.parameter(f"{name}.bias", vector), self.parameter(f"{name}.mean", vector, True),
                    self.parameter(f"{name}.variance", vector, True, least=0.5)]
        momentum, eps = self.random.choice([0.0, 0.1, 0.3, 1.0]), self.random.choice([0.00001, 0.001])
        self.write(f"pp.batch_norm {{x}}, {', '.join(operands)} {{{{dim = {dim} : i64, momentum = {momentum} : f64, eps = {eps:.5f} : f64}}}} : {{type}}, "
                   f"{tensor(vector)}", f"h = norm(h, '{name}', {dim}, {momentum}, {eps})")

    def region(self, lines, torch):
        """`lines` make {r} of {x}, by {a} and {b}."""
        names = {"x": self.value, "r": self.fresh(), "a": self.fresh(), "b": self.fresh(), "type": tensor(self.shape),
                 "kept": tensor((1, *self.shape[1:])), "pairs": tensor((self.batch, self.batch))}
        result = self.fresh()
        self.lines += [f"  {result} = pp.per_microbatch -> {names['type']} {{", *("    " + line.format(**names) for line in lines),
                       f"    pp.yield {names['r']} : {names['type']}", "  }"]
        self.torch.append(torch)
        self.value = result

    def centre(self):
        self.region(["{a} = pp.reduce mean {x} [0] {{keep_dims}} : {type}", "{b} = pp.sub {x}, {a} : {type}, {kept}", "{r} = pp.mul {b}, {b} : {type}, {type}"],
                    "h = (h - h.mean(0, keepdim=True)) ** 2")

    def below_largest(self):
        self.region(["{a} = pp.reduce max {x} [0] {{keep_dims}} : {type}", "{b} = pp.sub {x}, {a} : {type}, {kept}", "{r} = pp.exp {b} : {type}"],
                    "h = torch.exp(h - h.amax(0, keepdim=True))")

    def soften(self):
        """Each row is a mean of all, by their products with it."""
        if len(self.shape) == 2:
            self.region(["{a} = pp.matmul {x}, {x} {{transpose_rhs}} : {type}, {type}", "{b} = pp.softmax {a} : {pairs}",
                         "{r} = pp.matmul {b}, {x} : {pairs}, {type}"],
                        "h = torch.softmax(h @ h.T, -1) @ h")

    def follow(self):
        """An average of activations, which the model reads."""
        name, vector, kind = f"s{len(self.parameters)}", self.shape[-1:], self.random.choice(["mean", "max"])
        state, old, new, half, kept, taken, sum_ = self.parameter(name, vector, True), *(self.fresh() for _ in range(6))
        kind_of, type_of, dims = f"{kind} {self.value} {list(range(len(self.shape) - 1))}", tensor(vector), f"{tensor(vector)}, {tensor(vector)}"
        self.lines += ["  pp.per_microbatch {", f"    {old} = pp.proposed {state} : {type_of}", f"    {new} = pp.reduce {kind_of} : {tensor(self.shape)}",
                       f"    {half} = pp.constant dense<0.5> : {type_of}", f"    {kept} = pp.mul {old}, {half} : {dims}",
                       f"    {taken} = pp.mul {new}, {half} : {dims}", f"    {sum_} = pp.add {kept}, {taken} : {dims}",
                       f"    pp.propose {state}, {sum_} : {type_of}", "    pp.yield", "  }"]
        self.write(f"pp.sub {{x}}, {state} : {{type}}, {type_of}", f"h = follow(h, '{name}', '{kind}')")
