"""Plants attributes in the example that the reference has of each op, in generic form, and reads what ppopt opt says.

usage: attributes_of_all_ops.py SOURCE-ROOT PPOPT

An attribute that nobody declares must be refused by name on each op, with and without the dialect's prefix, and so must a value that the attribute's
type does not allow, for each attribute. Both follow from the ODS definitions: the reference is made from them and has an example of each op.
"""

import os
import re
import subprocess
import sys
import tempfile

# No attribute but pp.start's `what` may be this.
WRONG_VALUE = "affine_map<(d0) -> (d0)>"
ANY_VALUE = "any attribute"


def read_ops(root):
    """(name, example, [(attribute, its type)]) of each op."""
    sys.path.append(os.path.join(root, "test/readme"))
    from docs_text import as_module, blocks_of

    for page in ("model-ops", "internal-ops"):
        with open(f"{root}/docs/reference/{page}.md", encoding="utf-8") as file:
            parts = re.split(r"^## `(pp\.\w+)`.*$", file.read(), flags=re.MULTILINE)
        for name, text in zip(parts[1::2], parts[2::2]):
            example = next(block.text for block in blocks_of(text) if block.kind == "mlir" and re.search(re.escape(name) + r"\b", block.text))
            attributes = re.findall(r"<td><code>(\w+)</code></td><td>[^<]*</td><td>([^<]*)</td>", text)
            yield name, as_module(example), attributes


def run_on_parts(ppopt, parts, *flags):
    """What ppopt opt prints for modules in one file, and its errors by number of the module."""
    separator = "\n// -----\n"
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(separator.join(parts))
        file.flush()
        done = subprocess.run([ppopt, "opt", "--split-input-file", *flags, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + part.count("\n") + separator.count("\n"))
    said = [""] * len(parts)
    for line, text in re.findall(r"^" + re.escape(file.name) + r".*?:(\d+):\d+: error: (.*)$", done.stderr, re.MULTILINE):
        said[next(i for i in range(len(parts)) if starts[i] < int(line) <= starts[i + 1])] += text + "\n"
    return done.stdout, said


def skip(text, at):
    """The position after the bracket, string or character at `at`."""
    if text[at] == '"':
        return re.compile(r'"(\\.|[^"\\])*"').match(text, at).end()
    if text.startswith("->", at):
        return at + 2
    if text[at] not in "([{<":
        return at + 1
    at += 1
    while text[at] not in ")]}>":
        at = skip(text, at)
    return at + 1


def parts_of(text, name):
    """Where the op's properties, attributes and type begin in generic form; None for what it lacks."""
    at = text.index(f'"{name}"(') + len(name) + 2
    properties = attributes = None
    while not text.startswith(" : ", at):
        if text.startswith("<{", at):
            properties = at + 2
        elif text[at] == "{":
            attributes = at + 1
        at = skip(text, at)
    return properties, attributes, at


def plant_attribute(text, name, attribute):
    _, attributes, end = parts_of(text, name)
    return text[:attributes] + attribute + ", " + text[attributes:] if attributes else text[:end] + f" {{{attribute}}}" + text[end:]


def plant_value(text, name, attribute, value):
    properties, _, _ = parts_of(text, name)
    if not properties:
        start = text.index(f'"{name}"(') + len(name) + 2
        end = skip(text, start)
        return text[:end] + f" <{{{attribute} = {value}}}>" + text[end:]
    end = skip(text, properties - 1) - 1
    at, entries = properties, []
    while at < end:
        start = at
        while at < end and text[at] != ",":
            at = skip(text, at)
        entries.append(text[start:at].strip())
        at += 1
    entries = [entry for entry in entries if not re.match(re.escape(attribute) + r"\b", entry)]
    return text[:properties] + ", ".join([*entries, f"{attribute} = {value}"]) + text[end:]


def main(root, ppopt):
    ops = list(read_ops(root))
    printed, said = run_on_parts(ppopt, [example for _, example, _ in ops], "--mlir-print-op-generic")
    assert not any(said), "an example of the reference is refused: " + "".join(f"{op[0]}: {text}" for op, text in zip(ops, said) if text)
    modules = printed.split("// -----")
    assert len(modules) == len(ops), f"{len(modules)} modules are printed for {len(ops)} examples"

    # (what, module, what the error must match)
    cases = []
    for (name, _, attributes), module in zip(ops, modules):
        for unknown in ("zzz", "pp.zzz"):
            cases.append((f"{unknown} of {name}", plant_attribute(module, name, unknown), f"'{name}' op (takes no attribute|has no option) '{unknown}'"))
        for attribute, kind in attributes:
            if kind != ANY_VALUE:
                cases.append((f"a wrong value of {attribute} of {name}", plant_value(module, name, attribute, WRONG_VALUE), rf"\b{attribute}\b"))
    _, said = run_on_parts(ppopt, [module for _, module, _ in cases])
    missed = [f"{what}: {errors.strip() or 'accepted'}" for (what, _, wanted), errors in zip(cases, said) if not re.search(wanted, errors)]
    values = sum(len(attributes) for _, _, attributes in ops)
    print("\n".join(missed) if missed else f"{len(ops)} ops refuse unknown attributes, and wrong values of {values} attributes by name")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
