"""d = gelu(a b^T + bias)."""

import tirx as tx
from tirx import Array, bf16, f32


@tx.jit(bf16[None, 128], bf16[128, 128], f32[1, 128], bf16[None, 128], threads=128, target="sm_100a")
def gemm_gelu(a: Array, b: Array, bias: Array, d: Array) -> None:
    m, n = tx.grid((a.shape[0], 128), (128, 64))
    acc = tx.zeros(f32, 128, 64)
    for k in tx.tiles(128, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    x = acc + bias[:, n]
    d[m, n] = (x * ((tx.erf(x * 0.70710678) + 1.0) * 0.5)).to(bf16)
