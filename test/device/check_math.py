#!/usr/bin/env python3
"""Checks how far functions of the target cuda are off, on the emulated device, whose approximate instructions are off by what the PTX ISA allows: f32 with
--math fast and with --math accurate, and f64. The truth is numpy's in long doubles. docs/cuda.md states the bounds."""
import dataclasses
import itertools
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from support.results import Harness  # noqa: E402

TYPES = {"f32": np.float32, "f64": np.float64}
WIDE = np.longdouble


# The truth

def erf(x):
    """2 x exp(-x²) / sqrt(pi) times the sum of (2x²)^n / (1 · 3 · … · (2n + 1)), all of whose terms are positive."""
    size = np.minimum(np.abs(x), 7)
    total, term = np.ones_like(size), np.ones_like(size)
    for n in range(1, 200):
        term = term * (2 * size * size / (2 * n + 1))
        total = total + term
    result = 2 * size * np.exp(-size * size) * total / np.sqrt(4 * np.arctan(WIDE(1)))
    # 1 - erf(7) is below 2^-70. Zeros keep their signs.
    return np.copysign(np.where(size < 7, result, np.where(np.isnan(x), x, 1)), x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def gelu(x):
    return x * (0.5 + 0.5 * erf(x / np.sqrt(WIDE(2))))


def gelu_by_tanh(x):
    factor = np.sqrt(2 / np.arctan(WIDE(1)))  # 2 sqrt(2/pi)
    return x * sigmoid(factor * (x + WIDE(0.044715) * x * x * x))


# How far a result may be off

@dataclasses.dataclass
class Bound:
    """`unit`: "ulp" of the truth; "relative" to the truth, or to the smallest normal number if that is larger; "of x" relative to the operand.
    `is_flushed`: results below the smallest normal number may be zero."""
    most: float
    unit: str = "ulp"
    is_flushed: bool = False


def relative(most, is_flushed=False):
    return Bound(most, "relative", is_flushed)


ROUNDED, EXACT = Bound(0.5), Bound(0)
POW = "pow {exponent = 0.25 : f64}"
# With --math accurate, and in f64, as OpenCL bounds libclc's: of erf by 16, which is less.
ACCURATE = {"expm1": Bound(10), "log1p": Bound(2), "sin": Bound(4), "cos": Bound(4), "atan": Bound(2), "power": Bound(16), POW: Bound(16), "floor": EXACT, "ceil": EXACT,
            "round": EXACT, "exp": Bound(3, is_flushed=True), "log": Bound(3), "tanh": Bound(5), "erf": Bound(1), "sqrt": ROUNDED, "rsqrt": Bound(2), "div": ROUNDED,
            "sigmoid": Bound(5, is_flushed=True), "softplus": Bound(5, is_flushed=True), "gelu": Bound(3 * 2**-24, "of x"), "gelu {tanh}": Bound(3 * 2**-24, "of x")}
FAST = {**ACCURATE, "expm1": relative(2**-19), "exp": relative(2**-21, True), "tanh": relative(2**-20), "erf": relative(2**-21), "rsqrt": relative(2**-22), "div": relative(2**-22),
        "sigmoid": relative(2**-20, True), "softplus": relative(2**-20, True), "gelu": Bound(2**-21, "of x"), "gelu {tanh}": Bound(2**-20, "of x")}
DOUBLE = {**ACCURATE, "exp": Bound(3), "tanh": Bound(4), "softplus": Bound(5), "gelu": Bound(3 * 2**-53, "of x"), "gelu {tanh}": Bound(3 * 2**-53, "of x")}
BOUNDS = {("f32", "fast"): FAST, ("f32", "accurate"): ACCURATE, ("f64", "fast"): DOUBLE}

# In the order of the results of the kernel.
FUNCTIONS = {"expm1": np.expm1, "log1p": np.log1p, "sin": np.sin, "cos": np.cos, "atan": np.arctan, "power": np.power, POW: lambda x: np.power(x, WIDE(0.25)),
             "floor": np.floor, "ceil": np.ceil, "round": np.round, "exp": np.exp, "log": np.log, "tanh": np.tanh, "erf": erf, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "div": np.divide,
             "sigmoid": sigmoid, "softplus": softplus, "gelu": gelu, "gelu {tanh}": gelu_by_tanh}
OF_TWO = {"div", "power"}


def errors_of(got, truth, x, bound):
    """In units of the bound; infinite where the kind of result is wrong."""
    info = np.finfo(got.dtype)
    # As if exponents went on: what overflows is the next power of two.
    end = WIDE(2) ** info.maxexp
    near, exact = np.clip(got.astype(WIDE), -end, end), np.clip(truth, -end, end)
    size = np.maximum(np.abs(exact), WIDE(info.tiny))
    unit = {"ulp": np.ldexp(WIDE(1), np.frexp(size)[1] - 1 - info.nmant), "relative": size, "of x": np.maximum(np.abs(x), WIDE(info.tiny))}[bound.unit]
    errors = np.abs(near - exact) / unit
    if bound.is_flushed:
        errors[(got == 0) & (np.abs(exact) < info.tiny * (1 + WIDE(2) ** -20))] = 0
    errors[np.isnan(truth)] = 0
    errors[np.isnan(got) != np.isnan(truth)] = np.inf
    if bound.unit != "of x":  # else the truth itself cancels
        errors[(got == 0) & (np.signbit(got) != np.signbit(truth))] = np.inf
    return errors


# Operands

def draw_operands(element):
    """All pairs of special values; all exponents; where functions bend, cancel, overflow and are cut into cases."""
    kind = TYPES[element]
    random, info, words = np.random.default_rng(1), np.finfo(kind), {"f32": np.uint32, "f64": np.uint64}[element]
    special = np.array([0, info.smallest_subnormal, info.tiny * kind(0.75), info.tiny, info.eps, 0.5, np.nextafter(kind(1), kind(0)), 1, 1 + info.eps, 2, 3,
                        info.max, np.inf, np.nan], kind)
    special = np.concatenate([special, -special])
    pairs = np.array(list(itertools.product(special, special)), kind)
    exponents = np.arange(2 * info.maxexp, dtype=words).repeat(16 if element == "f32" else 4) << words(info.nmant)
    fractions = random.integers(0, 1 << info.nmant, len(exponents), words)
    fractions[::4] = 0  # powers of two
    magnitudes = (exponents | fractions).view(kind)
    ends = np.log(info.smallest_subnormal.astype(WIDE)), np.log(WIDE(info.max))
    ranges = [random.uniform(float(ends[0]) - 2, float(ends[1]) + 2, 3000), random.uniform(-7, 7, 3000), random.uniform(0.4, 2.5, 3000),
              random.uniform(-1, 1, 2000), random.uniform(-0.56, -0.54, 200), 1 + np.arange(-200, 200) * info.eps]
    x = np.concatenate([pairs[:, 0], magnitudes, -magnitudes, *ranges]).astype(kind)
    y = np.concatenate([pairs[:, 1], random.permutation(x[len(pairs):])])
    # Quotients near one, too, and of all sizes.
    y[len(pairs)::3] = x[len(pairs)::3] / kind(1.1)
    fill = -len(x) % 8
    return np.pad(x, (0, fill)), np.pad(y, (0, fill))


# The device

def module_text(count, element, math):
    """A kernel of phase kernels with a result for each function, whose names are those of gradients, and a task that launches it."""
    buffer, shape = f"memref<{count}x{element}>", f"tensor<{count}x{element}>"
    names = list(FUNCTIONS)
    outs = [f"%out{i}" for i in range(len(names))]
    arguments = [f'%{name}: {buffer} {{pp.role = #pp.role<param, "{name}">}}' for name in "xy"]
    arguments += [f'{out}: {buffer} {{pp.role = #pp.role<grad, "{name}">}}' for out, name in zip(outs, names)]

    def op(name):
        if name in OF_TWO:
            return f"pp.{name} %x, %y : {shape}, {shape}"
        op, _, flag = name.partition(" ")
        return f"pp.{op} %x {flag} : {shape}"
    lines = "\n".join(f"    {out} = {op(name)}" for out, name in zip(outs, names))

    def repeat(text):
        return ", ".join([text] * len(names))
    return f"""
pp.plan {{mesh = [#pp.axis<"dp" = 1>], batch = 1 : i64, microbatches = 1 : i64, schedule = "1f1b", math = "{math}",
         target = #pp.target<"cuda", threads = 1, cpu = "x86-64", features = "", gpu = "sm_80">}}
pp.task forward stage 0 @task({", ".join(arguments)}) {{
  pp.launch @math ins(%x, %y : {buffer}, {buffer}) outs({", ".join(outs)} : {repeat(buffer)}) {{inplace = array<i64: {repeat("-1")}>}}
  pp.return
}}
pp.kernel @math(%x: {shape}, %y: {shape}) -> ({repeat(shape + " {pp.sweep = 0 : i64}")}) attributes {{form = #pp.form<rows {count}>}} {{
{lines}
  pp.return {", ".join(outs)} : {repeat(shape)}
}}
"""


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"


def emulate(harness, element, math, x, y, change=None):
    """The results of each function. `change` is applied to the device code."""
    emulator = os.path.join(harness.args.build, "bin", "test", "ppopt-emulate")
    with tempfile.TemporaryDirectory() as folder:
        model, kernels, device = (os.path.join(folder, name) for name in ("model.mlir", "kernels.mlir", "device.ll"))
        with open(model, "w") as file:
            file.write(module_text(len(x), element, math))
        run(harness.ppopt, "opt", model, "--pp-plan-cuda-kernels", "-o", kernels)
        for name, values in (("x", x), ("y", y)):
            values.tofile(os.path.join(folder, f"param.{name}"))
        command = ["--tasks", "task", "--values", folder]
        run(emulator, kernels, *command, "--save-device-ir", device)
        if change:
            with open(device) as file:
                text = file.read()
            changed = change(text)
            assert changed != text, "nothing to change in the device code"
            with open(device, "w") as file:
                file.write(changed)
            run(emulator, kernels, device, *command)
        return {name: np.fromfile(os.path.join(folder, f"grad.{name}"), TYPES[element]) for name in FUNCTIONS}


def check(harness, element, math, change=None):
    with np.errstate(all="ignore"):
        x, y = draw_operands(element)
    report, wrong = [], []
    results = emulate(harness, element, math, x, y, change)
    with np.errstate(all="ignore"):
        for name, function in FUNCTIONS.items():
            bound = BOUNDS[element, math][name]
            wide = [operand.astype(WIDE) for operand in ((x, y) if name in OF_TWO else (x,))]
            truth = function(*wide)
            errors = errors_of(results[name], truth, wide[0], bound)
            worst = int(np.argmax(errors))
            at = f"{x[worst]!r}, {y[worst]!r}" if name in OF_TWO else f"{x[worst]!r}"
            text = f"{name}({at}) is {results[name][worst]!r}, not {truth[worst]!r}: off by {errors[worst]:.3g} of {bound.most:.3g} {bound.unit}"
            report.append(f"  {text}")
            if not errors[worst] <= bound.most:
                wrong.append(text)
    assert not wrong, "\n".join(wrong)
    print("\n".join(report))


def check_planted(harness, element, math, change, function):
    try:
        check(harness, element, math, change)
    except AssertionError as error:
        assert [line.partition("(")[0] for line in str(error).splitlines()] == function, error
        return
    raise AssertionError("the planted error is not seen")


def as_text(constant):
    """An f32 of LLVM IR."""
    return f"0x{np.array(np.float32(constant), np.float64).view(np.uint64):016X}"


def clear(constant):
    return lambda text: re.sub(rf"\bfloat {as_text(constant)}", "float 0.0", text)


LOG2E = 1.44269504088896340736
PLANTED = {"exp with log2(e) in f32": ("f32", "fast", clear(LOG2E - float(np.float32(LOG2E))), ["exp", "sigmoid", "softplus"]),
           "tanh with a term less": ("f32", "fast", clear(21844 / 6081075), ["expm1", "tanh"]),
           "quotients of an approximate instruction": ("f32", "accurate", lambda text: text.replace("fdiv float", "fdiv afn float"),
                                                       ["rsqrt", "div", "gelu {tanh}"])}


def main():
    harness = Harness("math")
    harness.cases([("planted: " + name, lambda planted=planted: check_planted(harness, *planted)) for name, planted in PLANTED.items()])
    harness.cases([(f"{element}, --math {math}", lambda element=element, math=math: check(harness, element, math)) for element, math in BOUNDS])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
