"""Each kernel and matmul of GPT-2 alone, on numbers drawn by Philox: sampled elements of its results against expectations, twice for the same
bits, and its time beside the prediction. ppopt-gpu-kernels measures (test/gpu/kernels)."""
import json
import os
import re

from measure.context import Failed, read_json
from measure.report import columns, number

TOOL = "ppopt-gpu-kernels"
LISTED = 30
SPARE = 5  # seconds between the tool's own limit and the part's


def bundle_of(context):
    """The manifest's entry, and the document of its folder."""
    entry = context.manifest["kernels"]
    if not entry:
        raise Failed(f"{TOOL} was not built when the bundle was made")
    return entry, read_json(os.path.join(context.bundle, entry["folder"], "manifest.json"))


def measure(context, entry, names):
    """Runs the tool for these kernels or instructions. Returns its records, of which some may be missing if it crashed."""
    log = context.scratch("records.jsonl")
    pattern = "^(" + "|".join(re.escape(name).replace("\\#", "#") for name in names) + ")$"
    command = [context.file(entry["tool"]), os.path.join(context.bundle, entry["folder"]), "--only", pattern, "--json", log, "--limit",
               f"{max(context.left() - SPARE, 1):.0f}", *(["--no-times"] if context.fake else [])]
    done = context.run(command, context.left(), context.environment(entry.get("code")), statuses=(0, 1))
    records = []
    if os.path.exists(log):
        with open(log) as file:
            records = [json.loads(line) for line in file]
    devices = [record["device"] for record in records if "device" in record]
    records = [record for record in records if "name" in record]
    context.add(expected=len(names), records=records, device="; ".join(devices))
    missing = set(names) - {record["name"] for record in records}
    wrong = [record for record in records if not record["agrees"] or not record.get("same bits", True)]
    if wrong:
        raise Failed(f"{len(wrong)} of {len(names)} do not agree: {wrong[0]['name']}: {'; '.join(wrong[0]['wrong']) or 'other bits'}")
    if missing or done.status != 0:
        raise Failed(f"status {done.status}, and {len(missing)} of {len(names)} are missing, as {', '.join(sorted(missing)[:3])}: {done.text[-300:]}")
    return records


def run(context):
    entry, document = bundle_of(context)
    measure(context, entry, [launch["name"] for launch in document["launches"]])


def lines(found):
    records = found.get("records", [])
    yield f"{sum(record['agrees'] for record in records)} of {found.get('expected', '?')} agree with what is expected"
    records = sorted(records, key=lambda record: (record["agrees"], -(record.get("microseconds") or 0)))
    rows = [[record["name"][:40], text_of(record.get("error")), text_of(record.get("tolerance")), number(record.get("microseconds")),
             number(record.get("predicted microseconds")), number(record.get("ratio"), 2), number(record.get("GB/s"), 0), number(record.get("TFLOP/s")),
             "" if record["agrees"] else "WRONG"] for record in records[:LISTED]]
    yield from columns(rows, ["", " error", " allowed", " us", " predicted", " ratio", " GB/s", " TFLOP/s", ""])


def text_of(value):
    """The tool writes "infinite" for what JSON has no number."""
    return "-" if value is None else f"{value:.1e}" if isinstance(value, float) else str(value)
