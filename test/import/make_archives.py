#!/usr/bin/env python3
"""Makes archives/: models exported by torch.export, and what PyTorch computes for them. Run it with .venv-pytorch/bin/python (test/pytorch/install.sh).

    make_archives.py [--gzip] [--as-saved] [--steps N] [--unable NAME,…] [--add] FOLDER [NAME…]

--gzip writes NAME.pt2.gz, as they are committed: an archive is mostly text that repeats. --as-saved leaves what torch.export.save writes as it is, with
what differs from run to run. --unable names models that this version of PyTorch cannot export. --add makes
NAME_VERSION.pt2 alone, in f64, of models that are in the folder.

For a model NAME of archive_models.py: NAME.pt2 (f32) and NAME_f64.pt2 (f64, the same weights; its casts to float32 are casts to float64), or
NAME.pt2 alone; NAME_core.pt2 after run_decompositions. NAME.safetensors has, in f64:
  inputs/INPUT     what N batches consist of, in order; the first dimension is N * rows
  gradients/PARAM  of the first batch, under qualified names (a tied parameter once, under the first of its names)
  losses/adamw     of N steps (5) on consecutive batches, from the weights of the archive; the first is the loss of the first batch
  losses/sgd       likewise
  buffers/NAME     that are saved with the parameters, as they are in the first archive
  losses/wide      of one batch of 4 * rows (the first four batches), before any step
No figures but inputs where dropout draws numbers. Where forward returns no loss, that of archive_model.CRITERIA is added and inputs/targets are its targets.
models.json says of each model which archives it has and their types, rows, inputs ("float": the type of the archive), ties (name: the
name under which its gradient is), frozen parameters dimensions that are the batch for forward where it is not the first, and whether its rows meet.
"""
import argparse
import copy
import json
import pathlib
import sys
import warnings
import zlib

import numpy as np

warnings.filterwarnings("ignore")
import torch  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402

import archive_models  # noqa: E402
import archives  # noqa: E402
from archive_model import CRITERIA, ROWS  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import safetensors_io  # noqa: E402

ADAMW = {"lr": 1e-2, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01}
SGD = {"lr": 1e-2}


torch.cuda.is_current_stream_capturing = lambda: False  # the stand-ins for CUDA of test/pytorch/install.sh have no stream to ask


def build(name, steps):
    """A model with all parameters off their initial values, so that no gradient is zero by symmetry, and its batches."""
    torch.manual_seed(zlib.crc32(name.encode()))
    model = archive_models.MODELS[name]()
    model.module.train(model.train)
    with torch.no_grad():
        for parameter in model.module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model, model.draw(steps * ROWS)


def double(tensors):
    return {n: t.double() if t.is_floating_point() else t for n, t in tensors.items()}


def batch(inputs, first, rows=ROWS):
    return {n: t[first * ROWS:][:rows] for n, t in inputs.items()}


def arguments(model, inputs, first, rows=ROWS):
    """What forward takes of a batch."""
    return {n: t.movedim(0, model.batch_dims.get(n, 0)).contiguous() for n, t in batch(inputs, first, rows).items()
            if not (model.criterion and n == "targets")}


def loss_of(model, module, inputs, first, rows=ROWS, positional=False):
    taken = arguments(model, inputs, first, rows)
    output = module(*taken.values()) if positional else module(**taken, **model.constants)
    if model.criterion:
        return CRITERIA[model.criterion](output, batch(inputs, first, rows)["targets"])
    return model.loss(output)


def export(model, inputs):
    first = arguments(model, inputs, 0)
    if model.constants:
        return torch.export.export(model.module, (), {**first, **model.constants}, dynamic_shapes=model.dims)
    return torch.export.export(model.module, tuple(first.values()), dynamic_shapes=model.dims)


def train(model, module, inputs, optimizer, steps):
    losses, gradients = [], {}
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(model, module, inputs, step)
        loss.backward()
        if step == 0:
            gradients = {n: p.grad.clone() for n, p in module.named_parameters() if p.grad is not None}
        losses.append(loss.item())
        optimizer.step()
    return np.array(losses), gradients


def figures(model, inputs, steps):
    """Of a model in f64."""
    tensors = {f"inputs/{n}": t.numpy() for n, t in inputs.items()}
    if model.random:
        return tensors
    for name, make in [("adamw", lambda p: torch.optim.AdamW(p, **ADAMW)), ("sgd", lambda p: torch.optim.SGD(p, **SGD))]:
        module = copy.deepcopy(model.module)
        losses, gradients = train(model, module, inputs, make([p for p in module.parameters() if p.requires_grad]), steps)
        tensors[f"losses/{name}"] = losses
    tensors["losses/wide"] = np.array([loss_of(model, model.module, inputs, 0, 4 * ROWS).item()])
    return {**tensors, **{f"gradients/{n}": t.numpy() for n, t in gradients.items()}}


