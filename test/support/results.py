"""What a Python harness reports: named cases, on screen and as JUnit XML.

A harness is a script `test/AREA/check_*.py`. tools/check runs it as

    check_x.py --build BUILD --junit FILE [--filter REGEX] [--pytorch PYTHON]

and counts the cases in FILE; a harness that writes none has failed. Usage:

    from support.results import Harness
    harness = Harness("equivalence")          # parses the command line
    for name, run in cases:
        harness.case(name, run)               # run() raises on failure
    sys.exit(harness.finish())
"""

import argparse
import concurrent.futures
import contextlib
import os
import re
import sys
import time
import traceback
import xml.etree.ElementTree as xml

from support import pool, writers

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Skip(Exception):
    """Raised by a case that cannot run here; its text says why."""


class Harness:
    def __init__(self, name, parser=None):
        parser = parser or argparse.ArgumentParser()
        parser.add_argument("--build", default=os.path.join(SOURCE, "build", "release"))
        parser.add_argument("--junit", help="write the results here")
        parser.add_argument("--filter", default="", help="run only cases whose name matches")
        parser.add_argument("--pytorch", help="a Python that has torch; without it, live comparisons are skipped")
        self.args = parser.parse_args()
        self.args.build = os.path.abspath(self.args.build)
        self.name = name
        self.results = []
        writers.watch()
        self.ppopt = os.path.join(self.args.build, "bin", "ppopt")

    def case(self, name, run, share="core"):
        """Runs one case. An AssertionError or any other exception is its failure. `share`: what tools/check gives it of
        the machine, see pool.py."""
        if not re.search(self.args.filter, name):
            return
        with pool.share(share):
            self._run(name, run)

    def _run(self, name, run):
        start, outcome, text = time.time(), "PASS", ""
        try:
            run()
        except Skip as reason:
            outcome, text = "SKIP", str(reason)
        except Exception as error:
            outcome = "FAIL"
            text = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
            text = text or traceback.format_exc()
        seconds = time.time() - start
        print(f"{outcome} {self.name}: {name} ({seconds:.1f} s)" + (f"\n{text}" if text else ""), flush=True)
        self.results.append((name, outcome, text, seconds))

    def cases(self, cases, jobs=None, share="core"):
        """Runs [(name, run)], as many at a time as there are cores, or as tools/check gives it shares."""
        def run(case):
            with writers.case(case[0]) if jobs != 1 else contextlib.nullcontext():
                self.case(*case, share=share)
        with concurrent.futures.ThreadPoolExecutor(jobs or pool.most_cores()) as threads:
            list(threads.map(run, cases))

    def finish(self):
        """Writes the JUnit file; returns the exit status."""
        suite = xml.Element("testsuite", name=self.name)
        for name, outcome, text, seconds in self.results:
            case = xml.SubElement(suite, "testcase", classname=self.name, name=name, time=f"{seconds:.3f}")
            if outcome != "PASS":
                child = xml.SubElement(case, "failure" if outcome == "FAIL" else "skipped")
                child.text = re.sub(r"[^\t\n\x20-\ud7ff]", "?", text)
        if self.args.junit:
            xml.ElementTree(suite).write(self.args.junit)
        failed = sum(outcome == "FAIL" for _, outcome, _, _ in self.results)
        if not self.results and not self.args.filter:
            print(f"{self.name}: no case ran", file=sys.stderr)
            return 1
        return 1 if failed else 0
