"""y = x, of which columns lie together in memory: the exchange between threads is found."""

import tirx as tx
from tirx import Array, f32


@tx.jit(f32[128, 256], f32[128, 256].strided(1, 128), threads=128, target="sm_80")
def transpose(x: Array, y: Array) -> None:
    m, n = tx.grid((128, 32), (256, 64))
    y[m, n] = x[m, n].load()
