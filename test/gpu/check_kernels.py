#!/usr/bin/env python3
"""Runs ppopt-gpu-kernels, which compares and measures kernels on a GPU, on the driver without a GPU (test/device/fake), and with planted bugs.

    check_kernels.py --build build/release

Of what is expected, sums and matmuls are computed here again, from random numbers as docs/random-numbers.md defines them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TEST)
from support.results import Harness  # noqa: E402

GPT = ["--layers", "1", "--width", "32", "--heads", "2", "--vocab", "97", "--seq", "16", "--batch", "2"]
PROGRAMS = {
    "f32": [],
    "f32 generated": ["--matmul", "generated", "--optimizer", "sgd"],
    # Rows of 97 elements are padded.
    "bf16": ["--precision", "bf16", "--threshold", "gpu-pitch-columns=2"],
    "bf16 generated": ["--precision", "bf16", "--matmul", "generated"],
    "generator": ["--generator"],
}
OPERANDS = 1 << 14


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **options)


def checked(command):
    done = run(command)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return done


class Bundle:
    """Kernels of a program, what is expected of them, and the device code that stands for their PTX."""

    def __init__(self, tools, model, name, folder):
        self.tools, self.folder = tools, os.path.join(folder, name.replace(" ", "_"))
        self.code, self.instructions = self.folder + ".ll", self.folder + ".instructions.ll"
        kernels = self.folder + ".mlir"
        checked([tools.ppopt, "compile", model, "--target", "cuda", "--threads", "1", *PROGRAMS[name], "--stop-after=kernels", "-o", kernels])
        checked([tools.emulate, kernels, "--save-expectations", self.folder, "--operands", str(OPERANDS), "--save-device-ir", self.code,
                 "--save-instruction-ir", self.instructions])
        with open(kernels) as file:
            self.text = file.read()
        with open(os.path.join(self.folder, "manifest.json")) as file:
            self.manifest = json.load(file)
        self.samples = np.fromfile(os.path.join(self.folder, "samples.bin"))

    def names(self):
        return [*self.manifest["instructions"], *(launch["name"] for launch in self.manifest["launches"])]

    def launch(self, pattern):
        return next(launch for launch in self.manifest["launches"] if re.fullmatch(pattern, launch["name"]))

    def expected(self, launch, result=0):
        """The samples of a result; of a matmul, with the sums of magnitudes."""
        expectation = launch["expectations"][result]
        values = 2 if launch["matmul"] else 1
        return self.samples[expectation["first"]:][:expectation["samples"] * values].reshape(-1, values)


class Tools:
    def __init__(self, build, ppopt):
        self.ppopt, self.fake = ppopt, os.path.join(build, "bin", "test", "fake-cuda")
        self.emulate, self.kernels = (os.path.join(build, "bin", "test", name) for name in ("ppopt-emulate", "ppopt-gpu-kernels"))

    def run(self, bundle, *flags, folder=None, code=None, instructions=None, gpu=""):
        """Returns the exit status, the records by name, and what is printed. `code`: device code other than the bundle's."""
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "records.jsonl")
            env = {**os.environ, "LD_LIBRARY_PATH": self.fake, "PPOPT_FAKE_CUDA": f"memory=1GiB{gpu}",
                   "PPOPT_FAKE_CUDA_CODE": f"{code or bundle.code}:{instructions or bundle.instructions}"}
            done = run([self.kernels, folder or bundle.folder, "--json", path, *flags], env=env)
            records = []
            if os.path.exists(path):
                with open(path) as file:
                    records = [json.loads(line) for line in file]
            return done.returncode, {record["name"]: record for record in records if "name" in record}, done.stdout + done.stderr


