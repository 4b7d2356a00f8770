"""Strides that are known at the launch only, as threads see them.

In layouts each has a number of its own in its place, `2**20` times that of the one further in: offsets of a tile in
other dimensions stay below, so that an offset is a number whose digits are coordinates along these dimensions. What is
a vector with these numbers is one with all strides that are multiples of 16 bytes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Operation, SSAValue

from tirx.dialects.tirx import MemorySpace, TileType
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.layout import ComposeLayout, Iter, TileLayout
from tirx.passes.ir.views import Origin
from tirx.passes.match.product import kernel_around

STAND_IN_BITS = 20
MOST_STRIDES = 2
"""So many digits fit into 64 bits."""

ANY_STRIDES = "tirx.any_strides"
"""The attribute of kernels whose run-time strides may be any, not only multiples of `STRIDE_BYTES`."""

STRIDE_BYTES = 16
"""What run-time strides are multiples of where threads move vectors."""


def run_time_strides(tile: SSAValue) -> dict[int, int]:
    """Dimension of the memref of a view, or of a part of one, with a run-time stride -> the number in its place.

    That is 0 where the tile does not move along it, or only by an index tile.
    """
    origin = Origin.of(tile) if TileType.of(tile).memory is MemorySpace.GLOBAL else None
    if origin is None:
        return {}
    found: dict[int, int] = {}
    number = 1
    strides = origin.view.source_type.get_strides() or ()
    for dimension, (stride, place) in reversed([*enumerate(zip(strides, origin.view.places, strict=True))]):
        if stride is None:
            moves = place.extent > 1 and place.is_plain
            number <<= STAND_IN_BITS if moves else 0
            found[dimension] = number if moves else 0
    return found


def takes_any_strides(op: Operation) -> bool:
    """Returns True if the kernel that an operation is in takes arrays of any strides."""
    kernel = kernel_around(op)
    return kernel is not None and ANY_STRIDES in kernel.attributes


def are_multiples(tile: SSAValue) -> bool:
    """Returns True if sizes show, and launches may check, that run-time strides are multiples of `STRIDE_BYTES`."""
    if not run_time_strides(tile):
        return True
    origin = Origin.of(tile)
    assert origin is not None
    memref, bits = origin.view.source_type, TileType.of(tile).dtype.bits
    if takes_any_strides(origin.view) or not isinstance(memref.layout, NoneAttr):
        return False
    # Row-major: all of them are multiples of the outermost stride that is known.
    elements = next(stride for stride in memref.get_strides() or () if stride is not None)
    return elements * bits % (8 * STRIDE_BYTES) == 0


def why_beyond_threads(tile: SSAValue) -> str | None:
    """Why threads do not find the elements of a tile of global memory with run-time strides; None where they do."""
    if not (found := run_time_strides(tile)):
        return None
    type_, origin = TileType.of(tile), Origin.of(tile)
    assert origin is not None
    view, memref = origin.view, origin.view.source_type
    if type_.dtype.bits == PACKED_BITS or (type_.dtype.bits < 8 and [*(memref.get_strides() or ())][-1:] != [1]):
        return f"expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found {memref}"
    if sum(number > 0 for number in found.values()) > MOST_STRIDES:
        return f"expected at most {MOST_STRIDES} run-time strides, found {memref}"
    static = [(n, s) for n, s in zip(view.result.type.dims, view.tile_strides(), strict=True) if s is not None]
    if any(s < 0 for _, s in static) or sum((n - 1) * s for n, s in static) >= 1 << STAND_IN_BITS:
        return f"expected static strides of 0 or more that stay below {1 << STAND_IN_BITS} elements, found {memref}"
    return None


def memory_layout(tile: SSAValue) -> TileLayout | ComposeLayout | None:
    """The layout of a tile in memory, with numbers in place of run-time strides; None for one without."""
    type_ = TileType.of(tile)
    if type_.layout is not None or not (found := run_time_strides(tile)) or why_beyond_threads(tile) is not None:
        return type_.layout
    origin = Origin.of(tile)
    assert origin is not None
    view = origin.view
    strides = [
        (s or 0) if d is None or not found.get(d) or s == 0 else found[d] * view.places[d].step
        for d, s in zip(view.of_memref, view.tile_strides(), strict=True)
    ]
    offset = sum(start * stride for start, stride in zip(origin.start, strides, strict=True))
    return TileLayout([Iter(n, s, "m") for n, s in zip(type_.dims, strides, strict=True)]).with_offset(m=offset)


def placed(tile: SSAValue) -> TileType:
    """The type of a tile with `memory_layout`."""
    type_, layout = TileType.of(tile), memory_layout(tile)
    return type_ if layout is None else type_.with_layout(layout)
