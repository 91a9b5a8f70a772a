"""The rows of hostile.py that give an op operands that it cannot have, or another result than it makes."""


def node(m, target, which=0):
    return [n for n in m["graph_module"]["graph"]["nodes"] if n["target"].endswith(target)][which]


def meta(m, name):
    return m["graph_module"]["graph"]["tensor_values"][name]


def ints(*values):
    return [{"as_int": v} for v in values]


def as_op(op, sizes=None, **arguments):
    """Makes another op of gelu, whose operand and result are of 4 rows of 12, with a result of `sizes`."""
    def change(m):
        node(m, "gelu.default").update(target=f"torch.ops.{op}", inputs=[{"name": name, "arg": arg, "kind": 1} for name, arg in arguments.items()])
        if sizes is not None:
            meta(m, "gelu").update(sizes=ints(*sizes), strides=ints(*[1] * len(sizes)))
    return lambda a: a.change(change)


def tensor(name):
    return {"as_tensor": {"name": name}}


ROWS = {
    "operands_that_do_not_broadcast": (["contradicts", "broadcast"], as_op("aten.add.Tensor", self=tensor("linear"), other=tensor("x"))),
    "operands_that_do_not_join": (["contradicts"], as_op("aten.cat.default", tensors={"as_tensors": [{"name": "linear"}, {"name": "x"}]})),
    "operands_that_do_not_multiply": (["contradicts", "6", "12"], as_op("aten.mm.default", self=tensor("x"), mat2=tensor("p_layers_2_weight"))),
    "operands_that_are_none": (["None"], as_op("aten.cat.default", tensors={"as_optional_tensors": [{"as_none": True}]})),
    "operands_that_are_not_there": (["joins no"], as_op("aten.cat.default", tensors={"as_tensors": []})),
    "padding_of_too_many_dimensions": (["dimensions"], as_op("aten.constant_pad_nd.default", self=tensor("linear"), pad={"as_ints": [0, 0, 0, 0, 1, 1]})),
    "padding_to_too_large_a_mask": (["too large"], as_op("aten.constant_pad_nd.default", [4, 2 ** 36], self=tensor("linear"),
                                                         pad={"as_ints": [0, 2 ** 36 - 12]}, value={"as_float": 1.0})),
    "repeat_to_fewer_dimensions": (["dimensions"], as_op("aten.repeat.default", [48], self=tensor("linear"), repeats={"as_ints": [1]})),
    "diagonal_of_no_dimensions": (["diagonal"], as_op("aten.diagonal.default", [], self=tensor("linear"))),
    "parts_of_another_rank": (["rank"], as_op("aten.split.Tensor", [], self=tensor("linear"), split_size={"as_int": 4})),
    "triangle_of_a_vector": (["triangle"], as_op("aten.tril.default", [12], self=tensor("p_layers_0_bias"))),
    "convolution_by_a_vector": (["channels"], as_op("aten.conv2d.default", input=tensor("linear"), weight=tensor("p_layers_0_bias"))),
    "matmul_of_a_number": (["no tensor"], as_op("aten.matmul.default", self=tensor("linear"), other={"as_float": 1.0})),
    "indices_that_do_not_broadcast": (["indices"], as_op("aten.index.Tensor", self=tensor("linear"), indices={"as_optional_tensors": [tensor("x"), tensor("y")]})),
}


def loss_of_float16(a):
    def change(m):
        node(m, "mse_loss.default").update(target="torch.ops.aten.full.default", inputs=[
            {"name": name, "arg": arg, "kind": 1} for name, arg in (("size", {"as_ints": []}), ("fill_value", {"as_float": 1.0}))])
        meta(m, "mse_loss").update(dtype=6)
    a.change(change)


def loss_of_other_shapes(a):
    a.change(lambda m: [argument.update(arg={"as_tensor": {"name": name}})
                        for argument, name in zip(node(m, "mse_loss.default")["inputs"], ("linear", "x"))])


CASES = {name: (function, ["own_models.py:", *words]) for name, (words, function) in ROWS.items()}
CASES["loss_of_float16"] = (loss_of_float16, ["float16", "models do not have"])
CASES["loss_of_other_shapes"] = (loss_of_other_shapes, ["aten.mse_loss.default", "contradicts", "own_models.py:"])
