#!/usr/bin/env python3
"""How tools/check shares the cores among its runners (pool.py, runners.py), and what is left of them after Ctrl-C."""

import contextlib
import functools
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support import runners  # noqa: E402
from support.default_signals import restore_signals  # noqa: E402
from support.pool import VARIABLE, WAITING, IdleCores, Pool, share  # noqa: E402
from support.results import Harness  # noqa: E402

SECONDS = 30  # for what takes far less than one


@contextlib.contextmanager
def stepping(shares, **arguments):
    """A pool that another thread steps."""
    with Pool(shares, **arguments) as pool:
        stop = threading.Event()

        def step():
            while not stop.is_set():
                pool.step(0.01)

        thread = threading.Thread(target=step)
        thread.start()
        try:
            yield pool
        finally:
            stop.set()
            thread.join()


def wait_until(condition, what):
    end = time.time() + SECONDS
    while not condition():
        assert time.time() < end, f"no {what}"
        time.sleep(0.001)


class Users:
    """Threads that each use one share, and who used it when."""

    def __init__(self, pool):
        self.pool, self.threads, self.lock = pool, [], threading.Lock()
        self.using, self.most, self.began = [], 0, []

    def start(self, name, priority=1, kind="core", until=None):
        def use():
            with share(kind, self.pool.environment(priority)):
                with self.lock:
                    self.using.append(name)
                    self.began.append(name)
                    self.most = max(self.most, len(self.using))
                    assert not ("alone" in self.using and len(self.using) > 1), self.using
                until.wait() if until else time.sleep(0.01)
                with self.lock:
                    self.using.remove(name)

        requests = self.pool.requests
        self.threads.append(threading.Thread(target=use))
        self.threads[-1].start()
        wait_until(lambda: self.pool.requests > requests, "request")

    def join(self):
        for thread in self.threads:
            thread.join(SECONDS)
        assert not self.using and not self.pool.queue, (self.using, self.pool.queue)
        wait_until(lambda: self.pool.free == self.pool.shares, "shares that came back")


def check_shares():
    with stepping(3) as pool:
        users = Users(pool)
        for number in range(30):
            users.start(number)
        users.join()
        assert users.most == 3 and len(users.began) == 30, (users.most, users.began)


def check_order():
    """The lowest number first; who asked first, among equal ones."""
    with stepping(1) as pool:
        users, end = Users(pool), threading.Event()
        users.start("first", 9, until=end)
        for name, priority in [("d", 3), ("b", 2), ("a", 1), ("c", 2)]:
            users.start(name, priority)
        end.set()
        users.join()
        assert users.began == ["first", "a", "b", "c", "d"], users.began


def check_alone():
    """It waits for those that run, and later ones wait for it, though there are shares for them."""
    with stepping(3) as pool:
        users, end = Users(pool), threading.Event()
        users.start("before", until=end)
        users.start("alone", kind="all")
        users.start("after")
        users.start("after", kind="wait")
        time.sleep(0.05)
        assert users.began == ["before"], users.began
        end.set()
        users.join()
        assert users.began == ["before", "alone", "after", "after"], users.began


def check_waiting():
    """Cases that wait take no core, nor are they without number."""
    with stepping(1) as pool:
        users, end = Users(pool), threading.Event()
        users.start("core", until=end)
        users.start("next core", until=end)
        for number in range(WAITING + 1):
            users.start(f"wait {number}", kind="wait", until=end)
        wait_until(lambda: len(users.using) == 1 + WAITING, "case that waits beside the one that computes")
        time.sleep(0.05)
        assert len(users.using) == 1 + WAITING and pool.waiting == 1, (users.using, pool.waiting)
        end.set()
        users.join()


def check_idle():
    """One more case runs each time that a core is idle, up to twice as many; a case that is to be alone is not passed by."""
    idle = []
    with stepping(2, has_idle_core=lambda: bool(idle) and idle.pop()) as pool:
        users, end = Users(pool), threading.Event()
        for number in range(6):
            users.start(number, until=end)
        for most in (3, 4, 4):
            idle.append(True)
            wait_until(lambda most=most: not idle and len(users.using) == most, "case that runs on the idle core")
        time.sleep(0.05)
        assert len(users.using) == 4 and pool.waiting == 2, (users.using, pool.waiting)
        users.start("alone", 0, kind="all")
        end.set()
        idle += [True] * 3
        users.join()
        assert users.began[4:5] == ["alone"], users.began


def check_idle_cores():
    """Cores that compute are not."""
    seconds = 2 * IdleCores.SECONDS
    is_idle = IdleCores()
    assert not is_idle(), "said at once"
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * len(is_idle.names))]
    try:
        time.sleep(seconds)
        is_idle()  # of the time in which they began
        time.sleep(seconds)
        assert not is_idle(), "of cores that compute"
    finally:
        for process in busy:
            process.kill()
            process.wait()


