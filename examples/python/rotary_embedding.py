"""Rotary embedding of heads of 128: the halves of a row are the two coordinates that are turned."""

import tirx as tx
from tirx import Array, f16, f32


@tx.jit(threads=128)
def rotary_embedding(x: Array, cos: Array, sin: Array, y: Array) -> None:
    m = tx.grid((x.shape[0], 16))
    left, right = x[m, 0:64].to(f32), x[m, 64:128].to(f32)
    y[m, 0:64] = (left * cos[m, :] - right * sin[m, :]).to(f16)
    y[m, 64:128] = (right * cos[m, :] + left * sin[m, :]).to(f16)
