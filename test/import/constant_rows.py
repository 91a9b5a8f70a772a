"""Calls of ops on constants: what creates, and what is elementwise."""
import math

import torch

from constant_cases import (ALL, BOOL, FLOATS, INTS, SHAPES, SIGNED, aten, case, data, group, pair, random_shape, rng, strided)


@group
def creation():
    for dtype in [None] + FLOATS + INTS:
        case(aten.arange.default, rng.randint(0, 9), dtype=dtype)
        case(aten.arange.start, rng.randint(-4, 2), rng.randint(3, 9), dtype=dtype)
        case(aten.arange.start_step, 1, 12, rng.randint(1, 5), dtype=dtype)
    case(aten.arange.start_step, 10, -7, -3)
    case(aten.arange.start_step, 0.0, 1.0, 0.25)
    case(aten.arange.start_step, 0.1, 2.0, 0.3, close=1e-6)
    case(aten.arange.default, 5.5)
    case(aten.arange.start, 2, 2)
    for dtype in ALL:
        case(aten.full.default, random_shape(), rng.choice([0, 1, 1.5, -2, True, math.inf]) if dtype.is_floating_point else rng.choice([0, 1, True]), dtype=dtype)
        case(aten.zeros.default, random_shape(), dtype=dtype)
        case(aten.ones.default, random_shape(), dtype=dtype)
        x = data(random_shape(), dtype)
        case(aten.full_like.default, x, 3, dtype=rng.choice([None, torch.float32, torch.int64]))
        case(aten.zeros_like.default, x)
        case(aten.ones_like.default, x, dtype=rng.choice([None, torch.float16]))
        case(aten.new_ones.default, x, random_shape(), dtype=rng.choice([None, BOOL]))
        case(aten.new_zeros.default, x, random_shape())
        case(aten.new_full.default, x, random_shape(), 1)
        case(aten.scalar_tensor.default, 1, dtype=dtype)
        case(aten.eye.default, 3, dtype=dtype)
        case(aten.fill.Scalar, x, 1)
        case(aten.fill.Tensor, x, data((), dtype))
        for other in rng.sample(ALL, 3):
            case(aten.to.dtype, data(random_shape(), dtype, 0, 5), other)
            case(aten._to_copy.default, data(random_shape(), dtype, 0, 5), dtype=other)
            case(aten.type_as.default, data(random_shape(), dtype, 0, 5), data((2,), other))
            case(aten.to.other, data(random_shape(), dtype, 0, 5), data((2,), other))
        case(aten.copy.default, data((2, 3), rng.choice(ALL), 0, 5), data((3,), dtype, 0, 5))
    case(aten.scalar_tensor.default, -math.inf)
    case(aten.scalar_tensor.default, 2.5, dtype=torch.float32)
    case(aten.full.default, (2, 2), -3.4028234663852886e38)
    case(aten.full.default, (2,), 7)
    case(aten.eye.m, 3, 5)
    case(aten.eye.m, 0, 2)
    for dtype in [torch.float32, torch.float64, torch.int64]:
        case(aten.linspace.default, 0, 10, 6, dtype=dtype, close=1e-6)
    case(aten.linspace.default, -1.0, 1.0, 7, close=1e-6)
    case(aten.linspace.default, 3.5, 1.0, 1)
    case(aten.linspace.default, 3.5, 1.0, 0)
    for offset in [-2, -1, 0, 1, 3]:
        case(aten.tril_indices.default, 3, 4, offset)
        case(aten.triu_indices.default, 4, 3, offset)
    x = data((2, 3), torch.float32)
    for op in [aten.detach.default, aten.alias.default, aten.clone.default, aten.contiguous.default, aten.lift_fresh_copy.default]:
        case(op, x)
    case(aten.one_hot.default, torch.tensor([[0, 2], [1, 1]]), 4)


