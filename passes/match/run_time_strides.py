"""Strides that are known at the launch only, as threads see them.

In layouts each has a number of its own in its place, a power of two that is beyond all offsets of the tile along the
dimensions further in: an offset is a number whose digits are coordinates along these dimensions. What is a vector with
these numbers is one with all strides that are multiples of 16 bytes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import NoneAttr
from xdsl.ir import Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.layout import ComposeLayout, Iter, TileLayout
from tirx.passes.ir.views import Origin
from tirx.passes.match.product import kernel_around

STAND_IN_BITS = 20
"""Bits of a digit, where so many fit for all digits; fewer otherwise, and more for what is larger."""

_ROW_BITS = 7
"""Bits of the last digit at least: 16 bytes of elements of any size."""

_OFFSET_BITS = 56
"""Offsets of elements, counted in bits of memory, stay below 2**63 with elements of at most 64 bits."""

ANY_STRIDES = "tirx.any_strides"
"""The attribute of kernels whose run-time strides may be any, not only multiples of `STRIDE_BYTES`."""

STRIDE_BYTES = 16
"""What run-time strides are multiples of where threads move vectors."""


def run_time_strides(tile: SSAValue) -> dict[int, int]:
    """Dimension of the memref of a view, or of a part of one, with a run-time stride -> the number in its place.

    That is 0 where the tile does not move along it, or only by an index tile.
    """
    origin = Origin.of(tile) if TileType.of(tile).memory is MemorySpace.GLOBAL else None
    if origin is None or not (found := dict.fromkeys(_dimensions(origin.view), 0)):
        return {}
    number = 1
    for dimension, bits in zip(_moving(origin.view), _digit_bits(origin.view) or (), strict=False):
        number <<= bits
        found[dimension] = number
    return found


def _dimensions(view: tirx.ViewOp) -> list[int]:
    """Returns the dimensions of the memref of a view that have run-time strides, the last one first."""
    strides = view.source_type.get_strides() or ()
    return [d for d in reversed(range(len(strides))) if strides[d] is None]


def _moving(view: tirx.ViewOp) -> list[int]:
    """Returns those of `_dimensions` along which the tile moves, other than by an index tile."""
    return [d for d in _dimensions(view) if view.places[d].extent > 1 and view.places[d].is_plain]


def _digit_bits(view: tirx.ViewOp) -> list[int] | None:
    """Returns the bits of the digits of an offset: of static strides, then one along each of `_moving`.

    None where an offset has too many bits.
    """
    strides = zip(view.result.type.dims, view.tile_strides(), strict=True)
    # No row ends where the next one begins, so that no vector goes on there.
    row = 1 + sum((n - 1) * s for n, s in strides if s is not None)
    places = [view.places[d] for d in _moving(view)]
    needed = [max(_ROW_BITS, row.bit_length()), *(((p.extent - 1) * p.step).bit_length() for p in places)]
    for found in ([max(STAND_IN_BITS, bits) for bits in needed], needed):
        if sum(found[:-1]) + needed[-1] <= _OFFSET_BITS:
            return found
    return None


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
    if not run_time_strides(tile):
        return None
    type_, origin = TileType.of(tile), Origin.of(tile)
    assert origin is not None
    view, memref = origin.view, origin.view.source_type
    if type_.dtype.bits == PACKED_BITS or (type_.dtype.bits < 8 and [*(memref.get_strides() or ())][-1:] != [1]):
        return f"expected elements of 8 bits, or of 4 that are neighbours, behind run-time strides, found {memref}"
    if any(stride is not None and stride < 0 for stride in view.tile_strides()):
        return f"expected static strides of 0 or more beside run-time strides, found {memref}"
    if _digit_bits(view) is None:
        return f"expected a tile whose offsets have at most {_OFFSET_BITS} bits, found {view.result.type} in {memref}"
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
    type_ = TileType.of(tile)
    if type_.layout is not None or (layout := memory_layout(tile)) is None:
        return type_
    return type_.with_layout(layout)
