"""d = a b^T of integers, whose sums stay within 32 bits."""

import tirx as tx
from tirx import Array, i8, i32


@tx.jit(i8[256, 512], i8[256, 512], i32[256, 256], threads=128, target="sm_100a")
def i8_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 128), (256, 128))
    acc = tx.accumulator(i32, (128, 128))
    acc[:, :] = 0
    for k in tx.tiles(512, 128):
        acc.accumulate(tx.shared(a[m, k]) @ tx.shared(b[n, k]).T, saturate=True)
    d[m, n] = acc
