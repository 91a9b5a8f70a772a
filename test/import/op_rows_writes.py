"""The rows of the table of ops that write: through views in place, and what replaces a part; and tensors without elements."""
import torch

from op_cases import BATCH, Case, row


def written(label, write, *shape, **more):
    """`write` changes twice a parameter, which is the result."""
    def op(x, **given):
        y = x * 2
        other = write(y, **given)
        return y if other is None else [y, other]
    return lambda r: Case(op, dict(x=r.normal(*shape)), label=label, **{kind: make(r) for kind, make in more.items()})


def slices(y, z):
    y[:, 1:3] = z
    y[0].mul_(3)
    y[:, ::2] += 1
    y[-1:, 0] = z[0, 0]
    y[1, :] = -1


def shapes(y):
    y.view(2, 6)[:, 1:2] = 5
    y.unsqueeze(0)[0, 1, 2:].neg_()
    y.t()[1].copy_(y[:, 2])
    torch.diagonal(y, 1).sub_(y[2, :3])
    y.permute(1, 0)[0:1].add_(y[:3, 3])
    torch.narrow(y, 1, 1, 2).exp_()


def views(y):
    """Those that were taken before see what is written, and so does what is computed of them."""
    row, column, whole, diagonal = y[1], y[:, 2:], y.view(12), torch.diagonal(y)
    before = column * 1
    y[1, 1:] = 7
    row[3] = y[0, 0]
    return torch.cat([row, column.flatten(), whole, diagonal, before.flatten()])


def constants(y):
    mask = torch.zeros(3, 4, dtype=torch.float64)
    row = mask[1]
    mask[0, 1:] = 1
    mask[:, -1].add_(3)
    row[::2] -= torch.tensor([1.0, 2.0], dtype=torch.float64)
    mask.t()[2].mul_(4)
    torch.diagonal(mask).fill_(9)
    mask.unbind(1)[3].sub_(2)
    return y * mask + row


def computed(y):
    """Into a new tensor of constants."""
    new = torch.ones(3, 4, dtype=torch.float64)
    corner = new[0, 0]
    new[:, 1:] = y[:, :-1]
    new[:, 0] = 0.5
    new.masked_fill_(new > 1, 0.25)
    return new * 3 + corner


def shifted(ids, weight):
    """The decoder's inputs of T5 and BART."""
    right = ids.new_zeros(ids.shape)
    right[..., 1:] = ids[..., :-1].clone()
    right[..., 0] = 2
    right.masked_fill_(right == 1, 0)
    first, second = right.split([2, 3], 1)
    second[:, 1:].add_(first).remainder_(6)
    right.unbind(1)[1].zero_()
    return weight[right] + weight[second[:, :1]]


def replaced(x, y):
    return [torch.slice_scatter(x, y[:, :2], 1, 1, 3), torch.slice_scatter(x, y[:, :2], 1, 0, 4, 3), torch.select_scatter(x, y[:, 0], 1, -1),
            torch.select_scatter(torch.ones_like(x), y[0], 0, 1)]


def empty(x):
    """As the rotary embedding of Phi-3 has it."""
    return torch.cat([x[..., :4].sin(), x[..., 4:], (x[..., 4:] * 2).cos()], -1)


@row()
def writes(r):
    yield written("slices", slices, 3, 4, constants=lambda r: dict(z=r.normal(3, 2)))(r)
    yield written("shapes", shapes, 3, 4)(r)
    yield written("views", views, 3, 4)(r)
    yield written("to_constants", constants, 3, 4)(r)
    yield written("to_new", computed, 3, 4)(r)
    yield Case(lambda weight, ids: shifted(ids, weight), dict(weight=r.normal(6, 3)), dict(ids=r.ids(6, BATCH, 5)), label="shifted")
    yield Case(replaced, dict(x=r.normal(3, 4), y=r.normal(3, 4)), label="replaced")
    yield Case(empty, dict(x=r.normal(3, 4)), label="empty")
    yield Case(ungraded, dict(x=r.normal(3, 4)), label="ungraded", core=False)


def ungraded(x):
    """No one reads the region's results."""
    mask, twice = torch.zeros(3, 4, dtype=torch.float64), (x * 2).detach()
    with torch.no_grad():
        mask[1:].add_(2)
        twice[:, 0] = 5
    return x * mask + twice


def ungraded_values(x):
    y = x * 2
    with torch.no_grad():
        y[0] = 3
    return y


@row()
def unwritten(r):
    """What is refused."""
    def through(view, read=lambda y: y):
        def op(x):
            y = x * 2
            view(y).mul_(3)
            return read(y)
        return op
    yield Case(through(lambda y: y.detach()), dict(x=r.normal(3, 3)), label="detached", refused="detach")
    yield Case(through(lambda y: y.reshape(-1)), dict(x=r.normal(3, 4)), label="perhaps", refused="out of place")
    yield Case(ungraded_values, dict(x=r.normal(3, 4)), label="ungraded", refused="without gradients")
