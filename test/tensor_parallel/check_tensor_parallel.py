#!/usr/bin/env python3
"""Holds programs whose mesh has an axis of the model (tp) against one rank: losses, norms and evaluations of GPTs whose projections are cut by
columns and rows and whose attention is cut by heads. Initial values and dropout are drawn by global index, so that nothing is loaded.

All runs clip, poison memory and check what the compiler predicted. Ranks are threads; for the first plan of each mesh they are processes too, and each
fourth plan is of f32 too. By hand: check_tensor_parallel.py --filter 'f64.*tp=3', --keep DIR; --long: all plans of both types, by threads and processes.
"""
import argparse
import collections
import functools
import itertools
import os
import pathlib
import re
import sys
import tempfile
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from support import mutations, safetensors_io  # noqa: E402
from support.executable import Mismatch, checked, compile_model, expect_close, run  # noqa: E402
from support.results import Harness  # noqa: E402

BATCH, LENGTH, VOCABULARY, STEPS, EVALUATED = 8, 16, 60, 3, 2
LAYERS, WIDTH, HEADS = 4, 48, 12
GPT = ["--layers", str(LAYERS), "--width", str(WIDTH), "--heads", str(HEADS), "--vocab", str(VOCABULARY), "--seq", str(LENGTH),
       "--batch", str(BATCH)]
TOLERANCES = {"f64": 1e-12, "f32": 1e-5}
OF_PARAMETERS = 1e-10  # AdamW divides by the roots of small squares: 1.2e-11 was seen
CLIP = 0.5


def token_inputs(random, steps):
    window = random.integers(0, VOCABULARY, (steps * BATCH, LENGTH + 1), dtype=np.int32)
    return {"tokens": window[:, :-1].copy(), "targets": window[:, 1:].copy()}


def row_inputs(random, steps, dtype):
    return {name: random.standard_normal((steps * BATCH, 12)).astype(dtype) for name in ("x", "y")}


#         flags of `ppopt model gpt`; None: a file of Inputs/
MODELS = {"gpt": [],
          "untied": ["--untied"],
          "dropout": ["--dropout", "0.1"],
          "bare": ["--untied"],
          "scaled": None,
          "reshards": None,
         "grid": None}

BY_ROWS = ["--shard", "wte=[{tp}, {}]"]
BOTH_BY_ROWS = ["--shard", "wte=[{tp}, {}]; lm_head.weight=[{tp}, {}]"]

BF16 = ["--precision", "bf16"]
SENT_IN_PARTS = ["--cut-transfers", "always"]

#       model      mesh                 further flags of the compiler
PLANS = [("gpt", "tp=2", []),
         ("gpt", "tp=3", []),
         ("gpt", "tp=4", []),
         ("untied", "tp=2", ["--microbatches", "4"]),
         ("dropout", "tp=2", ["--recompute", "layer"]),
         ("dropout", "dp=2,tp=2", ["--recompute", "none"]),
         ("gpt", "dp=2,tp=2", ["--zero", "1"]),
         ("gpt", "tp=2,pp=2", []),
         ("untied", "tp=2,pp=2", ["--microbatches", "4"]),
         ("dropout", "dp=2,tp=2,pp=2", ["--zero", "1", "--microbatches", "4"]),
         ("gpt", "fsdp=2,tp=2", ["--zero", "3", "--bucket-bytes", "8KiB"]),
         ("gpt", "tp=2,pp=2", ["--schedule", "zb-v", "--microbatches", "4"]),
         ("bare", "dp=2,tp=2", ["--shard", "auto"]),
         # The tied table by columns; positions, which cut the residual stream along the sequence; the head by classes, with the loss, and by columns.
         ("dropout", "tp=3", ["--shard", "wte=[{}, {tp}]", "--recompute", "layer"]),
         ("gpt", "tp=2,pp=2", ["--shard", "wpe=[{tp}, {}]", "--microbatches", "2"]),
         ("untied", "dp=2,tp=2", ["--shard", "lm_head.weight=[{tp}, {}]"]),
         ("untied", "fsdp=2,tp=2", ["--shard", "lm_head.weight=[{}, {tp}]", "--zero", "3", "--bucket-bytes", "8KiB"]),
         # Tables by rows; the head that has the same table is cut by classes. Rows in each of three parts.
         ("gpt", "tp=2", BY_ROWS),
         ("dropout", "tp=3", [*BY_ROWS, "--recompute", "layer"]),
         ("untied", "tp=4", ["--shard", "wte=[{3 * tp}, {}]"]),
         ("gpt", "dp=2,tp=2", [*BY_ROWS, "--zero", "1", "--microbatches", "2"]),
         ("gpt", "tp=2,dp=2", [*BY_ROWS, "--zero", "2", "--bucket-bytes", "8KiB"]),
         ("untied", "dp=2,tp=3", BOTH_BY_ROWS),
         ("gpt", "fsdp=2,tp=2", [*BY_ROWS, "--zero", "3", "--bucket-bytes", "8KiB"]),
         ("untied", "fsdp=2,tp=3", [*BOTH_BY_ROWS, "--zero", "3", "--bucket-bytes", "8KiB"]),
         ("dropout", "tp=2,pp=2", [*BY_ROWS, "--schedule", "zb-v", "--microbatches", "4"]),
         ("gpt", "tp=2,pp=2", [*BY_ROWS, "--tied", "owner", "--microbatches", "2"]),
         ("scaled", "tp=2", []),
         ("scaled", "dp=2,tp=3", ["--microbatches", "2"]),
         ("scaled", "tp=2,dp=2", ["--zero", "1"]),
         ("scaled", "dp=2,tp=2", ["--zero", "2", "--microbatches", "2"]),
         ("scaled", "fsdp=2,tp=3", ["--zero", "3", "--bucket-bytes", "200"])]
# Of these, f64 alone shows a wrong reshard.
RESHARDED = [("tp=2", []),
             ("tp=3", ["--recompute", "layer"]),
             ("tp=4", ["--microbatches", "2"]),
             ("dp=2,tp=2", ["--zero", "1"]),
             ("fsdp=2,tp=2", ["--zero", "3", "--bucket-bytes", "200"]),
             ("tp=2,pp=2", []),
             ("tp=2,pp=2", ["--schedule", "zb-v", "--microbatches", "4"]),
             ("dp=2,tp=2,pp=2", ["--zero", "2", "--microbatches", "4"])]
MOST_PROCESSES = 8

# Two axes of the model: grid has both on one dimension, on two dimensions of a parameter, and on different ones; so do attention's heads and the MLP here.
HEADS_BY_BOTH = "h.*.attn.qkv.weight=[{}, {3 * tp, 3 * sp}]; h.*.attn.proj.weight=[{tp, sp}, {}]; h.*.mlp.fc.weight=[{sp}, {tp}]; " \
                "h.*.mlp.proj.weight=[{tp}, {sp}]"
TABLE_BY_ONE = "h.*.attn.qkv.weight=[{}, {3 * sp}]; h.*.attn.proj.weight=[{sp}, {}]; h.*.mlp.fc.weight=[{}, {tp}]; h.*.mlp.proj.weight=[{tp}, {}]; " \
               "wte=[{}, {sp}]"
TWO_AXES = [("grid", "tp=2,sp=2", []),
            ("grid", "sp=3,tp=2", ["--shard", "e=[{}, {sp, tp}]", "--recompute", "layer"]),
            ("grid", "tp=2,sp=2", ["--microbatches", "4"]),
            ("grid", "dp=2,tp=2,sp=2", ["--zero", "1", "--bucket-bytes", "200"]),
            ("grid", "tp=2,fsdp=2,sp=2", ["--zero", "3", "--bucket-bytes", "200", "--microbatches", "2"]),
            ("grid", "tp=2,sp=2,pp=2", ["--microbatches", "2"]),
            ("grid", "tp=2,pp=2,sp=2", ["--schedule", "zb-v", "--microbatches", "4"]),
            ("grid", "tp=2,dp=2,pp=2,sp=2", ["--zero", "2", "--microbatches", "2"]),
            ("dropout", "tp=2,sp=2", ["--shard", HEADS_BY_BOTH]),
            ("untied", "tp=3,sp=2", ["--shard", TABLE_BY_ONE])]

