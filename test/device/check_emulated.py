"""Runs kernels of the target cuda on the emulated device, against the target cpu's: those of the equivalence models, of the ops' gradients,
of constants, of random graphs, of programs that generate text, of rows, attention and matmuls of odd sizes.

    check_emulated.py --build build/release
    check_emulated.py --graphs 200 --seeds 4    # more random graphs, more draws of arguments
    check_emulated.py --full --filter matmuls   # each layout of matmuls with each other: an hour

docs/cuda.md says what the emulated device covers. What fails leaves its kernels in a folder that the message names.
"""

import argparse
import glob
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

TEST = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TEST, os.path.join(TEST, "generation"), os.path.join(TEST, "gradients"), os.path.join(TEST, "Codegen", "Inputs"),
                os.path.join(TEST, "models")]
from check_constants import cases as constant_models  # noqa: E402
from check_gradients import graph_of, op_of  # noqa: E402
from emulated_models import CAUSAL, FLAT, HUGE, in_type  # noqa: E402
from emulated_models import attention_model, changed_attention_model, conv_model, grouped_generator, head_model, index_model, rows_model, scatter_model  # noqa: E402
from graph import model_text  # noqa: E402
from matmul_cases import gemm, module_text  # noqa: E402
from matmul_cases import modules as matmul_modules  # noqa: E402
from models import cases as generation_models  # noqa: E402
from models import gpt, small  # noqa: E402
from ops import cases  # noqa: E402
from pp_text import pp_text  # noqa: E402
from random_graphs import LARGE, random_graph  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

MODELS = sorted(glob.glob(os.path.join(TEST, "equivalence", "models", "*.mlir")))
# Beside the default plan: each of these with every model that it fits.
EXAMPLES = sorted(glob.glob(os.path.join(os.path.dirname(TEST), "docs", "examples", "*.mlir")))
DESCRIPTIONS = sorted(glob.glob(os.path.join(TEST, "models", "committed", "*.json")))
PLANS = {"one rank": [], "microbatches": ["--microbatches", "2", "--optimizer", "sgd", "--nesterov"],
         "shards": ["--mesh", "fsdp=2", "--zero", "3", "--optimizer", "adam"], "recomputed": ["--recompute", "layer"]}
# Of the recomputed ones: small values are rows of 64 bytes, of which other models would have some hundred kernels.
BLOCK_BYTES = {"penalties": "64"}
# Of the matmuls that are generated.
MATMUL_PLANS = {"one rank": [], "microbatches": ["--microbatches", "2", "--threshold", "gpu-matmul-tile=16,gpu-matmul-depth=16,gpu-matmul-sum=8"],
                "shards": ["--mesh", "fsdp=2", "--zero", "3", "--block-bytes", "64", "--threshold", "gpu-matmul-blocks=1"]}
FLAGS = ["--target", "cuda", "--threads", "1"]
TYPES = ["f32", "f64", "bf16"]


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)


def write(text, folder):
    path = os.path.join(folder, "model.mlir")
    with open(path, "w") as file:
        file.write(text)
    return path


EMULATED = 3  # each third of the models that PyTorch's numbers are there for; all with --full
MOST_ELEMENTS = 20000  # of the space of a kernel of a whole model


def kernels_of_stages(path):
    """The kernels of forwards and backwards; others, of norms and updates, are those of whole models."""
    tasks = re.findall(r"^  pp\.task \w+ stage .*?^  \}$", read(path), re.M | re.S)
    return sorted({name for task in tasks for name in re.findall(r"pp\.launch @(\w+)", task)})


def named(names):
    """The flags of ppopt-emulate for these kernels."""
    return ["--kernel", f"^({'|'.join(names)})$"]


def read(path):
    with open(path) as file:
        return file.read()


def elements_of(body):
    return math.prod(int(size) for size in re.search(r"#pp\.form<\w+ ([\dx]+)", body).group(1).split("x"))


