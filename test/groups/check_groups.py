#!/usr/bin/env python3
"""Parameters that are frozen, or trained at another rate or with another decay, are what PyTorch's parameter groups make of them
(Inputs/torch_groups.json; make_torch_groups.py wrote it), under every plan; with --zero 3 a rank has a part of what is frozen. So are averages of
the parameters (--ema): evaluated and exported, they are PyTorch's."""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from support import safetensors_io  # noqa: E402
from support.checkpoints import step_folder, tensors_of  # noqa: E402
from support.executable import Once, checked, compile_model, environment, expect_close, run  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

import subjects  # noqa: E402

TOLERANCE = 1e-11
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "dp, pp": ["--mesh", "dp=2,pp=2", "--microbatches", "2"], "zero 1": ["--mesh", "dp=2", "--zero", "1"],
         "zero 2": ["--mesh", "dp=2", "--zero", "2", "--microbatches", "2"], "zero 3": ["--mesh", "fsdp=2", "--zero", "3"],
         "zero 3, small buckets": ["--mesh", "dp=4", "--zero", "3", "--bucket-bytes", "256"],
         "zero 3, pp": ["--mesh", "fsdp=2,pp=2", "--zero", "3", "--microbatches", "2"], "zero 3, gathered for a step": ["--mesh", "fsdp=2", "--zero", "3", "--gather", "step"],
         "zero 3, tp": ["--mesh", "fsdp=2,tp=2", "--zero", "3"], "tp": ["--mesh", "tp=2"], "tied to an owner": ["--mesh", "pp=2", "--tied", "owner"],
         "local": ["--mesh", "pp=2", "--launch", "local"]}
MPIRUN = ("dp, pp", "zero 3, pp", "zero 3, tp")