@group
def unary():
    loose = [aten.exp, aten.log, aten.log2, aten.sin, aten.cos, aten.tanh, aten.sigmoid, aten.erf, aten.exp2, aten.expm1, aten.log1p, aten.log10, aten.tan]
    # PyTorch's own square root of float64 is not rounded right everywhere.
    exact = [aten.reciprocal]
    loose.append(aten.sqrt)
    for op in loose + exact + [aten.rsqrt]:
        for dtype in FLOATS + [rng.choice(INTS + [BOOL])]:
            low = 0 if op in (aten.log, aten.sqrt) else -4
            case(op.default, strided(data(rng.choice(SHAPES), dtype, low, special=rng.random() < 0.4)), ulps=0 if op in exact else 1)
    for op in [aten.neg, aten.abs, aten.sign, aten.floor, aten.ceil, aten.round, aten.trunc, aten.relu, aten.square]:
        for dtype in FLOATS + rng.sample(INTS, 3):
            case(op.default, strided(data(random_shape(), dtype, special=rng.random() < 0.3)))
    for op in [aten.isnan, aten.isinf, aten.isfinite, aten.nan_to_num]:
        for dtype in FLOATS + [torch.int64, BOOL]:
            case(op.default, data((2, 5), dtype, special=True))
    case(aten.nan_to_num.default, data((9,), torch.float32, special=True), 1.5, 7.0, -8.0)
    for dtype in INTS + [BOOL]:
        case(aten.bitwise_not.default, data(random_shape(), dtype))
    for dtype in ALL:
        case(aten.logical_not.default, data(random_shape(), dtype, 0, 2))
        for op in [aten.tril, aten.triu]:
            case(op.default, data(rng.choice([(3, 4), (2, 3, 3), (4, 2)]), dtype), rng.randint(-2, 3))


def number(dtype):
    return rng.choice([2, -3, 1, 0.5, -1.25, 2.3, 0.1] if dtype.is_floating_point else [2, 1, 3])