class Kernels:
    """Compiles and compares; kernels that several models have, with the same launches, once. Counts kernels."""

    def __init__(self, harness, directory):
        self.ppopt, self.seeds = harness.ppopt, harness.args.seeds
        self.emulate = os.path.join(harness.args.build, "bin", "test", "ppopt-emulate")
        self.is_full = harness.args.full
        self.count, self.compared = 0, os.path.join(directory, "compared")

    def compile(self, model, folder, flags=(), fits=True, stop="kernels"):
        """Returns the module of phase kernels, or another. Skips a plan that need not fit the model."""
        path = os.path.join(folder, "kernels.mlir")
        done = run([self.ppopt, "compile", model, *FLAGS, *flags, f"--stop-after={stop}", "-o", path])
        if done.returncode == 1 and not fits:
            raise Skip(f"the plan does not fit: {done.stderr.splitlines()[0]}")
        assert done.returncode == 0, f"{model} {' '.join(flags)}\n{done.stderr}"
        return path

    def compare(self, kernels, *flags, seeds=0, again=False):
        """`seeds`: draws of arguments, if they are to be more. `again`: kernels too that have been compared."""
        command = [self.emulate, kernels, "--seeds", str(max(seeds, self.seeds)), *flags, *([] if again else ["--compared", self.compared])]
        done = run(command)
        assert done.returncode in (0, 1), f"{' '.join(command)}\nstatus {done.returncode}\n{done.stderr}"
        if done.returncode == 1:
            kept = shutil.copytree(os.path.dirname(kernels), tempfile.mkdtemp(), dirs_exist_ok=True)
            raise AssertionError(f"in {kept}: {' '.join(map(os.path.basename, command))}\n{done.stderr}")
        figures = [json.loads(line) for line in done.stdout.splitlines()]
        assert figures or not again, f"no kernel in {kernels}"
        self.count += len(figures)

    def check_text(self, text, flags=(), plan=()):
        """`flags` are the emulated device's, `plan` the compiler's."""
        with tempfile.TemporaryDirectory() as folder:
            self.compare(self.compile(write(text, folder), folder, plan), *flags)

    def check_stages(self, text, plan=(), unless="^$"):
        """The kernels of the model's forward and backward, without those whose names match `unless`."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.compile(write(text, folder), folder, plan)
            self.compare(path, *named([name for name in kernels_of_stages(path) if not re.search(unless, name)]))

    def plan_matmuls(self, text, folder):
        """Returns a module of matmuls with their kernels."""
        path = os.path.join(folder, "kernels.mlir")
        done = run([self.ppopt, "opt", write(text, folder), "--pp-plan-cuda-matmuls", "-o", path])
        assert done.returncode == 0, done.stderr
        return path

    def check_matmuls(self, text):
        with tempfile.TemporaryDirectory() as folder:
            self.compare(self.plan_matmuls(text, folder))

    def check_padded(self, text, plan):
        """Some rows of buffers are padded."""
        with tempfile.TemporaryDirectory() as folder:
            path = self.compile(write(text, folder), folder, plan)
            assert re.search(r"pp\.kernel .*pp\.pitch", read(path)), "no row is padded"
            self.compare(path)

    def check_generation(self, model, flags, *emulated, seeds=0):
        """`model`: its text, or flags of `ppopt model gpt`. `emulated` are the emulated device's flags."""
        with tempfile.TemporaryDirectory() as folder:
            path = write(model, folder) if isinstance(model, str) else os.path.join(folder, "model.mlir")
            if not isinstance(model, str):
                done = run([self.ppopt, "model", "gpt", *model, "-o", path])
                assert done.returncode == 0, done.stderr
            self.compare(self.compile(path, folder, ["--generator", *flags]), *emulated, seeds=seeds)

    def check_small(self, text, emulates=True):
        """Compiles a model for GPUs, and compares those of its kernels that are small."""
        with tempfile.TemporaryDirectory() as folder:
            if not emulates:
                self.compile(write(text, folder), folder, stop="native")
                return
            path = self.compile(write(text, folder), folder)
            bodies = dict(re.findall(r"^  pp\.kernel @(\w+)(\(.*?^  \})$", read(path), re.M | re.S))
            assert bodies, "no kernel is found"
            if names := [name for name, body in bodies.items() if elements_of(body) <= MOST_ELEMENTS]:
                self.compare(path, *named(names))

    def check_model(self, model, flags, *emulated):
        """Skips a plan that does not fit the model."""
        with tempfile.TemporaryDirectory() as folder:
            self.compare(self.compile(model, folder, flags, fits=not flags), *emulated)


# Columns of less and more than a warp, its parts and a block take; rows of the last block that is not full.
ROWS = [(5, 1), (5, 3), (7, 31), (16, 32), (9, 33), (3, 127), (33, 128), (5, 768), (3, 1025), (2, 2049), (1, 5000), (300, 8)]


