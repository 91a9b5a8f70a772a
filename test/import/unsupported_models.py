"""Models with one op each that import refuses. The line that it must name ends with a marker."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Base(nn.Module):
    """A linear layer before and after the op."""

    def __init__(self, width=6):
        super().__init__()
        self.first, self.last = nn.Linear(6, width), nn.Linear(width, 3)

    def loss(self, x, y):
        return F.mse_loss(self.last(x), y)


class Interpolate(nn.Module):
    """Values between the elements of an image."""

    def __init__(self):
        super().__init__()
        self.scale, self.head = nn.Parameter(torch.ones(2, 1, 1)), nn.Linear(2, 3)

    def forward(self, image, y):
        x = F.interpolate(image * self.scale, scale_factor=2, mode="bilinear")  # unsupported
        return F.mse_loss(self.head(x.mean((2, 3))), y)


class BatchNorm(Base):
    """Without running statistics: the mean over the batch is what is missing."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6, track_running_stats=False)

    def forward(self, x, y):
        x = self.norm(self.first(x))  # unsupported
        return self.loss(x, y)


class RunningMean(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("average", torch.zeros(6))

    def forward(self, x, y):
        x = self.first(x)
        self.average.copy_(x.detach().mean(0))  # unsupported
        return self.loss(x, y)


class MaxPool2d(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.head = nn.Parameter(torch.ones(2, 1, 1)), nn.Linear(2, 3)

    def forward(self, image, y):
        x = F.max_pool2d(image * self.scale, 2)  # unsupported
        return F.mse_loss(self.head(x.mean((2, 3))), y)


class IndexPut(Base):
    def forward(self, x, columns, y):
        x = self.first(x)
        rows = torch.arange(x.shape[0])
        x = torch.index_put(x, (rows, columns), x.mean(1))  # unsupported
        return self.loss(x, y)


class LogCumSumExp(Base):
    def forward(self, x, y):
        x = torch.logcumsumexp(self.first(x), dim=1)  # unsupported
        return self.loss(x, y)


class NonZero(Base):
    """How many rows there are depends on the data."""

    def forward(self, x, kept, y):
        x = self.loss(self.first(x), y) * x
        rows = torch.nonzero(kept)  # unsupported
        return x.sum() + rows.sum()


class Fft(Base):
    def forward(self, x, y):
        x = torch.fft.rfft(self.first(x)).abs()  # unsupported
        return self.loss(torch.cat([x, x[:, :2]], 1), y)


class StatisticsRead(Base):
    """Running statistics that another op reads too, after their update."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x, y):
        x = self.norm(self.first(x))  # unsupported
        return self.loss(x + self.norm.running_mean, y)


class BatchesRead(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(6)

    def forward(self, x, y):
        x = self.norm(self.first(x))
        x = x / self.norm.num_batches_tracked  # unsupported
        return self.loss(x, y)


def numbers(rows=4):
    return torch.randn(rows, 6), torch.randn(rows, 3)


def image():
    return torch.randn(4, 2, 6, 6), torch.randn(4, 3)


def with_integers(values):
    x, y = numbers()
    return x, values, y


# name: (model, inputs, the op as the graph names it)
MODELS = {
    "interpolate": (Interpolate, image, "aten.upsample_bilinear2d.vec"),
    "batch_norm": (BatchNorm, numbers, "aten.batch_norm.default"),
    "running_mean": (RunningMean, numbers, "aten.copy_.default"),
    "max_pool2d": (MaxPool2d, image, "aten.max_pool2d.default"),
    "index_put": (IndexPut, lambda: with_integers(torch.randint(0, 6, (4,))), "aten.index_put.default"),
    "logcumsumexp": (LogCumSumExp, numbers, "aten.logcumsumexp.default"),
    "nonzero": (NonZero, lambda: with_integers(torch.tensor([1, 0, 1, 1])), "aten.nonzero.default"),
    "fft": (Fft, numbers, "aten.fft_rfft.default"),
    "statistics_read": (StatisticsRead, numbers, "aten.batch_norm.default"),
    "batches_read": (BatchesRead, numbers, "aten.div.Tensor"),
}
