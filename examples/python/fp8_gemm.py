"""A product in e4m3 with a scale for each 128 neighbours of a row of x, and one for each 128x128 of w."""

import tirx as tx
from tirx import Array, bf16, f32


@tx.jit(threads=128)
def fp8_gemm(x: Array, w: Array, sx: Array, sw: Array, d: Array) -> None:
    m, n = tx.grid((x.shape[0], 64), (w.shape[0], 64))
    total = tx.zeros(f32, 64, 64)
    for k in tx.tiles(x.shape[1], 128):
        at = k.start // 128
        scale = tx.shared(sx[at, m])[:, None] * sw[n.start // 128, at]
        total = tx.fma(tx.shared(x[m, k]) @ tx.shared(w[n, k]).T, scale, total)
    d[m, n] = total.to(bf16)
