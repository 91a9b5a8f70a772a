"""Compiles models whose constants have different elements, and holds loss and gradient against numpy's."""
import os
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support.executable import compile_model, run  # noqa: E402

BATCH, WIDTH = 4, 6
RANDOM = np.random.default_rng(3)


def spell(array, mlir):
    """dense<...> of an array."""
    def nested(values):
        if isinstance(values, list):
            return "[" + ", ".join(map(nested, values)) + "]"
        return {"i1": "true" if values else "false"}.get(mlir) or (str(int(values)) if mlir[0] == "i" else repr(float(values)))

    shape = "".join(f"{size}x" for size in array.shape)
    return f"dense<{nested(array.tolist())}> : tensor<{shape}{mlir}>", f"tensor<{shape}{mlir}>"


def entry(body, constants="", extra=""):
    """mean(r²) of what `body` makes of %a = x · w, [4, 6]."""
    return f"""!t = tensor<{BATCH}x{WIDTH}xf64>
func.func @constants(%x: !t {{pp.input = "x"}}{extra}) -> tensor<f64> {{
  %w = pp.param "w" {{init = #pp.init<ones>}} : tensor<{WIDTH}xf64>
  %a = pp.mul %x, %w : !t, tensor<{WIDTH}xf64>
{constants}{body}
  %s = pp.mul %r, %r : !t, !t
  %l = pp.reduce mean %s [0, 1] : !t
  return %l : tensor<f64>
}}
"""


def multiplied(mlir, array):
    """x · w · constant, which broadcasts; what numpy multiplies by."""
    text, type = spell(array, mlir)
    shape = "".join(f"{size}x" for size in array.shape)
    cast = "%c = pp.constant " + text.replace(" : " + type, "") + f" : {type}\n"
    name = "%c"
    if mlir != "f64":
        cast += f"  %d = pp.cast %c : {type} to tensor<{shape}f64>\n"
        name = "%d"
    return entry(f"  %r = pp.mul %a, {name} : !t, tensor<{shape}f64>", "  " + cast)


def round_to_bf16(array):
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32).astype(np.float64)


def cases():
    """Name, model, flags, and factor: what x · w is multiplied by, or a matrix that it is multiplied with."""
    vector = RANDOM.normal(size=WIDTH)
    for mlir, array, factor in (("f64", vector, vector), ("f32", vector.astype(np.float32), None),
                                ("bf16", vector, round_to_bf16(vector)),
                                ("i32", np.array([1, -2, 3, 2**31 - 1, 0, 7]), None), ("i64", np.array([1, -2, 3, 2**40, 0, 7]), None),
                                ("i1", np.array([1, 0, 0, 1, 1, 0], bool), None)):
        yield mlir, multiplied(mlir, array), [], (array if factor is None else factor).astype(np.float64)
    yield "one element", multiplied("f64", np.array([[2.5]])), [], np.array(2.5)
    yield "scalar", multiplied("f64", np.array(-1.5)), [], np.array(-1.5)
    rows = RANDOM.normal(size=(BATCH, WIDTH))
    yield "rows of the batch", multiplied("f64", rows), [], rows
    yield "column", multiplied("f64", rows[:1]), ["--mesh", "dp=2", "--microbatches", "2"], rows[:1]
    square = RANDOM.normal(size=(WIDTH, WIDTH))
    text, type = spell(square, "f64")
    product = entry(f"  %r = pp.matmul %a, %c : !t, {type}", f"  %c = pp.constant {text}\n")
    yield "product", product, [], square
    yield "product, in blocks", product, ["--block-bytes", "64"], square
    # Kernels that differ in their constants alone; and again with the same.
    two = "".join(f"  %c{i} = pp.constant {spell(vector + i % 2, 'f64')[0]}\n" for i in range(3))
    apart = entry(f"""  %b = pp.matmul %a, %h : !t, tensor<{WIDTH}x{WIDTH}xf64>
  %m0 = pp.mul %b, %c0 : !t, tensor<{WIDTH}xf64>
  %n0 = pp.matmul %m0, %h : !t, tensor<{WIDTH}x{WIDTH}xf64>
  %m1 = pp.mul %n0, %c1 : !t, tensor<{WIDTH}xf64>
  %n1 = pp.matmul %m1, %h : !t, tensor<{WIDTH}x{WIDTH}xf64>
  %r = pp.mul %n1, %c2 : !t, tensor<{WIDTH}xf64>""", two + f"  %h = pp.constant {text}\n")
    yield "equal kernels", apart, ["--recompute", "none"], square @ np.diag(vector) @ square @ np.diag(vector + 1) @ square @ np.diag(vector)
    # 8 MB, of which the diagonal is read.
    large = RANDOM.integers(-9, 9, size=(1024, 1024)).astype(np.float64)
    hexadecimal = large.astype("<f8").tobytes().hex().upper()
    yield "large", entry(f"""  %c = pp.constant dense<"0x{hexadecimal}"> : tensor<1024x1024xf64>
  %p = pp.slice %c [1017, 3] : tensor<1024x1024xf64> to tensor<{WIDTH}x{WIDTH}xf64>
  %r = pp.matmul %a, %p : !t, tensor<{WIDTH}x{WIDTH}xf64>"""), [], large[1017:1017 + WIDTH, 3:3 + WIDTH]


def main():
    ppopt, failures = sys.argv[1], 0
    x = RANDOM.normal(size=(BATCH, WIDTH))
    with tempfile.TemporaryDirectory() as scratch:
        for name, model, flags, factor in cases():
            path = os.path.join(scratch, name.replace(" ", "-") + ".mlir")
            with open(path, "w") as file:
                file.write(model)
            result = run(compile_model(ppopt, path, path[:-5], ["--threads", "1", *flags], optimized=True), [], inputs={"x": x}, dump_gradients=True)
            isProduct = factor.shape == (WIDTH, WIDTH)
            r = x @ factor if isProduct else x * factor
            gradient = 2 * x * (r @ factor.T if isProduct else r * factor) / r.size
            errors = [abs(result.losses[0] / (r**2).mean() - 1),
                      np.abs(result.gradients["w"] - gradient.sum(0)).max() / np.abs(gradient.sum(0)).max()]
            right = max(errors) < 1e-12
            failures += not right
            print(name, "right" if right else f"wrong: {errors}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
