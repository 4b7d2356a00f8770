"""Dropout by counters: every element draws from Philox at its place, so that backward draws the same numbers again."""

import tirx as tx
from tirx import Array, Scalar, Tile, f32, u32


@tx.fn
def philox(c0: Tile, seed: Scalar) -> Tile:
    c1 = c2 = c3 = c0 ^ c0
    k0, k1 = seed, 0
    for _ in range(10):
        p, q = (c0, 0xD2511F53), (c2, 0xCD9E8D57)
        c0, c1, c2, c3 = tx.mulhi(*q) ^ c1 ^ k0, q[0] * q[1], tx.mulhi(*p) ^ c3 ^ k1, p[0] * p[1]
        k0, k1 = k0 + 0x9E3779B9, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0


@tx.jit(threads=128)
def philox_dropout(x: Array, y: Array, seed: Scalar, p: Scalar) -> None:
    m, n = tx.grid((x.shape[0], 32), (x.shape[1], 64))
    at = m.index.to(u32)[:, None] * x.shape[1] + n.index.to(u32)[None, :]
    drawn = (philox(at, seed.to(u32)) >> 8).to(f32) * 2.0**-24
    y[m, n] = tx.where(drawn < p, 0.0, x[m, n] / (1.0 - p))
