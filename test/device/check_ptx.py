"""Looks at what kernels of the target cuda become: PTX, and what ptxas and nvdisasm say of it, where they are found.

    check_ptx.py --build build/release

ptxas is looked for as `ppopt compile` does ($PPOPT_PTXAS, docs/cuda.md); without it, its cases are skipped by name.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TEST, os.path.join(TEST, "gradients")]
import stand_in_ptxas  # noqa: E402
from check_emulated import write  # noqa: E402
from emulated_models import attention_model  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

# What a multiprocessor of every GPU from sm_80 on has, and how many of its threads kernels of a form shall have at a time.
REGISTERS, SHARED, MULTIPROCESSORS = 65536, 163 * 1024, 100
THREADS = {"rows": 512, "columns": 512, "scatter": 512, "attention": 256, "attention_grad": 256, "attention_step": 256, "matmul": 256}

# In place of ptxas: keeps the PTX and what ptxas says, if there is one.
WRAPPER = """#!/bin/sh
for word; do
  case "$word" in *.ptx) cp "$word" {folder}/code.ptx;; esac
  last="$word"
done
if [ -n "{ptxas}" ]; then
  "{ptxas}" "$@" > {folder}/log 2>&1
  status=$?
  cat {folder}/log
  cp "$last" {folder}/code.cubin
  exit $status
