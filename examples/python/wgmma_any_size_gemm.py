"""d = a b^T of any sizes, which go to memory by TMA."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[None, None], f16[None, None], f16[None, None], threads=256, target="sm_90a")
def wgmma_any_size_gemm(a: Array, b: Array, d: Array) -> None:
    m, n = tx.grid((d.shape[0], 128), (d.shape[1], 256))
    acc = tx.zeros(f32, 128, 256)
    for k in tx.tiles(a.shape[1], 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    tx.op.tirx.copy(tx.shared(acc.to(f16)), d[m, n], engine="tma_store")
