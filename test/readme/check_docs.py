"""Checks README.md and docs/ against the tree: links, anchors, paths in backticks, examples of models and ops, lines of output.

    check_docs.py --build build/release

docs_text.py says how blocks of a page are written. The pages of RUN are run as a whole, every command in one folder, in which `build`,
`docs` and `include` are the tree's.
"""

import functools
import glob
import itertools
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from readme.docs_text import anchors_of, as_module, blocks_of, links_of, pages, paths_of
from readme.session import Session, run, run_page
from support.results import SOURCE, Harness

# Pages that are run as a whole; test/import/check_walkthroughs.py runs docs/import.md.
RUN = ("docs/guide.md", "docs/architecture.md")
WIDTH = 100
FOLDERS = {"cmake", "docs", "include", "lib", "runtime", "test", "tools"}


def read(page):
    with open(os.path.join(SOURCE, page)) as file:
        return file.read()


def generated(page):
    return page.startswith("docs/reference/")


def check_links(page, text):
    """Relative links lead to files of the tree, and their anchors to headings."""
    for line, target in links_of(text):
        path, _, anchor = target.partition("#")
        other = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        assert os.path.exists(os.path.join(SOURCE, other)), f"{page}:{line}: {target}: there is no {other}"
        if anchor:
            assert other.endswith(".md"), f"{page}:{line}: {target}: an anchor of what is no page"
            assert anchor in anchors_of(read(other) if other != page else text), f"{page}:{line}: {target}: {other} has no such heading"


def exists_in_tree(path):
    """Of a path with {a,b} each; with * at least one. A path may name a unit, without .cpp or .h; `lib/X` may have headers only."""
    brace = re.search(r"\{([^}]*)\}", path)
    if brace:
        return all(exists_in_tree(path[:brace.start()] + part + path[brace.end():]) for part in brace.group(1).split(","))
    full = os.path.join(SOURCE, path.rstrip("/"))
    if path.startswith("lib/") and os.path.isdir(os.path.join(SOURCE, "include", "ppopt", path[len("lib/"):])):
        return True
    return bool(glob.glob(full, recursive=True) or glob.glob(full + ".*"))


def check_paths(page, text):
    wrong = [f"{page}:{line}: `{path}` is not in the tree" for line, path in paths_of(text, FOLDERS) if not exists_in_tree(path)]
    assert not wrong, "\n".join(wrong)


def check_width(page, text):
    wrong = [f"{page}:{number}: {len(line)} columns; lines of docs have fewer than {WIDTH}"
             for number, line in enumerate(text.split("\n"), 1) if len(line) >= WIDTH]
    assert not wrong, "\n".join(wrong)


def has_entry(text):
    return "pp.input =" in text


class Examples:
    """Gives the models and ops of pages to ppopt."""

    def __init__(self, ppopt, folder):
        self.ppopt, self.folder, self.numbers = ppopt, folder, itertools.count()

    def compile(self, text, flags=(), status=0):
        name = f"example{next(self.numbers)}.mlir"
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text if has_entry(text) else as_module(text))
        command = ["plan", "--werror", "--threads=1", *flags] if has_entry(text) else ["opt"]
        return run(" ".join([self.ppopt, *command, name]), self.folder, status)

    def check(self, block, following):
        """A block of kind mlir; `following` is the block after it, or None."""
        flags = [word for word in block.words if word.startswith("--")]
        if "refused" not in block.words:
            self.compile(block.text, flags)
            return
        assert following and following.kind == "text", "what is refused is followed by a text block, the message"
        said = self.compile(block.text, flags, status=1)
        pattern = ".*".join(re.escape(part) for part in " ".join(following.text.split()).split("…"))
        assert re.search(pattern, " ".join(said.split())), f"wanted:\n{following.text}\nsaid:\n{said}"


def check_examples(examples, page, text):
    blocks = blocks_of(text)
    for block, following in zip(blocks, [*blocks[1:], None]):
        if block.kind == "mlir":
            try:
                examples.check(block, following)
            except AssertionError as error:
                raise AssertionError(f"{page}:{block.line}: {error}") from None


def check_reference(page, text):
    """Every op has an example that names it."""
    for section in re.split(r"^#+ (?=`pp\.\w+` \()", text, flags=re.MULTILINE)[1:]:
        name = re.match(r"`(pp\.\w+)`", section).group(1)
        assert any(block.kind == "mlir" and re.search(re.escape(name) + r"\b", block.text) for block in blocks_of(section)), \
            f"{page}: {name} has no example: add one to its description"


