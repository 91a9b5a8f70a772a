"""The parts of the table of goals. Each measures our side and PyTorch's in turn, and adds its lines."""
import os
import statistics

from machine import has_fast_bf16, matmul_rate
from runs import GPT2_124M, SMALL, Failed, Unavailable, compile_model, ours, pytorchs, write_gpt

PIPELINE_MICROBATCHES = "4"


class Side:
    """The runs of one side so far."""

    def __init__(self, runs):
        self.ms = [ms for run in runs for ms in run.ms]
        self.least, self.median = min(self.ms), statistics.median(self.ms)
        self.footprint = max(run.lines[0].get("footprint", 0) for run in runs)
        self.mebibytes = max(run.peak for run in runs) / 2**20
        self.first_begin, self.first_end = (min(getattr(run, name) for run in runs) for name in ("first_begin", "first_end"))


class Comparison:
    """Programs of ours and PyTorch's on one shape, with the ranks and threads of both.

    `plans`: our columns, {name: flags of compile}; `theirs`: PyTorch's, {name: flags of torch_step.py}. A column that the
    compiler refuses is in `refused`, {name: why}, and not in `sides`."""

    def __init__(self, options, directory, shape, ranks, threads, plans, theirs):
        self.options, self.directory, self.shape, self.ranks, self.threads = options, directory, shape, ranks, threads
        model = write_gpt(options, directory, shape)
        self.theirs, self.plans, self.refused = theirs, {}, {}
        for name, flags in plans.items():
            self.plans[name] = os.path.join(directory, "train-" + name.replace(" ", "-"))
            try:
                compile_model(options, model, self.plans[name], threads, flags)
            except Unavailable as error:
                self.refused[name] = f"not available: {error}"
                del self.plans[name]
        runs = {name: [] for name in [*self.plans, *theirs]}
        for number in range(options.rounds):
            for name, of in runs.items():
                of.append(self.run(name))
            print(f"    round {number + 1}: " + ", ".join(f"{name} {min(of[-1].ms):.0f} ms" for name, of in runs.items()),
                  flush=True)
        self.check_losses(runs)
        self.sides = {name: Side(of) for name, of in runs.items()}

    def run(self, name):
        log = os.path.join(self.directory, "log.jsonl")
        if name in self.plans:
            return ours(self.options, self.plans[name], log, self.ranks, self.threads)
        return pytorchs(self.options, log, self.shape, self.ranks, self.threads, self.theirs[name])

    @staticmethod
    def check_losses(runs):
        """All sides train the same model: their losses begin alike, whatever windows of the text they saw."""
        firsts = {name: of[0].losses[0] for name, of in runs.items()}
        if max(firsts.values()) - min(firsts.values()) > 0.2:
            raise Failed("the first losses differ, these are not the same models: " +
                         ", ".join(f"{name} {loss:.3f}" for name, loss in firsts.items()))

    def time(self, table, what, goal, name, against, note=None):
        self.line(table, what, goal, name, against, "ms", lambda side: side.least, lambda side: side.median, note)

    def ratio(self, name, against):
        """Of the least steps."""
        return self.sides[name].least / self.sides[against].least

    def footprint(self, name):
        """MiB of a process of PyTorch before it has a model."""
        return self.sides[name].footprint / 2**20

    def memory(self, table, what, goal, name, against, note=None):
        self.line(table, what, goal, name, against, "MiB", lambda side: side.mebibytes, note=note)

    def line(self, table, what, goal, name, against, unit, of, median=None, note=None):
        if name in self.refused:
            table.add(what, goal, note=self.refused[name])
            return
        mine, other = self.sides[name], self.sides[against]
        table.add(what, goal, of(mine), of(other), unit, of(mine) / of(other), median and median(mine) / median(other),
                  note=note)


def matmul_flops(shape):
    """Of a step's matmuls, forward and backward; of causal attention's the half that is not masked."""
    layers, width, _, vocab, seq, batch = shape
    tokens = seq * batch
    weights = layers * 12 * width * width + vocab * width
    attention = layers * batch * 2 * (2 * seq * seq * width) / 2
    return 3 * (2 * weights * tokens + attention)


def small(options, directory, table):
    before = matmul_rate(options, 2)
    run = Comparison(options, directory, SMALL, 1, 2, {"ours": []}, {"eager": [], "compiled": ["--compile"]})
    rate = max(before, matmul_rate(options, 2))
    mine, eager = run.sides["ours"], run.sides["eager"]
    run.time(table, "small, 2 threads: step, against eager", 0.80, "ours", "eager")
    run.time(table, "small, 2 threads: step, against torch.compile", 0.80, "ours", "compiled")
    reached, median = (matmul_flops(SMALL) / ms / 1e6 for ms in (mine.least, mine.median))
    table.add("small, 2 threads: share of the machine's matmul rate", 0.82, reached, rate, "GF/s", reached / rate, median / rate,
              least=True)
    run.memory(table, "small, 2 threads: peak memory, against eager", 0.40, "ours", "eager")
    table.add("small: seconds from process start to step 1", 0.4, mine.first_begin, eager.first_begin, "s", mine.first_begin)
    run.line(table, "small: process start to the end of step 1, against eager", 0.2, "ours", "eager", "s",
             lambda side: side.first_end)


def gpt2(options, directory, table):
    run = Comparison(options, directory, GPT2_124M, 1, 2, {"ours": [], "recompute": ["--recompute", "layer"]}, {"eager": []})
    run.time(table, "124M, 2 threads: step, against eager", 0.85, "ours", "eager")
    run.memory(table, "124M, 2 threads: peak memory, against eager", 0.70, "ours", "eager")
    run.memory(table, "124M, --recompute=layer: peak memory, against eager", 0.60, "recompute", "eager")
    run.time(table, "124M, --recompute=layer: step, against eager", None, "recompute", "eager")


