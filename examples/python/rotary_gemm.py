"""Rows x w^T of heads of 128, turned in the epilogue of the product: halves of a head, or neighbours."""

import tirx as tx
from tirx import Array, Tile, f16, f32


@tx.fn
def product(x: Array, w: Array, m: tx.Span, n: tx.Span) -> Tile:
    acc = tx.zeros(f32, 64, 128)
    for k in tx.tiles(x.shape[1], 64):
        acc += tx.shared(x[m, k]) @ tx.shared(w[n, k]).T
    return acc


@tx.jit(threads=128)
def rotary_gemm(x: Array, w: Array, cos: Array, sin: Array, y: Array) -> None:
    m, n = tx.grid((x.shape[0], 64), (w.shape[0], 128))
    v, c, s = product(x, w, m, n).load(), cos[m, :], sin[m, :]
    left, right = v[:, 0:64], v[:, 64:128]
    y[m, n] = tx.concat([(left * c - right * s).to(f16), (right * c + left * s).to(f16)], 1)


@tx.jit(threads=128)
def rotary_gemm_neighbours(x: Array, w: Array, cos: Array, sin: Array, y: Array) -> None:
    m, n = tx.grid((x.shape[0], 64), (w.shape[0], 128))
    pairs = product(x, w, m, n).load().reshape(64, 64, 2)
    c, s = (each[m, :].load()[:, :, None] for each in (cos, sin))
    left, right = pairs[:, :, 0:1], pairs[:, :, 1:2]
    y[m, n] = tx.concat([(left * c - right * s).to(f16), (right * c + left * s).to(f16)], 2).reshape(64, 128)
