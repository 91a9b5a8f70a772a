"""Sees two cases that run at a time write one file: what one of them reads may then be half written, once in a hundred runs.

Cases of a harness are threads of one process, so Python tells of each file that is opened to be written, and of each that is
renamed. What programs write is told by who starts them:

    with writers.case("dp=2"):
        writers.write(path)        # an AssertionError if another case has written it
"""

import contextlib
import os
import sys
import threading

SETUP = ["what runs before the cases"]

_of_thread = threading.local()
_lock = threading.Lock()
_writers = {}  # path: who has written it first, known by identity: cases may be called alike


def write(path):
    """`path` is about to be written by the case of this thread."""
    this = getattr(_of_thread, "case", SETUP)
    path = os.path.realpath(path)
    if path.startswith(("/dev/", "/proc/")):
        return
    with _lock:
        first = _writers.setdefault(path, this)
    if this is not first and this is not SETUP:
        raise AssertionError(f"{path} is written by two cases, which may run at the same time: {first[0]}; {this[0]}")


@contextlib.contextmanager
def case(name):
    _of_thread.case = [name]
    try:
        yield
    finally:
        del _of_thread.case


def _audit(event, arguments):
    if event == "open":
        path, _, flags = arguments
        if isinstance(path, (str, os.PathLike)) and flags & (os.O_WRONLY | os.O_RDWR):
            write(path)
    elif event == "os.rename":
        write(arguments[1])


def watch():
    """From now on. It can't be ended."""
    sys.addaudithook(_audit)
