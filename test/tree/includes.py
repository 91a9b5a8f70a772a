"""includes.py [ROOT]: each folder includes only what docs/architecture.md lets it include.

The page has entries "- `FOLDER`: what it holds. Includes `FOLDER`, ….", the latter being those that it may include. A folder's headers in
include/ppopt belong to it. Prints each include that is not listed, each folder that has no entry, each listed folder that is not
there or not included by any file, and cycles; exit status 1 if there is any.
"""
import pathlib
import re
import sys

SOURCES = {".cpp", ".h", ".td"}
INCLUDE = re.compile(r'^\s*#?\s*include\s+"([^"]+)"', re.MULTILINE)


def folder_of(path):
    """The page's name of the folder that a file belongs to: "lib/Program", "runtime/comm"; None for files outside of them."""
    parts = pathlib.PurePosixPath(path).parts
    if parts[:2] == ("include", "ppopt"):
        parts = ("lib", *parts[2:])
    if parts[:2] == ("runtime", "include"):
        return "runtime/include"
    if parts[0] not in ("lib", "runtime", "tools") or len(parts) < 3:
        return None
    deep = {("lib", "Transforms"), ("lib", "Dialect"), ("lib", "Codegen"), ("runtime", "device")}
    if parts[:2] in deep and len(parts) > 3:
        return "/".join(parts[:3])
    return "/".join(parts[:2])


def read_folders(page):
    """What each folder may include, by folder."""
    allowed = {}
    for name, text in re.findall(r"^- `(\w+/[\w/]+)`: (.*?)(?=^- |^$|\Z)", page, re.MULTILINE | re.DOTALL):
        allowed[name] = set(re.findall(r"`([\w/]+)`", text.partition("Includes")[2]))
    return allowed


def resolve(root, source, text):
    """The file that an include means, relative to the root; None where it is not one of the tree (a library's, or generated)."""
    beside = source.parent / text
    for base in (beside, root / "include" / text, root / "runtime" / text, root / "runtime/include" / text):
        if base.is_file():
            return base.resolve().relative_to(root)
    # What tablegen makes of a folder's .td lies in that folder of the build.
    if text.startswith("ppopt/") and text.endswith(".inc"):
        return pathlib.PurePosixPath("include") / text
    return None


def find_cycle(edges):
    """A cycle of folders as a list that ends with its first; None where there is none."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for other in sorted(edges.get(node, ())):
            found = visit(other)
            if found:
                return found
        done.add(path.pop())
        return None

    for node in sorted(edges):
        found = visit(node)
        if found:
            return found
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    allowed = read_folders((root / "docs/architecture.md").read_text())
    problems, used, folders = [], {}, set()
    for top in ("lib", "include", "runtime", "tools"):
        for source in sorted((root / top).rglob("*")):
            if source.suffix not in SOURCES:
                continue
            path = source.relative_to(root)
            folder = folder_of(path)
            if folder is None:
                continue
            folders.add(folder)
            for text in INCLUDE.findall(source.read_text()):
                target = resolve(root, source, text)
                other = target and folder_of(target)
                if other and other != folder:
                    used.setdefault(folder, {}).setdefault(other, f'{path}: includes "{text}"')
    for folder in sorted(folders - allowed.keys()):
        problems.append(f"{folder}: has no entry in docs/architecture.md")
    for folder in sorted(allowed.keys() - folders):
        problems.append(f"{folder}: has an entry in docs/architecture.md, but is not in the tree")
    for folder, others in sorted(used.items()):
        for other, where in sorted(others.items()):
            if folder in allowed and other not in allowed[folder]:
                problems.append(f"{where}, of {other}, which {folder} may not include")
    for folder, others in sorted(allowed.items()):
        for other in sorted(others - used.get(folder, {}).keys()):
            problems.append(f"{folder}: may include {other}, but no file of it does")
    cycle = find_cycle({folder: set(others) for folder, others in used.items()})
    if cycle:
        problems.append("cycle: " + " -> ".join(cycle))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
