"""d = (a sa) (b sb)^T of e4m3 with a power of two for every 32 numbers along K."""

import tirx as tx
from tirx import Array, e4m3, e8m0, f32

MATRIX, FACTORS = e4m3[None, 1024], e8m0[None, 32]


@tx.jit(MATRIX, FACTORS, MATRIX, FACTORS, f32[None, None], threads=128, target="sm_100a")
def mxfp8_gemm(a: Array, sa: Array, b: Array, sb: Array, d: Array) -> None:
    m, n = tx.grid((a.shape[0], 128), (b.shape[0], 128))
    fa, fb = (tx.allocate(e8m0[128, 4].tile("tensor")) for _ in "ab")
    acc = tx.accumulator(f32, (128, 128))
    acc[:, :] = 0
    for k in tx.tiles(1024, 128):
        fa[:, :], fb[:, :] = sa[m, k // 32], sb[n, k // 32]
        acc.accumulate(tx.shared(a[m, k]) @ tx.shared(b[n, k]).T, scale_a=fa, scale_b=fb)
    d[m, n] = acc