# Plans whose places send each other parts: all bits are those of whole transfers.
IN_PARTS = [("gpt", "tp=2,pp=2", []),
            ("gpt", "pp=4,tp=2", ["--microbatches", "4"]),
            ("untied", "tp=3,pp=2", ["--schedule", "zb-v", "--microbatches", "4"]),
            ("gpt", "dp=2,pp=2,tp=2", ["--schedule", "interleaved", "--microbatches", "4", "--zero", "1"]),
            ("dropout", "pp=2,tp=2", ["--schedule", "dualpipe-v", "--microbatches", "4", "--recompute", "none"]),
            ("dropout", "pp=2,tp=2", ["--schedule", "zb-h1", "--microbatches", "4", "--recompute", "layer"]),
            ("untied", "fsdp=2,tp=2,pp=2", ["--zero", "3", "--bucket-bytes", "8KiB"]),
            ("gpt", "tp=4,pp=2", ["--tied", "owner", "--microbatches", "2", "--recompute", "layer"]),
            ("gpt", "tp=2,pp=2", ["--precision", "bf16", "--microbatches", "2"]),
            ("gpt", "tp=2,pp=2", ["--shard", "wpe=[{tp}, {}]", "--microbatches", "2"]),
            ("bare", "tp=2,pp=2,sp=2", ["--shard", "h.*.mlp.fc.weight=[{sp}, {tp}]; h.*.mlp.proj.weight=[{tp}, {sp}]"]),
            ("grid", "tp=2,sp=2,pp=2", ["--microbatches", "2"])]

# Elements of what one microbatch of Inputs/reshards.mlir reshards, by task and collective: rows x columns of activations, columns x columns of weights, of
# which a rank has its part, and the rows of a softmax. One layer is wide.
ROWS, COLUMNS, WIDE = 8, 12, 24
EXCHANGED = [("s0_F", "all_gather", ROWS * WIDE, 1), ("s0_F", "all_reduce_max", ROWS, 1), ("s0_F", "all_reduce", ROWS, 1),
             ("s0_F", "all_reduce", ROWS * COLUMNS, 2), ("s0_F", "all_to_all", COLUMNS * COLUMNS, 1), ("s0_B", "all_reduce", ROWS * COLUMNS, 1),
             ("s0_B", "all_reduce", ROWS, 1), ("s0_B", "all_gather", ROWS * COLUMNS, 3), ("s0_B", "all_to_all", COLUMNS * COLUMNS, 1),
             ("s0_B", "all_to_all", WIDE * COLUMNS, 1), ("s0_B", "reduce_scatter", ROWS * WIDE, 1)]

# Mutations (support/mutations.py), and a plan that shows them.
MUTATED = [("bias-in-each-part", "gpt", "tp=2", []), ("partial-gradient-scaled", "gpt", "tp=2", []), ("norm-counts-copies", "gpt", "tp=2", []),
           ("nested-cut-transposed", "grid", "tp=2,sp=2", []), ("look-up-at-zero", "gpt", "tp=2", BY_ROWS), ("look-up-not-masked", "gpt", "tp=2", BY_ROWS),
           ("scatter-at-zero", "gpt", "tp=2", BY_ROWS), ("sent-part-at-zero", "gpt", "tp=2,pp=2", SENT_IN_PARTS),
           ("received-not-gathered", "gpt", "tp=2,pp=2", SENT_IN_PARTS)]


