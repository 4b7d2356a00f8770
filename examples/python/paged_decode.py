"""Attention of one query to keys and values that lie in pages of 16, whose numbers a table has, four at a time."""

import tirx as tx
from tirx import Array, f32, index


@tx.jit(threads=128)
def paged_decode(q: Array, keys: Array, values: Array, table: Array, lengths: Array, o: Array) -> None:
    b = tx.grid(q.shape[0])
    n, query = lengths[b].to(index), q[b, :].load()[None, None, :]
    m, total, acc = tx.full(f32, -1e30, 1, 1, 1), tx.zeros(f32, 1, 1, 1), tx.zeros(f32, 1, 1, 64)
    for j in tx.tiles(tx.ceildiv(n, 16), 4):
        k, v = (each[table[b, j], :, :].load() for each in (keys, values))
        at = j.index[:, None, None] * 16 + tx.indices(1, 4, 16, 1)
        s = tx.where(at < n, (k * query).sum(2), -1e30)
        new = tx.maximum(m, s.max(0, 1))
        w, f = tx.exp(s - new), tx.exp(m - new)
        m, total, acc = new, total * f + w.sum(0, 1), acc * f + (v * w).sum(0, 1)
    o[b, :] = (acc / total).reshape(64)
