#!/usr/bin/python3
"""Runs the fuzz targets (docs/testing.md): as long as wanted by hand, a fixed number of inputs from check_fuzz.py.

    test/fuzz/run.py --seconds 3600                  every target for an hour, one on each core
    test/fuzz/run.py --seconds 60 --only safetensors
    test/fuzz/run.py --only model --input FILE       one input again, with all that the target prints
    test/fuzz/run.py --only model --build build/sanitize   the compiler's with the sanitizers

Inputs that reach new code are kept under build/fuzz/run/TARGET/corpus and are where the next run begins; an input that
is a finding lies in build/fuzz/run/TARGET/findings. The exit status is 1 if there was one.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
FUZZ = os.path.join(SOURCE, "build", "fuzz")
SEEDS = os.path.join(HERE, "seeds")
CORES = len(os.sched_getaffinity(0))

# A finding is also an input that takes longer or needs more.
SECONDS, MEGABYTES = 25, 2048

# Targets of the compiler, which is not built a second time for them.
COMPILER = ("archive", "model", "planted-archive")

# Of runs in tools/check, with every seed before: a few seconds each.
RUNS = {"archive": 1000, "command-line": 300, "manifest": 2000, "model": 100, "parameter-map": 2000, "program": 1000, "safetensors": 2000, "schedule": 2000,
        "token-file": 600, "tokenizer": 600}

# What libFuzzer would make of the largest seed otherwise.
LONGEST = {"archive": 32768, "command-line": 512, "manifest": 8192, "model": 8192, "parameter-map": 4096, "program": 32768, "schedule": 4096, "tokenizer": 4096}


def build_targets(targets, build):
    """Returns whether all of them are built: the compiler's in `build`, the others in build/fuzz."""
    for folder, preset, wanted in ((build, os.path.basename(build), [f"fuzz-{target}" for target in targets if target in COMPILER]),
                                   (FUZZ, "fuzz", [f"fuzz-{target}" for target in targets if target not in COMPILER])):
        if not wanted:
            continue
        if not os.path.exists(os.path.join(folder, "build.ninja")):
            if subprocess.run(["cmake", "--preset", preset], cwd=SOURCE).returncode != 0:
                return False
        if subprocess.run(["ninja", "-C", folder, f"-j{CORES}", *wanted]).returncode != 0:
            return False
    return True


def program_of(target, build):
    return os.path.join(build if target in COMPILER else FUZZ, "bin", "fuzz", target)


def seeds_of(target, folder):
    """The folders of a target's seeds; those of archives are made of the fixtures of test/import."""
    committed = [os.path.join(SEEDS, target)]
    if "archive" not in target:
        return committed
    made = os.path.join(folder, "seeds")
    subprocess.run([sys.executable, os.path.join(HERE, "make_archive_seeds.py"), made], check=True)
    return [made, *filter(os.path.isdir, committed)]


class Outcome:
    def __init__(self, target, status, log, findings):
        self.target, self.log = target, log
        self.findings = sorted(os.path.join(findings, name) for name in os.listdir(findings))
        self.failed = status != 0 or bool(self.findings)
        self.executions = self.number(r"stat::number_of_executed_units: (\d+)")
        self.per_second = self.number(r"stat::average_exec_per_sec: +(\d+)")
        self.megabytes = self.number(r"stat::peak_rss_mb: +(\d+)")
        coverage = re.findall(r" cov: (\d+)", log)
        self.coverage = int(coverage[-1]) if coverage else 0

    def number(self, pattern):
        found = re.search(pattern, self.log)
        return int(found.group(1)) if found else 0

    def __str__(self):
        line = (f"{self.target:14} {self.executions:10} executions {self.per_second:6}/s {self.coverage:7} edges "
                f"{self.megabytes:5} MB {len(self.findings):3} findings")
        return "\n".join([line] + [f"    {path}" for path in self.findings])


def fuzz(target, build, folder, flags, seconds=SECONDS):
    """Runs a target with its corpus and findings in `folder`; earlier findings do not count. An input that takes longer
    than `seconds` is one."""
    corpus, findings = os.path.join(folder, "corpus"), os.path.join(folder, "findings")
    os.makedirs(corpus, exist_ok=True)
    shutil.rmtree(findings, ignore_errors=True)
    os.makedirs(findings)
    command = [program_of(target, build), *flags, f"-timeout={seconds}", f"-report_slow_units={seconds}",
               f"-rss_limit_mb={MEGABYTES}", "-close_fd_mask=3", "-print_final_stats=1", f"-artifact_prefix={findings}/"]
    if "archive" in target:
        # Seeds are changed whether they reach new code or not, and only once: most changes make an archive that is refused.
        command += ["-keep_seed=1", "-mutate_depth=1"]
    if target in LONGEST:
        command.append(f"-max_len={LONGEST[target]}")
    done = subprocess.run([*command, corpus, *seeds_of(target, folder)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    return Outcome(target, done.returncode, done.stderr, findings)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(RUNS), action="append", help="this target; may be given several times")
    parser.add_argument("--seconds", type=int, default=60, help="of each target")
    parser.add_argument("--timeout", type=int, default=SECONDS,
                        help="seconds that an input may take; more where the machine does other things too")
    parser.add_argument("--jobs", type=int, default=CORES, help="targets at a time")
    parser.add_argument("--folder", default=os.path.join(FUZZ, "run"), help="where corpora and findings lie")
    parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"),
                        help="where the compiler's targets are built; build/fuzz has them with feedback from all of the compiler")
    parser.add_argument("--input", help="run this file instead, with one --only")
    arguments = parser.parse_args()
    targets = arguments.only or sorted(RUNS)
    build = os.path.abspath(arguments.build)
    if not build_targets(targets, build):
        return 1
    if arguments.input:
        return subprocess.run([program_of(targets[0], build), arguments.input]).returncode

    def run(target):
        outcome = fuzz(target, build, os.path.join(arguments.folder, target), [f"-max_total_time={arguments.seconds}"],
                       arguments.timeout)
        print(outcome, flush=True)
        if outcome.failed:
            print(outcome.log[-5000:], flush=True)
        return outcome

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(run, targets))
    return 1 if any(outcome.failed for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
