"""Reads off traces with --trace-launches that gathers of --zero 3 are prefetched: each rank starts to gather a layer's
parameters before the last matmul of the layer before it in the task starts, forward and backward. Only the order of what
a rank's thread did is looked at, no duration. Without prefetch the same check must fail.

    check_prefetch.py --build build/release
"""

import json
import os
import re
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support import executable
from support.results import Harness

RANKS, LAYERS, WIDTH, VOCABULARY, SEQUENCE, ROWS = 2, 5, 64, 80, 12, 2  # ROWS of a rank and microbatch
TOKENS = ROWS * SEQUENCE
STEPS = 3
BUCKET = 12 * WIDTH * WIDTH * 4  # the bytes of a layer's matrices

# The matmuls of a layer as rows x columns x terms: attention has kernels of its own. The backward has one for the
# gradient of each operand; those of weights add to what there is.
FORWARD = [(TOKENS, 3 * WIDTH, WIDTH), (TOKENS, WIDTH, WIDTH), (TOKENS, 4 * WIDTH, WIDTH), (TOKENS, WIDTH, 4 * WIDTH)]
BACKWARD = sorted([(m, k, n) for m, n, k in FORWARD] + [(k, n, m) for m, n, k in FORWARD])
# The backward begins with the head: logits, and the gradient of what it reads. That of its table may be anywhere.
HEAD = sorted([(TOKENS, VOCABULARY, WIDTH), (TOKENS, WIDTH, VOCABULARY)])
OF_TABLE = (VOCABULARY, WIDTH, TOKENS)

LAYER = [f"layer {i}" for i in range(LAYERS)]
# What each task gathers, in order.
GATHERED = {"forward": ["table", "norms", *LAYER], "backward": ["norms", "table", *reversed(LAYER)]}
# These are read before any matmul of the task: there is nothing to hide them behind.
BEFORE_MATMULS = {"forward": ["table", "norms", "layer 0"], "backward": ["norms", "table"]}


def name_buckets(ppopt, model, flags):
    """What each bucket has, by its name: "layer 3" the matrices of a layer, "table" both embeddings, "norms" the vectors
    of all layers."""
    text = executable.checked([ppopt, "compile", model, *flags, "--stop-after=partitioned"]).stdout
    names = {}
    for bucket, listed in re.findall(r"pp\.bucket @(\w+) .*?params = \[([^\]]*)\]", text):
        params = re.findall(r'"([^"]*)"', listed)
        layers = {match.group(1) for match in (re.match(r"h\.(\d+)\..*(?:qkv|proj|fc)\.weight$", each) for each in params) if match}
        if set(params) == {"wte", "wpe"}:
            names[bucket] = "table"
        elif len(layers) == 1 and len(params) == 4:
            names[bucket] = f"layer {layers.pop()}"
        else:
            assert not layers, f"{bucket} has matrices of layers and others: {params}"
            names[bucket] = "norms"
    assert sorted(names.values()) == sorted(["table", "norms", *LAYER]), names
    return names


class Compiled:
    def __init__(self, harness, folder, flags):
        model = os.path.join(folder, "gpt.mlir")
        batch = RANKS * ROWS * (2 if "--microbatches" in flags else 1)
        executable.checked([harness.ppopt, "model", "gpt", "--layers", str(LAYERS), "--width", str(WIDTH), "--heads", "2",
                            "--vocab", str(VOCABULARY), "--seq", str(SEQUENCE), "--batch", str(batch), "-o", model])
        flags = ["--mesh", f"dp={RANKS}", "--zero", "3", "--bucket-bytes", str(BUCKET), "--threads", "1", *flags]
        self.train = executable.compile_model(harness.ppopt, model, os.path.join(folder, "train"), flags)
        self.buckets = name_buckets(harness.ppopt, model, flags)
        window = np.random.default_rng(0).integers(0, VOCABULARY, (STEPS * batch, SEQUENCE + 1), dtype=np.int32)
        self.inputs = {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()}

    def runs(self, launch):
        """(kind, calls) of each forward and backward of all ranks: what they called, in order."""
        path = self.train.path + ".json"
        executable.run(self.train, ["--trace", path, "--trace-launches", "--check-counters"], launch, inputs=self.inputs,
                       steps=STEPS)
        with open(path) as file:
            events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X" and event["tid"] == 1]
        found = []
        for run in events:
            if run["cat"] in GATHERED:
                end = run["ts"] + run["dur"]
                calls = [event for event in events if event["pid"] == run["pid"] and run["ts"] <= event["ts"] <= end
                         and event["cat"] in ("kernel", "matmul", "start", "wait")]
                found.append((run["cat"], sorted(calls, key=lambda event: event["ts"])))
        return found


