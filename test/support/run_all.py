"""Builds the tree and runs every test; called by tools/check, which see."""

import argparse
import glob
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as xml

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(SOURCE, "test"))
from support import runners  # noqa: E402
from support.pool import WAITING  # noqa: E402
from support.runners import Runner  # noqa: E402
from support.sanitizers import OPTIONS  # noqa: E402

CORES = len(os.sched_getaffinity(0))
# How many cases run at a time beside those that mostly wait: these, too, wait now and then.
SHARES = CORES + 1
SLOWEST = 10  # how many are printed
KINDS = ("format", "unit", "lit", "harness")

# Of --sanitize: the CMake preset, and the kinds of tests that are run.
SANITIZERS = {"address": ("sanitize", ("unit", "lit", "harness")), "thread": ("thread-sanitizer", ("harness",))}

# Harnesses that are left out under the address sanitizer, and why.
NOT_SANITIZED = {
    "check_alloc": "it counts calls of the allocator, which is the sanitizer's",
    "check_memory": "it measures resident memory, of which the sanitizer takes its part",
    "check_counts": "nothing is run, and the compiler's part is that of other harnesses",
    "check_fuzz": "its targets have an instrumented build of their own",
    "check_docs": "it trains, and what it runs is run by others",
    "check_readme": "it trains for a minute, and what it runs is run by others",
    "check_live": "it compares speed",
    "check_round_trip": "it runs only with PyTorch",
    "check_walkthroughs": "it trains, and what it runs is run by others",
    "check_emulator": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_emulated": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_bf16": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_cuda": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_cuda_bugs": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_math": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_run": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_kernels": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_tune": "threads of the emulated device have stacks that the sanitizer does not know",
    "check_order": "threads of the emulated device have stacks that the sanitizer does not know",
}

# Harnesses with many short cases begin last: at the end none of them keeps the others waiting.
LAST = ("check_bits", "check_cuda", "check_cuda_bugs", "check_emulated", "check_import", "check_random", "check_shardings", "check_stages", "check_models", "check_equivalence", "check_zero")


