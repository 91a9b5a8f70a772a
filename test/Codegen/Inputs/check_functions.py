"""Compares elementwise functions with numpy's in long doubles, and at zeros, infinities, NaN and kinks with PyTorch's: values and gradients.

    check_functions.py PPOPT
    check_functions.py --record    writes edges.json; needs a Python with torch
"""
import itertools
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from support.executable import compile_model, run  # noqa: E402

WIDE = np.longdouble
NUMPY = {"f64": np.float64, "f32": np.float32, "bf16": np.float32}
# Units in the last place that a result may be off.
FUNCTIONS = {
    "sin": (np.sin, 1), "cos": (np.cos, 1), "atan": (np.arctan, 1), "expm1": (np.expm1, 5), "log1p": (np.log1p, 5), "floor": (np.floor, 0), "ceil": (np.ceil, 0),
    "round": (np.round, 0), "sign": (np.sign, 0), "clamp {min = -0.75 : f64, max = 2.5 : f64}": (lambda x: np.clip(x, WIDE(-0.75), WIDE(2.5)), 0),
    **{f"pow {{exponent = {e} : f64}}": (lambda x, e=e: np.power(x, WIDE(e)), 2) for e in (2.0, 3.0, -1.0, -2.0, 0.25, -3.0, 7.0)},
    "leaky_relu": (lambda x: np.where(x > 0, x, WIDE(0.01) * x), 1), "hardsigmoid": (lambda x: np.clip(x + 3, 0, 6) / 6, 2),
    "elu {alpha = 0.7 : f64}": (lambda x: np.where(x > 0, x, WIDE(0.7) * np.expm1(np.minimum(x, 0))), 6),
    "pow {exponent = 0.5 : f64}": (np.sqrt, 1), "pow {exponent = -0.5 : f64}": (lambda x: 1 / np.sqrt(x), 2),
    "power": (np.power, 1)}

# --- models ------------------------------------------------------------------


def parameters_of(op):
    return "vrxy" if op == "power" else "vrx"


def model_text(ops, element, rows, outside):
    """The gradient of `v{i}` is f(x, y), that of `r{i}` 1 / f(x, y): it has the sign of a zero. Those of `x{i}` and `y{i}` are f's."""
    inner, outer = f"tensor<{rows}x8x{element}>", f"tensor<{rows}x8x{outside}>"
    lines, total = [], None
    for i, op in enumerate(ops):
        name, _, attributes = op.partition(" ")
        names = parameters_of(op)
        lines += [f'%{n}{i} = pp.param "{n}{i}" {{init = #pp.init<zeros>}} : {outer}' for n in names]
        for n in names[2:]:
            lines.append(f"%{n}{i}c = pp.cast %{n}{i} : {outer} to {inner}")
        call = f"%y{i}c : {inner}, {inner}" if name == "power" else ""
        lines += [f"%f{i}c = pp.{name} %x{i}c{', ' + call if call else f' {attributes} : {inner}'}",
                  f"%f{i} = pp.cast %f{i}c : {inner} to {outer}",
                  f"%d{i} = pp.detach %f{i} : {outer}", f"%i{i} = pp.div %one, %d{i} : tensor<{outside}>, {outer}",
                  f"%a{i} = pp.mul %v{i}, %d{i} : {outer}, {outer}", f"%b{i} = pp.mul %r{i}, %i{i} : {outer}, {outer}",
                  f"%s{i} = pp.add %a{i}, %b{i} : {outer}, {outer}", f"%t{i} = pp.add %s{i}, %f{i} : {outer}, {outer}",
                  f"%l{i} = pp.reduce sum %t{i} [0, 1] : {outer}"]
        if total:
            lines.append(f"%m{i} = pp.add {total}, %l{i} : tensor<{outside}>, tensor<{outside}>")
        total = f"%m{i}" if total else f"%l{i}"
    text = "\n  ".join(lines)
    return f"""func.func @functions(%z: tensor<1x{outside}> {{pp.input = "z"}}) -> tensor<{outside}> {{
  %one = pp.constant dense<1.0> : tensor<{outside}>
  {text}
  %c = pp.reduce sum %z [0] : tensor<1x{outside}>
  %loss = pp.add {total}, %c : tensor<{outside}>, tensor<{outside}>
  return %loss : tensor<{outside}>
}}
"""


