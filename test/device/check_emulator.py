"""Checks the emulated device with device code written by hand: right results against numpy's, and each planted bug found.

    check_emulator.py --build build/release

docs/cuda.md says what the emulated device covers. A case of a bug replaces text of a file in kernels/ and expects an error.
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.results import Harness

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels")
SEED = 5


def draw(*shape):
    return np.random.default_rng(SEED).standard_normal(shape).astype(np.float32)


def text_of(kernel, replacements):
    with open(os.path.join(KERNELS, kernel + ".ll")) as file:
        text = file.read()
    for old, new in replacements:
        assert text.count(old) == 1, f"{kernel}.ll has {text.count(old)} times '{old}'"
        text = text.replace(old, new)
    return text


class Emulator:
    def __init__(self, build):
        self.tool = os.path.join(build, "bin", "test", "ppopt-emulate")

    def run(self, kernel, grid, buffers, replacements=(), flags=()):
        """`buffers`: an array is an input; ("out", dtype, shape) an output; ("inout", array) both; a text is a word of --buffers.
        Returns the status, the outputs, and what was printed."""
        with tempfile.TemporaryDirectory() as folder:
            device = os.path.join(folder, "device.ll")
            with open(device, "w") as file:
                file.write(text_of(kernel, replacements))
            words, outputs = [], []
            for i, buffer in enumerate(buffers):
                path, result = os.path.join(folder, f"{i}.in"), os.path.join(folder, f"{i}.out")
                if isinstance(buffer, str):
                    words.append(buffer)
                elif isinstance(buffer, np.ndarray):
                    buffer.tofile(path)
                    words.append(f"in:{name_of(buffer.dtype)}:{path}")
                elif buffer[0] == "inout":
                    buffer[1].tofile(path)
                    words.append(f"inout:{name_of(buffer[1].dtype)}:{path}:{result}")
                    outputs.append((result, buffer[1].dtype, buffer[1].shape))
                else:
                    words.append(f"out:{name_of(np.dtype(buffer[1]))}:{int(np.prod(buffer[2]))}:{result}")
                    outputs.append((result, buffer[1], buffer[2]))
            command = [self.tool, device, "--launch", kernel, "--grid", str(grid), "--shared", "32", "--buffers", ",".join(words), *flags]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
            assert done.returncode in (0, 1), f"{' '.join(command)}\nstatus {done.returncode}\n{done.stderr}"
            if done.returncode == 1:
                return 1, [], done.stderr
            return 0, [np.fromfile(path, dtype).reshape(shape) for path, dtype, shape in outputs], done.stdout


def name_of(dtype):
    return {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "uint16": "i16", "uint8": "i8", "uint32": "i32"}[np.dtype(dtype).name]


def near(got, want, tolerance, what):
    worst = np.max(np.abs(got.astype(np.float64) - want)) / np.max(np.abs(want))
    assert worst <= tolerance, f"{what}: off by {worst:.2e} of the largest element, more than {tolerance:.0e}"


# Launches: kernel, grid, buffers. Each bug below is planted in one of them.
X16 = draw(16, 100)
GAMMA, BETA = draw(100) + 1, draw(100)
X5 = draw(5, 1000)
FLAT = draw(1234)
A, B, C = draw(16, 16), draw(16, 8), draw(16, 8)
HUGE = 2**31 + 256


def to_bf16(x):
    """Bits, rounded to nearest even."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


LAUNCHES = {
    "layer_norm": (2, [X16, GAMMA, BETA, ("out", np.float32, (16, 100))]),
    "block_sum": (5, [X5, ("out", np.float32, (5,)), ("out", np.float32, (5, 1000))]),
    "flat": (3, [FLAT, FLAT, ("out", np.float32, (1234,))]),
    "transpose": (1, [draw(32, 32), ("out", np.float32, (32, 32))]),
    "mma": (1, [to_bf16(A), to_bf16(B.T.copy()), C, ("out", np.float32, (16, 8))]),
}


