#!/usr/bin/env python3
"""Holds the gradient of every op against central differences.

The ops and shapes are the table ops.py, evaluated and differentiated in numpy; random graphs of the same ops follow, small
ones element by element and large ones along some directions. All cases of an op are compiled as one model, in f64.
By hand: check_gradients.py --filter gelu, --graphs 1000 --seed 7.
"""
import argparse
import itertools
import os
import pathlib
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support.executable import compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

from graph import Graph, model_text  # noqa: E402
from ops import cases  # noqa: E402
from random_graphs import LARGE, SMALL, random_graph  # noqa: E402

TOLERANCE = 1e-8  # of a difference's own error and of the transcendental functions that the compiler approximates
OPTIMIZED = 3  # LLVM optimises each third op and random graph: it changes no bit (test/equivalence/check_bits.py)


def op_of(case):
    steps = case[0]
    return (steps if isinstance(steps, str) else steps[0][0]).split()[0]


def graph_of(case, number):
    steps, forward, operands = case
    steps = [(steps, forward)] if isinstance(steps, str) else steps
    return Graph(operands, steps, prefix=f"c{number}_", seed=number)


def mismatches(graph, gradients, h):
    """What is wrong, a line for each parameter."""
    wrong = []
    for param, expected in graph.gradients(h).items():
        # A parameter that the loss does not reach has no gradient. Below 0.01, one that is zero by symmetry is noise.
        ours = gradients.get(param, np.zeros(expected.shape))
        error = np.abs(ours - expected).max() / max(np.abs(expected).max(), 0.01)
        if not error <= TOLERANCE:
            text = "; ".join(step[0] for step in graph.steps)
            wrong.append(f"gradient of operand {param.split('_p')[1]} of '{text}', operands "
                         f"{[o.shape for o in graph.operands]}: relative error {error:.3g}")
    return wrong


def slope_mismatches(graph, gradients, h):
    """Along some directions, where there are too many elements to move each."""
    wrong, random = [], np.random.default_rng(graph.seed)
    count = sum(value.size for value in graph.params.values())
    usual = np.sqrt(sum(np.sum(g * g) for g in gradients.values()) / count)  # a random direction's slope
    for _ in range(5):
        direction, expected = graph.slope(random, h)
        ours = sum(np.sum(gradients[name] * direction[name]) for name in gradients)
        error = np.abs(ours - expected) / max(usual, 0.01)
        if not error <= TOLERANCE:
            wrong.append(f"gradient of '{'; '.join(step[0] for step in graph.steps)}', operands "
                         f"{[o.shape for o in graph.operands]}: slope {ours} instead of {expected}")
    return wrong


def check(ppopt, name, graphs, directory, mismatches, optimized):
    model = os.path.join(directory, f"{name}.mlir")
    with open(model, "w") as file:
        file.write(model_text(graphs, "gradients"))
    executable = compile_model(ppopt, model, model[:-5], ["--optimizer", "sgd", "--threads", "1"], optimized=optimized)
    params = {n: a for g in graphs for n, a in g.params.items()}
    inputs = {n: a for g in graphs for n, a in g.inputs.items()}
    result = run(executable, ["--lr", "0"], init=params, inputs=inputs, steps=1, dump_gradients=True)
    # A function that bends much within 1e-3 (a normalized row of two) is differentiated again, with a smaller step.
    wrong = [text for graph in graphs if mismatches(graph, result.gradients, 1e-3)
             for text in mismatches(graph, result.gradients, 1e-4)]
    assert not wrong, "\n".join(wrong)
    expect_close("loss", result.losses[0], sum(g.loss(g.params) for g in graphs), 1e-11)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=20, help="how many random graphs of each kind (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="of the first random graph")
    parser.add_argument("--keep", help="write models and executables there and leave them")
    harness = Harness("gradients", parser)
    with tempfile.TemporaryDirectory() as scratch:
        directory = harness.args.keep or scratch
        os.makedirs(directory, exist_ok=True)
        tests = []
        for place, (op, group) in enumerate(itertools.groupby(sorted(cases(), key=op_of), key=op_of)):
            graphs, optimized = [graph_of(case, number) for number, case in enumerate(group)], place % OPTIMIZED == 0
            tests.append((op, lambda op=op, graphs=graphs, optimized=optimized: check(
                harness.ppopt, op, graphs, directory, mismatches, optimized)))
        for seed in range(harness.args.seed, harness.args.seed + harness.args.graphs):
            for number, (kind, sizes, compares) in enumerate((("graph", SMALL, mismatches), ("large", LARGE, slope_mismatches))):
                name, optimized = f"{kind}_{seed}", (seed + number) % OPTIMIZED == 0
                tests.append((name, lambda name=name, seed=seed, sizes=sizes, compares=compares, optimized=optimized: check(
                    harness.ppopt, name, [random_graph(seed, sizes=sizes)], directory, compares, optimized)))
        harness.cases(tests)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