class Programs:
    def __init__(self, ppopt, directory):
        self.ppopt, self.directory = ppopt, directory
        self.lock = threading.Lock()
        self.models, self.samples, self.evaluations = {}, {}, {}
        for case in itertools.product(MODELS, TOLERANCES):
            self.write(*case)

    def write(self, name, dtype):
        """Writes a model, and what it trains on and evaluates."""
        stem = os.path.join(self.directory, f"{name}.{dtype}")
        self.models[name, dtype] = stem + ".mlir"
        random = np.random.default_rng(11)
        if MODELS[name] is None:
            text = (HERE / "Inputs" / f"{name}.mlir").read_text().replace("TYPE", dtype)
            pathlib.Path(self.models[name, dtype]).write_text(text)
            make = functools.partial(row_inputs, dtype={"f64": np.float64, "f32": np.float32}[dtype])
        else:
            checked([self.ppopt, "model", "gpt", *GPT, *MODELS[name], "--dtype", dtype, "-o", stem + ".mlir"])
            make = token_inputs
            if name == "bare":
                annotated = pathlib.Path(stem + ".mlir").read_text()
                pathlib.Path(stem + ".mlir").write_text(re.sub(", shard = #pp.sharding<[^>]*>", "", annotated))
        for files, steps in ((self.samples, STEPS), (self.evaluations, EVALUATED)):
            files[name, dtype] = f"{stem}.{steps}.safetensors"
            safetensors_io.write(files[name, dtype], make(random, steps))

    def compile(self, name, dtype, flags, mutation=None, use="train"):
        """`use`: a word of the executable's name. Cases run at the same time."""
        stem = re.sub(r"[\s/]+", "_", " ".join([name, dtype, *flags, mutation or "", use]))
        tool, mutated = (mutations.tool_of(self.ppopt), ["--mutate", mutation]) if mutation else (self.ppopt, [])
        return compile_model(tool, self.models[name, dtype], os.path.join(self.directory, stem), [*flags, "--threads", "1", *mutated])

    def train(self, executable, name, dtype, launch="threads"):
        flags = ["--inputs", self.samples[name, dtype], "--no-shuffle", "--eval-inputs", self.evaluations[name, dtype], "--eval-every", "2"]
        return run(executable, [*flags, "--lr", "0.01", "--clip", str(CLIP), "--seed", "5", "--check-counters", "--poison"], launch,
                   steps=STEPS, timeout=100)

    def reference(self, name, dtype):
        with self.lock:
            return self.make_reference(name, dtype)

    @functools.lru_cache(maxsize=None)
    def make_reference(self, name, dtype):
        result = self.train(self.compile(name, dtype, []), name, dtype)
        assert max(record["norm"] for record in result.records) > CLIP, "nothing is clipped"
        return result


def numbers_of(result, key):
    return [float.fromhex(record[key]) for record in result.all_records if record["event"] in ("step", "eval") and key in record]


def compare(ours, theirs, dtype):
    for key in ("norm_hex", "loss_hex"):
        expect_close(key, numbers_of(ours, key), numbers_of(theirs, key), TOLERANCES[dtype])
    if dtype == "f64":
        expect_close("parameters", ours.parameters, theirs.parameters, OF_PARAMETERS)


def launches(executable, by_processes):
    return ["threads", "mpirun"] if by_processes and executable.ranks <= MOST_PROCESSES else ["threads"]


def check_plan(programs, name, dtype, mesh, flags, by_processes):
    executable = programs.compile(name, dtype, ["--mesh", mesh, *flags])
    bits = set()
    for launch in launches(executable, by_processes):
        result = programs.train(executable, name, dtype, launch)
        compare(result, programs.reference(name, dtype), dtype)
        bits.add(tuple(result.hexadecimal))
    assert len(bits) == 1, "threads and processes have other bits"


def check_bytes(programs, ranks, flags, kind):
    """Four all-reduces of a layer's activations, two of them in the forward; of all of them a rank sends 8(t-1)/t of these bytes, in the run too."""
    executable = programs.compile("gpt", "f32", ["--mesh", f"tp={ranks}", *flags], use="bytes")
    programs.train(executable, "gpt", "f32")
    program = executable.program
    sums = program["collectives"]
    assert {each["op"] for each in sums} == {"all_reduce"}, sums
    for each in sums:
        assert each["elements"] == BATCH * LENGTH * WIDTH and each["type"] == kind, each
        assert re.search(r"at \S+\.mlir:\d+:\d+$", each["name"]), each
    of_task = {task["name"]: sum(each["task"] == number for each in sums) for number, task in enumerate(program["tasks"])}
    assert of_task["s0_F"] == of_task["s0_B"] == 2 * LAYERS, of_task
    activation = BATCH * LENGTH * WIDTH * {"f32": 4, "bf16": 2}[kind]
    norm = 2 * (ranks - 1) * 2 * 8  # two classes of buckets
    assert program["places"][0]["predicted"]["bytes_sent"] == LAYERS * 8 * (ranks - 1) * activation // ranks + norm