def check_killed():
    """The share of a process that is killed comes back; so does one that a process still waited for."""
    with stepping(1) as pool:
        command = [sys.executable, str(HERE / "pool.py"), "core", "sleep", str(SECONDS)]
        processes = [subprocess.Popen(command, env={**os.environ, **pool.environment(1)}, start_new_session=True) for _ in range(2)]
        wait_until(lambda: not pool.free["core"] and pool.waiting, "share that is held and one that is waited for")
        for process in processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        wait_until(lambda: pool.free["core"] and not pool.waiting, "share that came back")
        users = Users(pool)
        users.start("next")
        users.join()


def check_without():
    with share(environment={}):
        pass
    with stepping(1) as pool:
        environment = pool.environment(1)
    try:
        with share(environment=environment):
            pass
    except OSError:
        return
    raise AssertionError("a share of a pool that is gone")


def python(name, text):
    return runners.Runner(name, [sys.executable, "-u", "-c", "import os, signal, subprocess, sys, time\n"
                                 f"sys.path.insert(0, {str(HERE.parent)!r})\nfrom support.pool import share\n" + text])


def check_output(folder):
    """Runners that run at the same time print one after the other, with their statuses; they begin in order."""
    text = "with share():\n    for i in range(20): print('{0}', i); time.sleep(0.005)\nsys.exit({1})"
    ended, screen = [], io.TextIOWrapper(io.BytesIO(), write_through=True)
    with contextlib.redirect_stdout(screen):
        runners.run([python(name, text.format(name, status)) for status, name in enumerate("abcd")], 3, folder, folder,
                    lambda runner, status: ended.append((runner.name, status)))
    assert sorted(ended) == [("a", 0), ("b", 1), ("c", 2), ("d", 3)], ended
    lines = screen.buffer.getvalue().decode().splitlines()
    assert [line for line in lines if line.startswith("RUN")] == ["RUN a", "RUN b", "RUN c", "RUN d"], lines
    for name, _ in ended:
        first = lines.index(f"{name} 0")
        assert lines[first:first + 20] == [f"{name} {i}" for i in range(20)], lines


# What a runner may leave: a process in a session of its own, one that ignores Ctrl-C, one that is stopped.
LEAVES = """
subprocess.Popen(["sleep", "60"], start_new_session=True)
stopped = subprocess.Popen(["sleep", "60"])
os.kill(stopped.pid, signal.SIGSTOP)
ignores = subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"])
with share():
    try:
        open(FILE, "w").close()  # from now on it may be interrupted
        ignores.wait()
    finally:
        os.remove(FILE)
"""


def run_leaving(flag):
    runners.run([python(name, f"FILE = {flag + name!r}\n{LEAVES}") for name in "ab"], 2, ".", os.path.dirname(flag), print)


def check_interrupt(folder):
    """Nothing is left, and what a runner cleans up when it is interrupted is cleaned up."""
    flag = os.path.join(folder, "flag")
    script = (f"import sys; sys.path[:0] = [{str(HERE.parent)!r}, {str(HERE)!r}]\nimport check_pool; check_pool.run_leaving({flag!r})")
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    marked = {**environment, "PPOPT_CHECK_POOL": flag}
    with subprocess.Popen([sys.executable, "-c", script], env=marked, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: all(os.path.exists(flag + name) for name in "ab"), "runners that have begun")
        assert len(processes_with(flag)) == 9, processes_with(flag)
        begin = time.time()
        process.send_signal(signal.SIGINT)
        text = process.communicate(timeout=SECONDS)[1]
    assert process.returncode != 0 and "KeyboardInterrupt" in text, text
    assert not processes_with(flag), processes_with(flag)
    assert not any(os.path.exists(flag + name) for name in "ab"), os.listdir(folder)
    print(f"  ended {time.time() - begin:.2f} s after SIGINT")


def processes_with(flag):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"PPOPT_CHECK_POOL={flag}\0".encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


def main():
    restore_signals()
    harness = Harness("pool")
    with tempfile.TemporaryDirectory() as folder:
        harness.case("as many at a time as there are shares", check_shares)
        harness.case("in order", check_order)
        harness.case("alone", check_alone)
        harness.case("waiting", check_waiting)
        harness.case("idle cores", check_idle)
        harness.case("what is idle", check_idle_cores)
        harness.case("a process that is killed", check_killed)
        harness.case("without a pool", check_without)
        harness.case("output", functools.partial(check_output, folder))
        harness.case("interrupt", functools.partial(check_interrupt, folder))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
