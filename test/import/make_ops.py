#!/usr/bin/env python3
"""Draws cases of the table of ops (op_rows*.py), exports each and says what PyTorch computes for it.

    make_ops.py FOLDER [--seed N] [--times N] [--filter REGEX]

ops.tar.xz: CASE.pt2 of each case, and several_K.pt2, several_K_core.pt2 (after run_decompositions): the sum of the losses of some cases as one
program (plain.pt2: of those that are not decomposed), in which parameter x of CASE is CASE.x and its input w0 is CASE_w0. ops.safetensors: CASE/inputs/NAME, CASE/loss,
CASE/gradients/NAME. ops.json: the cases, their ops as the graph names them, the cases of each group, and what is refused (then without figures).
--times N draws each row N times as often as for the committed sample.
"""
import argparse
import json
import pathlib
import re
import sys
import tarfile
import tempfile
import warnings
import zlib

import numpy as np

warnings.filterwarnings("ignore")
import torch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import archives  # noqa: E402
import op_rows  # noqa: E402, F401
import op_rows_losses  # noqa: E402, F401
import op_rows_shapes  # noqa: E402, F401
import op_rows_writes  # noqa: E402, F401
import op_rows_formulas  # noqa: E402, F401
import op_rows_margins  # noqa: E402, F401
import op_rows_masks  # noqa: E402, F401
import op_rows_orders  # noqa: E402, F401
import op_rows_arguments  # noqa: E402, F401
from op_cases import ROWS, Draw, Group, Program, weights  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import safetensors_io  # noqa: E402

GROUP = 25


def draw_cases(seed, times, pattern):
    """{name: case, with its weights among the inputs}"""
    cases = {}
    for name, (function, count) in ROWS.items():
        draw = Draw([seed, zlib.crc32(name.encode())])
        for _ in range(count * times):
            for case in function(draw):
                label = re.sub(r"\W+", "_", f"{name}_{case.label}".rstrip("_")).strip("_")
                while label in cases:
                    label += "_2" if not re.search(r"_\d+$", label) else "x"
                if not case.refused:
                    case.weights = weights(draw, case)
                else:
                    case.weights = {"w0": draw.normal(*Program(case).results(case.inputs)[0].shape)}
                if re.search(pattern, label):
                    cases[label] = case
    return cases


def inputs_of(case, prefix=""):
    return {prefix + n: t for n, t in {**case.inputs, **case.weights}.items()}


def targets(program):
    """The ops of a program, those in the graphs that its nodes take as well."""
    return sorted({str(node.target) for module in program.graph_module.modules() if hasattr(module, "graph")
                   for node in module.graph.nodes if isinstance(node.target, torch._ops.OpOverload)})


def export(module, inputs):
    return torch.export.export(module, (), inputs)


def core(program):
    with sdpa_kernel(SDPBackend.MATH):
        return program.run_decompositions()


class Pack:
    """A tar file of archives, compressed as one (they have nearly all of their text in common), the same bytes each time."""

    def __init__(self, path):
        self.tar = tarfile.open(path, "w:xz", format=tarfile.USTAR_FORMAT, preset=9)
        self.folder = tempfile.TemporaryDirectory()

    def add(self, name, program):
        path = pathlib.Path(self.folder.name) / f"{name}.pt2"
        archives.save(program, path)
        entry = tarfile.TarInfo(path.name)
        entry.size = path.stat().st_size
        with open(path, "rb") as file:
            self.tar.addfile(entry, file)
        path.unlink()

    def close(self):
        self.tar.close()
        self.folder.cleanup()


def figures(name, program, case):
    """The loss and gradients, from the exported program."""
    module = program.module()
    loss = module(**inputs_of(case))
    loss.backward()
    found = {f"{name}/inputs/{n}": t.numpy() for n, t in inputs_of(case).items()}
    found[f"{name}/loss"] = np.array(loss.item())
    for n, p in module.named_parameters():
        found[f"{name}/gradients/{n}"] = (torch.zeros_like(p) if p.grad is None else p.grad).numpy()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--filter", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.folder.mkdir(exist_ok=True)
    cases = draw_cases(options.seed, options.times, options.filter)
    described, tensors, failed, pack = {}, {}, [], Pack(options.folder / "ops.tar.xz")
    for name, case in cases.items():
        try:
            program = export(Program(case), inputs_of(case))
        except Exception as error:  # a mistake in a row: all are told at once
            failed.append(f"{name}: {error}")
            continue
        pack.add(name, program)
        described[name] = {"ops": targets(program)}
        if case.refused:
            described[name]["refused"] = case.refused
        else:
            tensors.update(figures(name, program, case))
    kept = [name for name in described if cases[name].core and not cases[name].refused]
    described_groups = {}
    groups = {f"several_{k // GROUP}": kept[k:k + GROUP] for k in range(0, len(kept), GROUP)}
    for group, names in groups.items():
        given = {n: t for name in names for n, t in inputs_of(cases[name], f"{name}_").items()}
        program = export(Group({name: cases[name] for name in names}), given)
        pack.add(group, program)
        decomposed = core(program)
        pack.add(f"{group}_core", decomposed)
        described_groups[group] = {"cases": names, "core_ops": targets(decomposed)}
    # What run_decompositions would change or export as others than are taken.
    plain = [name for name in described if not cases[name].core and not cases[name].refused]
    if plain:
        given = {n: t for name in plain for n, t in inputs_of(cases[name], f"{name}_").items()}
        pack.add("plain", export(Group({name: cases[name] for name in plain}), given))
        described_groups["plain"] = {"cases": plain}
    pack.close()
    safetensors_io.write(options.folder / "ops.safetensors", tensors)
    document = {"torch": torch.__version__, "seed": options.seed, "cases": described, "groups": described_groups}
    (options.folder / "ops.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"{len(described)} cases, {len(groups)} groups, {len({o for c in described.values() for o in c['ops']})} ops")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
