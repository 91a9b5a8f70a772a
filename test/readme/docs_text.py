"""Reads the pages of documentation: fenced blocks, console sessions, examples of ops, links.

A fenced block's first line says what it is:

    ```mlir                a model where it has an entry; else ops, whose operands become a function's arguments
    ```mlir file=a.mlir    the same, and the commands of the page find it under that name
    ```mlir refused        the compiler refuses it with the message in the ```text block that follows, in whatever lines
    ```mlir --mesh=dp=2    under a plan of these flags
    ```console             commands after "$ ", joined by a backslash at the end of a line; the other lines are their output

In output "…" stands for any text of a line, and a line that is "…" alone for any lines.
"""

import os
import re

FENCE = re.compile(r"^( {0,3})```(.*)$")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


class Block:
    """A fenced block: its kind ("mlir"), the words after that, its text, and the number of its first line."""

    def __init__(self, kind, words, text, line):
        self.kind, self.words, self.text, self.line = kind, words, text, line

    @property
    def file(self):
        return next((word[len("file="):] for word in self.words if word.startswith("file=")), None)


def blocks_of(text):
    """The fenced blocks of a page, in order. Indentation of the fence is taken off."""
    found, opened = [], None
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if fence and opened is None:
            kind, *words = fence.group(2).split() or [""]
            opened = (kind, words, fence.group(1), number, [])
        elif fence and not fence.group(2):
            kind, words, _, start, lines = opened
            found.append(Block(kind, words, "".join(line + "\n" for line in lines), start))
            opened = None
        elif opened:
            indent = opened[2]
            opened[4].append(line[len(indent):] if line.startswith(indent) else line.lstrip())
    assert opened is None, f"line {opened and opened[3]}: a fenced block does not end"
    return found


def without_blocks(text):
    """The same lines, those of fenced blocks empty."""
    lines, inside = [], False
    for line in text.split("\n"):
        fence = FENCE.match(line)
        lines.append("" if inside or fence else line)
        inside ^= bool(fence)
    return "\n".join(lines)


def session_of(block):
    """The [(command, [lines of output])] of a console block."""
    steps, joined = [], None
    for line in block.text.rstrip("\n").split("\n"):
        if joined is not None or line.startswith("$ "):
            joined = line[2:] if joined is None else joined + " " + line.strip()
            if joined.endswith("\\"):
                joined = joined[:-1].rstrip()
                continue
            steps.append((joined, []))
            joined = None
        else:
            assert steps, f"line {block.line}: output before any command: {line}"
            steps[-1][1].append(line)
    assert joined is None, f"line {block.line}: a command does not end: {joined}"
    return steps


def matches_line(pattern, line):
    return re.fullmatch(".*".join(re.escape(part) for part in pattern.rstrip().split("…")), line.rstrip()) is not None


def matches_output(patterns, lines):
    """Whether the lines are what the patterns say; no patterns say nothing."""
    if not patterns:
        return True
    if patterns[0] == "…":
        rest = patterns[1:]
        return not rest or any(matches_output(rest, lines[i:]) for i in range(len(lines)))
    if not lines or not matches_line(patterns[0], lines[0]):
        return False
    return not lines[1:] if len(patterns) == 1 else matches_output(patterns[1:], lines[1:])


DEFINED = re.compile(r"^\s*((?:%[\w#:]+(?:, *)?)+) *=", re.MULTILINE)
NAME = re.compile(r"%\w+")


def split_types(text):
    """The types of a list, without the attributes that may stand between the op and its last colon."""
    types, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            types.append(text[start:i].strip())
            start = i + 1
    return types + [text[start:].strip()]


def operand_types(line):
    """{operand: its type} of an op in one line, `%r = pp.add %a, %b : type, type`, as far as the types say."""
    code = line.split("//")[0]
    if repeat := re.search(r" iter \((.*)\) -> \((.*)\) \{", code):
        return dict(zip(re.findall(r"= (%\w+)", repeat.group(1)), split_types(repeat.group(2))))
    if " : " not in code:
        return {}
    operands = NAME.findall(code.split("=", 1)[1] if DEFINED.match(code) else code)
    types = split_types(re.split(r" (?:to|->) ", code.rsplit(" : ", 1)[1])[0])
    if len(types) == 1:
        types *= len(operands)
    return dict(zip(operands, types))


def as_module(example):
    """An example that parses: ops without a function are put into one, whose arguments are the values that they do not define."""
    if re.search(r"^\s*(func\.func|pp\.(task|plan|bucket|schedule|input_decl|param_decl|kernel|region)|module)\b", example, re.MULTILINE):
        return example
    defined = set(NAME.findall(" ".join(match.group(1) for match in DEFINED.finditer(example))))
    defined.update(name for values in re.findall(r" iter \((.*?)\)", example) for name in re.findall(r"(%\w+) =", values))
    arguments = {}
    for line in re.sub(r"\n\s+: ", " : ", example).split("\n"):
        for name, type in operand_types(line).items():
            if name not in defined:
                arguments.setdefault(name, type)
    signature = ", ".join(f"{name}: {type}" for name, type in arguments.items())
    return f"func.func @example({signature}) {{\n{example}  return\n}}\n"


def anchors_of(text):
    """The anchors of a page's headings, as GitHub makes them."""
    anchors = set()
    for line in without_blocks(text).split("\n"):
        heading = re.match(r"#+ +(.*?) *#*$", line)
        if heading:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1)).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            count, name = 0, anchor
            while name in anchors:
                count += 1
                name = f"{anchor}-{count}"
            anchors.add(name)
    return anchors


def links_of(text):
    """The [(line, target)] of a page that are no web addresses."""
    found = []
    for number, line in enumerate(without_blocks(text).split("\n"), 1):
        for match in LINK.finditer(re.sub(r"`[^`]*`", "", line) if "](" not in line else line):
            target = match.group(1) or match.group(2)
            if not re.match(r"[a-z]+:", target):
                found.append((number, target))
    return found


PATH = re.compile(r"`([\w.{},*/-]+)`")


def paths_of(text, folders):
    """The [(line, path)] in backticks that begin with a folder of the tree."""
    found = []
    for number, line in enumerate(without_blocks(text).split("\n"), 1):
        for match in PATH.finditer(line):
            if match.group(1).split("/")[0] in folders and "/" in match.group(1):
                found.append((number, match.group(1)))
    return found


def pages(source):
    """The pages of documentation, as paths in the tree."""
    found = ["README.md"]
    for root, _, files in os.walk(os.path.join(source, "docs")):
        found += [os.path.relpath(os.path.join(root, file), source) for file in files if file.endswith(".md")]
    return sorted(found)
