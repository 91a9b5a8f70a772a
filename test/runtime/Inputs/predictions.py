"""predictions.py make FOLDER               writes parameters and inputs for ppopt-train-program (prediction_program.h)
predictions.py check FOLDER FILE NAME...  FILE has these outputs for the rows of x.safetensors and y.safetensors, in this order
predictions.py stop COMMAND...            SIGTERM (mpirun's ranks: SIGUSR1) ends the command, which leaves no file"""

import os
import signal
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import safetensors_io

WEIGHTS = np.array([0.5, -3.0])


def make(folder):
    draw = np.random.default_rng(7)
    rows = lambda count: draw.integers(0, 98, (count, 8), np.int32)
    write = lambda name, **tensors: safetensors_io.write(os.path.join(folder, name), tensors)
    write("p.safetensors", w=WEIGHTS, unused=np.zeros((1, 3), np.float32))
    write("x.safetensors", tokens=rows(23), targets=np.zeros((23, 8), np.int32))
    write("y.safetensors", tokens=rows(8))
    write("long.safetensors", tokens=rows(300000))
    bad = rows(23)
    bad[17, 0] = 99
    write("bad.safetensors", tokens=bad)
    write("short.safetensors", targets=np.zeros((23, 8), np.int32))


def check(folder, path, names):
    tokens = np.concatenate([safetensors_io.read(os.path.join(folder, name))["tokens"]
                             for name in ("x.safetensors", "y.safetensors")]).astype(np.int64)
    sums = tokens.sum(axis=1)
    all_outputs = {"tokens": tokens, "score": WEIGHTS[0] * sums + WEIGHTS[1], "even": sums % 2 == 0}
    found = safetensors_io.read(path)
    assert sorted(found) == sorted(names), sorted(found)
    for name in names:
        expected = all_outputs[name]
        assert found[name].dtype == expected.dtype, (name, found[name].dtype)
        assert np.array_equal(found[name], expected), (name, found[name], expected)


def stop(command):
    sent = signal.SIGUSR1 if "mpirun" in command[0] else signal.SIGTERM
    # A process sends it to itself in its first batch: the run is sure to last that long.
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=dict(os.environ, PPOPT_TEST_SIGNAL=str(int(sent))))
    last = [line for line in done.stdout.splitlines() if line.startswith("stopped by ")][-1]
    assert done.returncode == 128 + sent, done.returncode
    assert last.startswith(f"stopped by {sent.name} after ") and \
        last.endswith(" of 300000 rows: stopped.safetensors is not written"), last
    left = [name for name in os.listdir() if name.startswith("stopped.safetensors")]
    assert not left, left


if sys.argv[1] == "make":
    make(sys.argv[2])
elif sys.argv[1] == "check":
    check(sys.argv[2], sys.argv[3], sys.argv[4:])
else:
    stop(sys.argv[2:])
