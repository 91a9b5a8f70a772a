#!/usr/bin/env python3
"""Holds ops that take or give indices against numpy, element by element: gather, scatter_add, scatter, top_k, sort, cumsum, one_hot,
tril, triu, roll, minima, any, all, dispatch and combine.

A model multiplies each value that it computes with a parameter of its shape and adds all up, so that the parameters'
gradients are the values. Sizes are odd, elements have ties, zeros of both signs, infinities and NaN, and thresholds are
small in one of the programs. Sums are in numpy's order: what is compared is equal.
By hand: check_indices.py --filter bf16.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "gradients")]
from ops import combine, dispatch, places, scatter  # noqa: E402
from support.executable import compile_model, environment, run  # noqa: E402
from support.results import Harness  # noqa: E402
from support import safetensors_io  # noqa: E402

FLOATS, INTS = ["f32", "f64", "bf16"], ["i32", "i64"]
NUMPY = {"f32": np.float32, "f64": np.float64, "bf16": np.float32, "i32": np.int32, "i64": np.int64, "i1": np.bool_}
SMALL = "column-tile=1,flat-tile=8,lazy-ops=1,kernel-ops=2,sum-lanes=1"


def tensor(type_, shape):
    return f"tensor<{'x'.join(map(str, (*shape, type_)))}>"


def rounded(x, type_):
    """f32 numbers that bf16 has, the nearest ones."""
    x = np.asarray(x, NUMPY[type_])
    if type_ != "bf16":
        return x
    bits = np.atleast_1d(x).view(np.uint32)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32).reshape(x.shape)
    return np.where(np.isnan(x), x, nearest)


class Model:
    """Lines of a model, and what its values should be."""

    def __init__(self, batch=3):
        self.batch, self.lines, self.inputs, self.expected = batch, [], {}, {}

    def input(self, type_, array):
        """The name of an input; those of bf16 are inputs of f32, cast."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = np.ascontiguousarray(array, NUMPY[type_])
        if type_ != "bf16":
            return f"%{name}"
        return self.value("bf16", array.shape, f"pp.cast %{name} : {tensor('f32', array.shape)} to {tensor('bf16', array.shape)}")

    def value(self, type_, shape, text, results=1):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name}{f':{results}' if results > 1 else ''} = {text}")
        return name

    def expect(self, value, type_, array):
        """`value` is `array`; where that is NaN, a NaN."""
        array, shape = np.asarray(array), array.shape
        if type_ == "i1":
            one, zero = self.value("i32", (), "pp.constant dense<1> : tensor<i32>"), self.value("i32", (), "pp.constant dense<0> : tensor<i32>")
            value = self.value("i32", shape, f"pp.select {value}, {one}, {zero} : {tensor('i1', shape)}, tensor<i32>, tensor<i32>")
            type_ = "i32"
        if np.issubdtype(array.dtype, np.floating) and np.isnan(array).any():
            isnt = self.value("i1", shape, f"pp.compare eq {value}, {value} : {tensor(type_, shape)}, {tensor(type_, shape)}")
            other = self.value(type_, (), f"pp.constant dense<776.0> : {tensor(type_, ())}")
            value = self.value(type_, shape, f"pp.select {isnt}, {value}, {other} : {tensor('i1', shape)}, {tensor(type_, shape)}, {tensor(type_, ())}")
            array = np.where(np.isnan(array), 776.0, array)
        if np.issubdtype(array.dtype, np.floating) and np.isinf(array).any():
            bound = "{min = -1.0e5 : f64, max = 1.0e5 : f64}"
            value = self.value(type_, shape, f"pp.clamp {value} {bound} : {tensor(type_, shape)}")
            array = np.clip(array, -1e5, 1e5)
            if type_ == "bf16":
                array = rounded(array, "bf16")
        if type_ != "f64":
            value = self.value("f64", shape, f"pp.cast {value} : {tensor(type_, shape)} to {tensor('f64', shape)}")
        self.expected[f"w{len(self.expected)}"] = (value, array.astype(np.float64))

    def text(self):
        arguments = ", ".join(f'%{n}: {tensor({"bool": "i1", "float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64"}[a.dtype.name], a.shape)}'
                              f' {{pp.input = "{n}"}}' for n, a in self.inputs.items())
        lines, total = list(self.lines), None
        for name, (value, array) in self.expected.items():
            type_ = tensor("f64", array.shape)
            lines += [f'%{name} = pp.param "{name}" {{init = #pp.init<zeros>}} : {type_}', f"%m{name} = pp.mul {value}, %{name} : {type_}, {type_}",
                      f"%s{name} = pp.reduce sum %m{name} {list(range(array.ndim))} : {type_}"]
            if total is not None:
                lines.append(f"%t{name} = pp.add {total}, %s{name} : tensor<f64>, tensor<f64>")
            total = f"%s{name}" if total is None else f"%t{name}"
        return (f"func.func @indices({arguments}) -> tensor<f64> {{\n  " + "\n  ".join(lines) + f"\n  return {total} : tensor<f64>\n}}\n")

    def check(self, ppopt, stem, flags, optimized=False):
        with open(stem + ".mlir", "w") as file:
            file.write(self.text())
        executable = compile_model(ppopt, stem + ".mlir", stem, ["--optimizer", "sgd", *flags], optimized=optimized)
        result = run(executable, ["--lr", "0"], inputs=self.inputs, steps=1, dump_gradients=True, export=False)
        wrong = []
        for name, (value, array) in self.expected.items():
            ours = result.gradients.get(name, np.zeros(array.shape))
            if not np.array_equal(ours, array):
                source = next(line for line in self.text().split("\n") if line.strip().startswith(f"%m{name} "))
                at = tuple(np.argwhere(ours != array)[0])
                wrong.append(f"{self.describe(value)} ({source.strip()}): {ours[at]} instead of {array[at]} at {at}")
        assert not wrong, f"{len(wrong)} values are wrong:\n" + "\n".join(wrong[:8])
        return result

    def describe(self, value):
        """The op of a model that a value comes from, before the casts that `expect` adds."""
        lines = {line.split(" = ")[0].split(":")[0]: line.split(" = ", 1)[1] for line in self.lines}
        text = lines.get(value.split("#")[0], value)
        while text.split()[0] in ("pp.cast", "pp.clamp"):
            text = lines.get(text.split()[1].split("#")[0], text.split()[1] + " input")
        return text


