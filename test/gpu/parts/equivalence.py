"""Plans trained on one GPU, ranks as threads, against what the same plans computed on a CPU; and each twice, for the same bits."""
import concurrent.futures
import os

from measure import safetensors
from measure.compare import largest, relative_error, tensors_error
from measure.context import Failed
from measure.executables import Executable, hexadecimal, losses
from measure.launch import THREADS
from measure.processes import OutOfTime
from measure.report import columns

JOBS = 4  # processes that share the GPU
LIMIT = 30  # seconds of one run


class Case:
    def __init__(self, context, entry):
        self.context, self.entry = context, entry
        self.executable = Executable(context, context.manifest["executables"][entry["executable"]])

    def train(self, run, *more, launcher=THREADS):
        """Returns the records of the log, the gradients and the parameters."""
        entry, name = self.entry, f"{self.entry['name']}.{run}"
        flags = [*entry["flags"], "--check-counters", *more]
        for file in entry["files"].keys() & {"data", "inputs", "init"}:
            flags += [f"--{file}", self.context.file(entry["files"][file])]
        if "inputs" in entry["files"]:
            flags.append("--no-shuffle")
        outputs = {flag: self.context.scratch(f"{name}.{flag}.safetensors") for flag in ("dump-gradients", "export")}
        for flag, path in outputs.items():
            flags += [f"--{flag}", path]
        records = self.executable.train(name, flags, LIMIT, launcher, entry["ranks"])
        return records, *(safetensors.read(path) for path in outputs.values())

    def compare(self, records, gradients, parameters):
        """Returns the errors, relative to the largest element of each tensor."""
        expected = {name: safetensors.read(self.context.file(self.entry["files"][name]))
                    for name in self.entry["files"].keys() & {"gradients", "parameters"}}
        errors = {"losses": (relative_error("losses", losses(records), list(map(float.fromhex, self.entry["losses"]))), None)}
        if "gradients" in expected:
            least = 1e-3 * max(largest(values) for _, values in expected["gradients"].values())
            errors["gradients"] = tensors_error("gradients", gradients, expected["gradients"], least)
        if "parameters" in expected:
            errors["parameters"] = tensors_error("parameters", parameters, expected["parameters"])
        return errors

    def judge(self, run, found):
        """Adds the errors of a run to what is found, and returns what is wrong with them."""
        errors = self.compare(*run)
        found["errors"] = {name: error for name, (error, _) in errors.items()}
        return [f"relative error {error:.2g} of {name}" + (f" ({where})" if where else "")
                for name, (error, where) in errors.items() if not error <= self.entry["tolerance"]]

    def run(self):
        """What is found of the case, with the reason if it is wrong."""
        found = {"ranks": self.entry["ranks"], "tolerance": self.entry["tolerance"], "wrong": None}
        share = ["--share-gpu"] if self.entry["ranks"] > 1 else []
        try:
            one, other = self.train("first", *share), self.train("again", *share)
            wrong = self.judge(one, found)
            found["same_bits"] = have_same_bits(one, other)
            if not found["same_bits"]:
                wrong.append("two runs have other bits")
            found["wrong"] = "; ".join(wrong) or None
        except (Failed, OutOfTime) as error:
            found["wrong"] = str(error)
        return found


def have_same_bits(one, other):
    """Of what Case.train returned."""
    return hexadecimal(one[0]) == hexadecimal(other[0]) and one[1:] == other[1:]


def run(context):
    entries = context.manifest["equivalence"]
    context.add(expected=len(entries), cases={})

    def measure(entry):
        found = Case(context, entry).run()
        with context.lock:
            context.found["cases"][entry["name"]] = found
            context.add()

    with concurrent.futures.ThreadPoolExecutor(min(JOBS, os.cpu_count())) as threads:
        list(threads.map(measure, entries))
    wrong = {name: found["wrong"] for name, found in context.found["cases"].items() if found["wrong"]}
    if wrong:
        name, text = next(iter(wrong.items()))
        raise Failed(f"{len(wrong)} of {len(entries)} wrong: {name}: {text}")


def lines(found):
    cases = found.get("cases", {})
    yield f"{sum(not case['wrong'] for case in cases.values())} of {found.get('expected', '?')} plans as on CPUs, with the same bits twice"
    kinds = ("losses", "gradients", "parameters")
    rows = [[name[:52], str(case["ranks"]), *(f"{case['errors'][kind]:.1e}" if kind in case.get("errors", {}) else "-" for kind in kinds),
             "WRONG" if case["wrong"] else ""] for name, case in cases.items()]
    yield from columns(rows, ["plan", " ranks", *(f" {kind}" for kind in kinds), ""])
