#!/usr/bin/env python3
"""Breaks a good archive in every way that we know, and says what the error must say.

    hostile.py GOOD.pt2[.gz] FOLDER

writes NAME.pt2 for each function below and expected.json: NAME -> words that the message must have (in any case, each of them), or null
where the archive is unusual and right. GOOD is archives/mlp.pt2.gz: some rows know its nodes. Nothing but Python is needed.
"""
import gzip
import json
import pathlib
import struct
import sys

import hostile_operands
import hostile_zips
from hostile_operands import ints, meta, node
from hostile_zips import Archive, pack

CASES = {}
WEIGHTS = "data/weights/model_weights_config.json"


def case(*words):
    """What follows changes an Archive (or returns other bytes); words: of the error."""
    def add(function):
        CASES[function.__name__] = (function, list(words))
        return function
    return add


def right(function):
    CASES[function.__name__] = (function, None)
    return function


# JSON.

@case("model.json", "JSON")
def json_is_text(a):
    a.entries["models/model.json"] = b"hello"


@case("model.json", "JSON")
def json_is_empty(a):
    a.entries["models/model.json"] = b""


@case("model.json", "JSON")
def json_is_cut(a):
    a.entries["models/model.json"] = a.entries["models/model.json"][:-100]


@case("model.json", "JSON")
def json_is_not_utf8(a):
    a.entries["models/model.json"] = a.entries["models/model.json"].replace(b"linear", b"line\xff\xfe", 1)


@case("model.json", "not an object")
def json_nests_deep(a):
    a.entries["models/model.json"] = b"[" * 100_000 + b"]" * 100_000


def nested(a, kind, levels):
    """An argument within arguments."""
    text = b'{"as_tensor": {"name": "linear"}}'
    assert text in a.entries["models/model.json"]
    a.entries["models/model.json"] = a.entries["models/model.json"].replace(text, b'{"%s":' % kind * levels + text + b"}" * levels, 1)


@case("nests deeper than")
def argument_nests_deep(a):
    nested(a, b"as_optional_tensor", 2_000)


@right
def argument_nests(a):
    nested(a, b"as_optional_tensor", 3)


@right
def json_nests_deep_in_a_node(a):
    """Where a reader has already begun to walk."""
    text = a.entries["models/model.json"]
    a.entries["models/model.json"] = text.replace(b'"is_hop_single_tensor_return": null', b'"is_hop_single_tensor_return": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 1)


@case("model.json", "JSON")
def json_has_nan(a):
    a.entries["models/model.json"] = a.entries["models/model.json"].replace(b'"kind": 1', b'"kind": NaN', 1)


@case("model.json")
def json_is_a_list(a):
    a.entries["models/model.json"] = b"[]"


@case("graph_module")
def json_is_an_empty_object(a):
    a.change(lambda m: m.clear() or m.update(schema_version={"major": 8, "minor": 20}))


@case("schema", "7")
def schema_7(a):
    a.change(lambda m: m["schema_version"].update(major=7))


@case("schema", "9")
def schema_9(a):
    a.change(lambda m: m["schema_version"].update(major=9))


@case("schema_version")
def schema_missing(a):
    a.change(lambda m: m.pop("schema_version"))


@case("schema_version")
def schema_is_text(a):
    a.change(lambda m: m.update(schema_version="8.20"))


@right
def schema_minor_999(a):
    a.change(lambda m: m["schema_version"].update(minor=999))


@right
def unknown_keys(a):
    def change(m):
        m["future"] = {"x": [1]}
        m["graph_module"]["future"] = None
        for node in m["graph_module"]["graph"]["nodes"]:
            node["future"] = "x"
        for meta in m["graph_module"]["graph"]["tensor_values"].values():
            meta["future"] = 1
    a.change(change)


# Nodes. (mlp: linear, gelu, linear_1, tanh, linear_2, broadcast_tensors, mse_loss)

@case("graph", "nodes")
def nodes_missing(a):
    a.change(lambda m: m["graph_module"]["graph"].pop("nodes"))


@case("nodes")
def nodes_are_an_object(a):
    a.change(lambda m: m["graph_module"]["graph"].update(nodes={"a": 1}))


@case("target")
def node_without_target(a):
    a.change(lambda m: node(m, "gelu.default").pop("target"))


@case("target")
def target_is_a_number(a):
    a.change(lambda m: node(m, "gelu.default").update(target=7))


@case("banana")
def unknown_op(a):
    a.change(lambda m: node(m, "gelu.default").update(target="torch.ops.aten.banana.default"))


@case("gelu", "banana")
def unknown_argument(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"].append({"name": "banana", "arg": {"as_int": 1}, "kind": 1}))


@case("gelu", "self")
def argument_missing(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"].clear())


@case("gelu", "self")
def argument_twice(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"].append(node(m, "gelu.default")["inputs"][0]))


@case("as_banana")
def argument_of_unknown_kind(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0].update(arg={"as_banana": 1}))


@case("gelu", "the archive says")
def argument_of_wrong_kind(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0].update(arg={"as_int": 1}))


@case("inputs[0].arg", "one field")
def argument_of_two_kinds(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0]["arg"].update(as_int=1))


@case("inputs[0].arg", "one field")
def argument_of_no_kind(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0].update(arg={}))


@case("nothing_like_it")
def reference_to_nothing(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0].update(arg={"as_tensor": {"name": "nothing_like_it"}}))


@case("tanh")
def reference_to_a_later_node(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0].update(arg={"as_tensor": {"name": "tanh"}}))


@case("gelu")
def reference_to_itself(a):
    a.change(lambda m: node(m, "gelu.default")["inputs"][0].update(arg={"as_tensor": {"name": "gelu"}}))


@case("linear", "second time")
def two_results_of_one_name(a):
    a.change(lambda m: node(m, "gelu.default").update(outputs=[{"as_tensor": {"name": "linear"}}]))


@case("p_layers_0_weight", "second time")
def result_named_as_a_parameter(a):
    a.change(lambda m: node(m, "gelu.default").update(outputs=[{"as_tensor": {"name": "p_layers_0_weight"}}]))


@case("gelu", "nothing before it makes")
def node_without_results(a):
    a.change(lambda m: node(m, "gelu.default").update(outputs=[]))


@right
def node_of_too_many_results(a):
    def change(m):
        node(m, "gelu.default")["outputs"].append({"as_tensor": {"name": "more"}})
        m["graph_module"]["graph"]["tensor_values"]["more"] = m["graph_module"]["graph"]["tensor_values"]["gelu"]
    a.change(change)


@case("gelu", "no tensor")
def result_without_a_type(a):
    a.change(lambda m: m["graph_module"]["graph"]["tensor_values"].pop("gelu"))


@case("gelu", "shape")
def result_of_another_shape(a):
    a.change(lambda m: meta(m, "gelu").update(sizes=[{"as_int": 4}, {"as_int": 13}]))


@case("type", "contradicts")
def result_of_another_type(a):
    a.change(lambda m: meta(m, "gelu").update(dtype=8))


@case("99")
def dtype_99(a):
    a.change(lambda m: meta(m, "x").update(dtype=99))


@case("dtype")
def dtype_is_text(a):
    a.change(lambda m: meta(m, "x").update(dtype="float32"))


@case("x", "complex64")
def dtype_complex(a):
    a.change(lambda m: meta(m, "x").update(dtype=10))


@case("x", "size")
def size_negative(a):
    a.change(lambda m: meta(m, "x").update(sizes=[{"as_int": -4}, {"as_int": 6}]))


@case("x", "size")
def size_overflows(a):
    a.change(lambda m: meta(m, "x").update(sizes=[{"as_int": 2 ** 62}, {"as_int": 2 ** 62}]))


@case("size")
def size_beyond_64_bits(a):
    a.change(lambda m: meta(m, "x").update(sizes=[{"as_int": 2 ** 70}, {"as_int": 6}]))


@case("size")
def size_is_a_fraction(a):
    a.change(lambda m: meta(m, "x").update(sizes=[{"as_int": 4.5}, {"as_int": 6}]))


