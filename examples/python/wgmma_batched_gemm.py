"""d[z] = a[z] b[z]^T for each z."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[3, 256, 128], f16[3, 256, 128], f16[3, 256, 256], threads=256, target="sm_90a")
def wgmma_batched_gemm(a: Array, b: Array, d: Array) -> None:
    z, m, n = tx.grid(3, (256, 128), (256, 256))
    acc = tx.zeros(f32, 128, 256)
    for k in tx.tiles(128, 64):
        acc += tx.shared(a[z, m, k]) @ tx.shared(b[z, n, k]).T
    d[z, m, n] = acc.to(f16)
