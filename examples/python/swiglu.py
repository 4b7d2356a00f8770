"""A SwiGLU MLP in two kernels: y = d w^T where d = silu(x g^T) * (x u^T), two products that share x."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(threads=128)
def swiglu(x: Array, gate: Array, up: Array, d: Array) -> None:
    m, n = tx.grid((x.shape[0], 64), (gate.shape[0], 64))
    a, b = tx.zeros(f32, 64, 64), tx.zeros(f32, 64, 64)
    for k in tx.tiles(x.shape[1], 64):
        sx = tx.shared(x[m, k])
        a += sx @ tx.shared(gate[n, k]).T
        b += sx @ tx.shared(up[n, k]).T
    d[m, n] = (a / (1.0 + tx.exp(-a)) * b).to(f16)


@tx.jit(threads=128)
def swiglu_down(d: Array, w: Array, y: Array) -> None:
    m, n = tx.grid((d.shape[0], 64), (w.shape[0], 64))
    sums = tx.zeros(f32, 64, 64)
    for k in tx.tiles(d.shape[1], 64):
        sums += tx.shared(d[m, k]) @ tx.shared(w[n, k]).T
    y[m, n] = sums.to(f16)
