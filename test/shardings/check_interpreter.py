#!/usr/bin/env python3
"""The interpreter of sharded modules itself: layouts, tiles, every op against PyTorch's numbers, and modules sharded by hand."""
import dataclasses
import functools
import itertools
import json
import os
import pathlib
import sys
import tempfile
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "models")]
from support.results import Harness  # noqa: E402

from description import make_inputs, make_params  # noqa: E402
from dice import Dice  # noqa: E402
from interpreter import Failure, Interpreter, Op, compare  # noqa: E402
from layout import Disagreement, Grid, Sharding, assemble, box, cut, cut_indices, reshard, tile_indices  # noqa: E402
from ops import OPS  # noqa: E402
from pp_text import pp_text  # noqa: E402
from programs import PRINT, print_modules, print_trained  # noqa: E402

TOLERANCE = 1e-12
FIXTURE_TOLERANCE = 1e-9
FIXTURES_EACH = 16
# Ops of several places; no fixture is cut into stages.
NOT_IN_FIXTURES = {"pp.copy"}


# --- layouts -----------------------------------------------------------------


def draw_sharding(dice, grid, shape):
    dims, left = [[] for _ in shape], list(shape)
    for axis in dice.random.permutation(grid.axes):
        dim = int(dice.random.integers(len(shape)))
        least = dims[dim][-1][1] if dims[dim] else 1
        outer = [o for o in (1, 2, 3, 4, 6) if left[dim] % (grid.sizes[axis] * o) == 0 and o % least == 0]
        if outer and dice.chance(0.6):
            dims[dim].append((str(axis), dice.pick(outer)))
            left[dim] //= grid.sizes[axis]
    used = {axis for dim in dims for axis, _ in dim}
    partial = tuple(axis for axis in grid.axes if axis not in used and dice.chance(0.4))
    return Sharding(tuple(map(tuple, dims)), sum=partial)


