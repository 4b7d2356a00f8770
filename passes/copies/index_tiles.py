"""Coordinates that tiles of indices give to the elements of a view, as the threads that move them hold them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue

from tirx.copy.access import Access
from tirx.dialects.tirx import TileType, ViewOp
from tirx.layout import LayoutError, TileLayout
from tirx.layout.arrays import np
from tirx.layout.ownership import held_elements
from tirx.passes.ir.emitter import Emitter
from tirx.values import dataclass


def slots_of_indices(view: ViewOp, dimension: int, moved: TileLayout, threads: int) -> list[int | None]:
    """
    For each register of a tile of the view's shape, of layout `moved`, the register with its index along `dimension`.

    None for a register without an element. Raises LayoutError where a thread does not hold the index.
    """
    index = view.indices[dimension]
    dims, found, layout = view.result.type.dims, TileType.of(index).dims, TileType.of(index).layout
    if not isinstance(layout, TileLayout):
        raise LayoutError(f"expected a layout on the index tile {index.type}; tirx-pick-layouts chooses one")
    still = view.still_dims(dimension)
    elements = held_elements(moved, dims, threads)
    at = np.unravel_index(np.maximum(elements, 0), dims)
    kept = [at[d] if d not in still else np.zeros_like(elements) for d in range(len(dims))]
    if len(found) < len(dims):
        kept = [each for d, each in enumerate(kept) if d not in still]
    wanted = np.ravel_multi_index(tuple(kept), found)
    held = held_elements(layout, found, threads)
    slots: list[int | None] = []
    for register in range(elements.shape[1]):
        own = elements[:, register] >= 0
        matches = (held[own] == wanted[own, register][:, None]).all(axis=0)
        if not matches.any():
            raise LayoutError(f"expected every thread to hold the indices of what it moves, found them as {layout}")
        slots.append(int(matches.argmax()) if own.any() else None)
    return slots


@dataclass(frozen=True)
class _Along:
    """One dimension: the registers of the index tile, the slot of each register of the moved tile, and the stride in
    bytes, an i64 in global memory and an i32 in shared memory.
    """

    registers: Sequence[SSAValue]
    slots: Sequence[int | None]
    stride: SSAValue


class IndexTiles:
    """The index tiles of a view, by dimension of its memref, for threads that move its elements as `moved` says.

    `registers` gives those of a register tile, `stride` the bytes (i64) from one element to the next of a dimension.
    """

    def __init__(
        self,
        view: ViewOp,
        moved: TileLayout,
        threads: int,
        registers: Callable[[SSAValue], Sequence[SSAValue]],
        stride: Callable[[int], SSAValue],
    ):
        self._along = {
            d: _Along(registers(index), slots_of_indices(view, d, moved, threads), stride(d))
            for d, index in view.index_tiles.items()
        }

    def coordinates(self, emit: Emitter, access: Access) -> Mapping[int, SSAValue]:
        """Emits the coordinates (i64) of an access along each dimension. LayoutError if its elements differ in them."""
        found: dict[int, SSAValue] = {}
        for d, along in self._along.items():
            slots = set(along.slots[access.register : access.register + access.count])
            if len(slots) != 1 or (slot := slots.pop()) is None:
                raise LayoutError("expected vectors of elements with one index, found some with several")
            value = along.registers[slot]
            found[d] = value if value.type == i64 else emit(arith.ExtSIOp(value, i64)).result
        return found

    def displaced(self, emit: Emitter, address: SSAValue, access: Access) -> SSAValue:
        """Emits the address of an access from that of one with coordinates 0 along these dimensions."""
        for d, coordinate in self.coordinates(emit, access).items():
            stride = self._along[d].stride
            place = coordinate if stride.type == i64 else emit(arith.TruncIOp(coordinate, i32)).result
            address = emit.add(address, emit.mul(place, stride))
        return address
