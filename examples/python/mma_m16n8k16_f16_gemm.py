"""d = a b^T by mma.m16n8k16."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[256, 128], f16[512, 128], f32[256, 512], threads=256, target="sm_80")
def mma_f16_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 128), (512, 256))
    acc = tx.accumulator(f32, (128, 256))
    acc[:, :] = 0
    for k in tx.tiles(128, 64):
        acc.accumulate(tx.shared(a[m, k]) @ tx.shared(b[n, k]).T, instruction="m16n8k16")
    d[m, n] = acc
