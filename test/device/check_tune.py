#!/usr/bin/env python3
"""--tune on a driver without a GPU (test/device/fake), whose cuBLASLt has algorithms of set times and, some, of other bits.

What is measured, written and read again; that all ranks use one algorithm; and which files and programs are refused.
By hand: check_tune.py --filter 'two ranks', --keep DIR.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "equivalence"), str(HERE)]
from support import safetensors_io  # noqa: E402
from support.executable import checked, compile_model, environment, new_log  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

from check_cuda import Fake, expect_message  # noqa: E402
from check_fake import GPT  # noqa: E402

KINDS = ["split", "plain", "halves", "quarters"]
# Microseconds by kind. The heuristic prefers the first that there is.
QUARTERS_FASTEST = "40:30:20:10"
PLAIN_FASTEST = "40:10:20:30"
ALL_EQUAL = "20:20:20:20"
KIND_AT = 2 * 40  # hexadecimal digits before the kind in an algorithm of the fake library


class Run:
    """`reports`: one of each process."""

    def __init__(self, done, records, parameters, reports):
        self.output, self.parameters = done.stdout, parameters
        self.losses = [record["loss_hex"] for record in records if record["event"] == "step"]
        self.algorithms = {name for report in reports for name in report["algorithms"]}
        self.calls = {symbol for report in reports for symbol in report["calls"]}

    def expect_bits(self, other, same=True):
        equal = self.losses == other.losses and all(values.tobytes() == other.parameters[name].tobytes() for name, values in self.parameters.items())
        assert equal == same, f"losses {self.losses} and {other.losses}"


class Tuned:
    """A small GPT, compiled under several plans, that trains with --tune."""

    def __init__(self, harness, directory):
        self.ppopt, self.directory, self.fake = harness.ppopt, directory, Fake(harness.args.build)
        self.model, self.text = os.path.join(directory, "gpt.mlir"), os.path.join(directory, "text")
        checked([self.ppopt, "model", "gpt", *GPT, "-o", self.model])
        with open(self.text, "w") as file:
            file.write("".join(chr(97 + i * i % 23) for i in range(4000)))

    def compile(self, name, *flags, target="cuda"):
        path = os.path.join(self.directory, name)
        saved = ["--save-device-ir", path + ".ll"] if target == "cuda" else []
        return compile_model(self.ppopt, self.model, path, ["--target", target, "--threads", "1", *saved, *flags])

    def command(self, executable, *flags, steps=2):
        return [executable.path, "--data", self.text, "--steps", str(steps), "--lr", "0.01", *flags]

    def environment(self, executable, times=QUARTERS_FASTEST, gpus=1, machine="", **others):
        env = dict(environment(), **self.fake.variables(executable.path + ".ll", 1, **others))
        env["PPOPT_FAKE_CUDA"] = f"count={gpus},memory=1GiB,matmul-us={times}{machine}"
        return env

    def train(self, executable, name, *flags, launch="threads", steps=2, **others):
        stem = os.path.join(self.directory, name.replace(" ", "_"))
        if os.path.exists(stem + ".report"):
            os.remove(stem + ".report")
        command = self.command(executable, *new_log(stem + ".jsonl", flags), "--export", stem + ".safetensors", *flags, steps=steps)
        if launch == "mpirun":
            command = under_mpirun(executable.ranks) + command
        done = checked(command, env=self.environment(executable, PPOPT_FAKE_CUDA_REPORT=stem + ".report", **others))
        with open(stem + ".jsonl") as file:
            records = [json.loads(line) for line in file]
        with open(stem + ".report") as file:
            reports = [json.loads(line) for line in file]
        return Run(done, records, safetensors_io.read(stem + ".safetensors"), reports)

    def refused(self, executable, status, pattern, *flags, **others):
        done = subprocess.run(self.command(executable, *flags), capture_output=True, text=True, timeout=100, env=self.environment(executable, **others))
        expect_message(done, status, pattern)

    def path(self, name):
        return os.path.join(self.directory, name)


def read(path):
    with open(path) as file:
        return json.load(file)


def write(path, document):
    with open(path, "w") as file:
        json.dump(document, file)
    return path


def kinds_in(document):
    return {KINDS[int(entry["algorithm"][KIND_AT:KIND_AT + 2], 16)] for entry in document["matmuls"]}


def check_file(tuned, one):
    """The fastest is taken; the file says what of; a second run measures nothing and has the same bits, and so has --resume."""
    file = tuned.path("one.json")
    untuned = tuned.train(one, "untuned")
    first = tuned.train(one, "first", "--tune", file)
    document = read(file)
    entries = document["matmuls"]
    assert (document["gpu"], document["multiprocessors"], document["library"]) == ("Fake GPU", 132, "cuBLASLt 13.1.0"), document
    assert f"{len(entries)} measured, 0 taken" in first.output, first.output
    # Each is another matmul or alignment, and none is missing.
    keys = {json.dumps([entry["matmul"] | {"name": ""}, entry["alignments"]]) for entry in entries}
    assert len(keys) == len(entries) >= len({json.dumps(m | {"name": ""}) for m in one.program["matmuls"]}), entries
    assert kinds_in(document) == {"quarters"}, kinds_in(document)
    for entry in entries:
        # One launch, and a microsecond of what marks the time in a sample of several.
        assert 10 <= entry["microseconds"] <= 11 and 30 <= entry["heuristic_microseconds"] <= 41, entry
    first.expect_bits(untuned, same=False)
    with open(file, "rb") as written:
        bytes_before = written.read()
    # Other times, so that what is measured again would be another algorithm.
    second = tuned.train(one, "second", "--tune", file, times=PLAIN_FASTEST)
    assert f"0 measured, {len(entries)} taken" in second.output, second.output
    second.expect_bits(first)
    assert second.algorithms == {"GPU 0 quarters"} and "cuEventElapsedTime" not in second.calls, second.algorithms
    with open(file, "rb") as written:
        assert written.read() == bytes_before
    folder = tuned.path("checkpoints")
    tuned.train(one, "stopped", "--tune", file, "--checkpoint", folder, steps=1)
    resumed = tuned.train(one, "resumed", "--tune", file, "--checkpoint", folder, "--resume", times=PLAIN_FASTEST)
    assert resumed.losses == first.losses[1:], (resumed.losses, first.losses)
    for name, values in resumed.parameters.items():
        assert values.tobytes() == first.parameters[name].tobytes(), name


def check_heuristic(tuned, one):
    """Of equally fast ones the heuristic's first is taken, whose bits are those without --tune."""
    untuned = tuned.train(one, "not tuned")
    file = tuned.path("equal.json")
    tuned.train(one, "equal", "--tune", file, times=ALL_EQUAL).expect_bits(untuned)
    assert kinds_in(read(file)) <= {"split", "plain"}, kinds_in(read(file))
    graph = tuned.train(one, "a graph", "--tune", file, steps=4)
    graph.expect_bits(tuned.train(one, "no graph", "--tune", file, "--no-graph", steps=4))


