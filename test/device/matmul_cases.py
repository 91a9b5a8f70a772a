"""Matmuls on buffers, as tasks of phase kernels have them: of all strides, types and sizes, without a model that leads to them."""
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "equivalence"))
from pairwise import cover  # noqa: E402

# Of A and B, and of C.
TYPES = {"f32": ("f32", "f32"), "f64": ("f64", "f64"), "bf16": ("bf16", "bf16"), "bf16 to f32": ("bf16", "f32")}
BYTES = {"bf16": 2, "f32": 4, "f64": 8}


def strides_of(layout, batch, rows, columns):
    """Strides of the batch's dimensions, rows and columns, without gaps unless the layout has some."""
    outer, inner = batch
    if layout == "heads":  # an inner index of the batch is a part of each row
        return [rows * inner * columns, columns, inner * columns, 1]
    of_matrix = {"rows": (columns, 1), "columns": (1, rows), "padded rows": (-(-columns // 16) * 16 + 16, 1), "padded columns": (1, -(-rows // 16) * 16 + 16),
                 "steps": (2 * columns * 3, 2), "one row": (0, 1), "one column": (1, 0), "one element": (0, 0)}[layout]
    size = (rows - 1) * of_matrix[0] + (columns - 1) * of_matrix[1] + 1
    if "padded" in layout:
        size = max(rows * of_matrix[0], columns * of_matrix[1])
    return [size * inner, size, *of_matrix]


def gemm(m, n, k, types=("f32", "f32"), batch=(1, 1), a="rows", b="rows", c="rows", accumulate=False, offset=0, shared=""):
    """The text of a matmul and the types of its buffers. `offset`: the bytes at which operands begin, of one element or more. `shared`: what is one for all of the batch."""
    strides = {"a": strides_of(a, batch, m, k), "b": strides_of(b, batch, k, n), "c": strides_of(c, batch, m, n)}
    for name in shared:
        strides[name][:2] = [0, 0]
    sizes = {"a": (*batch, m, k), "b": (*batch, k, n), "c": (*batch, m, n)}
    buffers, attributes = [], [f"{name} = {value} : i64" for name, value in (("m", m), ("n", n), ("k", k))]
    for name, element in (("a", types[0]), ("b", types[0]), ("c", types[1])):
        first = max(1, offset // BYTES[element]) if offset else 0
        last = sum((size - 1) * stride for size, stride in zip(sizes[name], strides[name]))
        buffers.append(f"memref<{first + last + 1}x{element}>")
        attributes += [f"{name}_strides = array<i64: {', '.join(map(str, strides[name]))}>", f"{name}_offset = {first} : i64"]
    attributes += [f"batch = array<i64: {batch[0]}, {batch[1]}>", *["accumulate"] * accumulate]
    return f"pp.gemm %a, %b into %c {{{', '.join(attributes)}}} : {', '.join(buffers)}", buffers


def module_text(matmuls, thresholds=""):
    """A module of phase kernels with a task for each of these results of `gemm`."""
    values = ", ".join(f'"{name}" = {value} : i64' for name, value in (each.split("=") for each in thresholds.split(",") if each))
    lines = [f"module attributes {{pp.thresholds = {{{values}}}}} {{",
             '  pp.plan {mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", matmul = "generated",'
             ' target = #pp.target<"cuda", threads = 1, cpu = "x86-64", features = "", gpu = "sm_80">}']
    for number, (text, buffers) in enumerate(matmuls):
        arguments = ", ".join(f'%{name}: {buffer} {{pp.role = #pp.role<param, "{name}">}}' for name, buffer in zip("abc", buffers))
        lines += [f"  pp.task forward stage 0 @task{number}({arguments}) {{", f"    {text}", "    pp.return", "  }"]
    return "\n".join([*lines, "}", ""])


SIZES = [1, 3, 31, 32, 33, 127, 129, 1025]
FACTORS = {
    "types": list(TYPES),
    "a": ["rows", "columns", "padded rows", "padded columns", "steps", "heads", "one row", "one column"],
    "b": ["rows", "columns", "padded rows", "padded columns", "steps", "heads", "one row", "one column"],
    "m": SIZES, "n": SIZES, "k": SIZES,
    "batch": [(1, 1), (3, 1), (2, 3)],
    "shared": ["", "a", "b"],
    "c": ["rows", "padded rows", "heads"],
    "accumulate": [False, True],
    "offset": [0, 1, 8, 16],  # an element, half a vector, a vector
    # The defaults, and small tiles and sums, and the largest tiles, and the smallest of many blocks.
    "thresholds": ["", "gpu-matmul-tile=16,gpu-matmul-depth=16,gpu-matmul-sum=20", "gpu-matmul-blocks=1", "gpu-matmul-tile=64,gpu-matmul-depth=64,gpu-matmul-blocks=100000"],
}
# Products that are emulated, those of tiles that are not full included.
MOST_PRODUCTS = 1100000


def is_allowed(row):
    def padded(name):
        return -(-row.get(name, 1) // 16) * 16
    batch = row.get("batch", (1, 1))
    return batch[0] * batch[1] * padded("m") * padded("n") * row.get("k", 1) <= MOST_PRODUCTS


def select(is_full):
    """Rows in which each value of each factor meets each of each other; if `is_full`, also types, layouts and sharing with all of one another."""
    begun = []
    if is_full:
        names = ["types", "a", "b", "shared", "accumulate", "thresholds"]
        begun = [dict(zip(names, values)) for values in itertools.product(*(FACTORS[name] for name in names))]
    return cover(FACTORS, is_allowed, begun)


def modules(is_full, count=8):
    """Modules of a few matmuls each: their titles and texts."""
    rows = select(is_full)
    for thresholds in FACTORS["thresholds"]:
        own = [row for row in rows if row["thresholds"] == thresholds]
        for begin in range(0, len(own), count):
            matmuls = []
            for row in own[begin:begin + count]:
                sizes = {name: value for name, value in row.items() if name not in ("types", "thresholds")}
                matmuls.append(gemm(types=TYPES[row["types"]], **sizes))
            yield f"matmuls {begin} to {begin + len(matmuls) - 1} of {len(own)}{', ' if thresholds else ''}{thresholds}", module_text(matmuls, thresholds)
