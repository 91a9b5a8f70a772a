"""dataflow.py [ROOT]: between two phases of SSA the dataflow of a step hangs on values, not on names.

Checks what a script can: that no file of lib/Transforms/Scheduling knows roles of arguments; that the attribute of a role is spelled once;
and that the ops of steps and schedules have no strings, and no integers but those of the table below. Prints what is wrong; exit
status 1 if anything is.
"""
import pathlib
import re
import sys

SCHEDULING = ("lib/Transforms/Scheduling", "include/ppopt/Transforms/Scheduling")
ROLES = re.compile(r"\bRole(Kind|Attr)\b|\bget(Arg|Result)Role\b|\.role\b|\bkRoleAttr\b")
# The ops of a step and of a schedule, and the files that declare them.
OPS = {"include/ppopt/Dialect/PP/StepOps.td": None, "include/ppopt/Dialect/PP/ParallelOps.td": {"copy", "yield"},
       "include/ppopt/Dialect/PP/PlanOps.td": {"schedule", "run", "zero", "start", "send", "recv", "wait", "done"}}
# What an integer of these ops may say. Only a copy's id is looked up in another op.
INTEGERS = {"id": "a copy's id", "copy": "a copy's id", "gradient_of": "a copy's id", "from": "a place", "to": "a place", "place": "a place",
            "microbatch": "a microbatch", "chunk": "a chunk", "slot": "a slot", "slots": "slots, or their sizes", "slot_places": "places",
            "channel": "a queue of the target"}
DEFINITION = re.compile(r'^def \w+ : PP_\w+<"(\w+)".*?^}', re.MULTILINE | re.DOTALL)
ARGUMENTS = re.compile(r"let arguments = \(ins (.*?)\);", re.DOTALL)


def read(root, folders, suffixes):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes:
                yield path.relative_to(root), path.read_text()


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def check_roles(root):
    for path, text in read(root, SCHEDULING, {".cpp", ".h"}):
        for number, line in enumerate(text.splitlines(), 1):
            if ROLES.search(without_comments(line)):
                yield f"{path}:{number}: knows the role of an argument: {line.strip()}"


def check_spelling(root):
    spelled = [f"{path}:{number}" for path, text in read(root, ("lib", "include"), {".cpp", ".h"})
               for number, line in enumerate(text.splitlines(), 1) if '"pp.role"' in without_comments(line)]
    if len(spelled) != 1:
        yield f'"pp.role" is spelled {len(spelled)} times: {", ".join(spelled)}'


def check_attributes(root):
    found = set()
    for file, names in OPS.items():
        for op in DEFINITION.finditer((root / file).read_text()):
            name = op.group(1)
            if names is not None and name not in names:
                continue
            found.add(name)
            arguments = ARGUMENTS.search(op.group(0))
            for kind, argument in re.findall(r"([\w<>:, ]+?):\$(\w+)", arguments.group(1) if arguments else ""):
                if "StrA" in kind:
                    yield f"{file}: pp.{name} has a string, '{argument}'"
                elif "I64" in kind and argument not in INTEGERS:
                    yield f"{file}: pp.{name} has an integer, '{argument}', that the table of test/tree/dataflow.py does not explain"
    for name in sorted(set().union(*(names or set() for names in OPS.values())) - found):
        yield f"there is no op pp.{name}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    problems = [*check_roles(root), *check_spelling(root), *check_attributes(root)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