#===------------------------------------------------------------------------===#
# Operands
#===------------------------------------------------------------------------===#


def draw(random, type_, shape, special=True):
    """Few values, so that there are ties."""
    x = random.integers(-4, 5, shape)
    if type_ in INTS:
        x = x.astype(NUMPY[type_])
        info = np.iinfo(NUMPY[type_])
        # i32 goes through f64 unchanged; of i64, ends that f64 has.
        return np.where(random.random(shape) < 0.1, random.choice([info.min, info.min, info.max if type_ == "i32" else 1 << 62], shape), x)
    x = x.astype(np.float64) / 2
    if special:
        chosen = random.random(shape)
        x = np.where(chosen < 0.1, -0.0, x)
        x = np.where((chosen > 0.1) & (chosen < 0.15), np.nan, x)
        x = np.where((chosen > 0.15) & (chosen < 0.2), random.choice([np.inf, -np.inf], shape), x)
    return rounded(x, type_)


def order(x, dim, first_largest):
    """The order of PyTorch: stable, and a NaN is larger than all numbers."""
    rank = np.unique(x, return_inverse=True)[1].reshape(x.shape)  # NaN comes last
    return np.argsort(-rank if first_largest else rank, axis=dim, kind="stable")


#===------------------------------------------------------------------------===#
# Cases: each adds to a model
#===------------------------------------------------------------------------===#


