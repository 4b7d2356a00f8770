"""D = A B^T in f16 where A is 2:4 sparse: of every four neighbours along K two are stored, and a code says which."""

import tirx as tx
from tirx import Array, f16, f32, i4


@tx.jit(f16[None, None], i4[None, None], f16[None, None], f32[None, None], threads=128)
def sparse_gemm(a: Array, codes: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((a.shape[0], 64), (b.shape[0], 64))
    acc = tx.accumulator(f32, (64, 64))
    acc[:] = 0.0
    for k in tx.tiles(codes.shape[1], 16):
        stored, whole = tx.tile(k.start * 2, 32), tx.tile(k.start * 4, 64)
        tx.op.tirx.mma(tx.shared(a[m, stored]), tx.shared(b[n, whole]), acc, metadata=codes[m, k].load())
    d[m, n] = acc
