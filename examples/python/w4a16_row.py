"""The product of `w4a16.py` for few rows of x, one in each block: warps share out K in four parts of 128 for each step.

Rows of w are packed as those of `examples/gallery/w4a16.mlir`. Those of x are filled up to multiples of 128, too.
"""

import tirx as tx
from tirx import Array, f16, f32, i4


@tx.jit(f16[None, None], i4[None, None], f16[None, None], f32[None, None], threads=256)
def w4a16_row(x: Array, w: Array, scales: Array, d: Array) -> None:
    m, n = tx.grid((x.shape[0], 1), (w.shape[0], 32))
    acc = tx.zeros(f32, 4, 32, 8)
    for k in tx.tiles(x.shape[1], 512):
        words = w[n, k].to(f16).reshape(32, 4, 4, 4, 2, 4).transpose(0, 1, 3, 5, 2, 4).reshape(32, 4, 4, 32)
        groups = words * scales[n, k // 32].reshape(32, 4, 4)[:, :, :, None]
        row = x[m, k].reshape(4, 1, 128).broadcast(4, 8, 128)
        acc += groups.reshape(32, 4, 128).transpose(1, 0, 2) @ row.transpose(0, 2, 1)
    d[m, n] = acc.sum(0).max(2).reshape(1, 32)