def add_orders(model, random, type_):
    for n in (1, 2, 3, 31, 33, 200) if model.batch > 1 else (1, 2):
        shape = (model.batch, n)
        x = draw(random, type_, shape)
        name, given = model.input(type_, x), tensor(type_, shape)
        for flag, largest in (("", True), (", smallest", False)):
            ids = order(x, 1, largest)
            for k in sorted({1, min(3, n), n - 1 or 1, n}):
                k = 150 if k == 199 else k
                ids_type = "i64" if k == 3 else "i32"
                value = model.value(type_, None, f"pp.top_k {name} {{k = {k} : i64, dim = 1 : i64{flag}}} : {given} -> {tensor(type_, (model.batch, k))}, "
                                    f"{tensor(ids_type, (model.batch, k))}", 2)
                model.expect(value + "#0", type_, np.take_along_axis(x, ids[:, :k], 1))
                model.expect(value + "#1", ids_type, ids[:, :k])
        for flag, largest in (("", False), (", descending", True)):
            ids = order(x, 1, largest)
            value = model.value(type_, None, f"pp.sort {name} {{dim = 1 : i64{flag}}} : {given} -> {given}, {tensor('i32', shape)}", 2)
            model.expect(value + "#0", type_, np.take_along_axis(x, ids, 1))
            model.expect(value + "#1", "i32", ids)
    # Along another dimension, and of what is computed.
    shape = (model.batch, 7, 5)
    x = draw(random, type_, shape, special=False)
    doubled = model.value(type_, shape, f"pp.add {model.input(type_, x)}, {model.input(type_, x)} : {tensor(type_, shape)}, {tensor(type_, shape)}")
    x = x + x if type_ in FLOATS else (x.astype(np.uint64) + x.astype(np.uint64)).astype(NUMPY[type_])
    ids = order(x, 1, True)[:, :2]
    value = model.value(type_, None, f"pp.top_k {doubled} {{k = 2 : i64, dim = 1 : i64}} : {tensor(type_, shape)} -> {tensor(type_, (model.batch, 2, 5))}, "
                        f"{tensor('i64', (model.batch, 2, 5))}", 2)
    model.expect(value + "#0", type_, np.take_along_axis(x, ids, 1))
    model.expect(value + "#1", "i64", ids)


def add_in_order(x, ids, updates, dim, type_):
    """Additions one after the other, each rounded."""
    x, ids, updates = (np.moveaxis(a, dim, 0) for a in (x.copy(), ids, updates))
    with np.errstate(all="ignore"):
        for i in range(len(ids)):
            for at in np.ndindex(ids.shape[1:]):
                place = (ids[i][at],) + at
                x[place] = rounded(NUMPY[type_](x[place] + updates[i][at]), type_)
    return np.moveaxis(x, 0, dim)


def add_gathers(model, random, type_):
    for size, count, outer, inner in [(1, 1, (), ()), (1, 5, (), (3,)), (7, 33, (), ()), (31, 3, (), (33,)), (5, 9, (2,), (3,)), (33, 64, (), (1,)),
                                      (6, 10, (), (2, 3)), (3, 70, (), (65,))]:
        dim = 1 + len(outer)
        shape, of_ids = (model.batch, *outer, size, *inner), (model.batch, *outer, count, *inner)
        ids = random.integers(0, size, of_ids)
        x = draw(random, type_, shape, special=False)
        updates = rounded(random.standard_normal(of_ids), type_) if type_ in FLOATS else random.integers(-9, 9, of_ids).astype(NUMPY[type_])
        ids_type = random.choice(INTS)
        names = [model.input(type_, x), model.input(ids_type, ids), model.input(type_, updates)]
        types = [tensor(type_, shape), tensor(ids_type, of_ids), tensor(type_, of_ids)]
        value = model.value(type_, None, f"pp.gather {names[0]}, {names[1]} {{dim = {dim} : i64}} : {types[0]}, {types[1]}")
        model.expect(value, type_, np.take_along_axis(x, ids, dim))
        value = model.value(type_, None, f"pp.scatter_add {', '.join(names)} {{dim = {dim} : i64}} : {', '.join(types)}")
        with np.errstate(over="ignore"):
            model.expect(value, type_, add_in_order(x, ids, updates, dim, type_))
        value = model.value(type_, None, f"pp.scatter {', '.join(names)} {{dim = {dim} : i64}} : {', '.join(types)}")
        model.expect(value, type_, scatter(x, ids, updates, dim))
    # One id for each row of 70 columns.
    ids = random.integers(0, 4, (model.batch, 9, 1))
    x, updates = (rounded(random.standard_normal((model.batch, n, 70)), type_) if type_ in FLOATS
                  else random.integers(-9, 9, (model.batch, n, 70)).astype(NUMPY[type_]) for n in (4, 9))
    wide = tensor("i32", (model.batch, 9, 70))
    repeated = model.value("i32", None, f"pp.broadcast {model.input('i32', ids)} [0, 1, 2] : {tensor('i32', ids.shape)} to {wide}")
    value = model.value(type_, None, f"pp.scatter_add {model.input(type_, x)}, {repeated}, {model.input(type_, updates)} {{dim = 1 : i64}} : "
                        f"{tensor(type_, x.shape)}, {wide}, {tensor(type_, updates.shape)}")
    model.expect(value, type_, add_in_order(x, np.broadcast_to(ids, updates.shape), updates, 1, type_))


