"""zero_bytes.py PPOPT MODEL MESH: the bytes of state and of messages that `ppopt plan` prints equal the formulas of ZeRO.

n ranks sum gradients, n = F·R where F of them have shards. From the sizes of the parameters alone follow, for the buckets that the
IR lists, their padded elements E. With P = 4·ΣE bytes a rank has 2P of parameters and gradients, and AdamW's states are 2P, with
--zero 1 2P/F. It sends 2(F−1)/F·P + 2(R−1)/R·P/F with either.
"""
import math
import re
import subprocess
import sys

ppopt, model, mesh = sys.argv[1:]
sizes = dict((axis, int(size)) for axis, size in (part.split("=") for part in mesh.split(",")))
RANKS = math.prod(sizes.values())
SHARDS = sizes.get("fsdp", RANKS)
REPLICAS = RANKS // SHARDS
ALIGNED = 32  # elements: each parameter in a bucket, and each of the smallest chunks
FLAGS = ["--mesh", mesh, "--threads", "1", "--cpu", "x86-64-v3", "--recompute", "cheap"]


def run(command, *flags):
    return subprocess.run([ppopt, command, model, *FLAGS, *flags], capture_output=True, text=True)


def align(number, unit):
    return -(-number // unit) * unit


def buckets_of(zero):
    """The elements of each bucket, as they follow from its parameters; checked against the IR."""
    ir = run("compile", "--zero", str(zero), "--stop-after=partitioned").stdout
    shapes = dict(re.findall(r'pp\.param_decl "([^"]+)" \{.*?type = tensor<([0-9x]+)xf32>', ir))
    elements = {name: math.prod(map(int, shape.split("x"))) for name, shape in shapes.items()}
    found = []
    for padded, names in re.findall(r'pp\.bucket @\w+ \{.*?elements = (\d+) : i64.*?params = \[([^]]*)\]', ir):
        whole = sum(align(elements.pop(name), ALIGNED) for name in re.findall(r'"([^"]+)"', names))
        assert int(padded) == align(whole, ALIGNED * RANKS), (names, padded, whole)
        found.append(int(padded))
    assert found and not elements, elements
    return found


def rows_of(text):
    """The numbers of a plan's rows with one."""
    return {label: int(number.replace(",", "")) for label, number in re.findall(r"^ +([a-z][a-z0-9 -]*?) +([0-9,]+)$", text, re.M)}


def expect(what, found, wanted):
    print(f"{what}: {found:,}")
    if found != wanted:
        sys.exit(f"{mesh}: {what} is {found}, the formula {wanted}: {found - wanted:+}")


def measure(zero):
    whole = 4 * sum(buckets_of(zero))
    plan = rows_of(run("plan", "--zero", str(zero)).stdout)
    expect(f"zero {zero}, parameters", plan["parameters"], whole)
    expect(f"zero {zero}, gradients", plan["gradients"], whole)
    expect(f"zero {zero}, optimizer", plan["optimizer"], 2 * whole // (SHARDS if zero else 1))
    if zero:
        expect("beside it", plan["with --zero 0"], 2 * whole)
    # Of the loss, an f32, rank 0 sends one element. With shards the norm has an f64 per shard.
    scalars = 4 + (2 * (SHARDS - 1) * 8 if zero else 0)
    gradients = 2 * whole // SHARDS * (SHARDS - 1) + 2 * whole // SHARDS // REPLICAS * (REPLICAS - 1)
    expect(f"zero {zero}, bytes sent", plan["bytes sent"], gradients + scalars)
    return plan["all"]


def expect_fit(limit, zero, fits):
    found = run("plan", "--zero", str(zero), "--device-memory", str(limit))
    if (found.returncode == 0) != fits:
        sys.exit(f"{mesh}: --zero {zero} {'is refused' if fits else 'is taken'} with --device-memory {limit}:\n{found.stderr}")
    return found.stderr


all_0, all_1 = measure(0), measure(1)
between = (all_0 + all_1) // 2
refusal = expect_fit(between, 0, False)
print("hint:", re.search(r"what would help: (--zero[^;]*)", refusal).group(1))
expect_fit(all_1, 1, True)
expect_fit(between, 1, True)
tight = expect_fit(all_1 - 1, 1, False)
assert "--zero 2, which shards the gradients too;" in tight, tight
too_little = expect_fit(all_1 * 9 // 10, 0, False)
assert "--zero 1" not in too_little and "--zero 2" in too_little, too_little
