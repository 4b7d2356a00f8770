"""
Causal attention of sequences of any lengths, which lie behind each other; four heads of queries share keys.

A block has 64 rows: 16 queries of a sequence, from `first` on, each with the four heads. Sequences have as many keys as
queries or more.
"""

import tirx as tx
from tirx import Array, f16, f32, i32, index

GROUP, SCALE = 4, 0.18033688  # log2(e) / sqrt(64)


@tx.jit(threads=128)
def ragged_attention(
    q: Array, k: Array, v: Array, queries: Array, keys: Array, sequence: Array, first: Array, o: Array
) -> None:
    b, head = tx.grid(sequence.shape[0], k.shape[1])
    s, start, heads = sequence[b].to(index), first[b].to(index), k.shape[1] * GROUP
    ends, begin, behind = (x.to(index) for x in (queries[s + 1], keys[s], keys[s + 1]))
    row, ahead = tx.indices(0, 64), behind - begin - ends
    query = start + row // GROUP
    rows = tx.where(query < ends, query * heads + head * GROUP + row % GROUP, -1).to(i32)
    sq, sums = tx.shared(q[rows, :]), tx.zeros(f32, 64, 64)
    top, total = tx.full(f32, -1e30, 64, 1), tx.zeros(f32, 64, 1)
    for i in tx.range(0, tx.minimum(start + 64 // GROUP + ahead, behind - begin), 64):
        n, of_sequence = tx.tile(begin + i, 64), tx.tile(begin + i, 64, end=behind)
        seen = tx.indices(1, 1, 64) + i <= query[:, None] + ahead
        x = tx.where(seen, sq @ tx.shared(k[n, head, :]).T, -1e30)
        new = tx.maxnum(top, x.max(1))
        p, factor = (tx.exp2((y - new) * SCALE) for y in (x, top))
        total, top = tx.fma(total, factor, p.sum(1)), new
        sums = sums * factor + p.to(f16) @ tx.shared(v[of_sequence, head, :].T).T
    o[rows, :] = (sums / total).to(f16)
