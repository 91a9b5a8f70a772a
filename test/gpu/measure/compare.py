"""Compares numbers of two runs, by the rule of test/support/executable.py and test/equivalence/programs.py."""
from .context import Failed


def relative_error(what, ours, theirs, least_scale=0.0):
    """The largest difference, relative to the largest element of `theirs`, or to `least_scale` if that is more. Infinite if a number is not
    finite."""
    if len(ours) != len(theirs):
        raise Failed(f"{what}: {len(ours)} numbers instead of {len(theirs)}")
    scale = max(largest(theirs), least_scale)
    error = 0.0
    for one, other in zip(ours, theirs):
        difference = abs(one - other)
        if not difference <= error:
            error = difference if difference == difference else float("inf")
    return error / scale if scale else error


def largest(values):
    return max(map(abs, values), default=0.0)


def tensors_error(what, ours, theirs, least_scale=0.0):
    """The largest relative error of any tensor, and the name of that tensor."""
    if set(ours) != set(theirs):
        raise Failed(f"{what}: names differ: {', '.join(sorted(set(ours) ^ set(theirs)))}")
    worst, where = 0.0, None
    for name, (shape, values) in theirs.items():
        if ours[name][0] != shape:
            raise Failed(f"{what} of {name}: shape {ours[name][0]} instead of {shape}")
        error = relative_error(f"{what} of {name}", ours[name][1], values, least_scale)
        if where is None or not error <= worst:
            worst, where = error, name
    return worst, where
