"""Calls of ops on constants: what moves, joins, reduces and looks up."""
import math

import torch

from constant_cases import (ALL, BOOL, FLOATS, INTS, aten, case, data, distinct, group, rng, strided)


def fill_diagonal(x, value, wrap=False):
    """PyTorch has it in place alone."""
    return aten.fill_diagonal_.default(x.clone(), value, wrap)


@group
def shapes():
    for dtype in rng.sample(ALL, 4):
        x = strided(data((2, 3, 4), dtype))
        case(aten.view.default, data((2, 3, 4), dtype), (6, -1))
        case(aten.reshape.default, x, (4, 3, 2))
        case(aten.reshape.default, x, (2, 3, 2, 2))
        case(aten.reshape.default, x.permute(2, 0, 1), (8, 3))
        case(aten.reshape.default, x[:, :, ::2], (-1,))
        case(aten.reshape.default, x[:, 1:2, 0:1].expand(2, 5, 3), (10, 3))
        case(aten._unsafe_view.default, data((2, 3, 4), dtype), (24,))
    case(aten.reshape.default, data((2, 0), torch.float32), (0, 5))
    case(aten.reshape.default, data((), torch.float32), (1, 1))
    case(aten.reshape.default, data((1, 1), torch.float32), ())
    case(aten.view_as.default, data((2, 6), torch.float32), data((3, 4), torch.float32))
    x = data((2, 3, 4), torch.float32)
    for dim in [0, 1, 3, -1, -4]:
        case(aten.unsqueeze.default, x, dim)
    y = data((1, 3, 1), torch.int64)
    case(aten.squeeze.default, y)
    for dim in [0, 1, -1]:
        case(aten.squeeze.dim, y, dim)
    case(aten.squeeze.dims, y, [0, 2])
    case(aten.squeeze.dims, y, [1, -1])
    case(aten.squeeze.dim, data((), torch.float32), -1)
    case(aten.expand.default, y, (2, -1, 4))
    case(aten.expand.default, y, (5, 2, 3, 4))
    case(aten.expand.default, data((), torch.float32), (2, 3))
    case(aten.expand.default, data((1,), torch.float32), (0,))
    case(aten.expand_as.default, y, data((2, 3, 4), BOOL))
    case(aten.broadcast_to.default, y, (2, 3, 2))
    case(aten.broadcast_tensors.default, [y, data((2, 1, 5), torch.float32), data((), BOOL)])
    case(aten.permute.default, x, (2, 0, 1))
    case(aten.permute.default, x, (-1, 0, -2))
    case(aten.permute.default, data((), torch.float32), ())
    case(aten.transpose.int, x, 0, -1)
    case(aten.transpose.int, x, 1, 1)
    case(aten.swapaxes.default, x, 0, 1)
    case(aten.swapdims.default, x, -1, 1)
    case(aten.t.default, data((2, 3), torch.int32))
    case(aten.t.default, data((3,), torch.int32))
    case(aten.mT.default, x)
    case(aten.numpy_T.default, data((2, 3), torch.float32))
    for start, end, step in [(None, None, 1), (1, 3, 1), (-3, -1, 1), (0, 2**63 - 1, 2), (5, 2, 1), (-100, 100, 3), (2, None, 1)]:
        case(aten.slice.Tensor, x, 2, start, end, step)
        case(aten.slice.Tensor, x, -2, start, end, step)
    case(aten.slice.Tensor, data((0, 2), torch.float32), 0, 0, 5)
    case(aten.slice.Tensor, x)
    for index in [0, 2, -1, -3]:
        case(aten.select.int, x, 1, index)
    case(aten.select.int, data((3,), torch.int64), 0, 1)
    case(aten.narrow.default, x, 1, 1, 2)
    case(aten.narrow.default, x, -1, -3, 2)
    case(aten.narrow.default, x, -1, 4, 0)
    case(aten.flatten.using_ints, x)
    case(aten.flatten.using_ints, x, 1)
    case(aten.flatten.using_ints, x, 0, 1)
    case(aten.flatten.using_ints, data((), torch.float32))
    case(aten.ravel.default, x)
    case(aten.unflatten.int, x, -1, (2, 2))
    case(aten.unflatten.int, x, 1, (-1, 1))
    case(aten.movedim.int, x, 0, 2)
    case(aten.movedim.intlist, x, (0, 1), (-1, 0))
    case(aten.moveaxis.int, x, -1, 0)
    case(aten.moveaxis.intlist, x, (2, 0), (0, 1))
    case(aten.reshape_as.default, x, data((4, 6), BOOL))
    case(aten.split.Tensor, x, 2, 1)
    case(aten.split.Tensor, x, 3, -1)
    case(aten.split.Tensor, x, 9)
    case(aten.split.sizes, x, [1, 0, 3], 2)
    case(aten.split_with_sizes.default, x, [1, 2], 1)
    case(aten.chunk.default, x, 2, 2)
    case(aten.chunk.default, x, 3, 2)
    case(aten.chunk.default, x, 5, 1)
    case(aten.unbind.int, x, 1)
    case(aten.unbind.int, x)
    case(aten.flip.default, x, [0, 2])
    case(aten.flip.default, x, [])
    case(aten.flip.default, data((0,), torch.int64), [0])
    case(aten.reshape.default, x.flip(1), (6, 4))
    for offset in [-1, 0, 1, 5]:
        case(aten.diagonal.default, x, offset)
        case(aten.diagonal.default, x, offset, 2, 0)
        case(aten.diagonal_scatter.default, data((4, 4), torch.int64), data((max(4 - abs(offset), 0),), torch.int64), offset)
        case(aten.diag.default, data((3, 4), torch.float32), offset)
        case(aten.diag.default, data((3,), torch.int64), offset)
        case(aten.diag_embed.default, data((2, 3), torch.float32), offset)
        case(aten.diag_embed.default, data((2, 3), BOOL), offset, 0, -2)
    case(aten.diagonal.default, x, 0, -1, -2)
    case(aten.diagonal_scatter.default, strided(x), data((2, 3), torch.float32), 0, 2, 1)
    for dtype in [torch.float32, torch.float16, torch.int64, torch.uint8, BOOL]:
        case(aten.trace.default, data((3, 4), dtype)) if dtype not in (torch.float16, BOOL) else None
        case(fill_diagonal, data((3, 5), dtype), 1)
        case(fill_diagonal, data((7, 3), dtype), 1, True)
        case(fill_diagonal, data((7, 3), dtype), 1)
        case(fill_diagonal, data((3, 3, 3), dtype), 1)
    for op in [aten.fliplr, aten.flipud]:
        case(op.default, x)
        case(op.default, data((2, 3), torch.int64))
    for dim in [0, 1, -1]:
        case(aten.tensor_split.sections, x, 3, dim)
        case(aten.tensor_split.indices, x, [1, 3], dim)
        case(aten.tensor_split.indices, x, [2, 1, -1, 9], dim)
    case(aten.tensor_split.sections, data((2,), torch.int64), 4)
    for op, dim in [(aten.vsplit, 0), (aten.hsplit, 1), (aten.dsplit, 2)]:
        case(op.int, data((4, 4, 4), torch.float32), 2)
        case(op.array, data((4, 4, 4), torch.float32), [1, 3])
    case(aten.hsplit.int, data((6,), torch.float32), 3)
    case(aten.hsplit.array, data((6,), torch.float32), [2])
    case(aten.unfold.default, x, 2, 2, 1)
    case(aten.unfold.default, x, -1, 3, 2)
    case(aten.meshgrid.default, [data((2,), torch.int64), data((3,), torch.float32)][:1] * 2)
    for indexing in ["ij", "xy"]:
        case(aten.meshgrid.indexing, [data((2,), torch.int64), data((3,), torch.int64), data((), torch.int64)], indexing=indexing)


