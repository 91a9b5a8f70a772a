"""Compile time grows with the depth of a model, not with the number of paths through it.

    check_compile_time.py --build build/release
    check_compile_time.py --depth 40 --filter 'ladder.*views'    # another depth
    check_compile_time.py --long                                 # each structure of each kind with each shape and source

Each model has chains of one shape, one for each op of a kind, in which level i + 1 is computed from level i (or from level 0 too), once or twice.
It is compiled with n and with 2n levels up to LLVM's dialect: LLVM's own time grows with the kernels, whose size is bounded. The compiler may take three
times as long for twice the levels, or than a tenth of a second. What counts is the user time of the process, the least of up to four runs; a walk over
all paths takes 2^n times as long, and is stopped. Ladders, on whose paths such a walk takes longest, are of each kind with each shape and source; the
other structures meet each kind, and each shape and source, but not all of both.
"""
import argparse
import itertools
import os
import resource
import subprocess
import sys
import tempfile

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TEST)
from support.results import Harness  # noqa: E402

RATIO = 3
LEAST_SECONDS = 0.1  # what takes less is compared as if it took so long: it is a process's start, and ticks of its clock
MOST_SECONDS = 20  # of a compiler, which takes less than two


class Type:
    def __init__(self, *shape, element="f32"):
        self.shape, self.element = shape, element

    def __str__(self):
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"

    def of(self, *shape):
        return Type(*shape, element=self.element)


class Model:
    """The text of a model, op by op."""

    def __init__(self):
        self.lines, self.count = [], 0

    def op(self, text, type):
        """`text` with the types of operands; returns the result's name."""
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"  {name} = pp.{text}")
        return name, type


def unary(op):
    return lambda model, x, y: model.op(f"{op.partition(' ')[0]} {x[0]}{op[op.find(' '):] if ' ' in op else ''} : {x[1]}", x[1])


def binary(op):
    return lambda model, x, y: model.op(f"{op} {x[0]}, {y[0]} : {x[1]}, {y[1]}", x[1])


def choice(model, x, y):
    condition = model.op(f"compare lt {x[0]}, {y[0]} : {x[1]}, {y[1]}", Type(*x[1].shape, element="i1"))
    return model.op(f"select {condition[0]}, {x[0]}, {y[0]} : {condition[1]}, {x[1]}, {y[1]}", x[1])


def cast(element):
    def both(model, x, y):
        other = model.op(f"cast {x[0]} : {x[1]} to {Type(*x[1].shape, element=element)}", Type(*x[1].shape, element=element))
        return model.op(f"cast {other[0]} : {other[1]} to {x[1]}", x[1])
    return both


def reshape(model, x, y):
    flat = x[1].of(1, *reversed(x[1].shape))
    other = model.op(f"reshape {x[0]} : {x[1]} to {flat}", flat)
    return model.op(f"reshape {other[0]} : {other[1]} to {x[1]}", x[1])


def transpose(model, x, y):
    return model.op(f"transpose {x[0]} [1, 0] : {x[1]}", x[1])


def rotate(model, x, y):
    """Columns move by one: slices, and their concatenation."""
    rows, columns = x[1].shape
    parts = [model.op(f"slice {x[0]} [0, {begin}] : {x[1]} to {x[1].of(rows, size)}", x[1].of(rows, size)) for begin, size in ((1, columns - 1), (0, 1))]
    return model.op(f"concat {parts[0][0]}, {parts[1][0]} {{dim = 1 : i64}} : {parts[0][1]}, {parts[1][1]}", x[1])


def pad(model, x, y):
    """A row is set to zero."""
    rows, columns = x[1].shape
    part = model.op(f"slice {x[0]} [1, 0] : {x[1]} to {x[1].of(rows - 1, columns)}", x[1].of(rows - 1, columns))
    return model.op(f"pad {part[0]} [1, 0] : {part[1]} to {x[1]}", x[1])


def reduce(kind, dim):
    def apply(model, x, y):
        shape = list(x[1].shape)
        shape[dim] = 1
        sums = model.op(f"reduce {kind} {x[0]} [{dim}] {{keep_dims}} : {x[1]}", x[1].of(*shape))
        return model.op(f"sub {x[0]}, {sums[0]} : {x[1]}, {sums[1]}", x[1])
    return apply


def matmul(model, x, y):
    return model.op(f"matmul {x[0]}, %w : {x[1]}, {Type(8, 8)}", x[1])


# By kind; each op takes a value, and another or the same.
OPS = {
    "functions": {op: unary(op) for op in ("neg", "abs", "exp", "log", "sqrt", "rsqrt", "expm1", "log1p", "sin", "cos", "sign", "floor", "ceil", "round", "pow {exponent = 2.5 : f64}", "clamp {max = 1.0 : f64}",
                                           "tanh", "erf", "sigmoid", "softplus", "relu", "silu", "gelu",
                                           "gelu {tanh}", "checkpoint", "detach")},
    "pairs": {**{op: binary(op) for op in ("add", "sub", "mul", "div", "maximum", "minimum", "power")}, "select": choice,
              "cast bf16": cast("bf16"), "cast f64": cast("f64")},
    "views": {"reshape": reshape, "transpose": transpose, "rotate": rotate, "pad": pad},
    "rows": {"softmax": unary("softmax"), "rms_norm": lambda model, x, y: model.op(f"rms_norm {x[0]}, %g : {x[1]}, {Type(8)}", x[1]),
             "sum of rows": reduce("sum", 1), "maximum of rows": reduce("max", 1), "sum of columns": reduce("sum", 0), "matmul": matmul},
}

