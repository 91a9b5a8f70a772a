#!/usr/bin/env python3
"""Each version of PyTorch whose archives are read (tools/check --with-pytorch): all models are exported by it, as torch.export.save writes them, and the
first loss, all gradients and 20 steps of AdamW are those that this version computes. --long: all archives under all plans.

    check_versions.py --pytorch PYTHON [--filter '^2\\.9: gpt2'] [--keep FOLDER]

--keep: the archives go there, FOLDER/2.9, and those that are there already are not made again."""
import argparse
import functools
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.executable import checked  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

import models  # noqa: E402

NEWEST = "2.15"  # that of tools/check --with-pytorch
VERSIONS = ["2.9", "2.12", NEWEST]
STEPS = 20
# What a version cannot export, and why.
UNABLE = {"2.9": {}, "2.12": {}, NEWEST: {}}


def make(harness, version, folder):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    python = harness.args.pytorch
    if version != NEWEST:
        checked([str(ROOT / "test" / "pytorch" / "install.sh"), version], timeout=3600)
        python = str(ROOT / f".venv-pytorch-{version}" / "bin" / "python")
    command = [python, str(HERE / "make_archives.py"), "--gzip", "--as-saved", "--steps", str(STEPS), "--unable", ",".join(UNABLE[version]), folder]
    done = checked(command, timeout=3600)
    print(f"  PyTorch {models.Fixtures(folder).described['torch']}: {len(done.stdout.splitlines())} archives", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="all archives under all plans")
    parser.add_argument("--keep", help="a folder for the archives, which are not made again")
    harness = Harness("import versions", parser)
    with tempfile.TemporaryDirectory() as scratch:
        for version in VERSIONS:
            folder = os.path.join(harness.args.keep or scratch, version)
            if not os.path.exists(os.path.join(folder, "models.json")):
                os.makedirs(folder, exist_ok=True)
                harness.case(f"{version}: archives", functools.partial(make, harness, version, folder))
            if not os.path.exists(os.path.join(folder, "models.json")):
                continue
            fixtures, work = models.Fixtures(folder), os.path.join(scratch, f"{version}.work")
            os.mkdir(work)
            harness.cases([(f"{version}: {archive[:-4]}, {plan}",
                            functools.partial(models.check, harness.ppopt, work, fixtures, name, archive, spelling, plan,
                                              fixtures.is_optimized(name, archive, plan, harness.args.long)))
                           for name, archive, spelling in fixtures.archives() for plan in fixtures.plans(name, archive, harness.args.long)])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