def compute(ppopt, ops, element, x, y):
    """{op: (values, 1 / values, gradients of x, gradients of y)}"""
    outside, count = element if element != "bf16" else "f32", len(x)
    kind = NUMPY[outside]
    rows = -(-count // 8)
    x, y = (np.resize(operand, (rows, 8)).astype(kind) for operand in (x, y))
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "functions")
        pathlib.Path(path + ".mlir").write_text(model_text(ops, element, rows, outside))
        executable = compile_model(ppopt, path + ".mlir", path, ["--optimizer", "sgd", "--threads", "1"], optimized=True)
        init = {f"{n}{i}": {"x": x, "y": y}.get(n, np.zeros((rows, 8), kind)) for i, op in enumerate(ops) for n in parameters_of(op)}
        result = run(executable, ["--lr", "0", "--skip-nonfinite-steps"], init=init, inputs={"z": np.zeros(1, kind)}, dump_gradients=True)
    return {op: [result.gradients.get(f"{n}{i}", np.zeros((rows, 8))).ravel()[:count] for n in parameters_of(op)] for i, op in enumerate(ops)}


# --- the truth ---------------------------------------------------------------


def draw_operands(element):
    """All exponents, multiples of pi/2 of all sizes, ends of intervals."""
    kind, random = NUMPY[element], np.random.default_rng(3)
    info = np.finfo(kind)
    exponents = np.arange(info.minexp - info.nmant, info.maxexp)
    sizes = np.ldexp(random.uniform(1, 2, (64 if kind == np.float32 else 8, len(exponents))), exponents).ravel()
    turns = np.rint(np.ldexp(random.uniform(1, 2, 4000), random.integers(0, min(info.maxexp, 60), 4000))) * (np.pi / 2)
    near = np.concatenate([random.uniform(-4, 4, 4000), random.uniform(-0.01, 0.01, 500), np.arange(-20, 20) / 4])
    values = np.concatenate([sizes, turns, np.nextafter(turns.astype(kind), kind(0)), near, random.uniform(-1e5, 1e5, 4000)])
    values = np.concatenate([values, -values]).astype(kind)
    x = rounded_to_bf16(values) if element == "bf16" else values
    # The powers of all sizes: many of moderate numbers, and of numbers near 1 to large ones.
    y = np.log(np.abs(random.permutation(x)) + kind(1e-30)) * random.choice([0.1, 1.0, 8.0], len(x)).astype(kind)
    y = np.where(random.random(len(x)) < 0.3, np.rint(y), y)
    steep = random.random(len(x)) < 0.1
    x = np.where(steep, 1 + random.normal(size=len(x)) * 1e-3, x).astype(kind)
    y = np.where(steep, random.normal(size=len(x)) * 2e4, y).astype(kind)
    return (rounded_to_bf16(x), rounded_to_bf16(y)) if element == "bf16" else (x, y)


def rounded_to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def errors_in_ulp(got, truth, element):
    info, digits = np.finfo(NUMPY[element]), 7 if element == "bf16" else np.finfo(NUMPY[element]).nmant
    size = np.maximum(np.abs(truth), WIDE(info.tiny))
    unit = np.ldexp(WIDE(1), np.frexp(size)[1] - 1 - digits)
    # As if exponents went on: what overflows is the next power of two.
    end = WIDE(2) ** info.maxexp
    errors = np.abs(np.clip(got.astype(WIDE), -end, end) - np.clip(truth, -end, end)) / unit
    errors[np.isnan(truth)] = 0
    errors[np.isnan(truth) != np.isnan(got)] = np.inf
    return errors


def check_functions(ppopt, element):
    x, y = draw_operands(element)
    results, wrong = compute(ppopt, list(FUNCTIONS), element, x, y), []
    for op, (function, most) in FUNCTIONS.items():
        truth = function(*(operand.astype(WIDE) for operand in ((x, y) if op == "power" else (x,))))
        if element == "bf16":
            most = 0 if most == 0 else 0.51
        errors = errors_in_ulp(results[op][0], truth, element)
        worst = int(np.argmax(errors))
        text = f"{op} of {x[worst]!r}, {y[worst]!r} is {results[op][0][worst]!r}, not {truth[worst]!r}: off by {errors[worst]:.3g} ulp of {most}"
        print(" ", text)
        if not errors[worst] <= most:
            wrong.append(text)
    return wrong


