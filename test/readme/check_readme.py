"""Runs the commands of README.md, each as it is written there, one after the other in one folder.

    check_readme.py --build build/release

A command is a line of an indented block, with the lines that its backslash joins to it. `build/release` is the build under test, TEXT a
file of some text. A comment that begins with "refused" says that the command must fail. What cannot be run is listed with its reason.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.mpirun import ENVIRONMENT
from support.results import SOURCE, Harness, Skip

# Of the first word, or the words, of a command: why it is not run here.
NOT_RUN = {
    "tools/quickstart": "installs packages, builds, and trains for minutes",
    "tools/check": "runs this",
    "tools/setup": "installs packages; test/Driver/tools.test runs it where none is missing",
    "cmake --preset": "makes a build, as the one under test was made",
    "ninja": "builds, as the one under test was built",
}


FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands_of(text):
    """The commands of all indented blocks, without comments on lines of their own."""
    found, joined = [], ""
    for line in FENCED.sub("", text).split("\n"):
        if not line.startswith("    ") or line.strip().startswith("#"):
            assert not joined, f"a command does not end: {joined}"
            continue
        joined += line.strip()
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        found.append(joined)
        joined = ""
    return found


def reason_not_to_run(command):
    for words, reason in NOT_RUN.items():
        if command == words or command.startswith(words + " "):
            return reason
    return None


class Shell:
    """Runs commands in a folder; an assignment holds for those after it."""

    def __init__(self, build, folder):
        self.folder, self.assignments = folder, []
        self.environment = {name: value for name, value in os.environ.items() if name not in ENVIRONMENT}
        os.makedirs(os.path.join(folder, "build"))
        os.symlink(build, os.path.join(folder, "build", "release"))
        with open(os.path.join(SOURCE, "README.md")) as readme, open(os.path.join(folder, "TEXT"), "w") as text:
            text.write(readme.read() * 3)

    def run(self, command):
        if re.fullmatch(r"\w+=\S+", command):
            self.assignments.append(command)
            return
        script = "\n".join([*self.assignments, command])
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, capture_output=True, text=True, errors="replace", timeout=500)
        output = done.stdout[-2000:] + done.stderr[-2000:]
        if re.search(r" # refused", command):
            assert done.returncode == 1 and "error: " in done.stderr, f"should be refused, has status {done.returncode}:\n{output}"
        else:
            assert done.returncode == 0, f"status {done.returncode}:\n{output}"


def expect_red(shell, command):
    try:
        shell.run(command)
    except AssertionError:
        return
    raise AssertionError(f"was not seen to fail: {command}")


def main():
    harness = Harness("readme")
    with open(os.path.join(SOURCE, "README.md")) as file:
        readme = file.read()
    commands = commands_of(readme)
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(harness.args.build, folder)

        def check_run(command):
            if "mpirun " in command and not shutil.which("mpirun"):
                raise Skip("there is no mpirun")
            shell.run(command)

        for command in commands:
            if reason_not_to_run(command) is None:
                harness.case(command, lambda command=command: check_run(command))

        def check_list():
            unused = [words for words in NOT_RUN if not any(c == words or c.startswith(words + " ") for c in commands)]
            assert not unused, f"no command of README.md is {unused}: take it out of NOT_RUN"

        def check_files():
            """No command writes over what another has made."""
            outputs = [word for command in commands for word in re.findall(r" (?:-o|--html|--log|--export|--trace) (\S+)", command)]
            twice = {output for output in outputs if outputs.count(output) > 1}
            assert not twice, f"several commands write {twice}"

        def check_red():
            """A command that fails is seen, and one that is not refused although README.md says so."""
            text = "Text\n\n    $ppopt frobnicate \\\n      x\n    $ppopt --version   # refused\n    # a comment\n\n```mlir\n    func\n```\n"
            for command in commands_of(text):
                expect_red(shell, command)
            assert len(commands_of(text)) == 2, commands_of(text)

        def check_models():
            """The models that stand in README.md compile."""
            models = [code for kind, code in FENCED.findall(readme) if kind == "mlir"]
            assert models, "there is none"
            for i, model in enumerate(models):
                with open(os.path.join(folder, f"model{i}.mlir"), "w") as file:
                    file.write(model)
                shell.run(f"build/release/bin/ppopt plan model{i}.mlir --werror")

        harness.case("its models", check_models)
        harness.case("every command that is not run is in README.md", check_list)
        harness.case("every command has outputs of its own", check_files)
        harness.case("a wrong command is seen", check_red)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
