"""The largest errors of approximate instructions, against the bounds of the PTX ISA on which kernels rely."""
from measure.report import columns

from .kernels import bundle_of, measure, text_of


def run(context):
    entry, document = bundle_of(context)
    measure(context, entry, document["instructions"])


def lines(found):
    rows = [[record["name"], text_of(record.get("error")), text_of(record.get("tolerance")), record.get("unit", ""), text_of(record.get("operand")),
             f"{record.get('compared', 0):,}", "" if record["agrees"] else "WRONG"] for record in found.get("records", [])]
    yield from columns(rows, ["", " error", " bound", "unit", " at", " operands", ""])