@group
def binary():
    arithmetic = [aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor]
    for op in arithmetic:
        for dtype in FLOATS + [torch.int64, torch.int32, torch.uint8]:
            s = random_shape()
            case(op, strided(data(s, dtype, 1)), data(pair(s), dtype, 1))
            case(op, data(random_shape(), dtype), number(dtype))
            other = rng.choice(ALL)
            case(op, data(s, dtype), data(pair(s), rng.choice(FLOATS + SIGNED), 1))
            case(op, data((), dtype), data(s, rng.choice(FLOATS + SIGNED), 1))
        case(op, data((3,), torch.int64), 1.7)
        if op is not aten.sub.Tensor:
            case(op, data((3,), BOOL), 2)
        case(op, data((), torch.float32), data((3,), torch.int64, 1))
    case(aten.add.Tensor, data((4,), BOOL), data((4,), BOOL))
    for dtype in FLOATS[2:]:
        for op in arithmetic + [aten.rsub.Tensor, aten.pow.Tensor_Tensor, aten.floor_divide.default, aten.remainder.Tensor]:
            case(op, data((17,), dtype, 1), torch.tensor(2.3), ulps=1 if op is aten.pow.Tensor_Tensor else 0)
        for op in arithmetic + [aten.rsub.Scalar, aten.floor_divide.Scalar, aten.fmod.Scalar]:
            case(op, data((17,), dtype), 2.3)
        case(aten.mul.Tensor, torch.tensor(2.3), data((17,), dtype))
        for name in ["lt", "ge", "eq"]:
            case(getattr(aten, name).Scalar, data((17,), dtype), 2.3)
            case(getattr(aten, name).Tensor, data((17,), dtype), torch.tensor(2.3))
    case(aten.mul.Tensor, data((4,), BOOL), data((4,), BOOL))
    for op in [aten.add.Tensor, aten.sub.Tensor, aten.rsub.Tensor]:
        for dtype in [torch.float32, torch.float64, torch.int64]:
            case(op, data((2, 3), dtype), data((3,), dtype), alpha=rng.choice([2, 3]), ulps=1)
        case(op, data((7,), torch.float32), data((7,), torch.float32), alpha=0.7, ulps=1, close=1e-6)
    for op in [aten.add.Scalar, aten.sub.Scalar, aten.rsub.Scalar, aten.mul.Scalar, aten.div.Scalar]:
        for dtype in FLOATS + [torch.int64]:
            case(op, data((2, 3), dtype), number(dtype))
    case(aten.rsub.Scalar, data((2, 3), torch.float32), 1.0)
    for mode in ["floor", "trunc", None]:
        for dtype in FLOATS + SIGNED + [torch.uint8]:
            s = (3, 5)
            b = data(s, dtype, -4)
            if not dtype.is_floating_point:
                b = torch.where(b == 0, torch.ones_like(b), b)
            case(aten.div.Tensor_mode, data(s, dtype, -20, 20), b, rounding_mode=mode)
            case(aten.div.Scalar_mode, data(s, dtype, -20, 20), rng.choice([2, 3]) if dtype is torch.uint8 else rng.choice([2, -3]), rounding_mode=mode)
    for op in [aten.floor_divide, aten.remainder, aten.fmod]:
        for dtype in FLOATS + SIGNED + [torch.uint8]:
            b = data((3, 5), dtype, -4)
            if not dtype.is_floating_point:
                b = torch.where(b == 0, torch.ones_like(b), b)
            tensor = op.default if op is aten.floor_divide else op.Tensor
            case(tensor, data((3, 5), dtype, -20, 20), b)
            case(op.Scalar, data((3, 5), dtype, -20, 20), 3)
            if dtype.is_floating_point:
                case(op.Scalar, data((3, 5), dtype, -20, 20), -0.3)
    case(aten.remainder.Tensor, torch.tensor([1.0, -0.0, math.inf, 3.0]), torch.tensor([0.0, 2.0, 2.0, math.inf]))
    case(aten.remainder.Scalar_Tensor, 7, torch.tensor([2, -3, 5]))
    case(aten.floor_divide.default, torch.tensor([1.0, -1.0, 0.0, 5.0]), torch.tensor([0.0, 0.0, 0.0, -math.inf]))
    for dtype in FLOATS:
        for exponent in [2, 3, 0.5, -1, -2, -0.5, 1.5, 0, 1]:
            case(aten.pow.Tensor_Scalar, data((2, 5), dtype, 0, 4), exponent, ulps=1)
        case(aten.pow.Tensor_Tensor, data((2, 5), dtype, 0, 4), data((5,), dtype), ulps=1)
        case(aten.pow.Scalar, rng.choice([2, 10000.0, 0.5]), data((2, 5), dtype), ulps=1)
    for dtype in SIGNED + [torch.uint8]:
        case(aten.pow.Tensor_Scalar, data((2, 5), dtype, -3, 3), rng.randint(0, 5))
        case(aten.pow.Tensor_Tensor, data((2, 5), dtype, -3, 3), data((5,), dtype, 0, 4))
    case(aten.pow.Tensor_Tensor, data((2, 5), torch.int64, -3, 3), data((5,), torch.int64, -4, 4))
    case(aten.pow.Scalar, 2, data((5,), torch.int64, 0, 9))
    for op in [aten.minimum.default, aten.maximum.default, aten.max.other, aten.min.other]:
        for dtype in FLOATS[:2] + [torch.bfloat16, torch.int64, torch.uint8, BOOL]:
            case(op, data((2, 5), dtype, special=True), data((5,), dtype, special=True), ulps=1)
        case(op, data((2, 5), torch.int64), data((5,), torch.float32))
    for name in ["eq", "ne", "lt", "le", "gt", "ge"]:
        op = getattr(aten, name)
        for dtype in ALL:
            x = data((2, 5), dtype, 0, 3, special=rng.random() < 0.3)
            case(op.Tensor, x, data((5,), rng.choice(ALL), 0, 3))
            case(op.Tensor, x, data((), rng.choice(ALL), 0, 3))
            case(op.Scalar, x, rng.choice([0, 1, 2, 0.1, 1.5, True]))
        case(op.Scalar, torch.tensor([0.1, 0.2, 0.3]), 0.1)
        case(op.Scalar, torch.tensor([0.1, 0.2, 0.3], dtype=torch.bfloat16), 0.1)
        case(op.Tensor, torch.tensor([2**53, 2**53 + 1]), torch.tensor([2**53 + 1, 2**53 + 1]))
        case(op.Tensor, torch.tensor([2**53 + 1, 3]), torch.tensor([2.0**53, 3.0]))
    for name in ["logical_and", "logical_or", "logical_xor"]:
        for dtype in ALL:
            case(getattr(aten, name).default, data((2, 5), dtype, 0, 2), data((5,), rng.choice(ALL), 0, 2))
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor", "__and__", "__or__", "__xor__"]:
        op = getattr(aten, name)
        for dtype in INTS + [BOOL]:
            case(op.Tensor, data((2, 5), dtype), data((5,), dtype))
            case(op.Tensor, data((2, 5), dtype), data((5,), rng.choice(INTS)))
            case(op.Scalar, data((2, 5), dtype), True if dtype is BOOL else 3)
    for name in ["__lshift__", "__rshift__"]:
        op = getattr(aten, name)
        for dtype in INTS:
            case(op.Tensor, data((2, 5), dtype, -50, 50), data((5,), dtype, 0, 9))
            case(op.Scalar, data((2, 5), dtype, -50, 50), 2)
    for name in ["bitwise_left_shift", "bitwise_right_shift"]:
        case(getattr(aten, name).Tensor, data((2, 5), torch.int32, -50, 50), data((5,), torch.int32, -2, 40))
        case(getattr(aten, name).Tensor_Scalar, data((2, 5), torch.uint8), 1)


@group
def selection():
    for dtype in ALL:
        s = rng.choice([(2, 3), (4,), (2, 1, 3)])
        c = data(s, BOOL)
        case(aten.where.self, c, data(pair(s), dtype, 0, 5), data(s, rng.choice(ALL), 0, 5))
        case(aten.where.self, c, data((), dtype, 0, 5), data((), rng.choice(ALL), 0, 5))
        case(aten.where.ScalarOther, c, data(pair(s), dtype), 2)
        case(aten.where.ScalarSelf, c, 1.5, data(pair(s), dtype))
        case(aten.masked_fill.Scalar, data(s, dtype), c, 1)
        case(aten.masked_fill.Scalar, data((3,), dtype), data((2, 3), BOOL), 0)
        case(aten.masked_fill.Tensor, data(s, dtype), c, data((), dtype))
    case(aten.clip.Tensor, data((6,), torch.float32), data((), torch.float32), data((6,), torch.float32))
    case(aten.clamp_max.Tensor, data((6,), torch.float32), data((6,), torch.float32))
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        case(getattr(aten, name).Scalar_Tensor, 6, data((6,), torch.int64))
    case(aten.to.device, data((6,), torch.float32), "cpu", torch.float16)
    case(aten.to.dtype_layout, data((6,), torch.float32), dtype=torch.int64, layout=torch.strided, device="cpu")
    case(aten.where.Scalar, data((2, 3), BOOL), 0.0, -math.inf)
    case(aten.where.Scalar, data((2, 3), BOOL), 1, 2)
    case(aten.masked_fill.Scalar, data((2, 3), torch.float32), data((2, 3), BOOL), -math.inf)
    for dtype in FLOATS + INTS:
        x = data((2, 6), dtype, -9, 9, special=True)
        low, high = (1, 4)
        case(aten.clamp.default, x, low, high)
        case(aten.clamp.default, x, None, high)
        case(aten.clip.default, x, low)
        case(aten.clamp_min.default, x, low)
        case(aten.clamp_max.default, x, high)
        case(aten.clamp.Tensor, x, data((6,), dtype), data((2, 1), dtype))
        case(aten.clamp.Tensor, x, None, data((), dtype))
        case(aten.clamp_min.Tensor, x, data((6,), dtype))
    case(aten.clamp.default, data((5,), torch.int64), 0.5, 2.5)
    case(aten.clamp.default, data((5,), torch.float32), 0.1, 0.7)
    case(aten.clamp.default, data((5,), torch.bfloat16), 0.1, 0.7)
    for _ in range(6):
        x = data((3, 5), rng.choice(ALL))
        case(aten.slice_scatter.default, x, data((3, 2), x.dtype), 1, 1, 5, 2)
        case(aten.select_scatter.default, x, data((3,), x.dtype), 1, -2)
    case(aten.slice_scatter.default, data((3, 2), torch.int64), data((2, 2), torch.int64), 0, 1, 2**63 - 1)