def rows_cases(kernels):
    for (rows, columns), element in itertools.product(ROWS, ["f64", "f32", "bf16"]):
        yield f"rows {rows}x{columns} {element}", lambda text=rows_model(rows, columns, element): kernels.check_stages(text, unless="embedding_grad")


# More ids than rows of the table, and fewer; few rows, whose blocks have few columns; columns that no vector divides; several blocks a row.
SCATTERS = [(150, 40, 48), (20, 300, 33), (350, 3, 8), (4, 5, 1), (3, 9, 1025)]
# Tables whose rows are cut, as they stand and in three parts.
CUT_SCATTERS = {(150, 40, 48): "tp", (20, 300, 33): "3 * tp"}
# A table that a task clears, and one to which it adds; lists that fill up, in blocks of one warp.
SCATTER_PLANS = {"": [], ", accumulated": ["--microbatches", "2"],
                 ", short lists": ["--threshold", "gpu-threads=32,gpu-each=2,gpu-table-blocks=5,gpu-table-columns=4,gpu-table-list=70"]}


def scatter_cases(kernels):
    for (number, sizes), element, (title, plan) in itertools.product(enumerate(SCATTERS), ["f64", "f32", "bf16"], SCATTER_PLANS.items()):
        text = scatter_model(*sizes, element, ["i32", "i64"][number % 2])
        yield f"scatter {'x'.join(map(str, sizes))} {element}{title}", lambda text=text, plan=plan: kernels.check_text(text, ["--kernel", "embedding_grad"], plan)
    for (sizes, cut), element in itertools.product(CUT_SCATTERS.items(), ["f64", "f32", "bf16"]):
        text, plan = scatter_model(*sizes, element, "i32"), ["--mesh", "tp=2", "--shard", f"table=[{{{cut}}}, {{}}]"]
        yield f"scatter {'x'.join(map(str, sizes))} {element}, {cut}", lambda text=text, plan=plan: kernels.check_text(text, ["--kernel", "embedding"], plan)


INDICES = [(3, 1, 1), (2, 33, 5), (5, 257, 31), (2, 700, 128), (300, 8, 3)]


def index_cases(kernels):
    for (sizes, element), plan in itertools.product(itertools.product(INDICES, ["f64", "f32", "bf16"]), ([], ["--threshold", "gpu-threads=32"])):
        yield (f"indices {'x'.join(map(str, sizes))} {element}{', few threads' if plan else ''}",
               lambda text=index_model(*sizes, element), plan=plan: kernels.check_stages(text, plan))


CONVOLUTIONS = {
    "padded": ((2, 1, 3, 33), (1, 4, 3, 3), (33,), "offsets [-1]"),
    "causal in groups": ((2, 40, 1, 9), (40, 1, 1, 4), (9,), "offsets [-3]"),
    "strided": ((1, 2, 3, 9, 11), (2, 5, 3, 3, 3), (5, 6), "strides [2, 2] offsets [-1, -1]"),
    "dilated": ((1, 1, 2, 40), (1, 3, 2, 4), (31,), "dilations [3]"),
    "spread": ((2, 1, 2, 9), (1, 2, 2, 4), (20,), "strides [2] offsets [-3] spreads [3]")}


def conv_cases(kernels):
    for (name, sizes), element in itertools.product(CONVOLUTIONS.items(), ["f64", "f32", "bf16"]):
        yield f"convolution, {name} {element}", lambda text=conv_model(*sizes, element): kernels.check_stages(text, [])


# Rows of each remainder of a vector; of a part of a warp, a warp and a block; above 32 times 256 bytes, with that pitch.
HEADS = [(4, 3), (2, 5), (6, 9), (4, 31), (6, 33), (4, 127), (2, 258), (6, 1029), (2, 2047), (2, 5003), (2, 8193)]
PADDED = ["--threshold", "gpu-pitch-columns=2,gpu-split-products=1"]