class Tally:
    """Counts from the machine-readable results of the runners."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.times = []

    def add_junit(self, path, runner, status, may_be_empty):
        """Adds a JUnit file. A runner that left none, ran nothing, or failed
        without a failed test has failed as a whole."""
        cases = list(xml.parse(path).iter("testcase")) if os.path.exists(path) else []
        failed_before = self.failed
        for case in cases:
            name = f"{case.get('classname', runner)}: {case.get('name')}"
            self.times.append((float(case.get("time") or 0), name))
            if case.find("failure") is not None or case.find("error") is not None:
                self.fail(name)
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped += 1
            else:
                self.passed += 1
        if not cases and not may_be_empty:
            self.fail(f"{runner}: ran no test")
        elif status != 0 and self.failed == failed_before:
            self.fail(f"{runner}: exit status {status}")

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def close(self):
        if slowest := [each for each in sorted(self.times, reverse=True)[:SLOWEST] if each[0] > 0]:
            print("The slowest:")
        for seconds, name in slowest:
            print(f"{seconds:7.1f} s  {name}")
        for name in self.failures:
            print(f"FAILED {name}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


def results_path(build, name):
    return os.path.join(build, "test-results", name + ".xml")


def results_file(build, name):
    """Where a runner shall write its results; there are none yet."""
    path = results_path(build, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        os.remove(path)
    return path


def run(command, **arguments):
    return subprocess.run(command, cwd=SOURCE, **arguments).returncode


def configure_and_build(preset, build):
    if not os.path.exists(os.path.join(build, "build.ninja")):
        if run(["cmake", "--preset", preset]) != 0:
            return False
    return run(["ninja", "-C", build, f"-j{CORES}"]) == 0


def check_format(tally, pattern):
    """Every C++ file of ours is one test."""
    paths = []
    for folder in ("include", "lib", "tools", "runtime", "test"):
        for root, _, files in os.walk(os.path.join(SOURCE, folder)):
            paths += [os.path.relpath(os.path.join(root, file), SOURCE) for file in sorted(files) if file.endswith((".cpp", ".h", ".c"))]
    paths = [path for path in paths if re.search(pattern, path)]
    bad = find_badly_formatted(paths)
    for path in bad:
        tally.fail(f"format: {path} (clang-format-22 -i {path})")
    tally.passed += len(paths) - len(bad)


def find_badly_formatted(paths):
    """One process looks at all files, and only where it finds something one at each."""
    command = ["clang-format-22", "--dry-run", "-Werror"]
    if not paths or run([*command, *paths], stderr=subprocess.DEVNULL) == 0:
        return []
    bad = [path for path in paths if run([*command, path], stderr=subprocess.DEVNULL) != 0]
    return bad or ["all of them at once"]


def lit(build, pattern):
    command = ["/usr/lib/llvm-22/bin/lit", "-v", f"-j{SHARES + WAITING}", "--xunit-xml-output", results_file(build, "lit"), os.path.join(build, "test")]
    return Runner("lit", command + (["--filter", pattern, "--allow-empty-runs"] if pattern else []))


def unit(build, pattern):
    """ctest does not ask for a share for each test: it has one for all of its time, much of which tests of the watch wait."""
    command = [sys.executable, os.path.join(SOURCE, "test", "support", "pool.py"), "wait", "ctest", "--test-dir", build, "--output-on-failure",
               f"-j{CORES}", "--output-junit", results_file(build, "unit")]
    return Runner("unit", command + (["--no-tests=ignore", "-R", pattern] if pattern else ["--no-tests=error"]))


def find_harnesses(sanitizer):
    """The scripts test/*/check_*.py by name; support/results.py says what they are."""
    if sanitizer == "thread":
        scripts = [os.path.join(SOURCE, "test", "threads", "train_under_thread_sanitizer.py")]
    else:
        scripts = glob.glob(os.path.join(SOURCE, "test", "*", "check_*.py"))
    names = [os.path.splitext(os.path.basename(script))[0] for script in scripts]
    if len(set(names)) != len(names):
        raise SystemExit(f"two harnesses have one name: {sorted(name for name in names if names.count(name) > 1)}")
    scripts = dict(zip(names, scripts))
    return {name: scripts[name] for name in sorted(scripts, key=lambda name: (name in LAST, name)) if not sanitizer or name not in NOT_SANITIZED}


def harnesses(build, pattern, pytorch, sanitizer):
    environment = dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "test"),
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if sanitizer == "address":
        environment.update(OPTIONS)
    for name, script in find_harnesses(sanitizer).items():
        command = ["/usr/bin/python3", "-u", script, "--build", build, "--junit", results_file(build, name)]
        if pattern:
            command += ["--filter", pattern]
        if pytorch:
            command += ["--pytorch", pytorch]
        yield Runner(name, command, environment)


def install_pytorch():
    """Returns a Python that has PyTorch, or None."""
    if run([os.path.join(SOURCE, "test", "pytorch", "install.sh")]) != 0:
        return None
    return os.path.join(SOURCE, ".venv-pytorch", "bin", "python")


def main():
    parser = argparse.ArgumentParser(prog="tools/check")
    parser.add_argument("--only", choices=KINDS, action="append")
    parser.add_argument("--filter", default="")
    parser.add_argument("--with-pytorch", action="store_true")
    parser.add_argument("--sanitize", nargs="?", const="address", choices=sorted(SANITIZERS))
    arguments = parser.parse_args()
    preset, kinds = SANITIZERS.get(arguments.sanitize, ("release", KINDS))
    kinds = arguments.only or kinds
    build = os.path.join(SOURCE, "build", preset)

    tally = Tally()
    pytorch = None
    if arguments.with_pytorch:
        pytorch = install_pytorch()
        if not pytorch:
            tally.fail("installing PyTorch into .venv-pytorch")
    if "format" in kinds:
        check_format(tally, arguments.filter)
    if set(kinds) != {"format"}:
        if not configure_and_build(preset, build):
            tally.fail("build")
            return tally.close()
        started = []
        if "lit" in kinds:
            started.append(lit(build, arguments.filter))
        if "unit" in kinds:
            started.append(unit(build, arguments.filter))
        if "harness" in kinds:
            started += harnesses(build, arguments.filter, pytorch, arguments.sanitize)
        runners.run(started, SHARES, SOURCE, os.path.join(build, "test-results"), lambda runner, status: tally.add_junit(
            results_path(build, runner.name), runner.name, status, bool(arguments.filter)))
    return tally.close()


def interrupt(number, _):
    """As Ctrl-C does it."""
    raise KeyboardInterrupt(signal.Signals(number).name)


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("tools/check: interrupted")
