"""Products of matrices of numbers."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array

# A BLAS starts threads for products of more multiplications than this, which takes longer than these products do.
_MOST = 1 << 18


def product(a: Array, b: Array) -> Array:
    """a (..., M, K) times the transpose of b (..., N, K), in the type of the operands."""
    transposed = np.swapaxes(b, -1, -2)
    rows, work = a.shape[-2], b.shape[-1] * b.shape[-2]
    step = max(1, _MOST // work) if work else rows
    if rows <= step:
        return a @ transposed
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    result = np.empty((*leading, rows, b.shape[-2]), np.result_type(a, b))
    for start in range(0, rows, step):
        own = np.s_[..., start : start + step, :]
        np.matmul(a[own], transposed, out=result[own])
    return result
