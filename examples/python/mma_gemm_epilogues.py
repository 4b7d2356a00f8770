"""Products with more behind them: bias, relu and a residual; and c = alpha a b^T + beta c."""

import tirx as tx
from tirx import Array, Scalar, f16, f32


@tx.fn
def product(a: Array, b: Array, m: tx.Span, n: tx.Span) -> tx.Tile:
    """Returns 128 x 64 sums, in f32."""
    acc = tx.zeros(f32, 128, 64)
    for k in tx.tiles(128, 64):
        acc += tx.shared(a[m, k]) @ tx.shared(b[n, k]).T
    return acc


@tx.jit(f16[None, 128], f16[128, 128], f16[1, 128], f16[None, 128], f16[None, 128], threads=128, target="sm_80")
def bias_relu_residual(a: Array, b: Array, bias: Array, r: Array, d: Array) -> None:
    m, n = tx.grid((a.shape[0], 128), (128, 64))
    sums = product(a, b, m, n) + bias[:, n].to(f32)
    d[m, n] = tx.maximum(sums, 0.0).to(f16) + r[m, n]


@tx.jit(f16[None, 128], f16[128, 128], f32[None, 128], f32, f32, threads=128, target="sm_80")
def alpha_beta(a: Array, b: Array, c: Array, alpha: Scalar, beta: Scalar) -> None:
    m, n = tx.grid((a.shape[0], 128), (128, 64))
    c[m, n] = tx.fma(product(a, b, m, n), alpha, c[m, n] * beta)
