"""How often each number from 0 to 63 is in a vector; other numbers count nowhere."""

import tirx as tx
from tirx import Array, i32


@tx.jit(threads=128)
def histogram(x: Array, h: Array) -> None:
    n = tx.grid((x.shape[0], 1024))
    counts = tx.shared(i32, 64)
    counts[x[n]] += 1
    h[:] += counts
