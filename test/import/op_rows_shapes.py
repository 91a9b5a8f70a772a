"""The rows of the table of ops that move, choose and look up elements, and of those that make constants."""
import torch
import torch.nn.functional as F

from op_cases import BATCH, Case, row


def moving(label, f, x, **constants):
    return Case(f, dict(x=x), constants=constants, label=label)


@row()
def join(r):
    shape = r.sizes(3)
    dim = r.dim(3)
    other = list(shape)
    other[dim] = r.size()
    yield Case(lambda x, y, d=dim: torch.cat([x, y, x], d), dict(x=r.normal(*shape), y=r.normal(*other)), label="cat")
    for dim in (0, -1, 2):
        yield Case(lambda x, y, d=dim: torch.stack([x, y], d), dict(x=r.normal(*shape), y=r.normal(*shape)), label=f"stack_{dim}")
    yield Case(lambda x, y: torch.hstack([x, y]), dict(x=r.normal(3, 2), y=r.normal(3, 4)), label="hstack")


@row()
def split(r):
    yield moving("split_size", lambda x: torch.split(x, 3, dim=1), r.normal(2, 7))
    yield moving("split_list", lambda x: torch.split(x, [1, 4, 2], dim=-1), r.normal(2, 7))
    yield moving("chunk", lambda x: torch.chunk(x, 3, dim=0), r.normal(7, 2))
    yield moving("unbind", lambda x: torch.unbind(x, 1), r.normal(2, 3))
    yield moving("tensor_split", lambda x: torch.tensor_split(x, 3, dim=1), r.normal(2, 7))


@row()
def slice_(r):
    x = r.normal(7, 5)
    yield moving("slice", lambda x: x[1:4], x)
    yield moving("step", lambda x: x[1::2, ::3], x)
    yield moving("negative", lambda x: x[:, -3:-1], x)
    yield moving("beyond", lambda x: x[2:100], x)
    yield moving("select", lambda x: x[:, -2], x)
    yield moving("select_slice_none", lambda x: x[None, 3, ..., 1:], x)
    yield moving("narrow", lambda x: torch.narrow(x, 1, 1, 3), x)
    yield moving("diagonal", lambda x: torch.diagonal(x, 1), x)


@row()
def dims(r):
    shape = r.sizes(4)
    order = [int(d) - (4 if r.flip() else 0) for d in r.random.permutation(4)]
    yield moving("permute", lambda x: x.permute(order), r.normal(*shape))
    first, second = r.dim(4), r.dim(4)
    yield moving("transpose", lambda x: x.transpose(first, second), r.normal(*shape))
    yield moving("t", lambda x: x.t(), r.normal(3, 4))
    yield moving("mT", lambda x: x.mT, r.normal(2, 3, 4))
    yield moving("movedim", lambda x: torch.movedim(x, 0, -2), r.normal(*shape))
    yield moving("swapaxes", lambda x: torch.swapaxes(x, 1, -1), r.normal(*shape))
    yield moving("unsqueeze", lambda x: x.unsqueeze(1).unsqueeze(-1), r.normal(3, 4))
    yield moving("squeeze", lambda x: x.squeeze(), r.normal(1, 3, 1, 2))
    yield moving("squeeze_dim", lambda x: x.squeeze(-2), r.normal(1, 3, 1, 2))
    yield moving("squeeze_dim_of_3", lambda x: x.squeeze(1), r.normal(1, 3, 1, 2))
    yield moving("squeeze_dims", lambda x: x.squeeze((0, -2)), r.normal(1, 3, 1, 2))
    yield moving("flip", lambda x: torch.flip(x, [0, -1]), r.normal(3, 4))
    yield moving("roll", lambda x: torch.roll(x, (2, -1), (0, 1)), r.normal(3, 4))
    yield moving("roll_flat", lambda x: torch.roll(x, 2), r.normal(3, 4))


@row()
def shape(r):
    yield moving("view", lambda x: x.view(2, -1), r.normal(4, 3))
    yield moving("reshape", lambda x: x.transpose(0, 1).reshape(-1, 2), r.normal(4, 3))
    yield moving("reshape_to_scalar", lambda x: x.reshape(()), r.normal(1, 1))
    yield moving("flatten", lambda x: torch.flatten(x, 1, -2), r.normal(2, 3, 4, 2))
    yield moving("flatten_all", lambda x: x.flatten(), r.normal(2, 3, 4))
    yield moving("unflatten", lambda x: x.unflatten(-1, (2, -1)), r.normal(3, 6))
    yield moving("view_as", lambda x, y: x.view_as(y), r.normal(6), y=torch.zeros(2, 3))


