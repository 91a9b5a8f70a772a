"""--batch of imported models that compute with the number of their rows (make_batches.py made them), and --batch-dim."""
import os
import pathlib
import re
import subprocess

import numpy as np

from support import safetensors_io
from support.executable import checked, compile_model, environment, run

HERE = pathlib.Path(__file__).resolve().parent


# What the compiler refuses without being told.
REFUSED_ANYWAY = {"numbered": "is a constant with elements of its own for each row"}


def lines_of_models():
    """{name: the line that computes with the number of rows}"""
    lines, name = {}, None
    for number, line in enumerate((HERE / "make_batches.py").read_text().splitlines(), 1):
        if match := re.match(r"class (\w+)\(Module\):", line):
            name = match[1].lower()
        elif line.endswith("# here"):
            lines[name] = number
    return lines


def refused(command):
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode != 0, f"{' '.join(command)} is not refused"
    return done.stderr


def check_fixed(ppopt, scratch, unpacker):
    """Another --batch, and trainers that have a part of the rows, are refused at the line, and an evaluation is over whole batches. What the compiler does
    not see itself, import notes."""
    lines = lines_of_models()
    assert len(lines) >= 8, lines
    for name, line in lines.items():
        model, where = os.path.join(scratch, f"batch_{name}.mlir"), f"make_batches.py:{line}"
        note = f"note: the number of rows is a number in the model, at {where}: it cannot have another --batch"
        error = f"error: computes with the number of its rows, 4, at {where} and cannot have "
        reason = f"{where}: it computes with the number of a batch's rows"
        if name in REFUSED_ANYWAY:
            note, error = "", f"{where}:1: error: 'pp.mul' op can't be split over the batch: operand 1 {REFUSED_ANYWAY[name]}"
            reason = error.replace("error: ", "")
        said = checked([ppopt, "import", unpacker.unpack(f"batch_{name}.pt2", scratch), "-o", model]).stderr
        assert note in said and (note or not said), f"{name}: {said}"
        for flags in ["--batch", "8"], ["--mesh", "dp=2", "--sync", "stale=1", "--optimizer", "sgd"]:
            said = refused([ppopt, "plan", model, *flags])
            assert error in said, f"{name} {flags}: {said}"
        text = checked([ppopt, "compile", model, "--batch", "4", "--stop-after", "train"]).stdout
        assert f'mixes_rows = "{reason}' in text, f"{name}: {text[:500]}"


def check_spread(ppopt, scratch, unpacker):
    """The divisor of a variance over the rows follows --batch, which no Dim names, so that another one warns."""
    model, x = os.path.join(scratch, "batch_spread.mlir"), np.random.default_rng(0).standard_normal((8, 3)).astype(np.float32)
    checked([ppopt, "import", unpacker.unpack("batch_spread.pt2", scratch), "-o", model])
    weights = safetensors_io.read(model[:-5] + ".safetensors")
    for rows in 4, 8:
        warned = checked([ppopt, "compile", model, "--batch", str(rows), "--stop-after", "placed"]).stderr
        assert ("warning: the export of this model named no batch" in warned) == (rows == 8), warned
        train = compile_model(ppopt, model, model[:-5], ["--batch", str(rows)])
        loss = run(train, [], init=weights, inputs={"x": x}).losses[0]
        y = x[:rows].astype(np.float64) * weights["w"]
        expected = y.std(0, ddof=1).mean() + y.var(ddof=1) + y.std(1, ddof=1).mean()
        assert abs(loss - expected) < 1e-5 * expected, f"{rows} rows: {loss}, and it is {expected}"


def check_batch_dims(ppopt, scratch, unpacker):
    """What --batch-dim refuses, and what import says of inputs that it moves."""
    archive = unpacker.unpack("encoder_time_major.pt2", scratch)
    model = os.path.join(scratch, "batch-dims.mlir")
    import_it = [ppopt, "import", archive, "-o", model]
    for value, words in {
        None: "has the input 'label' with a batch of 4 and 'x' with one of 6: the batch is the first dimension of an input, or the one that --batch-dim "
              "names, as in --batch-dim label=1",
        "x=1,z=0": "has no input 'z', which --batch-dim names; it has 'x', 'label'",
        "label=1": "has the input 'label' of 1 dimension, and --batch-dim label=1 counts from 0",
        "x=1,3": "has no input with a dimension 3, which --batch-dim names",
        "2": "has the input 'label' with a batch of 4 and 'x' with one of 16",
        "x=9223372036854775807": "has the input 'x' of 3 dimensions",
        "x=9223372036854775808": "'x=9223372036854775808' is neither a dimension",
        "-1": "'-1' is neither a dimension, 0 or more, nor INPUT=DIM, e.g. x=1",
        "x": "'x' is neither", "x=": "'x=' is neither", "=1": "'=1' is neither", "1,": "'' is neither", "x=1,x=1=1": "has no input 'x=1'",
        "x=1,x=1": "the dimension of 'x' is given twice", "1,2": "a dimension of all inputs is given twice", "": "the value is empty",
    }.items():
        said = refused([*import_it, *([] if value is None else [f"--batch-dim={value}"])])
        assert words in said, f"--batch-dim={value}: {said}"
    for value in "1", "x=1", "1,label=0", "2,x=1":
        done = checked([*import_it, "--batch-dim", value])
        assert "note: the batch of the input 'x' is its dimension 1 for forward, and the first one of its data" in done.stderr, done.stderr
        recipe = "of which the first dimension is the batch, in DATA.safetensors too:\n  x f64 [4, 6, 16] (forward's [6, 4, 16])\n  label i64 [4]\n"
        assert recipe in done.stdout, done.stdout
