"""The largest number of each row, of any length, and where it is: of equal ones the first."""

import tirx as tx
from tirx import Array, f32, i32


@tx.jit(threads=128)
def argmax(x: Array, place: Array) -> None:
    m = tx.grid((x.shape[0], 4))
    most, at = tx.full(f32, -float("inf"), 4, 1), tx.zeros(i32, 4, 1)
    for k in tx.tiles(x.shape[1], 256):
        e = x[m, k].load(pad=-float("inf"))
        at = tx.where(e.max(1) > most, e.argmax(1) + k.start, at)
        most = tx.maximum(most, e.max(1))
    place[m, :] = at
