"""What checkpoints hold: folders of steps, and the tensors of their files."""
import glob
import os

import numpy as np

from support import safetensors_io


def step_folder(folder, step):
    return os.path.join(folder, f"step-{step:08}")


def tensors_of(checkpoint, part):
    """All tensors of a part; each is in one file."""
    tensors = {}
    for path in sorted(glob.glob(os.path.join(checkpoint, part + "-*.safetensors"))):
        for name, array in safetensors_io.read(path).items():
            assert name not in tensors, f"{name} is in two files"
            tensors[name] = array
    return tensors


def expect_same_bits(ours, theirs):
    assert ours.keys() == theirs.keys(), f"names differ: {sorted(set(ours) ^ set(theirs))}"
    for name, array in theirs.items():
        assert array.shape == ours[name].shape, f"{name}: {ours[name].shape} instead of {array.shape}"
        assert array.tobytes() == ours[name].tobytes(), f"{name} differs in {np.sum(array != ours[name])} of {array.size} elements"
