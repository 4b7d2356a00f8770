"""
Attention of one query to keys and values that lie in pages of 16, whose numbers a table has, four at a time.

Four blocks share out the keys of a query, and the last one that is done puts their parts together.
"""

import tirx as tx
from tirx import Array, f32, index


@tx.jit(threads=128)
def paged_decode(
    q: Array, keys: Array, values: Array, table: Array, lengths: Array, most: Array, sums: Array, rows: Array,
    done: Array, o: Array,
) -> None:  # fmt: skip
    b, i = tx.grid(q.shape[0], 4)
    n, query = lengths[b].to(index), q[b, :].load()[None, None, :]
    m, total, acc = tx.full(f32, -1e30, 1, 1, 1), tx.zeros(f32, 1, 1, 1), tx.zeros(f32, 1, 1, 64)
    count = tx.ceildiv(n, 16)
    share = tx.ceildiv(count, 16) * 4
    for j in tx.tiles(i * share, tx.minimum(i * share + share, count), 4):
        k, v = (each[table[b, j], :, :].load() for each in (keys, values))
        at = j.index[:, None, None] * 16 + tx.indices(1, 4, 16, 1)
        s = tx.where(at < n, (k * query).sum(2), -1e30)
        new = tx.maximum(m, s.max(0, 1))
        w, f = tx.exp(s - new), tx.exp(m - new)
        m, total, acc = new, total * f + w.sum(0, 1), acc * f + (v * w).sum(0, 1)
    most[b, i], sums[b, i], rows[b, i, :] = m[0, 0, 0], total[0, 0, 0], acc.reshape(64)
    if tx.atomic(done[b], "add", 1, order="acq_rel") == 3:
        parts = most[b, :].load()
        w = tx.exp(parts - parts.max(0))
        o[b, :] = (rows[b, :, :] * w[:, None]).sum(0).reshape(64) / (sums[b, :] * w).sum(0)
        done[b] = 0
