"""Products that are added to the same numbers one after another, computed together once somebody needs the sum."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.numerics.products import product
from tirx.sim.numerics.tensor_cores import Rule, largest_integer, multiply_values

_DEPTH = 64  # elements along K that one product of small integers takes
_MOST = 64  # products that wait


class Chain:
    """
    C plus products of matrices of f32 or f16 results, bit for bit as if each was added to the rounded sum before it.

    Sums of small integers are never rounded, in whatever order, so that several products are one.
    """

    def __init__(self, rule: Rule, types: tuple[str, str], result: str):
        self.key = (rule, types, result)
        self._a: list[Array] = []
        self._b: list[Array] = []

    @property
    def is_full(self) -> bool:
        """Returns True if no more products should wait."""
        return len(self._a) >= _MOST

    def add(self, a: Array, b: Array) -> None:
        """Adds A (..., M, K) times the transpose of B (..., N, K)."""
        self._a.append(a)
        self._b.append(b)

    def plus(self, c: Array) -> Array:
        """Returns C (..., M, N) plus the products, as numbers of the type of the result."""
        rule, types, result = self.key
        limit = 2.0 ** min(rule.bits - 1, rule.fraction + 1) if result == "f32" else 0.0
        # The largest absolute value that a sum may have, if all numbers so far are integers.
        most = largest_integer(c) if limit else None
        start = 0
        while start < len(self._a):
            end = self._end(start)
            if most is not None:
                a, b = (np.concatenate(each[start:end], axis=-1) for each in (self._a, self._b))
                of_a, of_b = largest_integer(a), largest_integer(b)
                most = None if of_a is None or of_b is None else most + of_a * of_b * a.shape[-1]
                if most is not None and most < limit:
                    c = np.add(product(a, b), c, dtype=np.float32)
                    start = end
                    continue
            for a, b in zip(self._a[start:end], self._b[start:end], strict=True):
                c = multiply_values(rule, a, b, c, types, result)
            most = largest_integer(c) if limit else None
            start = end
        return c + np.float32(0)  # there is no -0

    def _end(self, start: int) -> int:
        """Returns the end of the products from `start` on that are computed at once."""
        depth, end = 0, start
        while end < len(self._a) and (end == start or depth + self._a[end].shape[-1] <= _DEPTH):
            depth += self._a[end].shape[-1]
            end += 1
        return end
