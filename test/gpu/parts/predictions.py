"""Predictions on one GPU, ranks as threads, against what the same program predicts on a CPU."""
import os

from measure import safetensors
from measure.compare import tensors_error
from measure.context import Failed, Skip
from measure.executables import Executable
from measure.report import columns

LIMIT = 30  # seconds of one run
TOLERANCE = 1e-12  # in f64, as test/predictions has it


def predict(context, entry):
    """Returns the largest error of an output, and the output."""
    files = {name: context.file(path) for name, path in context.manifest["predictions"]["files"].items()}
    executable = Executable(context, context.manifest["executables"][entry["executable"]])
    out = context.scratch(f"{entry['name']}.safetensors")
    if os.path.exists(out):
        os.remove(out)
    share = ["--share-gpu"] if entry["ranks"] > 1 else []
    context.run(executable.command(["--init", files["parameters"], "--predict", files["rows"], "-o", out, *share]), LIMIT, executable.environment())
    return tensors_error("outputs", safetensors.read(out), safetensors.read(files["outputs"]))


def run(context):
    if "predictions" not in context.manifest:
        raise Skip("the bundle has no code of programs that predict for the fake libraries")
    programs = context.manifest["predictions"]["programs"]
    context.add(expected=len(programs), cases={})
    for entry in programs:
        error, where = predict(context, entry)
        context.found["cases"][entry["name"]] = {"ranks": entry["ranks"], "error": error, "where": where}
        context.add()
    wrong = [f"{name}: relative error {case['error']:.2g} of {case['where']}" for name, case in context.found["cases"].items() if not case["error"] <= TOLERANCE]
    if wrong:
        raise Failed("; ".join(wrong))


def lines(found):
    cases = found.get("cases", {})
    yield f"{sum(case['error'] <= TOLERANCE for case in cases.values())} of {found.get('expected', '?')} programs predict as on CPUs"
    rows = [[name, str(case["ranks"]), f"{case['error']:.1e}"] for name, case in cases.items()]
    yield from columns(rows, ["plan", " ranks", " error"])