class Checks:
    def __init__(self, harness, directory):
        self.harness, self.ppopt, self.directory, self.once = harness, harness.ppopt, directory, Once()
        with open(os.path.join(HERE, "Inputs", "torch_groups.json"), encoding="utf8") as file:
            self.torch = json.load(file)

    def model(self, kind, edit):
        path = os.path.join(self.directory, f"{kind}{' edited' if edit else ''}.mlir")
        text = checked([self.ppopt, "model", "gpt", *subjects.SUBJECTS[kind].model_flags(), "-o", "-"]).stdout
        with open(path, "w", encoding="utf8") as file:
            file.write(edit(text) if edit else text)
        return path

    def compile(self, kind, flags=(), edit=None, generates=False):
        """The program of a subject and a plan. `edit`: of the model's text."""
        how = [kind, *flags, *(["edited"] if edit else []), *(["generates"] if generates else [])]

        def make():
            model = self.once((kind, bool(edit)), lambda: self.model(kind, edit))
            path = os.path.join(self.directory, "".join(c if c.isalnum() else "-" for c in " ".join(how)))
            return compile_model(self.ppopt, model, path, ["--threads", "1", *subjects.SUBJECTS[kind].flags(), *flags], generates=generates)
        return self.once(tuple(how), make)

    def files(self, name, subject):
        """Writes what the steps train on, what is evaluated, and the initial parameters; returns the paths of the case's files by their names."""
        at = lambda file: os.path.join(self.directory, f"{name} {file}")
        for file, tensors in (("inputs", subjects.batches()), ("evaluation", subjects.evaluation()), ("init", subject.parameters())):
            safetensors_io.write(at(file), tensors)
        return at

    def train(self, subject, executable, launch="threads", flags=()):
        flags = [*subject.run_flags(), *flags]
        if subject.ema is not None:
            rows = executable.path + ".evaluation.safetensors"
            safetensors_io.write(rows, subjects.evaluation())
            flags += ["--eval-inputs", rows, "--eval-every", "1"]
        return run(executable, flags, init=subject.parameters(), inputs=subjects.batches(), steps=subjects.STEPS, launch=launch)

    def compare(self, subject, expected, result):
        steps = [record for record in result.records if record["event"] == "step"]
        expect_close("losses", result.losses, np.array(expected["losses"]), TOLERANCE)
        expect_close("norms", np.array([step["norm"] for step in steps]), np.array(expected["norms"]), TOLERANCE)
        if subject.ema is not None:
            losses = [record["loss"] for record in result.all_records if record["event"] == "eval"]
            expect_close("losses of averages", np.array(losses), np.array(expected["evaluations"]), TOLERANCE)
        for name, before in subject.parameters().items():
            ours = result.parameters[name]
            if name in expected["parameters"]:
                self.compare_parameter(name, ours, expected, "parameters" if subject.ema is None else "averages")
            else:
                assert ours.tobytes() == before.tobytes(), f"{name} is frozen, and has changed"

    def compare_parameter(self, name, ours, expected, of="parameters"):
        expect_close(name, subjects.project(name, ours), np.array(expected[of][name]), TOLERANCE, least_scale=1.0)

    def plan(self, kind, plan):
        subject = subjects.SUBJECTS[kind]
        executable = self.compile(kind, PLANS[plan])
        for launch in ("threads", "mpirun") if plan in MPIRUN else ("threads",):
            self.compare(subject, self.torch[kind], self.train(subject, executable, launch))

    def memory(self):
        """On n ranks a rank has an n-th of what is frozen, but for the padding of a few buckets, and states of the adapters alone."""
        subject = subjects.SUBJECTS["lora"]
        bytes_of = {}
        for ranks in (1, 2, 4):
            flags = ["--mesh", f"dp={ranks}", "--zero", "3", "--bucket-bytes", "2048"] if ranks > 1 else []
            place = self.compile("lora", flags).program["places"][0]
            bytes_of[ranks] = {region["kind"]: region["bytes"] for region in place["arena"]["regions"]}
        whole = 8 * sum(int(np.prod(shape)) for shape in subject.shapes().values())
        trained = 8 * sum(int(np.prod(shape)) for name, shape in subject.shapes().items() if "lora" in name)
        for ranks in (2, 4):
            assert whole / ranks <= bytes_of[ranks]["parameters"] <= 1.2 * whole / ranks, (ranks, whole, bytes_of[ranks])
            assert 2 * trained / ranks <= bytes_of[ranks]["optimizer"] <= 4 * trained / ranks, (ranks, trained, bytes_of[ranks])

    def resume(self):
        """A run that is resumed under another plan ends as one that was not interrupted."""
        subject = subjects.SUBJECTS["lora"]
        first, second = self.compile("lora", PLANS["dp"]), self.compile("lora", PLANS["zero 3, small buckets"])
        at = self.files("resume", subject)
        common = [*subject.run_flags(), "--inputs", at("inputs"), "--no-shuffle", "--checkpoint", at("checkpoint")]
        checked([first.path, *common, "--init", at("init"), "--steps", "3"])
        checked([second.path, *common, "--resume", "--steps", str(subjects.STEPS), "--export", at("resumed")])
        resumed = safetensors_io.read(at("resumed"))
        for name in self.torch["lora"]["parameters"]:
            self.compare_parameter(name, resumed[name], self.torch["lora"])

    def resume_averages(self, plan):
        """A run that is stopped and resumed ends with the bits of one that was not, and its checkpoint has both parameters and averages."""
        subject = subjects.SUBJECTS["averaged"]
        executable = self.compile("averaged", PLANS[plan])
        at = self.files(f"averages {plan}", subject)
        common = [executable.path, *subject.run_flags(), "--inputs", at("inputs"), "--no-shuffle", "--eval-inputs", at("evaluation"), "--eval-every", "2"]
        exported = {}
        for name, stops in (("whole", ()), ("resumed", (1, 4))):
            for steps in (*stops, subjects.STEPS):
                flags = ["--checkpoint", at(name + " checkpoint"), "--export", at(name), "--steps", str(steps)]
                checked([*common, *flags, *(["--resume"] if steps not in (*stops, subjects.STEPS)[:1] else ["--init", at("init")])])
            exported[name] = safetensors_io.read(at(name))
            saved = [tensors_of(step_folder(at(name + " checkpoint"), subjects.STEPS), part) for part in ("parameters", "optimizer")]
            for parameter in self.torch["averaged"]["parameters"]:
                self.compare_parameter(parameter, saved[0][parameter], self.torch["averaged"])
                assert saved[1][f"ema/{parameter}"].tobytes() == exported[name][parameter].tobytes(), parameter
        for parameter, array in exported["whole"].items():
            assert array.tobytes() == exported["resumed"][parameter].tobytes(), parameter

    def start(self):
        """--init-averages takes the averages of a checkpoint, and what has none as it is; evaluated, they are what the run evaluated."""
        subject = subjects.SUBJECTS["averaged"]
        executable = self.compile("averaged", PLANS["zero 3"])
        at = self.files("averages start", subject)
        evaluate = ["--eval-inputs", at("evaluation")]
        checked([executable.path, *subject.run_flags(), "--inputs", at("inputs"), "--no-shuffle", "--init", at("init"), "--steps", "3", "--checkpoint", at("saved"),
                 "--log", at("log"), "--export", at("averages"), *evaluate])
        begin = [executable.path, "--steps", "0", "--init", step_folder(at("saved"), 3)]
        checked([*begin, "--init-averages", *evaluate, "--log", at("again"), "--export", at("exported")])
        checked([*begin, "--export", at("trained")])
        exported, averages, trained = (safetensors_io.read(at(name)) for name in ("exported", "averages", "trained"))
        for name, array in averages.items():
            assert array.tobytes() == exported[name].tobytes(), name
            is_moved = not name.startswith(("ln_f.", "wte", "h.0.")) and not name.endswith("ln_2.bias")  # the others are frozen, or have the rate 0
            assert (array.tobytes() != trained[name].tobytes()) == is_moved, name
        losses = []
        for log in ("log", "again"):
            with open(at(log), encoding="utf8") as file:
                losses.append([record["loss"] for record in map(json.loads, file) if record["event"] == "eval"])
        assert losses[0] == losses[1] and len(losses[0]) == 1, losses

    def start_before_updates(self):
        """Before the first update the averages are the parameters: not the zeros that a checkpoint has of them."""
        subject = subjects.SUBJECTS["averaged"]
        executable = self.compile("averaged", PLANS["zero 1"])
        at = self.files("averages before", subject)
        checked([executable.path, "--inputs", at("inputs"), "--init", at("init"), "--steps", "0", "--checkpoint", at("saved")])
        checked([executable.path, "--init", step_folder(at("saved"), 0), "--init-averages", "--steps", "0", "--export", at("exported")])
        exported = safetensors_io.read(at("exported"))
        for name, array in subject.parameters().items():
            assert array.tobytes() == exported[name].tobytes(), name

    def exact(self):
        """An average without memory is the parameter, bit for bit."""
        subject = subjects.SUBJECTS["averaged"]
        executable = self.compile("averaged", PLANS["zero 1"])
        at = self.files("averages exact", subject)
        flags = subject.run_flags()[:subject.run_flags().index("--ema")]
        checked([executable.path, *flags, "--ema", "0", "--inputs", at("inputs"), "--no-shuffle", "--init", at("init"), "--steps", "4",
                 "--checkpoint", at("saved"), "--export", at("exported")])
        exported, saved = safetensors_io.read(at("exported")), tensors_of(step_folder(at("saved"), 4), "parameters")
        for name, array in saved.items():
            assert array.tobytes() == exported[name].tobytes(), name

    def refuse(self):
        """What a flag can't do is refused by its name."""
        subject = subjects.SUBJECTS["adamw"]
        executable = self.compile("adamw")
        at = self.files("averages refused", subject)
        plain, saved, inputs = at("init"), at("saved"), at("inputs")
        checked([executable.path, "--inputs", inputs, "--init", plain, "--steps", "1", "--checkpoint", saved])
        averaged = self.compile("averaged")
        at_average = step_folder(saved + " averages", 1)
        checked([averaged.path, "--inputs", inputs, "--init", plain, "--steps", "1", "--checkpoint", os.path.dirname(at_average)])
        zero = [executable.path, "--steps", "0"]
        for flags, message in ((["--ema", "0.5"], "--ema: this executable keeps no average of its parameters (compile with --ema)"),
                               (["--init", plain, "--init-averages"], "is no checkpoint, which alone has averages"),
                               (["--init", step_folder(saved, 1), "--init-averages"], "has no averages: its run's executable was compiled without --ema"),
                               (["--init-averages"], "--init-averages: needs --init FILE"),
                               (["--init", at_average, "--init-averages", "--init-prefix", "model."], "the tensors are not this model's parameters; missing: "),
                               (["--checkpoint", os.path.dirname(at_average), "--resume"], "its run kept averages of the parameters; compile with --ema, or begin with --init")):
            done = subprocess.run([*zero, *flags], capture_output=True, text=True, env=environment())
            assert done.returncode and message in done.stderr, (flags, done.stderr)
        model = self.once(("adamw", False), lambda: self.model("adamw", None))
        done = subprocess.run([self.ppopt, "compile", model, "--mesh", "dp=2", "--sync", "async", "--ema", "-o", plain], capture_output=True, text=True)
        assert done.returncode and "--ema goes with --sync step, not async" in done.stderr, done.stderr

    def skip(self):
        """A step that updates nothing is not in the average: not even the first, before which there is none."""
        subject = subjects.SUBJECTS["averaged sgd"]
        ignored = lambda text: text.replace("%targets : !logits", "%targets {ignore_index = -1 : i64} : !logits")
        executable = self.compile("averaged sgd", PLANS["zero 1"], edit=ignored)
        bad, good = subjects.batches(), subjects.batches()
        figures = {}
        for name, rows in (("bad", bad), ("good", good)):
            # The first step has no target that counts.
            if name == "bad":
                nothing = np.full((subjects.BATCH, subjects.LENGTH), -1, np.int32)
                first, rest = slice(0, subjects.BATCH), slice(subjects.BATCH, None)
                rows = {"tokens": np.concatenate([rows["tokens"][first]] * 2 + [rows["tokens"][rest]]),
                        "targets": np.concatenate([nothing, rows["targets"]])}
            steps = len(rows["tokens"]) // subjects.BATCH
            evaluation = executable.path + ".evaluation.safetensors"
            safetensors_io.write(evaluation, subjects.evaluation())
            figures[name] = run(executable, [*subject.run_flags(), "--eval-inputs", evaluation, "--eval-every", "1"], init=subject.parameters(), inputs=rows,
                                steps=steps, name=name)
        losses = {name: [r["loss"] for r in result.all_records if r["event"] == "eval"] for name, result in figures.items()}
        assert losses["bad"][1:] == losses["good"], losses
        before = run(executable, ["--eval-inputs", evaluation, *subject.run_flags()], init=subject.parameters(), inputs=good, steps=0, name="before")
        assert losses["bad"][0] == next(r["loss"] for r in before.all_records if r["event"] == "eval"), losses
        for name, array in figures["good"].parameters.items():
            assert array.tobytes() == figures["bad"].parameters[name].tobytes(), name

    def generate(self):
        """The text after training is that of the averages, which --init generates from too."""
        subject = subjects.SUBJECTS["averaged"]
        executable = self.compile("averaged", PLANS["zero 1"], generates=True)
        text = ["--generate", "24", "--prompt", "\t", "--temperature", "0"]
        at = self.files("averages text", subject)
        trained = checked([executable.path, *subject.run_flags(), "--inputs", at("inputs"), "--no-shuffle", "--init", at("init"), "--steps", "3",
                           "--export", at("averages"), *text])
        alone = checked([executable.path, "--init", at("averages"), *text])
        assert trained.stdout.endswith(alone.stdout) and alone.stdout.strip(), (trained.stdout, alone.stdout)

    def merged(self, plan):
        """An export of the base with the adapters' product added, whichever way it lies; what is omitted is not there."""
        subject = subjects.SUBJECTS["lora"]
        executable = self.compile("lora", PLANS[plan])
        entries = {name: name for name in subject.shapes() if "lora" not in name and name != "wpe"}
        plus = {"product": ["h.{i}.attn.qkv.lora_a", "h.{i}.attn.qkv.lora_b"], "scale": subjects.ALPHA / subjects.RANK}
        for n, transpose in enumerate((False, True)):
            here = json.loads(json.dumps(plus).replace("{i}", str(n)))
            entries[f"h.{n}.attn.qkv.weight"] = {"tensor": f"merged.{n}", "transpose": transpose, "plus": here}
        paths = {name: os.path.join(self.directory, f"merged {plan}.{name}") for name in ("init", "map", "out")}
        safetensors_io.write(paths["init"], subject.parameters())
        with open(paths["map"], "w", encoding="utf8") as file:
            json.dump({"format": "ppopt parameter map", "version": 1, "parameters": entries, "omitted": ["wpe"]}, file)
        checked([executable.path, "--steps", "0", "--init", paths["init"], "--export", paths["out"], "--export-map", paths["map"]])
        ours, values = safetensors_io.read(paths["out"]), subject.parameters()
        for n in range(subjects.LAYERS):
            name = f"h.{n}.attn.qkv"
            product = values[f"{name}.lora_a"] @ values[f"{name}.lora_b"]
            expected = values[f"{name}.weight"] + subjects.ALPHA / subjects.RANK * product
            expect_close(f"merged.{n}", ours.pop(f"merged.{n}"), expected.T if n else expected, 1e-14)
        for name, array in ours.items():
            assert array.tobytes() == values[name].tobytes(), name
        assert set(ours) == {name for name in values if name != "wpe" and "qkv.weight" not in name and "lora" not in name}, sorted(ours)

    def peft(self):
        """LoRA from a folder of Hugging Face in one command, the base sharded over two ranks: losses, and the merged export, are peft's."""
        if not self.harness.args.pytorch:
            raise Skip("needs tools/check --with-pytorch")
        python, script = self.harness.args.pytorch, os.path.join(HERE, "lora_peft.py")
        paths = {name: os.path.join(self.directory, f"peft.{name}") for name in ("base", "adapters", "inputs", "merged", "theirs", "adapters.json", "merged.json")}
        checked([python, script, "base", paths["base"]])
        with open(os.path.join(HERE, "..", "..", "tools", "maps", "gpt2.json"), encoding="utf8") as file:
            gpt2 = json.load(file)
        entries, layer = gpt2["parameters"], "h.{i}.attn.qkv"
        weight = {"tensor": entries[f"{layer}.weight"], "plus": {"product": [f"{layer}.lora_a", f"{layer}.lora_b"], "scale": subjects.ALPHA / subjects.RANK}}
        names = {f"{layer}.lora_{side}": {"tensor": f"base_model.model.transformer.h.{{i}}.attn.c_attn.lora_{side.upper()}.weight", "transpose": True} for side in "ab"}
        adapters = {"format": gpt2["format"], "version": 1, "parameters": names, "omitted": [name for name in entries]}
        for name, contents in (("merged.json", {**gpt2, "parameters": {**entries, f"{layer}.weight": weight}}), ("adapters.json", adapters)):
            with open(paths[name], "w", encoding="utf8") as file:
                json.dump(contents, file)
        safetensors_io.write(paths["inputs"], subjects.batches())
        model = os.path.join(self.directory, "peft.mlir")
        sizes = ["f32" if flag == "f64" else flag for flag in subjects.SUBJECTS["lora"].model_flags()]
        checked([self.ppopt, "model", "gpt", *sizes, "-o", model])
        executable = compile_model(self.ppopt, model, model[:-5], ["--threads", "1", "--mesh", "fsdp=2", "--zero", "3"])
        begin = [executable.path, "--init", paths["base"], "--init-map", os.path.join(HERE, "..", "..", "tools", "maps", "gpt2.json"), "--init-missing", "draw"]
        checked([*begin, "--steps", "0", "--export", paths["adapters"], "--export-map", paths["adapters.json"]])
        log = os.path.join(self.directory, "peft.jsonl")
        checked([*begin, "--steps", str(subjects.STEPS), "--inputs", paths["inputs"], "--no-shuffle", "--lr", repr(subjects.RATES["lr"]),
                 "--weight-decay", repr(subjects.RATES["weight_decay"]), "--export", paths["merged"], "--export-map", paths["merged.json"], "--log", log])
        done = checked([python, script, "train", paths["base"], paths["adapters"], paths["inputs"], paths["theirs"]])
        with open(log, encoding="utf8") as file:
            losses = [record["loss"] for record in map(json.loads, file) if record["event"] == "step"]
        expect_close("losses", np.array(losses), np.array(json.loads(done.stdout.splitlines()[-1])), 1e-6)
        expect_close("merged", safetensors_io.read(paths["merged"]), safetensors_io.read(paths["theirs"]), 1e-6)

    def live(self):
        if not self.harness.args.pytorch:
            raise Skip("needs tools/check --with-pytorch")
        path = os.path.join(self.directory, "live.json")
        checked([self.harness.args.pytorch, os.path.join(HERE, "make_torch_groups.py"), path])
        with open(path, encoding="utf8") as file:
            live = json.load(file)
        for kind in subjects.SUBJECTS:
            for what in ("losses", "norms"):
                expect_close(what, np.array(live[kind][what]), np.array(self.torch[kind][what]), 1e-12)
            for what in ("parameters", "averages"):
                arrays = [{name: np.array(values) for name, values in of[kind].get(what, {}).items()} for of in (live, self.torch)]
                expect_close(kind, *arrays, 1e-12, least_scale=1.0)


