#!/usr/bin/env python3
"""The metrics of a model are numpy's over the same rows, whatever the program's batch, plan and launch: a mean, a ratio of sums, a mean of a hidden
layer on the first place, a sum of its parameters, and a mean of a matmul that the loss does not need. Training is not changed by them.
"""
import json
import os
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import checkpoints, event_files, safetensors_io  # noqa: E402
from support.executable import checked, run  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.mutations import tool_of  # noqa: E402
from support.results import Harness  # noqa: E402

from evaluations import compile_text, evaluate  # noqa: E402

FEATURES, WIDTH, CLASSES, ROWS = 7, 6, 5, 21
PROBE = np.round(np.sin(np.arange(WIDTH * 3)).reshape(WIDTH, 3), 3)
TOLERANCE = 1e-12
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "pp": ["--mesh", "pp=2"], "microbatches": ["--microbatches", "2"],
         "zero 3": ["--mesh", "fsdp=2", "--zero", "3"], "tp": ["--mesh", "tp=2", "--shard", "u=[{}, {tp}]; v=[{tp}, {}]"],
         "pp, microbatches": ["--mesh", "pp=2", "--microbatches", "2"], "local": ["--mesh", "pp=2", "--launch", "local"],
         "dp, pp": ["--mesh", "dp=2,pp=2"], "zb-h1": ["--mesh", "pp=2", "--schedule", "zb-h1", "--microbatches", "2"],
         "trainers": ["--mesh", "dp=2", "--sync", "async"], "blocks": ["--block-bytes", "64"]}
BATCHES = (2, 4, 8)


def parameters():
    random = np.random.default_rng(3)
    return {"u": random.normal(size=(FEATURES, WIDTH)), "v": random.normal(size=(WIDTH, CLASSES))}


def rows(count):
    """Ties are in the data: the scores of a row of zeros are equal, and the first class is taken."""
    random = np.random.default_rng(4)
    x = random.normal(size=(ROWS, FEATURES))
    x[[2, 5]] = 0
    return {"x": x[:count], "y": random.integers(0, CLASSES, size=ROWS).astype(np.int32)[:count]}


def sums(values, data):
    """{name: (dividend, divisor)} of some rows."""
    h = np.tanh(data["x"] @ values["u"])
    picked, y = (h @ values["v"]).argmax(-1), data["y"]
    hits = 2 * np.sum((picked == 1) & (y == 1))
    return {"accuracy": (np.sum(picked == y), len(y)), "f1": (hits, np.sum(picked == 1) + np.sum(y == 1)), "activity": (np.abs(h).sum(), h.size),
            "weights": (np.sum(values["u"] ** 2), 1), "probe": ((h @ PROBE).__pow__(2).sum(), len(y) * PROBE.shape[1])}


def expected(values, data):
    """A ratio of nothing is None, as logs spell NaN."""
    return {name: a / b if b else None for name, (a, b) in sums(values, data).items()}


def model(batch, metrics=True):
    b, s = batch, "tensor<f64>"
    x, y, h, z, p = (f"tensor<{b}x{FEATURES}xf64>", f"tensor<{b}xi32>", f"tensor<{b}x{WIDTH}xf64>", f"tensor<{b}x{CLASSES}xf64>", f"tensor<{b}x3xf64>")
    results = f', {s} {{pp.metric = "accuracy"}}, {s} {{pp.metric = "f1"}}, {s} {{pp.metric_count = "f1"}}, {s} {{pp.metric = "activity"}}, {s} {{pp.metric = "weights"}}, {s} {{pp.metric = "probe"}}'
    return f"""func.func @classifier(%x: {x} {{pp.input = "x"}}, %y: {y} {{pp.input = "y"}}) -> ({s}{results if metrics else ""}) {{
  %u = pp.param "u" {{init = #pp.init<ones>}} : tensor<{FEATURES}x{WIDTH}xf64>
  %v = pp.param "v" {{init = #pp.init<ones>}} : tensor<{WIDTH}x{CLASSES}xf64>
  %h, %activity = pp.on 0 -> {h}, {s} {{
    %a = pp.matmul %x, %u : {x}, tensor<{FEATURES}x{WIDTH}xf64>
    %t = pp.tanh %a : {h}
    %size = pp.abs %t : {h}
    %m = pp.reduce mean %size [0, 1] : {h}
    pp.yield %t, %m : {h}, {s}
  }}
  %z, %loss = pp.on 1 -> {z}, {s} {{
    %scores = pp.matmul %h, %v : {h}, tensor<{WIDTH}x{CLASSES}xf64>
    %l = pp.cross_entropy %scores, %y : {z}, {y}
    pp.yield %scores, %l : {z}, {s}
  }}
  %i = pp.argmax %z {{dim = 1 : i64}} : {z}
  %y64 = pp.cast %y : {y} to tensor<{b}xi64>
  %same = pp.compare eq %i, %y64 : tensor<{b}xi64>, tensor<{b}xi64>
  %hit = pp.cast %same : tensor<{b}xi1> to tensor<{b}xf64>
  %accuracy = pp.reduce mean %hit [0] : tensor<{b}xf64>
  %one = pp.constant dense<1> : tensor<i64>
  %picked1 = pp.compare eq %i, %one : tensor<{b}xi64>, tensor<i64>
  %is1 = pp.compare eq %y64, %one : tensor<{b}xi64>, tensor<i64>
  %picked = pp.cast %picked1 : tensor<{b}xi1> to tensor<{b}xf64>
  %is = pp.cast %is1 : tensor<{b}xi1> to tensor<{b}xf64>
  %both = pp.mul %picked, %is : tensor<{b}xf64>, tensor<{b}xf64>
  %two = pp.constant dense<2.0> : {s}
  %twice = pp.mul %both, %two : tensor<{b}xf64>, {s}
  %hits = pp.reduce sum %twice [0] : tensor<{b}xf64>
  %either = pp.add %picked, %is : tensor<{b}xf64>, tensor<{b}xf64>
  %all = pp.reduce sum %either [0] : tensor<{b}xf64>
  %uu = pp.mul %u, %u : tensor<{FEATURES}x{WIDTH}xf64>, tensor<{FEATURES}x{WIDTH}xf64>
  %weights = pp.reduce sum %uu [0, 1] : tensor<{FEATURES}x{WIDTH}xf64>
  %c = pp.constant dense<{PROBE.tolist()}> : tensor<{WIDTH}x3xf64>
  %seen = pp.matmul %h, %c : {h}, tensor<{WIDTH}x3xf64>
  %squares = pp.mul %seen, %seen : {p}, {p}
  %probe = pp.reduce mean %squares [0, 1] : {p}
  return %loss{", %accuracy, %hits, %all, %activity, %weights, %probe" if metrics else ""} : {s}{(", " + s) * 6 if metrics else ""}
}}
"""


# Each row is compared with all rows of its batch: "spread" is a mean over batches, "share" a ratio of sums over them.
MIXING = """func.func @pairs(%x: tensor<4x3xf64> {pp.input = "x"}) -> (tensor<f64>, tensor<f64> {pp.metric = "spread"}, tensor<f64> {pp.metric = "share"},
                                                        tensor<f64> {pp.metric_count = "share"}) {
  %w = pp.param "w" {init = #pp.init<ones>} : tensor<3x3xf64>
  %y = pp.matmul %x, %w : tensor<4x3xf64>, tensor<3x3xf64>
  %s = pp.matmul %y, %y {transpose_rhs} : tensor<4x3xf64>, tensor<4x3xf64>
  %l = pp.reduce mean %s [0, 1] : tensor<4x4xf64>
  %e = pp.exp %s : tensor<4x4xf64>
  %spread = pp.reduce mean %e [0, 1] : tensor<4x4xf64>
  %largest = pp.reduce max %x [0, 1] : tensor<4x3xf64>
  %total = pp.reduce sum %x [0, 1] : tensor<4x3xf64>
  return %l, %spread, %largest, %total : tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
}
"""


def compare(what, ours, theirs):
    assert set(ours) == set(theirs), f"{what}: {list(ours)} instead of {list(theirs)}"
    for name, value in theirs.items():
        if value is None or ours[name] is None:
            assert value is ours[name], f"{what}: {name} is {ours[name]} instead of {value}"
            continue
        assert abs(ours[name] - value) <= TOLERANCE * max(1, abs(value)), f"{what}: {name} is {ours[name]} instead of {value}"


