"""d = a b^T on wgmma, rounded to f16."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[256, 256], f16[512, 256], f16[256, 512], threads=256, target="sm_90a")
def wgmma_f16_out_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 128), (512, 256))
    acc = tx.zeros(f32, 128, 256)
    for k in tx.tiles(256, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc.to(f16)
