"""Every fuzz target for a moment: all its seeds, and a fixed number of inputs made from them. The target with a planted
bug must be seen red."""

import os
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


def main():
    harness = Harness("fuzz")
    build = harness.args.build
    with share():
        if not run.build_targets([*run.RUNS, "planted"], build):
            raise SystemExit("the fuzz targets do not build")
    with tempfile.TemporaryDirectory() as folder:
        cases = [(target, lambda target=target: check(target, run.RUNS[target], build, folder)) for target in sorted(run.RUNS)]
        harness.cases(cases + [("planted bug is found", lambda: check_planted(folder))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
