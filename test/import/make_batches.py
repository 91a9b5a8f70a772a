#!/usr/bin/env python3
"""Makes archives of models that compute with the number of their rows, which a Dim names. Needs PyTorch.

    make_batches.py FOLDER

batch_NAME.pt2.gz, for each module here: what it does to the rows is on the line that ends with "# here".
"""
import pathlib
import sys

import torch

import archives


class Module(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([0.5, 1.0, 2.0]))


class Scaled(Module):
    def forward(self, x):
        return ((x * self.w) ** 2).sum() / x.shape[0]  # here


class Numbered(Module):
    def forward(self, x):
        numbers = torch.arange(x.shape[0]).to(x.dtype)
        return ((x * self.w).sum(1) * numbers).sum()  # here


class Repeated(Module):
    def forward(self, x):
        repeated = self.w.expand(x.shape[0], 3)  # here
        return (x * self.w).mean() + repeated.sum()


class Softened(Module):
    def forward(self, x):
        weights = torch.zeros(x.shape[0]).softmax(0)
        return ((x * self.w).sum(1) * weights).sum()  # here


class Filled(Module):
    def forward(self, x):
        weights = torch.full((x.shape[0], 1), 1.0 / x.shape[0])
        return (x * self.w * weights).sum()  # here


class Counted(Module):
    def forward(self, x):
        count = torch.ones(x.shape[0]).sum()
        return (x * self.w).sum() / count  # here


class Sliced(Module):
    def forward(self, x):
        first = torch.cat([self.w, self.w, self.w])[:x.shape[0]]  # here
        return (x * self.w).mean() + first.sum()


class Multiplied(Module):
    """All sizes are symbols of one form."""

    def forward(self, x):
        flat = (x * self.w).reshape(x.shape[0] * 3)
        return flat.sum() / flat.shape[0]  # here


class Spread(Module):
    """Exported with fixed sizes; the model counts the rows."""

    def forward(self, x):
        y = x * self.w
        return y.std(0).mean() + y.var() + y.std(1).mean()


MODELS = [Scaled, Numbered, Repeated, Softened, Filled, Counted, Sliced, Multiplied]


def main():
    folder = pathlib.Path(sys.argv[1])
    for model in [*MODELS, Spread]:
        dims = {"x": {0: torch.export.Dim("rows", min=2, max=8)}} if model in MODELS else None
        program = torch.export.export(model(), (torch.ones(4, 3),), dynamic_shapes=dims)
        path = folder / f"batch_{model.__name__.lower()}.pt2"
        archives.save(program, path)
        archives.compress(path)


if __name__ == "__main__":
    main()
