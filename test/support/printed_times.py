"""Times as ppopt prints them."""
import re

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def to_seconds(text):
    """The seconds of "23.4 ms"."""
    number, unit = text.split()
    return float(number) * TIMES[unit]


def predicted_step(report):
    """The predicted step of a report of `ppopt plan`, in seconds."""
    return to_seconds(re.search(r"^the step, predicted: ([\d.]+ \w+)", report, re.MULTILINE)[1])
