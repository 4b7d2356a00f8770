"""Layer norm and RMS norm of rows of 512, eight rows a block."""

import tirx as tx
from tirx import Array, Scalar, f16, f32


@tx.jit(f16[None, 512], f16[1, 512], f16[1, 512], f16[None, 512], f32, threads=128, target="sm_80")
def layer_norm(x: Array, gamma: Array, beta: Array, y: Array, eps: Scalar) -> None:
    m = tx.grid((x.shape[0], 8))
    t = x[m, :].to(f32)
    d = t - t.sum(1) / 512
    factor = tx.rsqrt((d * d).sum(1) / 512 + eps)
    y[m, :] = tx.fma(d * factor, gamma[:, :].to(f32), beta[:, :].to(f32)).to(f16)


@tx.jit(f16[None, 512], f16[1, 512], f16[None, 512], f32, threads=128, target="sm_80")
def rms_norm(x: Array, gamma: Array, y: Array, eps: Scalar) -> None:
    m = tx.grid((x.shape[0], 8))
    t = x[m, :].to(f32)
    y[m, :] = (t * tx.rsqrt((t * t).sum(1) / 512 + eps) * gamma[:, :].to(f32)).to(f16)
