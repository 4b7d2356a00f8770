"""d = a b^T of matrices whose columns lie together in memory."""

import tirx as tx
from tirx import Array, bf16, f32


@tx.jit(bf16[256, 128].strided(1, 256), bf16[128, 128].strided(1, 128), f32[256, 128], threads=128, target="sm_100a")
def gemm_mn_major(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 64), (128, 128))
    acc = tx.zeros(f32, 64, 128)
    for k in tx.tiles(128, 32):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc
