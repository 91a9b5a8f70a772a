"""GPT-2 124M in bf16 at several batches: tokens per second with and without a CUDA graph, MFU, and the time of each kernel beside its prediction."""
import collections

from measure.context import Failed
from measure.driver import Driver, DriverError
from measure.executables import Executable, hexadecimal, milliseconds, of
from measure.processes import OutOfTime
from measure.report import columns, number

# Dense bf16 FLOP/s of the data sheets, by the compiler's name of a device and the word in the GPU's name; the compiler's own rates are what
# libraries reach.
PEAKS = {"a100": ("A100", 312e12), "h200": ("H200", 989.4e12), "h100": ("H100", 989.4e12)}
USUAL = "h100"  # whose predictions are taken for a GPU that is none of these
# Beside PyTorch's (torch_gpt2.py).
FLAGS = ["--no-shuffle", "--lr", "3e-4", "--weight-decay", "0.1", "--betas", "0.9,0.95", "--clip", "1", "--seed", "1"]
WARM_UP, STEPS = 4, {8: 24, 16: 16, 64: 10}
FAKE_WARM_UP, FAKE_STEPS = 1, 3
PROFILED = 4  # steps, of which the first does not count
LIMIT = 60
LISTED = 14  # kernels of a batch in the table


def device_of(name):
    """The device that the compiler predicts for this GPU, and its peak; None for a GPU that it does not know."""
    for device, (word, peak) in PEAKS.items():
        if word in name:
            return device, peak
    return None, None


def in_order(batches):
    """The smallest and the largest first: what follows may not be reached."""
    batches = sorted(batches, key=int)
    return [*batches[:1], *batches[:0:-1]]


class Batch:
    def __init__(self, context, name):
        self.context, self.name = context, name
        gpt2 = context.manifest["gpt2"]
        self.entry, self.shape = gpt2["batches"][name], gpt2["shape"]
        self.tokens = self.entry["rows"] * self.shape["seq"]
        self.data = ["--data", context.file(gpt2["tokens"]), "--tokens", "uint16"]
        self.executable = Executable(context, context.manifest["executables"][self.entry["executable"]])

    def train(self, name, steps, *flags):
        return self.executable.train(f"batch_{self.name}_{name}", [*self.data, *FLAGS, "--steps", str(steps), *flags], min(LIMIT, self.context.left()))

    def measure(self, name, *flags):
        """Trains some steps; returns what the log says of them. FLOPs are those of the program's matmuls and attention, without what is computed
        again."""
        fake = self.context.fake
        records = self.train(name, FAKE_STEPS if fake else STEPS.get(self.entry["rows"], 10), *flags)
        start, step = of(records, "start")[0], of(records, "step")[-1]
        found = {"losses": hexadecimal(records), "norm": of(records, "step")[0]["norm"], "launches": step["launches"], "arena_bytes": start["arena_bytes"],
                 "flops": step["flops"] - self.prediction(USUAL)["recomputed_flops"]}
        if not fake:
            times, median = milliseconds(records, WARM_UP)
            found.update(step_ms=times, median_ms=median, tokens_per_second=1e3 * self.tokens / median, flops_per_second=1e3 * found["flops"] / median)
        return found

    def prediction(self, device):
        return self.entry["predictions"][device]

    def profile(self):
        """The time per step of each kernel and matmul."""
        records = self.train("profile", FAKE_STEPS if self.context.fake else PROFILED, "--profile")
        lines = [{key: record.get(key) for key in ("kind", "name", "calls_per_step", "ms_per_step", "gflops", "gbytes")}
                 for record in of(records, "profile_line")]
        for line in lines if self.context.fake else ():
            line.update(ms_per_step=None, gflops=None, gbytes=None)
        step = of(records, "profile")
        if not lines or not step:
            raise Failed(f"batch {self.name}: the log has no profile")
        return {"ms_per_step": None if self.context.fake else step[0]["ms_per_step"], "lines": lines}


