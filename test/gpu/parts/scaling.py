"""GPT-2 124M data-parallel on 1, 2, 4 and 8 GPUs, as many as are here: tokens per second, and what is lost by each GPU more."""
from measure.context import Failed
from measure.executables import Executable, hexadecimal, milliseconds
from measure.launch import THREADS, find_mpirun
from measure.processes import OutOfTime
from measure.report import columns, number

from .gpt2 import FLAGS
from .multi import several_gpus

WARM_UP, STEPS = 4, 16
FAKE_STEPS = 3
LIMIT = 40


def measure(context, ranks, launcher):
    entry, gpt2 = context.manifest["scaling"][ranks], context.manifest["gpt2"]
    executable = Executable(context, context.manifest["executables"][entry["executable"]])
    flags = ["--data", context.file(gpt2["tokens"]), "--tokens", "uint16", *FLAGS, "--steps", str(FAKE_STEPS if context.fake else STEPS)]
    records = executable.train(f"{launcher.name}_{ranks}", flags, LIMIT, launcher, int(ranks))
    found = {"rows": entry["rows"], "losses": hexadecimal(records)}
    if not context.fake:
        times, median = milliseconds(records, WARM_UP)
        found.update(step_ms=times, median_ms=median, tokens_per_second=1e3 * entry["rows"] * gpt2["shape"]["seq"] / median)
    return found


def run(context):
    count = several_gpus(context)
    sizes = [ranks for ranks in context.manifest["scaling"] if int(ranks) <= count]
    first = context.manifest["executables"][context.manifest["scaling"]["2"]["executable"]]
    mpirun, why = find_mpirun(context, Executable(context, first))
    context.add(gpus=count, sizes=sizes, no_processes=why, launchers={})
    wrong = []
    for launcher in [THREADS, *([mpirun] if mpirun else [])]:
        found = context.found["launchers"][launcher.name] = {}
        for ranks in sizes:
            try:
                found[ranks] = measure(context, ranks, launcher)
                if "tokens_per_second" in found.get("1", {}):
                    found[ranks]["efficiency"] = found[ranks]["tokens_per_second"] / found["1"]["tokens_per_second"] / int(ranks)
            except (Failed, OutOfTime) as error:
                wrong.append(f"{launcher.name}, {ranks} GPUs: {error}")
            context.add()
    if wrong:
        raise Failed("; ".join(wrong))


def lines(found):
    if found.get("no_processes"):
        yield f"not as processes: {found['no_processes']}"
    rows = [[launcher, ranks, str(one["rows"]), number(one.get("median_ms"), 2), number(one.get("tokens_per_second"), 0),
             number(one.get("efficiency") and 100 * one["efficiency"])] for launcher, sizes in found.get("launchers", {}).items() for ranks, one in sizes.items()]
    yield from columns(rows, ["ranks as", " GPUs", " batch", " ms/step", " tok/s", " % of linear"])
