#!/usr/bin/env python3
"""Checks test/gpu/run on the libraries that stand in for NVIDIA's: a tiny bundle, all parts, and that a part which fails, hangs or crashes is
reported, stops no other, and leaves nothing behind."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from measure.processes import stat_of  # noqa: E402
from parts import MOST_SECONDS, PARTS  # noqa: E402
from support.results import SOURCE, Harness  # noqa: E402

# Parts that need what no machine without a GPU has, and what they say.
SKIPPED = {}
LIMITS = [word for name in PARTS for word in ("--limit", f"{name}=300")]  # other tests use the machine too


class Bundle:
    """The tiny bundle, and copies of it with something planted."""

    def __init__(self, harness, folder):
        self.fake = os.path.join(harness.args.build, "bin", "test", "fake-cuda")
        self.folder, self.path = folder, os.path.join(folder, "bundle")
        done = subprocess.run(["/usr/bin/python3", os.path.join(HERE, "bundle"), harness.args.build, self.path, "--tiny"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def run(self, name, *flags, bundle=None, limits=LIMITS, cwd=None):
        """Returns the status, the results, what was printed, and the table."""
        results = os.path.join(self.folder, name + ".json")
        command = [sys.executable, os.path.join(bundle or self.path, "run"), bundle or self.path, "--fake", self.fake, "--results", results, *limits, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=cwd)
        assert os.path.exists(results), done.stdout + done.stderr
        with open(results) as file, open(results[:-5] + ".txt") as table:
            return done.returncode, json.load(file), done.stdout + done.stderr, table.read()

    def change(self, name, change):
        """A bundle of which `change(manifest, folder)` has changed files; the others are this bundle's."""
        folder = os.path.join(self.folder, name)
        shutil.copytree(self.path, folder, copy_function=os.link)
        with open(os.path.join(folder, "manifest.json")) as file:
            manifest = json.load(file)
        change(manifest, folder)
        replace(os.path.join(folder, "manifest.json"), json.dumps(manifest))
        return folder


def replace(path, text, mode=0o644):
    """Writes a file anew, without changing others that are links of it."""
    os.remove(path)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)


def first_case(manifest):
    """Leaves one plan, which is fast."""
    manifest["equivalence"] = [each for each in manifest["equivalence"] if each["name"].startswith("gpt_f32")]
    return manifest["equivalence"][0]


def change_loss(manifest, _):
    losses = first_case(manifest)["losses"]
    losses[-1] = (float.fromhex(losses[-1]) * (1 + 1e-4)).hex()


def replace_executable(text):
    """A change that puts a shell script in place of the executable."""
    def change(manifest, folder):
        entry = manifest["executables"][first_case(manifest)["executable"]]
        replace(os.path.join(folder, entry["file"]), text, 0o755)
    return change


def expect_failed(status, results, part, pattern):
    found = results["parts"][part]
    assert status == 1, f"status {status}"
    assert found["status"] == "failed" and re.search(pattern, found["reason"]), f"{found['status']}: {found['reason']}"
    for name, other in results["parts"].items():
        assert name == part or other["status"] == "passed", f"{name}: {other['status']}: {other['reason']}"


def check_all(bundle):
    """Every part that needs no GPU passes; the others say what is missing."""
    status, results, output, table = bundle.run("all")
    assert list(results["parts"]) == list(PARTS), list(results["parts"])
    for name, part in results["parts"].items():
        wanted = "skipped" if name in SKIPPED else "passed"
        assert part["status"] == wanted, f"{name}: {part['status']}: {part['reason']}\n{part.get('log', '')}"
        assert re.search(SKIPPED.get(name, "^$"), part["reason"]), f"{name}: {part['reason']}"
        assert all(record["status"] is not None for record in part["found"]["commands"]), part["found"]["commands"]
        assert f"\n{name}: " in table and "can't be printed" not in table, table
    assert status == 0, output
    assert results["fake"] and results["bundle"]["tiny"] and results["bundle"]["commit"], results["bundle"]
    assert "Fake GPU" in table and all(len(line) < 100 for line in table.splitlines()), table
    equivalence = results["parts"]["equivalence"]["found"]
    assert len(equivalence["cases"]) == equivalence["expected"] >= 4 and all(case["same_bits"] for case in equivalence["cases"].values())
    assert max(case["ranks"] for case in equivalence["cases"].values()) == 4
    check_no_times(results["parts"])


def check_no_times(value, where="parts"):
    """Nothing that a fake GPU took is among the results, but for how long the parts took."""
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        is_time = isinstance(name, str) and re.search(r"_ms$|^ms$|seconds|per_second|mfu", name)
        assert not is_time or each is None or re.fullmatch(r"parts\.\w+", where), f"{where}.{name} is {each}"
        check_no_times(each, f"{where}.{name}")


def check_only(bundle):
    """Parts that are not asked for do not run; those of an earlier call stay."""
    status, results, _, _ = bundle.run("only", "--only", "versions")
    assert status == 0 and list(results["parts"]) == ["versions"], results
    before = results["parts"]["versions"]
    other = bundle.change("one case", lambda manifest, _: first_case(manifest))
    status, results, _, table = bundle.run("only", "--only", "equivalence", bundle=other)
    assert status == 0 and list(results["parts"]) == ["versions", "equivalence"], results
    assert results["parts"]["versions"] == before and "Fake GPU" in table
    assert len(results["commands"]) == 2


