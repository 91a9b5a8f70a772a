#!/usr/bin/python3
"""Holds the table of published plans in docs/clusters.md against what `ppopt plan` predicts now: the rows that take seconds.

`test/plans/published.py` prints all of it.
"""
import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import published  # noqa: E402
from support.results import Harness  # noqa: E402

PAGE = HERE.parent.parent / "docs" / "clusters.md"
MOST_PLACES = 8  # of more, a row takes up to two minutes


def check_row(ppopt, row):
    *_, line = published.predict(ppopt, [row])
    assert line in PAGE.read_text().splitlines(), f"docs/clusters.md does not have the line\n{line}"


def check_rows():
    """The page has a line for each row, and no others."""
    lines = [line for line in PAGE.read_text().splitlines() if line.endswith(" % |")]
    assert len(lines) == len(published.ROWS), lines
    for line, row in zip(lines, published.ROWS):
        assert line.startswith(f"| {row.name} | "), line


def main():
    harness = Harness("published")
    harness.case("rows", check_rows)
    for row in published.ROWS:
        if row.places <= MOST_PLACES:
            harness.case(row.name, functools.partial(check_row, harness.ppopt, row))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