SHAPES = {"scalar": (), "one element": (1, 1), "row": (8,), "matrix": (8, 8), "batch": (2, 8)}
# Shapes and what level 0 follows from; a scalar of the input is its mean.
ELEMENTS = [("scalar", "parameter"), ("scalar", "constant"), ("scalar", "input"), ("one element", "parameter"), ("row", "parameter"),
            ("matrix", "constant"), ("batch", "input")]
SOURCES = {"functions": ELEMENTS, "pairs": ELEMENTS, "views": [("matrix", "parameter"), ("matrix", "constant")],
           "rows": [("matrix", "parameter"), ("matrix", "constant")]}


def add(model, a, b):
    return model.op(f"add {a[0]}, {b[0]} : {a[1]}, {b[1]}", a[1])


STRUCTURES = {
    "chain": lambda model, op, x, first: op(model, x, first),
    "ladder": lambda model, op, x, first: add(model, op(model, x, x), x),
    "diamond": lambda model, op, x, first: add(model, op(model, x, x), model.op(f"neg {x[0]} : {x[1]}", x[1])),
    "grid": lambda model, op, x, first: add(model, op(model, x, first), first),
}


def make_source(model, source, shape):
    type = Type(*shape)
    if source == "parameter":
        model.lines.append(f'  %p = pp.param "p" {{init = #pp.init<normal, 0.0, 0.1>}} : {type}')
        return "%p", type
    if source == "constant":
        return model.op(f"constant dense<0.1> : {type}", type)
    if shape == (2, 8):
        return "%x", type
    return model.op(f"reduce mean %x [0, 1]{' {keep_dims}' if shape else ''} : {Type(2, 8)}", type)


def model_text(structure, ops, shape, source, depth):
    model = Model()
    first = make_source(model, source, shape)
    # A parameter that every loss needs.
    total = model.op(f"reduce mean %w [0, 1] : {Type(8, 8)}", Type())
    for op in ops.values():
        x = first
        for _ in range(depth):
            x = STRUCTURES[structure](model, op, x, first)
        dims = list(range(len(shape)))
        sums = model.op(f"reduce mean {x[0]} {dims} : {x[1]}", Type()) if dims else x
        total = add(model, total, sums)
    body = "\n".join(model.lines)
    return f"""func.func @model(%x: {Type(2, 8)} {{pp.input = "x"}}) -> tensor<f32> {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 0.1>}} : {Type(8, 8)}
  %g = pp.param "g" {{init = #pp.init<ones>}} : {Type(8)}
{body}
  return {total[0]} : tensor<f32>
}}
"""


def measure(command):
    """Seconds of user time, at most MOST_SECONDS."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode >= 0, f"{' '.join(command)}\nstopped after {used.ru_utime:.0f} s"
    assert process.returncode == 0, f"{' '.join(command)}\n{said}"
    return used.ru_utime


def check(ppopt, text_of, depth):
    with tempfile.TemporaryDirectory() as folder:
        best, commands = [float("inf")] * 2, []
        for factor in (1, 2):
            path = os.path.join(folder, f"levels_{depth * factor}.mlir")
            with open(path, "w") as file:
                file.write(text_of(depth * factor))
            commands.append([ppopt, "compile", path, "--threads", "1", "--no-generation", "--stop-after=native", "-o", os.path.join(folder, "native.mlir")])
        for _ in range(4):
            best = [min(known, measure(command)) for known, command in zip(best, commands)]
            if best[1] <= RATIO * max(best[0], LEAST_SECONDS):
                break
        print(f"  {depth} levels {best[0]:.2f} s, {2 * depth} {best[1]:.2f} s", flush=True)
        assert best[1] <= RATIO * max(best[0], LEAST_SECONDS), f"{depth} levels take {best[0]:.2f} s, {2 * depth} {best[1]:.2f} s: more than {RATIO} times as long"


def cases(ppopt, depth, is_long):
    for (row, structure), (column, (kind, ops)) in itertools.product(enumerate(STRUCTURES), enumerate(OPS.items())):
        for number, (shape, source) in enumerate(SOURCES[kind]):
            if SOURCES[kind] == ELEMENTS and structure != "ladder" and (row + column + number) % 2 and not is_long:
                continue
            yield (f"{structure} of {kind}, {shape} of {source}",
                   lambda args=(structure, ops, SHAPES[shape], source): check(ppopt, lambda levels: model_text(*args, levels), depth))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=12, help="levels of the smaller model (default 12)")
    parser.add_argument("--long", action="store_true", help="each structure of each kind with each shape and source")
    harness = Harness("compile_time", parser)
    harness.cases(list(cases(harness.ppopt, harness.args.depth, harness.args.long)))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
