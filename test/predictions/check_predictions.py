#!/usr/bin/env python3
"""Predictions are numpy's for each row, in the rows' order, whatever the program's batch, plan and launch: floats, integers and booleans, of two places, cut
over ranks and whole, with dropout off. Two models are compared with PyTorch too (Inputs/torch_predictions.json; make_torch_predictions.py wrote it).
Outputs whose rows depend on other rows are refused, and outputs change nothing in training. What is planted in the program that predicts is seen.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import Mismatch, checked, compile_model, environment, expect_close, run  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.mutations import tool_of  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

from predictions import command_of, compare, predict  # noqa: E402
from subjects import GPT, Classifier, LookUp, draw, tensors  # noqa: E402

CLASSIFIER, LOOK_UP = Classifier(), LookUp()
ROWS = 1003  # no multiple of any batch
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "pp": ["--mesh", "pp=2"], "microbatches": ["--microbatches", "2"], "dp, pp": ["--mesh", "dp=2,pp=2"],
         "pp, microbatches": ["--mesh", "pp=2", "--microbatches", "2"], "dp, pp, microbatches": ["--mesh", "dp=2,pp=2", "--microbatches", "2"],
         "zero 3": ["--mesh", "fsdp=2", "--zero", "3"], "zero 3, pp": ["--mesh", "fsdp=2,pp=2", "--zero", "3", "--microbatches", "2"],
         "tp": ["--mesh", "tp=2", "--shard", "u=[{}, {tp}]; v=[{tp}, {}]"], "tp, classes": ["--mesh", "tp=2", "--shard", "v=[{}, {tp}]"],
         "tp, sp": ["--mesh", "tp=2,sp=2", "--shard", "u=[{sp}, {tp}]; v=[{tp}, {sp}]"],
         "dp, tp, pp": ["--mesh", "dp=2,tp=2,pp=2", "--shard", "u=[{}, {tp}]; v=[{}, {tp}]"],
         "local": ["--mesh", "pp=2", "--launch", "local"], "zb-h1": ["--mesh", "pp=2", "--schedule", "zb-h1", "--microbatches", "2"],
         "zb-v": ["--mesh", "pp=2", "--schedule", "zb-v", "--microbatches", "2"], "by cost": ["--mesh", "pp=2"],
         "trainers": ["--mesh", "dp=2", "--sync", "async"], "blocks": ["--block-bytes", "64"]}
UNMARKED = ("zb-v", "by cost")
BATCHES = (1, 2, 4)  # beside that of the model
LOOK_UPS = {"one": [], "dp, microbatches": ["--mesh", "dp=2", "--microbatches", "2"], "pp": ["--mesh", "pp=2"], "zero 3": ["--mesh", "fsdp=2", "--zero", "3"],
            "table by rows": ["--mesh", "tp=2", "--shard", "table=[{tp}, {}]"], "table by columns": ["--mesh", "tp=2", "--shard", "table=[{}, {tp}]"],
            "trainers": ["--mesh", "dp=2", "--sync", "async"],
            "what training alone does": ["--mesh", "fsdp=2", "--zero", "3", "--gather", "step", "--grad-dtype", "bf16", "--ema"]}
GPTS = {"one": [], "dp, pp": ["--mesh", "dp=2,pp=2"], "zero 3": ["--mesh", "fsdp=2", "--zero", "3"], "tp": ["--mesh", "tp=2"], "tp, pp": ["--mesh", "tp=2,pp=2"],
        "in parts": ["--mesh", "tp=2,pp=2", "--cut-transfers", "always"],
        "tp, table by rows": ["--mesh", "tp=2", "--shard", "wte=[{tp}, {}]"], "local": ["--mesh", "pp=2", "--launch", "local"], "blocks": ["--block-bytes", "64"]}
# Mutations of the program that predicts (support/mutations.py), each with a plan of the classifier, or of the look-up, that must see it.
MUTATED = [("outputs-exchanged", "one"), ("rows-rotated", "one"), ("rows-rotated", "zero 3, pp"), ("output-not-gathered", "tp, classes"),
           ("release-before-last-reader", "zero 3")]
MUTATED_LOOK_UP = [("look-up-at-zero", "table by rows"), ("look-up-not-masked", "table by rows")]

R, S = "T(8x6xf64)", "T(6xf64)"
# Lines that make %y of %x and %h = x · w, in which rows depend on each other or on their position in the batch.
MIXING = {
    "a mean is subtracted": f"%m = pp.reduce mean %h [0] : {R}\n  %y = pp.sub %h, %m : {R}, {S}",
    "a mean of inputs is subtracted": f"%m = pp.reduce mean %x [0] : {R}\n  %y = pp.sub %h, %m : {R}, {S}",
    "a maximum is subtracted": f"%m = pp.reduce max %h [0] : {R}\n  %y = pp.sub %h, %m : {R}, {S}",
    "a sum for each row": f"%m = pp.reduce sum %h [0] : {R}\n  %y = pp.broadcast %m [1] : {S} to {R}",
    "rows meet": f"%s = pp.matmul %h, %h {{transpose_rhs}} : {R}, {R}\n  %y = pp.matmul %s, %h : T(8x8xf64), {R}",
    "rows are shifted": f"%a = pp.slice %h [1, 0] : {R} to T(7x6xf64)\n  %b = pp.slice %h [0, 0] : {R} to T(1x6xf64)\n"
                        "  %y = pp.concat %a, %b {dim = 0 : i64} : T(7x6xf64), T(1x6xf64)",
    "rows are numbered": f"%i = pp.iota {{dim = 0 : i64}} -> {R}\n  %y = pp.add %h, %i : {R}, {R}",
    "rows are weighted": f"%c = pp.constant dense<{[[i / 8] for i in range(8)]}> : T(8x1xf64)\n  %y = pp.mul %h, %c : {R}, T(8x1xf64)",
    "the layout is another": f"%t = pp.transpose %h [1, 0] : {R}\n  %y = pp.reshape %t : T(6x8xf64) to {R}",
    "pairs meet": f"%p = pp.reshape %h : {R} to T(4x12xf64)\n  %q = pp.softmax %p : T(4x12xf64)\n  %y = pp.reshape %q : T(4x12xf64) to {R}",
}
# Lines in which they don't, and what numpy gives for y.
APART = {
    "parts of a row": (f"%p = pp.reshape %h : {R} to T(8x2x3xf64)\n  %q = pp.softmax %p : T(8x2x3xf64)\n  %y = pp.reshape %q : T(8x2x3xf64) to {R}",
                       lambda x, h, w: (np.exp(h.reshape(-1, 2, 3)) / np.exp(h.reshape(-1, 2, 3)).sum(-1, keepdims=True)).reshape(-1, 6)),
    "a mean of a row": (f"%m = pp.reduce mean %h [1] {{keep_dims}} : {R}\n  %y = pp.sub %h, %m : {R}, T(8x1xf64)", lambda x, h, w: h - h.mean(1, keepdims=True)),
    "constants": (f"%c = pp.constant dense<0.25> : {R}\n  %y = pp.add %x, %c : {R}, {R}", lambda x, h, w: x + 0.25),
    "a sum of parameters": ("%m = pp.reduce sum %w [0, 1] : T(6x6xf64)\n" + f"  %y = pp.mul %h, %m : {R}, T(f64)", lambda x, h, w: h * w.sum()),
}
MEAN = f"%loss = pp.reduce mean %h [0, 1] : {R}"
PAIRS = f"%s = pp.matmul %h, %h {{transpose_rhs}} : {R}, {R}\n  %e = pp.exp %s : T(8x8xf64)\n  %loss = pp.reduce mean %e [0, 1] : T(8x8xf64)"


def rows_model(lines, loss=MEAN, results=f'{R} {{pp.output = "y"}}', returned=("%y", R)):
    values, types = returned
    return tensors(f"""func.func @rows(%x: {R} {{pp.input = "x"}}) -> (T(f64), {results}) {{
  %w = pp.param "w" {{init = #pp.init<normal, 0.0, 0.3>}} : T(6x6xf64)
  %h = pp.matmul %x, %w : {R}, T(6x6xf64)
  {lines}
  {loss}
  return %loss, {values} : T(f64), {types}
}}
""")


SAME = f"%y = pp.tanh %h : {R}"
# What the compiler refuses: a model, and words of the message.
REFUSED = {
    "no rows of the batch": (rows_model(SAME, results='T(6x6xf64) {pp.output = "y"}', returned=("%w", "T(6x6xf64)")), "have the rows of the batch"),
    "a scalar": (rows_model(f"%y = pp.reduce max %h [0, 1] : {R}", results='T(f64) {pp.output = "y"}', returned=("%y", "T(f64)")), "have the rows of the batch"),
    "two of one name": (rows_model(SAME, results=f'{R} {{pp.output = "y"}}, {R} {{pp.output = "y"}}', returned=("%y, %h", f"{R}, {R}")), 'a second pp.output named "y"'),
    "no name": (rows_model(SAME, results=f'{R} {{pp.output = ""}}'), "name"),
    "neither output nor metric": (rows_model(SAME, results=R), '{pp.output = "name"}'),
    "output and metric": (rows_model(SAME, results=f'{R} {{pp.output = "y", pp.metric = "y"}}'), '{pp.output = "name"}'),
    "no input": (rows_model(f"%m = pp.reduce sum %w [0] : T(6x6xf64)\n  %y = pp.broadcast %m [1] : {S} to {R}"), "depend on no input"),
    "the loss": (rows_model(SAME).replace("(tensor<f64>,", '(tensor<f64> {pp.output = "loss"},'), "loss"),
}


class Checks:
    def __init__(self, harness, directory):
        self.harness, self.ppopt, self.directory, self.programs = harness, harness.ppopt, directory, {}
        self.init = self.write("init", CLASSIFIER.parameters())
        with open(os.path.join(HERE, "Inputs", "torch_predictions.json"), encoding="utf8") as file:
            self.torch = json.load(file)

    def write(self, name, values):
        path = os.path.join(self.directory, name + ".safetensors")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        safetensors_io.write(path, values)
        return path

    def compile(self, name, text, flags, ppopt=None):
        """Each program once; messages name its file."""
        if name not in self.programs:
            path = os.path.join(self.directory, re.sub(r"\W+", "-", name))
            with open(path + ".mlir", "w", encoding="utf8") as file:
                file.write(text)
            self.programs[name] = compile_model(ppopt or self.ppopt, path + ".mlir", path, ["--threads", "1", *flags])
        return self.programs[name]

    def classifier(self, plan, batch=8, dtype="f64"):
        text = CLASSIFIER.model(8, dtype, marked=plan not in UNMARKED)
        return self.compile(f"{plan}-{batch}-{dtype}", text, [*PLANS[plan], *(["--batch", str(batch)] if batch != 8 else [])])

    def predict(self, program, data, parameters=None, **how):
        return predict(program, parameters or self.init, [self.write("rows", data)], **how)

    def plan(self, plan, batch):
        """Many rows, a few, whole batches, and fewer than a batch has, without targets and with targets that training would refuse."""
        program, types = self.classifier(plan, batch), CLASSIFIER.TYPES
        for count, flags, targets in ((ROWS, [], False), (21, [], True), (16, [], False), (3, ["--poison"], False)):
            data = CLASSIFIER.rows(count)
            expected = CLASSIFIER.outputs(CLASSIFIER.parameters(), data)
            data = dict(data, y=np.full(count, 99, np.int32)) if targets else {"x": data["x"]}
            ours = self.predict(program, data, flags=flags)
            compare(f"{count} rows", ours, expected, types)
            if program.ranks > 1 and batch == 8 and plan != "local":
                theirs = self.predict(program, data, launch=under_mpirun(program.ranks))
                for name, values in ours.tensors.items():
                    assert values.tobytes() == theirs.tensors[name].tobytes(), f"{count} rows: {name} has other bits under mpirun"

    def single(self, plan):
        """In f32; a number that is rounded or compared after another rounding may become its neighbour."""
        program, data = self.classifier(plan, dtype="f32"), CLASSIFIER.rows(ROWS, "f32")
        values = CLASSIFIER.parameters("f32")
        ours = self.predict(program, data, self.write("f32", values), flags=["--only", "hidden,scores,other,accuracy"])
        expected = CLASSIFIER.outputs(values, data)
        types = {"hidden": "F32", "scores": "F32", "other": "F64", "accuracy": "F32"}
        for name in types:
            assert ours.types[name] == types[name], (name, ours.types)
            expect_close(name, ours.tensors[name], expected[name], 1e-5)

    def mixed_precision(self):
        """Outputs have the model's types where it computes in bf16."""
        program = self.compile("bf16", CLASSIFIER.model(8, "f32"), ["--precision", "bf16"])
        data, values = CLASSIFIER.rows(ROWS, "f32"), CLASSIFIER.parameters("f32")
        ours = self.predict(program, data, self.write("f32", values))
        expected = CLASSIFIER.outputs(values, data)
        for name in ("hidden", "scores"):
            assert ours.types[name] == "F32", (name, ours.types)
            expect_close(name, ours.tensors[name], expected[name], 3e-2)
        assert np.mean(ours.tensors["class"] == expected["class"]) > 0.95

    def torch_classifier(self):
        theirs = {name: np.array(values) for name, values in self.torch["classifier"].items()}
        data = CLASSIFIER.rows(len(theirs["class"]))
        compare("PyTorch", self.predict(self.classifier("one"), {"x": data["x"]}), theirs, CLASSIFIER.TYPES)

    def gpt(self, plan):
        text = GPT().edited(checked([self.ppopt, "model", "gpt", *GPT.FLAGS]).stdout)
        program, whole = (self.compile(f"gpt {each}", text, GPTS[each]) for each in (plan, "one"))
        parameters = self.write("gpt", draw({each["name"]: each["shape"] for each in whole.program["parameters"]}, scale=GPT.SCALE))
        theirs = {name: np.array(values) for name, values in self.torch["gpt"].items()}
        compare("PyTorch", self.predict(program, GPT().rows(), parameters), theirs, GPT.TYPES)

    def live(self):
        if not self.harness.args.pytorch:
            raise Skip("needs tools/check --with-pytorch")
        path = os.path.join(self.directory, "live.json")
        checked([self.harness.args.pytorch, os.path.join(HERE, "make_torch_predictions.py"), path])
        with open(path, encoding="utf8") as file:
            live = json.load(file)
        for model in ("classifier", "gpt"):
            expect_close(model, *({name: np.array(values) for name, values in of[model].items()} for of in (live, self.torch)), 1e-13)

    def look_up(self, plan):
        program, parameters = self.compile(f"look-up {plan}", LOOK_UP.model(), LOOK_UPS[plan]), self.write("table", LOOK_UP.parameters())
        for count, flags in ((ROWS, []), (3, ["--poison"])):
            data = LOOK_UP.rows(count)
            ours = self.predict(program, {"ids": data["ids"]}, parameters, flags=flags)
            compare(f"{count} rows", ours, LOOK_UP.outputs(LOOK_UP.parameters(), data), LOOK_UP.TYPES)

    def bad_id(self, plan):
        """Of the first, a middle and the last row."""
        program, parameters = self.compile(f"look-up {plan}", LOOK_UP.model(), LOOK_UPS[plan]), self.write("table", LOOK_UP.parameters())
        for row in (0, 700, ROWS - 1):
            data = LOOK_UP.rows(ROWS)
            data["ids"][row, 1] = LOOK_UP.TABLE - 1
            self.expect_refused(program, parameters, [self.write("bad", data)], words=r"id 12 is out of range, 0 to 11 \(pp.embedding at .*look-up-.*mlir:\d+")

    def expect_refused(self, program, parameters, data, flags=(), words="", status=1):
        """With this status and one error, and without a file."""
        out = program.path + ".refused"
        self.expect_error(command_of(program, parameters, data, out, flags), words, status)
        assert not os.path.exists(out), f"{out} was written"

    def expect_error(self, command, words, status):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment())
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert done.returncode == status and len(errors) == 1, f"exit status {done.returncode}: {done.stdout}{done.stderr}"
        assert re.search(words, errors[0]), f"{words} is not in\n{done.stderr}"

    def trained(self, plan):
        """A checkpoint's parameters and those of the file that the same run exported, and a program of another plan from the checkpoint."""
        program, data = self.classifier(plan), CLASSIFIER.rows(ROWS)
        exported, folder = program.path + ".exported", program.path + ".checkpoints"
        checked([program.path, "--inputs", self.write("train", data), "--steps", "5", "--lr", "0.05", "--export", exported, "--checkpoint", folder])
        saved = sorted(os.walk(folder))
        expected = CLASSIFIER.outputs(safetensors_io.read(exported), data)
        ours = self.predict(program, {"x": data["x"]}, exported)
        compare("trained", ours, expected, CLASSIFIER.TYPES)
        compare("of the checkpoint's folder", self.predict(program, {"x": data["x"]}, os.path.join(folder, "step-00000005")), expected, CLASSIFIER.TYPES)
        resumed = self.predict(program, {"x": data["x"]}, ["--checkpoint", folder, "--resume"])
        for name, values in ours.tensors.items():
            assert values.tobytes() == resumed.tensors[name].tobytes(), f"{name} of the checkpoint has other bits"
        compare("another plan", self.predict(self.classifier("one"), {"x": data["x"]}, ["--checkpoint", folder, "--resume"]), expected, CLASSIFIER.TYPES)
        assert sorted(os.walk(folder)) == saved, "the checkpoints were changed"

    def only(self, plan):
        data = CLASSIFIER.rows(21)
        expected = CLASSIFIER.outputs(CLASSIFIER.parameters(), data)
        for names in (["class"], ["scores", "hidden"], ["hidden"]):
            ours = self.predict(self.classifier(plan), {"x": data["x"]}, flags=["--only", ",".join(names)])
            compare(str(names), ours, {name: expected[name] for name in names}, CLASSIFIER.TYPES)

    def first_place(self, plan):
        """The other place has nothing to do."""
        program, data = self.compile(f"hidden {plan}", CLASSIFIER.model(outputs=("hidden", "half")), PLANS[plan]), CLASSIFIER.rows(21)
        expected = CLASSIFIER.outputs(CLASSIFIER.parameters(), data)
        for launch in ((), under_mpirun(program.ranks)) if plan != "local" else ((),):
            ours = self.predict(program, {"x": data["x"]}, launch=launch)
            compare("of the first place", ours, {name: expected[name] for name in ("hidden", "half")}, CLASSIFIER.TYPES)

    def twice(self):
        """One value under two names."""
        results = f'{R} {{pp.output = "y"}}, {R} {{pp.output = "again"}}'
        program = self.compile("twice", rows_model(SAME, results=results, returned=("%y, %y", f"{R}, {R}")), ["--mesh", "dp=2"])
        x, w = np.random.default_rng(2).normal(size=(21, 6)), draw({"w": (6, 6)})["w"]
        y = np.tanh(x @ w)
        compare("twice", self.predict(program, {"x": x}, self.write("w", {"w": w})), {"y": y, "again": y}, {"y": "F64", "again": "F64"})

    def files(self):
        """Rows are in the order of the files' paths."""
        data, program = CLASSIFIER.rows(ROWS), self.classifier("dp, pp")
        expected = CLASSIFIER.outputs(CLASSIFIER.parameters(), data)
        parts = {"files/a": (0, 500), "files/b/one": (500, 503), "files/b/two": (503, 703), "files/c": (703, ROWS)}
        for name, (begin, end) in parts.items():
            part = {key: values[begin:end] for key, values in data.items()}
            self.write(name, part if name == "files/a" else {"x": part["x"]})
        folder = os.path.join(self.directory, "files")
        for paths in ([folder], [os.path.join(folder, name) for name in ("c.safetensors", "b", "a.safetensors")]):
            compare(str(paths), predict(program, self.init, paths), expected, CLASSIFIER.TYPES)

    def as_bytes(self, plan):
        """What a file stores as U8 has the bits of the same numbers stored in the inputs' types, in training, evaluations and predictions, and a line says
        so. Of several files one may."""
        program, values = self.classifier(plan), {name: array / 128 for name, array in CLASSIFIER.parameters().items()}
        random = np.random.default_rng(9)
        bytes_ = {"x": random.integers(0, 256, size=(43, CLASSIFIER.FEATURES)), "y": random.integers(0, CLASSIFIER.CLASSES, size=43)}
        bytes_ = {name: array.astype(np.uint8) for name, array in bytes_.items()}
        numbers = {"x": bytes_["x"].astype(np.float64), "y": bytes_["y"].astype(np.int32)}
        init, found = self.write("bytes-init", values), []
        for data in (numbers, bytes_):
            ours = run(program, ["--lr", "0.05", "--eval-inputs", self.write("evaluated", data), "--eval-batches", "all"], init=values, inputs=data, steps=5)
            predicted = self.predict(program, {"x": data["x"]}, init)
            compare("bytes", predicted, CLASSIFIER.outputs(values, numbers), CLASSIFIER.TYPES)
            found.append((ours.hexadecimal, [(e["loss_hex"], e["metrics"]) for e in ours.all_records if e["event"] == "eval"],
                          {name: array.tobytes() for name, array in predicted.tensors.items()}))
            for flag, names, said in (("--inputs", "x, y", ours.output), ("--eval-inputs", "x, y", ours.output), ("--predict", "x", predicted.output)):
                line = f"{flag}: stored as U8, converted to the inputs' types, values 0 to 255: {names}\n"
                assert (line in said) == (data is bytes_), said
        assert found[0] == found[1], found
        paths = [self.write(f"mixed/{name}", {"x": data["x"][rows]}) for name, data, rows in
                 (("a", bytes_, slice(0, 9)), ("b", numbers, slice(9, 30)), ("c", bytes_, slice(30, 43)))]
        mixed = predict(program, init, paths)
        assert {name: array.tobytes() for name, array in mixed.tensors.items()} == found[0][2]

    def averages(self):
        """A run with --ema predicts with the averages, from its checkpoints too: those that it evaluated and exports."""
        program = self.compile("averages", CLASSIFIER.model(8), ["--mesh", "fsdp=2", "--zero", "2", "--ema"])
        values, data = CLASSIFIER.parameters(), CLASSIFIER.rows(43)
        rows, saved = self.write("averages-rows", {"x": data["x"]}), os.path.join(self.directory, "averages-saved")
        ours = run(program, ["--lr", "0.5", "--ema", "0.5", "--checkpoint", saved], init=values, inputs=data, steps=4)
        exported, folder = self.write("averages-exported", ours.parameters), os.path.join(saved, "step-00000004")
        ways = {"exported": exported, "resumed": ["--checkpoint", saved, "--resume"], "chosen": ["--init", folder, "--init-averages"], "trained": folder}
        found = {name: {output: array.tobytes() for output, array in predict(program, way, [rows]).tensors.items()} for name, way in ways.items()}
        compare("averages", predict(program, exported, [rows]), CLASSIFIER.outputs(ours.parameters, data), CLASSIFIER.TYPES)
        assert found["exported"] == found["resumed"] == found["chosen"] != found["trained"], found.keys()

    def planted(self, mutation, subject, plan, flags):
        """A bug of the program that predicts makes other predictions."""
        program = self.compile(f"{mutation} {plan}", subject.model(8), [*flags, "--mutate-prediction", mutation], tool_of(self.ppopt))
        data, values = subject.rows(21), subject.parameters()
        ours = self.predict(program, data, self.write("planted", values), flags=["--poison"])
        try:
            compare(mutation, ours, subject.outputs(values, data), subject.TYPES)
        except Mismatch:
            return
        raise AssertionError(f"was not seen to fail: {mutation}")

    def not_finite(self, plan):
        """A row that is not finite has outputs that are not, and no others have."""
        data = CLASSIFIER.rows(ROWS)
        data["x"][[1, 702], 3] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            expected = CLASSIFIER.outputs(CLASSIFIER.parameters(), data)
        names = ["hidden", "scores", "class", "sure"]
        ours = self.predict(self.classifier(plan), {"x": data["x"]}, flags=["--only", ",".join(names)])
        compare("not finite", ours, {name: expected[name] for name in names}, CLASSIFIER.TYPES)

    def fake_device(self):
        data, module = CLASSIFIER.rows(21), os.path.join(self.harness.args.build, "bin", "test", "libppopt_fake_device.so")
        for plan in ("dp, pp, microbatches", "tp", "zero 3"):
            ours = self.predict(self.classifier(plan), {"x": data["x"]}, env=dict(environment(), PPOPT_DEVICE_MODULE=module, PPOPT_FAKE_SEED="7"))
            compare(plan, ours, CLASSIFIER.outputs(CLASSIFIER.parameters(), data), CLASSIFIER.TYPES)

    def training(self, plan):
        """Steps, evaluations and what is predicted of a step are those of the model without outputs."""
        inputs, values = CLASSIFIER.rows(24), CLASSIFIER.parameters()
        evaluated, flags = self.write("evaluated", CLASSIFIER.rows(21)), ["--no-shuffle", "--lr", "0.05"]
        runs = []
        for program in (self.classifier(plan), self.compile(f"without {plan}", CLASSIFIER.model(8, marked=plan not in UNMARKED, outputs=()), PLANS[plan])):
            ours = run(program, [*flags, "--eval-inputs", evaluated, "--eval-batches", "all"], init=values, inputs=inputs, steps=3)
            runs.append((ours, [(each["loss_hex"], each["metrics"]) for each in ours.all_records if each["event"] == "eval"],
                         [place["predicted"] for place in program.program["places"]]))
        (ours, *mine), (plain, *others) = runs
        assert ours.hexadecimal == plain.hexadecimal and mine == others, (ours.hexadecimal, plain.hexadecimal, mine, others)
        for name, array in plain.parameters.items():
            assert array.tobytes() == ours.parameters[name].tobytes(), name
        accuracy = CLASSIFIER.accuracy(ours.parameters, CLASSIFIER.rows(21))
        assert abs(mine[0][-1][1]["accuracy"] - accuracy) < 1e-12, (mine[0], accuracy)

    def mixing(self, what, flags):
        try:
            self.compile(f"mixing {what} {flags}", rows_model(MIXING[what]), flags)
        except AssertionError as refused:
            assert re.search(r"mixing-.*\.mlir:\d+:\d+: error: ", str(refused)), refused
            return
        raise AssertionError("it compiles")

    def apart(self, what, lines, reference, loss=MEAN, flags=()):
        program = self.compile(f"apart {what} {flags}", rows_model(lines, loss), flags)
        x, w = np.random.default_rng(2).normal(size=(21, 6)) * 0.5, draw({"w": (6, 6)}, scale=0.3)["w"]
        ours = self.predict(program, {"x": x}, self.write("w", {"w": w}))
        compare(what, ours, {"y": reference(x, x @ w, w)}, {"y": "F64"})

    def refused_model(self, text, words):
        try:
            self.compile("refused", text, [])
        except AssertionError as error:
            assert re.search(r"refused\.mlir:\d+:\d+: error: ", str(error)) and words in str(error), error
            return
        raise AssertionError("it compiles")

    def no_outputs(self):
        program = self.compile("without one", CLASSIFIER.model(8, outputs=()), [])
        self.expect_refused(program, self.init, [self.write("rows", CLASSIFIER.rows(8))], words="the model has no outputs: .*pp.output", status=2)

    def refused(self, what, parameters=None, flags=(), words="", change=None, status=1):
        data = CLASSIFIER.rows(21)
        data = change(data) if change else data
        path = os.path.join(self.directory, "no file") if data is None else self.write(f"refused {what}", data)
        self.expect_refused(self.classifier("one"), self.init if parameters is None else parameters, [path], flags, words, status)

    def incomplete(self):
        """Flags of predictions need each other."""
        program, rows = self.classifier("one"), self.write("rows", CLASSIFIER.rows(8))
        self.expect_error([program.path, "--init", self.init, "--predict", rows], r"--predict: give -o FILE", 2)
        self.expect_error([program.path, "--init", self.init, "--steps", "0", "-o", program.path + ".out"], "needs --predict", 2)
        self.expect_error([program.path, "--init", self.init, "--steps", "0", "--only", "class"], "needs --predict", 2)

    def exists(self):
        """What is there stays."""
        program, out = self.classifier("dp"), self.write("there", {"x": np.arange(3.0)})
        for launch in ((), under_mpirun(2)):
            done = subprocess.run(command_of(program, self.init, [self.write("rows", CLASSIFIER.rows(8))], out, launch=launch), capture_output=True, text=True,
                                  timeout=300, env=environment())
            assert done.returncode == 1 and re.search(r"error: .*there\.safetensors: there is a file of that name", done.stderr), done
            assert np.array_equal(safetensors_io.read(out)["x"], np.arange(3.0))

    def red(self):
        """What is wrong is seen: rows in another order, rows that are padding, left out or there twice, a name, a type, an element that is off."""
        data, values, types = CLASSIFIER.rows(21), CLASSIFIER.parameters(), CLASSIFIER.TYPES
        ours, right = self.predict(self.classifier("one"), {"x": data["x"]}), CLASSIFIER.outputs(values, data)
        compare("right", ours, right, types)
        order = np.arange(21)
        order[[9, 10]] = 10, 9
        rows = {"another order": order, "batches swapped": np.r_[8:16, 0:8, 16:21], "padding": np.r_[0:21, 13:16], "fewer": np.r_[0:20], "twice": np.r_[0:8, 0:8, 16:21]}
        wrong = {what: ({name: array[index] for name, array in right.items()}, types) for what, index in rows.items()}

        def with_changed(name, change):
            changed = right[name].copy()
            changed[20, ...] = change(changed[20, ...])
            return dict(right, **{name: changed})
        dropped = np.random.default_rng(1).integers(0, 2, size=(21, CLASSIFIER.WIDTH)) * 2
        wrong |= {"a name": ({**right, "more": right["class"]}, types), "a type": (right, dict(types, other="F64")),
                  "a score": (with_changed("scores", lambda x: x * (1 + 1e-11)), types), "a class": (with_changed("class", lambda x: x + 1), types),
                  "a boolean": (with_changed("sure", lambda x: ~x), types), "a bit of bf16": (with_changed("half", lambda x: x * (1 + 2 ** -7)), types),
                  "one that is NaN": (with_changed("scores", lambda x: x * np.nan), types),
                  "dropout": (dict(right, scores=(right["hidden"] * dropped) @ values["v"]), types)}
        for what, (expected, its_types) in wrong.items():
            try:
                compare(what, ours, expected, its_types)
            except Mismatch:
                continue
            raise AssertionError(f"was not seen to fail: {what}")


def main():
    harness = Harness("predictions")
    with tempfile.TemporaryDirectory() as directory:
        checks = Checks(harness, directory)
        for plan in PLANS:
            harness.case(plan, lambda: checks.plan(plan, 8))
        for plan, batch in (("one", 1), ("one", 2), ("one", 4), ("dp", 2), ("dp, pp, microbatches", 4), ("zero 3", 4), ("trainers", 2), ("local", 2)):
            harness.case(f"{plan}, batch {batch}", lambda: checks.plan(plan, batch))
        for plan in ("one", "tp", "zero 3, pp"):
            harness.case(f"f32: {plan}", lambda: checks.single(plan))
        harness.case("bf16", checks.mixed_precision)
        harness.case("PyTorch: classifier", checks.torch_classifier)
        for plan in GPTS:
            harness.case(f"PyTorch: gpt, {plan}", lambda: checks.gpt(plan))
        harness.case("PyTorch: live", checks.live)
        for plan in LOOK_UPS:
            harness.case(f"look-up: {plan}", lambda: checks.look_up(plan))
            harness.case(f"an id out of range: {plan}", lambda: checks.bad_id(plan))
        for plan in ("one", "zero 3, pp", "tp, sp", "trainers"):
            harness.case(f"trained: {plan}", lambda: checks.trained(plan))
        for plan in ("one", "pp", "tp, classes"):
            harness.case(f"--only: {plan}", lambda: checks.only(plan))
        for plan in ("pp", "dp, pp", "zero 3, pp", "local"):
            harness.case(f"of the first place: {plan}", lambda: checks.first_place(plan))
        harness.case("one value twice", checks.twice)
        harness.case("files", checks.files)
        for plan in ("one", "dp, pp, microbatches"):
            harness.case(f"not finite: {plan}", lambda: checks.not_finite(plan))
            harness.case(f"bytes: {plan}", lambda: checks.as_bytes(plan))
        harness.case("averages", checks.averages)
        for mutation, plan in MUTATED:
            harness.case(f"planted: {mutation}, {plan}", lambda: checks.planted(mutation, CLASSIFIER, plan, PLANS[plan]))
        for mutation, plan in MUTATED_LOOK_UP:
            harness.case(f"planted: {mutation}, {plan}", lambda: checks.planted(mutation, LOOK_UP, plan, LOOK_UPS[plan]))
        harness.case("fake device", checks.fake_device)
        for plan in ("one", "dp, pp", "zero 3", "tp", "zb-v"):
            harness.case(f"training: {plan}", lambda: checks.training(plan))
        for what in MIXING:
            for flags in ([], ["--mesh", "dp=2"], ["--batch", "1"]):
                harness.case(f"refused: {' '.join([what, *flags])}", lambda: checks.mixing(what, flags))
        for what, (lines, reference) in APART.items():
            harness.case(f"apart: {what}", lambda: checks.apart(what, lines, reference))
        harness.case("apart: the loss's rows meet", lambda: checks.apart("pairs", SAME, lambda x, h, w: np.tanh(h), PAIRS))
        for what, (text, words) in REFUSED.items():
            harness.case(f"refused: {what}", lambda: checks.refused_model(text, words))
        harness.case("refused: no outputs", checks.no_outputs)
        harness.case("refused: the file exists", checks.exists)
        harness.case("refused: flags that need others", checks.incomplete)
        for what, arguments in RUNS.items():
            harness.case(f"refused: {what}", lambda: checks.refused(what, **arguments))
        harness.case("what is wrong is seen", checks.red)
    return harness.finish()


# What a program refuses: flags or a file, and words of the message.
RUNS = {
    "no parameters": dict(parameters=[], words="no parameters to predict with: give --init", status=2),
    "steps": dict(flags=["--steps", "3"], words="--steps: a run that predicts", status=2),
    "samples": dict(flags=["--inputs", "x.safetensors"], words="--inputs: a run that predicts", status=2),
    "an output that is not there": dict(flags=["--only", "class,score"], words="no output 'score', but hidden, ", status=2),
    "no output": dict(flags=["--only", ""], words="--only", status=2),
    "no checkpoint": dict(parameters=["--checkpoint", "nowhere", "--resume"], words="nowhere"),
    "an input that is not there": dict(change=lambda data: {"y": data["y"]}, words="missing: x"),
    "an input of another type": dict(change=lambda data: {"x": data["x"].astype(np.float32)}, words="'x'"),
    "an input of another shape": dict(change=lambda data: {"x": data["x"][:, :5]}, words="'x'"),
    "no rows": dict(change=lambda data: {"x": data["x"][:0]}, words="no "),
    "no file": dict(change=lambda data: None, words="no file"),
}


if __name__ == "__main__":
    sys.exit(main())
