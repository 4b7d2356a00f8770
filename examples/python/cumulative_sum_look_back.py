"""Cumulative sums of rows, which are read once: a block looks back until it meets one that knows all sums before it."""

import tirx as tx
from tirx import Array, f32


@tx.jit(threads=128, progress="in_order")
def cumulative_sum_look_back(x: Array, part: Array, whole: Array, state: Array, y: Array) -> None:
    m, n = tx.grid((x.shape[0], 4), (x.shape[1], 128))
    i, j = m.start // 4, n.start // 128
    sums, total = tx.scan(x[m, n], 1)
    part[m, j] = total.reshape(4)
    tx.signal(state[i, j], 1)
    before, k, more = tx.zeros(f32, 4, 1), j - 1, j > 0
    while more:
        ready = tx.wait_until(state[i, k], "ge", 1)
        before = before + (whole[m, k] if ready == 2 else part[m, k])[:, None]
        more, k = (ready == 1) & (k > 0), k - 1
    whole[m, j] = (before + total).reshape(4)
    tx.signal(state[i, j], 2)
    y[m, n] = sums + before
