"""Processes with a time limit, whose children end with them."""
import contextlib
import os
import signal
import subprocess
import sys
import time

# Of a process that leads a group of its own. What older Pythons have is not safe beside threads, and good enough.
NEW_GROUP = {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}


class OutOfTime(Exception):
    """A command ran past its limit and was killed."""


def stat_of(pid):
    """The fields of /proc/PID/stat after the name: state, parent, group, session, …; None if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


def members(field, number):
    """The processes whose group (field 2) or session (field 3) is `number`, without those that have ended and were not waited for."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = stat_of(name)
            if stat and stat[0] not in "ZX" and int(stat[field]) == number:
                found.append(int(name))
    return found


def kill_all(field, number):
    """Kills a group or a session, until nobody is left. Its members may start others meanwhile."""
    for _ in range(100):
        left = members(field, number)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def kill_group(number):
    kill_all(2, number)


def kill_session(number):
    """A session has the groups of all commands that a part has started."""
    kill_all(3, number)


def start_session(command, log, **arguments):
    """Starts a process with a session of its own, whose output goes to the file `log`."""
    with open(log, "ab") as file:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True, **arguments)


def run_group(command, limit, **arguments):
    """Runs a command in a process group of its own. Returns its status, standard output and standard error. Kills the group, and raises
    OutOfTime, after `limit` seconds."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               **NEW_GROUP, **arguments)
    try:
        out, error = process.communicate(timeout=max(limit, 0.1))
    except subprocess.TimeoutExpired:
        kill_group(process.pid)
        out, error = process.communicate()
        raise OutOfTime(f"{os.path.basename(command[0])} ran past {limit:.0f} s and was killed; it said: {(error or out)[-500:].strip()}") from None
    finally:
        kill_group(process.pid)
    return process.returncode, out, error
