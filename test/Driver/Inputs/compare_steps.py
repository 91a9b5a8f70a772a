"""compare_steps.py FREE SLOW: what `ppopt plan` printed for two devices. Beside a collective, the work of the second has a quarter of its rate: the
step takes longer, by at most three quarters of the time for which collectives are hidden."""
import re
import sys

UNITS = {"s": 1, "ms": 1e-3, "us": 1e-6}


def read(path, what):
    number, unit = re.search(rf"{what} +([0-9.]+) (\w+)", open(path).read()).groups()
    return float(number) * UNITS[unit]


free, slow = (read(path, "the step, predicted:") for path in sys.argv[1:])
hidden = read(sys.argv[2], "in tasks, hidden")
assert hidden > 0 and 1.01 * free < slow < 1.01 * (free + 0.75 * hidden), (free, slow, hidden)
