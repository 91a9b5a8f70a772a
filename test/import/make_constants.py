#!/usr/bin/env python3
"""Draws calls of all ops that ppopt import computes (constant_rows*.py), and says what PyTorch computes for them.

    make_constants.py FOLDER [--seed N] [--all]

constants.tar.xz: of each group an archive that returns the results of its calls on buffers, and constants.json: of each call its results
and how far a float may be from them. Of groups of many calls it has one for each op and type of its first tensor, unless --all is given.
"""
import argparse
import pathlib
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")
import torch  # noqa: E402

import archives  # noqa: E402
import constant_archives  # noqa: E402
import constant_rows  # noqa: E402, F401
import constant_rows_shapes  # noqa: E402, F401
from constant_cases import GROUPS, Calls, draw  # noqa: E402


def describe(tensor):
    return {"type": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape), "values": tensor.flatten().tolist()}


def export(module):
    with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
        archives.save(torch.export.export(module, ()), file.name)
        return constant_archives.compact(file.read())


MANY = 200


def thin(cases):
    """The first call of each op and type."""
    if len(cases) < MANY:
        return cases
    return list({(case.op, next((value.dtype for value in case.args if isinstance(value, torch.Tensor)), None)): case for case in reversed(cases)}.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.folder.mkdir(exist_ok=True)
    groups, entries, failed = {}, {}, []
    for name in GROUPS:
        cases = []
        drawn = draw(name, options.seed)
        for case in drawn if options.all else thin(drawn):
            try:
                case.op(*case.args, **case.kwargs)
                cases.append(case)
            except Exception as error:  # a mistake in a row: all are told at once
                failed.append(f"{case.describe()}: {str(error).splitlines()[0]}")
        module = Calls(cases)
        entries[name] = export(module)
        groups[name] = [{"call": case.describe(), "ulps": case.ulps, "close": case.close, "results": [describe(each) for each in results]}
                        for case, results in zip(cases, module())]
    constant_archives.write(options.folder / "constants.tar.xz", {"torch": torch.__version__, "seed": options.seed, "groups": groups}, entries)
    print(f"{sum(map(len, groups.values()))} calls, in {len(groups)} groups")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
