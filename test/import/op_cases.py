"""A case of the table of ops: a function of parameters, inputs and constants, and the program that compares it with PyTorch."""
import dataclasses

import numpy as np
import torch
import torch.nn as nn

BATCH = 3  # the first dimension of every input
ROWS = {}  # name of a row: (function of a Draw that yields cases, how many times it is drawn for the committed sample)


@dataclasses.dataclass
class Case:
    """`op` takes parameters (x, y, …), inputs and constants by name and returns a tensor or a list of them.

    Inputs have BATCH rows, and so have the results of a case with inputs, unless they are scalars."""
    op: object
    parameters: dict
    inputs: dict = dataclasses.field(default_factory=dict)
    constants: dict = dataclasses.field(default_factory=dict)
    label: str = ""
    core: bool = True  # run_decompositions keeps what it computes (torch 2.15 loses detach and no_grad) and import takes: else in the group "plain"
    refused: str = None  # import refuses it, and the message has these words


def row(times=1):
    def add(function):
        ROWS[function.__name__.rstrip("_")] = (function, times)
        return function
    return add


class Draw:
    """Random arguments."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def size(self, least=1):
        return int(self.random.choice([n for n in (1, 2, 3, 4, 5, 7) if n >= least]))

    def sizes(self, rank, least=1):
        return [self.size(least) for _ in range(rank)]

    def rank(self, least=1, most=4):
        return int(self.random.integers(least, most + 1))

    def dim(self, rank):
        """A dimension, from either end."""
        return int(self.random.integers(-rank, rank))

    def dims(self, rank, least=1):
        """Some dimensions, from either end, in any order."""
        chosen = self.random.permutation(rank)[:int(self.random.integers(least, rank + 1))]
        return [int(d) - (rank if self.flip() else 0) for d in chosen]

    def flip(self):
        return bool(self.random.random() < 0.5)

    def one_of(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def normal(self, *shape):
        return torch.from_numpy(self.random.standard_normal(shape))

    def positive(self, *shape):
        return torch.from_numpy(self.random.uniform(0.3, 3, shape))

    def distinct(self, *shape):
        """Numbers that are far from each other and from integers and zero: nothing rounds across a step or a tie."""
        count = int(np.prod(shape, dtype=int))
        values = self.random.permutation(count) - count // 2 + self.random.uniform(0.2, 0.8, count)
        return torch.from_numpy((values * 0.7 + 0.01).reshape(shape))

    def ids(self, high, *shape):
        return torch.from_numpy(self.random.integers(0, high, shape))

    def flags(self, *shape):
        return torch.from_numpy(self.random.random(shape) < 0.6)

    def broadcast(self, shape):
        """A shape that broadcasts to another: some dimensions of 1, some leading ones left out."""
        kept = [1 if self.random.random() < 0.3 else n for n in shape]
        return kept[int(self.random.integers(0, len(shape) + 1)):] if self.flip() else kept


class Program(nn.Module):
    """The mean of the results, weighted by random inputs w0, w1, …"""

    def __init__(self, case, prefix=""):
        super().__init__()
        self.op, self.prefix, self.names = case.op, prefix, list(case.inputs)
        self.parameter_names, self.constant_names = list(case.parameters), list(case.constants)
        for name, value in case.parameters.items():
            setattr(self, name, nn.Parameter(value))
        for name, value in case.constants.items():
            self.register_buffer(name, value)

    def results(self, inputs):
        results = self.op(**{n: getattr(self, n) for n in self.parameter_names}, **{n: inputs[self.prefix + n] for n in self.names},
                          **{n: getattr(self, n) for n in self.constant_names})
        return results if isinstance(results, (list, tuple)) else [results]

    def forward(self, **inputs):
        return sum((result * inputs[f"{self.prefix}w{k}"]).mean() for k, result in enumerate(self.results(inputs)))


class Group(nn.Module):
    """The sum of the losses of several cases: the gradients of each are its own."""

    def __init__(self, cases):
        super().__init__()
        self.names = list(cases)
        for name, case in cases.items():
            setattr(self, name, Program(case, f"{name}_"))

    def forward(self, **inputs):
        return sum(getattr(self, name)(**inputs) for name in self.names)


def weights(draw, case):
    """The inputs w0, w1, … of a case."""
    with torch.no_grad():
        results = Program(case).results(case.inputs)
    found = {}
    for k, result in enumerate(results):
        assert result.dtype in (torch.float64, torch.float32), (case.label, result.dtype)
        if case.inputs and result.dim():
            assert result.shape[0] == BATCH, (case.label, result.shape)
            found[f"w{k}"] = draw.normal(*result.shape)
        else:
            found[f"w{k}"] = draw.normal(BATCH, *result.shape)
    return found
