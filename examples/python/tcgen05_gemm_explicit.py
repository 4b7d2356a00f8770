"""d = a b^T with all layouts written: swizzles of 128 bytes, and sums in lanes and columns of tensor memory."""

import tirx as tx
from tirx import Array, f16, f32

SWIZZLED = "ComposeLayout(Swizzle(3, 3, 3), S[({rows}, 64):(64, 1)])"
A, B = (f16[rows, 64].tile("shared", SWIZZLED.format(rows=rows)) for rows in (128, 256))
SUMS = f32[128, 256].tile("tensor", "S[(128, 256):(1@TLane, 1@TCol)]")


@tx.jit(f16[128, 256], f16[256, 256], f32[128, 256], threads=128, target="sm_100a", grid=[1])
def gemm_explicit(a: Array, b: Array, d: Array) -> None:
    sa, sb, acc = map(tx.allocate, (A, B, SUMS))
    acc[:, :] = 0
    for k in tx.tiles(256, 64):
        sa[:, :], sb[:, :] = a[:, k], b[:, k]
        tx.op.tirx.mma(sa, sb, acc)
    d[:, :] = acc