@group
def joins():
    for dtype in rng.sample(ALL, 5):
        a, b = data((2, 3), dtype), data((2, 1), rng.choice(ALL), 0, 5)
        case(aten.cat.default, [a, b, a], 1)
        case(aten.cat.default, [a, a], -2)
        case(aten.stack.default, [a, strided(data((2, 3), dtype))], rng.randint(-3, 2))
        case(aten.repeat.default, a, (2, 2))
        case(aten.repeat.default, a, (3, 1, 2))
        case(aten.tile.default, a, (2,))
        case(aten.tile.default, a, (2, 1, 3))
        case(aten.repeat_interleave.self_int, a, 3)
        case(aten.repeat_interleave.self_int, a, 2, -1)
        case(aten.roll.default, a, (1,), (0,))
        case(aten.roll.default, a, (2, -1), (-1, 0))
        case(aten.roll.default, a, (4,))
        case(aten.constant_pad_nd.default, a, (1, 2))
        case(aten.constant_pad_nd.default, a, (0, 1, -1, 2), 1)
    case(aten.cat.default, [data((0,), torch.float32), data((2, 3), torch.float32)])
    case(aten.cat.default, [data((), torch.float32).reshape(1), data((3,), torch.int64)])
    case(aten.cat.default, [data((0,), torch.float32), data((0,), torch.float32)])
    case(aten.concat.default, [data((2,), torch.int64), data((0,), torch.int64)])
    case(aten.stack.default, [data((), torch.int64), data((), torch.int64)])
    for shape in [(), (3,), (2, 3), (2, 3, 1)]:
        a, b = data(shape, torch.float32), data(shape, torch.int64)
        for op in [aten.vstack, aten.hstack, aten.dstack, aten.column_stack]:
            case(op.default, [a, b])
        for op in [aten.atleast_1d, aten.atleast_2d, aten.atleast_3d]:
            case(op.default, a)
    case(aten.column_stack.default, [data((2,), torch.float32), data((2, 3), torch.float32)])
    case(aten.hstack.default, [data((0,), torch.float32), data((3,), torch.float32)])
    case(aten.repeat.default, data((), torch.int64), (3, 2))
    case(aten.repeat.default, data((2,), torch.int64), (0, 2))
    case(aten.repeat_interleave.self_int, data((), torch.int64), 3)
    x = data((2, 3, 4), torch.float32)
    for mode in ["reflect", "replicate", "circular"]:
        case(aten.pad.default, x, (2, 1), mode)
        case(aten.pad.default, data((1, 2, 3, 4), torch.float32), (2, 1, 0, 1), mode)
    case(aten.pad.default, x, (1, 1, 2, 0), "constant", 2.5)
    case(aten.pad.default, x, (-1, 1))
    case(aten.pad.default, data((2, 3), torch.int64), (0, 1), "constant", 0.0)