@case("gelu", "shape")
def size_of_unknown_symbol(a):
    a.change(lambda m: meta(m, "gelu").update(sizes=[{"as_expr": {"expr_str": "Symbol('s17')", "hint": None}}, {"as_int": 12}]))


@case("sizes")
def sizes_missing(a):
    a.change(lambda m: meta(m, "x").pop("sizes"))


@right
def nodes_10_000(a):
    """Each adds 0: the figures are those of GOOD."""
    def change(m):
        graph = m["graph_module"]["graph"]
        first = graph["nodes"].index(node(m, "gelu.default"))
        count, name, chain = 10_000 - len(graph["nodes"]), "linear", []
        for k in range(count):
            chain.append({"target": "torch.ops.aten.add.Tensor", "inputs": [
                {"name": "self", "arg": {"as_tensor": {"name": name}}, "kind": 1}, {"name": "other", "arg": {"as_float": 0.0}, "kind": 1}],
                "outputs": [{"as_tensor": {"name": f"add_{k}"}}], "metadata": {}, "is_hop_single_tensor_return": None, "name": f"add_{k}"})
            name = f"add_{k}"
            graph["tensor_values"][name] = graph["tensor_values"]["linear"]
        graph["nodes"][first:first] = chain
        node(m, "gelu.default")["inputs"][0]["arg"] = {"as_tensor": {"name": name}}
    a.change(change)


@right
def no_metadata(a):
    def change(m):
        for n in m["graph_module"]["graph"]["nodes"]:
            n["metadata"] = {}
            n.pop("name")
            for argument in n["inputs"]:
                argument.pop("kind")
    a.change(change)


@right
def stack_traces_are_noise(a):
    def change(m):
        for k, n in enumerate(m["graph_module"]["graph"]["nodes"]):
            n["metadata"]["stack_trace"] = ["", "\n\n", 'File "', 'File "x", line 99999999999999999999, in f', "no frames\nat all", '"\0"', "ü" * 5000][k % 7]
            n["metadata"]["nn_module_stack"] = ["", ";;;", ",,", "a,b", "a,b,c,d;e"][k % 5]
    a.change(change)


# Outputs and signature.

@case("output")
def output_unknown(a):
    a.change(lambda m: m["graph_module"]["graph"].update(outputs=[{"as_tensor": {"name": "nothing_like_it"}}]))


@case("returns no loss")
def no_outputs(a):
    def change(m):
        m["graph_module"]["graph"]["outputs"] = []
        m["graph_module"]["signature"]["output_specs"] = []
    a.change(change)


def specs(m):
    return m["graph_module"]["signature"]["input_specs"]


@case("input_specs")
def specs_missing(a):
    a.change(lambda m: m["graph_module"]["signature"].pop("input_specs"))


@case("input")
def spec_too_few(a):
    a.change(lambda m: specs(m).pop())


@case("input")
def spec_too_many(a):
    a.change(lambda m: specs(m).append({"user_input": {"arg": {"as_tensor": {"name": "z"}}}}))


@case("banana")
def spec_of_unknown_kind(a):
    a.change(lambda m: specs(m).__setitem__(0, {"banana": {"arg": {"name": "p_layers_0_weight"}}}))


@case("layers.0.weight", "shape")
def spec_of_another_name(a):
    a.change(lambda m: specs(m)[0]["parameter"]["arg"].update(name="p_other"))


@case("layers.9.weight")
def parameter_without_a_weight(a):
    a.change(lambda m: specs(m)[0]["parameter"].update(parameter_name="layers.9.weight"))


@case("layers.0.bias", "shape")
def two_parameters_of_one_name(a):
    a.change(lambda m: specs(m)[0]["parameter"].update(parameter_name="layers.0.bias"))


@case("no values")
def parameter_without_a_name(a):
    a.change(lambda m: specs(m)[0]["parameter"].update(parameter_name=""))


@right
def buffer_without_a_constant(a):
    def change(m):
        specs(m)[0] = {"buffer": {"arg": {"name": "p_layers_0_weight"}, "buffer_name": "layers.0.weight", "persistent": False}}
    a.change(change)