@group
def edges():
    """Overflow, ties, the category of a scalar, and tensors without elements."""
    extremes = {torch.int8: [-128, 127, -1, 0], torch.uint8: [255, 128, 1, 0], torch.int16: [-2 ** 15, 2 ** 15 - 1, -1, 0],
                torch.int32: [-2 ** 31, 2 ** 31 - 1, -1, 0], torch.int64: [-2 ** 63, 2 ** 63 - 1, -1, 0]}
    for dtype, values in extremes.items():
        x = torch.tensor(values, dtype=dtype)
        one = torch.ones((), dtype=dtype)
        for op in [aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor]:
            case(op, x, x)
            case(op, x, 3)
            case(op, x, one)
        case(aten.mul.Tensor, x, x.flip(0))
        case(aten.add.Tensor, x, x, alpha=2)
        for op in [aten.neg, aten.abs, aten.square, aten.sign]:
            case(op.default, x)
        case(aten.pow.Tensor_Scalar, x, 3)
        case(aten.cumsum.default, x, 0, dtype=dtype)
        case(aten.cumprod.default, x + 3, 0, dtype=dtype)
        case(aten.sum.default, x.repeat(3), dtype=dtype)
        case(aten.prod.default, x + 5, dtype=dtype)
        case(aten.arange.default, 5, dtype=dtype)
        for other in INTS + [BOOL] + FLOATS:
            case(aten._to_copy.default, x, dtype=other)
        for mode in ["floor", "trunc", None]:
            case(aten.div.Tensor_mode, x, torch.tensor([3], dtype=dtype), rounding_mode=mode)
        case(aten.bitwise_left_shift.Tensor, x, torch.tensor([0, 1, 7, 6], dtype=dtype))
        case(aten.bitwise_right_shift.Tensor, x, torch.tensor([0, 1, 7, 6], dtype=dtype))
    for dtype in SIGNED:
        a, b = torch.tensor([7, -7, 7, -7, 6, -6], dtype=dtype), torch.tensor([2, 2, -2, -2, 3, 3], dtype=dtype)
        for op in [aten.floor_divide.default, aten.remainder.Tensor, aten.fmod.Tensor, aten.div.Tensor]:
            case(op, a, b)
        for divisor in [2, -2]:
            for op in [aten.floor_divide.Scalar, aten.remainder.Scalar, aten.fmod.Scalar]:
                case(op, a, divisor)
    ties = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.49, -0.0, 2.0 ** 52 + 0.5, math.nan, math.inf, -math.inf]
    for dtype in FLOATS:
        x = torch.tensor(ties, dtype=torch.float64).to(dtype)
        for op in [aten.round, aten.floor, aten.ceil, aten.trunc, aten.sign, aten.relu, aten.neg, aten.abs, aten.reciprocal, aten.square]:
            case(op.default, x)
        for op in [aten.isnan, aten.isinf, aten.isfinite, aten.logical_not]:
            case(op.default, x)
        for other in [torch.int64, torch.int32, torch.int8, BOOL, *FLOATS]:
            finite = torch.tensor([0.5, 1.5, -1.5, 2.999, -2.999, -0.0, 100.75], dtype=torch.float64).to(dtype)
            case(aten._to_copy.default, finite.abs() if other is torch.uint8 else finite, dtype=other)
        for op in [aten.maximum.default, aten.minimum.default]:
            case(op, x, x.flip(0), ulps=1)
        for op in [aten.add.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.eq.Tensor, aten.ne.Tensor, aten.lt.Tensor]:
            case(op, x, x.flip(0))
        for op in [aten.amax, aten.amin, aten.max, aten.min]:
            case(op.default, x)
        case(aten.sum.default, x)
        # Which 16-bit floats round to even, to infinity, and to a number that is not normal.
        rounded = torch.tensor([1 + 2.0 ** -8, 1 + 3 * 2.0 ** -8, 1 + 2.0 ** -11, 65519.0, 65520.0, 3.3961775292304e38, 2.0 ** -24, 2.0 ** -25, 1e-40], dtype=torch.float64)
        case(aten._to_copy.default, rounded, dtype=dtype)
    scalars = [torch.tensor(3, dtype=dtype) for dtype in ALL]
    for dtype in ALL:
        x = data((3,), dtype, 0, 4)
        for scalar in scalars:
            case(aten.add.Tensor, x, scalar)
            case(aten.mul.Tensor, scalar, x)
        for number in [2, 2.5, True]:
            case(aten.mul.Tensor, x, number)
            case(aten.lt.Scalar, x, number)
        for other in ALL:
            case(aten.add.Tensor, x, data((1,), other, 0, 4))
            case(aten.where.self, torch.tensor(True), x, data((), other, 0, 4))
    for shape in [(0,), (2, 0), (0, 3)]:
        for dtype in [torch.float32, torch.int64, BOOL]:
            x = data(shape, dtype)
            for op in [aten.add.Tensor, aten.mul.Tensor, aten.eq.Tensor]:
                case(op, x, x)
            case(aten.sum.default, x)
            case(aten.all.default, x)
            case(aten.empty.memory_format, shape, dtype=dtype)
            case(aten.empty_like.default, x)
            case(aten.empty_permuted.default, shape, list(range(len(shape))), dtype=dtype)
            case(aten.empty_strided.default, shape, [1] * len(shape), dtype=dtype)
            case(aten.new_empty.default, x, shape)
            case(aten.flip.default, x, [0])
            case(aten.cat.default, [x, x], -1)
            case(aten.reshape.default, x, (0,))
            case(aten.cumsum.default, x, 0)


