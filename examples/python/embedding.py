"""Rows of a table by their numbers, and the gradient of the table: rows are added to where they came from."""

import tirx as tx
from tirx import Array


@tx.jit(threads=128)
def embedding(table: Array, ids: Array, y: Array) -> None:
    m, n = tx.grid((ids.shape[0], 32), (y.shape[1], 64))
    y[m, n] = table[ids[m], n]


@tx.jit(threads=128)
def embedding_backward(dy: Array, ids: Array, table: Array) -> None:
    m, n = tx.grid((ids.shape[0], 32), (dy.shape[1], 64))
    table[ids[m], n] += dy[m, n]
