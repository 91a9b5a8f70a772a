"""Imports archives of torch.export, trains what comes out under plans, and compares with PyTorch: make_archives.py made both."""
import gzip
import json
import os
import threading

import numpy as np

from support import safetensors_io
from support.executable import checked, compile_model, expect_close, run

TOLERANCE = {"f32": 1e-4, "f64": 1e-9}
# A gradient that is zero by symmetry is rounding noise of the others.
LEAST_SCALE = {"f32": 1e-2, "f64": 1e-3}

PLANS = {
    "one rank": ["--microbatches", "2"],
    "dp=2": ["--mesh", "dp=2"],
    "pp=2": ["--mesh", "pp=2", "--microbatches", "2"],
    "fsdp=2, zero 3": ["--mesh", "fsdp=2", "--zero", "3"],
    "dp=2, pp=2": ["--mesh", "dp=2,pp=2", "--microbatches", "2"],
}
CUT = {"dp=2, tp=2": ["--mesh", "dp=2,tp=2", "--shard", "auto"]}

EVERY_PLAN = ("gpt2", "bert")
WITH_PAIRS = (*EVERY_PLAN, "llama", "vit", "lora")  # of matmuls, which --shard auto cuts


class Unpacker:
    """A folder of archives that are compressed."""

    def __init__(self, directory):
        self.directory = directory

    def unpack(self, archive, scratch):
        path = os.path.join(scratch, archive)
        if not os.path.exists(path):
            part = f"{path}.{threading.get_ident()}.part"
            with gzip.open(os.path.join(self.directory, archive + ".gz")) as packed, open(part, "wb") as file:
                file.write(packed.read())
            os.replace(part, path)
        return path


class Fixtures(Unpacker):
    """The committed archives and figures."""

    def __init__(self, directory):
        super().__init__(directory)
        with open(os.path.join(directory, "models.json")) as file:
            self.described = json.load(file)
        self.locks = {archive: threading.Lock() for _, archive, _ in self.archives()}

    def archives(self):
        """[(model, archive, type)]"""
        return [(name, archive, spelling) for name, model in self.described["models"].items()
                for archive, spelling in model["archives"].items()]

    def plans(self, name, archive, everything):
        """Two models under all plans; others on one rank and under one more, in turn, and those with pairs of matmuls cut. A model's other archives, of
        another type or with other ops, on one rank."""
        if "gradients" not in self.figures(name):
            return []  # random numbers are our own
        if "mixes_rows" in self.described["models"][name]:
            return [plan for plan, flags in PLANS.items() if "--microbatches" not in flags]
        others = list(self.described["models"][name]["archives"])[1:]
        cut = list(CUT) if name in WITH_PAIRS and archive not in others else []
        if everything or name in EVERY_PLAN and archive not in others:
            return [*PLANS, *cut]
        one, *several = PLANS
        turn = list(self.described["models"]).index(name) % len(several)
        return [one] if archive in others else [one, several[turn], *cut]

    def figures(self, name):
        """{kind: {name: array}}; "inputs", "gradients", "losses"."""
        groups = {}
        for key, value in safetensors_io.read(os.path.join(self.directory, name + ".safetensors")).items():
            kind, rest = key.split("/", 1)
            groups.setdefault(kind, {})[rest] = value
        return groups

    def is_optimized(self, name, archive, plan, everything):
        """LLVM optimises one program of some models."""
        first = archive == next(iter(self.described["models"][name]["archives"])) and plan == next(iter(PLANS))
        return everything or first and name in WITH_PAIRS

    def imported(self, ppopt, scratch, name, archive):
        """The model that an archive becomes, imported once in a folder, and its parameters."""
        model = os.path.join(scratch, f"{archive[:-4]}.mlir")
        with self.locks[archive]:
            if not os.path.exists(model):
                import_model(ppopt, self.unpack(archive, scratch), model, import_flags(self.described["models"][name]))
        return model, safetensors_io.read(os.path.splitext(model)[0] + ".safetensors")


def check_back(ppopt, scratch, fixtures, name, archive):
    """What `--export` writes has every name of the state_dict, with its shape, type and, where names are tied, the same bits; buffers have their own.
    `--init` takes it, and the same with one name of each, and refuses tied tensors that differ."""
    described, figures = fixtures.described["models"][name], fixtures.figures(name)
    stem = os.path.join(scratch, f"{name}.back")
    model, first = fixtures.imported(ppopt, scratch, name, archive)
    train = compile_model(ppopt, model, stem, ["--optimizer", "adamw", "--mesh", "dp=2", "--zero", "3"])
    inputs = inputs_of(figures, described, described["archives"][archive])
    trained = run(train, ["--lr", "0.01"], init=first, inputs=inputs, steps=2).parameters
    ties, buffers = described["ties"], figures.get("buffers", {})
    aliases = {one: other for pair in ties.items() for one, other in (pair, pair[::-1]) if one not in first}
    assert len(aliases) == len(ties), f"{archive} has the ties {ties}, and the import the names {sorted(first)}"
    assert set(trained) == set(first) | set(aliases), f"other names: {sorted(set(trained) ^ set(first) ^ set(aliases))}"
    assert set(buffers) <= set(first), f"not imported: {sorted(set(buffers) - set(first))}"
    for key, value in trained.items():
        original = first[aliases.get(key, key)]
        assert (value.shape, value.dtype) == (original.shape, original.dtype), f"{key} is {value.dtype} {value.shape}"
        assert key in buffers or key in described["frozen"] or value.tobytes() != original.tobytes(), f"{key} has not been trained"
    for alias, key in aliases.items():
        assert trained[alias].tobytes() == trained[key].tobytes(), f"{alias} and {key} have other bits"
    for what, init in [("all names", trained), ("the first names", {key: trained[key] for key in first}),
                       ("parameters alone", {key: trained[key] for key in trained if key not in buffers}),
                       ("the other names", {key: trained[key] for key in trained if key not in aliases.values()})]:
        again = run(train, [], init=init, inputs=inputs, steps=0).parameters
        assert {k: v.tobytes() for k, v in again.items()} == {k: v.tobytes() for k, v in trained.items()}, f"--init with {what} loads other bits"
    for alias, key in aliases.items():
        expect_refused(f"the tensors '{alias}' and '{key}' differ", train, {**trained, alias: trained[alias] + 1}, inputs)
    if buffers:
        check_buffers(ppopt, model, stem, train, trained, inputs, buffers)


def expect_refused(words, train, init, inputs, flags=()):
    try:
        run(train, list(flags), init=init, inputs=inputs, steps=0)
    except AssertionError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error: {words}")


def check_buffers(ppopt, model, stem, train, trained, inputs, buffers):
    """They are the same with --init, without it, resumed under another plan, and by ranks that are processes. --init refuses others."""
    folder = stem + ".checkpoints"
    other = compile_model(ppopt, model, stem + ".other", ["--optimizer", "adamw", "--mesh", "pp=2", "--microbatches", "2"])
    results = {"trained": trained,
               "drawn": run(train, ["--checkpoint", folder], inputs=inputs, launch="mpirun").parameters,
               "resumed": run(other, ["--checkpoint", folder, "--resume"], inputs=inputs, steps=2).parameters}
    for what, parameters in results.items():
        assert set(parameters) == set(trained), f"{what}: other names: {sorted(set(parameters) ^ set(trained))}"
        for key, value in buffers.items():
            ours = parameters[key]
            assert (ours.shape, ours.dtype, ours.tobytes()) == (value.shape, value.dtype, value.tobytes()), f"{what}: {key} is {ours}, and was {value}"
    expect_refused("the buffer 'seen' has other values than the model was imported with", train, {**trained, "seen": trained["seen"] + 1}, inputs)
    expect_refused("the buffer 'bits' is U8 [3, 5] in the file, and BOOL [3, 5] in the model", train, {**trained, "bits": trained["bits"].astype(np.uint8)}, inputs)
    expect_refused("the buffer 'codes' is I8 [6] in the file, and I8 [7] in the model", train, {**trained, "codes": trained["codes"][1:]}, inputs)
    expect_refused("not a parameter: order", train, {**trained, "order": trained["codes"]}, inputs)


def import_model(ppopt, archive, model, flags=()):
    """Writes `model` and, beside it, its parameters; returns these and what was printed."""
    done = checked([ppopt, "import", archive, "-o", model, *flags])
    return safetensors_io.read(os.path.splitext(model)[0] + ".safetensors"), done


def import_flags(described):
    dims = ",".join(f"{name}={dim}" for name, dim in described.get("batch_dims", {}).items())
    return (["--loss", described["criterion"]] if "criterion" in described else []) + (["--batch-dim", dims] if dims else [])


def check_wide(ppopt, scratch, fixtures, name, archive, spelling):
    """With --batch four times the rows have PyTorch's loss, whole and in microbatches on two ranks."""
    described, figures = fixtures.described["models"][name], fixtures.figures(name)
    stem = os.path.join(scratch, f"{archive[:-4]}.wide")
    model, init = fixtures.imported(ppopt, scratch, name, archive)
    for plan in [], ["--mesh", "dp=2", "--microbatches", "2"]:
        train = compile_model(ppopt, model, stem, ["--batch", str(4 * described["rows"]), *plan])
        result = run(train, [], init=init, inputs=inputs_of(figures, described, spelling))
        expect_close("loss", result.losses, figures["losses"]["wide"], TOLERANCE[spelling])


def inputs_of(figures, described, spelling):
    """The data in the model's types."""
    of_float = {"f32": np.float32, "f64": np.float64}[spelling]
    return {name: figures["inputs"][name].astype(of_float if kind == "float" else kind) for name, kind in described["inputs"].items()}


def check(ppopt, scratch, fixtures, name, archive, spelling, plan, optimized=False):
    """The first loss and gradients, and the losses of some steps of AdamW, are PyTorch's."""
    described, figures = fixtures.described["models"][name], fixtures.figures(name)
    stem = os.path.join(scratch, f"{archive[:-4]}.{plan.replace(' ', '').replace('=', '').replace(',', '-')}")
    model, init = fixtures.imported(ppopt, scratch, name, archive)
    adamw = fixtures.described["adamw"]
    train = compile_model(ppopt, model, stem, ["--optimizer", "adamw", *(PLANS | CUT)[plan]], optimized=optimized)
    result = run(train, ["--lr", repr(adamw["lr"]), "--betas", ",".join(map(repr, adamw["betas"])), "--eps", repr(adamw["eps"]),
                         "--weight-decay", repr(adamw["weight_decay"])],
                 init=init, inputs=inputs_of(figures, described, spelling), steps=fixtures.described["steps"], dump_gradients=True)
    scale = max(np.abs(gradient).max() for gradient in figures["gradients"].values())
    tolerance = TOLERANCE[spelling]
    expect_close("first loss", result.losses[:1], figures["losses"]["adamw"][:1], tolerance)
    ties = described["ties"]
    ours = {ties.get(key, key): value for key, value in result.gradients.items()}
    expect_close("gradient", ours, figures["gradients"], tolerance, least_scale=LEAST_SCALE[spelling] * scale)
    expect_close("losses", result.losses, figures["losses"]["adamw"], 100 * tolerance)
