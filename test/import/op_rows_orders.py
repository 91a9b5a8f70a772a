"""The rows of the table of ops that order, scatter and draw, and those of attention with masks."""
import torch
import torch.nn.functional as F

from op_cases import BATCH, Case, row
from op_rows import heads
from op_rows_formulas import all_of


@row()
def masks_of_attention(r):
    f = F.scaled_dot_product_attention
    inf = float("inf")
    def causal(mask, count=5):
        return dict(op=lambda q, k, v, mask: f(q, k, v, mask), parameters=heads(r, count, count), constants=dict(mask=mask))
    ones = torch.ones(5, 5, dtype=torch.float64)
    band = ones.tril().bool() & ~ones.tril(-2).bool()
    yield Case(**causal(band), label="window")
    yield Case(**causal(torch.zeros_like(ones).masked_fill(~band, -inf)), label="window_of_numbers")
    # Infinite for some keys, finite for others.
    mixed = r.normal(5, 5).masked_fill(ones.triu(2).bool(), -inf)
    yield Case(**causal(mixed), label="mixed")
    yield Case(lambda q, k, v, mask: f(q, k, v, mask), dict(**heads(r, 5, 5), mask=mixed.expand(2, 2, 5, 5).clone()), label="mixed_parameter")
    yield Case(**causal(r.normal(2, 5, 5)), label="per_head")
    yield Case(**causal(r.normal(1, 2, 1, 5)), label="per_head_and_key")
    flags = r.flags(2, 5, 5)
    flags[..., 0] = True
    yield Case(**causal(flags), label="flags_per_head")
    whole = mixed.clone()
    whole[1] = -inf
    yield Case(**causal(whole), label="row_masked_whole", core=False)
    x = {n: r.normal(*shape) for n, shape in dict(q=(3, 5), k=(4, 5), v=(4, 5)).items()}
    yield Case(lambda q, k, v, mask: f(q, k, v, mask), x, constants=dict(mask=r.normal(3, 4)), label="rank_2")
    x = {n: t[0] for n, t in heads(r).items()}
    yield Case(lambda q, k, v, mask: f(q, k, v, mask), x, constants=dict(mask=r.normal(2, 1, 4)), label="rank_3")
    x = {n: torch.stack([t, t * 0.5, -t]) for n, t in heads(r).items()}
    yield Case(lambda q, k, v, mask: f(q, k, v, mask), x, constants=dict(mask=r.normal(3, 1, 2, 3, 4)), label="rank_5")
    yield Case(lambda q, k, v: f(q, k, v, is_causal=True), heads(r, 3, 5), label="more_keys")
    yield Case(lambda q, k, v: f(q, k, v, is_causal=True), heads(r, 5, 3), label="more_queries")
    yield Case(lambda q, k, v: f(q, k, v, enable_gqa=True), heads(r, 3, 4, 4, 2), label="gqa")
    yield Case(lambda q, k, v, mask: f(q, k, v, mask, enable_gqa=True), heads(r, 3, 4, 4, 2), constants=dict(mask=r.normal(3, 4)), label="gqa_additive")


@row()
def orders(r):
    x = r.distinct(3, 7)
    def both(result):
        return result[0] * (result[1] + 1)
    yield Case(all_of([lambda x: both(torch.topk(x, 3)), lambda x: both(torch.topk(x, 2, dim=0, largest=False)), lambda x: both(torch.topk(x, 7)),
                       lambda x: both(torch.topk(x, 1, dim=-1)), lambda x: both(torch.topk(x.float(), 4)).double()]), dict(x=x), label="topk")
    yield Case(all_of([lambda x: both(torch.sort(x)), lambda x: both(torch.sort(x, dim=0, descending=True)), lambda x: both(torch.sort(x.float(), 1)).double(),
                       lambda x: x.gather(1, torch.argsort(x, 1, True)), lambda x: torch.argsort(x, dim=0) * x]), dict(x=x), label="sort")
    # Of equal elements the first comes first, and has the gradient.
    few = r.ids(3, 4, 9).double()
    yield Case(all_of([lambda x: both(torch.sort(x, stable=True)), lambda x: both(torch.sort(x, stable=True, descending=True)),
                       lambda x: torch.argsort(x, stable=True) * x, lambda x: both(torch.sort((x > 0).long(), stable=True)) * x]), dict(x=few), label="stable")
    yield Case(all_of([lambda x: both(torch.kthvalue(x, 3)), lambda x: both(torch.kthvalue(x, 1, 0, True)), lambda x: both(torch.kthvalue(x, 7, -1)),
                       lambda x: both(x.median(1)), lambda x: both(x.median(0, keepdim=True)), torch.median, lambda x: x[:, :4].median()]), dict(x=x), label="kth")
    yield Case(lambda x: x.median() * x, dict(x=few), label="median_of_equal")
    holes = torch.zeros(3, 7, dtype=torch.float64)
    holes[0, 2], holes[2, 5] = float("nan"), float("inf")
    yield Case(all_of([lambda x, holes: torch.nan_to_num(torch.sort(x + holes).values, 9, 10), lambda x, holes: torch.sort(x + holes, descending=True).indices * x,
                       lambda x, holes: torch.nan_to_num((x + holes).median(1).values, 9), lambda x, holes: torch.topk(x + holes, 2).indices * x[:, :2],
                       lambda x, holes: torch.nan_to_num(torch.topk(x + holes, 2, largest=False).values)]),
               dict(x=x), constants=dict(holes=holes), label="nan")
    yield Case(lambda x, y: [torch.topk(x * y, 2).values, torch.sort(y.T, 0).values.T * x, torch.cumsum(x * y, 1)],
               dict(x=r.distinct(5)), dict(y=r.distinct(BATCH, 5)), label="of_inputs")