def check_added(tuned, one):
    """What a file lacks is measured and added; what it has stays."""
    file = tuned.path("partial.json")
    tuned.train(one, "all", "--tune", file)
    document = read(file)
    count = len(document["matmuls"])
    document["matmuls"] = document["matmuls"][1:]
    write(file, document)
    run = tuned.train(one, "some", "--tune", file, times=PLAIN_FASTEST)
    assert f"1 measured, {count - 1} taken" in run.output, run.output
    assert len(read(file)["matmuls"]) == count and kinds_in(read(file)) == {"plain", "quarters"}, kinds_in(read(file))


def check_other_algorithm(tuned, one):
    """The file decides: another algorithm in it is used, and has other bits."""
    file = tuned.path("planted.json")
    run = tuned.train(one, "before", "--tune", file)
    document = read(file)
    for entry in document["matmuls"]:
        text = entry["algorithm"]
        entry["algorithm"] = text[:KIND_AT] + f"{KINDS.index('halves'):02x}" + text[KIND_AT + 2:]
    planted = tuned.train(one, "planted", "--tune", write(file, document))
    assert planted.algorithms == {"GPU 0 halves"}, planted.algorithms
    planted.expect_bits(run, same=False)


def check_ranks(tuned, launch, *plan):
    """Rank 0 measures; all ranks use what it chose, and so does a run that reads the file."""
    executable = tuned.compile("_".join(["ranks", launch, *(flag.strip("-").replace("=", "_") for flag in plan)]), *plan)
    file = executable.path + ".json"
    first = tuned.train(executable, f"{launch} first {plan}", "--tune", file, launch=launch, gpus=2)
    second = tuned.train(executable, f"{launch} second {plan}", "--tune", file, launch=launch, gpus=2, times=PLAIN_FASTEST)
    second.expect_bits(first)
    untuned = tuned.train(executable, f"{launch} untuned {plan}", launch=launch, gpus=2)
    first.expect_bits(untuned, same=False)
    entries = read(file)["matmuls"]
    assert kinds_in(read(file)) == {"quarters"}, kinds_in(read(file))
    assert f"0 measured, {len(entries)} taken" in second.output, second.output
    # The first run also measured, on GPU 0.
    assert second.algorithms == {"GPU 0 quarters", "GPU 1 quarters"}, second.algorithms
    assert {name for name in first.algorithms if "GPU 1" in name} == {"GPU 1 quarters"}, first.algorithms