# Of the small GPT's 42 MB: FSDP2 shards each block (7 MB) by itself.
SHARDED_BUCKETS = ["--bucket-bytes", "4MiB"]


def ranks(options, directory, table):
    plans = {"ours": [], "zero 1": ["--zero", "1"], "zero 3": ["--zero", "3", *SHARDED_BUCKETS]}
    run = Comparison(options, directory, SMALL, 2, 1, {name: ["--mesh", "dp=2", *flags] for name, flags in plans.items()},
                     {"DDP": [], "FSDP2": ["--fsdp", "reshard"], "FSDP2, kept": ["--fsdp", "keep"]})
    run.time(table, "small, dp=2: step, against DDP", 0.82, "ours", "DDP")
    run.memory(table, "small, dp=2: peak memory of a rank, against DDP", 0.35, "ours", "DDP")
    for against in "DDP", "FSDP2, kept":
        run.time(table, f"small, dp=2, --zero 1: step, against {against}", None, "zero 1", against)
        run.memory(table, f"small, dp=2, --zero 1: peak memory of a rank, against {against}", None, "zero 1", against)
    # Sharding is to cost us no more than it costs PyTorch.
    run.time(table, "small, dp=2, --zero 3: step, against FSDP2", run.ratio("ours", "DDP"), "zero 3", "FSDP2")
    run.memory(table, "small, dp=2, --zero 3: peak memory of a rank, against FSDP2", 0.22, "zero 3", "FSDP2",
               f"{run.footprint('FSDP2'):.0f} MiB of theirs are there before the model is")
    note = "theirs: ours with --zero 0"
    for stage, goal in ("zero 1", None), ("zero 3", 1.10):
        run.time(table, f"small, dp=2, --{stage}: step, against --zero 0", goal, stage, "ours", note)
        run.memory(table, f"small, dp=2, --{stage}: peak memory of a rank, against --zero 0", None, stage, "ours", note)


def tensor(options, directory, table):
    run = Comparison(options, directory, SMALL, 2, 1, {"ours": ["--mesh", "tp=2"]}, {"DTensor": ["--tensor-parallel"]})
    run.time(table, "small, tp=2: step, against DTensor", 0.75, "ours", "DTensor")
    run.memory(table, "small, tp=2: peak memory of a rank, against DTensor", 0.30, "ours", "DTensor",
               f"{run.footprint('DTensor'):.0f} MiB of theirs are there before the model is")


def pipeline(options, directory, table):
    plans = {name: ["--mesh", "pp=2", "--schedule", name, "--microbatches", PIPELINE_MICROBATCHES] for name in ("1f1b", "zb-h1")}
    run = Comparison(options, directory, SMALL, 2, 1, plans, {"Schedule1F1B": ["--microbatches", PIPELINE_MICROBATCHES]})
    run.time(table, "small, pp=2, m=4: 1f1b's step, against Schedule1F1B", 0.78, "1f1b", "Schedule1F1B")
    run.time(table, "small, pp=2, m=4: zb-h1's step, against Schedule1F1B", 0.70, "zb-h1", "Schedule1F1B")
    run.memory(table, "small, pp=2, m=4: 1f1b's peak memory of a rank", 0.28, "1f1b", "Schedule1F1B")
    run.memory(table, "small, pp=2, m=4: zb-h1's peak memory of a rank", None, "zb-h1", "Schedule1F1B")


def bf16(options, directory, table):
    lines = [("small", SMALL), ("124M", GPT2_124M)]
    if not has_fast_bf16(options):
        for name, _ in lines:
            table.add(f"{name}, bf16, 2 threads: step, against autocast", 1.0, note="this CPU has neither AMX nor AVX512-BF16")
        return
    for name, shape in lines:
        run = Comparison(options, directory, shape, 1, 2, {"ours": ["--precision", "bf16"]}, {"autocast": ["--bf16"]})
        run.time(table, f"{name}, bf16, 2 threads: step, against autocast", 1.0, "ours", "autocast")
        run.memory(table, f"{name}, bf16, 2 threads: peak memory, against autocast", None, "ours", "autocast")


def compilation(options, directory, table):
    """Seconds of `ppopt compile`, linking included."""
    wide = dict(zip(("12 layers", "96 layers"), ((layers, 384, 6, 256, 256, 64) for layers in (12, 96))))

    def seconds(shape, flags):
        model = write_gpt(options, directory, shape)
        times = [compile_model(options, model, os.path.join(directory, "train"), 2, flags) for _ in range(3)]
        return min(times), statistics.median(times)

    least, median = seconds((*GPT2_124M[:-1], 8), ["--mesh", "pp=4,dp=2", "--microbatches", "4"])
    table.add("compile: 124M, pp=4,dp=2, 4 microbatches: seconds", 5, least, None, "s", least, median)
    base = seconds(wide["12 layers"], [])

    def against_base(what, goal, shape, flags):
        least, median = seconds(shape, flags)
        table.add(what, goal, least, base[0], "s", least / base[0], median / base[1], note="theirs: ours, the smaller")

    against_base("compile: 96 layers against 12", 3, wide["96 layers"], [])
    against_base("compile: 32 microbatches against 1", 1.2, wide["12 layers"], ["--microbatches", "32"])
    against_base("compile: dp=64 against dp=1", 1.1, wide["12 layers"], ["--mesh", "dp=64"])


PARTS = {"small": small, "124m": gpt2, "ranks": ranks, "tensor": tensor, "pipeline": pipeline, "bf16": bf16, "compile": compilation}
NEED_PYTORCH = set(PARTS) - {"compile"}
