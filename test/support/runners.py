"""Runs test runners side by side, as many as keep the cores in use."""

import contextlib
import glob
import os
import shutil
import signal
import subprocess
import sys
import time

from support.pool import VARIABLE, IdleCores, Pool

# Seconds from Ctrl-C until what has not ended is killed.
GRACE = {"outside": 1, "inside": 3, "runner": 10}


class Runner:
    """A command that asks for a share for each of its cases."""

    def __init__(self, name, command, env=None):
        self.name, self.command, self.env = name, command, os.environ if env is None else env
        self.process = self.log = None

    def start(self, pool, priority, cwd, log):
        self.priority, self.log = priority, log
        with open(log, "wb") if log else contextlib.nullcontext() as output:
            self.process = subprocess.Popen(self.command, cwd=cwd, env={**self.env, **pool.environment(priority)}, stdin=subprocess.DEVNULL,
                                            stdout=output, stderr=subprocess.STDOUT if log else None, start_new_session=True)

    def is_starting(self, pool):
        return self.priority not in pool.heard


def run(runners, cores, cwd, logs, ended):
    """Runs all, the first ones first: another begins as soon as too few cases wait for a core. Calls ended(runner, status)
    when one has ended, after it has printed all that the runner printed. `logs`: a folder for what they print until then;
    what a single one prints is seen at once."""
    left, active = list(runners), []
    with Pool(cores, IdleCores()) as pool:
        try:
            while left or active:
                while left and pool.waiting + sum(each.is_starting(pool) for each in active) < cores:
                    runner = left.pop(0)
                    log = os.path.join(logs, runner.name + ".log") if len(runners) > 1 else None
                    runner.start(pool, len(runners) - len(left), cwd, log)
                    active.append(runner)
                    if log:
                        print(f"RUN {runner.name}", flush=True)
                pool.step(0.05)
                for runner in [each for each in active if each.process.poll() is not None]:
                    active.remove(runner)
                    print_log(runner)
                    ended(runner, runner.process.returncode)
        except BaseException:
            interrupt(active, pool)
            for runner in active:
                print_log(runner)
            raise


def print_log(runner):
    if runner.log:
        sys.stdout.flush()
        with open(runner.log, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.flush()


def interrupt(runners, pool):
    """Ctrl-C for all runners, each with its process group, and an end for what has left it and for what stays. Nothing that
    was started is left, nor are files of what ends when it is asked to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pool.close()
    groups, asked, begin = {runner.process.pid for runner in runners}, set(), time.time()
    for group in groups:
        send(os.killpg, group, signal.SIGINT)
    while processes := processes_of(pool):
        for process in processes:
            is_inside = get_group(process) in groups
            if not is_inside and process not in asked:
                asked.add(process)
                send(os.kill, process, signal.SIGTERM)
            if time.time() > begin + (GRACE["runner"] if process in groups else GRACE["inside" if is_inside else "outside"]):
                send(os.kill, process, signal.SIGKILL)
        for runner in runners:
            runner.process.poll()
        time.sleep(0.02)


def get_group(process):
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(process)


def send(kill, process, number):
    with contextlib.suppress(ProcessLookupError):
        kill(process, number)


def processes_of(pool):
    """Runners and all that they started, also what left their sessions: their environments name the pool. Zombies have
    none."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/environ"):
        with contextlib.suppress(OSError), open(path, "rb") as file:
            if f"{VARIABLE}={pool.path} ".encode() in file.read():
                found.add(int(path.split("/")[2]))
    return found
