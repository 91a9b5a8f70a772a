"""Two machines, as far as programs can tell: network namespaces with a cable between them, each with a host name of its
own. Processes and files are this machine's.

    with Machines(directory) as machines:
        Job(..., mpirun=machines.mpirun(ranks_each=1), before=machines.before)
        machines.cut()                     # pulls the cable

mpirun runs on the first, which has the first ranks, and starts a daemon on the second.
"""

import os
import signal
import stat
import subprocess

from support.results import Skip

# What mpirun calls for ssh: with the name of a machine and a command for its shell. `private` is a folder that the second
# machine has of its own, or nothing.
REMOTE = """#!/bin/sh
machine=$1; shift
exec ip netns exec "$machine" unshare --uts --mount sh -c '
  hostname "$0" && {{ [ -z "{private}" ] || mount -t tmpfs none "{private}"; }} && eval "$*"' "$machine" "$@"
"""


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Machines:
    def __init__(self, directory, private=""):
        self.names = [f"ppopt-{os.getpid()}-{letter}" for letter in "ab"]
        self.made = []
        self.remote = os.path.join(directory, "remote")
        with open(self.remote, "w") as file:
            file.write(REMOTE.format(private=private))
        os.chmod(self.remote, stat.S_IRWXU)

    def __enter__(self):
        try:
            for name in self.names:
                ip("netns", "add", name)
                self.made.append(name)
            first, second = self.names
            ip("link", "add", "eth0", "netns", first, "type", "veth", "peer", "name", "eth0", "netns", second)
            for number, name in enumerate(self.names, 1):
                ip("-n", name, "address", "add", f"10.0.0.{number}/24", "dev", "eth0")
                ip("-n", name, "link", "set", "lo", "up")
                ip("-n", name, "link", "set", "eth0", "up")
        except (OSError, FileNotFoundError) as error:
            self.__exit__()
            raise Skip(f"no network namespaces here ({error})")
        return self

    def __exit__(self, *_):
        for name in self.made:
            for pid in self.processes(name):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            ip("netns", "delete", name)

    @property
    def before(self):
        return ["ip", "netns", "exec", self.names[0], "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.names[0]]

    def mpirun(self, ranks_each):
        hosts = ",".join(f"{name}:{ranks_each}" for name in self.names)
        return ["--host", hosts, "--mca", "plm_rsh_agent", self.remote]

    def processes(self, name):
        done = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def stop_launchers(self):
        """mpirun and its daemon: nobody else cleans up."""
        for name in self.names:
            for pid in self.processes(name):
                with open(f"/proc/{pid}/comm") as file:
                    if file.read().strip() in ("mpirun", "orted"):
                        os.kill(pid, signal.SIGSTOP)

    def cut(self):
        ip("-n", self.names[0], "link", "set", "eth0", "down")