@group
def formulas():
    for dtype in FLOATS + [torch.int64, torch.uint8]:
        x = lambda *shape: strided(data(shape, dtype, special=rng.random() < 0.2))
        case(aten.addcmul.default, x(2, 3), x(3), x(2, 1), ulps=2, close=1e-6)
        case(aten.addcmul.default, x(2, 3), x(3), x(2, 1), value=2, ulps=2, close=1e-6)
        if dtype is not torch.uint8:
            case(aten.hardtanh.default, x(3, 4))
        case(aten.hardtanh.default, x(3, 4), 1, 3)
        case(aten.relu6.default, data((9,), dtype, -4, 9))
        case(aten.threshold.default, x(3, 4), 1, 7)
        case(aten.xlogy.Tensor, data((9,), dtype, 0, 5), data((9,), dtype, 0, 5, special=True), ulps=2)
        case(aten.zero.default, x(2, 3))
    for dtype in FLOATS:
        one = lambda: strided(data((3, 5), dtype, special=rng.random() < 0.3))
        case(aten.addcmul.default, one(), one(), one(), value=0.7, ulps=2, close=1e-5)
        case(aten.addcdiv.default, one(), one(), data((3, 5), dtype, 1), value=0.7, ulps=2, close=1e-5)
        case(aten.addcdiv.default, one(), one(), data((5,), dtype, 1), ulps=2, close=1e-5)
        for weight in [0.3, 0.5, 0.9, -2.5]:
            case(aten.lerp.Scalar, one(), one(), weight, ulps=2, close=1e-5)
        case(aten.lerp.Tensor, one(), one(), data((3, 5), dtype, -1, 2), ulps=2, close=1e-5)
        case(aten.frac.default, one())
        # PyTorch's sums of functions are rounded more often than ours.
        near = {torch.float64: 1e-14, torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 1e-2}[dtype]
        for op in [aten.sinh, aten.cosh]:
            case(op.default, one(), ulps=2)
        for op in [aten.silu, aten.mish, aten.log_sigmoid, aten.gelu, aten.elu, aten.selu, aten.celu, aten.softplus, aten.hardswish, aten.hardsigmoid]:
            case(op.default, data((3, 5), dtype, -9, 9), ulps=4, close=near)
        for op in [aten.leaky_relu, aten.hardshrink, aten.softshrink, aten.log_sigmoid, aten.hardswish, aten.hardsigmoid]:
            case(op.default, one(), ulps=4, close=near)
        case(aten.gelu.default, data((3, 5), dtype), approximate="tanh", ulps=4, close=near)
        case(aten.elu.default, data((3, 5), dtype), 0.7, 1.5, 2.0, ulps=4, close=near)
        case(aten.celu.default, data((3, 5), dtype), 0.7, ulps=4, close=near)
        case(aten.leaky_relu.default, one(), 0.3)
        case(aten.hardshrink.default, one(), 1.25)
        case(aten.softshrink.default, one(), 1.25, ulps=1)
        case(aten.softplus.default, data((3, 5), dtype, -9, 9), 2.0, 3.0, ulps=4, close=near)
        case(aten.glu.default, data((3, 4), dtype), ulps=4, close=near)
        case(aten.glu.default, data((4, 3), dtype), 0, ulps=4, close=near)
        case(aten.logit.default, (data((3, 5), dtype, 1, 7) / 8), ulps=4, close=near)
        case(aten.logit.default, data((3, 5), dtype, -1, 2), 0.125, ulps=4, close=near)
        case(aten.xlogy.Scalar_Self, 1.5, data((5,), dtype, 0, 4), ulps=2)
        case(aten.xlogy.Scalar_Other, data((5,), dtype, 0, 4), 2.5, ulps=2)
        for op in [aten.logaddexp, aten.logaddexp2]:
            case(op.default, data((3, 5), dtype, special=dtype in FLOATS[:2]), data((5,), dtype), ulps=4, close=near)
    case(aten.logaddexp.default, torch.tensor([math.inf, -math.inf, math.inf]), torch.tensor([math.inf, -math.inf, -math.inf]), ulps=1)
    case(aten.hardtanh.default, torch.tensor([0.1, 0.7, math.nan, -3.0]), 0.1, 0.7)
    case(aten.threshold.default, torch.tensor([0.1, 0.7, math.nan, -3.0]), 0.1, 20.0)
