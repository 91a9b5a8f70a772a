"""The rows of the table of ops that no other row or model has, each argument with a value that is not its default."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from op_cases import BATCH, Case, row
from op_rows_losses import Layer

aten = torch.ops.aten


@row()
def instance_norms(r):
    for make, sizes in (nn.InstanceNorm1d, [5]), (nn.InstanceNorm2d, [2, 4]), (nn.InstanceNorm3d, [2, 1, 3]):
        layer = Layer(lambda make=make: make(4, affine=True, eps=1e-3, momentum=0.3))
        yield Case(lambda rows, layer=layer, make=make, **p: layer(lambda y: y + make(4)(rows), rows=rows, **p), layer.parameters(r),
                   dict(rows=r.normal(BATCH, 4, *sizes)), label=make.__name__[-2:], core=False)
    yield Case(lambda x: F.instance_norm(x, eps=1e-2, momentum=0.7), dict(x=r.normal(2, 3, 4)), label="function", core=False)
    yield Case(lambda x, mean, variance: F.instance_norm(x, mean, variance, use_input_stats=False), dict(x=r.normal(2, 3, 4)),
               constants=dict(mean=r.normal(3), variance=r.positive(3)), label="statistics", refused="running statistics")


@row()
def batch_norms(r):
    def statistics():
        return dict(mean=r.normal(3), variance=r.positive(3))
    x, affine = dict(x=r.normal(4, 3, 2)), dict(weight=r.normal(3), bias=r.normal(3))
    yield Case(lambda x, weight, bias, mean, variance: F.batch_norm(x, mean, variance, weight, bias, training=True, momentum=0.3, eps=1e-2),
               x | affine, constants=statistics(), label="training", core=False)
    yield Case(lambda x, mean, variance: F.batch_norm(x, mean, variance, training=True), x, constants=statistics(), label="plain", core=False)
    yield Case(lambda x, weight, mean, variance: F.batch_norm(x, mean, variance, weight, momentum=0.3, eps=1e-2), x | dict(weight=affine["weight"]),
               constants=statistics(), label="evaluation")
    yield Case(lambda x, weight, bias, mean, variance: aten._native_batch_norm_legit(x, weight, bias, mean, variance, True, 0.3, 1e-2)[0],
               x | affine, constants=statistics(), label="legit", core=False)
    yield Case(lambda x, weight, bias, mean, variance: aten.native_batch_norm(x, weight, bias, mean, variance, True, 0.3, 1e-2)[0],
               x | affine, constants=statistics(), label="native", core=False)
    yield Case(lambda x, weight, bias, mean, variance: aten._native_batch_norm_legit_no_training(x, weight, bias, mean, variance, 0.3, 1e-2)[0],
               x | affine, constants=statistics(), label="no_training", core=False)
    yield Case(lambda x: aten._native_batch_norm_legit.no_stats(x, None, None, True, 0.1, 1e-5)[0], x, label="no_stats", refused="no_stats")


@row()
def other_norms(r):
    x, w = r.normal(3, 4), r.normal(4)
    yield Case(lambda x, w: [aten._fused_rms_norm(x, [4], w, 1e-2)[0], aten._fused_rms_norm(x, [3, 4], None, None)[0]], dict(x=x, w=w), label="rms", core=False)
    yield Case(lambda v, g, u: [aten._weight_norm_interface(v, g, 0)[0], aten._weight_norm_interface(v, u, 1)[0]],
               dict(v=x, g=r.normal(3, 1), u=r.normal(1, 4)), label="weight", core=False)
    yield Case(lambda x: [aten.norm.Scalar(x), aten.norm.Scalar(x, 3), aten.norm.ScalarOpt_dim(x, 1, [0]), aten.norm.ScalarOpt_dim(x, None, [-1], True),
                          aten.norm.ScalarOpt_dim_dtype(x, 2.5, [0, 1], False, dtype=torch.float64),
                          aten.norm.ScalarOpt_dim_dtype(x, float("inf"), [1], True, dtype=torch.float64)], dict(x=r.distinct(3, 4)), label="orders")


@row()
def spreads(r):
    """Standard deviations and variances: every overload."""
    x = dict(x=r.normal(3, 4, 2))
    for name in "std", "var":
        f, both = getattr(torch, name), getattr(torch, f"{name}_mean")
        yield Case(lambda x, f=f: [f(x), f(x, unbiased=False), f(x, 1), f(x, [0, -1], unbiased=False, keepdim=True), f(x, dim=1, correction=0),
                                   f(x, dim=None, correction=2, keepdim=True), f(x, dim=(0, 2), correction=1.5)], x, label=name)
        yield Case(lambda x, f=both: [*f(x), *f(x, unbiased=False), *f(x, 1), *f(x, [0, -1], unbiased=False, keepdim=True),
                                      *f(x, dim=(0, 2), correction=1.5, keepdim=True)], x, label=f"{name}_mean")


@row()
def truths(r):
    x, y = r.normal(3, 4, 2), r.normal(4, 1)
    yield Case(lambda x, y: x * (((x > 0) & (y < 0.5)) | ((x < -1) ^ (y > 0))), dict(x=x, y=y), label="operators")
    yield Case(lambda x, y: x * (aten.__or__.Tensor(aten.__and__.Tensor(x > 0, y < 0.5), aten.__xor__.Tensor(x < -1, y > 0)) | torch.bitwise_xor(x > y, x > 1)),
               dict(x=x, y=y), label="names", core=False)
    yield Case(lambda x: [x * torch.any(x > 1), x * torch.any(x > 1, dim=(0, -1), keepdim=True), x[0] * torch.any(x > 1, 0),
                          x * torch.all(x > -1, dim=(0, 2), keepdim=True), x[:, 0] * torch.all(x > -1, 1, keepdim=False),
                          x * torch.all(x > -9)], dict(x=x), label="any_all")
    yield Case(lambda x: [x * torch.count_nonzero(x > 0), x[0] * torch.count_nonzero(x > 0, 0), x[0, :, 0] * torch.count_nonzero(x > 0, (0, -1))], dict(x=x),
               label="count")
    def not_finite(x):
        z = torch.where(x.detach() > 0, x.detach() / 0, x.detach())
        return [x * torch.isinf(z), x * torch.isnan(z * 0), x * torch.isfinite(z)]
    yield Case(not_finite, dict(x=x), label="not_finite", core=False)
    yield Case(lambda x, y: [x * torch.where(x > 0, 2.0, -0.5), x * torch.where(x > 0, 3, 7), torch.where(x > y, x, 1.5), torch.where(x > y, -1, x)],
               dict(x=x, y=y), label="where")


@row()
def formulas_of_one(r):
    x = dict(x=3 * r.distinct(3, 4))
    yield Case(lambda x: [F.glu(x), F.glu(x, 1), F.glu(torch.cat([x, x * x]), dim=0)], x, label="glu")
    yield Case(lambda x: [F.hardsigmoid(x), F.hardsigmoid(x * 2, inplace=True)], x, label="hardsigmoid")
    yield Case(lambda x, w: [aten._prelu_kernel(x, w), aten._safe_softmax(x, 0), aten._safe_softmax(x, -1, dtype=torch.float64), aten._unsafe_view(x, [2, -1])],
               x | dict(w=r.normal(1, 4)), label="core", core=False)
    yield Case(lambda x: [x * torch.div(x, 0.7, rounding_mode="floor"), x * aten.div.Scalar_mode(x, -2, rounding_mode="trunc"), torch.div(x, 3, rounding_mode=None), aten.div.Scalar(x, -1.7),
                          x * (x.detach() // 0.9), x * aten.floor_divide.Scalar(x.detach(), -1.1)], x, label="division", core=False)
    yield Case(lambda x, y: [torch.clamp_max(x, y), torch.clamp_min(x, y), torch.clamp_max(x, 0.3), torch.clamp_min(x, -0.3), torch.rsub(x, y, alpha=2.5),
                             torch.rsub(x, 3, alpha=-2)], x | dict(y=r.normal(4)), label="of_two")
    yield Case(lambda x: [x.to("cpu", torch.float64), x.to("cpu", torch.float64, copy=True), x.to(torch.float64, copy=True), aten.to.other(x, x * 2, copy=True),
                          aten.to.dtype_layout(x, dtype=torch.float64, device="cpu"), x.t().contiguous(), x.contiguous(memory_format=torch.contiguous_format)],
               x, label="to", core=False)


@row()
def dropouts(r):
    """What drops nothing, or everything."""
    x = dict(x=r.normal(2, 3, 4))
    yield Case(lambda x: [f(x, p, training=training) for f in (F.dropout, F.alpha_dropout, F.feature_alpha_dropout, F.dropout1d)
                          for p, training in ((0.4, False), (0.0, True))], x, label="nothing", core=False)
    yield Case(lambda x: [F.dropout(x, 1.0), F.dropout2d(x[None], 0.4, training=False), F.dropout3d(x[None], 0.4, training=False)], x, label="layers", core=False)
    yield Case(lambda x: [aten.native_dropout(x, 0.4, False)[0], aten.native_dropout(x, 0.0, True)[0]], x, label="native", core=False)
    for f in F.alpha_dropout, F.feature_alpha_dropout, F.dropout2d:
        yield Case(lambda x, f=f: f(x[None], 0.4, training=True), x, label=f.__name__, refused="drops in training")
    yield Case(lambda x: [x * torch.bernoulli(x.detach(), p=1.0), x * torch.bernoulli(x.detach(), p=0.0), x * aten.normal_functional(x.detach(), 0.5, 0.0)], x, label="random", core=False)


@row()
def layouts(r):
    x, y = r.normal(3, 4), r.normal(3)
    yield Case(lambda x, y: [torch.column_stack([y, x, y[:, None]]), torch.vstack([x[0], x * 2])], dict(x=x, y=y), label="stacks")
    yield Case(lambda x, y: [torch.atleast_1d(y.mean()), torch.atleast_1d(x), torch.atleast_2d(y.sum()), torch.atleast_2d(y)], dict(x=x, y=y),
               label="at_least", core=False)
    yield Case(lambda x, y: [*aten.meshgrid.default([y, x[0]]), *torch.meshgrid(y, x[0], indexing="xy"), *torch.meshgrid(x[0], y, x[1], indexing="ij")],
               dict(x=x, y=y), label="meshgrid", core=False)
    z = dict(z=r.normal(4, 2, 5))
    yield Case(lambda z: [*torch.dsplit(z, [1, 3]), *torch.vsplit(z, [1, 2]), *torch.hsplit(z, (1,)), *aten.split.sizes(z, [1, 4], -1),
                          *aten.split.sizes(z, [3, 1]), *torch.split(z, [2, 3], dim=2)], z, label="splits")
    yield Case(lambda z: [torch.movedim(z, (0, 1), (-1, 0)), torch.movedim(z, [2], [0]), torch.movedim(z, -1, 1)], z, label="movedim")
    yield Case(lambda z: [(z * 2).fill_(3.0) * z, torch.fill(z, z[0, 0, 0]), torch.fill(z, -1) * z], z, label="fill", core=False)


@row()
def bags(r):
    weight = dict(weight=r.normal(7, 4))
    ids, some = torch.tensor([[1, 5, 2], [0, 2, 2], [6, 1, 1]]), torch.tensor([1, 5, 2, 0, 3, 6])
    for mode in "sum", "mean", "max":
        yield Case(lambda weight, ids, mode=mode: F.embedding_bag(ids, weight, mode=mode), weight, dict(ids=ids), label=mode)
    yield Case(lambda weight, scale, ids: [F.embedding_bag(ids, weight, mode="sum", per_sample_weights=scale), F.embedding_bag(ids, weight, padding_idx=2)],
               weight | dict(scale=r.normal(3, 3)), dict(ids=ids), label="options")
    def of_offsets(f):
        """The last of `last` is the end, and no bag."""
        return lambda weight, ids, offsets, last: [f(weight, ids, offsets, False, 1)[0], f(weight, ids, last, False, 0, False, None, True)[0]]
    constants = dict(ids=some, offsets=torch.tensor([0, 2, 4]), last=torch.tensor([0, 2, 4, 6]))
    yield Case(of_offsets(aten.embedding_bag), weight, constants=constants, label="offsets", core=False)
    yield Case(of_offsets(aten._embedding_bag), weight, constants=constants, label="offsets_inner", core=False)
    yield Case(lambda weight, **ids: [weight[:3] * bags for bags in of_offsets(aten._embedding_bag_forward_only)(weight.detach(), **ids)], weight,
               constants=constants, label="offsets_forward_only", core=False)


@row()
def same_windows(r):
    for f, sizes, window in (F.conv2d, [5, 4], [3, 2]), (F.conv3d, [3, 4, 2], [2, 3, 1]):
        yield Case(lambda weight, bias, image, f=f: [f(image, weight, bias, padding="same", dilation=2, groups=2), f(image, weight, stride=2, padding="valid", groups=2)],
                   dict(weight=r.normal(4, 1, *window), bias=r.normal(4)), dict(image=r.normal(BATCH, 2, *sizes)), label=f.__name__)


@row()
def recurrent_modes(r):
    for label, given in {"": {}, "layers": dict(num_layers=2), "both_ways": dict(bidirectional=True), "no_bias": dict(bias=False)}.items():
        layer = Layer(lambda given=given: nn.RNN(3, 2, nonlinearity="relu", batch_first=True, **given))
        yield Case(lambda rows, layer=layer, **p: layer(lambda y: y[0], rows=rows, **p), layer.parameters(r), dict(rows=r.normal(BATCH, 4, 3)), label=label)
    for make in nn.LSTM, nn.GRU, nn.RNN:
        layer = Layer(lambda make=make: make(3, 2, batch_first=True, num_layers=2, dropout=0.4).eval())
        yield Case(lambda rows, layer=layer, **p: layer(lambda y: y[0], rows=rows, **p), layer.parameters(r), dict(rows=r.normal(BATCH, 4, 3)),
                   label=f"{make.__name__}_evaluation")
    # Steps first, from a state that is given.
    yield Case(lambda x, h, w, u, b, d: [*torch.rnn_relu(x, h, (w, u, b, d), True, 1, 0.0, False, False, False)],
               dict(x=r.normal(4, 2, 3), h=r.normal(1, 2, 2), w=r.normal(2, 3), u=r.normal(2, 2), b=r.normal(2), d=r.normal(2)), label="steps_first")


@row()
def likelihoods(r):
    classes = dict(x=r.normal(BATCH, 5)), dict(y=torch.tensor([1, 4, 0])), dict(weight=r.positive(5))
    points = dict(x=r.normal(BATCH, 5, 2, 2)), dict(y=r.ids(5, BATCH, 2, 2)), dict(weight=r.positive(5))
    reductions = {"mean": 1, "sum": 2, "none": 0}
    for label, given, f, forward in ("1d", classes, aten.nll_loss, aten.nll_loss_forward), ("2d", points, aten.nll_loss2d, aten.nll_loss2d_forward):
        yield Case(lambda x, y, weight: [F.nll_loss(x, y, weight, ignore_index=1, reduction=k) for k in reductions], *given, label=label)
        yield Case(lambda x, y, weight, f=f: [f(x, y, weight, k, 1) for k in reductions.values()] + [f(x, y)], *given, label=f"{label}_ops", core=False)
        yield Case(lambda x, y, weight, f=forward: [f(x, y, weight, k, 1)[0] for k in reductions.values()] + [f(x, y, None, 1, -100)[0]], *given,
                   label=f"{label}_forward", core=False)
    yield Case(lambda x, y: [F.soft_margin_loss(x, y, reduction=k) for k in reductions], dict(x=2 * r.normal(BATCH, 4)),
               dict(y=torch.where(r.flags(BATCH, 4), 1.0, -1.0).double()), label="soft_margin")
