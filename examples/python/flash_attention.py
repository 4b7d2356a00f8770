"""Attention of grouped heads 128 wide with running maxima; queries of the causal one see the keys up to their own."""

import tirx as tx
from tirx import Array, Scalar, Span, f16, f32

SCALE = 0.12751743  # log2(e) / sqrt(128)
QKVO = f16[None, None, 128], f16[None, None, 128], f16[None, 128, None].strided(None, 1, 128), f16[None, None, 128]


@tx.fn
def attend(q: Array, k: Array, v: Array, o: Array, head: Scalar, m: Span, causal: bool) -> None:
    length, kv = k.shape[1], head // (q.shape[0] // k.shape[0])
    end, whole = (min(m.start + 128, length), min(m.start + 1, length)) if causal else (length, length)
    sq, sums = tx.shared(q[head, m, :]), tx.zeros(f32, 128, 128)
    top, total = tx.full(f32, -1e30, 128, 1), tx.zeros(f32, 128, 1)
    for i in tx.range(0, end, 128):
        n = tx.tile(i, 128, end=length)
        s = sq @ tx.shared(k[kv, n, :]).T
        if i + 128 > whole:
            limit = tx.minimum(m.index + 1, length)[:, None] if causal else length
            s = tx.where(n.index[None, :] < limit, s, -1e30)
        new = tx.maxnum(top, s.max(1))
        p, factor = (tx.exp2(tx.fma(x, SCALE, -new * SCALE), fastmath="afn") for x in (s, top))
        total, top = tx.fma(total, factor, p.sum(1)), new
        sums = sums * factor + p.to(f16) @ tx.shared(v[kv, :, n]).T
    o[head, m, :] = (sums * (1.0 / total)).to(f16)


@tx.jit(*QKVO, threads=256, target="sm_90a")
def flash_attention(q: Array, k: Array, v: Array, o: Array) -> None:
    head, m = tx.grid(q.shape[0], (q.shape[1], 128))
    attend(q, k, v, o, head, m, False)


@tx.jit(*QKVO, threads=256, target="sm_90a", attributes={"tirx.order": tx.attribute('"row"')})
def causal_flash_attention(q: Array, k: Array, v: Array, o: Array) -> None:
    # Groups of four heads fit into the L2 cache; the longest blocks come first in one group, and last in the next one.
    heads, blocks = q.shape[0], tx.ceildiv(q.shape[1], 128)
    number = tx.grid(heads * blocks)
    group, within = number // (blocks * 4), number % (blocks * 4)
    share = min(heads - group * 4, 4)
    block = within // share
    place = block if group % 2 == 1 else blocks - 1 - block
    attend(q, k, v, o, group * 4 + within % share, tx.tile(place * 128, 128, end=q.shape[1]), True)
