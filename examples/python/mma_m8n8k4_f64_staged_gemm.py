"""d = a b^T in f64 by mma.m8n8k4."""

import tirx as tx
from tirx import Array, f64


@tx.jit(f64[256, 32], f64[256, 32], f64[256, 256], threads=256, target="sm_80")
def staged_dgemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 128), (256, 128))
    acc = tx.accumulator(f64, (128, 128))
    acc[:, :] = 0
    for k in tx.tiles(32, 16):
        acc.accumulate(tx.shared(a[m, k]) @ tx.shared(b[n, k]).T, instruction="m8n8k4")
    d[m, n] = acc
