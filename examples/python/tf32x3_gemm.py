"""A product of f32 with nearly all of its digits by tf32: three of the four products of large and small parts."""

import tirx as tx
from tirx import Array, Memory, Tile, f32, i32, tf32


def parts(e: Tile) -> tuple[Memory, Memory]:
    large = (e.bitcast(i32) & 0xFFFFE000).bitcast(f32)
    return tx.shared(large.to(tf32)), tx.shared((e - large).to(tf32))


@tx.jit(threads=128)
def tf32x3_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((a.shape[0], 64), (b.shape[0], 64))
    acc = tx.zeros(f32, 64, 64)
    for k in tx.tiles(a.shape[1], 32):
        (al, ar), (bl, br) = parts(a[m, k]), parts(b[n, k])
        for x, y in ((ar, bl), (al, br), (al, bl)):
            acc += x @ y.T
    d[m, n] = acc
