"""A product with weights of 4 bits: d = x (w * scales)^T, one scale for every 32 neighbours of a row of w.

Rows of w are packed as those of `examples/gallery/w4a16.mlir`. Those of x are filled up to multiples of 128, too.
"""

import tirx as tx
from tirx import Array, f16, f32, i4


@tx.jit(f16[None, None], i4[None, None], f16[None, None], f32[None, None], threads=128)
def w4a16(x: Array, w: Array, scales: Array, d: Array) -> None:
    m, n = tx.grid((x.shape[0], 64), (w.shape[0], 64))
    acc = tx.zeros(f32, 64, 64)
    for k in tx.tiles(x.shape[1], 128):
        words = w[n, k].to(f16).reshape(64, 4, 4, 2, 4).transpose(0, 2, 4, 1, 3)
        groups = words.reshape(64, 4, 32) * scales[n, k // 32][:, :, None]
        acc += tx.shared(x[m, k]) @ tx.shared(groups.reshape(64, 128)).T
    d[m, n] = acc