@group
def reductions():
    for name in ["sum", "mean", "prod"]:
        op = getattr(aten, name)
        by = {"sum": "dim_IntList", "mean": "dim", "prod": "dim_int"}[name]
        for dtype in FLOATS + ([torch.int64, torch.uint8, BOOL] if name != "mean" else []):
            x = data((2, 3, 4), dtype, -2, 3)
            tolerance = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(dtype, 0)
            case(op.default, x, close=tolerance)
            case(op.default, data((0,), dtype), close=tolerance)
            case(getattr(op, by), x, -1 if name == "prod" else [rng.choice([0, 1, -1])], True, close=tolerance)
            if name != "prod":
                case(getattr(op, by), x, [0, -1], False, close=tolerance)
                case(getattr(op, by), x, None, True, close=tolerance)
                case(getattr(op, by), x, [], close=tolerance)
            case(op.default, strided(data((2, 3), dtype, -2, 3)), dtype=torch.float64, close=1e-12)
            case(getattr(op, by), data((), dtype), 0 if name == "prod" else [0])
    for name in ["any", "all"]:
        op = getattr(aten, name)
        for dtype in ALL:
            x = data((2, 3, 4), dtype, 0, 1)
            case(op.default, x)
            case(op.dim, x, rng.choice([0, 1, -1]), rng.random() < 0.5)
            case(op.dims, x, [0, 2], rng.random() < 0.5)
        case(op.dims, data((2, 3), BOOL))
        case(op.default, data((0,), BOOL))
        case(op.dim, data((2, 0), BOOL), 1)
        case(op.dim, data((), BOOL), 0)
    for dtype in FLOATS + [torch.int64, torch.uint8, BOOL]:
        x = data((3, 4, 5), dtype, special=rng.random() < 0.5)
        for name in ["amax", "amin"]:
            op = getattr(aten, name)
            case(op.default, x)
            case(op.default, x, [0, -1])
            case(op.default, x, [1], True)
        y = distinct((3, 4, 5), dtype) if dtype is not BOOL else x
        for name in ["max", "min"]:
            op = getattr(aten, name)
            case(op.default, x)
            case(op.dim, y, rng.choice([0, 1, -1]), rng.random() < 0.5)
            case(op.dim, data((3, 5), dtype, 0, 2), -1)
        if dtype is not BOOL:
            for name in ["argmax", "argmin"]:
                op = getattr(aten, name)
                case(op.default, y)
                case(op.default, data((3, 5), dtype, 0, 2, special=True), rng.choice([0, -1]), True)
                case(op.default, y, None, True)
        if dtype in FLOATS:
            close = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
            z = strided(data((3, 4), dtype, special=rng.random() < 0.2))
            for name in ["var", "std"]:
                op = getattr(aten, name)
                case(op.default, z, close=close, ulps=2)
                case(op.default, z, False, close=close, ulps=2)
                case(op.dim, z, [1], True, True, close=close, ulps=2)
                case(op.correction, z, [0], correction=0, close=close, ulps=2)
                case(op.correction, z, correction=2, close=close, ulps=2)
                case(op.correction, data((3, 1), dtype), [1], correction=1, close=close, ulps=2)
                case(getattr(aten, name + "_mean").correction, z, [-1], correction=1, keepdim=True, close=close, ulps=2)
            for both in aten.var_mean, aten.std_mean:
                case(both.default, z, close=close, ulps=2)
                case(both.dim, z, [0], close=close, ulps=2)
            for order in [0, 1, 2, 3, 0.5, -1, math.inf, -math.inf]:
                case(aten.linalg_vector_norm.default, z, order, close=4 * close, ulps=4)
                case(aten.linalg_vector_norm.default, z, order, [1], True, close=4 * close, ulps=4)
            case(aten.linalg_vector_norm.default, z, close=close, ulps=4)
            case(aten.linalg_vector_norm.default, z.float(), 2, [0], dtype=torch.float64, close=1e-6, ulps=4)
            case(aten.norm.Scalar, z, 2, close=close, ulps=4)
            case(aten.norm.ScalarOpt_dim, z, 2, [1], close=close, ulps=4)
            case(aten.norm.ScalarOpt_dim, z, None, [0], True, close=close, ulps=4)
            case(aten.norm.ScalarOpt_dim_dtype, z.float(), 2, [1], True, dtype=torch.float64, close=1e-6, ulps=4)
            case(aten.logsumexp.default, z, [1], close=2 * close, ulps=4)
            case(aten.logsumexp.default, data((2, 3), dtype), [0, 1], True, close=2 * close, ulps=4)
            for op in [aten.softmax.int, aten.log_softmax.int]:
                case(op, data((3, 5), dtype), rng.choice([0, 1, -1]), close=2 * close, ulps=4)
                case(op, z, 1, close=2 * close, ulps=4)
            case(aten.softmax.int, data((), dtype), 0, close=close)
            for op in [aten._softmax, aten._log_softmax]:
                case(op.default, data((3, 5), dtype), 1, False, close=2 * close, ulps=4)
            case(aten._safe_softmax.default, torch.where(data((3, 1), BOOL), data((3, 5), dtype), -math.inf).to(dtype), -1, close=2 * close, ulps=4)
        case(aten.count_nonzero.default, x)
        case(aten.count_nonzero.default, x, 1)
        case(aten.count_nonzero.dim_IntList, x, [0, 2])
    case(aten.logsumexp.default, torch.tensor([[math.inf, 1.0], [-math.inf, -math.inf]]), [1], ulps=1)
    case(aten.logsumexp.default, data((2, 3), torch.int64), [1], close=1e-6, ulps=2)
    case(aten.softmax.int, data((2, 3), torch.int64), 1, torch.float64, close=1e-14, ulps=4)
    case(aten.max.dim, data((), torch.float32), 0)
    case(aten.argmax.default, data((), torch.float32))