def check_translations(page, text, reference):
    """The page of PyTorch's names has every op of a model, with `pp.` or by its bare name, and no other."""
    ops = set(re.findall(r"^#+ `pp\.(\w+)` \(", reference, flags=re.MULTILINE)) - {"yield"}
    named = set(re.findall(r"`pp\.(\w+)", text))
    assert named <= ops, f"{page}: no such ops: {', '.join(sorted(named - ops))}"
    missing = ops - named - set(re.findall(r"`(\w+)`", text))
    assert not missing, f"{page}: lacks {', '.join(sorted(missing))}: say what they are in PyTorch"


def expect_red(what, check):
    try:
        check()
    except AssertionError:
        return
    raise AssertionError(f"was not seen to fail: {what}")


GOOD = "```mlir\n%y = pp.relu %x : tensor<4xf32>\n```\n"


def check_red(examples, folder, build):
    """What is wrong is seen."""
    os.makedirs(folder)
    session = Session(build, folder)
    check_examples(examples, "page", GOOD)
    run_page(session, "```console\n$ echo one; echo two; echo three\none\n…\n…ee\n```\n")
    wrong = {
        "a link": lambda: check_links("docs/x.md", "[a](nowhere.md)"),
        "an anchor": lambda: check_links("README.md", "# Here\n[a](#there)"),
        "a path": lambda: check_paths("x.md", "`lib/Nowhere.cpp`"),
        "a wide line": lambda: check_width("x.md", "x" * WIDTH),
        "an op": lambda: check_examples(examples, "x.md", GOOD.replace("relu", "rleu")),
        "a type": lambda: check_examples(examples, "x.md", GOOD.replace("f32", "i32")),
        "what is not refused": lambda: check_examples(examples, "x.md", GOOD.replace("mlir", "mlir refused") + "```text\nerror: x\n```\n"),
        "another message": lambda: check_examples(
            examples, "x.md", GOOD.replace("mlir", "mlir refused").replace("f32", "i32") + "```text\nerror: x\n```\n"),
        "an op without example": lambda: check_reference("x.md", "### `pp.relu` (x)\n\nText\n\n### `pp.add` (y)\n" + GOOD),
        "an op without translation": lambda: check_translations("x.md", "`pp.add`", "## `pp.add` (x)\n## `pp.mul` (y)\n"),
        "a translation without op": lambda: check_translations("x.md", "`pp.add`, `pp.mul`", "## `pp.add` (x)\n"),
        "a status": lambda: run_page(session, "```console\n$ false\n```\n"),
        "a line of output": lambda: run_page(session, "```console\n$ echo one\ntwo\n```\n"),
        "a line too many": lambda: run_page(session, "```console\n$ echo one; echo two\none\n```\n"),
        "a line that is missing": lambda: run_page(session, "```console\n$ echo one\none\ntwo\n```\n"),
        "a block without end": lambda: blocks_of("```mlir\n"),
    }
    for what, check in wrong.items():
        expect_red(what, check)


def cases_of(page, examples):
    text = read(page)
    yield f"links of {page}", lambda: check_links(page, text)
    if not generated(page):
        yield f"paths of {page}", lambda: check_paths(page, text)
        yield f"columns of {page}", lambda: check_width(page, text)
    if any(block.kind == "mlir" for block in blocks_of(text)) and page not in NO_EXAMPLES:
        yield f"examples of {page}", lambda: check_examples(examples, page, text)
    if page == "docs/from-pytorch.md":
        yield f"{page} has every op", lambda: check_translations(page, text, read(REFERENCE[0]))
    if page in REFERENCE:
        yield f"{page} has an example of every op", lambda: check_reference(page, text)


def main():
    harness = Harness("docs")
    with tempfile.TemporaryDirectory() as folder:
        examples = Examples(harness.ppopt, folder)

        def run_whole(page):
            own = os.path.join(folder, os.path.basename(page))
            os.makedirs(own)
            path = f"export PATH={os.path.join(os.path.abspath(harness.args.build), 'bin')}:$PATH"
            run_page(Session(harness.args.build, own, [path]), read(page))
        cases = [(page, functools.partial(run_whole, page)) for page in RUN]
        cases = [*cases, ("what is wrong is seen", lambda: check_red(examples, os.path.join(folder, "red"), harness.args.build))]
        for page in pages(SOURCE):
            cases += cases_of(page, examples)
        harness.cases(cases)
    return harness.finish()


# Before and after a pass: not whole.
NO_EXAMPLES = ("docs/reference/passes.md",)
REFERENCE = ("docs/reference/model-ops.md", "docs/reference/internal-ops.md")


if __name__ == "__main__":
    sys.exit(main())
