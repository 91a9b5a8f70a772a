"""What make_archives.py is told of a model."""
import dataclasses
from typing import Any

import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS, SEQ, VOCAB, WIDTH, LAYERS = 4, 10, 40, 16, 2

# Losses that import adds to a program that has none (--loss).
CRITERIA = {
    "cross_entropy": lambda output, targets: F.cross_entropy(output.flatten(0, -2), targets.flatten()),
    "mse": F.mse_loss,
    "bce": F.binary_cross_entropy_with_logits,
}


@dataclasses.dataclass
class Model:
    module: nn.Module
    draw: Any                # rows -> the inputs by name, in the order of forward (then "targets", where there is a criterion)
    constants: dict = dataclasses.field(default_factory=dict)  # further keyword arguments of forward
    loss: Any = lambda output: output  # the loss, given what forward returns
    criterion: str = None    # forward returns no loss: the one to be added
    dims: dict = None        # dynamic_shapes of torch.export
    batch_dims: dict = dataclasses.field(default_factory=dict)  # of inputs whose first dimension, as draw makes them, is another one for forward
    types: tuple = ("f64",)  # "f32", "f64": NAME.pt2 and NAME_f64.pt2; one type: NAME.pt2 alone
    mixes_rows: bool = False # no sum over microbatches is that of the batch
    core: bool = False       # also NAME_core.pt2, after run_decompositions, of the last type
    train: bool = True       # the mode in which it is exported
    random: bool = False     # draws random numbers (dropout): no figures


def ids(rows, length=SEQ, vocab=VOCAB):
    return torch.randint(0, vocab, (rows, length))
