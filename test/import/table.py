#!/usr/bin/env python3
"""Prints which imported models equal PyTorch's figures under which plans: all archives of archives/ under all plans of models.py.

    python3 test/import/table.py [--build build/release] [--jobs N] [--filter REGEX]
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import models  # noqa: E402


def outcome(*arguments):
    """"equal", or the first line that says why not."""
    try:
        models.check(*arguments)
        return "equal"
    except Exception as error:
        return str(error).strip().splitlines()[-1][:60]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=str(HERE.parent.parent / "build" / "release"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--filter", default="", help="of names of archives")
    args = parser.parse_args()
    ppopt = os.path.join(os.path.abspath(args.build), "bin", "ppopt")
    fixtures = models.Fixtures(str(HERE / "archives"))
    rows = [(name, archive, spelling) for name, archive, spelling in fixtures.archives()
            if re.search(args.filter, archive) and fixtures.plans(name, archive, everything=True)]
    differ = 0
    print("| model | " + " | ".join(models.PLANS) + " |\n|---" + "|---" * len(models.PLANS) + "|")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, archive, spelling in rows:
            outcomes = list(pool.map(lambda plan: outcome(ppopt, scratch, fixtures, name, archive, spelling, plan,
                                                          fixtures.flags(name, archive, plan, everything=False)), models.PLANS))
            differ += sum(each != "equal" for each in outcomes)
            print(f"| {archive[:-4]} | " + " | ".join(outcomes) + " |", flush=True)
    print(f"{len(rows)} models x {len(models.PLANS)} plans, {differ} not equal")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
