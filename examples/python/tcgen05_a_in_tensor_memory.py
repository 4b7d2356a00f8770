"""e = (a b^T) c^T, where the first product stays in tensor memory."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(f16[128, 64], f16[64, 64], f16[128, 64], f32[128, 128], threads=128, target="sm_100a", grid=[1])
def two_products(a: Array, b: Array, c: Array, e: Array) -> None:
    sums = tx.accumulator(f16, (128, 64))
    sums[:, :] = 0
    sums += tx.shared(a[:, :]) @ tx.shared(b[:, :]).T
    first = tx.allocate(f16[128, 64].tile("tensor"))
    first[:, :] = sums.load()
    e[:, :] = first @ tx.shared(c[:, :]).T