def check_agreement(bundle, *flags, gpu=""):
    """All kernels and matmuls of the program are run, and agree."""
    status, records, output = bundle.tools.run(bundle, *flags, gpu=gpu)
    wrong = [name for name, record in records.items() if not record["agrees"]]
    assert status == 0 and not wrong, output
    assert list(records) == bundle.names(), output
    kernels = re.findall(r"^  pp\.kernel @(\w+)", bundle.text, re.M) + sorted(set(re.findall(r"matmul_kernel<@(\w+)", bundle.text)))
    assert all(name in records for name in kernels), sorted(set(kernels) - set(records))
    assert ("pp.gemm" in bundle.text) == any(launch["matmul"] for launch in bundle.manifest["launches"])
    for launch in bundle.manifest["launches"]:
        record = records[launch["name"]]
        assert record["same bits"] and len(record["results"]) == len(launch["expectations"]), record
        for expectation, result in zip(launch["expectations"], record["results"]):
            buffer = launch["buffers"][expectation["buffer"]]
            assert result["compared"] == min(1000, np.prod(buffer["sizes"])), record
    return records


def check_times(bundle):
    records = check_agreement(bundle, gpu=",name=NVIDIA H100 80GB HBM3")
    for launch in bundle.manifest["launches"]:
        record, predicted = records[launch["name"]], {each["gpu"]: each["microseconds"] for each in launch["predictions"]}
        assert record["microseconds"] > 0 and record["predicted microseconds"] == predicted["h100"], record
        assert np.isclose(record["ratio"], record["microseconds"] / predicted["h100"]), record
        assert np.isclose(record["GB/s"] * record["microseconds"] * 1e3, record["bytes"]), record
        assert np.isclose(record["TFLOP/s"] * record["microseconds"] * 1e6, record["flops"]), record
        if launch["matmul"]:
            m, n, k = (launch["matmul"][size] for size in "mnk")
            assert record["flops"] == 2 * m * n * k, record


# Random numbers, by docs/random-numbers.md.

def philox(key, counter):
    """`counter`: four arrays of words."""
    words, keys = [np.asarray(word, np.uint64) for word in counter], [key & 0xffffffff, key >> 32]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        low = np.uint64(0xffffffff)
        words = [(second >> np.uint64(32)) ^ words[1] ^ np.uint64(keys[0]), second & low, (first >> np.uint64(32)) ^ words[3] ^ np.uint64(keys[1]), first & low]
        keys = [(keys[0] + 0x9E3779B9) & 0xffffffff, (keys[1] + 0xBB67AE85) & 0xffffffff]
    return np.stack(words, axis=-1)


def stream_of(name):
    value = 0xcbf29ce484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def normal(seed, name, count):
    groups = np.arange((count + 3) // 4, dtype=np.uint64)
    last = np.full_like(groups, 0xffffffff)
    words = philox(seed ^ stream_of(name), (groups, np.zeros_like(groups), last, last)).astype(np.float64).reshape(-1, 2)
    radius, angle = np.sqrt(-2 * np.log((words[:, 0] + 1) * 2.0**-32)), 2 * np.pi * words[:, 1] * 2.0**-32
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1).reshape(-1)[:count]


def check_expected_matmul(bundle, pattern):
    """Each sample of a matmul of dense operands is the sum of its terms, for the numbers that buffers have."""
    launch = bundle.launch(pattern)
    m, n, k = (launch["matmul"][size] for size in "mnk")

    def matrix(number, rows, columns):
        numbers = normal(bundle.manifest["seed"], f"{launch['name']}/{number}", rows * columns).astype(np.float32).astype(np.float64)
        strides = launch["buffers"][number]["strides"][2:]
        assert strides in ([columns, 1], [1, rows]), f"{launch['name']} is not dense"
        return numbers.reshape(rows, columns) if strides[1] == 1 else numbers.reshape(columns, rows).T

    a, b = matrix(0, m, k), matrix(1, k, n)
    before = matrix(2, m, n) if launch["matmul"]["accumulate"] else np.zeros((m, n))
    want = np.stack([(before + a @ b).reshape(-1), (abs(before) + abs(a) @ abs(b)).reshape(-1)], axis=-1)
    expect_samples(bundle.expected(launch), want, launch["expectations"][0])


def check_expected_sum(bundle, pattern):
    """The samples of a kernel that adds two arguments."""
    launch = bundle.launch(pattern)
    (rows, columns), (one, _) = launch["buffers"][0]["sizes"], launch["buffers"][1]["sizes"]
    assert one == 1 and launch["form"] == "rows"
    x, y = (normal(bundle.manifest["seed"], f"{launch['name']}/{number}", count).astype(np.float32) for number, count in ((0, rows * columns), (1, columns)))
    expect_samples(bundle.expected(launch), (x.reshape(rows, columns) + y).reshape(-1, 1).astype(np.float64), launch["expectations"][0])


