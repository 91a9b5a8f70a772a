"""Compiles one model in f64, f32 and with bf16 inside, in odd sizes, and holds loss and gradients against f64's."""
import os
import pathlib
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support.executable import compile_model, run  # noqa: E402

# Rows, columns, width, rows of the table.
SIZES = [(1, 7, 65, 1), (7, 65, 1, 3), (65, 33, 7, 65), (3, 130, 100, 5)]
TOLERANCES = {"f32": 2e-5, "bf16": 6e-2}


def model(kind, rows, columns, width, vocabulary):
    """Norms, products, columns' sums, an embedding, softmax and row's maxima."""
    outside, inside = {"f64": ("f64", "f64"), "f32": ("f32", "f32"), "bf16": ("f32", "bf16")}[kind]
    shapes = {"w": (columns, width), "b": (width,), "table": (vocabulary, width)}
    lines = [f"func.func @types(%x: tensor<{rows}x{columns}x{outside}> {{pp.input = \"x\"}}, "
             f"%ids: tensor<{rows}xi32> {{pp.input = \"ids\"}}) -> tensor<{outside}> {{"]
    names = {"x": (rows, columns)}
    for name, shape in shapes.items():
        dims = "x".join(map(str, shape))
        lines.append(f"  %{name} = pp.param \"{name}\" {{init = #pp.init<zeros>}} : tensor<{dims}x{outside}>")
        names[name] = shape
    values = {}
    for name, shape in names.items():
        dims = "x".join(map(str, shape))
        values[name] = f"%{name}"
        if outside != inside:
            lines.append(f"  %{name}_in = pp.cast %{name} : tensor<{dims}x{outside}> to tensor<{dims}x{inside}>")
            values[name] = f"%{name}_in"
    xt, wt = f"tensor<{rows}x{columns}x{inside}>", f"tensor<{columns}x{width}x{inside}>"
    yt, bt = f"tensor<{rows}x{width}x{inside}>", f"tensor<{width}x{inside}>"
    tt, ot = f"tensor<{vocabulary}x{width}x{inside}>", f"tensor<{rows}x{width}x{outside}>"
    lines += [f"  %0 = pp.normalize {values['x']} {{center, eps = 1.0e-2 : f64}} : {xt}",
              f"  %1 = pp.matmul %0, {values['w']} : {xt}, {wt}",
              f"  %2 = pp.add %1, {values['b']} : {yt}, {bt}",
              f"  %3 = pp.gelu %2 {{tanh}} : {yt}",
              f"  %4 = pp.embedding {values['table']}, %ids : {tt}, tensor<{rows}xi32>",
              f"  %5 = pp.add %3, %4 : {yt}, {yt}",
              f"  %6 = pp.softmax %5 : {yt}",
              f"  %7 = pp.mul %6, %5 : {yt}, {yt}"]
    result = "%7"
    if outside != inside:
        lines.append(f"  %8 = pp.cast %7 : {yt} to {ot}")
        result = "%8"
    lines += [f"  %9 = pp.reduce sum {result} [0, 1] : {ot}", f"  return %9 : tensor<{outside}>", "}"]
    return "\n".join(lines) + "\n"


def main():
    ppopt, failures = sys.argv[1], 0
    random = np.random.default_rng(5)
    with tempfile.TemporaryDirectory() as scratch:
        for sizes in SIZES:
            rows, columns, width, vocabulary = sizes
            inputs = {"x": random.normal(size=(rows, columns)),
                      "ids": random.integers(0, vocabulary, size=(rows,)).astype(np.int32)}
            params = {"w": random.normal(size=(columns, width)) / np.sqrt(columns),
                      "b": random.normal(size=(width,)), "table": random.normal(size=(vocabulary, width))}
            expected = None
            for kind in ["f64", "f32", "bf16"]:
                path = os.path.join(scratch, f"{kind}.mlir")
                with open(path, "w") as file:
                    file.write(model(kind, *sizes))
                executable = compile_model(ppopt, path, path[:-5], ["--optimizer", "sgd", "--threads", "2"], optimized=True)
                cast = np.float64 if kind == "f64" else np.float32
                result = run(executable, ["--lr", "0"], init={n: a.astype(cast) for n, a in params.items()},
                             inputs={n: a.astype(cast) if n == "x" else a for n, a in inputs.items()}, steps=1,
                             dump_gradients=True)
                if expected is None:
                    expected = result
                    continue
                errors = {"loss": abs(result.losses[0] - expected.losses[0]) / max(abs(expected.losses[0]), 1)}
                for name, ours in result.gradients.items():
                    theirs = expected.gradients[name]
                    errors[name] = np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1)
                wrong = {n: float(e) for n, e in errors.items() if not e <= TOLERANCES[kind]}
                failures += bool(wrong)
                print(kind, sizes, f"wrong: {wrong}" if wrong else "right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
