"""Trains a PyTorch model by ppopt: all that is done is commands, which are printed.

    import ppopt

    train = ppopt.compile(model, (x, y), mesh="dp=2")     # forward returns the loss
    losses = train.fit({"x": xs, "y": ys}, steps=100, lr=1e-4)
    train.load_into(model)

More flags of `ppopt compile` and of the executable are keyword arguments: zero=3 is
`--zero 3`, no_shuffle=True is `--no-shuffle`, weight_decay=0.1 is `--weight-decay 0.1`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import safetensors.torch
import torch

__all__ = ["Error", "Training", "compile"]

LAST_LINES = 30  # of its output, in the error of a command that failed


class Error(RuntimeError):
    """A command failed; the text is what it said. Or the model is not that of the export."""


def compile(model, example, mesh=None, loss=None, targets=None, batch_dim=None, folder=None, ppopt=None, **flags):
    """Exports `model`, imports and compiles it, and returns a Training.

    example: the arguments of a step's whole batch: a tuple, or a dict of keyword arguments.
    mesh:    as `--mesh`, "dp=2,pp=2"; without it there is one rank.
    loss:    "cross_entropy", "mse" or "bce", for a model that returns none: its loss against
             one more input, named `targets` ("targets" if not given).
    batch_dim: the dimension of the inputs that is the batch, if it is not the first: 1, or by name, {"x": 1}. `fit` takes
             rows first, as all data.
    folder:  where all files go; without it a temporary one that lives as long as the result.
    ppopt:   the binary; without it that of $PPOPT, or of PATH.
    flags:   those of `ppopt compile`.
    """
    binary = find_binary(ppopt)
    kept = None
    if folder is None:
        kept = tempfile.TemporaryDirectory(prefix="ppopt-")
        folder = kept.name
    os.makedirs(folder, exist_ok=True)
    archive, text, weights, executable = (os.path.join(folder, name) for name in ("model.pt2", "model.mlir", "model.safetensors", "train"))
    if isinstance(batch_dim, dict):
        batch_dim = [f"{name}={dim}" for name, dim in batch_dim.items()]
    arguments = ((), dict(example)) if isinstance(example, dict) else (tuple(example), None)
    torch.export.save(torch.export.export(model, *arguments), archive)
    run([binary, "import", archive, "-o", text, *spell_flags({"loss": loss, "targets": targets, "batch_dim": batch_dim})])
    run([binary, "compile", text, "-o", executable, *spell_flags({"mesh": mesh, **flags})])
    return Training(os.path.abspath(executable), os.path.abspath(weights), kept)


class Training:
    """A compiled model, and its parameters: at first those that it had, then those of the last fit."""

    def __init__(self, executable, parameters, kept=None):
        self.executable = executable
        self.parameters = parameters  # a safetensors file
        self.fits = 0
        self._kept = kept  # removes a temporary folder with this object
        self.program = json.loads(capture([executable, "--describe=json"]))

    @property
    def ranks(self):
        if self.program["plan"].get("launch") == "local":
            return 1
        ranks = 1
        for axis in self.program["plan"]["mesh"]:
            ranks *= axis["size"]
        return ranks

    def fit(self, data, steps, lr, launch="threads", **flags):
        """Trains, prints the log, and returns the loss of each step.

        data:   a dict with a tensor or an array of all rows for each input of the graph, or a path: of such
                a safetensors file, or else of tokens, as `--data` takes it.
        launch: "threads", all ranks in one process, or "mpirun", a process each.
        flags:  those of the executable.

        A further fit goes on from the parameters; its optimizer begins anew, unless `checkpoint` and `resume` say otherwise.
        """
        stem = os.path.join(os.path.dirname(self.executable), f"fit{self.fits}")
        if isinstance(data, dict):
            path = stem + ".data.safetensors"
            # A copy of each, as a file cannot have tensors that share their values.
            safetensors.torch.save_file({name: torch.as_tensor(value).detach().cpu().clone(memory_format=torch.contiguous_format)
                                         for name, value in data.items()}, path)
        else:
            path = os.fspath(data)
        log, exported = stem + ".jsonl", stem + ".safetensors"
        if os.path.exists(log):
            os.remove(log)  # a run adds to no log but its own
        begin = [] if flags.get("resume") else ["--init", self.parameters]  # a checkpoint has the parameters
        run([*self._starter(launch), self.executable, *begin, "--inputs" if path.endswith(".safetensors") else "--data", path, "--steps", str(steps), "--lr", repr(float(lr)),
             "--log", log, "--export", exported, *spell_flags(flags)])
        with open(log) as file:
            records = [json.loads(line) for line in file]
        self.parameters = exported
        self.fits += 1
        return [float.fromhex(record["loss_hex"]) for record in records if record.get("event") == "step"]

    def load_into(self, model):
        """Loads parameters and persistent buffers into the module, in place. They must be the module's, by name, shape and
        type; a tied one is there under each of its names. Buffers have the values of the export: training changes none."""
        state = safetensors.torch.load_file(self.parameters)
        if not self.fits:  # the weights of an import have the first name of each only
            for parameter in self.program["parameters"]:
                state.update({alias: state[parameter["name"]] for alias in parameter.get("aliases", [])})
        own = {name: value for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
        wrong = [f"{name} is not in the export" for name in own if name not in state]
        wrong += [f"{name} is not in the model" for name in state if name not in own]
        wrong += [f"{name} is {describe(state[name])} in the export and {describe(tensor)} in the model"
                  for name, tensor in own.items() if name in state and describe(state[name]) != describe(tensor)]
        if wrong:
            raise Error("the model is not the one that was exported: " + "; ".join(wrong))
        model.load_state_dict(state, strict=False)  # of an extra state there is nothing
        return model

    def _starter(self, launch):
        """The words before the executable's."""
        if launch == "threads":
            return []
        if launch != "mpirun":
            raise ValueError(f"launch is {launch!r}, neither 'threads' nor 'mpirun'")
        as_root = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"] if os.geteuid() == 0 else []
        return [*as_root, "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "odls_base_sigkill_timeout", "10",
                "--mca", "btl", "self,vader", "-np", str(self.ranks)]


def describe(tensor):
    """"float32 [2, 3]" """
    return f"{str(tensor.dtype).replace('torch.', '')} {list(tensor.shape)}"


def find_binary(given):
    """The path of ppopt."""
    if given or os.environ.get("PPOPT"):
        wanted = os.fspath(given or os.environ["PPOPT"])
        source = "the argument ppopt" if given else "$PPOPT"
    else:
        wanted, source = "ppopt", "PATH"
    found = shutil.which(wanted)
    if not found:
        raise Error(f"no program {wanted} (by {source}): install ppopt, or give its path as ppopt=… or $PPOPT")
    return found


def spell_flags(flags):
    """{"weight_decay": 0.1, "no_shuffle": True} -> ["--weight-decay", "0.1", "--no-shuffle"]; None and False are left out."""
    words = []
    for name, value in flags.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            # With "=", which a negative number needs.
            words[-1] += "=" + (",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value))
    return words


def capture(command):
    """Prints a command, and returns its output."""
    print("$ " + shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Error((done.stderr or done.stdout).strip())
    return done.stdout


def run(command):
    """Prints a command, runs it, and prints its output as it comes."""
    print("$ " + shlex.join(command), flush=True)
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines = [*lines[1 - LAST_LINES:], line]
    if process.returncode != 0:
        # What mpirun adds after the error says nothing of its cause.
        said = [line for line in lines if re.search(r"\berror: ", line)] or lines
        raise Error("".join(said).strip() or f"{command[0]} ended with status {process.returncode}")