def check_in_parts(programs, name, mesh, flags, by_processes):
    """A value that is sent in parts arrives as one that is sent whole: losses, norms, evaluations and parameters have the same bits. What positions cut
    along the sequence is sent so anyway."""
    whole, parts = (programs.compile(name, "f32", ["--mesh", mesh, *flags, "--cut-transfers", word], use="parts") for word in ("never", "always"))
    of_whole, of_parts = (sum(each["bytes"] for each in executable.program["transfers"]) for executable in (whole, parts))
    assert of_parts == of_whole if "wpe=[{tp}, {}]" in flags else of_parts < of_whole, (of_parts, of_whole)
    expected = programs.train(whole, name, "f32")
    for launch in launches(parts, by_processes):
        result = programs.train(parts, name, "f32", launch)
        for key in ("norm_hex", "loss_hex"):
            assert numbers_of(result, key) == numbers_of(expected, key), (launch, key)
        assert result.parameters.keys() == expected.parameters.keys()
        for parameter, value in result.parameters.items():
            assert np.array_equal(value, expected.parameters[parameter]), (launch, parameter)


def check_sent_once(programs, ranks, microbatches, recompute):
    """Of the residual stream and of its gradient a rank sends one part to its peer on another place. Each task that reads one gathers it once, whatever is
    computed again: the forward and the backward after the boundary, and the backward before it."""
    def compiled(word):
        flags = ["--mesh", f"pp=2,tp={ranks}", "--microbatches", str(microbatches), "--recompute", recompute, "--cut-transfers", word]
        return programs.compile("untied", "f32", flags, use="sent")
    activation = BATCH // microbatches * LENGTH * WIDTH * 4
    whole, parts = compiled("never").program, compiled("always").program
    for program, share in ((whole, 1), (parts, ranks)):
        assert [each["bytes"] for each in program["transfers"]] == [activation // share] * 2, program["transfers"]
    assert all(each["op"] == "all_reduce" for each in whole["collectives"]), whole["collectives"]
    gathers = [each for each in parts["collectives"] if each["op"] == "all_gather"]
    assert sorted(parts["tasks"][each["task"]]["name"] for each in gathers) == ["s0_B", "s1_B", "s1_F"], gathers
    for each in gathers:
        assert each["elements"] * 4 == activation, each
        assert re.match(r"pp\.(add|layer_norm|normalize) at \S+\.mlir:\d+:\d+$", each["name"]), each
    for place, count in ((0, 1), (1, 2)):
        sent = [program["places"][place]["predicted"]["bytes_sent"] for program in (whole, parts)]
        not_sent = activation - activation // ranks
        assert sent[1] - sent[0] == microbatches * (count - 1) * not_sent, (place, sent)


def check_reshards(programs, ranks, recompute):
    """Each reshard is made once, whatever is computed again. A rank has 1/n of what it exchanges, and sends (n-1)/n of what it has, twice of a sum or a
    maximum."""
    program = programs.compile("reshards", "f64", ["--mesh", f"tp={ranks}", "--recompute", recompute], use="bytes").program
    made, sent = collections.Counter(), 0
    for each in program["collectives"]:
        task = program["tasks"][each["task"]]["name"]
        if task != "s0_L":  # of evaluations
            made[task, each["op"], each["elements"]] += 1
        assert re.search(r"at \S+\.mlir:\d+:\d+$", each["name"]), each
    wanted = {(task, op, elements // ranks if op == "all_to_all" else elements): count for task, op, elements, count in EXCHANGED}
    assert made == wanted, made
    for (_, op, elements), count in wanted.items():
        sent += count * (2 if op.startswith("all_reduce") else 1) * (ranks - 1) * elements * 8 // ranks
    norm = 2 * (ranks - 1) * 8  # one class of buckets
    assert program["places"][0]["predicted"]["bytes_sent"] == sent + norm, (program["places"][0]["predicted"], sent, norm)


def check_exact(programs, flags):
    """Of the sum over ranks of a look-up one term is not zero: where nothing else is cut, all bits are one rank's."""
    def losses(more, use):
        executable = programs.compile("bare", "f32", [*flags, *more], use=use)
        return run(executable, ["--inputs", programs.samples["bare", "f32"], "--no-shuffle"], steps=STEPS, export=False).hexadecimal
    assert losses(["--mesh", "tp=3", *BY_ROWS], "exact") == losses([], "exact"), flags


def check_plan_lists(programs):
    def plan(*flags):
        return checked([programs.ppopt, "plan", programs.models["gpt", "f32"], "--mesh", "tp=2", *flags]).stdout
    text = plan()
    rows = re.findall(r"^  (s0_\w) +sum over tp +(.*) x (\d+)  hidden .*, exposed .*  (pp\.\w+) at \S+:\d+:\d+$", text, re.M)
    counted = {task: sum(int(count) for of, _, count, _ in rows if of == task) for task in ("s0_F", "s0_B")}
    assert counted == {"s0_F": 2 * LAYERS, "s0_B": 2 * LAYERS}, text
    sent = [int(re.search(r"^  a rank sends ([\d,]+) bytes$", each, re.M).group(1).replace(",", ""))
            for each in (text, plan(*BF16), plan(*BF16, "--reshard-dtype", "f32"))]
    assert sent[0] == 2 * sent[1] == sent[2], sent


def check_seen(programs, mutation, name, mesh, flags):
    """The comparison is red with a mutation, and so is a verifier that can see it."""
    if mutations.VERIFIER[mutation]:
        mutations.expect_refused(programs.ppopt, mutation, programs.models[name, "f64"], ["--mesh", mesh, *flags])
    mutated = programs.compile(name, "f64", ["--mesh", mesh, *flags], mutation)
    try:
        compare(programs.train(mutated, name, "f64"), programs.reference(name, "f64"), "f64")
    except Mismatch as seen:
        print(f"  {mutation}: {seen}", flush=True)
        return
    raise AssertionError(f"the comparison does not see {mutation}")


def with_processes(plans, all_of_them):
    """The plans, and whether ranks are to be processes too: for the first of each mesh."""
    meshes = [mesh for _, mesh, _ in plans]
    return [(*plan, all_of_them or meshes.index(plan[1]) == number) for number, plan in enumerate(plans)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="all plans of both types, by threads and processes")
    parser.add_argument("--keep", help="write models and executables there and leave them")
    harness = Harness("tensor parallel", parser)
    with tempfile.TemporaryDirectory() as temporary:
        directory = harness.args.keep or temporary
        os.makedirs(directory, exist_ok=True)
        programs = Programs(harness.ppopt, directory)
        is_long = harness.args.long
        cases = [(" ".join(["f64", name, mesh, *flags]), functools.partial(check_plan, programs, name, "f64", mesh, flags, by_processes))
                 for plans in (PLANS, [("reshards", *plan) for plan in RESHARDED], TWO_AXES)
                 for name, mesh, flags, by_processes in with_processes(plans, is_long)]
        cases += [(" ".join(["f32", name, mesh, *flags]), functools.partial(check_plan, programs, name, "f32", mesh, flags, is_long))
                  for name, mesh, flags in (PLANS if is_long else PLANS[::4])]
        cases += [(f"reshards of tp={ranks}, --recompute {word}", functools.partial(check_reshards, programs, ranks, word))
                  for ranks, word in ((2, "none"), (4, "layer"))]
        cases += [(" ".join([f"bytes of tp={ranks}", *flags]), functools.partial(check_bytes, programs, ranks, flags, kind))
                  for ranks, flags, kind in ((2, [], "f32"), (4, [], "f32"), (4, BF16, "bf16"), (4, [*BF16, "--reshard-dtype", "f32"], "f32"))]
        cases += [(" ".join(["bits of a table by rows", *flags]), functools.partial(check_exact, programs, flags))
                  for flags in ([], BF16)]
        cases += [(" ".join(["in parts", name, mesh, *flags]), functools.partial(check_in_parts, programs, name, mesh, flags, by_processes))
                  for name, mesh, flags, by_processes in with_processes(IN_PARTS, is_long)]
        cases += [(f"sent once, tp={ranks}, {microbatches} microbatches, --recompute {word}",
                   functools.partial(check_sent_once, programs, ranks, microbatches, word))
                  for ranks, microbatches, word in ((2, 1, "none"), (4, 2, "cheap"), (2, 4, "layer"))]
        cases += [("plan lists all-reduces", functools.partial(check_plan_lists, programs))]
        cases += [(f"mutation {each[0]}", functools.partial(check_seen, programs, *each)) for each in MUTATED]
        harness.cases(cases)
    sys.exit(harness.finish())


if __name__ == "__main__":
    main()