def expect_samples(samples, values, expectation):
    """Each sample is a value, in their order, the first and last among them; the largest and mean magnitudes are those of the values."""
    at = 0
    for sample in samples:
        while not np.allclose(values[at], sample, rtol=1e-6, atol=1e-5):
            at += 1
            assert at < len(values), f"{sample} is not among the values that follow"
        at += 1
    assert len(samples) == min(1000, len(values)) and np.allclose(samples[0], values[0], atol=1e-5) and np.allclose(samples[-1], values[-1], atol=1e-5)
    if len(samples[0]) == 1:
        assert np.isclose(expectation["largest"], abs(values).max(), rtol=1e-6) and np.isclose(expectation["mean"], abs(values).mean(), rtol=1e-6)


# Planted bugs: what is changed in the device code of a kernel, and what is said.

LAST_STORE = r"store float (%\d+), ptr (%\d+), align \d+(?![\s\S]*store float %\d+, ptr %)"
BUGS = {
    "lanes that are added twice": ("f32", "reduce_accumulate_32x128", r"(shfl\.sync\.bfly\.f32\(i32 -1, float %\d+, i32) 8,", r"\1 16,", "of the largest element"),
    "a subtraction": ("f32", "attention_2x2x16x16", r"fadd float", "fsub float", "of the largest element"),
    "an illegal address": ("f32", "reduce_accumulate_32x128", LAST_STORE, r"store float \1, ptr null, align 4", "illegal"),
    "results one element further": ("f32", "reduce_accumulate_32x128", LAST_STORE,
                                    r"%further = getelementptr float, ptr \2, i64 1\n  store float \1, ptr %further, align 4", "writes outside of its buffers"),
    "results that are not written": ("f32", "gelu_32x128", LAST_STORE, r"store float \1, ptr %1, align 4", "or are not written"),
    "an argument that is written": ("f32", "gelu_32x128", r"(ptr noalias) readonly([\s\S]*)ret void", r"\1\2store float 1.0, ptr %0, align 4\n  ret void",
                                    "writes buffer 0, an argument"),
    "padding that is written": ("bf16", r"cast_reduce_sub_exp_32x97_1", r"ret void",
                                "%padding = getelementptr bfloat, ptr %3, i64 97\n  store bfloat 1.0, ptr %padding, align 2\n  ret void", "between its rows"),
    "a matmul in TF32": ("f32 generated", "matmul_32x96x32_f32", None, None, "of the largest element"),
}


def truncate_operands(text):
    """Of each product, one factor has the bits of TF32."""
    call = r"(%\d+) = tail call float @llvm\.fma\.f32\(float (\S+), float (\S+), float (\S+)\)"
    count = iter(range(10**6))

    def replace(match):
        i = next(count)
        return (f"%bits{i} = bitcast float {match[2]} to i32\n  %cut{i} = and i32 %bits{i}, -8192\n  %tf{i} = bitcast i32 %cut{i} to float\n"
                f"  {match[1]} = tail call float @llvm.fma.f32(float %tf{i}, float {match[3]}, float {match[4]})")
    return re.subn(call, replace, text)


def change_kernel(path, changed, kernel, change):
    """Writes device code in which one kernel is another. `change`: from text to text and the number of changes."""
    with open(path) as file:
        head, name, body = file.read().partition(f"define ptx_kernel void @{kernel}(")
    body, end, rest = body.partition("\n}\n")
    body, count = change(body)
    assert name and count >= 1, f"nothing to change in {kernel}"
    with open(changed, "w") as file:
        file.write(head + name + body + end + rest)


# Some of all forms, which are run with a bug in one of them.
NEAR = re.compile("ex2|rcp|attention|gelu|cast_add_gelu|reduce|cast_reduce|matmul_32x(96|32x128)")


