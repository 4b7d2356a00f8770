"""Mixture of experts: y[ids[r]] += weights[r] * w[e] x[ids[r]] for the rows r of each expert e, which lie in a row."""

import tirx as tx
from tirx import Array, f32, index


@tx.jit(threads=128)
def moe(x: Array, w: Array, ids: Array, weights: Array, expert: Array, first: Array, ends: Array, y: Array) -> None:
    b, n = tx.grid(expert.shape[0], (w.shape[1], 64))
    e = expert[b].to(index)
    rows = tx.tile(first[b], 64, end=ends[e + 1])
    token, acc = ids[rows].load(pad=-1), tx.zeros(f32, 64, 64)
    for k in tx.tiles(x.shape[1], 64):
        acc += tx.shared(x[token, k]) @ tx.shared(w[e, n, k]).T
    y[token, n] += acc * weights[rows][:, None]