@group
def scans():
    for dtype in FLOATS + INTS + [BOOL]:
        x = data((3, 4, 2), dtype, -2, 3)
        tolerance = {torch.float32: 1e-6, torch.float64: 1e-14, torch.float16: 2e-3, torch.bfloat16: 2e-2}.get(dtype, 0)
        for op in [aten.cumsum, aten.cumprod]:
            for dim in [0, 1, -1]:
                case(op.default, strided(x), dim, ulps=1)
            case(op.default, x, 1, dtype=rng.choice([torch.float32, torch.float64]), ulps=1)
            case(op.default, data((), dtype), 0)
            case(op.default, data((2, 0), dtype), 1)
        case(aten.diff.default, x)
        case(aten.diff.default, x, 2, 1)
        case(aten.diff.default, x, 1, 0, data((1, 4, 2), dtype), data((2, 4, 2), dtype))
        case(aten.diff.default, x, 5, 1)
        case(aten.diff.default, x, 0, 1)
        for descending in [False, True]:
            case(aten.sort.stable, data((3, 6), dtype, 0, 3, special=True), stable=True, dim=rng.choice([0, -1]), descending=descending)
            case(aten.argsort.stable, data((3, 6), dtype, 0, 3), stable=True, dim=1, descending=descending)
        if dtype is not BOOL:
            y = distinct((4, 5), dtype)
            case(aten.sort.default, y, rng.choice([0, 1]), rng.random() < 0.5)
            case(aten.argsort.default, y)
            case(aten.topk.default, y, 3)
            case(aten.topk.default, y, 2, 0, False)
    case(aten.diff.default, torch.tensor([[0, 1, 2, 0, 1]]), 1, -1, torch.tensor([[-1]]))
    case(aten.sort.default, data((), torch.float32))
    case(aten.topk.default, data((), torch.float32), 1)