def check_layouts(seed):
    """A value that is cut and assembled again is the same; a tile's indices are those of its cuts."""
    dice = Dice([seed, 41])
    grid = Grid([("dp", 2), ("tp", 3), ("sp", 2), ("mb", 2)][dice.pick([0, 1, 2]):])
    shape = tuple(dice.pick([6, 12, 24, 36]) for _ in range(dice.pick([1, 2])))
    value = dice.random.standard_normal(shape)
    first, second = draw_sharding(dice, grid, shape), draw_sharding(dice, grid, shape)
    parts = cut(grid, value, first)
    assert np.allclose(assemble(grid, parts, first, shape), value, 1e-14, 0), first
    moved = reshard(grid, parts, first, second, shape)
    assert np.allclose(assemble(grid, moved, second, shape), value, 1e-14, 0), (first, second)
    for size, cuts in zip(shape, first.dims):
        left, tile = size, []
        for at, (axis, outer) in enumerate(cuts):
            tile.append({"at": at, "parts": grid.sizes[axis], "period": left // outer})
            left //= grid.sizes[axis]
        for coordinate in grid.coordinates:
            key = [coordinate[axis] for axis, _ in cuts]
            assert np.array_equal(tile_indices(size, tile, key), cut_indices(grid, size, cuts, coordinate)), (size, cuts, coordinate)


def make_op(name, shape, dtype="f64", **attributes):
    return Op({"op": f"pp.{name}", "location": "here", "attributes": attributes, "operands": [],
               "results": [{"shape": list(shape), "type": dtype}]})


def tile_of(grid, sharding, shape):
    """The tile attribute of a tensor that is cut so; the key has the coordinates after four other numbers."""
    cuts = []
    for dim, size in enumerate(shape):
        left = size
        for axis, outer in sharding.dims[dim]:
            cuts.append({"dim": dim, "axis": axis, "at": 4 + grid.axes.index(axis), "parts": grid.sizes[axis], "period": left // outer})
            left //= grid.sizes[axis]
    return {"cuts": cuts, "shape": list(shape)}


def check_tiles(seed):
    """Ops with a tile: each coordinate has its part of what the op computes as a whole."""
    dice = Dice([seed, 43])
    grid = Grid([("tp", 3), ("sp", 2)])
    shape = (dice.pick([6, 12]), dice.pick([6, 24]))
    sharding = dataclasses.replace(draw_sharding(dice, grid, shape), sum=())
    x, ids, rows = dice.random.standard_normal(shape), dice.random.integers(0, shape[0], (5,)), dice.random.standard_normal((5, shape[1]))
    tile = tile_of(grid, sharding, shape)
    for i, coordinate in enumerate(grid.coordinates):
        key = [0, 0, 1, 0, *coordinate.values()]
        part = cut(grid, x, sharding)[i]
        here, of_rows = box(grid, shape, sharding, coordinate), cut_indices(grid, shape[1], sharding.dims[1], coordinate)
        is_here = np.isin(ids, cut_indices(grid, shape[0], sharding.dims[0], coordinate))
        for name, attributes, whole, parts, wanted in (
                ("iota", {"dim": 1}, (), (), None), ("dropout", {"p": 0.5, "stream": 7}, (x,), (part,), None),
                ("embedding_grad", {}, (ids, rows), (ids, rows[:, of_rows]), None),
                ("embedding", {}, None, (part, ids), np.where(is_here[:, None], x[ids][:, of_rows], 0))):
            if wanted is None:
                wanted = OPS[f"pp.{name}"](make_op(name, shape, **attributes), *whole)[here]
            found = OPS[f"pp.{name}"](make_op(name, part.shape, tile=tile, **attributes), *parts, key)
            assert np.array_equal(found, wanted), f"{name} of {shape} as {sharding} at {coordinate}"


def check_disagreement():
    """Coordinates that should have the same value, and do not."""
    grid = Grid([("tp", 2)])
    try:
        assemble(grid, [np.ones(2), np.array([1.0, 1 + 1e-9])], Sharding.whole(1), (2,))
    except Disagreement:
        return
    raise AssertionError("was not seen")


# --- against PyTorch ---------------------------------------------------------


class Expected:
    """A fixture's numbers, in the form of an interpreter's."""

    def __init__(self, entry, found):
        """What is returned: the loss, metrics (of a ratio its two parts), and what else a loss is."""
        self.losses = [entry["losses"][0]] * len(found.losses)
        metrics = [each for each in entry["description"].get("results", ()) if each["kind"] != "output"]
        count_of = {each["name"]: at for at, each in enumerate(metrics, 1) if each["kind"] == "count"}
        for at, each in enumerate(metrics, 1):
            if each["kind"] == "count":
                self.losses[at] = found.losses[at]
            else:
                name = each["name"]
                self.losses[at] = entry["metrics"][0][name] * (found.losses[count_of[name]] if name in count_of else 1)
        gradients = {name: np.array(values) for name, values in entry["gradients"].items()}
        # A gradient that is zero may be left out by either.
        for name, values in found.gradients.items():
            gradients.setdefault(name, np.zeros_like(values))
        for name, values in gradients.items():
            found.gradients.setdefault(name, np.zeros_like(values))
        self.gradients = gradients


def read_fixtures():
    """What is computed in f64 alone and has a first step."""
    for path in sorted((HERE.parent / "models" / "committed").glob("*.json")):
        entry = json.loads(path.read_text())
        if entry["description"]["float"] == "f64" and entry["tolerance"] <= FIXTURE_TOLERANCE and entry["losses"][0] is not None:
            yield path.stem, entry


class FixtureChecks:
    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory
        self.lock, self.ops = threading.Lock(), set()

    def check(self, fixtures):
        for name, entry in fixtures:
            description, path = entry["description"], os.path.join(self.directory, name + ".mlir")
            with open(path, "w") as file:
                file.write(pp_text(description))
            module, = print_trained(self.ppopt, path, "mesh=dp=1", PRINT)
            found = Interpreter(module, make_inputs(description, description["batch"]), make_params(description)).run()
            ratio, text = compare(Expected(entry, found), found)[0]
            assert ratio <= FIXTURE_TOLERANCE, f"{name}: {text}"
            with self.lock:
                self.ops |= {op.name for op in module.walk()}

    def check_every_op(self):
        missing = set(OPS) - self.ops - NOT_IN_FIXTURES
        assert not missing, f"no fixture has {sorted(missing)}"


# --- modules that were sharded by hand ---------------------------------------


def check_by_hand(ppopt, name, shapes, mutations):
    """Equal without a mutation, and not with one. `shapes`: of inputs and parameters."""
    random = np.random.default_rng(5)
    values = {name: random.standard_normal(shape) for name, shape in shapes.items()} | {"ids": random.integers(0, 6, (4, 2))}

    def interpret(file, is_sharded, *passes):
        module, = print_modules(ppopt, str(HERE / "Inputs" / file), *passes, PRINT)
        return Interpreter(module, values, values, is_sharded).run()
    wanted = interpret(f"{name}.mlir", False)
    ratio, text = compare(wanted, interpret(f"{name}.sharded.mlir", True))[0]
    assert ratio <= TOLERANCE, text
    for mutation in mutations:
        try:
            ratio, text = compare(wanted, interpret(f"{name}.sharded.mlir", True, f"--mutate-{mutation}"))[0]
        except Failure as seen:
            ratio, text = np.inf, str(seen)
        assert ratio > 1e-3, f"{mutation} was not seen: {text}"
        print(f"  {mutation}: {text}")


def main():
    harness = Harness("interpreter")
    with tempfile.TemporaryDirectory() as directory:
        harness.case("layouts", lambda: [check_layouts(seed) for seed in range(300)])
        harness.case("tiles", lambda: [check_tiles(seed) for seed in range(60)])
        harness.case("sees disagreement", check_disagreement)
        harness.case("mlp by hand", lambda: check_by_hand(harness.ppopt, "mlp", {"x": (8, 4), "w1": (4, 6), "w2": (6, 4)},
                                                          ["drop-reshard", "drop-scale"]))
        harness.case("tokens by hand", lambda: check_by_hand(harness.ppopt, "tokens", {"table": (6, 4), "w": (4, 9)},
                                                             ["drop-reshard", "contiguous-parts", "tile-at-zero"]))
        checks = FixtureChecks(harness.ppopt, directory)
        fixtures = list(read_fixtures())
        harness.cases([(f"fixtures from {name}", functools.partial(checks.check, fixtures[i:i + FIXTURES_EACH]))
                       for i, (name, _) in itertools.islice(enumerate(fixtures), 0, None, FIXTURES_EACH)])
        if not harness.args.filter:
            harness.case("every op", checks.check_every_op)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
