"""d = a b^T in tf32, of matrices whose columns lie together in memory."""

import tirx as tx
from tirx import Array, f32, tf32


@tx.jit(tf32[128, 64].strided(1, 128), tf32[256, 64].strided(1, 256), f32[128, 256], threads=128, target="sm_100a")
def tf32_mn_major(a: Array, b: Array, d: Array) -> None:
    n = tx.grid((256, 128))
    acc = tx.zeros(f32, 128, 128)
    for k in tx.tiles(64, 32):
        acc += tx.shared(a[:, k]) @ tx.shared(b[n, k]).T
    d[:, n] = acc