def main():
    harness = Harness("groups of parameters")
    with tempfile.TemporaryDirectory() as directory:
        checks = Checks(harness, directory)
        cases = [(f"lora, {plan}", lambda plan=plan: checks.plan("lora", plan)) for plan in PLANS]
        cases += [(f"{kind}, {plan}", lambda kind=kind, plan=plan: checks.plan(kind, plan))
                  for kind in ("adamw", "adam", "sgd") for plan in ("one", "dp, pp", "zero 1", "zero 3, small buckets", "zero 3, pp")]
        cases += [(f"averaged, {plan}", lambda plan=plan: checks.plan("averaged", plan)) for plan in PLANS]
        cases += [(f"averaged sgd, {plan}", lambda plan=plan: checks.plan("averaged sgd", plan)) for plan in ("one", "zero 3, pp")]
        cases += [(f"averages, resumed, {plan}", lambda plan=plan: checks.resume_averages(plan)) for plan in ("one", "zero 1", "zero 3, pp", "tied to an owner")]
        cases += [("averages, a skipped step", checks.skip), ("averages, generated text", checks.generate), ("averages, a starting point", checks.start), ("averages before updates", checks.start_before_updates), ("averages, exact", checks.exact),
                  ("averages, refused", checks.refuse)]
        cases += [(f"merged export, {plan}", lambda plan=plan: checks.merged(plan)) for plan in ("one", "dp, pp", "zero 3, small buckets", "zero 3, tp", "local")]
        cases += [("memory", checks.memory), ("resume", checks.resume), ("PyTorch, live", checks.live), ("peft, live", checks.peft)]
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
