"""compare_steps.py FREE SLOW: what `ppopt plan` printed for two devices. Beside a collective, the work of the second has a quarter of its rate: the
step takes longer, by at most three quarters of the time for which collectives are hidden."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from support.printed_times import to_seconds  # noqa: E402


def read(path, what):
    return to_seconds(re.search(rf"{what} +([0-9.]+ \w+)", open(path).read())[1])


free, slow = (read(path, "the step, predicted:") for path in sys.argv[1:])
hidden = read(sys.argv[2], "in tasks, hidden")
assert hidden > 0 and 1.01 * free < slow < 1.01 * (free + 0.75 * hidden), (free, slow, hidden)