def expect_one(bundle, kernel, expected, near=NEAR, flags=(), **options):
    """Only this kernel is reported, as expected, and others before and after it are run."""
    status, records, output = bundle.tools.run(bundle, "--no-times", "--only", f"^({near.pattern})", *flags, **options)
    assert status == 1, output
    wrong = {name: record["wrong"] for name, record in records.items() if not record["agrees"]}
    assert list(wrong) == [kernel], output
    assert re.search(expected, "\n".join(wrong[kernel])), f"not '{expected}':\n{output}"
    names = [name for name in bundle.names() if near.match(name)]
    assert list(records) == names and kernel != names[-1], output


def check_bug(bundles, program, kernel, old, new, expected):
    bundle = bundles[program]
    with tempfile.TemporaryDirectory() as folder:
        changed = os.path.join(folder, "changed.ll")
        change_kernel(bundle.code, changed, kernel, truncate_operands if old is None else lambda text: re.subn(old, new, text, count=1))
        expect_one(bundle, kernel, expected, code=changed)


def check_endless_kernel(bundle):
    """A kernel that does not end is ended after some patience, more than others take on a busy machine."""
    kernel = "reduce_accumulate_32x128"
    with tempfile.TemporaryDirectory() as folder:
        changed = os.path.join(folder, "changed.ll")
        change_kernel(bundle.code, changed, kernel, lambda text: re.subn(r"ret void", "br label %forever\n\nforever:\n  br label %forever", text))
        expect_one(bundle, kernel, r"nothing was heard of it for 15 s \(--patience\)", re.compile(f"add_32x32$|{kernel}|matmul_32x96x32_f32$"),
                   ["--patience", "15"], code=changed)


def check_instruction_bug(bundle):
    """An instruction that is off by a little more than its bound."""
    with tempfile.TemporaryDirectory() as folder:
        changed = os.path.join(folder, "changed.ll")
        change_kernel(bundle.instructions, changed, "ex2_approx_ftz_f32", lambda text: re.subn(
            r"store float (%\d+),", r"%off = fmul float \1, 0x3FF0000040000000\n  store float %off,", text))  # 1 + 2^-22
        expect_one(bundle, "ex2.approx.ftz.f32", "ex2.approx.ftz.f32.* off by .* of the result", instructions=changed)


def check_changed_expectation(bundle, pattern, offset, factor):
    """One sample that is another number."""
    launch = bundle.launch(pattern)
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(bundle.folder, os.path.join(scratch, "bundle"))
        samples, expectation = bundle.samples.copy(), launch["expectations"][0]
        at = expectation["first"] + expectation["samples"] // 2 * (2 if launch["matmul"] else 1)
        samples[at] += offset * expectation["largest"] + factor * expectation["tolerance"] * expectation["largest"]
        samples.tofile(os.path.join(folder, "samples.bin"))
        expect_one(bundle, launch["name"], "element .* is .*, not .* of the largest element", folder=folder)


def check_command_line(tools, bundle):
    """--list, --only, --limit, and what is refused."""
    status, records, output = tools.run(bundle, "--list")
    assert status == 0 and not records and all(name in output for name in bundle.names()), output
    status, records, output = tools.run(bundle, "--no-times", "--only", "^attention")
    assert status == 0 and [*records] == [name for name in bundle.names() if name.startswith("attention")], output
    status, records, output = tools.run(bundle, "--no-times", "--only", "no such kernel")
    assert status == 1 and "has a name that matches" in output, output
    status, records, output = tools.run(bundle, "--limit", "0.001")
    assert status == 1 and list(records) == bundle.names() and not any(record["run"] for record in records.values()), output
    assert "--limit" in output, output
    status, _, output = tools.run(bundle, "--quick")
    assert status == 2 and "--help" in output, output
    status, _, output = tools.run(bundle, folder="/nowhere")
    assert status == 1 and "can't read /nowhere" in output, output
    with tempfile.TemporaryDirectory() as scratch:
        folder = shutil.copytree(bundle.folder, os.path.join(scratch, "bundle"))
        bundle.samples[:-1].tofile(os.path.join(folder, "samples.bin"))
        status, _, output = tools.run(bundle, folder=folder)
        assert status == 1 and "has samples that are not in samples.bin" in output, output
        with open(os.path.join(folder, "manifest.json"), "w") as file:
            json.dump({**bundle.manifest, "version": 0}, file)
        status, _, output = tools.run(bundle, folder=folder)
        assert status == 1 and "manifest.json: version is not 1; ppopt-emulate --save-expectations writes" in output, output


