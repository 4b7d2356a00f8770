"""d = a b^T, where a stores two of every four neighbours, and e which."""

import tirx as tx
from tirx import Array, f16, f32, i4


@tx.jit(f16[256, 256], i4[256, 128], f16[256, 512], f32[256, 256], threads=128, target="sm_100a")
def sparse_gemm(a: Array, e: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((256, 128), (256, 128))
    codes, acc = tx.allocate(i4[128, 32].tile("tensor")), tx.accumulator(f32, (128, 128))
    acc[:, :] = 0
    for k in tx.tiles(512, 128):
        codes[:, :] = e[m, k // 4]
        tx.op.tirx.mma(tx.shared(a[m, k // 2]), tx.shared(b[n, k]), acc, metadata=codes)
    d[m, n] = acc
