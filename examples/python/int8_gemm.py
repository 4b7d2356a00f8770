"""A product of bytes with a scale for each row of x and each row of w."""

import tirx as tx
from tirx import Array, f16, f32, i32


@tx.jit(threads=128)
def int8_gemm(x: Array, w: Array, sx: Array, sw: Array, d: Array) -> None:
    m, n = tx.grid((x.shape[0], 64), (w.shape[0], 64))
    acc = tx.zeros(i32, 64, 64)
    for k in tx.tiles(x.shape[1], 64):
        acc += tx.shared(x[m, k]) @ tx.shared(w[n, k]).T
    d[m, n] = (acc.to(f32) * sx[m][:, None] * sw[n][None, :]).to(f16)
