#!/usr/bin/env python3
"""Runs the walkthroughs of docs/import.md: their commands, on two ranks under mpirun, print what the page says and PyTorch's losses within 1e-4 of the largest.
The archives and PyTorch's losses are those of walkthroughs/, which make_walkthroughs.py made of the page's Python; with tools/check --with-pytorch that
Python is run afresh too."""
import functools
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from readme.session import Session  # noqa: E402
from support.executable import checked, environment, expect_close  # noqa: E402
from support.mpirun import MPIRUN, ON_ONE_MACHINE  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

import models  # noqa: E402
import walkthroughs  # noqa: E402

TOLERANCE = 1e-4
MOST_LINES = 20  # of Python
COMMANDS = 2
COMMITTED = str(HERE / "walkthroughs")


def losses_of(lines):
    """{step: the loss that is printed}"""
    return {int(found[1]): float(found[2]) for line in lines if (found := re.match(r"step +(\d+)/\d+ \| loss (\S+) \|", line))}


def compare(lines, expected):
    """`expected`: of every step."""
    printed = losses_of(lines)
    assert len(printed) > 2 and max(printed) == len(expected), f"the steps {list(printed)} of {len(expected)} are printed"
    expect_close("printed losses", list(printed.values()), [expected[step - 1] for step in printed], TOLERANCE)
    assert printed[max(printed)] < 0.7 * printed[1], f"the loss falls from {printed[1]} to {printed[max(printed)]} only"


def described_in(folder):
    with open(os.path.join(folder, "walkthroughs.json")) as file:
        return json.load(file)["walkthroughs"]


def check_made(walkthrough, described):
    """That the archive is that of the page as it is now."""
    assert walkthrough.name in described and described[walkthrough.name]["digest"] == walkthrough.digest, \
        f"{walkthroughs.PAGE}:{walkthrough.python.line}: {walkthrough.name} has changed since its archive was made: run " \
        "test/import/make_walkthroughs.py --gzip test/import/walkthroughs"


def check_size(walkthrough):
    where = f"{walkthroughs.PAGE}:{walkthrough.python.line}"
    lines, commands = walkthrough.python.text.count("\n"), walkthrough.console.text.count("\n$ ") + 1
    assert lines <= MOST_LINES, f"{where}: {lines} lines of Python; a walkthrough has at most {MOST_LINES}"
    assert commands == COMMANDS, f"{where}: {commands} commands; a walkthrough has {COMMANDS}"


def train(harness, folder, walkthrough, expected):
    """Runs the page's commands in a folder that has what its Python writes. No input is shifted, so --help does not name --data."""
    session = Session(harness.args.build, folder, [
        f"export PATH={os.path.join(harness.args.build, 'bin')}:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        f'mpirun() {{ command {" ".join([*MPIRUN, *ON_ONE_MACHINE])} "$@"; }}'])
    compare(session.steps(walkthrough.console), expected["losses"])
    session.step(f"./train-{walkthrough.name} --help", ["…", f"  ./train-{walkthrough.name} --inputs train.safetensors --steps 200", "…"])


def check_committed(harness, folder, walkthrough):
    os.makedirs(folder)
    described = described_in(COMMITTED)
    check_size(walkthrough)
    check_made(walkthrough, described)
    unpacker = models.Unpacker(COMMITTED)
    for name in (walkthrough.archive, walkthrough.data):
        unpacker.unpack(name, folder)
    train(harness, folder, walkthrough, described[walkthrough.name])


def check_live(harness, folder, walkthrough):
    if not harness.args.pytorch:
        raise Skip("needs tools/check --with-pytorch")
    checked([harness.args.pytorch, str(HERE / "make_walkthroughs.py"), folder, walkthrough.name], timeout=900, env=environment())
    train(harness, folder, walkthrough, described_in(folder)[walkthrough.name])


def check_red(walkthrough):
    """What is wrong is seen."""
    python, console = walkthrough.python, walkthrough.console
    described = described_in(COMMITTED)
    losses = described[walkthrough.name]["losses"]
    printed = [f"step {step:2}/{len(losses)} | loss {loss:.4f} | norm" for step, loss in enumerate(losses, 1)]
    compare(printed, losses)

    def edited(text=python.text, console=console.text):
        return walkthroughs.find(f"```python file={python.file}\n{text}```\n```console\n{console}```\n")[0]

    check_made(edited(), described)
    check_size(edited())
    wrong = {
        "other Python": lambda: check_made(edited(text=python.text.replace("seed(0)", "seed(1)")), described),
        "another learning rate": lambda: check_made(edited(console=console.text.replace("--lr 1e-2", "--lr 1e-3")), described),
        "an archive that is not there": lambda: check_made(edited(), {}),
        "long Python": lambda: check_size(edited(text=python.text + "\n" * MOST_LINES)),
        "three commands": lambda: check_size(edited(console=console.text + "$ true\n")),
        "no commands": lambda: walkthroughs.find("```python file=a.py\n```\n```python file=b.py\n```\n"),
        "another loss": lambda: compare([*printed[:-1], printed[-1].replace(f"{losses[-1]:.4f}", f"{losses[-1] + 1e-3:.4f}")], losses),
        "fewer steps": lambda: compare(printed[:-1], losses),
        "no losses": lambda: compare([], losses),
        "a loss that does not fall": lambda: compare(printed[:3] + printed[:1] * 3, losses[:3] + losses[:1] * 3),
    }
    for what, check in wrong.items():
        try:
            check()
        except AssertionError:
            continue
        raise AssertionError(f"was not seen to fail: {what}")


def main():
    harness = Harness("walkthroughs")
    found = walkthroughs.read()
    with tempfile.TemporaryDirectory() as scratch:
        harness.cases([(f"{each.name}, {how}", functools.partial(check, harness, os.path.join(scratch, f"{each.name}.{how}"), each))
                       for each in found for how, check in [("committed", check_committed), ("live", check_live)]])
    harness.case("what is wrong is seen", lambda: check_red(found[0]))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
