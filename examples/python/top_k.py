"""The four largest numbers of each row of at most 1024, and where they are: of equal ones the first."""

import tirx as tx
from tirx import Array, Tile, i32


@tx.fn
def larger(a: Tile, i: Tile, b: Tile, j: Tile) -> tuple[Tile, Tile]:
    first = (a > b) | ((a == b) & (i < j))
    return tx.where(first, a, b), tx.where(first, i, j)


@tx.jit(threads=128)
def top_k(x: Array, values: Array, places: Array) -> None:
    m, n = tx.grid((x.shape[0], 4)), tx.tile(0, 1024)
    e, at = x[m, n].load(pad=-float("inf")), tx.indices(1, 4, 1024).to(i32)
    for k in range(4):
        values[m, k : k + 1], i = tx.reduce((e, at), 1, larger)
        places[m, k : k + 1] = i
        e = tx.where(at == i, -float("inf"), e)
