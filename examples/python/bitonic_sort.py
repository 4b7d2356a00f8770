"""Each row in ascending order by the bitonic network."""

import tirx as tx
from tirx import Array


@tx.jit(threads=128)
def bitonic_sort(x: Array, y: Array) -> None:
    m, W = tx.grid((x.shape[0], 8)), int(x.shape[1])
    e, at = x[m, :].load(), tx.indices(1, 8, W)
    for size in [2**i for i in range(1, W.bit_length())]:
        for j in [size >> i for i in range(1, size.bit_length())]:
            other = e.reshape(8, W // (2 * j), 2, j)[:, :, ::-1, :].reshape(8, W)
            low = ((at & size) == 0) == ((at & j) == 0)
            e = tx.where(low, tx.minnum(e, other), tx.maxnum(e, other))
    y[m, :] = e