def check_layer_norm(emulator):
    status, (y,), printed = emulator.run("layer_norm", *LAUNCHES["layer_norm"])
    x = X16.astype(np.float64)
    want = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * GAMMA + BETA
    near(y, want, 1e-6, "y")
    counters = json.loads(printed)
    assert counters == {"kernel": "layer_norm", "blocks": 2, "barriers": 0, "warp operations": 2 * 8 * 10}, printed


def check_block_sum(emulator):
    status, (sums, y), printed = emulator.run("block_sum", *LAUNCHES["block_sum"])
    near(sums, X5.astype(np.float64).sum(1), 1e-6, "sums")
    near(y, X5.astype(np.float64) - X5.astype(np.float64).sum(1, keepdims=True), 1e-6, "y")
    assert json.loads(printed)["barriers"] == 5 * 2, printed


def check_flat(emulator):
    status, (y,), _ = emulator.run("flat", *LAUNCHES["flat"])
    near(y, np.exp2(FLAT.astype(np.float64)) * FLAT, 1e-6, "y")


def check_transpose(emulator):
    grid, (x, out) = LAUNCHES["transpose"]
    status, (y,), _ = emulator.run("transpose", grid, (x, out))
    assert (y == x.T).all(), "y is not x transposed"


def check_mma(emulator):
    status, (d,), _ = emulator.run("mma", *LAUNCHES["mma"])
    near(d, from_bf16(to_bf16(A)).astype(np.float64) @ from_bf16(to_bf16(B)) + C, 1e-6, "d")


