"""d = a b^T scale, in e4m3."""

import tirx as tx
from tirx import Array, Scalar, bf16, e4m3, f32


@tx.jit(bf16[None, 128], bf16[128, 128], e4m3[None, 128], f32, threads=128, target="sm_89")
def fp8_output(a: Array, b: Array, d: Array, scale: Scalar) -> None:
    m, n = tx.grid((a.shape[0], 128), (128, 64))
    acc = tx.zeros(f32, 128, 64)
    for k in tx.tiles(128, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    d[m, n] = (acc * scale).to(e4m3)
