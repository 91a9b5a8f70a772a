#!/usr/bin/env python3
"""Parameters begin as files say, under each plan and launch, bit for bit as numpy and PyTorch (Inputs/torch_numbers.json) have the numbers: of several files the last, converted, transposed by a map, without a prefix, with more rows; and as they are drawn without files where no file has them. What is wrong is refused
with names.
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
from support.executable import Mismatch, checked, compile_model, environment, new_log  # noqa: E402
from support.mpirun import under_mpirun  # noqa: E402
from support.results import Harness  # noqa: E402

from starting_points.subjects import Look, Raw, bf16_values, nearest_bf16, numbers_model, sharded_folder, write_raw  # noqa: E402

LOOK = Look()
SEED = ["--seed", "7"]
PLANS = {"one": [], "dp": ["--mesh", "dp=2"], "pp": ["--mesh", "pp=2"], "dp, pp": ["--mesh", "dp=2,pp=2", "--microbatches", "2"],
         "zero 1": ["--mesh", "dp=2", "--zero", "1"], "zero 3": ["--mesh", "fsdp=2", "--zero", "3"],
         "zero 3, pp": ["--mesh", "fsdp=2,pp=2", "--zero", "3", "--microbatches", "2"],
         "tp": ["--mesh", "tp=2", "--shard", "table=[{tp}, {}]; u=[{}, {tp}]; v=[{tp}, {}]"],
         "tp, sp": ["--mesh", "tp=2,sp=2", "--shard", "table=[{tp}, {sp}]; u=[{sp}, {tp}]; v=[{tp}, {sp}]"],
         "dp, tp, pp": ["--mesh", "dp=2,tp=2,pp=2", "--shard", "u=[{}, {tp}]; v=[{tp}, {}]"],
         "local": ["--mesh", "pp=2", "--launch", "local"], "trainers": ["--mesh", "dp=2", "--sync", "async"]}
BASE = ["--init-prefix", "model.", "--init-extra", "ignore", "--init-missing", "draw", "--init-resize", "table"]


def expect_equal(what, ours, expected):
    """Bit for bit; a number that is not one is any."""
    if set(ours) != set(expected):
        raise Mismatch(f"{what}: {sorted(ours)} instead of {sorted(expected)}")
    for name, theirs in expected.items():
        mine = ours[name]
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            raise Mismatch(f"{what}: {name} is {mine.dtype} {mine.shape} instead of {theirs.dtype} {theirs.shape}")
        wrong = np.argwhere((mine != theirs) & ~((mine != mine) & (theirs != theirs)) | (np.signbit(mine) != np.signbit(theirs)) & (mine == mine))
        if len(wrong):
            at = tuple(wrong[0])
            raise Mismatch(f"{what}: {name} has {mine[at]!r} instead of {theirs[at]!r} at {list(map(int, at))}, and {len(wrong) - 1} more differ")


class Checks:
    def __init__(self, harness, directory):
        self.harness, self.directory, self.programs, self.plain = harness, directory, {}, {}
        random = np.random.default_rng(11)
        self.wide = {name: random.normal(size=shape) for name, shape in LOOK.SHAPES.items()}
        # Two shards: a table of fewer rows, numbers that f32 must round, a name that is an alias, and what is no parameter.
        self.folder = sharded_folder(self.path("folder"), [
            {"model.table": safetensors_io.BF16(bf16_values(self.wide["table"][:9])), "model.mask": np.arange(3)},
            {"model.u": self.wide["u"], "model.v.tied": self.wide["v"].astype(np.float16), "lm.w": np.ones(2, np.float32)}])
        self.later = self.write("later", {"model.v": self.wide["v"][::-1].astype(np.float32)})

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, values):
        path = self.path(name + ".safetensors")
        safetensors_io.write(path, values)
        return path

    def compile(self, name, text, flags=(), generates=False):
        if name not in self.programs:
            path = self.path(re.sub(r"\W+", "-", name))
            with open(path + ".mlir", "w", encoding="utf8") as file:
                file.write(text)
            self.programs[name] = compile_model(self.harness.ppopt, path + ".mlir", path, ["--threads", "1", *flags], generates=generates)
        return self.programs[name]

    def program(self, plan, dtype="f32"):
        return self.compile(f"{plan} {dtype}", LOOK.model(dtype), PLANS[plan])

    def command(self, program, launch="threads"):
        return [*(under_mpirun(program.ranks) if launch == "mpirun" else []), program.path]

    def start(self, program, flags, launch="threads", log=(), env=None):
        """The parameters before the first step, and what is printed."""
        out = program.path + ".begin"
        if os.path.exists(out):
            os.remove(out)
        done = checked([*self.command(program, launch), "--steps", "0", "--export", out, *log, *SEED, *flags], env=env)
        return safetensors_io.read(out), done.stdout

    def drawn(self, dtype="f32"):
        """What a rank alone draws."""
        if dtype not in self.plain:
            self.plain[dtype] = self.start(self.program("one", dtype), [])[0]
        return self.plain[dtype]

    def expected(self, dtype="f32"):
        """Of folder and later file."""
        drawn = self.drawn(dtype)
        f = drawn["u"].dtype
        v = self.wide["v"][::-1].astype(np.float32).astype(f)
        return {"table": np.concatenate([bf16_values(self.wide["table"][:9]).astype(f), drawn["table"][9:]]), "u": self.wide["u"].astype(f), "b": drawn["b"],
                "v": v, "v.tied": v, "v.other": v}

    def plan(self, plan, launch):
        """All at once."""
        program = self.program(plan)
        log = program.path + ".jsonl"
        for given in ([f"{self.folder},{self.later}"], [self.folder, self.later]):
            ours, output = self.start(program, ["--init", *given, *BASE], launch, new_log(log))
            expect_equal(plan, ours, self.expected())
        for line in (f"parameters: 2 from {self.folder}, 1 from {self.later}, 1 drawn (b)", "converted 1 tensor from BF16 to F32",
                     "converted 1 tensor from F64 to F32", f"table: 9 rows from {self.folder}, 3 drawn",
                     f"not read from {self.folder}, since they are no parameters: lm.w, model.mask"):
            assert output.count(line + "\n") == 1, (line, output)
        with open(log, encoding="utf8") as file:
            (record,) = [each for each in map(json.loads, file) if each["event"] == "init"]
        assert record["parameters"] == {"table": self.folder, "u": self.folder, "v": self.later, "b": None}, record

    def mapped(self, plan, launch):
        """By a map: transposed, converted, with more rows, tied copies, a name that is not in the map; the optional prefix is only in one of the files."""
        map_file = self.path("map.json")
        with open(map_file, "w", encoding="utf8") as file:
            json.dump({"format": "ppopt parameter map", "version": 1, "optional_prefix": "t.",
                       "parameters": {"table": "t.wte", "u": {"tensor": "t.u.weight", "transpose": True}, "v": {"tensor": "v", "transpose": True}},
                       "ignored": ["t.mask"], "tied": {"head": "t.wte"}}, file)
        random = np.random.default_rng(12)
        table, u, v = random.normal(size=(12, 4)).astype(np.float16), random.normal(size=(6, 3)), random.normal(size=(6, 6)).astype(np.float32)
        first = self.write("mapped1", {"m.t.wte": table, "m.head": table, "m.t.mask": np.arange(2), "m.v": v * 2})
        second = self.write("mapped2", {"m.u.weight": u, "m.v": v})
        ours, _ = self.start(self.program(plan), ["--init", first, second, "--init-map", map_file, "--init-prefix", "m.", "--init-missing", "draw",
                                                  "--init-resize", "u"], launch)
        drawn = self.drawn()
        expect_equal(plan, ours, {"table": table.astype(np.float32), "u": np.concatenate([u.T.astype(np.float32), drawn["u"][3:]]), "b": drawn["b"],
                                  **{name: np.ascontiguousarray(v.T) for name in ("v", "v.tied", "v.other")}})

    def predicted(self, plan, launch):
        """Outputs are those of the parameters that the flags say; what is drawn has the default seed."""
        program, data = self.program(plan), LOOK.rows(21)
        rows, out = self.write("rows", data), program.path + ".out"
        if os.path.exists(out):
            os.remove(out)
        checked([*self.command(program, launch), "--init", f"{self.folder},{self.later}", *BASE, "--predict", rows, "-o", out])
        checked([self.program("one").path, "--steps", "0", "--export", program.path + ".seed0"])
        values, drawn = self.expected(), safetensors_io.read(program.path + ".seed0")
        values.update(b=drawn["b"], table=np.concatenate([values["table"][:9], drawn["table"][9:]]))
        values = {name: value.astype(np.float64) for name, value in values.items()}
        difference = np.abs(safetensors_io.read(out)["scores"] - LOOK.scores(values, data)).max()
        assert difference < 1e-5, difference

    def fake_device(self, plan):
        """Into memory that the host cannot access."""
        module = os.path.join(self.harness.args.build, "bin", "test", "libppopt_fake_device.so")
        env = dict(environment(), PPOPT_DEVICE_MODULE=module, PPOPT_FAKE_SEED="7")
        expect_equal(plan, self.start(self.program(plan), ["--init", self.folder, self.later, *BASE], env=env)[0], self.expected())

    def aliases(self):
        """A later file's tensor counts under whichever name, and copies are compared in one file only."""
        program, wide = self.program("one"), {name: value.astype(np.float32) for name, value in self.wide.items()}
        first = self.write("aliases1", {**wide, "v.tied": wide["v"]})
        second = self.write("aliases2", {"v.other": wide["v"] * 2})
        for given, v in (([first, second], wide["v"] * 2), ([second, first], wide["v"]), ([first, second, first], wide["v"])):
            expect_equal("aliases", self.start(program, ["--init", *given])[0], {**wide, **{name: v for name in ("v", "v.tied", "v.other")}})
        third = self.write("aliases3", {"v": wide["v"], "v.tied": wide["v"] * 2})
        self.refuse(["--init", first, third], "the tensors 'v.tied' and 'v' differ")

    def commas(self):
        """A comma in the name of a file that exists belongs to it."""
        program, values = self.program("one"), {name: value.astype(np.float32) for name, value in self.wide.items()}
        path = self.write("a,b", values)
        self.write("a", {"v": values["v"] * 2})
        for given, v in (([path], values["v"]), ([path, "--init", self.path("a.safetensors")], values["v"] * 2)):
            expect_equal("commas", self.start(program, ["--init", *given])[0], {**values, **{name: v for name in ("v", "v.tied", "v.other")}})
        self.refuse(["--init", path + ",," + path], "--init: the path is empty", 2)
        one, other = self.write("whole1", values), self.write("whole2", values)
        self.refuse(["--init", f"{one},{other}", "--log", other], "are the same file", 2)

    def folders(self):
        """A folder with one file; an index counts where both are there; a file that the index does not name is not read; links lead to blobs."""
        program, values = self.program("one"), {name: value.astype(np.float32) for name, value in self.wide.items()}
        expected = {**values, "v.tied": values["v"], "v.other": values["v"]}
        folder = self.path("single")
        os.makedirs(folder)
        safetensors_io.write(os.path.join(folder, "model.safetensors"), values)
        expect_equal("single", self.start(program, ["--init", folder])[0], expected)
        sharded_folder(folder, [{"table": values["table"], "u": values["u"]}, {"v": values["v"] * 2, "b": values["b"]}])
        os.rename(os.path.join(folder, "model-00002-of-00002.safetensors"), self.path("blob"))
        os.symlink(self.path("blob"), os.path.join(folder, "model-00002-of-00002.safetensors"))
        twice = {**expected, **{name: values["v"] * 2 for name in ("v", "v.tied", "v.other")}}
        expect_equal("index", self.start(program, ["--init", folder])[0], twice)
        saved = self.path("saved")
        checked([program.path, "--steps", "0", "--init", folder, "--checkpoint", saved])
        expect_equal("checkpoint", self.start(self.program("zero 3, pp"), ["--init", saved + "/step-00000000"], "mpirun")[0], twice)
        self.refuse(["--init", folder, "--checkpoint", saved, "--resume"], "--resume and --init: give one of them", 2)

    def damaged(self):
        """A file of a checkpoint is verified by the ranks that read it, whichever they are."""
        program, saved = self.program("pp"), self.path("damaged")
        checked([program.path, "--steps", "0", "--checkpoint", saved])
        for rank in range(2):
            path = f"{saved}/step-00000000/parameters-{rank:04}.safetensors"
            with open(path, "r+b") as file:
                content = file.read()
                file.seek(-1, os.SEEK_END)
                file.write(bytes([content[-1] ^ 1]))
            for launch in ("threads", "mpirun"):
                done = self.fail(program, ["--init", saved + "/step-00000000"], launch)
                assert re.search(f"error: (rank {rank}.*: )?{path}: its checksum is ", done.stderr), done
            with open(path, "wb") as file:
                file.write(content)

    def numbers(self, pair):
        """As PyTorch converts them."""
        with open(os.path.join(HERE, "Inputs", "torch_numbers.json"), encoding="utf8") as file:
            given, expected = json.load(file)[pair]
        source, target = pair.split(" to ")
        self.convert(source, target, given, expected)

    def convert(self, source, target, given, expected):
        path, out = self.path("numbers.safetensors"), self.path("numbers.out")
        write_raw(path, {"n": Raw(source, [len(given)], given)})
        for mesh in ([], ["--mesh", "fsdp=2", "--zero", "3"]):
            program = self.compile(f"numbers {target} {len(given)} {mesh}", numbers_model(len(given), target.lower()), mesh)
            output = checked([program.path, "--steps", "0", "--init", path, "--export", out]).stdout
            assert f"converted 1 tensor from {source} to {target}\n" in output, output
            wanted = self.write("wanted", {})
            write_raw(wanted, {"n": Raw(target, [len(given)], expected)})
            expect_equal(f"{source} to {target}", safetensors_io.read(out), safetensors_io.read(wanted))

    def rounded_once(self):
        """f64 to bf16, which over f32 would be rounded twice, to the next even number of a tie that is none."""
        values = [1 + 2 ** -8 + 2 ** -40, 1 + 2 ** -8 - 2 ** -40, 1 + 3 * 2 ** -8 - 2 ** -40, 1 + 2 ** -8, 1 + 3 * 2 ** -8, -1 - 2 ** -8 - 2 ** -50]
        values = np.concatenate([values, np.random.default_rng(2).normal(size=76)])
        self.convert("F64", "BF16", values.view("<u8"), [nearest_bf16(value) for value in values])

    def overflow(self, plan, launch):
        """A number that would be infinite is refused by whichever rank has it, and what is infinite stays."""
        wide = dict(self.wide, u=self.wide["u"].copy())
        wide["u"][3, 5] = 1e39
        done = self.fail(self.program(plan), ["--init", self.write("overflow", wide)], launch)
        words = r"error: .*--init .*overflow.safetensors: the tensor 'u' has the number 1e\+39, which f32 does not have: it would be infinite"
        assert re.search(words, done.stderr), done
        wide["u"][3, 5] = -np.inf
        ours, _ = self.start(self.program(plan), ["--init", self.write("infinite", wide)], launch)
        assert ours["u"][3, 5] == -np.inf and np.isfinite(ours["u"]).sum() == 23, ours["u"]

    def fail(self, program, flags, launch="threads", status=1):
        out = program.path + ".refused"
        done = subprocess.run([*self.command(program, launch), "--steps", "0", "--export", out, *flags], capture_output=True, text=True, timeout=300,
                              env=environment())
        assert done.returncode == status and not os.path.exists(out), done
        return done

    def refuse(self, flags, words, status=1, plan="one"):
        done = self.fail(self.program(plan), flags, status=status)
        assert "error: " in done.stderr and words in done.stderr, f"{words}\n{done.stderr}"

    def refused(self):
        wide = {name: value.astype(np.float32) for name, value in self.wide.items()}
        good = self.write("good", wide)

        def given(**changes):
            values = {name: value for name, value in {**wide, **changes}.items() if value is not None}
            return ["--init", self.write("bad", values)]
        self.refuse(given(b=None), "missing: b; --init-missing draw draws what is missing")
        self.refuse(given(x=wide["b"]), "not a parameter: x; --init-extra ignore leaves out what is no parameter")
        self.refuse(["--init", good, given(x=wide["b"])[1]], f"not a parameter: x of {self.path('bad.safetensors')}")
        self.refuse(given(table=wide["table"][:9]), "of another shape: table (file F32 [9, 4], model F32 [12, 4]); --init-resize table draws rows")
        self.refuse([*given(table=np.tile(wide["table"], (2, 1))), "--init-resize", "table"], "table (file F32 [24, 4], model F32 [12, 4])")
        self.refuse([*given(table=wide["table"][:9, :3]), "--init-resize", "table"], "of another shape: table (file F32 [9, 3]")
        self.refuse([*given(), "--init-resize", "tabel"], "--init-resize: the model has no parameter 'tabel'; did you mean 'table'?")
        for dtype in (np.int64, np.int8, np.bool_):
            self.refuse(given(b=wide["b"].astype(dtype)), "of another type: b (file ")
        self.refuse([*given(), "--init-prefix", "model.", "--init-missing", "draw", "--init-extra", "ignore"], "is a parameter of this model")
        self.refuse([*given(), "--init-prefix", "model."], "missing: table, u, v, b; not a parameter: b, table, u, v")
        for flag in ("--init-missing=draw", "--init-extra=error", "--init-prefix=m.", "--init-resize=table"):
            self.refuse([flag], f"{flag.split('=')[0]}: needs --init FILE", 2)
        self.refuse([*given(), "--init-missing", "skip"], "--init-missing skip: ", 2)
        self.refuse(["--init", good, self.path("no file")], "no file")

    def indices(self):
        wide = {name: value.astype(np.float32) for name, value in self.wide.items()}
        folder = sharded_folder(self.path("wrong"), [{"table": wide["table"], "u": wide["u"]}, {"v": wide["v"], "b": wide["b"]}])
        path = os.path.join(folder, "model.safetensors.index.json")
        with open(path, encoding="utf8") as file:
            text = file.read()
        first = "model-00001-of-00002.safetensors"

        def refuse(index, words):
            with open(path, "w", encoding="utf8") as file:
                file.write(index)
            self.refuse(["--init", folder], words)

        def changed(**names):
            document = json.loads(text)
            document["weight_map"] = {name: shard for name, shard in {**document["weight_map"], **names}.items() if shard is not None}
            return json.dumps(document)
        refuse("{", f"{path}: is not JSON")
        refuse("[]", 'has no "weight_map"')
        refuse('{"weight_map": {}}', 'has no "weight_map"')
        refuse('{"weight_map": {"a": 1}}', "weight_map: 'a': is not the name of a file")
        refuse('{"weight_map": {"a": "x", "a": "y"}}', "'a' is there twice in one object")
        refuse(changed(u="gone.safetensors"), f"there is no file {folder}/gone.safetensors, which has u")
        refuse(changed(v=first), f"the files lack tensors that it names: v in {first}")
        refuse(changed(v=None), "the files have tensors that it does not name: v in model-00002-of-00002.safetensors")
        for outside in ("../wrong/" + first, os.path.join(folder, first)):
            refuse(changed(u=outside), f"the file '{outside}' of u is not in the folder")
        os.remove(path)
        self.refuse(["--init", folder], "a folder that is no checkpoint, and has neither model.safetensors.index.json nor model.safetensors")

    def ranks_differ(self):
        """Ranks that were not given the same in the same order."""
        program = self.program("dp")
        wide = {name: value.astype(np.float32) for name, value in self.wide.items()}
        one, other = self.write("one", wide), self.write("other", {**wide, "b": wide["b"] * 2})
        tail = ["--steps", "0"]

        def differ(mine, theirs, words):
            command = under_mpirun(1) + [program.path, *mine, *tail, ":", "-np", "1", program.path, *theirs, *tail]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment())
            assert done.returncode != 0 and words in done.stderr, done
        differ(["--init", one, other], ["--init", other, one], "differ in the files of --init: 2 files")
        differ(["--init", one, "--init-missing", "draw"], ["--init", one], "differ in --init-missing: draw / not given")

    def generated(self):
        """Text is that of the converted parameters."""
        model = checked([self.harness.ppopt, "model", "gpt", "--layers", "1", "--width", "8", "--heads", "2", "--vocab", "256", "--seq", "8", "--batch", "2"]).stdout
        program = self.compile("gpt", model, generates=True)
        values, _ = self.start(program, [])
        narrow = {name: bf16_values(value) for name, value in values.items()}
        words = []
        for path, value in (("narrow", {name: safetensors_io.BF16(value) for name, value in narrow.items()}), ("wide", narrow), ("other", values)):
            words.append(subprocess.run([program.path, "--init", self.write(path, value), "--generate", "12", "--prompt", "a"], check=True, capture_output=True,
                                        timeout=300, env=environment()).stdout)
        assert words[0] == words[1], words

    def red(self):
        """What is wrong is seen."""
        right = self.expected()
        wrong = {"the earlier file": {"v": self.wide["v"].astype(np.float16).astype(np.float32)}, "zeros": {"b": right["b"] * 0},
                 "truncated": {"u": (self.wide["u"].astype(np.float32).view("<u4") ^ 1).view("<f4")}, "other rows": {"table": np.roll(right["table"], 1, 0)},
                 "a sign": {"b": -right["b"]}, "not a number": {"b": right["b"] * np.nan}}
        for what, change in wrong.items():
            try:
                expect_equal(what, {**right, **change}, right)
            except Mismatch:
                continue
            raise AssertionError(f"was not seen to fail: {what}")


