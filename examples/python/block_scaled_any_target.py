"""Products of numbers with factors along K: e4m3 with one for every 32, and e2m1 with one for every 16."""

import tirx as tx
from tirx import Array, DType, e2m1, e4m3, e8m0, f32


@tx.fn
def product(a: Array, sa: Array, b: Array, sb: Array, d: Array, scale: DType, BK: int, per: int) -> None:
    m, n = tx.grid((a.shape[0], 128), (b.shape[0], 128))
    fa, fb = (tx.accumulator(scale, (128, BK // per)) for _ in "ab")
    acc = tx.accumulator(f32, (128, 128))
    acc[:, :] = 0
    for k in tx.tiles(512, BK):
        fa[:, :], fb[:, :] = sa[m, k // per], sb[n, k // per]
        acc.accumulate(tx.shared(a[m, k]) @ tx.shared(b[n, k]).T, scale_a=fa, scale_b=fb)
    d[m, n] = acc


@tx.jit(
    e4m3[None, 512], e8m0[None, 16], e4m3[None, 512], e8m0[None, 16], f32[None, None], threads=128, target="sm_100a"
)
def mxfp8(a: Array, sa: Array, b: Array, sb: Array, d: Array) -> None:
    product(a, sa, b, sb, d, e8m0, 128, 32)


@tx.jit(
    e2m1[None, 512], e4m3[None, 32], e2m1[None, 512], e4m3[None, 32], f32[None, None], threads=128, target="sm_100a"
)
def nvfp4(a: Array, sa: Array, b: Array, sb: Array, d: Array) -> None:
    product(a, sa, b, sb, d, e4m3, 256, 16)