@row()
def expand(r):
    yield moving("expand", lambda x: x.expand(2, -1, 4), r.normal(3, 1))
    yield moving("broadcast_to", lambda x: torch.broadcast_to(x, (2, 3)), r.normal(3))
    yield Case(lambda x, y: x.expand_as(y) * y, dict(x=r.normal(3), y=r.normal(2, 3)), label="expand_as")
    yield Case(lambda x, y: torch.broadcast_tensors(x, y), dict(x=r.normal(3, 1), y=r.normal(2)), label="broadcast_tensors")
    yield moving("repeat", lambda x: x.repeat(2, 1, 3), r.normal(3, 2))
    yield moving("tile", lambda x: torch.tile(x, (2, 2)), r.normal(3, 2))
    yield moving("repeat_interleave", lambda x: x.repeat_interleave(3, dim=1), r.normal(2, 3))


@row()
def pad(r):
    yield moving("pad", lambda x: F.pad(x, (1, 2)), r.normal(2, 3))
    yield moving("value", lambda x: F.pad(x, (0, 1, 2, 0), value=0.5), r.normal(2, 3))
    yield moving("negative", lambda x: F.pad(x, (-1, 2)), r.normal(2, 3))
    yield Case(lambda x: F.pad(x, (1, 1), mode="reflect"), dict(x=r.normal(2, 3)), label="reflect", refused="reflect")


@row()
def triangle(r):
    yield moving("tril", lambda x: torch.tril(x, -1), r.normal(4, 3))
    yield moving("triu", lambda x: torch.triu(x, 1), r.normal(2, 3, 4))


@row()
def one_hot(r):
    yield Case(lambda x, labels: F.one_hot(labels, 4) * x, dict(x=r.normal(4)), dict(labels=r.ids(4, BATCH, 2)))
    yield moving("of_constant", lambda x, ids: F.one_hot(ids, 5).double() @ x, r.normal(5, 2), ids=r.ids(5, 3))


@row()
def embedding(r):
    ids = r.ids(6, BATCH, 4)
    yield Case(lambda weight, ids: F.embedding(ids, weight), dict(weight=r.normal(6, 3)), dict(ids=ids))
    yield Case(lambda weight, ids: F.embedding(ids, weight, padding_idx=2), dict(weight=r.normal(6, 3)), dict(ids=ids), label="padding_idx")
    yield moving("constant", lambda x, ids: F.embedding(ids, x), r.normal(6, 3), ids=r.ids(6, 2, 3))
    for mode in ("sum", "mean"):
        yield Case(lambda weight, ids, mode=mode: F.embedding_bag(ids, weight, mode=mode), dict(weight=r.normal(6, 3)), dict(ids=ids), label=f"bag_{mode}")
    yield Case(lambda weight, ids: F.embedding_bag(ids, weight, mode="max"), dict(weight=r.distinct(6, 3)), dict(ids=ids), label="bag_max")
    yield Case(lambda weight, ids, amounts: F.embedding_bag(ids, weight, mode="sum", per_sample_weights=amounts),
               dict(weight=r.normal(6, 3)), dict(ids=ids, amounts=r.normal(BATCH, 4)), label="bag_weights")


@row()
def gather(r):
    yield moving("gather", lambda x, ids: torch.gather(x, 1, ids), r.normal(3, 5), ids=r.ids(5, 3, 2))
    yield moving("dim_0", lambda x, ids: torch.gather(x, -2, ids), r.normal(4, 3), ids=r.ids(4, 6, 3))
    yield Case(lambda x, ids: torch.gather(x, 1, ids), dict(x=r.normal(BATCH, 5)), dict(ids=r.ids(5, BATCH, 4)), label="computed")
    yield Case(lambda x, ids: torch.take_along_dim(x, ids, dim=1), dict(x=r.normal(BATCH, 5)), dict(ids=r.ids(5, BATCH, 1)), label="take_along_dim")


@row()
def index(r):
    x = r.normal(5, 4, 3)
    yield moving("index_select", lambda x, ids: torch.index_select(x, -1, ids), x, ids=r.ids(3, 5))
    yield Case(lambda x, ids: torch.index_select(x, 0, ids[:, 0]), dict(x=x), dict(ids=r.ids(5, BATCH, 2)), label="index_select_computed")
    yield moving("first", lambda x, ids: x[ids], x, ids=r.ids(5, 2, 2))
    yield moving("negative", lambda x, ids: x[ids], x, ids=r.ids(5, 3) - 5)
    yield moving("middle", lambda x, ids: x[:, ids], x, ids=r.ids(4, 5))
    yield moving("two", lambda x, i, j: x[i, j], x, i=r.ids(5, 3, 1), j=r.ids(4, 2))
    yield moving("apart", lambda x, i, j: x[i, :, j], x, i=r.ids(5, 3), j=r.ids(3, 3))
    yield moving("last_two", lambda x, i, j: x[:, i, j], x, i=r.ids(4, 3), j=r.ids(3, 3))
    yield moving("list", lambda x: x[:, [2, 0, 2]], x)
    yield Case(lambda x, ids: x[ids], dict(x=x), dict(ids=r.ids(5, BATCH, 2)), label="computed")
    yield Case(lambda x, ids: x[torch.arange(BATCH), ids], dict(x=r.normal(BATCH, 5)), dict(ids=r.ids(5, BATCH)), label="of_each_row")
    yield Case(lambda x, ids: x[ids[:, :1], ids[:, 1:]], dict(x=r.normal(4, 4, 2)), dict(ids=r.ids(4, BATCH, 3)), label="two_computed")


