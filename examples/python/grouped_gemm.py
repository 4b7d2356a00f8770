"""y = x w[e]^T, where all rows of a block have one expert e."""

import tirx as tx
from tirx import Array, f16, f32, i32


@tx.jit(f16[None, 128], f16[None, 256, 128], i32[None], f16[None, 256], threads=256, target="sm_90a")
def grouped_gemm(x: Array, w: Array, experts: Array, y: Array) -> None:
    m, n = tx.grid((x.shape[0], 128), (256, 256))
    expert = experts[tx.block_id("y")]
    acc = tx.zeros(f32, 128, 256)
    for k in tx.tiles(128, 64):
        acc += tx.shared(x[m, k]) @ tx.shared(w[expert, n, k]).T
    y[m, n] = acc.to(f16)
