"""A linear recurrence along time, h[t] = a[t] h[t - 1] + b[t], for 32 channels a block and 64 steps at a time."""

import tirx as tx
from tirx import Array, Scalar, f32


@tx.fn
def first_order(a: Scalar, b: Scalar, c: Scalar, d: Scalar) -> tuple[Scalar, Scalar]:
    return a * c, tx.fma(b, c, d)


@tx.jit(threads=128)
def selective_scan(a: Array, b: Array, y: Array) -> None:
    c, state = tx.grid((a.shape[1], 32)), tx.zeros(f32, 1, 32)
    for t in tx.tiles(a.shape[0], 64):
        init = tx.full(f32, 1.0, 1, 32), state
        (_, y[t, c]), (_, state) = tx.scan((a[t, c], b[t, c]), 0, first_order, init=init)
