"""What bench.py --only tasks reads off a trace: a run's waits for collectives inside it are no computing.

    check_tasks.py --build build/release
"""
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))), os.path.dirname(os.path.abspath(__file__))]
from support.results import Harness  # noqa: E402

import tasks  # noqa: E402


def event(category, rank, begin, milliseconds, **args):
    return {"cat": category, "pid": rank, "tid": 1, "ts": begin * 1e3, "dur": milliseconds * 1e3, "args": args}


def check_waits():
    """Two waits inside a run count, those before, after and on another rank do not."""
    events = [event("wait", 0, 0, 5), event("forward", 0, 5, 10, stage=0), event("wait", 0, 6, 2), event("wait", 0, 12, 1),
              event("wait", 0, 15, 4), event("wait", 1, 7, 3), event("forward", 1, 10, 8, stage=1), event("step", 0, 0, 20)]
    split = tasks.split_runs(events)
    assert split == {(0, "forward"): [(7, 3)], (1, "forward"): [(8, 0)]}, dict(split)


def main():
    harness = Harness("bench")
    harness.case("waits inside tasks", check_waits)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
