"""Writes archives of torch.export that are the same bytes wherever they are made."""
import contextlib
import gzip
import io
import json
import re
import zipfile

import torch
from torch.export.pt2_archive._package import PT2ArchiveWriter

# What torch's writer adds itself when it closes the archive.
ADDED = (".data/version", ".data/serialization_id", "byteorder", "archive_format", "archive_version")
FRAME = re.compile(r'^ *File "(?P<path>[^"]*)", line \d+, in .*$')


@contextlib.contextmanager
def float_is_double():
    """Within it torch.float32 is float64, so that models which cast to float32 (norms, rotary tables) have figures in f64."""
    kept = torch.float32, torch.float, torch.Tensor.float
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = kept


def relative(path):
    """A path as it is from the folder of packages, or from the folder of the model's file."""
    for folder in ("site-packages/", "dist-packages/"):
        if folder in path:
            return path.rsplit(folder, 1)[1]
    return path.rsplit("/", 1)[-1]


def without_machine(trace):
    """A stack trace without paths of the machine."""
    return "\n".join(line.replace(match["path"], relative(match["path"])) if (match := FRAME.match(line)) else line
                     for line in trace.split("\n"))


def save(program, path):
    """torch.export.save without what differs from machine to machine and from run to run."""
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    rewrite(buffer, path)


def rewrite(archive, path):
    """Writes an archive again, by torch's own writer, without paths of the machine in stack traces and without `from_node`,
    which has addresses of graphs in memory."""
    with zipfile.ZipFile(archive) as file:
        entries = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    model = json.loads(entries["models/model.json"])
    for node in all_nodes(model["graph_module"]["graph"]):
        if "stack_trace" in node["metadata"]:
            node["metadata"]["stack_trace"] = without_machine(node["metadata"]["stack_trace"])
        node["metadata"].pop("from_node", None)
    entries["models/model.json"] = json.dumps(model).encode()
    with PT2ArchiveWriter(str(path)) as writer:
        for name, content in entries.items():
            if name not in ADDED:
                writer.write_bytes(name, content)


def all_nodes(graph):
    """The nodes of a graph and of the graphs that are arguments of its nodes."""
    for node in graph["nodes"]:
        yield node
        for argument in node["inputs"]:
            if "as_graph" in argument["arg"]:
                yield from all_nodes(argument["arg"]["as_graph"]["graph"])


def compress(path):
    """Replaces a file by FILE.gz, the same bytes each time."""
    with open(f"{path}.gz", "wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(path.read_bytes())
    path.unlink()