@row()
def constants(r):
    x = r.normal(4, 3)
    yield moving("arange", lambda x: x * torch.arange(3), x)
    yield moving("arange_step", lambda x: x + torch.arange(9, 0, -3), x)
    yield moving("arange_float", lambda x: x + torch.arange(0.5, 2.0, 0.5, dtype=torch.float64), x)
    yield moving("zeros_ones", lambda x: x * torch.ones(4, 1, dtype=torch.float64) + torch.zeros(3, dtype=torch.float64), x)
    yield moving("full", lambda x: x * torch.full((3,), 2.5, dtype=torch.float64), x)
    yield moving("like", lambda x: x * torch.full_like(x, 2) + torch.ones_like(x) - torch.zeros_like(x), x)
    yield moving("new", lambda x: x * x.new_full((3,), 1.5) + x.new_zeros(4, 1) + x.new_ones(()), x)
    yield moving("eye", lambda x: x @ torch.eye(3, dtype=torch.float64), x)
    yield moving("linspace", lambda x: x * torch.linspace(-1, 1, 3, dtype=torch.float64), x)
    yield moving("tensor", lambda x: x * torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64), x)
    yield moving("mask", lambda x: x.masked_fill(torch.ones(4, 3, dtype=torch.bool).triu(1), 0.0), x)
    yield moving("cumsum", lambda x: x * torch.arange(12).view(4, 3).cumsum(1), x)
    yield moving("diff", lambda x, ids: x * (torch.diff(ids) != 0).cumsum(0), r.normal(4), ids=torch.tensor([0, 0, 1, 1, 2]))
    yield moving("floor_divide", lambda x: x * (torch.arange(3) // 2) + torch.arange(3) % 2, x)
    yield moving("negative_floor_divide", lambda x: x * (torch.arange(-3, 0) // 2) + torch.arange(-3, 0) % 2, x)
    yield moving("outer", lambda x: x * torch.outer(torch.arange(4), torch.arange(3)).double().cos(), x)
    yield moving("meshgrid", lambda x: x * torch.meshgrid(torch.arange(4), torch.arange(3), indexing="ij")[0], x)
    yield moving("tril_indices", lambda x: x[:3][tuple(torch.tril_indices(3, 3, -1))], x)
    yield moving("sort", lambda x, ids: x[:, torch.sort(ids, descending=True).indices], x, ids=torch.tensor([1, 0, 2]))
    yield moving("argmax", lambda x, ids: x[:, torch.argmax(ids)], x, ids=torch.tensor([1, 0, 2]))


@row()
def casts(r):
    x = r.normal(3, 4)
    yield moving("to", lambda x: (x.to(torch.float32) * 2).to(torch.float64), x)
    yield moving("float_double", lambda x: x.float().double(), x)
    yield moving("type_as", lambda x, y: x.type_as(y).double(), x, y=torch.zeros(1))
    yield moving("same", lambda x: x.to(torch.float64).contiguous().clone(), x)
    yield moving("alias", lambda x: torch.ops.aten.alias(x) * 2, x)
    yield Case(lambda x: x * x.detach().exp(), dict(x=x), label="detach", core=False)
    yield Case(without_gradient, dict(x=x), label="no_grad", core=False)
    yield moving("bool", lambda x: x * (x > 0).to(torch.float64), x)
    yield moving("promotion", lambda x, y: x * y + y, x, y=torch.tensor([1, 2, 3, 4]))
    yield Case(lambda x, ids: x * ids, dict(x=r.normal(4)), dict(ids=r.ids(9, BATCH, 4)), label="integers")


def without_gradient(x):
    with torch.no_grad():
        scale = x.abs().amax(-1, keepdim=True)
    return x / scale


@row()
def in_place(r):
    x = r.distinct(3, 4)
    yield moving("relu_", lambda x: F.relu(x * 2, inplace=True) + 1, x)
    yield moving("add_", lambda x: (x * 2).add_(x, alpha=3).mul_(0.5), x)
    yield moving("div_", lambda x: (x * 2).div_(3).sub_(1), x)
    yield moving("masked_fill_", lambda x: (x * 2).masked_fill_(x > 0, 0.5), x)
    yield moving("clamp_", lambda x: (x * 2).clamp_(min=0).exp_(), x)
    yield Case(earlier_name, dict(x=x), label="earlier_name")


def earlier_name(x):
    """What has another name before the change sees it too."""
    y = x * 2
    z = y
    y.mul_(x)
    return z + y


@row()
def dropout(r):
    yield moving("zero", lambda x: F.dropout(x, 0.0, training=True), r.normal(3, 4))
    yield moving("evaluation", lambda x: F.dropout(x, 0.5, training=False), r.normal(3, 4))
