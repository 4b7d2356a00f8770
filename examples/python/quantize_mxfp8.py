"""y * s = x, rounded to e4m3 with a power of two for every 32 neighbours."""

import tirx as tx
from tirx import Array, e4m3, e8m0, f32


@tx.jit(f32[None, 32, 32], e4m3[None, 32, 32], e8m0[None, 32, 1], threads=128, target="sm_100a")
def quantize(x: Array, y: Array, s: Array) -> None:
    m = tx.grid((x.shape[0], 4))
    t = x[m, :, :].load()
    factors = (tx.abs(t).max(2) * 0.00223214286).to(e8m0)
    s[m, :, :] = factors
    y[m, :, :] = (t / factors.to(f32)).to(e4m3)
