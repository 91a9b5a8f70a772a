#!/usr/bin/env python3
"""Makes unsupported/: for each of unsupported_models.py NAME.pt2.gz, and expected.json: the op that import must name, the file and the line.

    make_unsupported.py FOLDER

The line is that of the marker in the source, and the stack trace in the archive must end in it.
"""
import inspect
import json
import pathlib
import re
import sys
import zipfile
import zlib

import torch

import archives
import unsupported_models


def marked_line(model):
    lines, first = inspect.getsourcelines(model)
    (line,) = [first + k for k, line in enumerate(lines) if line.rstrip().endswith("# unsupported")]
    return line


def check(path, op, file, line):
    """That the archive has the op, once, and its innermost frame outside of torch is the line."""
    with zipfile.ZipFile(path) as archive:
        model = json.loads(archive.read(f"{path.stem}/models/model.json"))
    (node,) = [n for n in model["graph_module"]["graph"]["nodes"] if n["target"] == f"torch.ops.{op}"]
    frames = re.findall(r'File "([^"]*)", line (\d+)', node["metadata"]["stack_trace"])
    assert [f for f in frames if not f[0].startswith("torch/")][-1] == (file, str(line)), (path, frames, line)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    expected = {}
    for name, (model, draw, op) in unsupported_models.MODELS.items():
        torch.manual_seed(zlib.crc32(name.encode()))
        path = folder / f"{name}.pt2"
        archives.save(torch.export.export(model(), draw()), path)
        file, line = pathlib.Path(inspect.getsourcefile(model)).name, marked_line(model)
        check(path, op, file, line)
        archives.compress(path)
        expected[path.name] = {"op": op, "file": file, "line": line}
        print(f"{path.name}: {op}, line {line}")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
