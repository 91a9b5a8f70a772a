"""Stops one thread of a process, as a signal can't: as its debugger.

    stopped = StoppedThread(thread)    # returns when it does not run any more
    stopped.go_on()
    stopped.has_ended()                # a process that ends is there until this was called
"""
import ctypes
import os
import signal

PTRACE_ATTACH, PTRACE_DETACH, ALL_CHILDREN = 16, 17, 0x40000000


def call(request, thread):
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    library.ptrace.restype = ctypes.c_long
    if library.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class StoppedThread:
    """Only the thread that made it may use it."""

    def __init__(self, thread):
        self.thread = thread
        call(PTRACE_ATTACH, thread)
        _, status = os.waitpid(thread, ALL_CHILDREN)
        assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGSTOP, status

    def go_on(self):
        call(PTRACE_DETACH, self.thread)

    def has_ended(self):
        return os.waitpid(self.thread, ALL_CHILDREN | os.WNOHANG)[0] == self.thread