def check(model, path, inputs, tensors, tolerance):
    """That the archive, read back, computes the figures."""
    program = torch.export.load(str(path)).module()
    loss = loss_of(model, program, inputs, 0, positional=not model.constants)
    if not model.mixes_rows:  # its forward, decomposed, writes to buffers that the backward has saved
        loss.backward()
    assert abs(loss.item() - tensors["losses/adamw"][0]) < tolerance * abs(loss.item()), (path, loss, tensors["losses/adamw"])
    for name, parameter in program.named_parameters():
        if parameter.grad is not None and f"gradients/{name}" in tensors:
            expected = tensors[f"gradients/{name}"]
            error = np.abs(parameter.grad.numpy() - expected).max() / max(np.abs(expected).max(), 1e-3)
            assert error < tolerance, (path, name, error)


def save(model, program, path, dtype, inputs, tensors, args):
    (torch.export.save if args.as_saved else archives.save)(program, path)
    if "losses/adamw" in tensors:
        check(model, path, inputs, tensors, 1e-11 if dtype == "f64" else 1e-4)
    print(f"{path.name}: {path.stat().st_size // 1000} kB, {len(program.graph.nodes)} nodes", flush=True)
    if args.gzip:
        archives.compress(path)


def add(name, args, entry):
    """One more archive, of which the figures are there: the versions draw the same numbers."""
    model, inputs = build(name, args.steps)
    with archives.float_is_double():
        model.module, inputs = model.module.double(), double(inputs)
        program = export(model, inputs)
    path = args.folder / f"{name}_{'.'.join(torch.__version__.split('.')[:2])}.pt2"
    entry["archives"][path.name] = "f64"
    save(model, program, path, "f64", inputs, safetensors_io.read(args.folder / f"{name}.safetensors"), args)


def make(name, args):
    model, inputs = build(name, args.steps)
    entry = {"archives": {}, "rows": ROWS, "inputs": {n: "float" if t.is_floating_point() else str(t.dtype)[6:] for n, t in inputs.items()}}
    names = {}
    for parameter_name, parameter in model.module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(parameter_name)
    entry["ties"] = {other: first for first, *others in names.values() for other in others}
    if model.criterion:
        entry["criterion"] = model.criterion
    if model.mixes_rows:
        entry["mixes_rows"] = True
    if model.batch_dims:
        entry["batch_dims"] = model.batch_dims
    entry["frozen"] = [n for n, p in model.module.named_parameters() if not p.requires_grad]
    programs = []
    if "f32" in model.types:
        programs.append((name, "f32", export(model, inputs), inputs))
    with archives.float_is_double():
        model.module, inputs = copy.deepcopy(model.module).double(), double(inputs)
        if "f64" in model.types:
            programs.append((name + "_f64" * (len(model.types) > 1), "f64", export(model, inputs), inputs))
        tensors = figures(model, inputs, args.steps)
    if model.core:
        with sdpa_kernel(SDPBackend.MATH):  # of the fused kernel torch decomposes to strides that a later view refuses
            programs.append((f"{name}_core", programs[-1][1], programs[-1][2].run_decompositions(), inputs))
    trained = dict(model.module.named_parameters(remove_duplicate=False))
    tensors.update({f"buffers/{n}": t.contiguous().numpy() for n, t in programs[0][2].state_dict.items() if n not in trained})
    for stem, dtype, program, given in programs:
        entry["archives"][f"{stem}.pt2"] = dtype
        save(model, program, args.folder / f"{stem}.pt2", dtype, given, tensors, args)
    safetensors_io.write(args.folder / f"{name}.safetensors", tensors)
    return entry


def main():
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--gzip", action="store_true")
    parser.add_argument("--as-saved", action="store_true")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--unable", default="")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.folder.mkdir(exist_ok=True)
    described = args.folder / "models.json"
    models = json.loads(described.read_text())["models"] if described.exists() else {}
    for name in args.names or archive_models.MODELS:
        if args.add:
            add(name, args, models[name])
        elif name not in args.unable.split(","):
            models[name] = make(name, args)
    made_by = json.loads(described.read_text())["torch"] if args.add else torch.__version__
    document = {"torch": made_by, "steps": args.steps, "adamw": ADAMW, "sgd": SGD, "models": dict(sorted(models.items()))}
    described.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
