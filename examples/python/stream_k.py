"""d = a b^T by one kernel whose blocks share out all rounds of all tiles evenly."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(threads=128, progress="in_order")
def stream_k(a: Array, b: Array, part: Array, done: Array, d: Array) -> None:
    (M, K), N, blocks = a.shape, b.shape[0], done.shape[0]
    block, rounds, columns = tx.grid(blocks), tx.ceildiv(K, 64), tx.ceildiv(N, 64)
    per = tx.ceildiv(rounds * columns * tx.ceildiv(M, 64), blocks)
    at, end = block * per, min(rounds * columns * tx.ceildiv(M, 64), block * per + per)
    while at < end:
        t, k0 = at // rounds, at % rounds
        k1 = min(rounds, k0 + (end - at))
        m, n = tx.tile(t // columns * 64, 64, end=M), tx.tile(t % columns * 64, 64, end=N)
        acc = tx.zeros(f32, 64, 64)
        for k in tx.tiles(k0 * 64, k1 * 64, 64):
            acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
        if k1 == rounds:
            for c in tx.range(t * rounds // per, block):
                tx.wait_until(done[c], "ge", 1)
                acc = acc + part[c, :, :]
            d[m, n] = acc.to(f16)
        else:
            part[block, :, :] = acc
            tx.signal(done[block], 1)
        at += k1 - k0
