"""Attention of two heads of 128 queries and keys, 64 wide; `causal` queries see the keys up to their own."""

import tirx as tx
from tirx import Array, f16, f32

SCALE = 0.18033688  # log2(e) / sqrt(64)
QKVO = f16[256, 64], f16[256, 64], f16[64, 256].strided(1, 64), f16[256, 64]


@tx.fn
def attend(q: Array, k: Array, v: Array, o: Array, causal: bool) -> None:
    head, m = tx.grid(2, (128, 64))
    rows = m + head * 128
    sq, sums = tx.shared(q[rows, :]), tx.zeros(f32, 64, 64)
    top, total = tx.full(f32, -1e30, 64, 1), tx.zeros(f32, 64, 1)
    for n in tx.tiles(m.end if causal else 128, 64):
        keys = n + head * 128
        s = sq @ tx.shared(k[keys, :]).T
        if causal:
            s = tx.where(m.index[:, None] >= n.index[None, :], s, -1e30)
        new = tx.maxnum(top, s.max(1))
        p, factor = tx.exp2((s - new) * SCALE), tx.exp2((top - new) * SCALE)
        total, top = tx.fma(total, factor, p.sum(1)), new
        sums = sums * factor + p.to(f16) @ tx.shared(v[:, keys]).T
    o[rows, :] = (sums / total).to(f16)


@tx.jit(*QKVO, threads=128, target="sm_80")
def attention(q: Array, k: Array, v: Array, o: Array) -> None:
    attend(q, k, v, o, False)


@tx.jit(*QKVO, threads=128, target="sm_80")
def causal_attention(q: Array, k: Array, v: Array, o: Array) -> None:
    attend(q, k, v, o, True)