def add_sums(model, random, type_):
    for size, inner in [(1, ()), (31, ()), (33, (3,)), (3, (65,)), (5, (2, 3))]:
        shape = (model.batch, size, *inner)
        x = rounded(random.standard_normal(shape), type_) if type_ in FLOATS else random.integers(-9, 9, shape).astype(NUMPY[type_])
        name = model.input(type_, x)
        for flags in ("", ", reverse", ", exclusive", ", reverse, exclusive"):
            turned = np.flip(x, 1) if "reverse" in flags else x
            sums = np.cumsum(turned, 1, dtype=NUMPY[type_])
            if "exclusive" in flags:
                sums = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], 1)
            value = model.value(type_, None, f"pp.cumsum {name} {{dim = 1 : i64{flags}}} : {tensor(type_, shape)}")
            model.expect(value, type_, rounded(np.flip(sums, 1) if "reverse" in flags else sums, type_))


def add_moves(model, random, type_):
    for rows, columns in [(1, 1), (3, 5), (33, 31)]:
        shape = (model.batch, rows, columns)
        x = draw(random, type_, shape, special=False)
        name, given = model.input(type_, x), tensor(type_, shape)
        for op, forward in (("tril", np.tril), ("triu", np.triu)):
            for diagonal in (0, -1, 2, 99):
                value = model.value(type_, None, f"pp.{op} {name} {{diagonal = {diagonal} : i64}} : {given}")
                model.expect(value, type_, forward(x, diagonal))
        for shift, dim in [(0, 1), (1, 1), (-2, 2), (70, 2)]:
            value = model.value(type_, None, f"pp.roll {name} {{shift = {shift} : i64, dim = {dim} : i64}} : {given}")
            model.expect(value, type_, np.roll(x, shift, dim))
        x = draw(random, type_, shape)
        name = model.input(type_, x)
        for dims in ([1], [2], [1, 2]):
            value = model.value(type_, None, f"pp.reduce min {name} {dims} : {given}")
            model.expect(value, type_, np.min(x, tuple(dims)))
        for kind, forward in (("any", np.any), ("all", np.all)):
            for bound in (-9, -2, 9):
                limit = model.value(type_, (), f"pp.constant dense<{bound if type_ in INTS else float(bound)}> : {tensor(type_, ())}")
                is_less = model.value("i1", shape, f"pp.compare lt {name}, {limit} : {given}, {tensor(type_, ())}")
                value = model.value("i1", None, f"pp.reduce {kind} {is_less} [2] : {tensor('i1', shape)}")
                with np.errstate(invalid="ignore"):
                    model.expect(value, "i1", forward(x < bound, 2))
    ids = random.integers(0, 5, (model.batch, 3))
    value = model.value(type_, None, f"pp.one_hot {model.input('i32', ids)} : {tensor('i32', ids.shape)} to {tensor(type_, (*ids.shape, 5))}")
    model.expect(value, type_, (ids[..., None] == np.arange(5)).astype(float))


def add_experts(model, random, type_):
    for tokens, k, count, capacity, width in [(1, 1, 1, 1, 1), (31, 2, 5, 7, 3), (33, 1, 3, 40, 5), (8, 3, 4, 1, 33)]:
        x = rounded(random.standard_normal((model.batch, tokens, width)), type_)
        y = rounded(random.standard_normal((model.batch, count, capacity, width)), type_)
        experts = random.integers(0, count, (model.batch, tokens, k))
        weights = rounded(random.integers(1, 4, experts.shape) / 4, type_)
        ids, buffers = model.input("i32", experts), tensor(type_, y.shape)
        rows, chosen = tensor(type_, x.shape), tensor("i32", experts.shape)
        value = model.value(type_, None, f"pp.dispatch {model.input(type_, x)}, {ids} : {rows}, {chosen} to {buffers}")
        model.expect(value, type_, dispatch(x, experts, count, capacity))
        if k > 1 and type_ != "f64":
            y = np.round(y * 16) / 16  # sums that f32 has
            y = rounded(np.clip(y, -2, 2), type_)
        value = model.value(type_, None, f"pp.combine {model.input(type_, y)}, {ids}, {model.input(type_, weights)} : {buffers}, {chosen}, "
                            f"{tensor(type_, experts.shape)} to {rows}")
        model.expect(value, type_, rounded(combine(y.astype(np.float64), experts, weights.astype(np.float64)), type_))
        assert count > 1 or (places(experts, count, capacity) < capacity).any()


