"""d += a b^T, of which each block has a part of K."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[128, 512], f16[64, 512], f32[128, 64], threads=128, target="sm_90a")
def split_k(a: Array, b: Array, d: Array) -> None:
    part = tx.grid((512, 128))
    acc = tx.zeros(f32, 128, 64)
    for k in tx.tiles(part.start, part.start + 128, 64):
        acc += tx.shared(a[:, k]) @ tx.shared(b[:, k]).T
    d[:, :] += acc
