"""The same model, batches and tokens by torch.compile (torch_gpt2.py): tokens per second beside ours, and the same losses from the same
parameters."""
import json
import os
import shutil
import statistics
import sys

from measure.compare import relative_error
from measure.context import Failed, Skip, last_line
from measure.executables import losses, of
from measure.processes import OutOfTime
from measure.report import columns, number

from .gpt2 import Batch, in_order

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "torch_gpt2.py")
WARM_UP, STEPS = 6, 16
COMPARED = 6  # steps
TOLERANCE, NORM_TOLERANCE = 1e-2, 2e-2  # bf16, whose sums have other orders
OURS = 25  # seconds that our run from the same parameters may take


def find_python(context):
    """A Python with torch."""
    for name in dict.fromkeys([sys.executable, "python3", "python"]):
        path = shutil.which(name)
        if path and context.run([path, "-c", "import importlib.util as u; exit(u.find_spec('torch') is None)"], 10, env=dict(os.environ),
                                statuses=(0, 1)).status == 0:
            return path
    return None


def measure_torch(context, python, names):
    """Runs torch_gpt2.py; returns its records by batch, those that were measured before it ended, and why it ended if not all were."""
    shape, entries = context.manifest["gpt2"]["shape"], context.manifest["gpt2"]["batches"]
    log = context.scratch("torch.jsonl")
    command = [python, SCRIPT, *(word for key, size in shape.items() for word in (f"--{key}", str(size))), "--steps", STEPS, "--batches",
               ",".join(str(entries[name]["rows"]) for name in names), "--tokens", context.file(context.manifest["gpt2"]["tokens"]), "--log", log,
               "--export", context.scratch("parameters.safetensors")]
    # torch has libraries of its own, and caches what it compiles.
    environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=context.scratch("inductor"), TRITON_CACHE_DIR=context.scratch("triton"))
    wrong = None
    try:
        done = context.run(command, context.left() - OURS, env=environment, statuses=None)
        if done.status != 0:
            wrong = last_line(done.text)
    except OutOfTime as error:
        wrong = str(error)
    records = {}
    if os.path.exists(log):
        with open(log) as file:
            records = {str(record["rows"]): record for record in map(json.loads, file)}
    return records, wrong


def compare_losses(context, name, record):
    """Our losses from torch's initial parameters, and the norm of the first gradient."""
    ours = Batch(context, name).train("compared", COMPARED, "--init", context.scratch("parameters.safetensors"))
    error = relative_error("losses", losses(ours), record["losses"][:COMPARED])
    norm = of(ours, "step")[0]["norm"]
    norm_error = abs(norm - record["norm"]) / record["norm"]
    context.add(compared={"batch": name, "ours": losses(ours), "torch": record["losses"][:COMPARED], "error": error, "norm": norm,
                          "torch_norm": record["norm"], "norm_error": norm_error})
    if not (error <= TOLERANCE and norm_error <= NORM_TOLERANCE):
        raise Failed(f"batch {name}: the losses differ by {error:.2g}, the norm of the first gradient by {norm_error:.2g}: not the same model")


def run(context):
    if context.fake:
        raise Skip("torch runs on no fake GPU")
    python = find_python(context)
    if not python:
        raise Skip("no Python here has torch")
    names = in_order(context.manifest["gpt2"]["batches"])
    context.add(batches={})
    records, wrong = measure_torch(context, python, names)
    tokens = context.manifest["gpt2"]["shape"]["seq"]
    ours = context.others.get("gpt2", {}).get("batches", {})
    for name, record in records.items():
        median = statistics.median(record["ms"][WARM_UP:])
        rate = 1e3 * record["rows"] * tokens / median
        our_rate = ours.get(name, {}).get("graph", {}).get("tokens_per_second")
        context.found["batches"][name] = {**record, "median_ms": median, "tokens_per_second": rate, "ours_per_second": our_rate,
                                          "ratio": our_rate and our_rate / rate}
    context.add()
    if names[0] in records:
        compare_losses(context, names[0], records[names[0]])
    missing = [name for name in names if name not in records]
    if missing:
        raise Failed(f"not measured: batch {', '.join(missing)}: {wrong or 'no reason is known'}")


def lines(found):
    rows = [[name, number(batch["median_ms"], 2), number(batch["tokens_per_second"], 0), number(batch["ours_per_second"], 0), number(batch["ratio"], 2),
             number(batch["peak_bytes"] / 2**30), number(batch["seconds"], 0)] for name, batch in found.get("batches", {}).items()]
    if rows:
        yield f"torch {next(iter(found['batches'].values()))['torch']}, torch.compile, bf16 autocast, fused AdamW"
        yield from columns(rows, [" batch", " ms/step", " tok/s", " ours tok/s", " ours : torch", " GiB", " seconds in all"])
    if compared := found.get("compared"):
        yield (f"from the same parameters {len(compared['ours'])} losses differ by at most {compared['error']:.1e}, the first gradient's norm by "
               f"{compared['norm_error']:.1e}")
