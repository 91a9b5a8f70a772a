"""The rows of the table of ops that are composed of others: formulas, scans, contractions, diagonals."""
import torch
import torch.nn.functional as F

from op_cases import BATCH, Case, row


def all_of(functions):
    """One case of many functions of the parameters: their results as one vector."""
    return lambda **given: torch.cat([f(*given.values()).flatten() for f in functions])


@row()
def arithmetic(r):
    x, y, z = r.normal(3, 4), r.positive(4), r.normal(3, 1)
    yield Case(all_of([lambda x, y, z: torch.addcmul(x, y, z), lambda x, y, z: torch.addcmul(x, y, z, value=-0.5),
                       lambda x, y, z: torch.addcdiv(z, x, y), lambda x, y, z: torch.addcdiv(z, x, y, value=2),
                       lambda x, y, z: torch.lerp(x, y, 0.3), lambda x, y, z: torch.lerp(x, y, 0.75), lambda x, y, z: torch.lerp(x, y, z)]),
               dict(x=x, y=y, z=z))
    yield Case(all_of([torch.logaddexp, lambda input, other: torch.logaddexp(input, input * 1), torch.logaddexp2, torch.max, torch.min,
                       lambda input, other: torch.xlogy(input, other.abs()), lambda input, other: torch.xlogy(2.5, other.abs()),
                       lambda input, other: torch.xlogy(other.abs(), 0.7)]),
               dict(input=x, other=r.distinct(4)), label="of_logarithms")
    yield Case(lambda x: torch.xlogy(x.clamp(min=0), x.clamp(min=0)), dict(x=x), label="xlogy_of_zero")
    # Other names of ops.
    yield Case(all_of([lambda x: torch.multiply(x, x).negative(), lambda x: torch.subtract(torch.divide(x, 3), torch.true_divide(x, 7)).absolute(),
                       lambda x: torch.where(torch.greater(x, 0.3), x, -x), lambda x: torch.where(torch.less_equal(x, 0.3), x, -x), lambda x: x.positive(),
                       lambda x: torch.concat([x, x]), lambda x: torch.special.expit(x), lambda x: x.clip(min=0.1), lambda x: (x * 1).multiply_(2).clip_(-1, 1)]),
               dict(x=x), label="other_names")


@row()
def functions(r):
    x, positive = r.distinct(3, 4) * 0.3, r.positive(3, 4) * 0.3
    yield Case(all_of([torch.tan, torch.sinh, torch.cosh, torch.exp2, lambda x: torch.frac(x) * x, F.hardshrink, lambda x: F.hardshrink(x, 0.2), F.softshrink,
                       lambda x: F.softshrink(x, 0.2), lambda x: F.threshold(x, 0.1, 0.7), F.tanhshrink, F.softsign, torch.sgn, torch.nan_to_num,
                       lambda x: F.prelu(x, x[:1, 0]), lambda x: F.prelu(x, x[0] * 0.5), lambda x: F.prelu(x[0], x[1, :1])]), dict(x=x))
    yield Case(all_of([torch.logit, lambda x: torch.logit(x, 0.3), torch.log10, torch.log2]), dict(x=positive), label="of_positive")
    holes = torch.zeros(3, 4, dtype=torch.float64)
    holes[0, 0], holes[1, 1], holes[2, 2] = float("nan"), float("inf"), -float("inf")
    yield Case(lambda x, holes: torch.nan_to_num(x + holes, 0.5, 7, -8), dict(x=x), constants=dict(holes=holes), label="nan_to_num")
    yield Case(lambda x, ids: [torch.where(torch.isfinite(x), x, 0.0), x * torch.isfinite(ids)], dict(x=x), dict(ids=r.ids(9, BATCH, 4)), label="isfinite")
    yield Case(lambda weight, ids: weight * ids.to(torch.float64).prelu(weight[0, :1]), dict(weight=r.normal(BATCH, 4)), dict(ids=r.ids(9, BATCH, 4) - 4), label="prelu")


