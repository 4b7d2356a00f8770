"""d = a b^T from registers, by mma.m8n8k4."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[128, 64], f16[128, 64], f32[128, 128], threads=128, target="sm_70")
def hgemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((128, 64), (128, 64))
    acc = tx.accumulator(f32, (64, 64))
    acc[:, :] = 0
    for k in tx.tiles(64, 16):
        tx.op.tirx.mma(a[m, k].load(), b[n, k].load(), acc)
    d[m, n] = acc