def check_maker(tools, bundle):
    """What --save-expectations refuses."""
    kernels = bundle.folder + ".mlir"
    with tempfile.TemporaryDirectory() as folder:
        for_cpu = os.path.join(folder, "cpu.mlir")
        checked([tools.ppopt, "compile", os.path.join(os.path.dirname(kernels), "gpt.mlir"), "--threads", "1", "--stop-after=kernels", "-o", for_cpu])
        for flags, expected in (([for_cpu], "has no GPU 'sm_80'; compile the kernels with --target cuda"), ([kernels, "--gpu", "sm_9"], "has no GPU 'sm_9'"),
                                ([kernels, "--kernel", "no such kernel"], "has such a name"), ([kernels, "--kernel", "("], "is no regular expression")):
            done = run([tools.emulate, *flags, "--save-expectations", os.path.join(folder, "bundle")])
            assert done.returncode == 1 and expected in done.stderr, done


def check_machine(tools, bundle):
    """No driver, no GPU, and too little memory."""
    env = {**os.environ, "LD_LIBRARY_PATH": "", "CUDA_HOME": ""}
    done = run([tools.kernels, bundle.folder], env=env)
    if not shutil.which("nvidia-smi"):
        assert done.returncode == 3 and "libcuda.so.1 can't be loaded" in done.stderr, done
    status, _, output = tools.run(bundle, gpu=",count=0")
    assert status == 3 and "finds none" in output, output
    status, records, output = tools.run(bundle, "--no-times", gpu=",memory=1MiB")
    assert status == 1 and list(records) == bundle.names(), output
    left = [record for record in records.values() if not record["agrees"]]
    assert 0 < len(left) < len(records) and all("takes" in record["wrong"][0] and not record["run"] for record in left), output


def check_libraries(tools):
    """It needs nothing that a machine without a compiler may lack."""
    listed = set(re.findall(r"^\s*(\S+\.so\S*)", checked(["ldd", tools.kernels]).stdout, re.M))
    known = {"linux-vdso.so.1", "libm.so.6", "libc.so.6", "libdl.so.2", "libpthread.so.0"}
    assert {name for name in listed - known if "ld-linux" not in name} == set(), listed


def main():
    harness = Harness("kernels")
    tools = Tools(harness.args.build, harness.ppopt)
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "gpt.mlir")
        checked([tools.ppopt, "model", "gpt", *GPT, "-o", model])
        bundles = {name: Bundle(tools, model, name, folder) for name in PROGRAMS}
        f32 = bundles["f32"]
        cases = [(name, lambda bundle=bundle: check_agreement(bundle, "--no-times")) for name, bundle in bundles.items()]
        cases += [("times", lambda: check_times(f32)),
                  ("expected: a matmul", lambda: check_expected_matmul(f32, r"matmul_32x96x32_f32")),
                  ("expected: a matmul that accumulates", lambda: check_expected_matmul(f32, r"matmul_97x32x32_f32_acc")),
                  ("expected: a sum", lambda: check_expected_sum(f32, r"add_32x96")),
                  ("command line", lambda: check_command_line(tools, f32)),
                  ("what the maker refuses", lambda: check_maker(tools, f32)),
                  ("machine", lambda: check_machine(tools, f32)),
                  ("libraries", lambda: check_libraries(tools)),
                  ("planted: an expectation", lambda: check_changed_expectation(f32, "gelu_32x128", 0, 2)),
                  ("planted: an expectation of a matmul", lambda: check_changed_expectation(f32, "matmul_32x32x128_f32", 0, 2)),
                  ("planted: an expectation in bf16", lambda: check_changed_expectation(bundles["bf16"], "cast_add_gelu_32x128", 0, 2)),
                  ("planted: a kernel that does not end", lambda: check_endless_kernel(f32)),
                  ("planted: an instruction", lambda: check_instruction_bug(f32))]
        cases += [("planted: " + name, lambda bug=bug: check_bug(bundles, *bug)) for name, bug in BUGS.items()]
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
