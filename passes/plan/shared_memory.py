"""What the passes agree on about static shared memory."""

from __future__ import annotations

from tirx.layout import ComposeLayout, TileLayout
from tirx.smem.packing import UNIT_BYTES

RESERVED_BYTES = 1024
"""Left free for the barrier and the tensor-memory slot that lowerings add, and the alignment between tiles."""

PLAIN_ALIGNMENT = 128
"""Bytes: enough for every vector access, and for copy engines."""

SWIZZLED_ALIGNMENT = 1024
"""Bytes: the swizzle acts on address bits, and the patterns of all modes repeat within 1024 bytes (PTX ISA, "Shared
memory descriptor", matrix base offset)."""


def shared_tile_alignment(layout: TileLayout | ComposeLayout | None, element_bits: int) -> int:
    """Bytes to which the base of a shared tile is aligned; the most for a tile whose layout is still to be picked."""
    if isinstance(layout, TileLayout):
        return PLAIN_ALIGNMENT
    if layout is None:
        return SWIZZLED_ALIGNMENT
    return max(SWIZZLED_ALIGNMENT, layout.swizzle.period * element_bits // 8)


def shared_tile_bytes(elements: int, element_bits: int) -> int:
    """The room that a tile of so many elements, holes included, takes: whole units of 16 bytes, which products read.

    Padded elements end before their last unit does.
    """
    unit = UNIT_BYTES * 8
    return -(-elements * element_bits // unit) * UNIT_BYTES
