#!/usr/bin/env python3
"""Checks test/gpu/run on the libraries that stand in for NVIDIA's: a tiny bundle, all parts, and that a part which fails, hangs or crashes is
reported, stops no other, and leaves nothing behind."""
import array
import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from measure import executables, nccl_rates  # noqa: E402
from measure.context import Context, Failed, last_line  # noqa: E402
from measure.launch import find_mpirun  # noqa: E402
from measure.processes import stat_of  # noqa: E402
from parts import MOST_SECONDS, MOST_SECONDS_OF_SEVERAL, OF_SEVERAL, PARTS, multi, ncu, sanitizer, scaling  # noqa: E402
from parts import gpt2 as gpt2_part  # noqa: E402
from support.executable import checked, compile_model, expect_close  # noqa: E402
from support.results import Harness, Skip  # noqa: E402

# Parts that need what no machine without a GPU has, and what they say.
SKIPPED = {"predictions": "no code of programs that predict", "sanitizer": "compute-sanitizer is not on PATH", "torch": "torch runs on no fake GPU", "ncu": "ncu is not on PATH",
           **dict.fromkeys(OF_SEVERAL, "1 GPU is here, and ranks that use NCCL need one each")}
LIMITS = [word for name in PARTS for word in ("--limit", f"{name}=300")]  # other tests use the machine too


