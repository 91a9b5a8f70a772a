"""Shardings and tiles as docs/sharding.md defines them, on numpy arrays.

A value is a list of arrays, one for each coordinate of all axes (Grid.coordinates).
"""
import dataclasses
import itertools

import numpy as np

AGREEMENT = 1e-12


class Disagreement(AssertionError):
    """Coordinates that should have the same value do not."""


class Grid:
    """The axes that shard, with their sizes, and all coordinates: dictionaries from axis to number."""

    def __init__(self, sizes):
        self.sizes = dict(sizes)
        self.axes = list(self.sizes)
        self.coordinates = [dict(zip(self.axes, numbers)) for numbers in itertools.product(*(range(n) for n in self.sizes.values()))]

    def count(self, axes):
        return int(np.prod([self.sizes[axis] for axis in axes], dtype=np.int64))

    def global_shape(self, sharding, local):
        return tuple(size * self.count(axis for axis, _ in cuts) for size, cuts in zip(local, sharding.dims))


@dataclasses.dataclass(frozen=True)
class Sharding:
    """For each dimension the cuts (axis, outer parts), outermost first; the axes of partial sums and of partial maxima."""
    dims: tuple
    sum: tuple = ()
    max: tuple = ()

    @staticmethod
    def of(text):
        """From the JSON of a `#pp.sharding`."""
        return Sharding(tuple(tuple((cut["axis"], cut["outer"]) for cut in dim) for dim in text["dims"]), tuple(text["sum"]), tuple(text["max"]))

    @staticmethod
    def whole(rank):
        return Sharding(((),) * rank)

    @property
    def cut_axes(self):
        return tuple(axis for dim in self.dims for axis, _ in dim)

    @property
    def axes(self):
        return self.cut_axes + self.sum + self.max


def cut_indices(grid, size, cuts, coordinate):
    """Which indices of a dimension a coordinate has, in the order in which it has them."""
    indices = np.arange(size)
    for axis, outer in cuts:
        count = grid.sizes[axis]
        if indices.size % (outer * count):
            raise AssertionError(f"a dimension of {indices.size} has no {outer} * {count} equal parts for axis {axis}")
        indices = indices.reshape(outer, count, -1)[:, coordinate[axis]].reshape(-1)
    return indices


def tile_indices(size, cuts, key):
    """The global indices of a tile along a dimension: those whose digits are the coordinates in the key."""
    indices = np.arange(size)
    is_here = np.ones(size, bool)
    for cut in cuts:
        is_here &= indices % cut["period"] // (cut["period"] // cut["parts"]) == key[cut["at"]]
    return indices[is_here]


def box(grid, shape, sharding, coordinate):
    """What np.ix_ makes of the indices of all dimensions; of a scalar the whole."""
    if len(shape) != len(sharding.dims):
        raise AssertionError(f"a sharding of {len(sharding.dims)} dimensions for the shape {list(shape)}")
    return np.ix_(*(cut_indices(grid, size, cuts, coordinate) for size, cuts in zip(shape, sharding.dims))) if shape else ...


def check_axes(grid, sharding):
    axes = sharding.axes
    if len(set(axes)) < len(axes) or not set(axes) <= set(grid.axes):
        raise AssertionError(f"a sharding of the axes {list(axes)} on a mesh of {grid.axes}")
    if sharding.sum and sharding.max:
        raise AssertionError("a partial sum and a partial maximum at once")


def cut(grid, value, sharding):
    """What each coordinate has of a global value. A partial sum has equal shares."""
    check_axes(grid, sharding)
    share = grid.count(sharding.sum)
    parts = [value[box(grid, value.shape, sharding, coordinate)] for coordinate in grid.coordinates]
    return [part / share for part in parts] if share > 1 else parts


def assemble(grid, parts, sharding, shape, fixed=None):
    """The global value. With `fixed`, a dictionary of coordinates of axes: of the parts there."""
    check_axes(grid, sharding)
    fixed, seen = fixed or {}, {}
    identity = -np.inf if sharding.max else 0
    total = np.full(shape, identity, parts[0].dtype) if sharding.max or sharding.sum else np.empty(shape, parts[0].dtype)
    for coordinate, part in zip(grid.coordinates, parts):
        if any(coordinate[axis] != number for axis, number in fixed.items()):
            continue
        where = box(grid, shape, sharding, coordinate)
        wanted = total[where].shape
        if part.shape != wanted:
            raise AssertionError(f"a part of shape {list(part.shape)} where {sharding} of {list(shape)} has {list(wanted)}")
        key = tuple(coordinate[axis] for axis in sharding.axes)
        if key in seen:
            check_alike(seen[key], part, coordinate)
            continue
        seen[key] = part
        if sharding.max:
            total[where] = np.maximum(total[where], part)
        elif sharding.sum:
            total[where] += part
        else:
            total[where] = part
    return total


def check_alike(first, part, coordinate):
    if np.array_equal(first, part, equal_nan=part.dtype.kind == "f"):
        return
    if part.dtype.kind != "f" or not np.abs(first - part).max() <= AGREEMENT * np.abs(first).max():
        raise Disagreement(f"coordinates that should have the same value differ, one of them {coordinate}")


def reshard(grid, parts, before, after, shape):
    """From one sharding to another. What is and stays a partial sum over an axis is not added up over it."""
    kept = [axis for axis in before.sum if axis in after.sum]
    before = dataclasses.replace(before, sum=tuple(axis for axis in before.sum if axis not in kept))
    after = dataclasses.replace(after, sum=tuple(axis for axis in after.sum if axis not in kept), max=())
    result = [None] * len(parts)
    for numbers in itertools.product(*(range(grid.sizes[axis]) for axis in kept)):
        fixed = dict(zip(kept, numbers))
        moved = cut(grid, assemble(grid, parts, before, shape, fixed), after)
        for i, coordinate in enumerate(grid.coordinates):
            if all(coordinate[axis] == number for axis, number in fixed.items()):
                result[i] = moved[i]
    return result
