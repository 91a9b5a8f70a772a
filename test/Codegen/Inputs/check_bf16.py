"""Rounds f32 to bf16 in kernels for each level of x86-64, and compares bits with integer arithmetic; no kernel may call a library."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from support.executable import compile_model, run  # noqa: E402

# The flags of /proc/cpuinfo without which a level's program cannot run.
LEVELS = {"x86-64": "sse2", "x86-64-v2": "sse4_2 ssse3 popcnt", "x86-64-v3": "avx2 fma bmi2 f16c",
          "x86-64-v4": "avx512f avx512bw avx512vl avx512dq avx512cd", "native": "", "znver4": None, "sapphirerapids": None}

# The weights' gradient is what was rounded. Rounded where nothing stores it:
IN_A_KERNEL = """func.func @round(%x: tensor<{rows}x8xf32> {{pp.input = "x"}}) -> tensor<f32> {{
  %w = pp.param "w" {{init = #pp.init<zeros>}} : tensor<{rows}x8xf32>
  %n = pp.cast %x : tensor<{rows}x8xf32> to tensor<{rows}x8xbf16>
  %y = pp.cast %n : tensor<{rows}x8xbf16> to tensor<{rows}x8xf32>
  %m = pp.mul %y, %w : tensor<{rows}x8xf32>, tensor<{rows}x8xf32>
  %l = pp.reduce sum %m [0, 1] : tensor<{rows}x8xf32>
  return %l : tensor<f32>
}}
"""
# And where it is stored: v, from scalars, and the mean of its two rows, from vectors and parts of them.
BY_ATTENTION = """func.func @round(%x: tensor<{rows}x{heads}x2x{width}xf32> {{pp.input = "x"}}) -> tensor<f32> {{
  %w = pp.param "w" {{init = #pp.init<zeros>}} : tensor<{rows}x{heads}x1x{width}xf32>
  %q = pp.constant dense<0.0> : tensor<{rows}x{heads}x1x1xbf16>
  %k = pp.constant dense<0.0> : tensor<{rows}x{heads}x2x1xbf16>
  %v = pp.cast %x : tensor<{rows}x{heads}x2x{width}xf32> to tensor<{rows}x{heads}x2x{width}xbf16>
  %a, %lse = pp.attention %q, %k, %v {{}} : tensor<{rows}x{heads}x1x1xbf16>, tensor<{rows}x{heads}x2x1xbf16>, tensor<{rows}x{heads}x2x{width}xbf16>
  %y = pp.cast %a : tensor<{rows}x{heads}x1x{width}xbf16> to tensor<{rows}x{heads}x1x{width}xf32>
  %m = pp.mul %y, %w : tensor<{rows}x{heads}x1x{width}xf32>, tensor<{rows}x{heads}x1x{width}xf32>
  %l = pp.reduce sum %m [0, 1, 2, 3] : tensor<{rows}x{heads}x1x{width}xf32>
  return %l : tensor<f32>
}}
"""
HEADS, WIDTHS = 3, (1, 13, 33)


def rounded(x):
    """To nearest even; of a NaN only that it is one."""
    bits = x.view(np.uint32)
    result = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), result)


def interesting_values():
    """Every bf16, and what lies around the middle of it and the next one."""
    lows = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return ((np.arange(1 << 16, dtype=np.uint32) << 16)[:, None] + lows).ravel().view(np.float32)


def neighbours():
    """Pairs of bf16 values whose mean lies between two of them; f32 holds their sums."""
    low = np.arange(1 << 16, dtype=np.uint32)
    low = low[(low & 0x7FFF) < 0x7E00]
    return (low << 16).view(np.float32), ((low + 1) << 16).view(np.float32)


def expect_same_bits(what, ours, theirs):
    """A gradient is added to 0, which makes 0 of -0."""
    ours, theirs = ours.ravel(), theirs.ravel() + np.float32(0)
    wrong = np.where(np.isnan(theirs), ~np.isnan(ours), ours.view(np.uint32) != theirs.view(np.uint32))
    if wrong.any():
        first = wrong.argmax()
        raise AssertionError(f"{what}: {wrong.sum()} of {wrong.size} wrong; the first, at {first}, is {ours.view(np.uint32)[first]:08x} "
                             f"instead of {theirs.view(np.uint32)[first]:08x}")


def padded(x, shape):
    return np.resize(x, int(np.prod(shape))).reshape(shape)


class Level:
    def __init__(self, ppopt, cpu, scratch):
        self.ppopt, self.cpu, self.scratch = ppopt, cpu, scratch
        flags = re.search(r"^flags\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)[1].split()
        self.runs = LEVELS[cpu] is not None and set(LEVELS[cpu].split()) <= set(flags)

    def compile(self, name, text):
        path = os.path.join(self.scratch, name)
        pathlib.Path(path + ".mlir").write_text(text)
        executable = compile_model(self.ppopt, path + ".mlir", path, ["--optimizer", "sgd", "--threads", "1", "--cpu", self.cpu], optimized=True)
        symbols = subprocess.run(["llvm-nm", path], capture_output=True, text=True, check=True).stdout
        if calls := sorted(set(re.findall(r"\b__\w+bf2?\b|\b__\w*bf[sdhtx]f2?\b", symbols))):
            raise AssertionError(f"{name} calls {', '.join(calls)}")
        return executable

    def gradient(self, executable, x, shape):
        flags = ["--lr", "0", "--skip-nonfinite-steps"]
        return run(executable, flags, init={"w": np.zeros(shape, np.float32)}, inputs={"x": x}, dump_gradients=True).gradients["w"]

    def check_in_a_kernel(self):
        x = interesting_values().reshape(-1, 8)
        executable = self.compile("in_a_kernel", IN_A_KERNEL.format(rows=len(x)))
        if self.runs:
            expect_same_bits("in a kernel", self.gradient(executable, x, x.shape), rounded(x))

    def check_by_attention(self, width):
        values, (low, high) = interesting_values(), neighbours()
        values = values[~(np.abs(values) >= 2.0**126)]
        rows = -(-values.size // (HEADS * width))
        shape = (rows, HEADS, 1, width)
        executable = self.compile(f"by_attention_{width}", BY_ATTENTION.format(rows=rows, heads=HEADS, width=width))
        if not self.runs:
            return
        for what, first, second in (("of scalars", values, values), ("of vectors", low, high)):
            first, second = padded(first, shape), padded(second, shape)
            mean = (rounded(first).astype(np.float64) + rounded(second)) / 2
            x = np.concatenate([first, second], axis=2)
            expect_same_bits(f"{what}, {width} wide", self.gradient(executable, x, shape), rounded(mean.astype(np.float32)))


def main():
    wrong = 0
    for cpu in LEVELS:
        with tempfile.TemporaryDirectory() as scratch:
            level = Level(sys.argv[1], cpu, scratch)
            try:
                level.check_in_a_kernel()
                for width in WIDTHS:
                    level.check_by_attention(width)
                print(f"{cpu}: {'right' if level.runs else 'compiles, and is not run here'}")
            except AssertionError as error:
                wrong += 1
                print(f"{cpu}: wrong: {error}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