class Checks:
    def __init__(self, harness, directory):
        self.ppopt, self.directory = harness.ppopt, directory
        self.init = os.path.join(directory, "init.safetensors")
        safetensors_io.write(self.init, parameters())

    def compile(self, name, text, flags, ppopt=None):
        return compile_text(ppopt or self.ppopt, self.directory, name, text, flags)

    def evaluate(self, program, data, init, flags=(), launch=()):
        """(the metrics, the output) of an evaluation of all rows."""
        path = program.path + ".rows"
        safetensors_io.write(path, data)
        event, text = evaluate(program, init, path, ["--eval-batches", "all", *flags], launch)
        return event["metrics"], text

    def plan(self, name, batch):
        program = self.compile(f"{name}-{batch}", model(8), ["--batch", str(batch), *PLANS[name]])
        for count in (batch, 13, ROWS):
            ours, text = self.evaluate(program, rows(count), self.init, ["--poison"] if count == 13 else [])
            compare(f"{count} rows", ours, expected(parameters(), rows(count)))
            assert f"accuracy {ours['accuracy']:.4f} | f1 {ours['f1']:.4f} | " in text or name != "one", text
        if program.ranks > 1 and batch == 4 and name != "local":
            ours, _ = self.evaluate(program, rows(ROWS), self.init, launch=under_mpirun(program.ranks))
            compare("mpirun", ours, expected(parameters(), rows(ROWS)))

    def training(self, name):
        """Metrics of steps' batches are those of the parameters before the step, and steps are as without metrics."""
        with_metrics = self.compile(f"training-{name}", model(4), PLANS[name])
        without = self.compile(f"without-{name}", model(4, metrics=False), PLANS[name])
        inputs, flags = rows(12), ["--no-shuffle", "--lr", "0.05", "--metrics-every", "1"]
        plain = run(without, flags[:3], init=parameters(), inputs=inputs, steps=3)
        for every in (1, 2):
            events = f"{with_metrics.path}.events{every}"
            ours = run(with_metrics, [*flags[:4], str(every), "--tensorboard", events], init=parameters(), inputs=inputs, steps=3, name=f"every{every}")
            event_files.expect_same(event_files.read_folder(events), f"{with_metrics.path}.every{every}.threads.jsonl")
            assert ours.hexadecimal == plain.hexadecimal, (ours.hexadecimal, plain.hexadecimal)
            for name, values in plain.parameters.items():
                assert values.tobytes() == ours.parameters[name].tobytes(), name
            for step, record in enumerate(ours.records):
                assert ("metrics" in record) == ((step + 1) % every == 0), record
                if "metrics" in record:
                    before = run(without, flags[:3], init=parameters(), inputs=inputs, steps=step, name="before").parameters if step else parameters()
                    compare(f"step {step + 1}", record["metrics"], expected(before, {k: v[4 * step:4 * step + 4] for k, v in inputs.items()}))
        for ours, theirs in zip(with_metrics.program["places"], without.program["places"]):
            assert ours["predicted"] == theirs["predicted"], (ours["predicted"], theirs["predicted"])
        described = checked([with_metrics.path, "--describe"]).stdout
        assert "metric       f1: a sum divided by a count" in described, described

    def best(self, name, of):
        """The checkpoint of the best evaluation is that of the log's best number, which its parameters have; a run that was stopped and resumed keeps the
        same one, bit for bit. Trainers take other steps each time."""
        program = self.compile(f"best-{name}", model(4), PLANS[name])
        data, tested, (metric, order) = (os.path.join(self.directory, "data"), os.path.join(self.directory, "tested"), of.split(":"))
        safetensors_io.write(data, {**rows(12), "spare": np.zeros(2)})
        safetensors_io.write(tested, {**rows(ROWS), "other": np.zeros(2)})
        launches = {"threads": (), "mpirun": under_mpirun(program.ranks)} if program.ranks > 1 and name != "local" else {"threads": ()}
        kept = {}
        for launch, before in launches.items():
            for way, stops in {"whole": [8], "resumed": [3, 5, 8]}.items():
                folder = f"{program.path}-{launch}-{way}"
                for steps in stops:
                    done = checked([*before, program.path, "--inputs", data, "--no-shuffle", "--lr", "0.7", "--eval-inputs", tested, "--eval-batches", "all",
                                    "--eval-every", "1", "--checkpoint", folder, "--keep-best", of, "--log", folder + ".jsonl", "--resume", "--steps", str(steps),
                                    *([] if os.path.exists(folder) else ["--keep", "1"])])
                    for flag, extra in (("--inputs", "spare"), ("--eval-inputs", "other")):
                        assert f"{flag}: not read, since the model has no such input: {extra}\n" in done.stdout, done.stdout
                with open(folder + ".jsonl", encoding="utf8") as file:
                    values = {e["step"]: e["metrics"][metric] for e in map(json.loads, file) if e["event"] == "eval"}
                best = (min if order == "min" else max)(v for v in values.values() if v is not None)
                step = min(s for s, v in values.items() if v == best)
                assert len(values) == 9 and os.readlink(os.path.join(folder, "best")) == f"step-{step:08}", (values, os.listdir(folder))
                tensors = checkpoints.tensors_of(os.path.join(folder, "best"), "parameters")
                compare(f"{launch}, {way}", {metric: best}, {metric: expected(tensors, rows(ROWS))[metric]})
                kept[launch, way] = tensors
        for tensors in kept.values():
            if name != "trainers":
                checkpoints.expect_same_bits(tensors, kept["threads", "whole"])

    def ends(self, name, launch):
        """A run ends after the second evaluation in a row that is not better, with all that it writes at its end. Its loss falls, so it is at its greatest
        near the first step; trainers take other steps each time."""
        program = self.compile(f"ends-{name}", model(4), PLANS[name])
        data, folder = os.path.join(self.directory, "data"), f"{program.path}-{launch}"
        safetensors_io.write(data, rows(12))
        checked([*(under_mpirun(program.ranks) if launch == "mpirun" else []), program.path, "--inputs", data, "--lr", "0.05", "--eval-inputs", data,
                 "--eval-every", "3", "--steps", "60", "--checkpoint", folder, "--keep-best", "loss:max", "--stop-after-no-better", "2", "--log",
                 folder + ".jsonl", "--export", folder + ".p"])
        with open(folder + ".jsonl", encoding="utf8") as file:
            events = [json.loads(line) for line in file]
        [stop] = [e for e in events if e["event"] == "stop"]
        losses = {e["step"]: e["loss"] for e in events if e["event"] == "eval"}
        best = max(losses, key=losses.get)
        assert (stop["no_better"], stop["step"], stop["best"]["step"]) == (2, best + 6, best) and list(losses) == list(range(0, best + 7, 3)), (stop, losses)
        assert best == 0 or name == "trainers", losses
        saved = [step for at, step in enumerate(losses) if at == 0 or losses[step] > max(list(losses.values())[:at])]  # what was the best so far
        assert sorted(os.listdir(folder)) == [".lock", "best", *(f"step-{step:08}" for step in (*saved, best + 6))], (os.listdir(folder), losses)
        checkpoints.expect_same_bits(safetensors_io.read(folder + ".p"), checkpoints.tensors_of(checkpoints.step_folder(folder, best + 6), "parameters"))

    def mutated(self, mutation):
        """A planted bug is seen in a metric, where there are several batches of which the last is partial."""
        program = self.compile(mutation, model(8), ["--batch", "4", "--mutate", mutation], ppopt=tool_of(self.ppopt))
        ours, _ = self.evaluate(program, rows(ROWS), self.init)
        try:
            compare(mutation, ours, expected(parameters(), rows(ROWS)))
        except AssertionError as wrong:
            assert "instead of" in str(wrong), wrong
            return
        raise AssertionError(f"{mutation} changes nothing")

    def mixing(self):
        program = self.compile("mixing", MIXING, [])
        x, init = np.random.default_rng(1).normal(size=(8, 3)) * 0.3, os.path.join(self.directory, "eye")
        safetensors_io.write(init, {"w": np.eye(3)})
        ours, text = self.evaluate(program, {"x": x}, init)
        halves = (x[:4], x[4:])
        compare("mixing", ours, {"spread": np.mean([np.exp(h @ h.T).mean() for h in halves]), "share": sum(h.max() for h in halves) / x.sum()})
        assert "can't be split over the batch" in text, text

    def refused(self, flags, words):
        program = self.compile("refused", model(4, metrics="no metrics" not in words), ["--mesh", "dp=2", "--sync", "async"] if "--sync" in words else [])
        path = program.path + ".rows"
        safetensors_io.write(path, rows(12))
        try:
            checked([program.path, "--inputs", path, "--steps", "1", *flags])
        except AssertionError as error:
            assert words in str(error), error
            return
        raise AssertionError(f"{flags} is taken")


