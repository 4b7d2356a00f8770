"""d = a b^T for a of M x K and b of N x K."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(threads=128)
def gemm(a: Array, b: Array, d: Array, BM: int = 128, BN: int = 64, BK: int = 64) -> None:
    m, n = tx.grid((a.shape[0], BM), (b.shape[0], BN))
    acc = tx.zeros(f32, BM, BN)
    for k in tx.tiles(a.shape[1], BK):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc.to(f16)
