"""Ops of today's models beside PyTorch's: forward, backward and a step of AdamW of one op, in turn. Printed are least and median steps and ratios.

Attention is that of 8 rows, 12 heads, 512 positions, width 64. Indices are of rows of 1,024 and 50,257 elements. Packed documents are four of 128
positions, and beside them stands our own causal attention over all 512: the whole step, and attention's kernels by --profile.
"""
import json
import os
import statistics
import subprocess

import numpy as np

from runs import HERE, Failed, compile_model, cores, ours, priority
from support import safetensors_io

BATCH, HEADS, POSITIONS, WIDTH = 8, 12, 512, 64
ROWS = 1024
THREADS = 2
LEAST_ROUNDS = 3


def attention(kind, attributes="", operands="", key_heads=HEADS, declared="", before="", extra=None, window=0):
    """A model whose loss is the mean of attention times an input."""
    q, k = (f"tensor<{BATCH}x{heads}x{POSITIONS}x{WIDTH}xf32>" for heads in (HEADS, key_heads))
    text = "func.func @op(" + ", ".join(f'%{name}: {kind} {{pp.input = "{name}"}}' for name, kind in (("q", q), ("k", k), ("v", k), ("y", q)))
    text += declared + ") -> tensor<f32> {\n"
    for name, of in (("q", q), ("k", k), ("v", k)):
        weight = of.replace(f"<{BATCH}x", "<1x")
        text += f'  %w{name} = pp.param "w{name}" {{init = #pp.init<zeros>}} : {weight}\n  %{name}1 = pp.add %{name}, %w{name} : {of}, {weight}\n'
    more, types = operands or ("", "")
    text += before + f"  %out, %lse = pp.attention %q1, %k1, %v1{more} {{{attributes}}} : {q}, {k}, {k}{types}\n"
    text += f"  %p = pp.mul %out, %y : {q}, {q}\n  %loss = pp.reduce mean %p [0, 1, 2, 3] : {q}\n  return %loss : tensor<f32>\n}}\n"
    random = np.random.default_rng(1)
    data = {name: random.standard_normal((BATCH, heads, POSITIONS, WIDTH), dtype=np.float32)
            for name, heads in (("q", HEADS), ("k", key_heads), ("v", key_heads), ("y", HEADS))}
    data.update(extra or {})
    return {"op": "attention", "kind": kind, "sizes": {"keys": POSITIONS, "window": window}}, text, data


def masked():
    kind = f"tensor<{BATCH}x{POSITIONS}x{POSITIONS}xf32>"
    whole = f"tensor<{BATCH}x1x{POSITIONS}x{POSITIONS}x"
    before = (f"  %zero = pp.constant dense<0.0> : tensor<f32>\n  %seen = pp.compare gt %mask, %zero : {kind}, tensor<f32>\n"
              f"  %m = pp.reshape %seen : {kind.replace('f32', 'i1')} to {whole}i1>\n")
    mask = np.random.default_rng(2).random((BATCH, POSITIONS, POSITIONS), dtype=np.float32) - 0.25
    return attention("mask", operands=(" mask %m", f", {whole}i1>"), declared=f', %mask: {kind} {{pp.input = "mask"}}', before=before,
                     extra={"mask": mask})


def packed():
    kind = f"tensor<{BATCH}x{POSITIONS}xi32>"
    ids = np.tile(np.repeat(np.arange(4, dtype=np.int32), POSITIONS // 4), (BATCH, 1))
    return attention("packed", "causal", (" segments %ids", f", {kind}"), declared=f', %ids: {kind} {{pp.input = "ids"}}', extra={"ids": ids})


def indexed(op, columns, picked, body, **sizes):
    """`body`: from %x1, of type X, which has the parameter added, and %ids, of type IDS, to the scalar %loss."""
    kind, ids = f"tensor<{ROWS}x{columns}xf32>", f"tensor<{ROWS}x{picked}xi32>"
    random = np.random.default_rng(3)
    data = {"x": random.standard_normal((ROWS, columns), dtype=np.float32)}
    text = f'func.func @op(%x: {kind} {{pp.input = "x"}}'
    if op != "top_k":
        text += f', %ids: {ids} {{pp.input = "ids"}}'
        data["ids"] = random.integers(0, columns if op == "gather" else sizes["table"], (ROWS, picked)).astype(np.int32)
    text += (f') -> tensor<f32> {{\n  %w = pp.param "w" {{init = #pp.init<zeros>}} : tensor<{columns}xf32>\n'
             f"  %x1 = pp.add %x, %w : {kind}, tensor<{columns}xf32>\n" + body.replace("X", kind).replace("IDS", ids) + "  return %loss : tensor<f32>\n}\n")
    return {"op": op, "kind": "", "sizes": sizes}, text, data


def top_k(columns, k):
    body = (f"  %values, %at = pp.top_k %x1 {{k = {k} : i64, dim = 1 : i64}} : X -> tensor<1024x{k}xf32>, tensor<1024x{k}xi32>\n"
            f"  %loss = pp.reduce mean %values [0, 1] : tensor<1024x{k}xf32>\n")
    return indexed("top_k", columns, k, body, k=k)


def gather():
    body = ("  %picked = pp.gather %x1, %ids {dim = 1 : i64} : X, IDS\n"
            "  %loss = pp.reduce mean %picked [0, 1] : tensor<1024x4096xf32>\n")
    return indexed("gather", 8192, 4096, body)


def scatter_add():
    table = "tensor<1024x4096xf32>"
    body = (f"  %one = pp.constant dense<0.0> : tensor<f32>\n  %zeros = pp.broadcast %one [] : tensor<f32> to {table}\n"
            f"  %sums = pp.scatter_add %zeros, %ids, %x1 {{dim = 1 : i64}} : {table}, IDS, X\n"
            f"  %square = pp.mul %sums, %sums : {table}, {table}\n  %loss = pp.reduce mean %square [0, 1] : {table}\n")
    return indexed("scatter_add", 4096, 4096, body, table=4096)


CASES = [("mask", masked, 0.7), ("window 128", lambda: attention("window", "causal, window = 128 : i64", window=128), 0.7),
         ("grouped, 3 heads of keys", lambda: attention("grouped", "causal", key_heads=3), 0.7), ("top-k, 8 of 1024", lambda: top_k(1024, 8), 1.0),
         ("top-k, 50 of 50257", lambda: top_k(50257, 50), 1.0), ("gather", gather, 1.0), ("scatter_add", scatter_add, 1.0)]
PACKED_GOAL = 0.35


class Case:
    def __init__(self, options, directory, name, describe):
        self.name, (self.case, text, data) = name, describe()
        self.folder = os.path.join(directory, "".join(c if c.isalnum() else "-" for c in name))
        os.mkdir(self.folder)
        model, self.executable = os.path.join(self.folder, "op.mlir"), os.path.join(self.folder, "train")
        self.data = os.path.join(self.folder, "data.safetensors")
        with open(model, "w") as file:
            file.write(text)
        safetensors_io.write(self.data, data)
        compile_model(options, model, self.executable, THREADS, ["--no-generation"])
        self.ms, self.theirs, self.attention = [], [], []

    def run_ours(self, options, flags=()):
        run = ours(options, self.executable, os.path.join(self.folder, "log.jsonl"), 1, THREADS, ["--no-shuffle", *flags], data=["--inputs", self.data])
        self.ms += run.ms
        return run

    def run_profile(self, options):
        lines = self.run_ours(options, ["--profile"]).lines
        self.attention.append(sum(line["ms_per_step"] for line in lines if line.get("event") == "profile_line" and "attention" in line["name"]))

    def run_both(self, options):
        run = self.run_ours(options)
        command = [*priority(options), "taskset", "-c", ",".join(map(str, cores()[:THREADS])), options.pytorch, str(HERE / "torch_ops.py"),
                   json.dumps(self.case), self.folder, "--steps", str(options.steps), "--threads", str(THREADS)]
        other = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        self.theirs += other["ms"]
        if abs(run.losses[0] - other["loss"]) > 1e-2 * (1 + abs(other["loss"])):
            raise Failed(f"{self.name}: the losses differ: {run.losses[0]}, PyTorch's {other['loss']}")


def compare(name, ms, other, whose, goal=None):
    least, median = (of(ms) / of(other) for of in (min, statistics.median))
    judged = f", goal {goal}: {'met' if least <= goal else 'not met'}" if goal else ""
    print(f"  {name:<26} {min(ms):8.1f} ms, {whose} {min(other):8.1f} ms: ratio {least:.2f}, of medians {median:.2f}{judged}", flush=True)


def measure(options, directory):
    for name, describe, goal in CASES:
        case = Case(options, directory, name, describe)
        for _ in range(max(LEAST_ROUNDS, options.rounds)):
            case.run_both(options)
        compare(name, case.ms, case.theirs, "PyTorch's", goal)
    documents = Case(options, directory, "packed", packed)
    whole = Case(options, directory, "causal", lambda: attention("causal", "causal"))
    for _ in range(max(LEAST_ROUNDS, options.rounds)):
        documents.run_profile(options)
        whole.run_profile(options)
    compare("4 documents, step", documents.ms, whole.ms, "causal")
    compare("4 documents, attention", documents.attention, whole.attention, "causal", PACKED_GOAL)
