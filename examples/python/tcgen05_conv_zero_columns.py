"""A convolution of 3 x 3 without a copy of pixels: taps beyond an edge of a row are columns of zeros."""

import tirx as tx
from tirx import Array, f16, f32

TAPS = "start = 0, zero = 1, use = 31", "[], shift = 1", "start = 31, zero = 1, use = 31, shift = 2"


@tx.jit(f16[322, 64], f16[3, 3, 64, 64], f32[64, 256], threads=128, target="sm_100a")
def conv(image: Array, w: Array, out: Array) -> None:
    pixels = tx.grid((256, 128))
    acc = tx.accumulator(f32, (64, 128))
    acc[:, :] = 0
    for r in tx.range(3):
        first = pixels.start + r * 32
        rows = tx.shared(image[first : first + 130, :])
        for s in range(3):
            tx.op.tirx.mma(tx.shared(w[r, s, :, :]), rows[0 : 128 + s, :], acc, zero_columns=TAPS[s])
    out[:, pixels] = acc
