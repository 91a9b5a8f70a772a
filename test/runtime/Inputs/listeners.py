"""listeners.py COUNT COMMAND...: COMMAND, mpirun with what it starts, trains on; after its first step its ranks listen at COUNT
addresses that other machines, or other users of this one, reach through the network."""
import glob
import os
import signal
import subprocess
import sys


def descendants(pid):
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path) as file:
            for child in file.read().split():
                yield child
                yield from descendants(child)


def listening():
    """Inodes of sockets that listen, but for those at 127.0.0.1 and ::1."""
    local = "0100007F", "00000000000000000000000001000000"
    for path in "/proc/net/tcp", "/proc/net/tcp6":
        with open(path) as file:
            for fields in list(map(str.split, file))[1:]:
                if fields[3] == "0A" and fields[1].split(":")[0] not in local:
                    yield f"socket:[{fields[9]}]"


count, command = int(sys.argv[1]), sys.argv[2:]
child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
try:
    first = next(line for line in child.stdout if line.startswith("step"))
    ranks = list(descendants(child.pid))
    assert ranks, first
    inodes, found = set(listening()), []
    for rank in ranks:
        for path in glob.glob(f"/proc/{rank}/fd/*"):
            try:
                found += [rank] if os.readlink(path) in inodes else []
            except OSError:
                pass
    assert len(found) == count, f"the ranks {ranks} listen at {len(found)} addresses instead of {count}"
finally:
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