def indices(shape_, size, dtype=torch.int64):
    return torch.tensor([rng.randrange(-size, size) for _ in range(math.prod(shape_))], dtype=dtype).reshape(shape_)


def positive(shape_, size, dtype=torch.int64):
    return indices(shape_, size, dtype) % size


@group
def indexing():
    for dtype in ALL:
        x = strided(data((3, 4, 5), dtype))
        case(aten.index.Tensor, x, [indices((2,), 3)])
        case(aten.index.Tensor, x, [None, indices((2, 2), 4)])
        case(aten.index.Tensor, x, [indices((2, 1), 3), indices((3,), 4)])
        case(aten.index.Tensor, x, [indices((2, 1), 3), None, indices((3,), 5)])
        case(aten.index.Tensor, x, [None, indices((2,), 4), indices((2,), 5)])
        case(aten.index.Tensor, x, [None, None, indices((), 5)])
        case(aten.index_select.default, x, rng.choice([0, -3]), positive((4,), 3))
        case(aten.gather.default, x, 1, positive((2, 6, 5), 4))
        case(aten.gather.default, x, -1, positive((3, 4, 1), 5))
        case(aten.take_along_dim.default, x, positive((3, 1, 2), 5), 2)
        case(aten.take_along_dim.default, x.contiguous(), positive((4,), 60))
        case(aten.index_put.default, x, [indices((2,), 3)], data((2, 4, 5), dtype))
        case(aten.index_put.default, x, [None, torch.tensor([0, 2])], data((), dtype))
        if dtype is not BOOL and dtype not in (torch.float16, torch.bfloat16):
            case(aten.index_put.default, data((6,), dtype, 0, 9).round(), [indices((9,), 6)], torch.ones((), dtype=dtype), True)
            case(aten.scatter_add.default, torch.zeros((3, 4), dtype=dtype), 1, positive((2, 3), 4), torch.ones((2, 3), dtype=dtype))
        case(aten.scatter.value, data((3, 4), dtype), 1, positive((3, 2), 4), 1)
        case(aten.scatter.src, data((3, 4), dtype), 0, torch.tensor([[0, 1, 2, 0], [2, 0, 1, 1]]), data((2, 4), dtype))
    case(aten._unsafe_index.Tensor, data((5, 3), torch.float32), [None, positive((2, 2), 3)])
    case(aten.embedding.default, data((5, 3), torch.float32), positive((2, 2), 5))
    case(aten.embedding.default, data((5, 3), torch.float32), positive((2,), 5, torch.int32))
    case(aten.gather.default, data((), torch.float32), 0, torch.tensor(0))
    case(aten.index_select.default, data((4,), torch.float32), 0, torch.tensor(2))
    case(aten.index.Tensor, torch.arange(6).expand(3, 6), [torch.arange(3)[:, None], torch.arange(6)])
    bounds = torch.tensor([1, 3, 3, 5])
    for right in [False, True]:
        case(aten.bucketize.Tensor, data((2, 4), torch.int64, 0, 6), bounds, right=right)
        case(aten.bucketize.Tensor, data((9,), torch.float32, 0, 6, special=True), bounds.float(), right=right, out_int32=True)
        case(aten.bucketize.Scalar, 3, bounds, right=right)
        case(aten.searchsorted.Tensor, bounds, data((7,), torch.int64, 0, 6), right=right)
        case(aten.searchsorted.Tensor, torch.stack([bounds, bounds + 1]), data((2, 3), torch.int64, 0, 6), right=right)
        case(aten.searchsorted.Scalar, bounds, 3, side="right" if right else "left")


@group
def matmuls():
    for dtype in FLOATS + [torch.int64]:
        close = {torch.float32: 1e-5, torch.float64: 1e-13, torch.float16: 1e-2, torch.bfloat16: 1e-1}.get(dtype, 0)
        a = lambda *s: strided(data(s, dtype))
        case(aten.matmul.default, a(2, 3), a(3, 4), close=close)
        case(aten.matmul.default, a(3), a(3, 4), close=close)
        case(aten.matmul.default, a(2, 3), a(3), close=close)
        case(aten.matmul.default, a(3), a(3), close=close)
        case(aten.matmul.default, a(2, 1, 3, 2), a(4, 2, 3), close=close)
        case(aten.matmul.default, a(2, 4, 3), a(3), close=close)
        case(aten.matmul.default, a(2, 3, 1), a(2, 1, 4))
        case(aten.mm.default, a(2, 3), a(3, 4), close=close)
        case(aten.mm.default, a(2, 0), a(0, 4))
        case(aten.bmm.default, a(2, 3, 2), a(2, 2, 5), close=close)
        case(aten.outer.default, a(3), a(4))
        case(aten.dot.default, a(5), a(5), close=close)
        case(aten.mv.default, a(3, 4), a(4), close=close)
        # Sums of the same products: equations, dimensions, and what is added to them.
        for equation, *operands in [("i,j->ij", a(3), a(4)), ("ij,jk", a(2, 3), a(3, 4)), ("bij,bjk->bik", a(2, 3, 2), a(2, 2, 4)), ("ij->ji", a(2, 3)),
                                    ("ii->i", a(3, 3)), ("ii", a(3, 3)), ("...i,...i->...", a(2, 3), a(3)), ("i,ij,j->", a(2), a(2, 3), a(3)),
                                    ("ij->j", a(2, 3)), ("b...d,dk->b...k", a(2, 3, 4), a(4, 2)), ("i,i", a(3), a(1)), ("ba", a(2, 3))]:
            case(aten.einsum.default, equation, operands, close=close)
        case(aten.tensordot.default, a(2, 3, 4), a(4, 3, 2), [1, 2], [1, 0], close=close)
        case(aten.tensordot.default, a(2, 3), a(3, 2), [-1], [0], close=close)
        case(aten.tensordot.default, a(2), a(3), [], [], close=close)
        case(aten.inner.default, a(2, 3), a(4, 3), close=close)
        case(aten.inner.default, data((), dtype), a(2, 3))
        case(aten.linear.default, a(2, 4, 3), a(5, 3), close=close)
        case(aten.linear.default, a(2, 3), a(5, 3), a(5), close=close)
        if dtype.is_floating_point:
            case(aten.linalg_vecdot.default, a(2, 3), a(3), close=close)
            case(aten.linalg_vecdot.default, a(2, 3), a(2, 3), dim=0, close=close)
            case(aten.linear.default, a(4, 3), a(3), close=close)
        case(aten.addmm.default, a(4), a(2, 3), a(3, 4), close=close)
        case(aten.addmm.default, a(2, 4), a(2, 3), a(3, 4), beta=2, alpha=3, close=4 * close)
        case(aten.addmm.default, torch.full((2, 4), math.nan).to(dtype) if dtype.is_floating_point else a(2, 4), a(2, 3), a(3, 4), beta=0, close=close)
        case(aten.addmv.default, a(2), a(2, 3), a(3), alpha=2, close=4 * close)
        case(aten.addbmm.default, a(2, 4), a(3, 2, 3), a(3, 3, 4), beta=2, close=4 * close)
        case(aten.baddbmm.default, a(3, 2, 4), a(3, 2, 3), a(3, 3, 4), close=close)
        case(aten.addr.default, a(2, 3), a(2), a(3), beta=2, alpha=3, close=close)
