"""The rows of the table of ops that are losses, layers with several ops inside, and patches."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from op_cases import BATCH, Case, row


def classes(r, f, logits=None, targets=None, label="", **constants):
    logits = r.normal(BATCH, 5) if logits is None else logits
    targets = r.ids(5, BATCH) if targets is None else targets
    return Case(f, dict(x=logits), dict(y=targets), constants, label=label)


@row()
def cross_entropy(r):
    f = F.cross_entropy
    some = torch.tensor([2, -100, 4])
    yield classes(r, lambda x, y: f(x, y))
    yield classes(r, lambda x, y: f(x, y, reduction="sum"), label="sum")
    yield classes(r, lambda x, y: f(x, y, reduction="none"), label="none")
    yield classes(r, lambda x, y: f(x, y), targets=some, label="default_ignored")
    yield classes(r, lambda x, y: f(x, y, ignore_index=-1, reduction="sum"), targets=torch.tensor([-1, 3, 0]), label="ignore_index")
    yield classes(r, lambda x, y: f(x, y, label_smoothing=0.1), targets=some, label="label_smoothing")
    yield classes(r, lambda x, y: f(x, y), targets=r.normal(BATCH, 5).softmax(-1), label="probabilities")
    yield classes(r, lambda x, y, weight: f(x, y, weight), targets=some, label="weights", weight=r.positive(5))
    yield classes(r, lambda x, y: f(x, y), logits=r.normal(BATCH, 5, 4), targets=r.ids(5, BATCH, 4), label="positions")
    yield classes(r, lambda x, y: f(x.flatten(0, 1), y.flatten()), logits=r.normal(BATCH, 4, 5), targets=r.ids(5, BATCH, 4), label="flattened")
    yield classes(r, lambda x, y: f(x, y, label_smoothing=0.1), targets=r.normal(BATCH, 5).softmax(-1), label="smoothed_probabilities")


@row()
def nll_loss(r):
    yield classes(r, lambda x, y: F.nll_loss(F.log_softmax(x, -1), y))
    yield classes(r, lambda x, y: F.nll_loss(x, y, reduction="sum", ignore_index=1), targets=torch.tensor([1, 0, 3]), label="sum")
    yield classes(r, lambda x, y, weight: F.nll_loss(x, y, weight), label="weights", weight=r.positive(5))


@row()
def distance(r):
    names = {"mse": F.mse_loss, "l1": F.l1_loss, "smooth_l1": F.smooth_l1_loss, "huber": F.huber_loss}
    for name, f in names.items():
        for reduction in ("mean", "sum", "none"):
            yield Case(lambda x, y, f=f, k=reduction: f(x, y, reduction=k), dict(x=2 * r.distinct(BATCH, 4)), dict(y=r.normal(BATCH, 4)),
                       label=f"{name}_{reduction}")
    yield Case(lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), dict(x=r.normal(BATCH, 4)), dict(y=r.normal(BATCH, 4)), label="smooth_l1_beta")
    yield Case(lambda x, y: F.huber_loss(x, y, delta=0.5), dict(x=r.normal(BATCH, 4)), dict(y=r.normal(BATCH, 4)), label="huber_delta")


@row()
def binary(r):
    def case(f, label="", **constants):
        return Case(f, dict(x=2 * r.normal(BATCH, 4)), dict(y=r.flags(BATCH, 4).double()), constants, label)
    f = F.binary_cross_entropy_with_logits
    yield case(lambda x, y: f(x, y), "logits")
    yield case(lambda x, y: f(x, y, reduction="sum"), "logits_sum")
    yield case(lambda x, y, weight: f(x, y, weight), "logits_weight", weight=r.positive(4))
    yield case(lambda x, y, weight: f(x, y, pos_weight=weight), "logits_pos_weight", weight=r.positive(4))
    yield case(lambda x, y: F.binary_cross_entropy(torch.sigmoid(x), y), "probabilities")


@row()
def kl_div(r):
    def case(f, label=""):
        return Case(f, dict(x=r.normal(BATCH, 4)), dict(y=r.normal(BATCH, 4).softmax(-1)), label=label)
    yield case(lambda x, y: F.kl_div(x.log_softmax(-1), y))
    yield case(lambda x, y: F.kl_div(x.log_softmax(-1), y, reduction="batchmean"), "batchmean")
    yield case(lambda x, y: F.kl_div(x.log_softmax(-1), y.log(), reduction="sum", log_target=True), "log_target")


@row()
def patches(r):
    image = r.normal(BATCH, 3, 4, 6)
    yield Case(lambda weight, bias, image: F.conv2d(image, weight, bias, stride=2), dict(weight=r.normal(5, 3, 2, 2), bias=r.normal(5)), dict(image=image))
    yield Case(lambda weight, image: F.conv2d(image, weight, stride=(4, 3)), dict(weight=r.normal(5, 3, 4, 3)), dict(image=image), label="no_bias")
    yield Case(lambda weight, image: F.conv2d(image, weight), dict(weight=r.normal(5, 3, 1, 1)), dict(image=image), label="pointwise")


@row()
def convolutions(r):
    def case(label, f, weight, *image, outputs=0):
        given = dict(weight=r.normal(*weight)) | ({"bias": r.normal(outputs)} if outputs else {})
        return Case(f, given, dict(image=r.normal(BATCH, *image)), label=label)
    yield case("overlapping", lambda weight, bias, image: F.conv2d(image, weight, bias), (5, 3, 2, 2), 3, 4, 6, outputs=5)
    yield case("groups", lambda weight, image: F.conv2d(image, weight, stride=2, groups=3), (6, 1, 2, 2), 3, 4, 6)
    yield case("padded", lambda weight, bias, image: F.conv2d(image, weight, bias, padding=(1, 2), stride=(2, 1), dilation=(1, 2)), (4, 2, 3, 2), 2, 5, 6, outputs=4)
    yield case("causal", lambda weight, bias, image: F.conv1d(image, weight, bias, padding=3, groups=4)[..., :7], (4, 1, 4), 4, 7, outputs=4)
    yield case("same", lambda weight, image: F.conv1d(image, weight, padding="same", dilation=3), (3, 2, 4), 2, 9)
    yield case("valid", lambda weight, image: F.conv1d(image, weight, padding="valid"), (3, 2, 4), 2, 9)
    yield case("three", lambda weight, image: F.conv3d(image, weight, padding=1), (2, 2, 3, 3, 3), 2, 3, 4, 2)
    yield case("transposed", lambda weight, bias, image: F.conv_transpose1d(image, weight, bias, stride=3, padding=1, output_padding=2, dilation=2), (4, 3, 3), 4, 5,
               outputs=3)
    yield case("transposed_groups", lambda weight, image: F.conv_transpose2d(image, weight, stride=2, padding=1, groups=2), (4, 3, 3, 2), 4, 3, 4)
    yield case("transposed_three", lambda weight, image: F.conv_transpose3d(image, weight, stride=2), (2, 1, 2, 2, 2), 2, 2, 3, 2)
    yield Case(lambda weight, image: F.conv1d(image, weight, padding=1), dict(weight=r.normal(3, 2, 3)), {}, dict(image=r.normal(2, 5)), label="no_batch")


class Layer:
    """A module of torch.nn without parameters of its own: those of the case take their places."""

    def __init__(self, make):
        torch.manual_seed(0)
        self.module = make().double()
        self.names = [n for n, _ in self.module.named_parameters()]

    def parameters(self, r):
        return {n.replace(".", "_"): r.normal(*p.shape) * 0.5 for n, p in self.module.named_parameters()}

    def __call__(self, result=lambda y: y, **tensors):
        x = tensors.pop("rows")
        return result(torch.func.functional_call(self.module, {n: tensors[n.replace(".", "_")] for n in self.names}, (x,)))


@row()
def recurrent(r):
    kinds = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
    options = {"": {}, "_layers": dict(num_layers=2), "_both_ways": dict(bidirectional=True), "_no_bias": dict(bias=False)}
    for kind, make in kinds.items():
        for label, given in options.items():
            layer = Layer(lambda make=make, given=given: make(3, 2, batch_first=True, **given))
            yield Case(lambda rows, layer=layer, **p: layer(lambda y: y[0], rows=rows, **p), layer.parameters(r), dict(rows=r.normal(BATCH, 4, 3)),
                       label=kind + label)
    layer = Layer(lambda: nn.LSTM(3, 2, batch_first=True))
    yield Case(lambda rows, **p: layer(lambda y: y[1][0][0] + y[1][1][0], rows=rows, **p), layer.parameters(r), dict(rows=r.normal(BATCH, 4, 3)),
               label="lstm_last_state")
