"""The rows of the table of ops that are losses of margins and rates, and single steps of recurrent layers."""
import torch
import torch.nn.functional as F

from op_cases import BATCH, Case, row
from op_rows_losses import classes


@row()
def margins(r):
    def each(f):
        """All reductions."""
        return lambda **given: [f(**given, reduction=reduction) for reduction in ("mean", "sum", "none")]
    def signs(*shape):
        return torch.where(r.flags(*shape), 1.0, -1.0).double()
    a, b, c = r.normal(BATCH, 4), r.normal(BATCH, 4), r.normal(BATCH, 4)
    yield Case(each(F.triplet_margin_loss), dict(anchor=a, positive=b, negative=c), label="triplet")
    yield Case(lambda a, b, c: [F.triplet_margin_loss(a, b, c, margin=2, p=3, swap=True), F.triplet_margin_loss(a, b, c, margin=3, p=1, eps=1e-3)],
               dict(a=a, b=b, c=c), label="triplet_swap")
    yield Case(lambda a, b, c: F.triplet_margin_with_distance_loss(a, b, c, margin=2), dict(a=a, b=b, c=c), label="triplet_with_distance")
    yield Case(each(F.cosine_embedding_loss), dict(input1=a, input2=b), dict(target=signs(BATCH)), label="cosine")
    yield Case(lambda a, b: F.cosine_embedding_loss(a, b, -torch.ones(BATCH), margin=-0.5), dict(a=a, b=b), label="cosine_margin")
    yield Case(each(F.margin_ranking_loss), dict(input1=a, input2=b), dict(target=signs(BATCH, 4)), label="ranking")
    yield Case(lambda a, b, y: F.margin_ranking_loss(a, b, y, margin=0.7), dict(a=a, b=b), dict(y=signs(BATCH, 4)), label="ranking_margin")
    yield Case(each(F.hinge_embedding_loss), dict(input=a), dict(target=signs(BATCH, 4)), label="hinge")
    yield Case(lambda x, y: F.hinge_embedding_loss(x, y, margin=0.2), dict(x=a), dict(y=signs(BATCH, 4)), label="hinge_margin")
    yield Case(each(F.multi_margin_loss), dict(input=r.distinct(BATCH, 4)), dict(target=r.ids(4, BATCH)), label="multi")
    yield classes(r, lambda x, y, weight: [F.multi_margin_loss(x, y, p=2, margin=0.8, weight=weight), F.multi_margin_loss(x[0], y[0], reduction="none")],
                  label="multi_weights", weight=r.positive(5))
    yield Case(lambda x, y: F.multilabel_soft_margin_loss(x, y), dict(x=a), dict(y=r.flags(BATCH, 4).double()), label="multilabel_soft")
    yield Case(lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"), dict(x=a), dict(y=r.ids(4, BATCH, 4)), label="multilabel", refused="multilabel_margin")


@row()
def poisson(r):
    counts = r.ids(6, BATCH, 4).double()
    for reduction in ("mean", "sum", "none"):
        yield Case(lambda x, y, k=reduction: [F.poisson_nll_loss(x, y, reduction=k), F.poisson_nll_loss(x, y, full=True, reduction=k),
                                              F.poisson_nll_loss(x.exp(), y, log_input=False, full=True, eps=1e-3, reduction=k)],
                   dict(x=r.normal(BATCH, 4)), dict(y=counts), label=reduction)


@row()
def cells(r):
    x, h, c = r.normal(BATCH, 3), r.normal(BATCH, 2), r.normal(BATCH, 2)
    def weights(gates, bias=True):
        found = dict(w=r.normal(2 * gates, 3) * 0.5, u=r.normal(2 * gates, 2) * 0.5)
        return dict(found, b=r.normal(2 * gates), d=r.normal(2 * gates)) if bias else found
    for bias in (True, False):
        end = "" if bias else "_no_bias"
        yield Case(lambda h, c, rows, **p: torch.lstm_cell(rows, [h, c], *p.values()), dict(h=h, c=c, **weights(4, bias)), dict(rows=x), label="lstm" + end)
        yield Case(lambda h, rows, **p: torch.gru_cell(rows, h, *p.values()), dict(h=h, **weights(3, bias)), dict(rows=x), label="gru" + end)
    yield Case(lambda h, rows, **p: [torch.rnn_tanh_cell(rows, h, *p.values()), torch.rnn_relu_cell(rows, h, *p.values())], dict(h=h, **weights(1)), dict(rows=x),
               label="rnn")
