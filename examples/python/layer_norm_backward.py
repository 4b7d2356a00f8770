"""Layer norm of rows of at most 512, backward."""

import tirx as tx
from tirx import Array


@tx.jit(threads=128)
def layer_norm_backward(x: Array, weight: Array, dy: Array, dx: Array, dweight: Array, dbias: Array) -> None:
    m, n = tx.grid((x.shape[0], 8)), tx.tile(0, 512, end=x.shape[1])
    e, u, count = x[m, n].load(), dy[m, n].load(), tx.f32(x.shape[1])
    d = tx.where(n.inside[None, :], e - e.sum(1) / count, 0.0)
    inverse = tx.rsqrt((d * d).sum(1) / count + 1e-5)
    hat, g = d * inverse, u * weight[:, n]
    dx[m, n] = (g - (g.sum(1) + hat * (g * hat).sum(1)) / count) * inverse
    dweight[:, n] += (u * hat).sum(0)
    dbias[:, n] += u.sum(0)