def main():
    harness = Harness("starting points")
    with tempfile.TemporaryDirectory() as directory:
        checks = Checks(harness, directory)
        for plan in PLANS:
            for launch in ("threads", "mpirun"):
                if launch == "mpirun" and plan in ("one", "local"):
                    continue
                harness.case(f"{plan}, {launch}", lambda: checks.plan(plan, launch))
                harness.case(f"map: {plan}, {launch}", lambda: checks.mapped(plan, launch))
        for plan, launch in (("one", "threads"), ("dp, pp", "mpirun"), ("zero 3", "threads"), ("tp", "mpirun"), ("local", "threads")):
            harness.case(f"predicted: {plan}, {launch}", lambda: checks.predicted(plan, launch))
        for plan, launch in (("one", "threads"), ("zero 3", "mpirun"), ("pp", "threads"), ("tp", "mpirun"), ("local", "threads")):
            harness.case(f"infinite: {plan}, {launch}", lambda: checks.overflow(plan, launch))
        for plan in ("dp, pp", "zero 3", "tp, sp"):
            harness.case(f"fake device: {plan}", lambda: checks.fake_device(plan))
        harness.case("generated", checks.generated)
        harness.case("aliases", checks.aliases)
        harness.case("commas", checks.commas)
        harness.case("folders", checks.folders)
        harness.case("damaged", checks.damaged)
        for pair in ("F64 to F32", "F32 to F64", "F32 to BF16", "BF16 to F32", "BF16 to F64", "F16 to F32", "F16 to F64", "F16 to BF16"):
            harness.case(f"PyTorch: {pair}", lambda: checks.numbers(pair))
        harness.case("rounded once", checks.rounded_once)
        harness.case("refused", checks.refused)
        harness.case("refused: indices", checks.indices)
        harness.case("refused: ranks differ", checks.ranks_differ)
        harness.case("what is wrong is seen", checks.red)
    return harness.finish()


if __name__ == "__main__":
    sys.exit(main())