@case("custom_obj")
def spec_custom_object(a):
    a.change(lambda m: specs(m).__setitem__(0, {"custom_obj": {"arg": {"name": "p_layers_0_weight", "class_fqn": "x"}, "custom_obj_name": "c"}}))


@case("batch")
def input_without_a_batch(a):
    a.change(lambda m: meta(m, "y").update(sizes=[], strides=[]))


# Weights.

def weight(name="layers.0.weight", **changes):
    """Changes the entry of a weight, 12 rows of 6 numbers: keys of tensor_meta, or of the entry itself."""
    def change(a):
        config = json.loads(a.entries[WEIGHTS])
        entry = config["config"][name]
        for key, value in changes.items():
            (entry if key in entry else entry["tensor_meta"])[key] = value
        a.entries[WEIGHTS] = json.dumps(config).encode()
    return change


L = "layers.0.weight"
WEIGHT_CASES = {
    "weight_pickled": ([L, "pickled"], weight(use_pickle=True)),
    "weight_offset_beyond": ([L, "storage"], weight(storage_offset={"as_int": 1})),
    "weight_offset_negative": ([L, "begins at"], weight(storage_offset={"as_int": -1})),
    "weight_offset_overflows": ([L], weight(storage_offset={"as_int": 2 ** 63 - 1})),
    "weight_stride_negative": ([L, "stride"], weight(strides=ints(-6, 1))),
    "weight_stride_zero": ([L, "stride"], weight(strides=ints(0, 1))),
    "weight_strides_overlap": ([L, "stride"], weight(strides=ints(1, 1))),
    "weight_stride_beyond": ([L, "storage"], weight(strides=ints(7, 1))),
    "weight_stride_overflows": ([L], weight(strides=ints(2 ** 62, 1))),
    "weight_bytes_overflow": ([L], weight(sizes=ints(2 ** 61, 1), strides=ints(1, 1))),
    "weight_size_wraps": ([L], weight(sizes=ints(2 ** 32, 2 ** 32), strides=ints(2 ** 32, 1))),
    "weight_size_negative": ([L, "size"], weight(sizes=ints(-12, -6))),
    "weight_size_of_another_shape": ([L, "shape"], weight(sizes=ints(6, 12), strides=ints(12, 1))),
    "weight_ranks_differ": ([L, "stride"], weight(strides=ints(1))),
    "weight_of_another_type": ([L, "storage"], weight(dtype=5)),
    "weight_dtype_99": ([L, "99"], weight(dtype=99)),
    "weight_dtype_float8": ([L, "the type 29"], weight(dtype=29)),
    "weight_sparse": ([L, "layout"], weight(layout=1)),
    "weight_size_is_a_symbol": ([L, "size"], weight(sizes=[{"as_expr": {"expr_str": "Symbol('s0')", "hint": {"as_int": 12}}}, {"as_int": 6}])),
    "weight_file_missing": ([L, "weight_99"], weight(path_name="weight_99")),
    "weight_file_outside": ([L, "which the archive lacks"], weight(path_name="../../../../../../etc/passwd")),
    "weight_file_absolute": ([L, "which the archive lacks"], weight(path_name="/etc/passwd")),
    "weight_file_is_the_program": ([L], weight(path_name="../../models/model.json")),
    "weight_complex": ([L, "complex64"], weight(dtype=10)),
    "weight_without_meta": ([L, "tensor_meta"], weight(tensor_meta=None)),
    "weight_repeats_itself": ([L, "share memory"], weight(is_param=False, sizes=ints(2 ** 24, 2 ** 23), strides=ints(0, 0))),
    # The bias begins within the other bias: neither tied nor apart.
    "weights_overlap": (["layers.2.bias", "share a part"], lambda a: overlapping(a)),
}