def head_cases(kernels):
    for (number, (rows, columns)), (element, size) in itertools.product(enumerate(HEADS), {"f64": 8, "f32": 4, "bf16": 2}.items()):
        text = head_model(rows, columns, element)
        yield f"head {rows}x{columns} {element}", lambda text=text: kernels.check_padded(text, PADDED)
        # Blocks of two rows, of one type each; narrower ones have one.
        if columns < 5 or not kernels.is_full and element != TYPES[number % len(TYPES)]:
            continue
        flags = ["--block-bytes", str(2 * columns * size), "--threshold",
                 "gpu-pitch-columns=2,gpu-threads=64,gpu-warp-columns=40,gpu-each=4,block-row-multiple=1"]
        yield f"head {rows}x{columns} {element} in blocks, few threads", lambda text=text, flags=flags: kernels.check_padded(text, flags)


# Queries, keys and widths of less, as much and more than a product, a warp and a block have; where keys are not queries, nothing is causal.
ATTENTION = [(1, 1, 1, 1, 1, 1), (1, 2, 3, 3, 3, 3), (1, 2, 17, 17, 8, 8), (2, 1, 31, 40, 20, 20), (1, 1, 33, 33, 16, 16), (2, 2, 65, 65, 32, 32),
             (1, 1, 127, 90, 33, 17), (1, 1, 130, 130, 80, 80), (1, 1, 100, 100, 128, 128), (1, 1, 40, 70, 256, 256), (1, 1, 70, 70, 64, 128)]
# Each with the defaults, and with one of these: bf16, which tensor cores multiply, with both, and one of the other types, whose code is the same.
ATTENTION_THRESHOLDS = ["gpu-warps=1,gpu-tensor-keys=16,gpu-queries=16,gpu-keys=16", "gpu-warps=3,gpu-tensor-keys=48,gpu-queries=48",
                        "gpu-shared-bytes=24000"]


