"""Reads of many bytes whose addresses are known in advance: operands of tensor cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.memory.segment import Segment

# Aligned runs of bytes that numpy copies as one element, the largest first.
_UNITS: dict[int, Any] = {16: np.complex128, 8: np.uint64, 4: np.uint32, 2: np.uint16, 1: np.uint8}


class Gather:
    """
    Reads the bytes at `addresses` (any shape), in as few and large pieces as they allow.

    Operands are read again and again at the same addresses, mostly in chunks of 16 bytes, so that a table of the chunks
    is worth its time. The memory must have a multiple of 16 bytes. `width` are the bytes of a piece.
    """

    def __init__(self, addresses: Array):
        self._shape = addresses.shape
        # Elements of MN-major operands (rows, K, bytes) are contiguous along the rows.
        self._turned = addresses.ndim == 3 and _unit(addresses) != 16 and _unit(addresses.swapaxes(0, 1)) == 16
        ordered = addresses.swapaxes(0, 1) if self._turned else addresses
        self.width = _unit(ordered)
        self._dtype = np.dtype(_UNITS[self.width])
        self._index = np.ascontiguousarray(ordered.ravel()[:: self.width] // self.width)

    def read(self, segment: Segment) -> Array:
        """Returns the bytes, in the shape of the addresses; those beyond the end of the memory are any bytes."""
        return self._read(segment, self._index, ())

    def read_each(self, segment: Segment, bases: Array) -> Array:
        """Reads the same bytes behind each of `bases` (multiples of 16): (bases, *shape of the addresses)."""
        return self._read(segment, bases[:, None] // self.width + self._index, bases.shape)

    def _read(self, segment: Segment, index: Array, leading: tuple[int, ...]) -> Array:
        found = segment.rows(self._dtype, 1).ravel().take(index, mode="clip").view(np.uint8)
        if not self._turned:
            return found.reshape(*leading, *self._shape)
        rows, depth, element = self._shape
        turned = found.view(f"u{element}").reshape(*leading, depth, rows).swapaxes(-1, -2)
        return np.ascontiguousarray(turned).view(np.uint8).reshape(*leading, *self._shape)


def _unit(addresses: Array) -> int:
    """Returns the bytes of the largest aligned pieces that the addresses, in their order, consist of."""
    flat = addresses.ravel()
    return next(width for width in _UNITS if len(flat) % width == 0 and _consists_of(flat, width))


def _consists_of(flat: Array, width: int) -> bool:
    """Returns True if the addresses are those of aligned pieces of `width` bytes, one after another."""
    starts = flat[::width]
    return not (starts % width).any() and bool((flat == (starts[:, None] + np.arange(width)).ravel()).all())
