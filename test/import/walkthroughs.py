"""Reads the walkthroughs of docs/import.md: a block of Python that saves an archive and its data, and the commands after it that train."""
import hashlib
import os
import shlex

from readme.docs_text import blocks_of, session_of
from support.results import SOURCE

PAGE = os.path.join("docs", "import.md")


class Walkthrough:
    """The files that the Python writes are NAME.pt2 and NAME_data.safetensors, where it is NAME.py itself."""

    def __init__(self, python, console):
        self.name, ending = os.path.splitext(python.file)
        assert ending == ".py" and console is not None and console.kind == "console", \
            f"{PAGE}:{python.line}: a block of Python that has a file is followed by its commands"
        self.python, self.console = python, console
        self.words = shlex.split(" ".join(command for command, _ in session_of(console)))
        self.archive, self.data = f"{self.name}.pt2", f"{self.name}_data.safetensors"

    @property
    def digest(self):
        """Of the Python and of the flags of the commands, on which the archive and the losses depend."""
        return hashlib.sha256("\n".join([self.python.text, *self.words]).encode()).hexdigest()

    def flag(self, name, default=None):
        """The value of a flag of the commands."""
        return self.words[self.words.index(name) + 1] if name in self.words else default


def find(text):
    """The walkthroughs of a page, in order."""
    blocks = [block for block in blocks_of(text) if block.kind == "console" or block.kind == "python" and block.file]
    return [Walkthrough(block, following) for block, following in zip(blocks, [*blocks[1:], None]) if block.kind == "python"]


def read():
    with open(os.path.join(SOURCE, PAGE)) as file:
        return find(file.read())
