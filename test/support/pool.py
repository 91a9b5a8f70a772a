"""Shares the cores among the cases of many test runners.

tools/check has one Pool. Its runners (a harness, lit, ctest) are processes of their own; each asks for a share before a
case, and gives it back after it:

    with share():
        run_the_case()

or is run by `pool.py core COMMAND...` and has one for all of its time. A share is a connection to the pool's socket, so
what a process held is free again when it ends, however it ends. Without a pool, as where a harness runs by itself, a share
is there at once.
"""

import contextlib
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time

# "SOCKET PRIORITY CORES": a runner's environment has it, and that of all that it starts.
VARIABLE = "PPOPT_TEST_POOL"

# How many cases that mostly wait run beside those that use the cores.
WAITING = 2


class IdleCores:
    """Tells whether half a core or more was idle since it was asked last. It says no until SECONDS have passed."""

    SECONDS = 0.3

    def __init__(self):
        self.names = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        self.begin, self.ticks = time.monotonic(), self._count()

    def _count(self):
        """Ticks of idle cores, and of all."""
        idle = total = 0
        with open("/proc/stat") as file:
            for name, *ticks in map(str.split, file):
                if name in self.names:
                    idle += int(ticks[3]) + int(ticks[4])  # idle, and waiting for a disk
                    total += sum(map(int, ticks[:8]))
        return idle, total

    def __call__(self):
        if time.monotonic() < self.begin + self.SECONDS:
            return False
        before = self.ticks
        self.begin, self.ticks = time.monotonic(), self._count()
        idle, total = (now - then for now, then in zip(self.ticks, before))
        return 2 * len(self.names) * idle >= total > 0


class Pool:
    """Grants shares of two kinds, each to the requests of the lowest priority number first: of `cores` for cases that
    compute, and of WAITING for those that mostly wait. Cases that compute wait too, for processes that start and for each
    other: each time that `has_idle_core` says so another is granted, until there are twice as many. A request for all of
    both kinds is waited for: no other is granted before."""

    def __init__(self, cores, has_idle_core=lambda: False):
        self.has_idle_core = has_idle_core
        self.shares = {"core": cores, "wait": WAITING}
        self.free = dict(self.shares)
        self.folder = tempfile.TemporaryDirectory(prefix="ppopt-pool-")
        self.path = os.path.join(self.folder.name, "socket")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        self.listener.listen(1024)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.wanted = {}     # connection: what it asks for or has, {kind: number}
        self.queue = []      # of (priority, number, connection)
        self.granted = set()
        self.requests = 0
        self.heard = set()   # the priorities that have asked for a share

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Who waits for a share, or asks for one from now on, fails."""
        for connection in [self.listener, *self.wanted]:
            connection.close()
        self.selector.close()
        self.folder.cleanup()

    def environment(self, priority):
        return {VARIABLE: f"{self.path} {priority} {self.shares['core']}"}

    @property
    def waiting(self):
        """How many ask for a core."""
        return sum("core" in self.wanted[connection] for _, _, connection in self.queue)

    def step(self, timeout):
        """Waits for requests and for shares that come back, at most that long, and grants what is free."""
        for key, _ in self.selector.select(timeout):
            if key.fileobj is self.listener:
                connection, _ = self.listener.accept()
                self.selector.register(connection, selectors.EVENT_READ)
                self.wanted[connection] = {}
            else:
                self._read(key.fileobj)
        is_idle = self.has_idle_core() and all(len(self.wanted[each]) == 1 for each in self.granted)
        for request in sorted(self.queue):
            wanted = self.wanted[request[2]]
            has_share = all(self.free[kind] >= number for kind, number in wanted.items())
            if has_share or is_idle and [*wanted] == ["core"] and self.free["core"] > -self.shares["core"]:
                is_idle &= has_share
                self._grant(request)
            if len(wanted) > 1:
                break

    def _grant(self, request):
        connection = request[2]
        self.queue.remove(request)
        self.granted.add(connection)
        for kind, number in self.wanted[connection].items():
            self.free[kind] -= number
        with contextlib.suppress(OSError):  # one that is gone is seen by the next step
            connection.sendall(b"+")

    def _read(self, connection):
        """A request is one line; the end of the connection gives its share back."""
        try:
            text = connection.recv(100)
        except OSError:
            text = b""
        if text:
            priority, kind = text.decode().split()
            self.wanted[connection] = dict(self.shares) if kind == "all" else {kind: 1}
            self.requests += 1
            self.heard.add(int(priority))
            self.queue.append((int(priority), self.requests, connection))
            return
        wanted = self.wanted.pop(connection)
        if connection in self.granted:
            self.granted.remove(connection)
            for kind, number in wanted.items():
                self.free[kind] += number
        self.queue = [each for each in self.queue if each[2] is not connection]
        self.selector.unregister(connection)
        connection.close()


@contextlib.contextmanager
def share(kind="core", environment=os.environ):
    """Waits for a share of the machine: a "core"; "wait" for a case that mostly waits, which runs beside those that use
    the cores; "all" for a case that runs alone."""
    if VARIABLE not in environment:
        yield
        return
    path, priority, _ = environment[VARIABLE].split()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(path)
        connection.sendall(f"{priority} {kind}".encode())
        if connection.recv(1) != b"+":
            raise RuntimeError("tools/check, which shares the cores among the cases, is gone")
        yield


def most_cores():
    """How many cases a runner may run at a time: it asks for a share for each."""
    return int(os.environ[VARIABLE].split()[2]) if VARIABLE in os.environ else len(os.sched_getaffinity(0))


if __name__ == "__main__":
    with share(sys.argv[1]):
        sys.exit(subprocess.call(sys.argv[2:]))
