"""Products of matrices of numbers."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array


def product(a: Array, b: Array) -> Array:
    """a (..., M, K) times the transpose of b (..., N, K), in the type of the operands."""
    # einsum rather than @: a BLAS with threads of its own takes longer to start than these small products take.
    return np.einsum("...ik,...jk->...ij", a, b)
