"""Builds the tree and runs every test; called by tools/check, which see."""

import argparse
import glob
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

from sanitizers import OPTIONS

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CORES = len(os.sched_getaffinity(0))
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
}


class Tally:
    """Counts from the machine-readable results of the runners."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def add_junit(self, path, runner, status, may_be_empty):
        """Adds a JUnit file. A runner that left none, ran nothing, or failed
        without a failed test has failed as a whole."""
        cases = list(xml.parse(path).iter("testcase")) if os.path.exists(path) else []
        failed_before = self.failed
        for case in cases:
            name = f"{case.get('classname', runner)}: {case.get('name')}"
            if case.find("failure") is not None or case.find("error") is not None:
                self.fail(name)
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                self.skipped += 1
            else:
                self.passed += 1
        if not cases and not may_be_empty:
            self.fail(f"{runner}: ran no test")
        elif status != 0 and self.failed == failed_before and not (may_be_empty and not cases):
            self.fail(f"{runner}: exit status {status}")

    def fail(self, name):
        self.failed += 1
        self.failures.append(name)

    def close(self):
        for name in self.failures:
            print(f"FAILED {name}")
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed or not self.passed else 0


def results_file(build, name):
    directory = os.path.join(build, "test-results")
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name + ".xml")
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
    for folder in ("include", "lib", "tools", "runtime", "test"):
        for root, _, files in os.walk(os.path.join(SOURCE, folder)):
            for file in sorted(files):
                path = os.path.relpath(os.path.join(root, file), SOURCE)
                if not path.endswith((".cpp", ".h", ".c")) or not re.search(pattern, path):
                    continue
                if run(["clang-format-22", "--dry-run", "-Werror", path], stderr=subprocess.DEVNULL) == 0:
                    tally.passed += 1
                else:
                    tally.fail(f"format: {path} (clang-format-22 -i {path})")


def check_lit(tally, build, pattern):
    junit = results_file(build, "lit")
    command = ["/usr/lib/llvm-22/bin/lit", "-v", f"-j{CORES}", "--xunit-xml-output", junit, os.path.join(build, "test")]
    if pattern:
        command += ["--filter", pattern, "--allow-empty-runs"]
    tally.add_junit(junit, "lit", run(command), bool(pattern))


def check_unit(tally, build, pattern):
    junit = results_file(build, "unit")
    command = ["ctest", "--test-dir", build, "--output-on-failure", f"-j{CORES}", "--output-junit", junit]
    command += ["--no-tests=ignore", "-R", pattern] if pattern else ["--no-tests=error"]
    tally.add_junit(junit, "unit", run(command), bool(pattern))


def harnesses(sanitizer):
    """The scripts test/*/check_*.py; support/results.py says what they are."""
    if sanitizer == "thread":
        return [os.path.join(SOURCE, "test", "threads", "train_under_thread_sanitizer.py")]
    scripts = sorted(glob.glob(os.path.join(SOURCE, "test", "*", "check_*.py")))
    if sanitizer:
        return [script for script in scripts if os.path.basename(script)[:-len(".py")] not in NOT_SANITIZED]
    return scripts


def check_harnesses(tally, build, pattern, pytorch, sanitizer):
    environment = dict(os.environ, PYTHONPATH=os.path.join(SOURCE, "test"),
                       OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if sanitizer == "address":
        environment.update(OPTIONS)
    for script in harnesses(sanitizer):
        name = os.path.splitext(os.path.basename(script))[0]
        junit = results_file(build, name)
        command = ["/usr/bin/python3", "-u", script, "--build", build, "--junit", junit]
        if pattern:
            command += ["--filter", pattern]
        if pytorch:
            command += ["--pytorch", pytorch]
        tally.add_junit(junit, name, run(command, env=environment), bool(pattern))


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
        if "unit" in kinds:
            check_unit(tally, build, arguments.filter)
        if "lit" in kinds:
            check_lit(tally, build, arguments.filter)
        if "harness" in kinds:
            check_harnesses(tally, build, arguments.filter, pytorch, arguments.sanitize)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
