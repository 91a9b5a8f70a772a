#!/usr/bin/env python3
"""Trains with --sync stale and async, with random delays, and holds the runs against what they promise (docs/asynchronous.md).

Each run records the order in which owners applied updates and answered trainers. The record is checked without the state machines (ppopt-check-order: the
bound, no update lost or doubled, no pull of two versions), the run is repeated from it bit for bit, as threads and under mpirun, and a linear model is
trained again in numpy in the recorded order. Further: one trainer has the bits of --sync step; checkpoints; steps that are not finite; signals; refusals.
By hand: check_asynchronous.py --filter replay; --long has a run of 10,000 steps.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "equivalence")]
from support import safetensors_io  # noqa: E402
from support.executable import checked, compile_model, environment, expect_close, run  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

LINEAR = """func.func @linear(%x: tensor<48x40xf64> {pp.input = "x"}, %y: tensor<48x3xf64> {pp.input = "y"}) -> tensor<f64> {
  %w = pp.param "w" {init = #pp.init<zeros>} : tensor<40x3xf64>
  %b = pp.param "b" {init = #pp.init<zeros>} : tensor<3xf64>
  %m = pp.matmul %x, %w : tensor<48x40xf64>, tensor<40x3xf64>
  %p = pp.add %m, %b : tensor<48x3xf64>, tensor<3xf64>
  %loss = pp.mse %p, %y : tensor<48x3xf64>, tensor<48x3xf64>
  return %loss : tensor<f64>
}
"""
BATCH, LR, MOMENTUM, CLIP, DECAY = 48, 0.05, 0.9, 0.2, 0.1
GPT = ["--layers", "2", "--width", "32", "--heads", "2", "--vocab", "64", "--seq", "16", "--batch", "24", "--untied", "--dropout", "0.1"]
DELAYS = ["--delay", "5:0.3"]
#                mesh         sync       microbatches
REPLAYED = [("dp=2",      "async",   1), ("dp=2",      "stale=1", 2), ("dp=3",      "stale=2", 1), ("dp=4", "async", 1),
            ("dp=2,pp=2", "stale=1", 2), ("pp=2,dp=3", "async",   1), ("dp=2,pp=2", "async",   4)]
#               compiler's flags                        executable's
OPTIMIZERS = {"sgd":   (["--optimizer", "sgd"], ["--lr", "0.1", "--momentum", "0.9"]),
              "adamw": (["--optimizer", "adamw"], ["--lr", "0.01", "--clip", "0.01"])}


class Files:
    def __init__(self, harness, directory):
        self.ppopt, self.directory = harness.ppopt, directory
        self.check_order = os.path.join(harness.args.build, "bin", "test", "ppopt-check-order")
        self.linear, self.gpt, self.text = (os.path.join(directory, name) for name in ("linear.mlir", "gpt.mlir", "text"))
        pathlib.Path(self.linear).write_text(LINEAR)
        checked([self.ppopt, "model", "gpt", *GPT, "-o", self.gpt])
        pathlib.Path(self.text).write_bytes(bytes(i * i % 61 for i in range(20000)))

    def compile(self, model, name, *flags):
        return compile_model(self.ppopt, model, os.path.join(self.directory, name), ["--threads", "1", "--bucket-bytes", "800", *flags])


def expect_record(files, record, bound=None):
    """Checks a record; returns what the checker says."""
    text = checked([files.check_order, record]).stdout
    most = int(re.search(r"staleness at most (\d+)", text).group(1))
    assert bound is None or most <= bound, text
    return text


def trainer_losses(result):
    """By step and part, bit for bit."""
    return {(r["step"], r["part"]): (r["loss_hex"], r["norm_hex"]) for r in result.all_records if r["event"] == "trainer_step"}


def expect_same(got, other, what):
    assert trainer_losses(got) == trainer_losses(other), f"{what}: losses differ"
    for name, value in other.parameters.items():
        assert value.tobytes() == got.parameters[name].tobytes(), f"{what}: {name} differs"


def check_one_trainer(files, optimizer, sync):
    """The bits of --sync step."""
    compile_flags, flags = OPTIMIZERS[optimizer]
    results = [run(files.compile(files.gpt, f"one-{optimizer}-{word}", "--mesh", "pp=2", "--microbatches", "2", "--sync", word, *compile_flags),
                   ["--data", files.text, "--eval-data", files.text, "--eval-batches", "4", "--eval-every", "3", "--check-counters", "--poison", *flags], steps=7)
               for word in (sync, "step")]
    asynchronous, step = results
    assert asynchronous.hexadecimal == step.hexadecimal, "losses differ"
    evaluations = [[r["loss_hex"] for r in each.all_records if r["event"] == "eval"] for each in results]
    assert evaluations[0] == evaluations[1] and len(evaluations[0]) == 4, evaluations
    for name, value in step.parameters.items():
        assert value.tobytes() == asynchronous.parameters[name].tobytes(), name


def check_replay(files, mesh, sync, microbatches, steps=16):
    made = files.compile(files.gpt, f"replay-{mesh}-{sync}-{microbatches}", "--mesh", mesh, "--sync", sync, "--microbatches", str(microbatches))
    record = made.path + ".order"
    flags = ["--data", files.text, "--lr", "0.01", "--clip", "0.5", "--eval-data", files.text, "--eval-batches", "4", "--eval-every", str(steps // 4), "--check-counters"]
    first = run(made, [*flags, *DELAYS, "--record", record, "--poison"], steps=steps)
    print("  " + expect_record(files, record, int(sync.split("=")[1]) if "=" in sync else None).splitlines()[-1], flush=True)
    assert len(trainer_losses(first)) == steps * int(re.search(r"dp=(\d)", mesh).group(1)), "a ticket is missing"
    for launch in ("threads", "mpirun"):
        expect_same(run(made, [*flags, "--replay", record], launch, steps=steps, name="again"), first, launch)
    if sync == "async":
        other = subprocess.run([made.path, *flags, "--steps", str(steps), "--replay", record, "--seed", "1"], capture_output=True, text=True)
        assert other.returncode != 0 and "recorded with seed 0, and this run has 1" in other.stderr, other.stderr


class Order:
    """A record, read by this script."""

    def __init__(self, path):
        self.rounds = []
        for line in pathlib.Path(path).read_text().splitlines():
            words = [word.split("#")[0] for word in line.split()]
            if words[0] == "round":
                self.orders, self.steps = {}, {}
                self.rounds.append((self.orders, self.steps))
            elif words[0] == "order":
                self.orders.setdefault((int(words[1]), int(words[2])), []).extend(
                    (word[0], *map(int, word[1:].split("."))) for word in words[3:])
            elif words[0] == "step":
                self.steps[int(words[1]), int(words[2])] = (int(words[3]), words[4], [int(word) for word in words[5:]])


class LinearModel:
    """Trains again in numpy, in the order of a record: SGD with momentum, decay and clipping, a chunk of each bucket at its owner."""

    def __init__(self, program, trainers, rows, start):
        self.trainers, self.rows = trainers, rows
        place = program["places"][0]
        self.buckets = place["owned"]["buckets"]
        self.where = {}  # of a parameter: bucket, first element
        for held in place["parameters"]:
            name = program["parameters"][held["parameter"]]["name"]
            self.where[name] = next(i for i, bucket in enumerate(self.buckets) if bucket["master"] == held["offset"]), held["shard"]["first"]
        whole = [np.zeros(bucket["elements"]) for bucket in self.buckets]
        for name, value in start.items():
            bucket, first = self.where[name]
            whole[bucket][first:first + value.size] = value.ravel()
        self.shapes = {name: value.shape for name, value in start.items()}
        # By owner and bucket: all versions of the chunk, and its velocity.
        self.versions = {(p, b): [chunk.copy()] for b, each in enumerate(whole) for p, chunk in enumerate(np.split(each, trainers))}
        self.velocity = {key: np.zeros_like(value[0]) for key, value in self.versions.items()}
        self.losses = {}

    def assemble(self, versions):
        """The parameters of these versions, owner by owner, bucket by bucket; None if one is not there yet."""
        count = len(self.buckets)
        chunks = {}
        for i, version in enumerate(versions):
            key = divmod(i, count)
            if version >= len(self.versions[key]):
                return None
            chunks[key] = self.versions[key][version]
        whole = [np.concatenate([chunks[p, b] for p in range(self.trainers)]) for b in range(count)]
        return {name: whole[bucket][first:first + int(np.prod(self.shapes[name]))].reshape(self.shapes[name]) for name, (bucket, first) in self.where.items()}

    def gradient(self, ticket, parameters):
        """Of the loss of the ticket's rows: clipped, and as buckets; notes the loss."""
        batch, part = divmod(ticket, self.trainers)
        size = BATCH // self.trainers
        begin = batch * BATCH + part * size
        x, y = (self.rows[name][begin:begin + size] for name in "xy")
        error = x @ parameters["w"] + parameters["b"] - y
        self.losses[ticket] = np.mean(error * error)
        slope = 2 * error / error.size
        gradients = {"w": x.T @ slope, "b": slope.sum(axis=0)}
        norm = np.sqrt(sum((g * g).sum() for g in gradients.values()))
        whole = [np.zeros(bucket["elements"]) for bucket in self.buckets]
        for name, value in gradients.items():
            bucket, first = self.where[name]
            whole[bucket][first:first + value.size] = value.ravel() * (CLIP / norm if norm > CLIP else 1)
        return whole

    def run(self, orders, steps):
        done, gradients, isMoving = dict.fromkeys(orders, 0), {}, True
        while isMoving:
            isMoving = False
            for step, (ticket, kind, versions) in steps.items():
                if step not in gradients and kind == "good":
                    parameters = self.assemble(versions)
                    if parameters is not None:
                        gradients[step] = self.gradient(ticket, parameters)
                        isMoving = True
            for (owner, bucket), entries in orders.items():
                while done[owner, bucket] < len(entries):
                    kind, trainer, step = entries[done[owner, bucket]]
                    if kind == "a":
                        if (trainer, step) not in gradients:
                            break
                        self.update(owner, bucket, np.split(gradients[trainer, step][bucket], self.trainers)[owner])
                    done[owner, bucket] += 1
                    isMoving = True
        assert all(done[key] == len(entries) for key, entries in orders.items()), "the record can't be followed"

    def update(self, owner, bucket, gradient):
        old = self.versions[owner, bucket][-1]
        velocity = MOMENTUM * self.velocity[owner, bucket] + gradient + DECAY * old
        self.velocity[owner, bucket] = velocity
        self.versions[owner, bucket].append(old - LR / self.trainers * velocity)


def check_numpy(files, trainers, sync):
    random = np.random.default_rng(trainers)
    steps = 30
    rows = {"x": random.normal(size=(steps * BATCH, 40)), "y": random.normal(size=(steps * BATCH, 3))}
    start = {"w": random.normal(size=(40, 3)), "b": random.normal(size=3)}
    made = files.compile(files.linear, f"linear-{trainers}-{sync}", "--mesh", f"dp={trainers}", "--sync", sync, "--optimizer", "sgd")
    record = made.path + ".order"
    result = run(made, ["--lr", str(LR), "--momentum", str(MOMENTUM), "--clip", str(CLIP), "--weight-decay", str(DECAY), "--record", record, *DELAYS,
                        "--checkpoint", made.path + ".checkpoint", "--checkpoint-every", "10"], inputs=rows, init=start, steps=steps)
    expect_record(files, record)
    model = LinearModel(made.program, trainers, rows, start)
    for orders, of_steps in Order(record).rounds:
        model.run(orders, of_steps)
    losses = {(r["step"] - 1) * trainers + r["part"]: r["loss"] for r in result.all_records if r["event"] == "trainer_step"}
    assert losses.keys() == model.losses.keys(), "tickets differ"
    expect_close("losses", [losses[k] for k in sorted(losses)], [model.losses[k] for k in sorted(losses)], 1e-12)
    last = model.assemble([len(model.versions[p, b]) - 1 for p in range(trainers) for b in range(len(model.buckets))])
    expect_close("parameters", result.parameters, last, 1e-12)
    means = [np.mean([losses[step * trainers + part] for part in range(trainers)]) for step in range(steps)]
    expect_close("losses of steps", result.losses, means, 1e-12)


def evaluations(result):
    return {r["step"]: r["loss"] for r in result.all_records if r["event"] == "eval"}


def check_resume(files, sync):
    """A checkpoint of an asynchronous run resumes as such and in step, on as many trainers and on others; the loss goes on from where it was."""
    flags = ["--data", files.text, "--eval-data", files.text, "--eval-every", "10", "--lr", "0.01"]
    made = files.compile(files.gpt, f"resume-{sync}", "--mesh", "dp=2", "--sync", sync)
    folder = made.path + ".checkpoint"
    saved = evaluations(run(made, [*flags, "--checkpoint", folder, "--checkpoint-every", "5", *DELAYS], steps=20))
    for number, (mesh, other) in enumerate((("dp=2", sync), ("dp=3", "async"), ("dp=2", "step"), ("dp=2,pp=2", "stale=1"))):
        copy = f"{folder}.{number}"
        checked(["cp", "-r", folder, copy])
        again = files.compile(files.gpt, f"resume-{sync}-{number}", "--mesh", mesh, "--sync", other)
        result = run(again, [*flags, "--checkpoint", copy, "--resume"], steps=40)
        found = evaluations(result)
        expect_close(f"{other}: the loss after step 20", found[20], saved[20], 1e-5)
        assert result.records[0]["step"] == 21 and found[40] < saved[0] and found[40] < saved[20] * 1.05, (found, saved)
        assert not result.output.count("skipped"), result.output


def check_bad_step(files):
    """A trainer drops a gradient that is not finite, and says which; without --skip-nonfinite-steps the run ends."""
    random = np.random.default_rng(5)
    rows = {"x": random.normal(size=(6 * BATCH, 40)), "y": random.normal(size=(6 * BATCH, 3))}
    rows["x"][2 * BATCH + 30, 7] = np.inf  # part 1 of step 3
    made = files.compile(files.linear, "bad", "--mesh", "dp=2", "--sync", "async", "--optimizer", "sgd")
    record = made.path + ".order"
    result = run(made, ["--lr", "0.01", "--skip-nonfinite-steps", "1", "--record", record], inputs=rows, steps=6)
    assert "of these bad 1" in expect_record(files, record), "the record does not know the bad step"
    bad = [r for r in result.all_records if r["event"] == "trainer_step" and "skipped" in r]
    assert [(r["step"], r["part"]) for r in bad] == [(3, 1)] and "input 'x' is inf" in bad[0]["skipped"], bad
    assert all(np.isfinite(value).all() for value in result.parameters.values())
    for launch in ("threads", "mpirun"):
        inputs = made.path + ".run.threads.inputs.safetensors"
        command = [*(under_mpirun(2) if launch == "mpirun" else []), made.path, "--inputs", inputs, "--no-shuffle", "--steps", "6"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment())
        assert done.returncode != 0 and "step 3: the loss is" in done.stderr and "input 'x' is inf" in done.stderr, done.stderr


def find_ranks(made):
    """The processes of an executable."""
    def runs(pid):
        try:
            return os.path.samefile(f"/proc/{pid}/exe", made.path)
        except OSError:  # it has ended, or is another user's
            return False
    return sorted(filter(runs, (int(name) for name in os.listdir("/proc") if name.isdigit())))


def wait_for_step(log, step):
    deadline = time.time() + 60
    while time.time() < deadline and not (os.path.exists(log) and f'"step":{step},' in pathlib.Path(log).read_text()):
        time.sleep(0.02)


def check_signal(files, launch):
    """A signal ends the run at the next agreement; what is saved goes on."""
    made = files.compile(files.gpt, f"signal-{launch}", "--mesh", "dp=2", "--sync", "stale=2")
    folder = made.path + ".checkpoint"
    flags = ["--data", files.text, "--lr", "0.01", "--checkpoint", folder]
    log = made.path + ".jsonl"
    process = subprocess.Popen([*(under_mpirun(2) if launch == "mpirun" else []), made.path, *flags, "--steps", "1000000", "--log", log, "--delay", "3:0.2"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
    wait_for_step(log, 20)
    # To one rank only: mpirun would not give them all the time to save.
    os.kill(find_ranks(made)[-1], signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0 and "stopped by SIGTERM after step" in output and "checkpoint of step" in output, output[-1500:]
    step = int(re.search(r"checkpoint of step (\d+)", output).group(1))
    result = run(made, [*flags, "--resume"], steps=step + 5)
    assert [r["step"] for r in result.records] == list(range(step + 1, step + 6))


def check_killed(files):
    """A rank that is killed ends the job."""
    made = files.compile(files.gpt, "killed", "--mesh", "dp=3", "--sync", "async")
    log = made.path + ".jsonl"
    process = subprocess.Popen([*under_mpirun(3), made.path, "--data", files.text, "--steps", "1000000", "--log", log],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment())
    wait_for_step(log, 20)
    ranks = find_ranks(made)
    assert len(ranks) == 3, ranks
    os.kill(ranks[1], signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0, output[-1500:]


def check_refusals(files):
    """Flags that have no meaning are refused by name."""
    made = files.compile(files.gpt, "refused", "--mesh", "dp=2", "--sync", "async")
    step = files.compile(files.gpt, "refused-step", "--mesh", "dp=2")
    data = ["--data", files.text]
    for executable, flags, text in (
            (made, ["--check-replicas", "1"], "--check-replicas: this program was compiled with --sync async, and no two ranks have copies"),
            (made, ["--dump-gradients", made.path + ".g"], "--dump-gradients: this program was compiled with --sync async"),
            (made, ["--record", made.path + ".o", "--replay", files.text], "--record and --replay: a replay writes what it reads"),
            (made, ["--replay", files.text], "text: the file is cut"), (made, ["--replay", made.path + ".none"], "--replay"),
            (made, ["--delay", "0.5"], "--delay 0.5: must be at least 1"), (made, ["--delay", "2:1:7"], "--delay: there is no rank 7: the program has 2"),
            (step, ["--record", made.path + ".o"], "--record: this program was compiled with --sync step")):
        done = subprocess.run([executable.path, *data, "--steps", "2", *flags], capture_output=True, text=True, timeout=60, env=environment())
        assert done.returncode != 0 and text in done.stderr, (flags, done.stderr)


def replaces(lines, rank, bucket, change):
    """The lines of a record with the entries of a bucket in its first round changed."""
    mine = [i for i, line in enumerate(lines) if line.startswith(f"order {rank} {bucket} ") and i < [*(k for k, each in enumerate(lines) if each.startswith("round ")), len(lines)][1]]
    entries = change([entry for i in mine for entry in lines[i].split()[3:]])
    return [*lines[:mine[0]], f"order {rank} {bucket} " + " ".join(entries), *(line for i, line in enumerate(lines) if i > mine[0] and i not in mine)]


def check_other_run(files):
    """A replay with another program, other data or other parameters names what differs before its first step; the record of a run that fails stays."""
    random = np.random.default_rng(7)
    rows = {name: {"x": random.normal(size=(96, 40)), "y": random.normal(size=(96, 3))} for name in ("one", "other")}
    data, init = {}, {}
    for name, tensors in rows.items():
        data[name] = os.path.join(files.directory, f"{name}.safetensors")
        safetensors_io.write(data[name], tensors)
        init[name] = os.path.join(files.directory, f"{name}.init.safetensors")
        safetensors_io.write(init[name], {"w": random.normal(size=(40, 3)), "b": random.normal(size=3)})
    plan = ["--mesh", "dp=2", "--sync", "async"]
    made = files.compile(files.linear, "same", *plan, "--optimizer", "adamw")
    again = files.compile(files.linear, "same-again", *plan, "--optimizer", "adamw")
    record = made.path + ".order"
    flags = ["--lr", "0.01", "--steps", "4"]
    checked([made.path, *flags, "--inputs", data["one"], "--init", init["one"], "--record", record])
    text = pathlib.Path(record).read_text()
    checked([again.path, *flags, "--inputs", data["one"], "--init", init["one"], "--replay", record])
    for what, program, inputs, parameters in (
            ("optimizer adamw, and this run has adam", ["--optimizer", "adam"], "one", "one"),
            ("microbatches 1, and this run has 2", ["--optimizer", "adamw", "--microbatches", "2"], "one", "one"),
            ("recorded with data ", None, "other", "one"), ("recorded with initial-parameters ", None, "one", "other")):
        other = files.compile(files.linear, "other", *plan, *program) if program else made
        done = subprocess.run([other.path, *flags, "--inputs", data[inputs], "--init", init[parameters], "--replay", record],
                              capture_output=True, text=True, timeout=60, env=environment())
        assert done.returncode == 1 and what in done.stderr and "step 1" not in done.stdout, (what, done.stdout, done.stderr)
    # What the start does not see: the bits that an update gives.
    changed = re.sub(r"(?<= a1\.0#)[0-9a-f]+", "1", text)
    pathlib.Path(record).write_text(re.sub(r"#(?!1\b)[0-9a-f]+", "", changed))
    done = subprocess.run([made.path, *flags, "--inputs", data["one"], "--init", init["one"], "--replay", record],
                          capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 1 and "has other bits after the update of ticket 1" in done.stderr, done.stderr
    # A run that fails in its first step.
    rows["one"]["x"][0, 0] = np.nan
    safetensors_io.write(data["one"], rows["one"])
    pathlib.Path(record).write_text(text)
    done = subprocess.run([made.path, *flags, "--no-shuffle", "--inputs", data["one"], "--record", record],
                          capture_output=True, text=True, timeout=60, env=environment())
    assert done.returncode == 1 and pathlib.Path(record).read_text() == text, done.stderr
    # Cases beside this one write records into the same folder.
    left = [name for name in os.listdir(files.directory) if name.startswith(os.path.basename(record)) and name.endswith(".part")]
    assert not left, f"left: {left}"


def check_changed_record(files):
    """A replay of an order that no run can have had ends with an error before its first step; the checker of records sees it too."""
    made = files.compile(files.gpt, "changed", "--mesh", "dp=2", "--sync", "async")
    record = made.path + ".order"
    flags = ["--data", files.text, "--lr", "0.01", "--steps", "10"]
    checked([made.path, *flags, "--record", record, *DELAYS])
    text = pathlib.Path(record).read_text()
    first = re.search(r"^order 0 0 .*?(a(\d\.\d+)(?:#\w+)?) ", text, re.M)
    pull = re.search(rf"p{first.group(2)}(#\w+)? ", text).group(0).strip()

    def swapped(entries):
        i, j = entries.index(first.group(1)), entries.index(pull)
        entries[i], entries[j] = entries[j], entries[i]
        return entries
    for what, changed, error in (("an update twice", text.replace(first.group(1) + " ", f"{first.group(1)} {first.group(1)} ", 1), "is applied twice"),
                                 ("an update less", text.replace(first.group(1) + " ", "", 1), "lacks its own step"),
                                 ("an update too early", "\n".join(replaces(text.split("\n"), 0, 0, swapped)), "is applied before the step"),
                                 ("a round less", text.replace("round 20\n", "round 18\n"), "round 0 ends before ticket 18"),
                                 ("an older record", text.replace("ppopt run order 3", "ppopt run order 2"), ":1: this record is of version 2")):
        pathlib.Path(record).write_text(changed)
        assert subprocess.run([files.check_order, record], capture_output=True).returncode != 0, what
        done = subprocess.run([made.path, *flags, "--replay", record, "--timeout", "50"], capture_output=True, text=True, timeout=40, env=environment())
        assert done.returncode == 1 and error in done.stderr and re.search(r"changed\.order:\d+: ", done.stderr), (what, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true", help="also 10,000 steps with random delays")
    harness = Harness("asynchronous", parser)
    with tempfile.TemporaryDirectory() as directory:
        files = Files(harness, directory)
        cases = [*((f"one trainer, {optimizer}, {sync}", functools.partial(check_one_trainer, files, optimizer, sync))
                   for optimizer, sync in (("sgd", "async"), ("adamw", "stale=1"))),
                 *((f"replay: {mesh}, {sync}, microbatches {count}", functools.partial(check_replay, files, mesh, sync, count)) for mesh, sync, count in REPLAYED),
                 *((f"numpy: {trainers} trainers, {sync}", functools.partial(check_numpy, files, trainers, sync))
                   for trainers, sync in ((2, "async"), (3, "stale=1"), (4, "async"))),
                 *((f"resume: {sync}", functools.partial(check_resume, files, sync)) for sync in ("async", "stale=2")),
                 ("a bad step", functools.partial(check_bad_step, files)),
                 *((f"a signal, {launch}", functools.partial(check_signal, files, launch)) for launch in ("threads", "mpirun")),
                 ("a rank is killed", functools.partial(check_killed, files)),
                 ("a changed record", functools.partial(check_changed_record, files)),
                 ("another run's record", functools.partial(check_other_run, files)),
                 ("refusals", functools.partial(check_refusals, files))]
        if harness.args.long:
            cases += [(f"10,000 steps: {mesh}, {sync}", functools.partial(check_replay, files, mesh, sync, 1, 10000))
                      for mesh, sync in (("dp=2", "stale=1"), ("dp=3", "stale=4"), ("dp=2", "async"))]
        harness.cases(cases)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
