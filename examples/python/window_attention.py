"""Attention with a mask from memory, of which query i sees the keys from i - 63 to i."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(threads=128)
def window_attention(q: Array, key: Array, value: Array, mask: Array, d: Array) -> None:
    m = tx.grid((q.shape[0], 64))
    sq, out = tx.shared(q[m, :]), tx.zeros(f32, 64, 64)
    most, total = tx.full(f32, -1e30, 64, 1), tx.zeros(f32, 64, 1)
    for n in tx.tiles(max(m.start - 64, 0), m.start + 64, 64):
        back = m.index[:, None] - n.index[None, :]
        seen = (back >= 0) & (back < 64) & (mask[m, n] != 0)
        s = tx.where(seen, sq @ tx.shared(key[n, :]).T * 0.125, -1e30)
        new = tx.maximum(most, s.max(1))
        w, f = tx.exp(s - new), tx.exp(most - new)
        most, total = new, total * f + w.sum(1)
        out = out * f + w.to(f16) @ tx.shared(value[n, :].T).T
    d[m, :] = out / total
