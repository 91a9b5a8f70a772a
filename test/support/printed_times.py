"""Times as ppopt prints them."""

TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def to_seconds(text):
    """The seconds of "23.4 ms"."""
    number, unit = text.split()
    return float(number) * TIMES[unit]