# --- edges -------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
POINTS = [NAN, INF, -INF, 0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, -8.0]
PAIRS = list(itertools.product(POINTS, POINTS))
EXPONENTS = (0.0, 1.0, 2.0, 3.0, 4.0, 0.5, -0.5, -1.0, -2.0, -3.0, 1.5, 0.25)
CLAMPS = ({"min": -1.0, "max": 2.0}, {"min": 0.5}, {"max": -0.5}, {"min": 1.0, "max": -1.0})


# Where PyTorch is less exact: its slope of hardsigmoid is an f32 in f64, too.
TOLERANCES = {"hardsigmoid": 1e-7}


def edge_ops():
    """{op: PyTorch's expression}"""
    ops = {name: f"torch.{name}(x)" for name in ("sin", "cos", "atan", "expm1", "log1p", "floor", "ceil", "round", "sign")}
    ops |= {name: f"F.{name}(x)" for name in ("mish", "hardsigmoid", "hardswish", "leaky_relu", "elu")}
    ops |= {"leaky_relu {slope = -0.5 : f64}": "F.leaky_relu(x, -0.5)", "elu {alpha = 0.25 : f64}": "F.elu(x, 0.25)"}
    ops |= {f"pow {{exponent = {e} : f64}}": f"torch.pow(x, {e})" for e in EXPONENTS}
    for bounds in CLAMPS:
        attributes = ", ".join(f"{name} = {value} : f64" for name, value in bounds.items())
        ops[f"clamp {{{attributes}}}"] = f"torch.clamp(x, {', '.join(f'{name}={value}' for name, value in bounds.items())})"
    return ops | {"power": "torch.pow(x, y)"}


def record():
    import torch
    edges = {}
    for op, expression in edge_ops().items():
        pairs = PAIRS if op == "power" else [(p, 0.0) for p in POINTS]
        x, y = (torch.tensor(list(each), dtype=torch.float64, requires_grad=True) for each in zip(*pairs))
        value = eval(expression, {"torch": torch, "F": torch.nn.functional, "x": x, "y": y})  # pylint: disable=eval-used
        value.sum().backward()
        gradients = [x.grad, y.grad] if op == "power" else [x.grad]
        edges[op] = [each.tolist() for each in (value.detach(), *gradients)]
    text = ",\n".join(f"{json.dumps(op)}: {json.dumps(lists)}" for op, lists in edges.items())
    (HERE / "edges.json").write_text("{" + text + "}\n")


def check_edges(ppopt, element):
    expected, wrong = json.loads((HERE / "edges.json").read_text()), []
    assert list(expected) == list(edge_ops()), "edges.json is of other ops: --record"
    x, y = np.array(PAIRS).T
    results = compute(ppopt, list(expected), element, x, y)
    for op, (values, *gradients) in expected.items():
        tolerance = max({"f64": 1e-14, "f32": 1e-6}[element], TOLERANCES.get(op, 0))
        operands = PAIRS if op == "power" else [(p,) for p in POINTS]
        # Of other ops every operand is drawn once for each y.
        each = slice(None) if op == "power" else slice(None, None, len(POINTS))
        ours = [result[each] for result in results[op]]
        for what, got, truth in (("value", ours[0], values), ("1 / value", ours[1], [1 / v if v else np.copysign(INF, v) for v in values]),
                                 *zip(("gradient of x", "gradient of y"), ours[2:], gradients)):
            for operand, a, b in zip(operands, got, truth):
                if not (np.isnan(a) and np.isnan(b) or a == b or abs(a - b) <= tolerance * max(abs(b), 1)):
                    wrong.append(f"{op}: {what} at {operand} is {a}, not {b}")
    return wrong


def main():
    if sys.argv[1] == "--record":
        return record()
    failures = 0
    for element, what, check in (("f64", "functions", check_functions), ("f64", "edges", check_edges), ("f32", "functions", check_functions),
                                 ("f32", "edges", check_edges), ("bf16", "functions", check_functions)):
        with np.errstate(all="ignore"):
            wrong = check(sys.argv[1], element)
        failures += bool(wrong)
        print(f"{element} {what}: {'wrong: ' if wrong else 'right'}" + "\n  ".join(["", *wrong[:20]] if wrong else []))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
