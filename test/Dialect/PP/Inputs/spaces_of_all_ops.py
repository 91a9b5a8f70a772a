"""Checks that a test file has every op with an iteration space.

usage: spaces_of_all_ops.py SOURCE-ROOT TEST-FILE
"""

import re
import sys


def find_ops_with_spaces(root):
    for page in ("model-ops", "internal-ops"):
        with open(f"{root}/docs/reference/{page}.md", encoding="utf-8") as file:
            parts = re.split(r"^## `pp\.(\w+)`.*$", file.read(), flags=re.MULTILINE)
        for name, text in zip(parts[1::2], parts[2::2]):
            if re.search(r"^Interfaces:.*`IterationSpaceOpInterface`", text, re.MULTILINE):
                yield name


def main(root, test):
    with open(test, encoding="utf-8") as file:
        tested = set(re.findall(r"\bpp\.(\w+)", file.read()))
    ops = list(find_ops_with_spaces(root))
    missing = [name for name in ops if name not in tested]
    for name in missing:
        print(f"pp.{name} has an iteration space, and {test} does not print it")
    if not missing:
        print(f"the spaces of all {len(ops)} ops are printed")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