def check_prediction(batch, profile, device):
    """Adds to each kernel and matmul what was predicted of its launches. They must be those that were predicted, and as many. Matmuls of one size
    that differ in strides have a line each and one prediction."""
    predicted = {kernel["name"]: kernel for kernel in batch.prediction(device)["kernels"]}
    ran = [line for line in profile["lines"] if line["kind"] in ("kernel", "matmul")]
    calls = collections.Counter()
    for line in ran:
        calls[line["name"]] += line["calls_per_step"]
    if set(calls) != set(predicted):
        raise Failed(f"batch {batch.name}: kernels that ran and those that were predicted differ: {', '.join(sorted(set(calls) ^ set(predicted)))[:200]}")
    for name, count in calls.items():
        if count != predicted[name]["launches"]:
            raise Failed(f"batch {batch.name}: {name} ran {count:g} times per step, predicted are {predicted[name]['launches']}")
    for line in ran:
        of_all = predicted[line["name"]]
        line["predicted"] = {"ms_per_step": of_all["ms_per_step"] * line["calls_per_step"] / of_all["launches"],
                             **{key: of_all[key] for key in ("bytes", "flops", "bound")}}


def measure_batch(context, name, device, peak):
    batch, device = Batch(context, name), device or USUAL
    found = context.found["batches"].setdefault(name, {"rows": batch.entry["rows"], "parameters": batch.entry["parameters"], "predicted_by": device})
    prediction = batch.prediction(device)
    found.update(predicted_step=prediction["step_ms"], assumed_rate=prediction["matmul_flops_per_second"])
    found["graph"] = add_mfu(batch.measure("graph"), peak)
    context.add()
    found["profile"] = batch.profile()
    context.add()
    check_prediction(batch, found["profile"], device)
    context.add()


def add_mfu(found, peak):
    """Where there are times, and a GPU whose peak is known."""
    if peak and "flops_per_second" in found:
        found["mfu"] = found["flops_per_second"] / peak
    return found


def measure_eager(context, name, peak):
    found = context.found["batches"][name]
    found["no_graph"] = add_mfu(Batch(context, name).measure("no_graph", "--no-graph"), peak)
    context.add()
    if found["no_graph"]["losses"] != found["graph"]["losses"]:
        raise Failed(f"batch {name}: with and without a graph the losses have other bits")


def run(context):
    try:
        gpu = Driver(context.fake).describe(0)["name"]
    except (OSError, DriverError) as error:
        raise Failed(f"the driver: {error}") from None
    device, peak = device_of(gpu)
    context.add(gpu=gpu, device=device, peak=peak, shape=context.manifest["gpt2"]["shape"], batches={})
    wrong = []
    names = in_order(context.manifest["gpt2"]["batches"])
    for measure, arguments in ((measure_batch, (device, peak)), (measure_eager, (peak,))):
        for name in names:
            try:
                if measure is measure_batch or "graph" in context.found["batches"].get(name, {}):
                    measure(context, name, *arguments)
            except (Failed, OutOfTime) as error:
                wrong.append(str(error))
    if wrong:
        raise Failed("; ".join(wrong))


def lines(found):
    rows = []
    for name, batch in sorted(found.get("batches", {}).items(), key=lambda item: int(item[0])):
        for graph in ("graph", "no_graph"):
            one = batch.get(graph, {})
            flops = one.get("flops_per_second")
            rows.append([name, "on" if graph == "graph" else "off", number(one.get("median_ms"), 2), number(one.get("tokens_per_second"), 0),
                         number(flops and flops / 1e12), number(one.get("mfu") and 100 * one["mfu"]),
                         number(flops and 100 * flops / batch["assumed_rate"]), number(batch.get("predicted_step"), 2),
                         str(one.get("launches", "-"))])
    if found.get("peak"):
        yield f"MFU of {found['peak'] / 1e12:.0f} TFLOP/s; predictions for {found['device']}"
    yield from columns(rows, [" batch", "graph", " ms/step", " tok/s", " TFLOP/s", " MFU %", " % of assumed", " predicted ms", " launches"])
    for name in in_order(found.get("batches", {}))[:2]:
        yield from kernel_lines(name, found["batches"][name].get("profile"))


def kernel_lines(name, profile):
    if not profile:
        return
    yield ""
    yield f"batch {name}, where the time of a step goes ({number(profile['ms_per_step'], 2)} ms with --profile):"
    rows = []
    for line in profile["lines"][:LISTED]:
        predicted = line.get("predicted", {}).get("ms_per_step")
        rate = f"{line['gflops'] / 1e3:.0f} TFLOP/s" if line["gflops"] else f"{line['gbytes']:.0f} GB/s" if line["gbytes"] else "-"
        ratio = line["ms_per_step"] / predicted if predicted and line["ms_per_step"] else None
        rows.append([line["name"][:44], f"{line['calls_per_step']:g}", number(line["ms_per_step"], 3), number(predicted, 3), number(ratio, 2), rate])
    yield from columns(rows, ["", " calls", " ms", " predicted", " ratio", " rate"])