class Bundle:
    """The tiny bundle, and copies of it with something planted."""

    def __init__(self, harness, folder):
        self.fake = os.path.join(harness.args.build, "bin", "test", "fake-cuda")
        self.folder, self.path = folder, os.path.join(folder, "bundle")
        done = subprocess.run(["/usr/bin/python3", os.path.join(HERE, "bundle"), harness.args.build, self.path, "--tiny"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        with open(os.path.join(self.path, "manifest.json")) as file:
            self.has_kernels = json.load(file)["kernels"] is not None

    def run(self, name, *flags, bundle=None, limits=LIMITS, where=None, **variables):
        """Returns the status, the results, what was printed, and the table. `where`: an environment in which the fake GPU is taken for a real one.
        `variables`: others of the environment."""
        results, bundle = os.path.join(self.folder, name + ".json"), bundle or self.path
        fake = [] if where else ["--fake", self.fake]
        command = [sys.executable, os.path.join(bundle, "run"), bundle, *fake, "--results", results, *limits, *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300,
                              env=dict(where or os.environ, PPOPT_FAKE_CUDA_OBJECTS=os.path.join(self.folder, "objects"), **variables))
        assert os.path.exists(results), done.stdout + done.stderr
        with open(results) as file, open(results[:-5] + ".txt") as table:
            return done.returncode, json.load(file), done.stdout + done.stderr, table.read()

    def where(self, bundle, **others):
        """The environment of a machine with an H200 and tools, all of which are stand-ins."""
        code = glob.glob(os.path.join(bundle, "executables", "*.ll"))
        return dict(os.environ, LD_LIBRARY_PATH=self.fake, PPOPT_FAKE_CUDA_CODE=":".join(code), PPOPT_FAKE_CUDA="count=1,memory=2GiB,name=NVIDIA H200",
                    PATH=os.path.join(HERE, "stand_ins") + ":" + os.environ["PATH"], CUDA_HOME=bundle, **others)

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
    skipped = dict(SKIPPED)
    if not os.path.exists(os.path.join(bundle.fake, "libnccl.so.2")):
        skipped["nccl"] = "libnccl.so.2 is not here"
    failed = {} if bundle.has_kernels else dict.fromkeys(("kernels", "instructions"), "was not built when the bundle was made")
    status, results, output, table = bundle.run("all")
    assert list(results["parts"]) == list(PARTS), list(results["parts"])
    for name, part in results["parts"].items():
        wanted = "skipped" if name in skipped else "failed" if name in failed else "passed"
        assert part["status"] == wanted, f"{name}: {part['status']}: {part['reason']}\n{part.get('log', '')}"
        assert re.search({**skipped, **failed}.get(name, "^$"), part["reason"]), f"{name}: {part['reason']}"
        assert all(record["status"] is not None for record in part["found"]["commands"]), part["found"]["commands"]
        assert f"\n{name}: " in table and "can't be printed" not in table, table
    assert status == (1 if failed else 0), output
    assert results["fake"] and results["bundle"]["tiny"] and results["bundle"]["compiler"], results["bundle"]
    assert "Fake GPU" in table and all(len(line) < 100 for line in table.splitlines()), table
    equivalence = results["parts"]["equivalence"]["found"]
    assert len(equivalence["cases"]) == equivalence["expected"] >= 4 and all(case["same_bits"] for case in equivalence["cases"].values())
    assert max(case["ranks"] for case in equivalence["cases"].values()) == 4
    check_no_times(results["parts"])


def check_no_times(value, where="parts"):
    """Nothing that a fake GPU took is among the results, but for how long the parts took."""
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        is_time = isinstance(name, str) and re.search(r"_ms$|^ms|_us$|^(micro)?seconds|_seconds|per_second|mfu|gflops|gbytes|[BP]/s$", name)
        assert not is_time or each is None or re.fullmatch(r"parts\.\w+", where), f"{where}.{name} is {each}"
        if name != "predicted":
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
    large = bundle.change("large", lambda manifest, _: manifest.update(tiny=False))
    limits = {name: part.limit for name, part in PARTS.items()}
    several = sum(limits.pop(name) for name in OF_SEVERAL)
    assert sum(limits.values()) <= MOST_SECONDS and several <= MOST_SECONDS_OF_SEVERAL
    for words, text in ((["nowhere"], "nowhere is no bundle"), ([bundle.path, "--only", "versions,gtp2"], "--only gtp2: no such part"),
                        ([bundle.path, "--fake", bundle.folder], "there is no libcuda.so.1"), ([bundle.path, "--limit", "gpt2"], "not PART=SECONDS"),
                        ([large, "--fake", bundle.fake], "is not tiny")):
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
    """The part itself hangs: nobody writes what it reads. What it had found stays, and the part after it runs."""
    def change(manifest, folder):
        manifest["equivalence"] = manifest["equivalence"][:1]
        path = os.path.join(folder, manifest["equivalence"][0]["files"]["gradients"])
        os.remove(path)
        os.mkfifo(path)
    hanging = bundle.change("limit", change)
    # In another order than that of the table.
    status, results, _, _ = bundle.run("limit", "--only", "equivalence,versions", bundle=hanging, limits=["--limit", "equivalence=15"])
    expect_failed(status, results, "equivalence", "ran past its limit of 15 s and was killed")
    found = results["parts"]["equivalence"]
    assert found["found"]["expected"] == 1 and found["seconds"] < 40, "what it had found is lost"


def one_batch(manifest, _=None):
    """Leaves the smallest batch of GPT-2."""
    batches = manifest["gpt2"]["batches"]
    manifest["gpt2"]["batches"] = dict(list(batches.items())[:1])
    return manifest["gpt2"]


def check_prediction(bundle):
    """A kernel that was predicted to run more often than it does."""
    def change(manifest, _):
        (batch,) = one_batch(manifest)["batches"].values()
        for prediction in batch["predictions"].values():
            prediction["kernels"][0]["launches"] += 1
    status, results, _, _ = bundle.run("prediction", "--only", "gpt2", bundle=bundle.change("prediction", change))
    expect_failed(status, results, "gpt2", r"ran \d+ times per step, predicted are \d+")


def check_capture(bundle):
    """Steps that can't be captured: what is measured without a graph is not taken for what a graph has done."""
    one = bundle.change("capture", one_batch)
    status, results, _, _ = bundle.run("capture", "--only", "gpt2", bundle=one, PPOPT_FAKE_CUDA_PLANT="fail:cuGraphInstantiateWithFlags:1:2")
    expect_failed(status, results, "gpt2", r"batch_\d+_graph: steps run without a CUDA graph: rank 0 can't capture one: .*out of memory")
    (batch,) = results["parts"]["gpt2"]["found"]["batches"].values()
    assert batch["no_graph"]["losses"], "what does not need a graph is not measured"


def check_fallback(bundle):
    """A library that can't start and is replaced by another one: the table says so, and nothing fails."""
    one = bundle.change("fallback", one_batch)
    status, results, output, table = bundle.run("fallback", "--only", "gpt2", bundle=one, PPOPT_FAKE_CUDA_PLANT="fail:cublasLtCreate:1:1")
    assert status == 0, output
    assert re.search(r"batch_\d+_graph: libcublasLt\.so\.13 can't start on this driver .*; matmuls use libcublasLt\.so\.12 ", " ".join(table.split())), table


def check_kernel(bundle):
    """Expectations of a kernel are off by a tenth."""
    if not bundle.has_kernels:
        raise Skip("ppopt-gpu-kernels is not built")

    def change(manifest, folder):
        folder = os.path.join(folder, manifest["kernels"]["folder"])
        with open(os.path.join(folder, "manifest.json")) as file:
            launch = next(each for each in json.load(file)["launches"] if each["form"].startswith("rows"))
        names.append(launch["name"])
        path, result = os.path.join(folder, "samples.bin"), launch["expectations"][0]
        with open(path, "rb") as file:
            values = array.array("d", file.read())
        for i in range(result["first"], result["first"] + result["samples"]):
            values[i] *= 1.1
        os.remove(path)
        with open(path, "wb") as file:
            file.write(values.tobytes())
    names = []
    status, results, _, _ = bundle.run("kernel", "--only", "kernels", bundle=bundle.change("kernel", change))
    expect_failed(status, results, "kernels", f"1 of \\d+ do not agree: {names[0]}: ")


def check_times(bundle):
    """As on a machine with a GPU: what is computed of times."""
    one = bundle.change("times", one_batch)
    status, results, output, table = bundle.run("times", "--only", "versions,gpt2,ncu", bundle=one, where=bundle.where(one))
    assert status == 0 and not results["fake"], output
    found = results["parts"]["gpt2"]["found"]
    (batch,) = found["batches"].values()
    times = batch["graph"]["step_ms"]
    median = statistics.median(times)
    assert len(times) == 6 and batch["graph"]["median_ms"] == median
    tokens = batch["rows"] * found["shape"]["seq"]
    expect_close("tokens per second", batch["graph"]["tokens_per_second"], tokens / median * 1e3, 1e-12)
    assert found["device"] == "h200" and found["peak"] == 989.4e12
    for kind in ("graph", "no_graph"):
        expect_close("MFU", batch[kind]["mfu"], batch[kind]["flops"] / (batch[kind]["median_ms"] / 1e3) / 989.4e12, 1e-12)
    # 6 FLOPs per token and parameter of a matmul, which is all but the position embedding and vectors, and what attention takes beside.
    assert 6 * tokens * 0.9 < batch["graph"]["flops"] / batch["parameters"] < 6 * tokens * 1.5, batch
    kernels = [line for line in batch["profile"]["lines"] if line["kind"] == "kernel"]
    assert all(line["ms_per_step"] > 0 and line["predicted"]["ms_per_step"] > 0 for line in kernels)
    heaviest = [line["name"] for line in sorted(kernels, key=lambda line: -line["ms_per_step"])[:6]]
    ncu_found = results["parts"]["ncu"]["found"]
    assert ncu_found["heaviest"] == heaviest and set(ncu_found["kernels"]) == set(heaviest), ncu_found
    assert all(kernel["duration_us"] == 12.5 and kernel["registers"] == 64 for kernel in ncu_found["kernels"].values())
    for text in ("NVIDIA H200", "MFU of 989 TFLOP/s", heaviest[0], "12.5"):
        assert text in table, table


FOUR_GPUS = {"PPOPT_FAKE_CUDA": "count=4,memory=2GiB"}


def check_several(bundle):
    """Plans on four GPUs, as threads and as processes."""
    report = os.path.join(bundle.folder, "several.jsonl")
    status, results, output, table = bundle.run("several", "--only", ",".join(OF_SEVERAL), PPOPT_FAKE_CUDA_REPORT=report, **FOUR_GPUS)
    assert status == 0, output
    multi, scaling = (results["parts"][name]["found"] for name in OF_SEVERAL)
    with open(os.path.join(bundle.path, "manifest.json")) as file:
        manifest = json.load(file)
    ways = ["threads", *(["processes"] if manifest["mpi"] else [])]
    assert multi["launchers"] == list(multi["failures"]) == list(scaling["launchers"]) == ways, multi["no_processes"]
    assert {case["ranks"] for case in multi["cases"].values()} == {2, 4} and len(multi["cases"]) == multi["expected"], multi["cases"]
    if manifest["mpi"]:
        assert all(case["same_bits"] for case in multi["cases"].values())
        # Ranks that are processes, with a GPU each and a graph: those of each plan, and two of `scaling`.
        calls = [record["calls"] for record in executables.read_log(report)]
        graphs = sum("ncclCommInitRank" in each and "cuGraphLaunch" in each for each in calls)
        assert graphs == sum(case["ranks"] for case in multi["cases"].values()) + 2, f"{graphs} processes have NCCL's operations in a graph"
    for name, failure in multi["failures"].items():
        assert re.match(rf"error: rank [01]: failure_{name}.bin: was changed while training", failure["errors"][0]), failure
    assert {line["operation"] for line in multi["rates"]["rates"]} == set(nccl_rates.SHARES), multi["rates"]
    assert all(list(sizes) == ["1", "2"] for sizes in scaling["launchers"].values()), scaling
    check_no_times(results["parts"])
    assert "4 GPUs, ranks as threads" in table and all(len(line) < 100 for line in table.splitlines()), table


def check_kept_graph(bundle):
    """A graph that is destroyed after its communicator."""
    folder = os.path.join(bundle.folder, "graph")
    os.mkdir(folder)
    context = Context({"bundle": bundle.path, "work": folder, "folder": folder, "found": os.path.join(folder, "found.json"), "fake": bundle.fake, "others": {},
                       "limit": 300})
    entry = next(each for each in context.manifest["equivalence"] if each["ranks"] == 2)
    mpirun, why = find_mpirun(context, multi.Gpt(context).executable)
    if not mpirun:
        raise Skip(f"only processes have graphs: {why}")
    mpirun.variables.update(FOUR_GPUS, PPOPT_FAKE_CUDA_PLANT="drop-graph-destroy:1")
    found = multi.check_case(context, entry, [mpirun])
    assert re.search(r"ncclCommDestroy of rank \d of .* waits until the instantiated graph", found["wrong"] or ""), found


def check_last_line():
    """Which rank's error is told, whichever ends first."""
    reason, gone = "error: a wait for ever", "error: rank 1 is gone (its process ended without saying why: killed)"
    for said in ([reason, gone], [gone, reason]):
        assert last_line("\n".join([*said, "mpirun ended"])) == reason, said
    assert last_line(gone) == gone and last_line("one\ntwo\n\n") == "two" and last_line("") == "it said nothing"


def check_rates():
    """Figures of several GPUs, as they are printed."""
    rates = [{"operation": "all-reduce", "bytes": 1 << 20, "bytes_per_second": 123.4e9, "expected_bytes_per_second": 150e9},
             {"operation": "send and receive", "bytes": 1 << 20, "bytes_per_second": 99e9, "expected_bytes_per_second": None}]
    text = "\n".join(multi.lines({"gpus": 2, "launchers": ["threads"], "no_processes": "mpirun is not on PATH", "rates": {"rates": rates}}))
    assert re.search(r"all-reduce +1,048,576 +123\.4 +150\.0\n.*99\.0 +-", text) and "not as processes: mpirun" in text, text
    one = {"rows": 8, "median_ms": 50.0, "tokens_per_second": 160000.0, "efficiency": 1.0}
    two = {"rows": 16, "median_ms": 55.0, "tokens_per_second": 290909.0, "efficiency": 0.909}
    text = "\n".join(scaling.lines({"launchers": {"threads": {"1": one, "2": two}}}))
    assert re.search(r"threads +2 +16 +55\.00 +290,909 +90\.9", text), text


def check_sanitizer(bundle):
    """Each tool runs on each program, and what one reports makes the part fail."""
    first = bundle.change("sanitizer", lambda manifest, _: manifest.update(sanitizer=dict.fromkeys(("bf16", "f32", "bf16_library"), "sanitized_bf16")))
    status, results, output, _ = bundle.run("sanitizer", "--only", "sanitizer", bundle=first, where=bundle.where(first))
    assert status == 0 and len(results["parts"]["sanitizer"]["found"]["runs"]) == 9, output
    status, results, _, table = bundle.run("race", "--only", "sanitizer", bundle=first, where=bundle.where(first, PPOPT_STAND_IN="racecheck"))
    expect_failed(status, results, "sanitizer", "2 of 9 runs: .* racecheck: 1 errors, status 99: .*Race reported")
    assert "Race reported between Write access" in table


def check_torch_part(bundle):
    """Our executable in torch's place: the same losses pass, others do not; and a batch that is not measured is missed."""
    one = bundle.change("torch", one_batch)
    with open(os.path.join(one, "manifest.json")) as file:
        gpt2 = json.load(file)["gpt2"]
    (batch,) = gpt2["batches"].values()
    train = [os.path.join(one, "executables", batch["executable"]), "--data", os.path.join(one, gpt2["tokens"]), "--tokens", "uint16", *gpt2_part.FLAGS]
    others = {"PPOPT_STAND_IN_TORCH": shlex.join(train), "PPOPT_STAND_IN_LIBRARIES": bundle.fake}
    status, results, output, table = bundle.run("torch", "--only", "gpt2,torch", bundle=one, where=bundle.where(one, **others))
    assert status == 0, output
    found, gpt2_found = (results["parts"][name]["found"] for name in ("torch", "gpt2"))
    (name, measured), = found["batches"].items()
    expect_close("the ratio", measured["ratio"], gpt2_found["batches"][name]["graph"]["tokens_per_second"] / measured["tokens_per_second"], 1e-12)
    assert found["compared"]["error"] < 1e-9 and "6 losses differ by at most" in table, table
    status, results, _, _ = bundle.run("losses", "--only", "torch", bundle=one, where=bundle.where(one, **others, PPOPT_STAND_IN="1.02"))
    expect_failed(status, results, "torch", "not the same model")
    status, results, _, _ = bundle.run("batch", "--only", "torch", where=bundle.where(bundle.path, **others))
    expect_failed(status, results, "torch", "not measured: batch 4: error: out of memory")


def check_error(bundle):
    """A part that raises what nobody expects."""
    broken = bundle.change("error", lambda manifest, _: manifest.pop("equivalence"))
    status, results, _, _ = bundle.run("error", "--only", "versions,equivalence", bundle=broken)
    expect_failed(status, results, "equivalence", "KeyError: 'equivalence'")
    assert "Traceback" in results["parts"]["equivalence"]["log"]


def sample(name):
    with open(os.path.join(HERE, "samples", name)) as file:
        return file.read()


def check_sanitizer_output():
    """Output of compute-sanitizer, in the form that its manual describes."""
    assert sanitizer.parse(sample("memcheck.txt")) == {"errors": 0, "warnings": 0, "hazards": None, "reports": []}
    one = sanitizer.parse(sample("memcheck_error.txt"))
    assert one["errors"] == 1 and one["reports"][0] == "========= Invalid __global__ write of size 4 bytes", one
    assert sanitizer.parse(sample("racecheck.txt")) == {"errors": 0, "warnings": 0, "hazards": 0, "reports": []}
    races = sanitizer.parse(sample("racecheck_error.txt"))
    assert (races["errors"], races["warnings"], races["hazards"]) == (1, 1, 2) and "Race reported between Write access" in races["reports"][0], races
    for text in ("", "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first instrumented API call\n"):
        try:
            sanitizer.parse(text)
        except Failed as error:
            assert "no summary" in str(error), error
        else:
            raise AssertionError("output without a summary is taken for a good one")


def check_ncu_output():
    """Output of `ncu --csv`, in the form that its manual describes."""
    one, other = ncu.parse(sample("ncu.csv"))
    assert one == {"name": "attention_grad_8x12x1024x64", "block": "(128, 1, 1)", "grid": "(6144, 1, 1)", "memory_percent": 31.4, "dram_percent": 8.21,
                   "duration_us": 286.72, "l2_percent": 17.9, "compute_percent": 62.75, "registers": 168, "dynamic_shared_bytes": 46590,
                   "static_shared_bytes": 0, "theoretical_occupancy_percent": 18.75, "occupancy_percent": 17.02}, one
    assert other["name"] == "reduce_mul_sub_add_8192x768_2" and abs(other["duration_us"] - 36.128) < 1e-9 and other["dram_percent"] == 88.13, other
    assert ncu.parse("==ERROR== No kernels were profiled.\n") == []
    strange = ncu.parse(sample("ncu.csv").replace('"us","286.72"', '"fortnight","286.72"'))[0]
    assert "duration_us" not in strange and strange["not_understood"] == ["Duration 286.72 fortnight"], strange
    found = {"batch": "8", "heaviest": [one["name"], "missing"], "kernels": {one["name"]: one}}
    assert any("286.7" in line and " 168 " in line for line in ncu.lines(found)) and len(list(ncu.lines(found))) == 4


def check_torch(harness, bundle):
    """PyTorch's side has our model: from its initial parameters our program for CPUs has the same losses."""
    if not harness.args.pytorch:
        raise Skip("needs --pytorch")
    with open(os.path.join(bundle.path, "manifest.json")) as file:
        gpt2 = json.load(file)["gpt2"]
    sizes = [word for name, size in gpt2["shape"].items() for word in (f"--{name}", str(size))]
    folder, tokens, rows = bundle.folder, os.path.join(bundle.path, gpt2["tokens"]), "2"
    log, parameters, model, program = (os.path.join(folder, name) for name in ("cpu.jsonl", "cpu.safetensors", "cpu.mlir", "cpu"))
    flags = ["--device", "cpu", "--eager", "--batches", f"{rows},4", "--steps", "6"]
    checked([harness.args.pytorch, os.path.join(bundle.path, "torch_gpt2.py"), *flags, *sizes, "--tokens", tokens, "--log", log, "--export", parameters])
    with open(log) as file:
        theirs = json.loads(file.readline())
    checked([harness.ppopt, "model", "gpt", *sizes, "--batch", rows, "-o", model])
    compile_model(harness.ppopt, model, program, ["--precision", "bf16", "--threads", "1"], optimized=True)
    data = ["--data", tokens, "--tokens", "uint16", *gpt2_part.FLAGS, "--steps", "6"]
    checked([program, *data, "--init", parameters, "--log", program + ".jsonl"])
    ours = executables.read_log(program + ".jsonl")
    expect_close("losses", executables.losses(ours), theirs["losses"], 1e-3)
    expect_close("the norm", executables.of(ours, "step")[0]["norm"], theirs["norm"], 5e-3)


def main():
    harness = Harness("gpu run")
    for name, check in (("output of compute-sanitizer", check_sanitizer_output), ("output of ncu", check_ncu_output), ("several GPUs' table", check_rates),
                        ("the error of several ranks", check_last_line)):
        harness.case(name, check)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        bundles = []

        def with_bundle(check):
            return lambda: check(bundles[0])
        harness.case("bundle", lambda: bundles.append(Bundle(harness, folder)))
        if bundles:
            harness.case("PyTorch's model", lambda: check_torch(harness, bundles[0]))
            harness.cases([(name, with_bundle(check)) for name, check in (
                ("all parts", check_all), ("some parts", check_only), ("usage", check_usage), ("planted: a changed loss", check_changed),
                ("planted: other bits", check_bits), ("planted: a crash", check_crash), ("planted: a hang", check_hang),
                ("planted: a part that hangs", check_limit),
                ("planted: a prediction", check_prediction), ("planted: a step that can't be captured", check_capture),
                ("planted: a library that can't start", check_fallback),
                ("several GPUs", check_several), ("planted: a kept graph", check_kept_graph),
                ("times", check_times), ("compute-sanitizer", check_sanitizer), ("torch", check_torch_part),
                ("planted: a kernel's expectation", check_kernel), ("planted: an error", check_error))])
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