@row()
def rounded_quotients(r):
    """By a tensor and a number, of all signs; of integers too."""
    x, y = 2 * r.distinct(5, 4), r.distinct(5, 4)
    operators = [torch.remainder, torch.fmod, lambda x, y: torch.floor_divide(x.detach(), y.detach()) * x, lambda x, y: torch.div(x, y, rounding_mode="floor") * y,
                 lambda x, y: torch.div(x, y, rounding_mode="trunc") * y, lambda x, y: torch.remainder(x, -0.7), lambda x, y: torch.fmod(x, -0.7),
                 lambda x, y: (x.detach() // 0.4) * x, lambda x, y: torch.remainder(2.5, y.detach()) * x]
    yield Case(all_of(operators), dict(x=x, y=y))
    # Exact in float32 through float64: 1 % 0.1 is nearly 0.1.
    def tenths(x):
        t = (x.detach() * 0 + torch.arange(20).view(5, 4)).float() * torch.tensor(0.1, dtype=torch.float32)
        return [(f(t, 0.1).double() + x) for f in (torch.remainder, torch.fmod, torch.floor_divide)]
    yield Case(tenths, dict(x=x), label="of_float32")
    def integers(x, ids):
        a, b = ids - 9, (ids % 7) - 3
        b = torch.where(b == 0, 2, b)
        return [(x * f(a, b)) for f in (torch.remainder, torch.fmod, torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="trunc"),
                                      lambda a, b: a // -3, lambda a, b: a % -3, lambda a, b: torch.fmod(a, -3))]
    yield Case(integers, dict(x=r.normal(4)), dict(ids=r.ids(20, BATCH, 4)), label="of_integers")


@row()
def scans(r):
    x = r.distinct(3, 7, 2)
    yield Case(all_of([lambda x: x.cumsum(1), lambda x: x.cumsum(-1), lambda x: x[0, 0, 0].cumsum(0), lambda x: x.cumprod(1), lambda x: x.prod(1),
                       lambda x: x.prod(-2, keepdim=True), lambda x: x[1].prod(), lambda x: x.diff(), lambda x: x.diff(n=3, dim=1),
                       lambda x: x.diff(dim=1, prepend=x[:, :2], append=x[:, -1:])]), dict(x=x))
    zeros = x.clone()
    zeros[0, 1], zeros[1, 2], zeros[1, 4] = 0, 0, 0
    yield Case(lambda x: x.prod(1), dict(x=zeros), label="prod_of_zeros")
    yield Case(lambda x, y: [x * y.argmax(1), x * y.argmin(1), x * y.argmax(), x * y.argmax(-1, keepdim=True)[0], x * (y > 0).int().argmax(1),
                             y.gather(1, y.argmin(1, keepdim=True))], dict(x=r.normal(2), y=x[:, :, :1].repeat(1, 1, 2)), label="positions")
    # The positions of RoBERTa, and of tokens among their experts.
    def positions(weight, ids):
        mask = ids.ne(1).int()
        return [weight[(mask.cumsum(1).type_as(mask) * mask).long()], weight[0] * (mask.bool().cumsum(1) * ids).diff(dim=1).sum(1, keepdim=True)]
    yield Case(positions, dict(weight=r.normal(9, 3)), dict(ids=r.ids(4, BATCH, 8)), label="of_integers")


@row()
def contractions(r):
    x, y, z = r.normal(3, 4, 2), r.normal(4, 3, 5), r.normal(5, 2)
    yield Case(all_of([lambda x, y, z: torch.tensordot(x, y, dims=([0, 1], [1, 0])), lambda x, y, z: torch.tensordot(x, y, dims=([-2], [0])),
                       lambda x, y, z: torch.tensordot(x, z.t(), dims=1), lambda x, y, z: torch.tensordot(z, z, dims=0), lambda x, y, z: torch.inner(x, z),
                       lambda x, y, z: torch.inner(x, z[0, 0]), lambda x, y, z: torch.linalg.vecdot(y, z[:, 0], dim=-1),
                       lambda x, y, z: torch.addbmm(z[:4], x, x[:, :2], beta=0.5, alpha=2),
                       lambda x, y, z: torch.addr(z, y[0, 0], x[0, 0], alpha=3), lambda x, y, z: torch.addmv(z[:4, 0], x[0], z[0], beta=0.5),
                       lambda x, y, z: torch.ger(z[0], z[:, 0]), lambda x, y, z: torch.vdot(z[:, 0], z[:, 1]),
                       lambda x, y, z: F.bilinear(x[:, 0], z[:3], x[:, :2])]),
               dict(x=x, y=y, z=z), core=False)
    yield Case(lambda x, y, weight, bias: F.bilinear(x, y, weight, bias), dict(x=r.normal(3, 2, 4), y=r.normal(3, 2, 5), weight=r.normal(6, 4, 5), bias=r.normal(6)),
               label="bilinear", core=False)
    yield Case(lambda v, g, t: [torch._weight_norm(v, g, 0), torch._weight_norm(v, g.view(1, 3)[:, :2].sum(1, keepdim=True).expand(1, 4), 1),
                                torch._weight_norm(v, t, -1)], dict(v=r.normal(3, 4), g=r.positive(3, 1), t=r.positive()), label="weight_norm")


@row()
def diagonals(r):
    x = r.normal(3, 5)
    yield Case(all_of([torch.trace, torch.diag, lambda x: torch.diag(x, 2), lambda x: torch.diag(x[0]), lambda x: torch.diag(x[0], -1), torch.diag_embed,
                       lambda x: torch.diag_embed(x, 2), lambda x: torch.diag_embed(x, -1, 0, 1), lambda x: torch.diag_embed(x, 1, 0, 2),
                       lambda x: torch.diagonal_scatter(x, x[:, 0]), lambda x: torch.diagonal_scatter(x, x[0, :2], -1),
                       lambda x: (x * 2).fill_diagonal_(0.5), lambda x: torch.diagonal(x[None] * x[:, None], 1, 0, 2)]), dict(x=x), core=False)


@row()
def arrangements(r):
    x = r.normal(3, 6, 2)
    yield Case(all_of([lambda x: x[0].T, lambda x: torch.ops.aten.numpy_T(x), lambda x: x.mH, lambda x: x.adjoint(), lambda x: x[0].H, lambda x: x.ravel(),
                       lambda x: x.reshape_as(x.transpose(0, 1)), lambda x: torch.atleast_3d(x[0, 0]), lambda x: torch.moveaxis(x, 0, 2),
                       lambda x: torch.swapdims(x, 0, 1), lambda x: x.unfold(1, 2, 2), lambda x: x.unfold(1, 3, 1), lambda x: x.unfold(0, 2, 1),
                       lambda x: x.fliplr(), lambda x: x.flipud(), lambda x: torch.dstack([x[0], x[1]]), lambda x: torch.dstack([x, x]),
                       lambda x: torch.row_stack([x[0], x[1, 0]])]), dict(x=x))
    yield Case(lambda x: [*torch.meshgrid(x[0, :, 0], x[0, 0], indexing="ij"), torch.cat(torch.meshgrid(x[0, :, 0], x[0, 0], x[:, 0, 0], indexing="xy"))], dict(x=x),
               label="meshgrid")
    # Parts in another order.
    splits = [lambda x: torch.tensor_split(x, [1, 4], 1), lambda x: torch.hsplit(x, 3), lambda x: torch.hsplit(x, [2]), lambda x: torch.vsplit(x, 3),
              lambda x: torch.dsplit(x, 2), lambda x: torch.unsafe_chunk(x, 2, 1), lambda x: torch.unsafe_split(x, 2, 1)]
    yield Case(all_of([lambda x, f=f: torch.cat([part.flatten() for part in reversed(f(x))]) for f in splits]), dict(x=x), label="splits")


@row()
def norms_of_orders(r):
    x = r.normal(3, 4)
    yield Case(all_of([lambda x: torch.norm(x, 3), lambda x: torch.linalg.vector_norm(x, 1.5, -1), lambda x: torch.norm(x, 4, 0, keepdim=True),
                       lambda x: F.pairwise_distance(x, x.flip(0)), lambda x: F.pairwise_distance(x, x[:1], 1, keepdim=True),
                       lambda x: F.pairwise_distance(x[0], x[1], 3), lambda x: x * torch.count_nonzero(x > 0, 1)[:, None], lambda x: x * (x > 0.1).count_nonzero()]),
               dict(x=x))
    zeros = x.clone()
    zeros[1] = 0
    yield Case(lambda x: torch.linalg.vector_norm(x, 3, -1), dict(x=zeros), label="of_zeros")
    yield Case(lambda x: torch.linalg.vector_norm(x, 0.5, -1), dict(x=x), label="below_1", refused="order")
