"""d = a b^T of e4m3 and e5m2 on tcgen05."""

import tirx as tx
from tirx import Array, e4m3, e5m2, f32


@tx.jit(e4m3[256, 512], e5m2[512, 512], f32[256, 512], threads=128, target="sm_100a")
def fp8_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 128), (512, 128))
    acc = tx.zeros(f32, 128, 128)
    for k in tx.tiles(512, 128):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = acc
