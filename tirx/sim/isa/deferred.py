"""
Products of mma.sync that are computed together.

A product is only needed when somebody reads D. Until then its operands wait here, so that several products of one form
become one: numpy takes about as long for eight of them as for one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Array, Mask
from tirx.sim.isa.words import WriteWords

# Computes D (products, registers, lanes) from such arrays of the registers of A, B and C.
Compute: TypeAlias = Callable[[ThreadGroup, Mask, Sequence[Array]], Array]
_MOST = 32  # products


class _Products:
    """Products of one form, `key`, by a thread group that does not change meanwhile."""

    def __init__(self, key: object, compute: Compute):
        self.key = key
        self.rows: frozenset[int] = frozenset()
        self._compute = compute
        self._operands: list[Sequence[Array]] = []
        self._results: list[tuple[Mask, WriteWords]] = []

    def __len__(self) -> int:
        return len(self._results)

    def add(self, operands: Sequence[Array], mask: Mask, write: WriteWords, rows: frozenset[int]) -> None:
        self._operands.append(operands)
        self._results.append((mask, write))
        self.rows |= rows

    def finish(self, group: ThreadGroup) -> None:
        """Computes and writes all of them, in their order."""
        found = self._compute(group, group.mask, [np.stack(each) for each in zip(*self._operands, strict=True)])
        for (mask, write), words in zip(self._results, found, strict=True):
            write(group, mask, words)


def defer(
    group: ThreadGroup,
    key: object,
    compute: Compute,
    operands: Sequence[Array],
    mask: Mask,
    write: WriteWords,
    rows: frozenset[int],
) -> None:
    """Adds a product that `compute`, the same for all with this `key`, computes; D are the registers in `rows`."""
    waiting = group.deferred
    if not isinstance(waiting, _Products) or waiting.key != key or len(waiting) == _MOST:
        group.finish_deferred()
        waiting = group.deferred = _Products(key, compute)
    waiting.add(operands, mask, write, rows)
