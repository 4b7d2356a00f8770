"""Collector buffers of tcgen05.mma, which keep A, or B with .ws, for the next product (PTX ISA, section 9.7.16.10)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError

OPERATIONS = ("fill", "use", "lastuse", "discard")


@dataclass(frozen=True, slots=True)
class Collected:
    """
    An operand as an instruction has read it.

    `key` is what makes it that operand (descriptor or address, type, ...). `values` are its rows from row `first` on,
    of which `used` count.
    """

    key: tuple[object, ...]
    first: int
    values: Array
    used: Mask

    def same(self, other: Collected) -> bool:
        """Returns True if the rows that both operands use are equal."""
        first, last = max(self.first, other.first), min(self.first + len(self.values), other.first + len(other.values))
        mine, theirs = slice(first - self.first, last - self.first), slice(first - other.first, last - other.first)
        both = self.used[mine] & other.used[theirs]
        return np.array_equal(self.values[mine][both], other.values[theirs][both], equal_nan=True)


class Collectors:
    """
    The collector buffers of a CTA or of a pair.

    They never change a result: hardware may read the operand from memory all the same. But an operand that is not what
    was filled in, or a buffer that need not have its contents any more, is an error.
    """

    def __init__(self) -> None:
        self._filled: dict[str, Collected] = {}

    def discard(self, buffer: str) -> None:
        """Empties collector `buffer`."""
        self._filled.pop(buffer, None)

    def apply(self, buffer: str, usage: str, operand: Collected, what: str) -> None:
        """Fills, uses or discards collector `buffer`, as the modifier of `what` says."""
        if usage in ("use", "lastuse"):
            name = f"{what}.collector::{buffer}::{usage}"
            filled = self._filled.get(buffer)
            if filled is None:
                raise SimError(f"{name}: expected a fill of the buffer before, and no discard since")
            if filled.key != operand.key:
                raise SimError(f"{name}: the buffer was filled with another operand")
            if not filled.same(operand):
                raise SimError(f"{name}: the operand has changed in memory since the buffer was filled")
        if usage == "fill":
            self._filled[buffer] = operand
        elif usage != "use":
            self._filled.pop(buffer, None)
