"""Bytes that are read and written by many lanes at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.sim.core.types import Array


def _indices(offsets: Array, width: int) -> Array:
    """Offsets in units of `width` bytes, mostly a power of two."""
    return offsets >> width.bit_length() - 1 if width & (width - 1) == 0 else offsets // width


def is_misaligned(addresses: Array, width: int) -> bool:
    """Returns True if one of the addresses is not a multiple of `width`, mostly a power of two."""
    if width & (width - 1) == 0:
        return bool(int(np.bitwise_or.reduce(addresses)) & (width - 1))
    return bool((addresses % addresses.dtype.type(width)).any())


class Segment:
    """
    `size` bytes; offsets count from their start.

    `gather` and `scatter` want offsets that are multiples of the whole access (unit size times count) and in bounds:
    whoever calls them has checked that.
    """

    def __init__(self, data: Array, name: str = "", base: int = 0, read_only: bool = False):
        self.data = data
        self.name = name
        self.base = base
        self.offset = np.uint64(base)
        self.read_only = read_only
        self._rows: dict[tuple[np.dtype[Any], int], Array] = {}

    @property
    def size(self) -> int:
        return len(self.data)

    def rows(self, unit: np.dtype[Any], count: int) -> Array:
        """The bytes as rows of `count` elements of `unit`."""
        found = self._rows.get((unit, count))
        if found is None:
            width = unit.itemsize * count
            usable = self.size // width * width
            found = self._rows[unit, count] = self.data[:usable].view(unit).reshape(-1, count)
        return found

    def gather(self, offsets: Array, unit: np.dtype[Any], count: int) -> Array:
        """(lanes, count) elements of `unit`"""
        found = self._rows.get((unit, count))
        rows = self.rows(unit, count) if found is None else found
        return rows.take(_indices(offsets, unit.itemsize * count), axis=0)

    def scatter(self, offsets: Array, values: Array) -> None:
        """Writes (lanes, count) elements."""
        count = values.shape[1]
        self.rows(values.dtype, count)[_indices(offsets, values.dtype.itemsize * count)] = values