PARTS = {"orders": (add_orders, FLOATS + INTS), "gathers": (add_gathers, FLOATS + INTS), "sums": (add_sums, FLOATS + INTS),
         "moves": (add_moves, FLOATS + INTS), "experts": (add_experts, FLOATS)}


def make_model(part, type_, batch=3):
    model = Model(batch)
    PARTS[part][0](model, np.random.default_rng(len(part) * 7 + batch), type_)
    return model


def check_threads(ppopt, directory):
    """The same bits for any number of threads: of gradients that are sums over the batch, too."""
    random = np.random.default_rng(5)
    shape, ids = (40, 70), random.integers(0, 40, (64, 70)).astype(np.int32)
    text = (f'func.func @table(%ids: {tensor("i32", ids.shape)} {{pp.input = "ids"}}, %w: {tensor("f32", ids.shape)} {{pp.input = "w"}}) -> tensor<f32> {{\n'
            f'  %t = pp.param "t" {{init = #pp.init<normal, 0.0, 1.0>}} : {tensor("f32", shape)}\n'
            f'  %x = pp.gather %t, %ids {{dim = 0 : i64}} : {tensor("f32", shape)}, {tensor("i32", ids.shape)}\n'
            f'  %y = pp.mul %x, %w : {tensor("f32", ids.shape)}, {tensor("f32", ids.shape)}\n'
            f'  %loss = pp.reduce sum %y [0, 1] : {tensor("f32", ids.shape)}\n  return %loss : tensor<f32>\n}}\n')
    model = os.path.join(directory, "table.mlir")
    with open(model, "w") as file:
        file.write(text)
    weights = random.standard_normal(ids.shape).astype(np.float32)
    expected = add_in_order(np.zeros(shape, np.float32), ids, weights, 0, "f32")
    for threads in (1, 3):
        executable = compile_model(ppopt, model, f"{model[:-5]}_{threads}", ["--optimizer", "sgd", "--threads", str(threads)], optimized=True)
        result = run(executable, ["--lr", "0"], inputs={"ids": ids, "w": weights}, steps=1, dump_gradients=True, export=False)
        assert np.array_equal(result.gradients["t"], expected), f"{threads} threads: the table's gradient is not the sum in order"


ROUTED = """func.func @routed(%x: tensor<8x5x6xf64> {pp.input = "x"}, %ids: tensor<8x6xi32> {pp.input = "ids"}) -> tensor<f64> {
  %gate = pp.param "gate" {init = #pp.init<normal, 0.0, 0.5>} : tensor<6x3xf64>
  %scale = pp.param "scale" {init = #pp.init<normal, 1.0, 0.5>, shard = #pp.sharding<[{}, {}, {tp}]>} : tensor<3x1x6xf64>
  %table = pp.param "table" {init = #pp.init<normal, 0.0, 1.0>, shard = #pp.sharding<[{}, {tp}]>} : tensor<7x6xf64>
  %picked = pp.gather %table, %ids {dim = 0 : i64} : tensor<7x6xf64>, tensor<8x6xi32>
  %more = pp.reshape %picked : tensor<8x6xf64> to tensor<8x1x6xf64>
  %rows = pp.add %x, %more : tensor<8x5x6xf64>, tensor<8x1x6xf64>
  %sums = pp.cumsum %rows {dim = 1 : i64} : tensor<8x5x6xf64>
  %rolled = pp.roll %sums {shift = 2 : i64, dim = 1 : i64} : tensor<8x5x6xf64>
  %scores = pp.matmul %x, %gate : tensor<8x5x6xf64>, tensor<6x3xf64>
  %chances = pp.softmax %scores : tensor<8x5x3xf64>
  %weights, %experts = pp.top_k %chances {k = 2 : i64, dim = 2 : i64} : tensor<8x5x3xf64> -> tensor<8x5x2xf64>, tensor<8x5x2xi32>
  %buffers = pp.dispatch %rolled, %experts : tensor<8x5x6xf64>, tensor<8x5x2xi32> to tensor<8x3x3x6xf64>
  %computed = pp.mul %buffers, %scale : tensor<8x3x3x6xf64>, tensor<3x1x6xf64>
  %y = pp.combine %computed, %experts, %weights : tensor<8x3x3x6xf64>, tensor<8x5x2xi32>, tensor<8x5x2xf64> to tensor<8x5x6xf64>
  %square = pp.mul %y, %y : tensor<8x5x6xf64>, tensor<8x5x6xf64>
  %loss = pp.reduce mean %square [0, 1, 2] : tensor<8x5x6xf64>
  return %loss : tensor<f64>
}
"""


