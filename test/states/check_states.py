#!/usr/bin/env python3
"""States are what PyTorch in f64 makes of its buffers (Inputs/torch_states.json; make_torch_states.py wrote it): after each step, under plans, schedules and
launches; evaluations read them, a step that is skipped leaves their bits, and they are saved, resumed, exported and taken by --init."""
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.checkpoints import expect_same_bits, step_folder  # noqa: E402
from support.executable import Mismatch, compile_model, expect_close, run  # noqa: E402
from support.mutations import expect_refused, tool_of  # noqa: E402
from support.results import Harness  # noqa: E402

from subjects import BATCH, EVALUATED, LR, STEPS, SUBJECTS, Subject, parameters, rows  # noqa: E402

TOLERANCE, OF_BF16 = 1e-12, 5e-2
FLAGS = ["--lr", str(LR), "--momentum", "0", "--weight-decay", "0"]  # of a run
PP = ["--mesh", "pp=2"]
# Of both models: the batch is whole.
WHOLE = {"one": [], "blocks": ["--block-bytes", "64"], "recompute": ["--recompute", "layer"], "pp": PP, "pp, recompute": [*PP, "--recompute", "layer"],
         "pp, local": [*PP, "--launch", "local"], "pp, zb-h1": [*PP, "--schedule", "zb-h1"], "ema": ["--ema"]}
# Of both, too: ranks split the batch, whose rows meet.
RANKS = {"dp": ["--mesh", "dp=2"], "dp, pp": ["--mesh", "dp=2,pp=2"], "zero 1": ["--mesh", "dp=2", "--zero", "1"], "zero 3": ["--mesh", "fsdp=2", "--zero", "3"],
         "dp, fsdp": ["--mesh", "dp=2,fsdp=2", "--zero", "2"]}
# Of the model whose proposals need inputs alone: what splits the batch otherwise.
SPLIT = {**{f"{schedule}, {count} microbatches": [*PP, "--schedule", schedule, "--microbatches", str(count)]
            for schedule in ("gpipe", "1f1b", "zb-h1", "zb-v") for count in (2, 4)},
         "2 microbatches": ["--microbatches", "2"], "2 microbatches, local": [*PP, "--launch", "local", "--microbatches", "2"],
         "dp, 2 microbatches": ["--mesh", "dp=2", "--microbatches", "2"], "tp": ["--mesh", "tp=2", "--shard", "w=[{tp}, {}]"],
         "tp, average": ["--mesh", "tp=2", "--shard", "average=[{tp}]; w=[{tp}, {}]"]}
# Of the model with pp.per_microbatch: the statistics are those of 4 rows.
REGION = {f"{plan}, 2 microbatches": [*flags, "--microbatches", "2"] for plan, flags in (WHOLE | RANKS).items()}
# Of pp.batch_norm: one channel's statistics are of one rank's channels, too.
NORMS = {**{plan: (WHOLE | RANKS)[plan] for plan in ("one", "recompute", "pp", "dp", "dp, pp", "zero 1", "zero 3", "dp, fsdp")}, **REGION,
         **{f"{schedule}, 4 microbatches": [*PP, "--schedule", schedule, "--microbatches", "4"] for schedule in ("gpipe", "zb-h1", "zb-v")},
         "tp": ["--mesh", "tp=5", "--shard", "w=[{}, {tp}]"], "tp, states": ["--mesh", "tp=5", "--shard", "norm.*=[{tp}]"],
         "dp, tp, 2 microbatches": ["--mesh", "dp=2,tp=5", "--shard", "w=[{}, {tp}]; v=[{tp}, {}]", "--microbatches", "2"]}
ALL = WHOLE | RANKS | SPLIT | REGION | NORMS
UNMARKED = ("zb-v",)
BAD = 3  # the step whose batch is not finite, from 0


