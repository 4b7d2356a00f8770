"""d = a b^T by pairs of blocks, 256 x 256 a pair."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[512, 256], f16[1024, 256], f32[512, 1024], threads=128, cluster=2, target="sm_100a")
def pair_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((512, 256), (1024, 256))
    acc = tx.zeros(f32, 256, 256)
    for k in tx.tiles(256, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc
