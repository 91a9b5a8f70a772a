#!/usr/bin/env python3
"""make_archive_seeds.py FOLDER: writes small archives of torch.export, made of the cases of test/import/ops: an op in each, with its loss, and ops on
constants, some in each. What only readers of the file see (stack traces, the tree of modules) is left out: it would be most of what is changed."""
import io
import json
import pathlib
import sys
import tarfile
import zipfile

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent.parent / "import")]
import constant_archives  # noqa: E402

OPS = pathlib.Path(__file__).resolve().parent.parent / "import" / "ops"
MODEL = "models/model.json"
LARGEST = 16384  # of a seed
CALLS = 8  # ops on constants in a seed


def read(data):
    """The entries of an archive, and its program."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        entries = {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
    return entries, json.loads(entries[MODEL])


def write(path, entries, model):
    for node in model["graph_module"]["graph"]["nodes"]:
        node["metadata"] = {}
    model["graph_module"]["module_call_graph"] = []
    entries = {**entries, MODEL: json.dumps(model, separators=(",", ":")).encode()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in entries.items():
            if name.startswith(("models/", "data/weights/", "data/constants/", "archive_", "byteorder")):
                file.writestr(zipfile.ZipInfo(f"a/{name}"), content)


def names_in(value):
    """The tensors among arguments."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner["name"]] if key == "as_tensor" else names_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from [inner["name"]] if isinstance(inner, dict) and "name" in inner and "arg" not in inner else names_in(inner)


def with_nodes(entries, model, nodes):
    """The archive of some nodes, which read buffers, and return what they make."""
    module, graph = model["graph_module"], model["graph_module"]["graph"]
    used, made = set(names_in([node["inputs"] for node in nodes])), list(names_in([node["outputs"] for node in nodes]))
    specs = [spec for spec in module["signature"]["input_specs"] if spec["buffer"]["arg"]["name"] in used]
    buffers = {spec["buffer"]["buffer_name"] for spec in specs}
    outputs = [{"as_tensor": {"name": name}} for name in made]
    graph = dict(graph, nodes=nodes, outputs=outputs, inputs=[each for each in graph["inputs"] if each["as_tensor"]["name"] in used],
                 tensor_values={name: meta for name, meta in graph["tensor_values"].items() if name in used or name in made})
    signature = {"input_specs": specs, "output_specs": [{"user_output": {"arg": output}} for output in outputs]}
    kept = {}
    for name, content in entries.items():
        if name.endswith("_config.json"):
            config = {key: entry for key, entry in json.loads(content)["config"].items() if key in buffers}
            kept[name] = json.dumps({"config": config}).encode()
            for entry in config.values():
                path = f"{name.rsplit('/', 1)[0]}/{entry['path_name']}"
                kept[path] = entries[path]
    return kept, dict(model, graph_module=dict(module, graph=graph, signature=signature))


def first_calls(model):
    """The first node of each op."""
    first = {}
    for node in model["graph_module"]["graph"]["nodes"]:
        first.setdefault(node["target"], node)
    return list(first.values())


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(OPS / "ops.tar.xz") as packed:
        for member in packed:
            if member.size <= LARGEST:
                write(folder / member.name, *read(packed.extractfile(member).read()))
    for name, entries in constant_archives.read(OPS / "constants.tar.xz")[1].items():
        model = json.loads(entries[MODEL])
        nodes = first_calls(model)
        for k in range(0, len(nodes), CALLS):
            write(folder / f"constants_{name}_{k}.pt2", *with_nodes(entries, model, nodes[k:k + CALLS]))


if __name__ == "__main__":
    main()
