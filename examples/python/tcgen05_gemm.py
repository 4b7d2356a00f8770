"""d = a b^T on tcgen05, 128 x 256 a block."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[512, 256], f16[1024, 256], f32[512, 1024], threads=128, target="sm_100a")
def gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((512, 128), (1024, 256))
    acc = tx.zeros(f32, 128, 256)
    for k in tx.tiles(256, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc
