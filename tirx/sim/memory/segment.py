"""Bytes that are read and written by many lanes at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx.sim.core.types import Array

_SHIFTS = {1 << shift: shift for shift in range(13)}  # of widths that are powers of two, as nearly all are


def _indices(offsets: Array, width: int) -> Array:
    """Offsets in units of `width` bytes."""
    shift = _SHIFTS.get(width)
    return offsets // width if shift is None else offsets >> shift


def is_misaligned(addresses: Array, width: int) -> bool:
    """Returns True if one of the addresses is not a multiple of `width`."""
    if width in _SHIFTS:
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
            rows = self.size // width
            found = self._rows[unit, count] = self.data[: rows * width].view(unit).reshape(rows, count)
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
