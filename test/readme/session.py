"""Runs the commands of a page's console blocks and compares what they print."""

import os
import re
import shutil
import subprocess

from readme.docs_text import blocks_of, matches_output, session_of
from support.results import SOURCE, Skip

# The commands of pages that are not run here, by their first words: why.
NOT_RUN = {
    "tools/setup": "installs packages",
    "cmake --preset": "makes a build, as the one under test was made",
    "ninja": "builds, as the one under test was built",
}


def run(command, folder, status=0):
    done = subprocess.run(["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
    assert done.returncode == status, f"{command}\nstatus {done.returncode}, not {status}:\n{done.stdout[-3000:]}"
    return done.stdout


class Session:
    """Runs the commands of a page in one folder; `export NAME=…` holds for those after it. `setup`: lines of bash before each."""

    def __init__(self, build, folder, setup=()):
        self.folder, self.setup = folder, list(setup)
        os.makedirs(os.path.join(folder, "build"))
        os.symlink(build, os.path.join(folder, "build", "release"))
        for name in ("docs", "include"):
            os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))

    def write(self, block):
        path = os.path.join(self.folder, block.file)
        assert not os.path.exists(path), f"{block.file} is there already"
        with open(path, "w") as file:
            file.write(block.text)

    def step(self, command, patterns):
        """Returns the lines that it prints, which are those of the patterns."""
        if any(command.startswith(words) for words in NOT_RUN):
            return []
        if re.search(r"\bmpirun\b", command) and not shutil.which("mpirun"):
            raise Skip("there is no mpirun")
        if command.startswith("export "):
            self.setup.append(command)
        refused = any(re.match(r"(.*: )?error: ", pattern) for pattern in patterns)
        output = run("\n".join(["set -o pipefail", *self.setup, command]), self.folder, status=1 if refused else 0)
        lines = output.rstrip("\n").split("\n")
        assert matches_output(patterns, lines), "the output is not what the page says. It says\n  " + "\n  ".join(patterns) + \
            "\nand it is\n  " + "\n  ".join(lines[-60:])
        return lines

    def steps(self, block):
        """Runs a console block; returns the lines of all its commands."""
        lines = []
        for command, patterns in session_of(block):
            try:
                lines += self.step(command, patterns)
            except AssertionError as error:
                raise AssertionError(f"in the block of line {block.line}, $ {command}\n{error}") from None
        return lines


def run_page(session, text):
    """Everything of a page in order, named by its lines."""
    for block in blocks_of(text):
        if block.file:
            session.write(block)
        if block.kind == "console":
            session.steps(block)
