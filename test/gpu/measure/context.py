"""What a part is given: the bundle, the machine's libraries, the time that is left, and where its results go."""
import json
import lzma
import os
import re
import shutil
import stat
import threading
import time

from . import libraries
from .processes import run_group

MOST_KEPT = 4000  # characters of a command's output in the results


class Skip(Exception):
    """The machine lacks what the part needs; the text says what."""


class Failed(Exception):
    """What was measured is wrong, or could not be measured; the text says what."""


def write_json(path, value):
    """The file has the old content or all of the new one."""
    with open(path + ".new", "w") as file:
        json.dump(value, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)


def read_json(path):
    with open(path) as file:
        return json.load(file)


class Done:
    """A command that has ended. `status` is negative if a signal ended it."""

    def __init__(self, command, status, out, error, seconds):
        self.command, self.status, self.out, self.error, self.seconds = command, status, out, error, seconds

    @property
    def text(self):
        return (self.error + self.out).strip()


def unpack(bundle, work, name):
    """The path of a file of the bundle; what is compressed there is unpacked once."""
    path = os.path.join(bundle, name)
    if os.path.exists(path):
        return path
    unpacked = os.path.join(work, "unpacked", name)
    if not os.path.exists(unpacked):
        os.makedirs(os.path.dirname(unpacked), exist_ok=True)
        with lzma.open(path + ".xz") as packed, open(unpacked + ".new", "wb") as file:
            shutil.copyfileobj(packed, file, 1 << 20)
        os.chmod(unpacked + ".new", stat.S_IRWXU)
        os.replace(unpacked + ".new", unpacked)
    return unpacked


class Context:
    """`task`: what measure/session.py writes for a part: `bundle`; `work`, the folder of all parts; `folder`, that of this one; `limit` in seconds;
    `fake`: the folder of libraries that stand in for NVIDIA's, or None; `others`: what parts that ran before have found, by name; `found`: the
    file that keeps what the part finds. It is written whenever something is added, and remains if the part is killed."""

    def __init__(self, task):
        self.bundle, self.work, self.folder, self.fake, self.others = (task[key] for key in ("bundle", "work", "folder", "fake", "others"))
        self.results = task["found"]
        self.manifest = read_json(os.path.join(self.bundle, "manifest.json"))
        self.end = time.monotonic() + task["limit"]
        self.found = {"commands": []}
        self.lock = threading.RLock()

    def left(self):
        """Seconds until the part is killed, with a little to end in."""
        return self.end - time.monotonic() - 1

    def add(self, **values):
        with self.lock:
            self.found.update(values)
            write_json(self.results, self.found)

    def add_fallback(self, run, line):
        """Keeps a line that runs have said, with the first of them."""
        with self.lock:
            self.found.setdefault("fallbacks", {}).setdefault(line, run)
            self.add()

    def expect_captured(self):
        """Raises Failed if a step that should be a graph was none: its numbers are not those of a graph."""
        if wrong := [f"{run}: {line}" for line, run in self.found.get("fallbacks", {}).items() if "can't capture" in line]:
            raise Failed("; ".join(wrong))

    def file(self, name):
        with self.lock:
            return unpack(self.bundle, self.work, name)

    def scratch(self, name):
        """The path of a file of this part's own."""
        return os.path.join(self.folder, name)

    def environment(self, code=None, **others):
        """Of a program that uses the GPU. `code`: the files of the bundle with the device code that stands for its kernels on the fake libraries."""
        folders = [libraries.search_path(self.fake), os.path.join(self.work, "carried")]
        variables = dict(os.environ, LD_LIBRARY_PATH=":".join(filter(None, folders)), **others)
        if self.fake:
            variables["PPOPT_FAKE_CUDA_CODE"] = ":".join(self.file(name) for name in code or [])
            variables.setdefault("PPOPT_FAKE_CUDA", "count=1,memory=2GiB")
        return variables

    def run(self, command, limit, env=None, statuses=(0,)):
        """Runs a command for at most `limit` seconds, or what is left of the part's. Its line, status and time are among the results. Raises
        Failed if the status is not one of `statuses` (None: any is good)."""
        command = [str(word) for word in command]
        begin = time.monotonic()
        record = {"command": " ".join(command), "status": None}
        with self.lock:
            self.found["commands"].append(record)
        status, out, error = run_group(command, min(limit, self.left()), env=env or self.environment())
        done = Done(command, status, out, error, time.monotonic() - begin)
        record["status"] = status
        if not self.fake:
            record["seconds"] = round(done.seconds, 3)
        failed = statuses is not None and status not in statuses
        if failed:
            record["output"] = done.text[-MOST_KEPT:]
        self.add()
        if failed:
            raise Failed(f"{os.path.basename(command[0])}: status {status}: {last_line(done.text)}")
        return done


def last_line(text):
    """What a tool said last; of our executables the error, of several ranks that of one that did not end because another was gone."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    own = [line for line in errors if not re.match(r"error: rank \d+ is gone ", line)]
    return (own or errors or lines or ["it said nothing"])[-1][-300:]
