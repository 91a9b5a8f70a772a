"""Makes a failing case small: fewer axes, annotations, ops, sizes, as long as it fails alike."""
import copy
import dataclasses
import time

from shrink import smaller_descriptions


def smaller_cases(case):
    if case.microbatches > 1:
        yield dataclasses.replace(case, microbatches=1)
    for i in range(len(case.mesh)):
        yield dataclasses.replace(case, mesh=case.mesh[:i] + case.mesh[i + 1:])
    for kind in ("inputs", "params"):
        for i, entry in enumerate(case.description[kind]):
            if entry.get("shard"):
                description = copy.deepcopy(case.description)
                del description[kind][i]["shard"]
                yield dataclasses.replace(case, description=description)
    for description in smaller_descriptions(case.description):
        yield dataclasses.replace(case, description=description)


def cost(case):
    description = case.description
    entries = description["inputs"] + description["params"]
    ops = sum(len(node["in"]) + 1 for node in description["nodes"]) + sum(len(f["nodes"]) for f in description["functions"].values())
    return 20 * ops + sum(sum(e["type"][1]) for e in entries) + 10 * len(entries) + 15 * sum("shard" in e for e in entries) + sum(
        30 + size for _, size in case.mesh) + 5 * case.microbatches


def make_small(case, fails_alike, seconds):
    """`fails_alike(case)` never raises."""
    end, is_smaller = time.monotonic() + seconds, True
    while is_smaller:
        is_smaller = False
        for candidate in smaller_cases(case):
            if time.monotonic() > end:
                return case
            if cost(candidate) < cost(case) and fails_alike(candidate):
                case, is_smaller = candidate, True
                break
    return case
