"""Arguments of a launch of an example, and results that must be there after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from unit.sim.products import Array

UNTOUCHED = 7
"""Word that outputs are full of before the launch."""


@dataclass(frozen=True)
class Output:
    """Argument `index` must be `expected`, up to `tolerance`."""

    index: int
    expected: Array
    tolerance: Array | float = 0.0


@dataclass(frozen=True)
class Launch:
    """The arguments of a launch and what must be in them after it."""

    arguments: list[Array | float]
    outputs: list[Output]


def result(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> Array:
    """An output."""
    return np.full(shape, UNTOUCHED, dtype)
