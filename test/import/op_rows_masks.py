"""The rows of the table of ops that read what a boolean mask selects."""
import torch
import torch.nn.functional as F

from op_cases import BATCH, Case, row


@row()
def selected(r):
    labels = torch.tensor([[1, -1, 3], [0, 2, -1], [-1, -1, 4]])
    yield Case(lambda x, y: F.cross_entropy(x[y >= 0], y[y >= 0]), dict(x=r.normal(BATCH, 3, 5)), dict(y=labels), label="cross_entropy", core=False)
    def losses(x, y, z):
        mask = y >= 0
        a, b = x[mask], z[mask]
        return [a.mean(), (b * 2).sum(), F.mse_loss(a, b), F.smooth_l1_loss(a * 3, b, reduction="sum"), x.masked_select(mask[:, :, None]).mean(),
                F.binary_cross_entropy_with_logits(a, torch.sigmoid(b)), (a - 1).exp().mean()]
    yield Case(losses, dict(x=r.normal(BATCH, 3, 4)), dict(y=labels, z=r.normal(BATCH, 3, 4)), label="losses", core=False)
    # What is infinite in other rows reaches no gradient.
    yield Case(lambda x, y: torch.log((x * (y > 0))[y > 0]).mean(), dict(x=r.positive(BATCH, 3)), dict(y=labels), label="elsewhere_infinite", core=False)
    yield Case(lambda x, y: x[y > 0].cumsum(0).mean()[None].expand(BATCH), dict(x=r.normal(BATCH, 3)), dict(y=labels), label="scan", refused="boolean mask")