def check_sharded(ppopt, directory):
    """Experts and a gathered table train alike whole, and cut by rows of the batch and by columns."""
    model, random = os.path.join(directory, "routed.mlir"), np.random.default_rng(9)
    with open(model, "w") as file:
        file.write(ROUTED)
    inputs = {"x": random.standard_normal((24, 5, 6)), "ids": random.integers(0, 7, (24, 6)).astype(np.int32)}
    losses = {}
    for plan in ("", "--microbatches 4", "--mesh dp=2,tp=2 --microbatches 2", "--mesh dp=2,tp=2 --zero 3", "--mesh tp=2 --recompute layer"):
        stem = f"{model[:-5]}_{len(losses)}"
        executable = compile_model(ppopt, model, stem, ["--optimizer", "sgd", "--threads", "1", *plan.split()])
        losses[plan] = run(executable, ["--lr", "0.3"], inputs=inputs, steps=3, export=False).losses
        assert np.allclose(losses[plan], losses[""], rtol=1e-12, atol=0), f"{plan}: losses {losses[plan]}, of one rank {losses['']}"
    assert len(set(losses[""])) == 3, "nothing is trained"


def check_range(ppopt, directory):
    """Ids that are out of range are refused, of inputs by name."""
    for op, text, size in [("gather", "pp.gather %x, %ids {dim = 1 : i64} : tensor<2x5xf64>, tensor<2x5xi32>", 5),
                           ("scatter_add", "pp.scatter_add %x, %ids, %x {dim = 1 : i64} : tensor<2x5xf64>, tensor<2x5xi32>, tensor<2x5xf64>", 5)]:
        model = os.path.join(directory, f"{op}.mlir")
        with open(model, "w") as file:
            file.write('func.func @range(%x: tensor<2x5xf64> {pp.input = "x"}, %ids: tensor<2x5xi32> {pp.input = "ids"}) -> tensor<f64> {\n'
                       '  %w = pp.param "w" {init = #pp.init<ones>} : tensor<5xf64>\n'
                       f"  %g = {text}\n  %y = pp.mul %g, %w : tensor<2x5xf64>, tensor<5xf64>\n"
                       "  %loss = pp.reduce sum %y [0, 1] : tensor<2x5xf64>\n  return %loss : tensor<f64>\n}\n")
        executable = compile_model(ppopt, model, model[:-5], ["--optimizer", "sgd"])
        for bad in (-1, size):
            inputs = os.path.join(directory, "bad.safetensors")
            safetensors_io.write(inputs, {"x": np.zeros((2, 5)), "ids": np.full((2, 5), bad, np.int32)})
            done = subprocess.run([executable.path, "--steps", "1", "--inputs", inputs], capture_output=True, text=True, env=environment())
            said = done.stderr + done.stdout
            assert done.returncode != 0 and str(bad) in said and "ids" in said, f"{op} takes id {bad}: {said[-500:]}"


def main():
    harness = Harness("indices")
    with tempfile.TemporaryDirectory() as directory:
        tests = []
        for part, (_, types) in PARTS.items():
            for type_ in types:
                stem = os.path.join(directory, f"{part}_{type_}")
                tests.append((f"{part} {type_}", lambda part=part, type_=type_, stem=stem:
                              make_model(part, type_).check(harness.ppopt, stem, ["--threads", "1"], optimized=type_ == "f32")))
            stem = os.path.join(directory, f"{part}_small")
            tests.append((f"{part} f32, small tiles", lambda part=part, stem=stem: make_model(part, "f32", 2).check(
                harness.ppopt, stem, ["--threads", "3", "--threshold", SMALL])))
            stem = os.path.join(directory, f"{part}_row")
            tests.append((f"{part} f32, one row", lambda part=part, stem=stem: make_model(part, "f32", 1).check(harness.ppopt, stem, ["--threads", "1"])))
        tests.append(("threads", lambda: check_threads(harness.ppopt, directory)))
        tests.append(("sharded", lambda: check_sharded(harness.ppopt, directory)))
        tests.append(("range", lambda: check_range(harness.ppopt, directory)))
        harness.cases(tests)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
