"""d = max(a b^T + bias, 0) on every target."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[None, 256], f16[None, 256], f16[1, None], f16[None, None], threads=128, target="sm_80")
def gemm_any_target(a: Array, b: Array, bias: Array, d: Array) -> None:
    m, n = tx.grid((a.shape[0], 128), (b.shape[0], 64))
    acc = tx.zeros(f32, 128, 64)
    for k in tx.tiles(256, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = tx.maximum(acc + bias[:, n].to(f32), 0.0).to(f16)
