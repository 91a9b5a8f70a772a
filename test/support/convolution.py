"""A convolution in numpy, written from the description of `pp.conv`."""
import numpy as np


def conv(x, w, sizes, strides=None, dilations=None, offsets=None, spreads=None):
    """x [B, G, C, S...] and w [G, O, C, K...]; `sizes`: P... of the result [B, G, O, P...]."""
    rank = len(sizes)
    strides, dilations, spreads = (numbers or [1] * rank for numbers in (strides, dilations, spreads))
    result = np.zeros(x.shape[:2] + w.shape[1:2] + tuple(sizes), x.dtype)
    for k in np.ndindex(*w.shape[3:]):
        read = x
        for dim in range(rank):
            place = strides[dim] * np.arange(sizes[dim]) + dilations[dim] * k[dim] + (offsets or [0] * rank)[dim]
            at, rest = np.divmod(place, spreads[dim])
            is_inside = (rest == 0) & (at >= 0) & (at < x.shape[3 + dim])
            read = np.take(read, np.where(is_inside, at, 0), 3 + dim) * is_inside.reshape((-1,) + (1,) * (rank - 1 - dim))
        result += np.einsum("bgc...,goc->bgo...", read, w[(...,) + k])
    return result