def check_usage(bundle):
    def run(*words):
        return subprocess.run([sys.executable, os.path.join(HERE, "run"), *words], capture_output=True, text=True, cwd=bundle.folder)
    listed = run("--list")
    assert listed.returncode == 0 and [line.split()[0] for line in listed.stdout.splitlines()] == list(PARTS), listed.stdout
    assert sum(part.limit for part in PARTS.values()) <= MOST_SECONDS
    for words, text in ((["nowhere"], "nowhere is no bundle"), ([bundle.path, "--only", "versions,gtp2"], "--only gtp2: no such part"),
                        ([bundle.path, "--fake", bundle.folder], "there is no libcuda.so.1")):
        done = run(*words)
        assert done.returncode == 2 and text in done.stderr, done.stderr


def check_changed(bundle):
    """A loss that is off by 1e-4."""
    changed = bundle.change("changed", change_loss)
    status, results, _, _ = bundle.run("changed", "--only", "versions,equivalence", bundle=changed)
    expect_failed(status, results, "equivalence", r"relative error \S+e-05 of losses")


def check_bits(bundle):
    """The second run has another seed of its samples."""
    script = 'case "$*" in *.again.*) set -- "$@" --seed 9;; esac\nexec "$0.real" "$@"\n'

    def change(manifest, folder):
        path = os.path.join(folder, manifest["executables"][first_case(manifest)["executable"]]["file"])
        os.link(path, path + ".real")
        replace(path, "#!/bin/sh\n" + script, 0o755)
    status, results, _, _ = bundle.run("bits", "--only", "equivalence", bundle=bundle.change("bits", change))
    expect_failed(status, results, "equivalence", "two runs have other bits")


def check_crash(bundle):
    crashing = bundle.change("crash", replace_executable("#!/bin/sh\necho 'error: planted' >&2\nkill -SEGV $$\n"))
    status, results, _, table = bundle.run("crash", "--only", "equivalence", bundle=crashing)
    expect_failed(status, results, "equivalence", "status -11: error: planted")
    assert "error: planted" in table


def check_hang(bundle):
    """An executable does not end and starts others, which ignore signals; none is left."""
    pids = os.path.join(bundle.folder, "pids")
    script = f"#!/bin/sh\ntrap '' TERM HUP INT\n(sleep 600; echo) & echo $$ >> {pids}; echo $! >> {pids}\nwait\n"
    hanging = bundle.change("hang", replace_executable(script))
    status, results, _, _ = bundle.run("hang", "--only", "versions,equivalence", bundle=hanging, limits=["--limit", "equivalence=4"])
    expect_failed(status, results, "equivalence", "gpt_f32 ran past 3 s and was killed")
    with open(pids) as file:
        started = [int(line) for line in file]
    assert len(started) == 2
    for pid in started:
        stat = stat_of(pid)
        assert not stat or stat[0] in "ZX", f"process {pid} is left"


def check_limit(bundle):
    """The part itself hangs: nobody writes what it reads. What it had found stays, and the parts after it run."""
    def change(manifest, folder):
        manifest["equivalence"] = manifest["equivalence"][:1]
        path = os.path.join(folder, manifest["equivalence"][0]["files"]["gradients"])
        os.remove(path)
        os.mkfifo(path)
    status, results, _, table = bundle.run("limit", bundle=bundle.change("limit", change), limits=[*LIMITS, "--limit", "equivalence=20"])
    found = results["parts"]["equivalence"]
    assert status == 1 and found["status"] == "failed" and "ran past its limit of 20 s and was killed" in found["reason"], found
    assert found["found"]["expected"] == 1 and found["seconds"] < 40, "what it had found is lost"
    assert list(results["parts"]) == list(PARTS), list(results["parts"])
    assert all(part["status"] in ("passed", "skipped") for name, part in results["parts"].items() if name != "equivalence"), table


def check_error(bundle):
    """A part that raises what nobody expects."""
    broken = bundle.change("error", lambda manifest, _: manifest.pop("equivalence"))
    status, results, _, _ = bundle.run("error", "--only", "versions,equivalence", bundle=broken)
    expect_failed(status, results, "equivalence", "KeyError: 'equivalence'")
    assert "Traceback" in results["parts"]["equivalence"]["log"]


def main():
    harness = Harness("gpu run")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        bundles = []

        def with_bundle(check):
            return lambda: check(bundles[0])
        harness.case("bundle", lambda: bundles.append(Bundle(harness, folder)))
        if bundles:
            harness.cases([(name, with_bundle(check)) for name, check in (
                ("all parts", check_all), ("some parts", check_only), ("usage", check_usage), ("planted: a changed loss", check_changed),
                ("planted: other bits", check_bits), ("planted: a crash", check_crash), ("planted: a hang", check_hang), ("planted: a part that hangs", check_limit),
                ("planted: an error", check_error))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