@row()
def extremes(r):
    x = r.distinct(3, 5)
    yield Case(all_of([lambda x: x.min(), lambda x: x.min(1).values, lambda x: x.min(0, keepdim=True).indices * x, lambda x: (x > 0).any(1) * x[:, 0],
                       lambda x: (x > -1).all(0) * x, lambda x: (x > 0).amin(1) * x[:, 0], lambda x: (x > 0).amax((0, 1)) * x, lambda x: (x > 0).all() * x,
                       lambda x: x.sign().amin(1) * x[:, 0]]), dict(x=x))
    yield Case(lambda x, ids: [x * ids.amin(1), x * (ids > 3).any(1), x * (ids > 1).all(1), x * ids.min(1).values], dict(x=r.normal(BATCH)),
               dict(ids=r.ids(9, BATCH, 4)), label="of_inputs")


@row()
def scatters(r):
    x, y = r.normal(4, 5), r.normal(3, 5)
    yield Case(lambda x, y, ids: torch.scatter_add(x, 0, ids, y), dict(x=x, y=y), constants=dict(ids=r.ids(4, 3, 5)), label="add")
    yield Case(lambda x, y, ids: torch.scatter_add(x, -2, ids, y[:2, :3]), dict(x=x, y=y), constants=dict(ids=r.ids(4, 2, 3)), label="add_to_part")
    yield Case(lambda x, y, ids: torch.scatter_reduce(x, 1, ids, y[:, :4], "sum"), dict(x=x, y=y), constants=dict(ids=r.ids(5, 3, 4)), label="reduce")
    yield Case(lambda x, y, ids: torch.scatter_reduce(x, 1, ids, y, "prod"), dict(x=x, y=y), constants=dict(ids=r.ids(5, 3, 4)), label="product",
               core=False, refused="only sums")
    yield Case(lambda x, y, ids: [torch.scatter_add(x.expand(BATCH, 5), 1, ids, y), torch.zeros(BATCH, 6, dtype=x.dtype).scatter_add(1, ids, y * y)],
               dict(x=r.normal(5), y=r.normal(BATCH, 4)), dict(ids=r.ids(5, BATCH, 4)), label="add_computed")
    yield Case(lambda x, y, ids: [torch.index_add(x, 0, ids, y), torch.index_add(x, 1, ids, x[:, :3], alpha=-0.5)], dict(x=x, y=y),
               constants=dict(ids=torch.tensor([2, 0, 2])), label="index_add", core=False)
    yield Case(lambda x, y, ids: [torch.scatter(x, 1, ids, y[:, :3]), torch.scatter(x, 0, ids[:2, :1], 2.5), x.scatter(1, ids, -1)], dict(x=x, y=y),
               constants=dict(ids=torch.tensor([[0, 2, 1], [1, 0, 3], [4, 3, 2]])), label="put")
    yield Case(lambda x, y, ids: [torch.scatter(x, 1, ids[:, :1], y[:, 1:]), torch.scatter(x, 1, ids, 0.5), torch.zeros_like(x).scatter(1, ids, 1) * x],
               dict(x=r.normal(BATCH, 5), y=r.normal(BATCH, 2)), dict(ids=r.ids(5, BATCH, 2)), label="put_computed")
    yield Case(lambda x, y, ids: torch.scatter(x, 1, ids, y), dict(x=r.normal(BATCH, 5), y=r.normal(BATCH, 2)), dict(ids=r.ids(5, BATCH, 2)),
               label="put_twice", core=False, refused="scatter_add")


@row()
def gathers(r):
    """Of inputs by inputs, and by constants that are no slices."""
    yield Case(lambda x, y, ids: [torch.gather(y * x, 1, ids), torch.gather(y, 1, ids[:, :1]) * x[:1], torch.take_along_dim(y, ids[:, :2], 1) * x[:2]],
               dict(x=r.normal(5)), dict(y=r.normal(BATCH, 5), ids=r.ids(5, BATCH, 5)), label="of_inputs")
    yield Case(lambda x, ids: [x[:, ids], x[:, :, ids[:3]], x[:, ids[:2], ids[2:4]], x.flip(1), x.flip(0, 2), x.unfold(1, 3, 1)], dict(x=r.normal(BATCH, 9, 5)),
               constants=dict(ids=torch.tensor([0, 4, 2, 1, 3, 0, 2])), label="of_constants")
    yield Case(lambda x, y, z: [x[torch.arange(BATCH), :, y[:, 0]], x[torch.arange(BATCH)[:, None], y], z[:, y[0]] * x[:, :1, :1]],
               dict(x=r.normal(BATCH, 5, 5)), dict(y=r.ids(5, BATCH, 3), z=r.normal(BATCH, 5, 3)), label="of_rows")


@row()
def atan(r):
    yield Case(torch.atan, dict(input=r.distinct(3, 4) * 0.4))


@row()
def random(r):
    """What is computed depends on no number that is drawn."""
    yield Case(lambda x: [x + torch.rand_like(x).floor(), x * torch.randn_like(x).sign().abs(), x + torch.rand(3, 4, dtype=x.dtype).floor(),
                          x * torch.randn(3, 4, dtype=x.dtype).sign().square(), x * (torch.rand_like(x) != torch.rand_like(x)),
                          x * torch.normal(x * 0, 1.0).sign().square(), x * (torch.normal(0.0, x.abs() * 0) == 0), x * torch.normal(x.detach(), x.abs() * 0),
                          x * torch.normal(3.0, 0.001, (3, 4)).round(), x * torch.empty_like(x).uniform_(2, 3).floor(), x * torch.bernoulli(x * 0 + 1),
                          x * torch.bernoulli(x * 0)], dict(x=r.normal(3, 4)), core=False)