def attention_cases(kernels):
    for (number, sizes), element in itertools.product(enumerate(ATTENTION), ["bf16", "f32", "f64"]):
        causal = sizes[2] == sizes[3] and number % 3 != 2
        text = attention_model(*sizes, causal, element)
        title = f"attention {'x'.join(map(str, sizes))} {element}{' causal' if causal else ''}"
        if not kernels.is_full and element == ("f32", "f64")[number // 2 % 2]:
            continue
        if element == "bf16" or number % 2:
            yield title, lambda text=text: kernels.check_text(text, ["--kernel", "attention"])
        thresholds = ATTENTION_THRESHOLDS[number % 3]
        if element == "bf16" or number % 2 == 0:
            yield f"{title}, {thresholds}", lambda text=text, t=thresholds: kernels.check_text(text, ["--kernel", "attention"], ["--threshold", t])


# Batch, heads, queries, keys, widths; heads of keys; what changes and hides scores. Each change in bf16 and another type, alone and with others, and each
# range of keys that positions leave: of one key, of some of a tile, across tiles, with more keys than queries.
CHANGED_ATTENTION = [
    ((1, 2, 1, 1, 1, 1), 1, [CAUSAL, "window = 1 : i64"]),
    ((1, 4, 33, 33, 16, 16), 2, [CAUSAL]),
    ((2, 6, 17, 31, 8, 20), 2, ["bias bhts"]),
    ((1, 3, 40, 70, 32, 16), 3, [CAUSAL, "slopes"]),
    ((1, 2, 100, 100, 16, 16), 1, [CAUSAL, "window = 33 : i64", "soft_cap = 2.0 : f64"]),
    ((1, 2, 90, 131, 20, 33), 2, ["window = 7 : i64", "slopes"]),
    ((3, 2, 31, 31, 16, 16), 2, ["segments", CAUSAL]),
    ((2, 2, 65, 65, 16, 16), 1, ["bias 1h1s", "mask b11s", "soft_cap = 5.0 : f64"]),
    ((1, 4, 70, 70, 32, 20), 2, ["bias 1hts", "slopes", "segments", CAUSAL]),
    ((2, 1, 3, 50, 80, 80), 1, ["mask bhts", CAUSAL, "window = 20 : i64"]),
    ((1, 8, 33, 64, 16, 16), 1, ["bias b111", "mask 11t1"]),
    ((1, 2, 24, 40, 256, 144), 2, [CAUSAL, "window = 20 : i64", "bias 11ts", "mask 1h1s"]),
    ((1, 1, 129, 33, 16, 16), 1, ["mask b1ts"]),
]


def changed_attention_cases(kernels):
    for (number, (sizes, key_heads, changes)), (at, element) in itertools.product(enumerate(CHANGED_ATTENTION), enumerate(["bf16", "f32", "f64"])):
        if not kernels.is_full and element == ("f32", "f64")[number % 2]:
            continue
        text = changed_attention_model(sizes, key_heads, changes, element)
        title = f"changed attention {'x'.join(map(str, sizes))} of {key_heads} {element}, {', '.join(changes)}"
        thresholds = ["", *ATTENTION_THRESHOLDS][(number + at) % 4]
        plan = ["--threshold", thresholds] if thresholds else []
        yield f"{title}, {thresholds}" if plan else title, lambda text=text, plan=plan: kernels.check_text(text, ["--kernel", "attention"], plan)


# Heads, their width and the context: one thread's columns, some lanes and whole warps; fewer, as many and more positions than a block takes.
STEPS = [(2, 1, 3), (3, 3, 2), (4, 5, 33), (2, 20, 40), (1, 33, 257), (2, 64, 129), (1, 80, 70), (1, 128, 300), (1, 520, 40)]
STEP_FLAGS = {"f64": [], "f32": ["--threshold", "gpu-threads=64,gpu-each=2,gpu-step-keys=1"],
              "bf16": ["--precision", "bf16", "--threshold", "gpu-step-keys=16,gpu-shared-bytes=1000"]}


# Heads, those of keys, width, positions: heads that registers hold together and that they do not.
GROUPED_STEPS = [(2, 1, 3, 9, [CAUSAL]), (6, 2, 20, 40, [CAUSAL, "window = 7 : i64"]), (8, 1, 64, 129, [CAUSAL, "slopes"]),
                 (3, 1, 128, 70, [CAUSAL, "soft_cap = 2.0 : f64", "window = 33 : i64"]), (2, 2, 33, 300, [CAUSAL, "window = 1 : i64", "slopes"])]


def generation_cases(kernels):
    for (heads, width, positions), (element, flags) in itertools.product(STEPS, STEP_FLAGS.items()):
        model = gpt("f64" if element == "f64" else "f32", layers=1, heads=heads, width=heads * width, seq=positions, batch=1)
        yield (f"one position, {heads} heads of {width}, {positions} positions, {element}",
               lambda model=model, flags=flags: kernels.check_generation(model, flags, "--kernel", "attention_step", seeds=6))
    for sizes, (element, flags) in itertools.product(GROUPED_STEPS, STEP_FLAGS.items()):
        model = grouped_generator(*sizes, "f64" if element == "f64" else "f32")
        yield (f"one position, {sizes[0]} heads of {sizes[2]}, keys of {sizes[1]}, {sizes[3]} positions, {', '.join(sizes[4])}, {element}",
               lambda model=model, flags=flags: kernels.check_generation(model, flags, "--kernel", "attention_step", seeds=6))
    for name, model, flags, _ in generation_models():
        yield f"generation, {name}", lambda model=model, flags=flags: kernels.check_generation(model, flags)


# Ops whose functions are those of a library in f64, and of few instructions in the other types.
FUNCTIONS = {"atan", "cos", "elu", "erf", "exp", "expm1", "gelu", "log", "log1p", "log_softmax", "mish", "pow", "power", "rsqrt", "sigmoid", "silu", "sin",
             "softmax", "softplus", "sqrt", "tanh"}


def types_of(number, op):
    """All types for functions. Other ops are in f32 and in turn in one of the others; attention in all types is above."""
    if op in FUNCTIONS:
        return TYPES
    return ["f32"] if op == "attention" else ["f32", ("f64", "bf16")[number % 2]]


def op_cases(kernels):
    for count, (op, group) in enumerate(itertools.groupby(sorted(cases(), key=op_of), key=op_of)):
        text = model_text([graph_of(case, number) for number, case in enumerate(group)])
        for element in TYPES if kernels.is_full else types_of(count, op):
            yield f"op {op} {element}", lambda text=in_type(text, element): kernels.check_stages(text)


def graph_cases(kernels, count):
    """Of each third graph rows of buffers are padded."""
    for seed in range(count):
        text = model_text([random_graph(seed, sizes=LARGE)])
        text = text if seed % 2 else in_type(text, "f32")
        yield f"graph {seed}", lambda text=text: kernels.check_text(text)
        if seed % 3 == 0 or kernels.is_full:
            yield f"graph {seed}, padded", lambda text=text: kernels.check_text(text, plan=PADDED)


def model_cases(kernels):
    for model, (name, flags) in itertools.product(MODELS, PLANS.items()):
        stem = os.path.basename(model)[:-5]
        title = f"model {stem}, {name}"
        if name == "recomputed":
            flags = [*flags, "--block-bytes", BLOCK_BYTES.get(stem, "1024")]
        yield title, lambda model=model, flags=flags: kernels.check_model(model, flags)
        if name == next(iter(PLANS)):
            yield f"{title}, padded", lambda model=model, flags=flags: kernels.check_model(model, [*flags, *PADDED])


def constant_cases(kernels):
    for name, text, flags, _ in constant_models():
        yield f"constants, {name}", lambda text=text, flags=flags: kernels.check_text(text, plan=flags)


def whole_model_cases(kernels):
    """Models that PyTorch's numbers are there for, and those of the documentation. All are compiled, some are emulated."""
    for number, path in enumerate(DESCRIPTIONS):
        yield (f"model {os.path.basename(path)[:-5]}", lambda path=path, emulates=kernels.is_full or number % EMULATED == 0:
               kernels.check_small(pp_text(json.loads(read(path))["description"]), emulates))
    for path in EXAMPLES:
        yield f"example {os.path.basename(path)[:-5]}", lambda path=path: kernels.check_small(read(path))


def matmul_cases(kernels, is_full):
    for title, text in matmul_modules(is_full):
        yield title, lambda text=text: kernels.check_matmuls(text)
    for model, (name, flags) in itertools.product(MODELS, MATMUL_PLANS.items()):
        yield (f"matmuls of {os.path.basename(model)[:-5]}, {name}",
               lambda model=model, flags=flags: kernels.check_model(model, [*flags, "--matmul", "generated"], "--kernel", "^matmul"))


HUGE_FLAGS = ["--ends", "--kernel", "mul_relu_cast_mask_rows"]


# In device code: model, kernel, what is replaced once in it, by what, what the error says, and a plan.
COORDINATE = (r"(%\d+) = load i64, ptr %\d+, align 8", r"\1 = add i64 0, 0", "of the largest element", ["--mesh", "tp=2", "--shard", "table=[{tp}, {}]"])
BUGS = {
    "barrier left out": (rows_model(3, 5000, "f32"), "embedding", r"tail call void @llvm.nvvm.barrier.*", "", "without a barrier|nobody has written since"),
    "warp reduction one lane short": (rows_model(9, 33, "f32"), "embedding", r"i32 16, i32 31\)", "i32 8, i32 31)", "of the largest element"),
    "row that does not exist": (rows_model(9, 33, "f32"), "embedding", r"icmp ult (i32 %\d+), 9", r"icmp ult \1, 10", "which has 9 elements"),
    "tail not masked": (FLAT, "tanh_9x33", r"icmp (.*i32 %\d+), 29\d", r"icmp \1, 400", "at element .*, which has 297 elements"),
    "last columns not masked": (head_model(3, 1029, "f32"), "select_add_6x1029", r"icmp eq (i32 %\d+), 0\b", r"icmp uge \1, 0",
                                "which is padding between rows of 1029|without a barrier between"),
    "pitch ignored": (head_model(3, 1029, "f32"), "select_add_6x1029", r"(mul [a-z ]*i32 %\d+), 1032", r"\1, 1029",
                      "which is padding between rows of 1029|no multiple of"),
    "attention, barrier left out": (attention_model(1, 1, 70, 70, 64, 64, True, "bf16"), "attention_1x1x70x64",
                                    r"(tail call void @llvm.nvvm.barrier[^\n]*\n(?:.*\n)*?)[^\n]*tail call void @llvm.nvvm.barrier[^\n]*\n", r"\1", "without a barrier|nobody has written since"),
    "attention, rows of other fragments": (attention_model(1, 1, 70, 70, 64, 64, False, "bf16"), "attention_1x1x70x64",
                                           r"(ldmatrix.sync.aligned.m8n8.x4).b16", r"\1.trans.b16", "of the largest element"),
    "attention, window one wider": (changed_attention_model((1, 1, 70, 70, 16, 16), 1, [CAUSAL, "window = 37 : i64"], "f32"), "attention_1x1x70x16",
                                    r"(add nuw nsw i32 %\d+), 37\b", r"\1, 38", "of the largest element"),
    "attention, keys of other heads": (changed_attention_model((1, 4, 33, 33, 16, 16), 2, [CAUSAL], "f32"), "attention_1x4x33x16",
                                       r"lshr (i32 %\d+), 1\n", r"and \1, 1\n", "of the largest element"),
    "attention, segments before seen": (changed_attention_model((1, 1, 33, 33, 16, 16), 1, ["segments", CAUSAL], "f32"), "attention_1x1x33x16",
                                        r"icmp eq (i32 %\d+, %\d+)", r"icmp sge \1", "of the largest element"),
    "attention, last segment left out": (changed_attention_model((1, 1, 33, 33, 16, 16), 1, ["segments", CAUSAL], "f32"), "attention_1x1x33x16",
                                         r"icmp sle (i32 %\d+, %\d+)", r"icmp slt \1", "of the largest element"),
    "scatter, barrier left out": (scatter_model(150, 40, 48, "f32", "i32"), "embedding_grad", r"tail call void @llvm.nvvm.barrier.*", "", "without a barrier|nobody has written since"),
    "scatter, lanes in one place": (scatter_model(150, 40, 48, "f32", "i32"), "embedding_grad", r"(shl nsw i32 -1, %\d+\n +%\d+ = )xor i32 (%\d+), -1", r"\1and i32 \2, 0",
                                    "without a barrier|nobody has written since"),
    "look-up, rows of the first rank": (scatter_model(150, 40, 48, "f32", "i32"), "embedding_300x48", *COORDINATE),
    "scatter, rows of the first rank": (scatter_model(150, 40, 48, "f32", "i32"), "embedding_grad", *COORDINATE),
    "order, barrier left out": (index_model(2, 257, 5, "f32"), "order_2x5", r"tail call void @llvm.nvvm.barrier.*", "", "without a barrier|nobody has written since"),
    "order of all, barrier left out": (index_model(2, 257, 5, "f32"), "order_2x257", r"tail call void @llvm.nvvm.barrier.*", "",
                                       "without a barrier|nobody has written"),
    "one position, barrier left out": (small(), "attention_step", r"tail call void @llvm.nvvm.barrier.*", "", "without a barrier"),
    "one position, keys after it": (small(), "attention_step", r"select i1 %\d+, (double %\d+, double 0xFFF0)", r"select i1 true, \1", "of the largest element"),
    "index of 32 bits": (HUGE, "mul_relu_cast_mask_rows", r"(%\d+ = getelementptr [a-z ]*i8, ptr %0, )i64 (%\d+)",
                         r"%narrow = trunc i64 \2 to i32\n  %wide = sext i32 %narrow to i64\n  \1i64 %wide", "at element -|of the largest element"),
}


def check_once(kernels):
    """A kernel is left out if it has been compared as it is, and not if its code, the thresholds or the number of draws are others."""
    with tempfile.TemporaryDirectory() as folder:
        def compare(text, seeds=1, plan=()):
            done = run([kernels.emulate, kernels.compile(write(text, folder), folder, plan), "--seeds", str(seeds), "--compared", os.path.join(folder, "once")])
            assert done.returncode == 0, done.stderr
            return {json.loads(line)["kernel"] for line in done.stdout.splitlines()}
        text = rows_model(9, 33, "f32")
        every = compare(text)
        assert every and compare(text) == set(), "kernels are compared twice"
        assert compare(text, seeds=2) == every, "kernels are left out whose arguments are others"
        assert compare(text, plan=["--threshold", "gpu-each=2"]) == every, "kernels are left out whose thresholds are others"
        changed = compare(text.replace("pp.gelu %a {tanh}", "pp.relu %a"))
        assert changed and len(changed) < len(every), f"{sorted(changed)} are compared of a model in which one op is another"


def check_huge(kernels):
    with tempfile.TemporaryDirectory() as folder:
        kernels.compare(kernels.compile(write(HUGE, folder), folder, ["--block-bytes", "1TiB"]), *HUGE_FLAGS, again=True)


def check_bug(kernels, model, kernel, old, new, expected, plan=()):
    with tempfile.TemporaryDirectory() as folder:
        program = ["--generator"] if kernel == "attention_step" else ["--block-bytes", "1TiB"]
        path = kernels.compile(write(model, folder), folder, [*program, *plan])
        check_change(kernels, path, kernel, HUGE_FLAGS if model is HUGE else ["--kernel", kernel], old, new, expected)


def check_change(kernels, path, kernel, flags, old, new, expected):
    """Expects an error once the device code of a kernel is changed."""
    device = os.path.join(os.path.dirname(path), "device.ll")
    kernels.compare(path, *flags, "--save-device-ir", device, again=True)
    head, name, body = read(device).partition(f"define ptx_kernel void @{kernel}")
    body, count = re.subn(old, new, body, count=1)
    assert name and count == 1, f"nothing to change in {kernel}"
    with open(device, "w") as file:
        file.write(head + name + body)
    done = run([kernels.emulate, path, device, *flags])
    assert done.returncode == 1 and re.search(expected, done.stderr), f"status {done.returncode}, not '{expected}':\n{done.stderr}"


# As BUGS, of matmuls.
SMALL = "gpu-matmul-tile=16,gpu-matmul-depth=16,gpu-matmul-sum=20"
PLAIN, TENSOR = module_text([gemm(17, 18, 70)], SMALL), module_text([gemm(33, 33, 70, ("bf16", "bf16"))], SMALL)
BARRIER = r"[^\n]*tail call void @llvm.nvvm.barrier[^\n]*\n"
MATMUL_BUGS = {
    "barrier left out": (PLAIN, BARRIER, "", "without a barrier|nobody has written since"),
    "barrier between tiles left out": (PLAIN, rf"({BARRIER}(?:.*\n)*?){BARRIER}", r"\1", "without a barrier|nobody has written since"),
    "rows not masked": (PLAIN, r"icmp samesign ult (i32 %\d+), 17\b", r"icmp samesign ult \1, 24", "of A, which has 1190 elements"),
    "columns of C not masked": (PLAIN, r"icmp samesign ult (i32 %\d+), 18\b", r"icmp samesign ult \1, 20", "of B, which has 1260 elements|writes|without a barrier"),
    "terms not masked": (PLAIN, r"sub nuw nsw i32 70,", "sub nuw nsw i32 72,", "of B, which has 1260 elements"),
    "last sum left out": (PLAIN, r"icmp samesign ult (i32 %\d+), 50\b", r"icmp samesign ult \1, 30", "of the sum of magnitudes"),
    "C not added to": (PLAIN, r"fadd (float %\d+), %\d+", r"fadd \1, 0.0", "of the sum of magnitudes"),
    "bf16, barrier between tiles left out": (TENSOR, rf"({BARRIER}(?:.*\n)*?){BARRIER}", r"\1", "without a barrier|nobody has written since"),
    "bf16, last terms left out": (TENSOR, r"icmp samesign ult (i32 %\d+), 54\b", r"icmp samesign ult \1, 38", "of the sum of magnitudes"),
    "bf16, a fragment transposed": (TENSOR, r"(ldmatrix.sync.aligned.m8n8.x4).b16", r"\1.trans.b16", "of the sum of magnitudes"),
}


def check_matmul_bug(kernels, text, old, new, expected):
    with tempfile.TemporaryDirectory() as folder:
        path = kernels.plan_matmuls(text, folder)
        check_change(kernels, path, "matmul", [], old, new, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=24, help="how many random graphs (default 24)")
    parser.add_argument("--seeds", type=int, default=2, help="draws of arguments of each kernel (default 2)")
    parser.add_argument("--full", action="store_true", help="each type and layout of a matmul's operands with each other, not by pairs; all models of test/models; all types of ops, heads and attention")
    harness = Harness("emulated", parser)
    with tempfile.TemporaryDirectory() as directory:
        kernels = Kernels(harness, directory)
        planted = [("planted: " + name, lambda bug=bug: check_bug(kernels, *bug)) for name, bug in BUGS.items()]
        planted += [("planted: matmul, " + name, lambda bug=bug: check_matmul_bug(kernels, *bug)) for name, bug in MATMUL_BUGS.items()]
        harness.cases([*planted, ("buffers of 2^31 elements", lambda: check_huge(kernels)),
                       ("kernels once", lambda: check_once(kernels)), *rows_cases(kernels), *scatter_cases(kernels), *index_cases(kernels), *conv_cases(kernels),
                       *head_cases(kernels), *attention_cases(kernels), *changed_attention_cases(kernels),
                       *generation_cases(kernels), *matmul_cases(kernels, harness.args.full), *op_cases(kernels),
                       *graph_cases(kernels, harness.args.graphs), *model_cases(kernels), *constant_cases(kernels),
                       *whole_model_cases(kernels)])
        print(f"emulated: {kernels.count} kernels")
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