fi
printf none > "$last"
"""


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600, **options)


def find_ptxas(ppopt, model, folder):
    """The ptxas that the compiler finds; none is empty."""
    done = run([ppopt, "compile", model, "--target", "cuda", "--no-generation", "-o", os.path.join(folder, "train")])
    assert done.returncode == 0, done.stderr
    found = re.search(r"^device code: .* and a cubin for sm_80 by (.*)$", done.stderr, re.M)
    assert found or "no cubin for sm_80" in done.stderr, done.stderr
    return found.group(1) if found else ""


class Code:
    """The kernels of a model, and their PTX."""

    def __init__(self, checker, model, gpu, flags):
        self.folder = tempfile.mkdtemp(dir=checker.folder)
        wrapper = os.path.join(self.folder, "ptxas")
        with open(wrapper, "w") as file:
            file.write(WRAPPER.format(folder=self.folder, ptxas=checker.ptxas))
        os.chmod(wrapper, os.stat(wrapper).st_mode | stat.S_IXUSR)
        command = [checker.ppopt, "compile", model, "--target", "cuda", "--gpu", gpu, "--threads", "1", "--no-generation", *flags]
        begin = time.time()
        done = run([*command, "-o", os.path.join(self.folder, "train")], env={**os.environ, "PPOPT_PTXAS": wrapper})
        self.seconds = time.time() - begin
        assert done.returncode == 0, done.stderr
        self.kernels = os.path.join(self.folder, "kernels.mlir")
        done = run([*command, "--stop-after=kernels", "-o", self.kernels])
        assert done.returncode == 0, done.stderr
        self.entries = self.read_entries()
        self.plans = self.read_plans()
        assert self.entries.keys() == self.plans.keys(), f"{sorted(self.entries.keys() ^ self.plans.keys())} in PTX or the plan only"

    def read_entries(self):
        with open(os.path.join(self.folder, "code.ptx")) as file:
            parts = re.split(r"^\s*\.visible \.entry (\w+)\(", file.read(), flags=re.M)
        return dict(zip(parts[1::2], parts[2::2]))

    def read_plans(self):
        """Of each kernel its form, threads, neighbours per thread, dynamic shared memory and element sizes."""
        plans = {}
        with open(self.kernels) as file:
            text = file.read()
        for line in re.findall(r"^\s*pp\.kernel @.*$", text, re.M):
            name, form = re.search(r"@(\w+)\(", line).group(1), re.search(r"#pp\.form<(\w+)", line).group(1)
            threads = re.search(r"#pp\.threads<(\d+), \d+ per row, (\d+) each(?:, (\d+) shared)?>", line)
            widths = [int(bits) for bits in re.findall(r"x(?:bf|f|i)(\d+)[>,]", line)]
            sizes = [int(size) for size in re.search(r"#pp\.form<\w+ ([\dx]+)", line).group(1).split("x")]
            plans[name] = {"form": form, "threads": int(threads.group(1)), "each": int(threads.group(2)), "shared": int(threads.group(3) or 0),
                           "bytes": min(widths, default=0) // 8, "tiles": int(re.search(r"#pp\.tiles<(\d+)", line).group(1)), "sizes": sizes}
        for name, threads, shared in re.findall(r"#pp\.matmul_kernel<@(\w+), \d+ of (\d+) threads.*?(\d+) shared", text):
            plans[name] = {"form": "matmul", "threads": int(threads), "each": 1, "shared": int(shared), "bytes": 0, "tiles": 1, "sizes": []}
        return plans

    def check_ptx(self):
        for name, text in self.entries.items():
            plan = self.plans[name]
            count = int(re.search(r"\.reqntid (\d+)", text).group(1))
            assert count == plan["threads"], f"{name} has {count} threads, {plan['threads']} are planned"
            if not self.may_spill(plan):
                assert ".local" not in text, f"{name} has local memory"
            if plan["form"] == "rows" and plan["each"] * plan["bytes"] >= 16:
                assert re.search(r"(ld|st)\.global[.\w]*\.(v4\.[bfu]32|v2\.[bfu]64)", text), f"{name} has no access of 128 bits"

    @staticmethod
    def may_spill(plan):
        """Heads of more than 128 columns."""
        return plan["form"].startswith("attention") and plan["sizes"][-1] > 128

    def check_log(self):
        """Returns the most registers of a form."""
        with open(os.path.join(self.folder, "log")) as file:
            parts = re.split(r"Compiling entry function '(\w+)'", file.read())
        logs = dict(zip(parts[1::2], parts[2::2]))
        assert logs.keys() == self.plans.keys(), f"ptxas says nothing of {sorted(self.plans.keys() - logs.keys())}"
        most = {}
        for name, text in logs.items():
            plan = self.plans[name]
            registers = int(re.search(r"Used (\d+) registers", text).group(1))
            spilled = int(re.search(r"(\d+) bytes spill stores", text).group(1))
            declared = re.search(r"(\d+) bytes smem", text)
            assert spilled == 0 or self.may_spill(plan), f"{name} spills {spilled} bytes"
            shared = plan["shared"] + (int(declared.group(1)) if declared else 0)
            assert shared <= SHARED, f"{name} has {shared} bytes of shared memory"
            blocks = max(1, THREADS[plan["form"]] // plan["threads"])
            # Registers are given to warps in units of 8 for each thread. Few blocks have a multiprocessor each.
            used = -(-registers // 8) * 8 * plan["threads"] * min(blocks, -(-plan["tiles"] // MULTIPROCESSORS))
            assert used <= REGISTERS or self.may_spill(plan), f"{name}: {blocks} blocks need {used} registers"
            most[plan["form"]] = max(most.get(plan["form"], 0), registers)
        return most

    def check_instructions(self, nvdisasm):
        done = run([nvdisasm, "-c", os.path.join(self.folder, "code.cubin")])
        assert done.returncode == 0, done.stderr
        parts = re.split(r"^\.text\.(\w+):", done.stdout, flags=re.M)
        for name, text in zip(parts[1::2], parts[2::2]):
            plan = self.plans.get(name)
            if plan and plan["form"] == "rows" and plan["each"] * plan["bytes"] >= 16:
                assert re.search(r"(LDG|STG)\.E[.\w]*\.128", text), f"{name} has no access of 128 bits"


class Checker:
    def __init__(self, harness, folder):
        self.ppopt, self.folder = harness.ppopt, folder
        self.ptxas = find_ptxas(self.ppopt, self.write(attention_model(1, 1, 4, 4, 4, 4, True, "f32")), folder)

    def write(self, text):
        return write(text, tempfile.mkdtemp(dir=self.folder))

    def model(self, *flags):
        path = os.path.join(tempfile.mkdtemp(dir=self.folder), "model.mlir")
        done = run([self.ppopt, "model", *flags, "-o", path])
        assert done.returncode == 0, done.stderr
        return path

    def check(self, model, gpu, flags, needs=""):
        code = Code(self, model, gpu, flags)
        code.check_ptx()
        report = f"{len(code.plans)} kernels, compiled in {code.seconds:.1f} s"
        if not self.ptxas:
            if needs:
                raise Skip(f"{report}; {needs}: there is no ptxas")
        else:
            most = code.check_log()
            report += ", registers " + ", ".join(f"{form} {count}" for form, count in sorted(most.items()))
            nvdisasm = shutil.which("nvdisasm") or shutil.which("nvdisasm", path=os.path.dirname(self.ptxas))
            if nvdisasm:
                code.check_instructions(nvdisasm)
        print(f"{gpu}: {report}", flush=True)


def check_choice(checker):
    """Of several ptxas the oldest that knows the architecture assembles: drivers refuse cubins of a later one."""
    model, folder = checker.write(attention_model(1, 1, 4, 4, 4, 4, True, "f32")), tempfile.mkdtemp(dir=checker.folder)
    wheel = os.path.join("lib", "python3.9", "site-packages", "nvidia", "cuda_nvcc", "bin")
    first = stand_in_ptxas.make(os.path.join(folder, "path"), "9.10", ["sm_80", "sm_90a"])
    second = stand_in_ptxas.make(os.path.join(folder, "toolkit", "bin"), "9.2", ["sm_80", "sm_90a"])
    third = stand_in_ptxas.make(os.path.join(folder, "environment", wheel), "9.1", ["sm_80"])
    places = {"PATH": f"{first}:{os.environ['PATH']}", "CUDA_HOME": os.path.dirname(second), "VIRTUAL_ENV": os.path.join(folder, "environment")}
    environment = {name: value for name, value in os.environ.items() if name != "PPOPT_PTXAS"}
    given = os.path.join(first, "ptxas")
    for gpu, expected, others in (("sm_80", third, {}), ("sm_90a", second, {}), ("sm_90a", first, {"PPOPT_PTXAS": given})):
        done = run([checker.ppopt, "compile", model, "--target", "cuda", "--gpu", gpu, "--no-generation", "-o", os.path.join(folder, "train")],
                   env={**environment, **places, **others})
        assert done.returncode == 0 and f"a cubin for {gpu} by {os.path.join(expected, 'ptxas')}\n" in done.stderr, done.stderr


def cases(checker):
    gpt2 = checker.model("gpt", "--preset", "gpt2-124m", "--batch", "8", "--seq", "1024")
    small = checker.model("gpt", "--layers", "1", "--heads", "2", "--width", "128", "--vocab", "301", "--seq", "100", "--batch", "2")
    for gpu in ["sm_80", "sm_90a", "sm_100a"]:
        yield f"GPT-2 124M, bf16, {gpu}", gpt2, gpu, ["--precision", "bf16"]
    for flags in [[], ["--precision", "bf16"], ["--matmul", "generated"], ["--matmul", "generated", "--precision", "bf16"]]:
        yield f"small GPT, {' '.join(flags) or 'f32'}", small, "sm_90a", flags
    for width in [32, 64, 128]:
        for element in ["f32", "f64", "bf16"]:
            model = checker.write(attention_model(1, 2, 200, 200, width, width, True, element))
            yield f"attention, heads of {width}, {element}", model, "sm_80", []


def main():
    harness = Harness("ptx")
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(harness, folder)
        harness.case("several ptxas", lambda: check_choice(checker))
        harness.cases([(name, lambda args=args: checker.check(*args, needs="registers and spills were not looked at"))
                       for name, *args in cases(checker)])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
