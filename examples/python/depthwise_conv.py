"""Depthwise convolution of sequences: y[b, t, c] = sum over r of w[r, c] x[b, t + r - 1, c]."""

import tirx as tx
from tirx import Array, f32


@tx.jit(threads=128)
def depthwise_conv(x: Array, w: Array, y: Array) -> None:
    b, t, c = tx.grid(x.shape[0], (x.shape[1], 32), (x.shape[2], 64))
    total = tx.zeros(f32, 32, 64)
    for r in range(3):
        total = tx.fma(x[b, t + (r - 1), c], w[r, c][None, :], total)
    y[b, t, c] = total