def sizes(call):
    return tuple(int(size) for size in re.match(r"matmul_(\d+)x(\d+)x(\d+)_", call["name"]).groups())


def last_matmuls(kind, calls):
    """By layer and "head", the place among the calls of its last matmul. Layers are told apart by the sizes of their
    matmuls, of which all must be there."""
    matmuls = [(place, sizes(call)) for place, call in enumerate(calls) if call["cat"] == "matmul"]
    parts = [(name, sorted(FORWARD)) for name in LAYER]
    if kind == "backward":
        of_table = [each for each in matmuls if each[1] == OF_TABLE]
        assert len(of_table) == 1, f"the gradient of the table is computed by {of_table}"
        matmuls.remove(of_table[0])
        parts = [("head", HEAD)] + [(name, BACKWARD) for name in reversed(LAYER)]
    last = {}
    for name, expected in parts:
        own, matmuls = matmuls[:len(expected)], matmuls[len(expected):]
        assert sorted(size for _, size in own) == expected, f"the {kind} of {name} has the matmuls {own}"
        last[name] = own[-1][0]
    assert not matmuls, f"the {kind} has further matmuls: {matmuls}"
    return last


def check_run(kind, calls, buckets):
    starts = {buckets[call["name"].split()[-1]]: place for place, call in enumerate(calls)
              if call["name"].startswith("start all-gather dp ")}
    assert list(starts) == GATHERED[kind], f"the {kind} gathers {list(starts)}"
    last = last_matmuls(kind, calls)
    first_matmul = min(place for place, call in enumerate(calls) if call["cat"] == "matmul")
    before = dict(zip(LAYER[1:], LAYER)) if kind == "forward" else {**dict(zip(LAYER, LAYER[1:])), LAYER[-1]: "head"}
    for name, start in starts.items():
        if name in BEFORE_MATMULS[kind]:
            waits = [place for place, call in enumerate(calls)
                     if call["cat"] == "wait" and buckets[call["name"].split()[-1]] == name]
            assert waits and start < waits[0] < first_matmul, f"{name} of the {kind} is waited for after a matmul"
        else:
            assert start < last[before[name]], \
                f"the {kind} starts to gather {name} after the last matmul of {before[name]} has begun"


def check(harness, flags, launch):
    with tempfile.TemporaryDirectory() as folder:
        compiled = Compiled(harness, folder, flags)
        runs = compiled.runs(launch)
        microbatches = 2 if "--microbatches" in flags else 1
        for kind in GATHERED:
            count = sum(1 for each, _ in runs if each == kind)
            assert count == RANKS * STEPS * microbatches, f"{count} runs of {kind}"
        late = set()
        for kind, calls in runs:
            try:
                check_run(kind, calls, compiled.buckets)
            except AssertionError as error:
                late.add(str(error))
        return late


def expect_prefetch(harness, flags, launch):
    late = check(harness, flags, launch)
    assert not late, "\n".join(sorted(late))


def expect_late(harness):
    """Without prefetch both tasks gather late, and the check says so."""
    late = check(harness, ["--prefetch", "none"], "threads")
    for kind in GATHERED:
        assert any(f"the {kind} starts to gather layer" in text for text in late), f"nothing is late in the {kind}: {late}"


def main():
    harness = Harness("prefetch")
    for name, flags in (("one microbatch", []), ("two microbatches", ["--microbatches", "2"])):
        for launch in ("threads", "mpirun"):
            harness.case(f"{name}, {launch}", lambda f=flags, l=launch: expect_prefetch(harness, f, l))
    harness.case("no prefetch is seen", lambda: expect_late(harness))
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
