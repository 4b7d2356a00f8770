"""x with L x = b for a lower triangular L of 64x64: column after column of L is taken off b."""

import tirx as tx
from tirx import Array


@tx.jit(threads=128)
def triangular_solve(lower: Array, b: Array, x: Array) -> None:
    n, row = tx.grid((b.shape[1], 32)), tx.indices(0, 64, 32)
    e = b[:, n].load()
    for k in tx.range(64):
        y = tx.where(row == k, e, 0.0).sum(0) / lower[k, k]
        e = tx.where(row > k, e - lower[:, k][:, None] * y, tx.where(row == k, y, e))
    x[:, n] = e
