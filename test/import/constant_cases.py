"""A call of an ATen op on constants, and the program that makes such calls."""
import dataclasses
import math
import random
import zlib

import torch

aten = torch.ops.aten
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
SIGNED = INTS[:4]
BOOL = torch.bool
ALL = FLOATS + INTS + [BOOL]
SHAPES = [(), (1,), (3,), (0,), (5,), (2, 3), (1, 4), (3, 1), (2, 0), (2, 3, 4), (1, 3, 5), (4, 1, 2)]
GROUPS = {}  # name: function that adds the cases of a group
CASES = []
rng = random.Random()


@dataclasses.dataclass(eq=False)
class Case:
    op: object
    args: tuple
    kwargs: dict
    ulps: int  # units in the last place by which a float may differ, and zeros in their sign: functions of libm, extrema
    close: float  # and parts of it: sums in another order

    def describe(self):
        def text(value):
            if isinstance(value, torch.Tensor):
                return f"{str(value.dtype)[6:]}{list(value.shape)}"
            return "[" + ", ".join(map(text, value)) + "]" if isinstance(value, (list, tuple)) else str(value)
        return f"{self.op}({', '.join([*map(text, self.args), *(f'{name}={text(value)}' for name, value in self.kwargs.items())])})"


def group(function):
    GROUPS[function.__name__] = function
    return function


def case(op, *args, ulps=0, close=0.0, **kwargs):
    CASES.append(Case(op, args, kwargs, ulps, close))


def draw(name, seed):
    """The cases of a group."""
    CASES.clear()
    rng.seed(zlib.crc32(f"{name} {seed}".encode()))
    GROUPS[name]()
    return list(CASES)


def data(shape, dtype, low=-4, high=5, special=False):
    """Random numbers; `special`: with NaN, infinities, zeros of both signs, and such."""
    n = math.prod(shape)
    if dtype is BOOL:
        return torch.tensor([rng.random() < 0.5 for _ in range(n)], dtype=BOOL).reshape(shape)
    if dtype.is_floating_point:
        # Most have few digits, so that a file of them is small.
        values = [rng.uniform(low, high) if rng.random() < 0.2 else rng.randint(8 * low, 8 * high) / 8 for _ in range(n)]
        if special and n:
            for _ in range(1 + n // 4):
                values[rng.randrange(n)] = rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e30, 1e-30])
        return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape)
    if dtype is torch.uint8:
        low = max(low, 0)
    return torch.tensor([rng.randint(low, high) for _ in range(n)], dtype=torch.int64).to(dtype).reshape(shape)


def distinct(shape, dtype):
    values = list(range(math.prod(shape)))
    rng.shuffle(values)
    return (torch.tensor(values, dtype=torch.int64) - len(values) // 2).to(dtype).reshape(shape)


def strided(tensor):
    """The same values with other strides at times, as views of constants have."""
    if tensor.dim() >= 2 and rng.random() < 0.3:
        return tensor.transpose(0, 1).contiguous().transpose(0, 1)
    return tensor


def random_shape():
    return rng.choice(SHAPES)


def pair(shape):
    """A shape that broadcasts with another."""
    other = [1 if rng.random() < 0.3 else size for size in shape]
    return tuple(other[rng.randint(0, len(other)):]) if rng.random() < 0.3 else tuple(other)


class Calls(torch.nn.Module):
    """Returns the results of all calls. Their tensors are buffers."""

    def __init__(self, cases):
        super().__init__()
        self.count = 0
        self.calls = [(case.op, [self.store(arg) for arg in case.args], {name: self.store(arg) for name, arg in case.kwargs.items()})
                      for case in cases]

    def store(self, value):
        """The value, with names of buffers in place of tensors."""
        if isinstance(value, torch.Tensor):
            name = f"t{self.count}"
            self.count += 1
            self.register_buffer(name, value)
            return ("buffer", name)
        return [self.store(each) for each in value] if isinstance(value, (list, tuple)) else value

    def load(self, value):
        if isinstance(value, tuple):
            return getattr(self, value[1])
        return [self.load(each) for each in value] if isinstance(value, list) else value

    def forward(self):
        out = []
        for op, args, kwargs in self.calls:
            result = op(*map(self.load, args), **{name: self.load(value) for name, value in kwargs.items()})
            # A clone, so that no result is a buffer or another result.
            out.append([aten.clone(each) for each in result] if isinstance(result, (list, tuple)) else [aten.clone(result)])
        return out