class Checks:
    def __init__(self, harness, directory, mutation=None):
        self.harness, self.directory, self.mutation = harness, directory, mutation
        with open(HERE / "Inputs" / "torch_states.json", encoding="utf8") as file:
            self.torch = json.load(file)

    def write(self, subject, plan, name, change=str):
        """The path of the model."""
        path = os.path.join(self.directory, re.sub(r"\W+", "-", f"{subject}-{plan}-{name}-{self.mutation}") + ".mlir")
        with open(path, "w", encoding="utf8") as file:
            file.write(change(SUBJECTS[subject].model(marked=not plan.startswith(UNMARKED))))
        return path

    def compile(self, subject, plan, flags, name="", change=str):
        model, flags = self.write(subject, plan, name, change), ["--threads", "1", "--optimizer", "sgd", *flags]
        if not self.mutation:
            return compile_model(self.harness.ppopt, model, model[:-5], flags)
        return compile_model(tool_of(self.harness.ppopt), model, model[:-5], [*flags, "--mutate", self.mutation])

    def expected(self, subject, program):
        count, model = program.program["plan"]["microbatches"], "norm" if subject in ("region", "batch_norm", "biased") else subject
        return self.torch[model if count == 1 else f"{model}, {count} microbatches"]

    def train(self, subject, program, steps=STEPS, flags=(), **how):
        return run(program, [*FLAGS, *flags], init=parameters(subject), inputs=rows(), steps=steps, **how)

    def trains(self, subject, plan, flags, launch="threads"):
        """Losses, all parameters and states, and an evaluation after the last step."""
        program = self.compile(subject, plan, flags, launch)
        expected = self.expected(subject, program)
        evaluated = program.path + ".evaluated.safetensors"
        safetensors_io.write(evaluated, rows(EVALUATED, seed=8))
        # The parameters, not their averages, are compared with PyTorch's.
        also = ["--eval-inputs", evaluated, "--eval-batches", "all"] if "--ema" not in flags else []
        for steps in 0, STEPS:
            result = self.train(subject, program, steps, also, launch=launch, name=str(steps))
            events = [record for record in result.all_records if record["event"] == "eval"]
            assert [event["step"] for event in events] == ([steps] if also else []), events
            for event in events:
                expect_close(f"evaluation after {steps} steps", float.fromhex(event["loss_hex"]), expected["evaluations"][str(steps)], TOLERANCE)
        expect_close("losses", result.losses, expected["losses"], TOLERANCE)
        if "--ema" in flags:
            expect_close("states", {name: result.parameters[name] for name in SUBJECTS[subject].states}, expected["states"][-1], TOLERANCE)
            return
        expect_close("parameters and states", result.parameters, expected["parameters"] | expected["states"][-1], TOLERANCE)

    def each_step(self, subject):
        program = self.compile(subject, "each", [])
        for step, states in enumerate(self.torch[subject]["states"]):
            result = self.train(subject, program, step + 1)
            expect_close(f"after step {step + 1}", {name: result.parameters[name] for name in states}, states, TOLERANCE)

    def skips(self, subject, plan, flags):
        """A step that is not finite leaves the states: the others are those of a run without its batch, bit for bit."""
        program = self.compile(subject, plan, flags, "skips")
        bad = rows()
        bad["x"][BAD * BATCH + 2, 1] = np.nan
        how = {"init": parameters(subject), "steps": STEPS}
        skipped = run(program, [*FLAGS, "--clip", "0.5", "--skip-nonfinite-steps"], inputs=bad, name="bad", **how)
        less = {name: np.delete(each, np.s_[BAD * BATCH:(BAD + 1) * BATCH], axis=0) for name, each in rows().items()}
        straight = run(program, [*FLAGS, "--clip", "0.5"], inputs=less, name="good", **how | {"steps": STEPS - 1})
        assert "skipped" in skipped.records.pop(BAD)
        if skipped.hexadecimal != straight.hexadecimal:
            raise Mismatch(f"{skipped.hexadecimal}\n{straight.hexadecimal}")
        for name, array in straight.parameters.items():
            if array.tobytes() != skipped.parameters[name].tobytes():
                raise Mismatch(f"{name}: {skipped.parameters[name]} instead of {array}")

    def resumes(self, subject, plan, flags):
        """Stopped after four steps and resumed, also under another plan, it has the bits of a run that never stopped; so has one from an export."""
        program = self.compile(subject, plan, flags, "resumes")
        other = self.compile(subject, "one", ["--microbatches", str(program.program["plan"]["microbatches"])], "resumes")
        straight = self.train(subject, program)
        folder = program.path + ".checkpoints"
        shutil.rmtree(folder, ignore_errors=True)
        saving = ["--checkpoint", folder, "--checkpoint-every", "4"]
        self.train(subject, program, flags=saving, name="saved")
        for step in 8, 10:
            shutil.rmtree(step_folder(folder, step), ignore_errors=True)
        for each in program, other:
            resumed = run(each, [*FLAGS, *saving, "--resume"], inputs=rows(), steps=STEPS, name="resumed")
            assert "after step 4" in resumed.output, resumed.output
            if each is program:
                expect_same_bits(resumed.parameters, straight.parameters)
            expect_close("resumed", resumed.parameters, straight.parameters, TOLERANCE)
            for step in 8, 10:
                shutil.rmtree(step_folder(folder, step), ignore_errors=True)

    def resized(self, subject, plan, flags):
        """With --batch a model of more rows, and of fewer, is the same: the statistics are of the new rows."""
        for rows_of_text in (4, 16):
            program = self.compile(subject, plan, ["--batch", str(BATCH), *flags], f"of {rows_of_text}",
                                   change=lambda text: re.sub(rf"tensor<{BATCH}x", f"tensor<{rows_of_text}x", text))
            result = self.train(subject, program)
            expected = self.expected(subject, program)
            expect_close("losses", result.losses, expected["losses"], TOLERANCE)
            expect_close("parameters and states", result.parameters, expected["parameters"] | expected["states"][-1], TOLERANCE)

    def bf16(self, subject, plan, flags):
        """Statistics of bf16 rows, and states, are f32."""
        program = self.compile(subject, plan, ["--precision", "bf16", *flags], "bf16", change=lambda text: text.replace("f64>", "f32>"))
        single = [{name: array.astype(np.float32) for name, array in each.items()} for each in (parameters(subject), rows())]
        result = run(program, FLAGS, init=single[0], inputs=single[1], steps=STEPS)
        expected = self.expected(subject, program)
        expect_close("losses", result.losses, expected["losses"], OF_BF16)
        expect_close("states", {name: result.parameters[name] for name in SUBJECTS[subject].states}, expected["states"][-1], OF_BF16)

    def nothing_learns(self):
        """States are committed where every parameter is frozen."""
        program = self.compile("centre", "frozen", ["--freeze", "*"])
        result = run(program, [], init=parameters("centre"), inputs=rows(), steps=STEPS)
        expect_close("states", {name: result.parameters[name] for name in SUBJECTS["centre"].states}, self.torch["centre"]["states"][-1], TOLERANCE)

    def planted(self, mutation, subject, plan, flags, case):
        """A known bug turns a case red."""
        try:
            case(Checks(self.harness, self.directory, mutation), subject, plan, flags)
        except Mismatch as seen:
            print(f"  {mutation}: {str(seen)[:100]}", flush=True)
            return
        raise AssertionError(f"was not seen to fail: {mutation}")

    def biased(self, plan, flags):
        """A variance that is divided by n is seen."""
        written = SUBJECTS["region"].text
        SUBJECTS["biased"] = Subject(written.replace("1.3333333333333333", "1.0"), SUBJECTS["region"].states)
        assert SUBJECTS["biased"].text != written
        try:
            self.trains("biased", plan, flags)
        except Mismatch as seen:
            print(f"  biased: {str(seen)[:100]}", flush=True)
            return
        raise AssertionError("was not seen to fail: a biased variance")

    def verified(self, mutation, subject, plan, flags):
        """A verifier refuses a module with a known bug."""
        expect_refused(self.harness.ppopt, mutation, self.write(subject, plan, mutation), flags)

    def refused(self, text, flags, said):
        path = os.path.join(self.directory, re.sub(r"\W+", "-", said[:40]) + ".mlir")
        with open(path, "w", encoding="utf8") as file:
            file.write(text)
        done = subprocess.run([self.harness.ppopt, "compile", path, "-o", path + ".out", *flags], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 1 and said in done.stderr, done.stderr


harness = Harness("states")
with tempfile.TemporaryDirectory() as directory:
    checks = Checks(harness, directory)
    cases = []
    several = {plan: flags for plan, flags in NORMS.items() if "4" not in plan and "tp" not in plan}
    for subject, plans in (("norm", WHOLE | RANKS), ("centre", WHOLE | RANKS | SPLIT), ("region", REGION), ("batch_norm", NORMS), ("positions", several)):
        for plan, flags in plans.items():
            cases.append((f"{subject}, {plan}", functools.partial(checks.trains, subject, plan, flags)))
    for subject, plan in ("norm", "pp"), ("norm", "dp, pp"), ("centre", "dp, pp"), ("centre", "1f1b, 2 microbatches"):
        cases.append((f"{subject}, {plan}, mpirun", functools.partial(checks.trains, subject, plan, ALL[plan], "mpirun")))
    for subject, plan in ("norm", "one"), ("norm", "pp"), ("norm", "dp"), ("centre", "dp, pp"), ("centre", "1f1b, 4 microbatches"):
        cases.append((f"{subject}, {plan}, a step is skipped", functools.partial(checks.skips, subject, plan, ALL[plan])))
    for subject, plan in ("norm", "pp"), ("centre", "zero 3"), ("batch_norm", "zero 3, 2 microbatches"):
        cases.append((f"{subject}, {plan}, resumed", functools.partial(checks.resumes, subject, plan, ALL[plan])))
    cases += [(f"{subject}, after each step", functools.partial(checks.each_step, subject)) for subject in ("norm", "centre")]
    for subject, plan in ("batch_norm", "one"), ("positions", "pp, 2 microbatches"):
        cases.append((f"{subject}, {plan}, --batch", functools.partial(checks.resized, subject, plan, ALL[plan])))
    for plan in "one", "dp, 2 microbatches":
        cases.append((f"batch_norm, {plan}, bf16", functools.partial(checks.bf16, "batch_norm", plan, ALL[plan])))
    cases.append(("nothing learns", checks.nothing_learns))
    for mutation, subject, plan, case in (("commit-ignores-hold", "norm", "one", Checks.skips), ("commit-ignores-hold", "centre", "dp, pp", Checks.skips),
                                          ("open-left-out", "norm", "one", Checks.trains), ("open-left-out", "centre", "dp, pp", Checks.trains),
                                          ("statistics-of-one-rank", "batch_norm", "dp", Checks.trains),
                                          ("ranks-outermost", "batch_norm", "dp, 2 microbatches", Checks.trains),
                                          ("other-microbatch", "batch_norm", "pp, 2 microbatches", Checks.trains)):
        planted = functools.partial(checks.planted, mutation, subject, plan, ALL[plan], case)
        cases.append((f"planted: {mutation}, {subject}, {plan}", planted))
    cases.append(("planted: a biased variance", functools.partial(checks.biased, "one, 2 microbatches", REGION["one, 2 microbatches"])))
    for mutation, subject, plan in (("open-left-out", "centre", "dp, pp"), ("evaluation-reads-proposal", "norm", "pp"), ("other-mode", "norm", "one")):
        verified = functools.partial(checks.verified, mutation, subject, plan, ALL[plan])
        cases.append((f"verified: {mutation}, {subject}, {plan}", verified))
    for what, flags, said in (("trainers", ["--mesh", "dp=2", "--sync", "async"], "no step is one of all trainers"),
                              ("rows of a microbatch", ["--microbatches", "2"], "can't be split over the batch")):
        text = SUBJECTS["centre" if what == "trainers" else "norm"].model()
        cases.append((f"refused: {what}", functools.partial(checks.refused, text, flags, said)))
    harness.cases(cases)
sys.exit(harness.finish())
