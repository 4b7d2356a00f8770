"""Global and constant memory: separate buffers in one address space."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeAlias

import numpy as np

from tirx.sim.core.traffic import Traffic
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.memory.segment import Segment, is_misaligned

# Buffers, the indices of the accesses to each, and their offsets in it.
Places: TypeAlias = "list[tuple[Segment, Array | slice, Array]]"
_GAP = 1 << 16  # bytes of nothing between buffers, so that small overruns are caught
_ALIGNMENT = 256


def address_behind(address: int, size: int) -> int:
    """Returns the address of the buffer behind one of `size` bytes."""
    return -(-(address + size + _GAP) // _ALIGNMENT) * _ALIGNMENT


class FlatMemory:
    """
    Buffers (`segments`) at increasing addresses from `base`; `space` is for messages, and `observed` hears of global
    memory.
    """

    def __init__(self, space: str, base: int):
        self.space = space
        self.observed = Traffic()
        self._next = base
        self.segments: list[Segment] = []
        self._bases: Array = np.zeros(0, np.uint64)
        self._starts: list[int] = []

    def add(self, data: Array, name: str, read_only: bool = False) -> int:
        """Appends `data` (bytes, not copied); returns its address."""
        segment = Segment(data, name, self._next, read_only)
        self.segments.append(segment)
        self._starts.append(segment.base)
        self._bases = np.array(self._starts, np.uint64)
        self._next = address_behind(self._next, len(data))
        return segment.base

    def locate(self, addresses: Array, width: int, what: str) -> Places:
        """
        Returns, for every buffer that `addresses` (bytes, uint64) hit: (segment, indices of its addresses, offsets).

        Raises SimError where `width` bytes at an address are not in one buffer, or the address is not a multiple of it.
        """
        if is_misaligned(addresses, width):
            bad = int(addresses[addresses % np.uint64(width) != 0][0])
            raise SimError(f"misaligned {self.space} {what}: address {bad:#x} is not a multiple of {width} bytes")
        index = bisect_right(self._starts, int(np.minimum.reduce(addresses))) - 1
        if index >= 0:
            segment = self.segments[index]
            if int(np.maximum.reduce(addresses)) + width <= segment.base + segment.size:
                return [(segment, slice(None), (addresses - segment.offset).view(np.int64))]
        places: Places = []
        indices = np.searchsorted(self._bases, addresses, "right") - 1
        for each in np.unique(indices).tolist():
            which = indices == each
            places.append(self._within(each, which, addresses[which], width, what))
        return places

    def _within(
        self, index: int, which: Array | slice, addresses: Array, width: int, what: str
    ) -> tuple[Segment, Array | slice, Array]:
        if index < 0:
            raise SimError(
                f"out-of-bounds {self.space} {what} of {width} bytes at {int(addresses[0]):#x}: no buffer there"
            )
        segment = self.segments[index]
        offsets = addresses - np.uint64(segment.base)
        bad = int(offsets.max())
        if bad + width > segment.size:
            raise SimError(
                f"out-of-bounds {self.space} {what} of {width} bytes at offset {bad} of {segment.name}, "
                f"which has {segment.size} bytes"
            )
        return segment, which, offsets.view(np.int64)

    def load(self, addresses: Array, unit: np.dtype[Any], count: int, places: Places | None = None) -> Array:
        """(lanes, count) elements of `unit`; `places` are those of the addresses, if they are known."""
        width = unit.itemsize * count
        self.observed.moved("global", "read", len(addresses) * width)
        places = self.locate(addresses, width, "load") if places is None else places
        if len(places) == 1:
            return places[0][0].gather(places[0][2], unit, count)
        result = np.empty((len(addresses), count), unit)
        for segment, which, offsets in places:
            result[which] = segment.gather(offsets, unit, count)
        return result

    def store(self, addresses: Array, values: Array, places: Places | None = None) -> None:
        """Writes (lanes, count) elements; `places` are those of the addresses, if they are known."""
        self.observed.moved("global", "written", values.nbytes)
        if places is None:
            places = self.locate(addresses, values.dtype.itemsize * values.shape[1], "store")
        for segment, which, offsets in places:
            if segment.read_only:
                raise SimError(f"store to {segment.name}, which is read-only")
            segment.scatter(offsets, values[which])

    def place_of(self, array: Array) -> tuple[Segment, int]:
        """Returns the buffer that the first byte of `array`, a view of one, is in, and its offset there."""
        first = int(array.__array_interface__["data"][0])
        for segment in self.segments:
            offset = first - int(segment.data.__array_interface__["data"][0])
            if 0 <= offset < max(segment.size, 1):
                return segment, offset
        raise AssertionError("a view of a buffer")

    def bytes_at(self, address: int, size: int, what: str, *, writes: bool = False) -> Array:
        """A view of `size` bytes at `address`; `writes`: to be written."""
        index = int(np.searchsorted(self._bases, np.uint64(address), "right")) - 1
        if index < 0 or address + size > self.segments[index].base + self.segments[index].size:
            raise SimError(f"out-of-bounds {self.space} {what} of {size} bytes at {address:#x}")
        if writes and self.segments[index].read_only:
            raise SimError(f"{what} to {self.segments[index].name}, which is read-only")
        offset = address - self.segments[index].base
        return self.segments[index].data[offset : offset + size]