harness = Harness("metrics")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    for name in PLANS:
        for batch in BATCHES:
            parts = 4 if name in ("pp, microbatches", "dp, pp", "zb-h1", "trainers") else 2
            if batch >= parts and (batch == 4 or name in ("one", "zero 3", "trainers")):
                harness.case(f"{name}, batch {batch}", lambda: checks.plan(name, batch))
    for name in ("one", "dp, pp", "zero 3", "tp"):
        harness.case(f"training: {name}", lambda: checks.training(name))
    for name, of in (("one", "f1:min"), ("dp, pp", "accuracy:max"), ("zero 3", "activity:min"), ("tp", "probe:max"), ("local", "accuracy:max"),
                     ("trainers", "accuracy:max")):
        harness.case(f"best: {name}", lambda: checks.best(name, of))
    for name, launch in (("trainers", "threads"), ("trainers", "mpirun"), ("dp, pp", "mpirun"), ("zero 3", "threads")):
        harness.case(f"ends early: {name}, {launch}", lambda: checks.ends(name, launch))
    for mutation in ("mask-left-out", "share-left-out"):
        harness.case(f"planted: {mutation}", lambda: checks.mutated(mutation))
    harness.case("rows that meet", checks.mixing)
    harness.case("no metrics", lambda: checks.refused(["--metrics-every", "1"], "this program has no metrics"))
    harness.case("trainers' steps", lambda: checks.refused(["--metrics-every", "1"], "ranks do not step together with --sync"))
sys.exit(harness.finish())
