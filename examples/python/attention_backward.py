"""The gradients of attention, of which a block has 64 keys and goes through all queries."""

import tirx as tx
from tirx import Array, Scalar, f16, f32


@tx.jit(threads=128)
def attention_backward(
    q: Array,
    k: Array,
    v: Array,
    do: Array,
    lse: Array,
    delta: Array,
    scale: Scalar,
    dk: Array,
    dv: Array,
    dq: Array,
    causal: bool = False,
) -> None:
    h, n = tx.grid(k.shape[0], (k.shape[1], 64))
    sk, sv = tx.shared(k[h, n, :]), tx.shared(v[h, n, :])
    gk, gv = tx.zeros(f32, 64, 64), tx.zeros(f32, 64, 64)
    for m in tx.tiles(n.start if causal else 0, q.shape[1], 64):
        sq, sdo = tx.shared(q[h, m, :]), tx.shared(do[h, m, :])
        seen = m.inside[None, :] & ((m.index[None, :] >= n.index[:, None]) if causal else m.inside[None, :])
        p = tx.where(seen, tx.exp(sk @ sq.T * scale - lse[h, m][None, :]), 0.0)
        gv += p.to(f16) @ sdo
        ds = (p * (sv @ sdo.T - delta[h, m][None, :]) * scale).to(f16)
        gk += ds @ sq
        dq[h, m, :] += ds.T @ sk
    dk[h, n, :], dv[h, n, :] = gk.to(f16), gv.to(f16)