def check_long_copy(emulator):
    """Of a buffer that does not fit in memory, the first and the last blocks."""
    status, _, printed = emulator.run("long_copy", HUGE // 256, [f"zeros:i8:{HUGE}", f"any:i8:{HUGE}"], flags=[f"--blocks=0,1,{HUGE // 256 - 1}"])
    assert status == 0 and json.loads(printed)["blocks"] == 3, printed


def check_approximations(emulator):
    """Each within its bound, and each off by more than half of it somewhere."""
    count = 4096
    x = np.exp(np.random.default_rng(SEED).uniform(-8, 3, count)).astype(np.float32)
    y = np.random.default_rng(SEED + 1).uniform(0.1, 50, count).astype(np.float32)
    status, (z, rounded), _ = emulator.run("approximate", count // 64, [x, y, ("out", np.float32, (count, 10)), ("out", np.uint16, (count,))])
    x, y, z = x.astype(np.float64), y.astype(np.float64), z.astype(np.float64)
    cases = [("ex2", np.exp2(x), 2**-22), ("lg2", np.log2(x), 2**-22), ("rcp", 1 / x, 2**-23), ("rsqrt", 1 / np.sqrt(x), 2**-22.9),
             ("sqrt", np.sqrt(x), 2**-23), ("div.full", x / y, 2**-22), ("tanh", np.tanh(x), 2**-11), ("sqrt.rn", np.sqrt(x), 2**-24),
             ("div.approx", x / y, 2**-22), ("times a constant", x * np.where(np.arange(count) % 2, 2, 0.5), 0)]
    for i, (name, exact, bound) in enumerate(cases):
        # lg2: absolute between 0.5 and 2, where the result is near 0.
        scale = np.where((x > 0.5) & (x < 2), 1, np.abs(exact)) if name == "lg2" else np.abs(exact)
        worst = np.max(np.abs(z[:, i] - exact) / scale)
        assert worst <= bound * (1 + 1e-6), f"{name}: off by {worst:.3e}, more than {bound:.3e}"
        assert worst >= bound / 2, f"{name}: only off by {worst:.3e} of {bound:.3e}: not perturbed"
    assert (rounded == to_bf16(x)).all(), "bf16 is not x rounded to nearest even"


BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
DOWN = "call float @llvm.nvvm.shfl.sync.down.f32(i32 -1, float"
BFLY = "call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float"

# name: kernel, (old, new)…, what the error says, each on its own, or a function of the outputs.
BUGS = {
    "barrier left out": ("block_sum", [(f"{BARRIER} ; partials are there", "")], [
        "kernel 'block_sum': block 0, warp 0, lane 0 reads element 1 of shared memory @partials, which nobody has written since the block began",
        "%pv = load float, ptr addrspace(3) %ps, align 4"]),
    "second barrier left out": ("block_sum", [(f"{BARRIER} ; the total is there", "")], [
        "reads element 0 of shared memory @total, which thread 0 has written without a barrier between"]),
    "barrier left out before memory is used again": ("block_sum", [
        ("  %wnext = add i32 %wc, 256\n", "  %last = icmp eq i32 %tid, 255\n  %target = select i1 %last, ptr addrspacecast "
         "(ptr addrspace(3) @total to ptr), ptr %wpy\n  store float %d, ptr %target, align 4\n  %wnext = add i32 %wc, 256\n")], [
        "writes element 0 of shared memory @total, which threads of several warps have read without a barrier between"]),
    "barrier in divergent code": ("block_sum", [
        ("br i1 %first, label %add, label %wait", "br i1 %first, label %only, label %wait\nonly:\n  " + BARRIER + "\n  br label %add"),
        ("[ 0, %meet ]", "[ 0, %only ]"), ("[ 0.0, %meet ]", "[ 0.0, %only ]")], [
        "block 0, warp 0, lane 1 waits at another barrier than lane 0 of its warp"]),
    "thread ends before a barrier": ("block_sum", [("br i1 %first, label %add, label %wait", "br i1 %first, label %add, label %other\nother:\n"
                                                    "  %last = icmp eq i32 %tid, 77\n  br i1 %last, label %end, label %wait")], [
        "block 0, warp 0, lane 0 waits at a barrier of the block, but warp 2, lane 13 has ended"]),
    "warp reduction one lane short": ("layer_norm", [(f"{BFLY} %d, i32 1, i32 31)", f"{BFLY} %d, i32 0, i32 31)")], check_layer_norm),
    "warp reduction without its last half": ("block_sum", [("%a1 = fadd float %a2, %s1", "%a1 = fadd float %a2, 0.0")], check_block_sum),
    "shuffle in divergent code": ("layer_norm", [
        ("br i1 %in, label %load, label %mean", "br i1 %in, label %load, label %lone\nlone:\n  br label %mean"),
        ("[ zeroinitializer, %entry ]", "[ zeroinitializer, %lone ]"),
        ("  br label %mean\nmean:", f"  %early = {BFLY} 1.0, i32 1, i32 31)\n  br label %mean\nmean:")], [
        "block 0, warp 0, lane 0 waits at shfl.sync.bfly for the lanes of mask 0xffffffff, but lane 25 has ended"]),
    "mask names lanes that do not arrive": ("layer_norm", [
        ("br i1 %in, label %load, label %mean", "br i1 %in, label %load, label %end"), ("[ zeroinitializer, %entry ], ", "")], [
        "block 0, warp 0, lane 0 waits at shfl.sync.bfly for the lanes of mask 0xffffffff, but lane 25 has ended"]),
    "shuffle from a lane outside of the mask": ("block_sum", [(f"{DOWN} %sum, i32 16, i32 31)", "call float @half(float %sum, i32 %lane)"),
                                                ("define ptx_kernel", "define internal float @half(float %v, i32 %lane) {\n"
                                                 "  %low = icmp ult i32 %lane, 16\n  br i1 %low, label %do, label %skip\ndo:\n"
                                                 "  %w = call float @llvm.nvvm.shfl.sync.down.f32(i32 65535, float %v, i32 16, i32 31)\n  ret float %w\n"
                                                 "skip:\n  ret float 0.0\n}\n\ndefine ptx_kernel")], [
        "block 0, warp 0: lane 0 reads from lane 16, which takes no part"]),
    "tail not masked": ("flat", [("icmp ule i32 %end, 1234", "icmp ule i32 %end, 1236")], [
        "kernel 'flat': block 2, warp 1, lane 20 reads 16 bytes at element 1232 of argument 0, which has 1234 elements",
        "%v = load <4 x float>, ptr %px, align 16"]),
    "tail left out": ("flat", [("icmp ult i32 %at, 1234", "icmp ult i32 %at, 1")], ["nobody writes element 1232 of argument 2"]),
    "last columns left out": ("layer_norm", [("icmp ult i32 %column, 100", "icmp ult i32 %column, 96")], ["nobody writes element 96 of argument 3"]),
    "negative offset": ("flat", [("%at = add i32 %base, %mine", "%at = sub i32 %base, %mine")], ["reads 16 bytes at element -4 of argument 0"]),
    "misaligned vector load": ("layer_norm", [("mul i32 %row, 100", "mul i32 %row, 99")], [
        "block 0, warp 1, lane 0 reads 16 bytes at byte 396 of argument 0, which is no multiple of 16"]),
    "unwritten shared memory": ("block_sum", [("icmp ult i32 %inext, 8", "icmp ult i32 %inext, 9")], [
        "reads 4 bytes at element 8 of shared memory @partials, which has 8 elements"]),
    "shared memory kept from the block before": ("block_sum", [("br i1 %leads, label %put, label %meet", "%zero = icmp eq i32 %block, 0\n"
                                                 "  %puts = and i1 %leads, %zero\n  br i1 %puts, label %put, label %meet")], [
        "block 1, warp 0, lane 0 reads element 0 of shared memory @partials, which nobody has written since the block began"]),
    "two blocks write one element": ("block_sum", [("getelementptr float, ptr %sums, i32 %block", "getelementptr float, ptr %sums, i32 0")], [
        "block 1, warp 0, lane 0 writes element 0 of argument 1, which thread 0 of block 0 has written; nothing orders the two blocks"]),
    "result read before it is written": ("flat", [("%pz = getelementptr float, ptr %z, i32 %at", "%pz = getelementptr float, ptr %y, i32 %at")], [
        "reads element 0 of argument 2, which nobody has written"]),
    "write to what may only be read": ("flat", [("%py = getelementptr float, ptr %y, i32 %at", "%py = getelementptr float, ptr %z, i32 %at")], [
        "writes element 0 of argument 1, which it may only read"]),
    "warp barrier left out": ("transpose", [("  call void @llvm.nvvm.bar.warp.sync(i32 -1)\n", "")], [
        "reads element 1 of shared memory @tile, which nobody has written since the block began"]),
    "wrong fragment": ("mma", [("%lower = add i32 %upper, 64", "%lower = add i32 %upper, 56")], ["argument 3, which thread"]),
    "fragment's rows exchanged": ("mma", [("i32 %a0, i32 %a1, i32 %a2, i32 %a3, i32 %b0", "i32 %a1, i32 %a0, i32 %a2, i32 %a3, i32 %b0")], check_mma),
    "unknown intrinsic": ("flat", [("declare float @llvm.nvvm.ex2.approx.ftz.f32(float)", "declare float @llvm.nvvm.ex2.approx.ftz.f32(float)\n"
                                    "declare i32 @llvm.nvvm.read.ptx.sreg.smid()"),
                                   ("%base = mul i32 %block, 512", "%sm = call i32 @llvm.nvvm.read.ptx.sreg.smid()\n  %base = mul i32 %block, 512")], [
        "'flat' calls 'llvm.nvvm.read.ptx.sreg.smid', which the emulated device has not"]),
    "function that no instruction computes": ("flat", [("declare float @llvm.nvvm.ex2.approx.ftz.f32(float)", "declare float @llvm.nvvm.ex2.approx.ftz.f32(float)\n"
                                                       "declare float @llvm.tanh.f32(float)"),
                                                      ("%sp = fmul float %se, %sw", "%t = call float @llvm.tanh.f32(float %se)\n  %sp = fmul float %t, %sw")], [
        "'flat' calls 'llvm.tanh.f32', which the emulated device has not"]),
    "atomic operation": ("flat", [("%base = mul i32 %block, 512", "%old = atomicrmw add ptr %y, i32 1 seq_cst\n  %base = mul i32 %block, 512")], [
        "'flat' has an atomic operation"]),
    "order decides": ("block_sum", [("%sum = fadd float %acc, %v", "%sum = fadd float %acc, %v\n  store float %v, ptr %sums, align 4")], [
        "argument 1, which thread"]),
}


def check_bug(emulator, kernel, replacements, expected):
    if callable(expected):
        broken = Emulator.__new__(Emulator)
        broken.tool = emulator.tool
        broken.run = lambda name, grid, buffers, *rest: emulator.run(name, grid, buffers, replacements)
        try:
            expected(broken)
        except AssertionError as error:
            assert "off by" in str(error), error
            return
        raise AssertionError("the results are right in spite of the bug")
    status, _, printed = emulator.run(kernel, *LAUNCHES[kernel], replacements)
    assert status == 1, f"no error: {printed}"
    for text in expected:
        assert text in printed, f"the error is not about '{text}':\n{printed}"


def check_narrow_index(emulator):
    """Indices of 32 bits that are signed: those of the last block are negative."""
    status, _, printed = emulator.run("long_copy", HUGE // 256, [f"zeros:i8:{HUGE}", f"any:i8:{HUGE}"], [("zext i32", "sext i32")],
                                      [f"--blocks=0,1,{HUGE // 256 - 1}"])
    assert status == 1 and "reads 1 byte at element -2147483648 of argument 0" in printed, printed


def check_misplaced_buffer(emulator):
    """The kernel takes it that its input is aligned to 16 bytes."""
    with tempfile.NamedTemporaryFile() as file:
        X16.tofile(file.name)
        grid, (x, gamma, beta, out) = LAUNCHES["layer_norm"]
        status, _, printed = emulator.run("layer_norm", grid, [f"in:f32@4:{file.name}", gamma, beta, out])
    assert status == 1 and "reads 16 bytes at byte 0 of argument 0, which is no multiple of 16" in printed, printed


def check_in_place(emulator):
    """z is overwritten by y, at the same index."""
    grid, (x, z, _) = LAUNCHES["flat"]
    in_place = [("%py = getelementptr float, ptr %y, i32 %at", "%py = getelementptr float, ptr %z, i32 %at"),
                ("%spy = getelementptr float, ptr %y, i32 %i", "%spy = getelementptr float, ptr %z, i32 %i")]
    status, outputs, printed = emulator.run("flat", grid, [x, ("inout", z), "any:f32:0"], in_place)
    assert status == 0, printed
    shifted = in_place + [("%pz = getelementptr float, ptr %z, i32 %at", "%ahead = xor i32 %at, 4\n  %pz = getelementptr float, ptr %z, i32 %ahead")]
    status, _, printed = emulator.run("flat", grid, [x, ("inout", z), "any:f32:0"], shifted)
    assert status == 1 and "of argument 1, which thread" in printed, printed


def main():
    harness = Harness("emulator")
    emulator = Emulator(harness.args.build)
    rights = {"layer norm": check_layer_norm, "sums of rows by blocks": check_block_sum, "flat": check_flat, "transpose": check_transpose,
              "mma": check_mma, "a buffer of 2 GiB": check_long_copy, "approximate instructions": check_approximations, "in place": check_in_place}
    wrongs = {name: lambda bug=bug: check_bug(emulator, *bug) for name, bug in BUGS.items()}
    wrongs["index of 32 bits"] = lambda: check_narrow_index(emulator)
    wrongs["buffer that is not aligned"] = lambda: check_misplaced_buffer(emulator)
    harness.cases([(name, lambda check=check: check(emulator)) for name, check in rights.items()] +
                  [("planted: " + name, check) for name, check in wrongs.items()])
    sys.exit(harness.finish())


if __name__ == "__main__":
    main()
