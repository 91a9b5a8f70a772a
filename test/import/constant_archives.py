"""The committed calls on constants: archives entry by entry, which compress far better than zips, and what PyTorch computes."""
import io
import json
import tarfile
import zipfile

MODEL, EXPECTED = "models/model.json", "constants.json"


def compact(data):
    """The entries of an archive that import reads. Without stack traces, and without the clones at the end of Calls."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    model = json.loads(entries[MODEL])
    graph, signature = model["graph_module"]["graph"], model["graph_module"]["signature"]
    model["graph_module"]["module_call_graph"] = []
    outputs = {output["as_tensor"]["name"] for output in graph["outputs"]}
    source = {}
    for node in list(graph["nodes"]):
        node["metadata"] = {}
        name = node["outputs"][0].get("as_tensor", {}).get("name") if node["outputs"] else None
        if node["target"] == "torch.ops.aten.clone.default" and name in outputs:
            source[name] = node["inputs"][0]["arg"]["as_tensor"]["name"]
            graph["nodes"].remove(node)
            del graph["tensor_values"][name]
    graph["outputs"] = [{"as_tensor": {"name": source[output["as_tensor"]["name"]]}} for output in graph["outputs"]]
    signature["output_specs"] = [{"user_output": {"arg": output}} for output in graph["outputs"]]
    entries[MODEL] = json.dumps(model, separators=(",", ":")).encode()
    return {name: content for name, content in entries.items()
            if name.startswith(("models/", "data/constants/", "data/weights/", "archive_")) or name == "byteorder"}


def write(path, expected, archives):
    """Writes {group: its entries} and what is expected, the same bytes each time."""
    with tarfile.open(path, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as tar:
        files = {f"{group}/{name}": content for group, entries in archives.items() for name, content in sorted(entries.items())}
        for name, content in {EXPECTED: json.dumps(expected).encode(), **files}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def read(path):
    """What is expected, and {group: its entries}."""
    expected, archives = None, {}
    with tarfile.open(path) as tar:
        for member in tar:
            content = tar.extractfile(member).read()
            if member.name == EXPECTED:
                expected = json.loads(content)
            else:
                group, name = member.name.split("/", 1)
                archives.setdefault(group, {})[name] = content
    return expected, archives


def write_archive(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in entries.items():
            file.writestr(zipfile.ZipInfo(f"archive/{name}"), content)