def overlapping(a):
    config = json.loads(a.entries[WEIGHTS])
    first, second = config["config"]["layers.0.bias"], config["config"]["layers.2.bias"]
    a.entries["data/weights/" + first["path_name"]] *= 2
    second["path_name"] = first["path_name"]
    second["tensor_meta"]["storage_offset"] = {"as_int": 6}
    a.entries[WEIGHTS] = json.dumps(config).encode()


for name, (words, function) in WEIGHT_CASES.items():
    CASES[name] = (function, words)


@case("no values")
def weights_config_missing(a):
    del a.entries[WEIGHTS]


@case("weights_config", "JSON")
def weights_config_is_text(a):
    a.entries[WEIGHTS] = b"hello"


@case("weights_config", "config")
def weights_config_is_empty(a):
    a.entries[WEIGHTS] = b"{}"


@case("layers.0.weight", "storage")
def weight_file_cut(a):
    a.entries["data/weights/weight_0"] = a.entries["data/weights/weight_0"][:-1]


@case("weight_0")
def weight_file_gone(a):
    del a.entries["data/weights/weight_0"]


@right
def weight_transposed(a):
    """The same numbers, stored by columns."""
    data = a.entries["data/weights/weight_0"]
    numbers = struct.unpack("<72f", data)
    a.entries["data/weights/weight_0"] = struct.pack("<72f", *(numbers[row * 6 + column] for column in range(6) for row in range(12)))
    weight(strides=ints(1, 12))(a)


@right
def weight_in_a_larger_storage(a):
    a.entries["data/weights/weight_0"] = b"\xff" * 40 + a.entries["data/weights/weight_0"] + b"\xff" * 12
    weight(storage_offset={"as_int": 10})(a)


# The archive.

@case("model.json")
def model_missing(a):
    del a.entries["models/model.json"]


@case("models")
def two_models(a):
    a.entries["models/other.json"] = a.entries["models/model.json"]


@case("big")
def byteorder_big(a):
    a.entries["byteorder"] = b"big"


@case("archive_format")
def format_other(a):
    a.entries["archive_format"] = b"pt3"


@right
def no_sample_inputs(a):
    del a.entries["data/sample_inputs/model.pt"]


@right
def another_folder(a):
    a.root = "renamed-and Ünusual"


@right
def entries_in_another_order(a):
    a.entries = dict(reversed(a.entries.items()))


def in_region(model, target, *arguments):
    """Puts the node that makes gelu into a graph of its own, which `target` calls."""
    graph = model["graph_module"]["graph"]
    number = next(i for i, each in enumerate(graph["nodes"]) if each["outputs"] == [{"as_tensor": {"name": "gelu"}}])
    inner = graph["nodes"][number]
    given = inner["inputs"][0]["arg"]
    region = dict(graph, inputs=[given], outputs=inner["outputs"], nodes=[inner], tensor_values={"gelu": graph["tensor_values"]["gelu"]})
    arguments = [*arguments, {"as_graph": {"name": "submod_1", "graph": region}}, given]
    graph["nodes"][number] = dict(inner, target=target, inputs=[{"name": "", "arg": each, "kind": 1} for each in arguments])


@right
def region_with_gradients(a):
    a.change(lambda m: in_region(m, "torch.ops.higher_order.wrap_with_set_grad_enabled", {"as_bool": True}))


@case("own_models.py:", "wrap_with_autocast", "not supported", "--precision bf16")
def region_of_autocast(a):
    """Whose casts are not in the graph."""
    a.change(lambda m: in_region(m, "torch.ops.higher_order.wrap_with_autocast", {"as_string": "cpu"}, {"as_scalar_type": 13}, {"as_bool": False}))


def main():
    good, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    data = good.read_bytes()
    data = gzip.decompress(data) if good.suffix == ".gz" else data
    folder.mkdir(exist_ok=True)
    expected = {}
    for name, (function, words) in {**CASES, **hostile_operands.CASES, **hostile_zips.CASES}.items():
        archive = Archive(data)
        changed = function(archive)
        (folder / f"{name}.pt2").write_bytes(changed if isinstance(changed, bytes) else pack(archive))
        expected[name] = words
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    print(f"{len(expected)} archives")


if __name__ == "__main__":
    main()
