"""Every fuzz target for a moment: all its seeds, and a fixed number of inputs made from them. The target with a planted
bug must be seen red."""

import functools
import os
import re
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
import run
from support.pool import share
from support.results import Harness

# An input that hangs is seen all the same; one that takes long on a loaded machine is no failed test.
HANGS = 300


def check(target, runs, build, folder):
    """Fails with what the target reported, and says how to run the input again."""
    outcome = run.fuzz(target, build, os.path.join(folder, target), ["-seed=1", f"-runs={runs}"], HANGS)
    if not outcome.failed:
        return outcome
    kept = os.path.join(run.FUZZ, "run", target, "findings")
    os.makedirs(kept, exist_ok=True)
    again = []
    for finding in outcome.findings:
        path = os.path.join(kept, os.path.basename(finding))
        os.replace(finding, path)
        again.append(f"test/fuzz/run.py --only {target} --input {path}")
    raise AssertionError("\n".join([outcome.log[-5000:], *again]))


def check_planted(folder):
    outcome = run.fuzz("planted", None, os.path.join(folder, "planted"), ["-seed=1", "-runs=1000000"])
    assert outcome.failed and outcome.findings, "the planted bug was not found"
    assert "heap-buffer-overflow" in outcome.log and "planted.cpp" in outcome.log, outcome.log


def check_planted_archive(build, folder):
    outcome = run.fuzz("planted-archive", build, os.path.join(folder, "planted-archive"), ["-seed=1", "-runs=100000"])
    assert outcome.failed and outcome.findings, "the planted bug was not found"


PLANTED = {"planted": "planted bug is found", "planted-archive": "planted bug of archives is found"}


def main():
    harness = Harness("fuzz")
    build = harness.args.build
    named = {**{target: target for target in sorted(run.RUNS)}, **PLANTED}
    targets = [target for target, name in named.items() if re.search(harness.args.filter, name)]
    with share():
        if not run.build_targets(targets, build):
            raise SystemExit("the fuzz targets do not build")
    with tempfile.TemporaryDirectory() as folder:
        checks = {"planted": lambda: check_planted(folder), "planted-archive": lambda: check_planted_archive(build, folder),
                  **{target: functools.partial(check, target, runs, build, folder) for target, runs in run.RUNS.items()}}
        harness.cases([(named[target], checks[target]) for target in targets])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
