"""Attention in numpy: softmax(scale q kᵀ) v for q, k and v [batch, heads, positions, width]."""
import math

import numpy as np


def each_head(x, q):
    """Keys or values for each head of queries."""
    return x.repeat(q.shape[1] // x.shape[1], 1)


def probabilities(q, k, causal=False, scale=None, window=None, cap=None, bias=None, mask=None, slopes=None, segments=None, number=np.float64):
    """Of each key, for each query; the keys' distances from the queries; the soft cap's derivative.

    `number` is the type in which a bias is added. A query that sees no key has zeros.
    """
    s = q @ each_head(k, q).swapaxes(-1, -2) * (scale or 1 / math.sqrt(q.shape[-1]))
    slope = 1
    if cap:
        share = np.tanh(s / cap)
        s, slope = cap * share, 1 - share * share
    distance = np.arange(s.shape[3]) - np.arange(s.shape[2])[:, None] - (s.shape[3] - s.shape[2])
    if slopes is not None:
        s = s + slopes[:, None, None] * distance
    if bias is not None:
        s = (s.astype(number) + bias.astype(number)).astype(np.float64)
    hidden = np.zeros(s.shape, bool)
    if causal:
        hidden |= distance > 0
    if window:
        hidden |= abs(distance) >= window
    if mask is not None:
        hidden |= ~mask
    if segments is not None:
        hidden |= (segments[:, :, None] != segments[:, None, :])[:, None]
    s = np.where(hidden, -np.inf, s)
    most = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(most == -np.inf, 0, most))
    return e / np.where(most == -np.inf, 1, e.sum(-1, keepdims=True)), distance, slope


def attention(q, k, v, *args, **options):
    return probabilities(q, k, *args, **options)[0] @ each_head(v, q)