def check_refused_files(tuned, one):
    file = tuned.path("good.json")
    tuned.train(one, "good", "--tune", file)
    document, flags = read(file), ["--tune", tuned.path("bad.json")]

    def expect(pattern, changed):
        write(flags[1], changed)
        tuned.refused(one, 1, rf"bad\.json: .*{pattern}", *flags)
        assert read(flags[1]) == changed, "a file that was refused has changed"

    expect("measured with the GPU Other, and rank 0 has Fake GPU: name another file", document | {"gpu": "Other"})
    expect("multiprocessors: 131, and rank 0 has 132: name another", document | {"multiprocessors": 131})
    expect(r"the library cuBLASLt 13\.0\.0, and rank 0 has cuBLASLt 13\.1\.0", document | {"library": "cuBLASLt 13.0.0"})
    expect("of format 2, and this program reads format 1", document | {"version": 2})
    expect("not a file that --tune wrote", {"weights": 1})
    entry = document["matmuls"][0]
    expect(r"matmuls\[0\]\.algorithm is not 128 hexadecimal digits", document | {"matmuls": [entry | {"algorithm": "00"}]})
    expect(r"matmuls\[0\]\.microseconds is missing; it is damaged",
           document | {"matmuls": [{key: value for key, value in entry.items() if key != "microseconds"}]})
    # The library says whether it can compute a matmul by what it once offered.
    foreign = [each | {"algorithm": "ab" * 64} for each in document["matmuls"]]
    expect(r"cuBLASLt: not supported \(15\): remove the file", document | {"matmuls": foreign})
    with open(flags[1], "w") as damaged:
        damaged.write(json.dumps(document)[:-20])
    tuned.refused(one, 1, r"bad\.json: not a file that --tune wrote, or a damaged one: remove it", *flags)
    tuned.refused(one, 1, r"good\.json: .* the GPU Fake GPU, and rank 0 has Newer", "--tune", file, machine=",name=Newer")


def check_refused_programs(tuned, one):
    file = ["--tune", tuned.path("never.json")]
    tuned.refused(tuned.compile("generated", "--matmul", "generated"), 2, "--tune: this program was compiled with --matmul generated", *file)
    tuned.refused(tuned.compile("on_cpu", target="cpu"), 2, "--tune: this program runs on CPUs; leave it out", *file)
    two = tuned.compile("two_models", "--mesh", "dp=2")
    tuned.refused(two, 1, "rank 1 has Newer with 132 multiprocessors.*rank 0, which measures, Fake GPU", *file, gpus=2, machine=",name=Fake GPU/Newer")
    tuned.refused(one, 1, "never/none/x.json", "--tune", tuned.path("never/none/x.json"))
    assert not os.path.exists(file[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", help="write executables and their files there and leave them")
    harness = Harness("tune", parser)
    with tempfile.TemporaryDirectory() as scratch:
        directory = os.path.abspath(harness.args.keep or scratch)
        os.makedirs(directory, exist_ok=True)
        tuned = Tuned(harness, directory)
        one = tuned.compile("one")
        harness.cases([("the file", lambda: check_file(tuned, one)),
                       ("the heuristic's", lambda: check_heuristic(tuned, one)),
                       ("missing matmuls", lambda: check_added(tuned, one)),
                       ("another algorithm", lambda: check_other_algorithm(tuned, one)),
                       ("two ranks, threads", lambda: check_ranks(tuned, "threads", "--mesh", "dp=2")),
                       ("two ranks, mpirun", lambda: check_ranks(tuned, "mpirun", "--mesh", "dp=2")),
                       ("two places, threads", lambda: check_ranks(tuned, "threads", "--mesh", "pp=2", "--microbatches", "2")),
                       ("refused files", lambda: check_refused_files(tuned, one)),
                       ("refused programs", lambda: check_refused_programs(tuned, one))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
