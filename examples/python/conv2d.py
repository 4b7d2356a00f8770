"""A convolution of 3x3 with stride 2 and padding 1, as products of 64 places (4 rows of 16) and 64 channels."""

import tirx as tx
from tirx import Array, f32


@tx.jit(threads=128)
def conv2d(x: Array, w: Array, y: Array) -> None:
    b, p, q, o = tx.grid(y.shape[0], (y.shape[1], 4), (y.shape[2], 16), (y.shape[3], 64))
    acc = tx.zeros(f32, 64, 64)
    for r in tx.range(3):
        for s in tx.range(3):
            for c in tx.tiles(w.shape[3], 32):
                places = tx.shared(x[b, 2 * p + (r - 1), 2 * q + (s - 1), c]).reshape(64, 32)
                acc += places @ tx.shared(w[o, r, s, c]).T
    y[b, p, q, o] = acc.reshape(4, 16, 64)
