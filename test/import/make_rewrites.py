#!/usr/bin/env python3
"""Makes archives of what import rewrites. Needs PyTorch.

    make_rewrites.py FOLDER

composites.pt2.gz, composites_f64.pt2.gz: formulas that import recognises as one op, each followed by near misses.
modules.pt2.gz: modules that become functions, and some that do not.
notes.pt2.gz: what import drops or finds strange, which it says. repeated.pt2.gz: a constant that repeats itself.
"""
import gzip
import io
import math
import pathlib
import sys
import zipfile

import torch


def inverse_rms(x, dim=-1, eps=1e-6, power=2):
    return torch.rsqrt(x.pow(power).mean(dim, keepdim=True) + eps)


def gate(x, cubic=0.044715):
    return torch.tanh(math.sqrt(2 / math.pi) * (x + cubic * torch.pow(x, 3.0)))


class Composites(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.linspace(0.5, 1.5, 8))
        self.square = torch.nn.Parameter(torch.linspace(0.5, 1.5, 64).reshape(8, 8))

    def forms(self, x):
        w, wx = self.w, self.w * x
        # rms_norm
        yield w * (x * inverse_rms(x))
        yield (inverse_rms(x, eps=1e-5) * x) * w
        yield x * inverse_rms(x)
        # Two uses of an inner value.
        yield w * (x * inverse_rms(x)) + inverse_rms(x)
        # Not over the last dimension, of the cube, of another tensor, with a weight that is no vector.
        yield w * (x * inverse_rms(x, dim=1))
        yield w * (x * inverse_rms(x, power=4))
        yield w * (x * inverse_rms(x + 1))
        yield self.square * (x * inverse_rms(x))
        # gelu by tanh: as GPT-2 has it, and in a product.
        yield 0.5 * x * (1.0 + gate(x))
        yield 0.5 * x * (1.0 + torch.tanh(x * 0.7978845608 * (1.0 + 0.044715 * x * x)))
        yield 0.5 * wx * (1.0 + gate(wx))
        yield 0.5 * x * (1.0 + gate(x)) + gate(x)
        # Another constant, another tensor.
        yield 0.5 * x * (1.0 + gate(x, cubic=0.0447))
        yield 0.5 * x * (1.01 + gate(x))
        yield 0.5 * w * (1.0 + gate(x))
        # gelu by erf.
        yield x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))
        yield x * 0.5 * (1.0 + torch.erf(x / 1.4))
        # silu
        yield x * torch.sigmoid(x)
        yield torch.sigmoid(wx) * wx
        yield x * torch.sigmoid(1.702 * x)
        yield w * torch.sigmoid(x)

    def forward(self, x):
        loss = x.new_zeros(())
        for form in self.forms(x):
            loss = loss + form.amax((0, 1, 2))
        return loss


class Layer(torch.nn.Module):
    def __init__(self, width=8, eps=1e-5):
        super().__init__()
        self.norm = torch.nn.LayerNorm(8, eps=eps)
        self.up, self.down = torch.nn.Linear(8, width), torch.nn.Linear(width, 8)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Pair(torch.nn.Module):
    """A layer within a module that stands once."""

    def __init__(self):
        super().__init__()
        self.layer, self.linear = Layer(), torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.tanh(self.linear(self.layer(x)))


class Leaky(Layer):
    """An inner value of the second one is read."""

    def forward(self, x):
        inner = torch.tanh(self.up(self.norm(x)))
        return x + self.down(inner), inner


class Modules(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Layer(), Layer()])
        self.shared, self.other, self.wide, self.pair = Layer(), Layer(eps=1e-3), Layer(width=12), Pair()
        self.leaky = torch.nn.ModuleList([Leaky(), Leaky()])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        x = self.shared(x)
        x = self.other(x)
        x = self.shared(x)
        x = self.pair(self.wide(x))
        for leaky in self.leaky:
            x, inner = leaky(x)
        return (x + inner).pow(2).mean()


class Noted(torch.nn.Module):
    """Has other results, the loss not first; is exported in evaluation mode, and with one tensor for both inputs."""

    def __init__(self):
        super().__init__()
        self.up, self.dropout = torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)

    def forward(self, x, y):
        up = self.dropout(self.up(x))
        return {"penalty": up.pow(2).mean(), "loss": (up - y).pow(2).mean(), "best": up.argmax(-1)}


class Repeated(torch.nn.Module):
    """A constant with the heads in its first dimension, for each row the same, as BLOOM makes its alibi."""

    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(8))

    def forward(self, x):
        slopes = torch.arange(2.0).reshape(1, 2, 1, 1) * torch.arange(8.0)
        alibi = slopes.expand(x.shape[0], 2, 4, 8).reshape(-1, 4, 8)
        heads = (x * self.w).reshape(-1, 4, 8)
        return (heads + alibi).pow(2).mean()


def save(path, module, dtype=torch.float32, inputs=1):
    """The archive with sources by their file's name, and no other traces of the machine. All inputs are one tensor."""
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(module.to(dtype), (torch.randn(4, 8, 8, dtype=dtype),) * inputs), buffer)
    here = str(pathlib.Path(__file__).resolve())
    written = io.BytesIO()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(written, "w") as target:
        for entry in source.infolist():
            data = source.read(entry)
            if entry.filename.endswith("/models/model.json"):
                data = data.replace(here.encode(), pathlib.Path(here).name.encode())
            if "/sample_inputs/" not in entry.filename:
                target.writestr(zipfile.ZipInfo(entry.filename), data)
    path.write_bytes(gzip.compress(written.getvalue(), mtime=0))


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    save(folder / "composites.pt2.gz", Composites())
    save(folder / "composites_f64.pt2.gz", Composites(), torch.float64)
    save(folder / "modules.pt2.gz", Modules())
    save(folder / "notes.pt2.gz", Noted().eval(), inputs=2)
    save(folder / "repeated.pt2.gz", Repeated())
