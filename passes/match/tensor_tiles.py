"""Tiles in tensor memory as tcgen05.ld and tcgen05.st move them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirx.dialects.tcgen05 import same_registers
from tirx.dialects.tirx import TileType
from tirx.hw.errors import LegalityError, MissingLayoutError
from tirx.layout import TileLayout
from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import WARP_SIZE
from tirx.tcgen05.tmem import COLUMN_BITS, COLUMNS, LANES
from tirx.tcgen05.tmem_access import LD_SHAPES, LdShapeName, pick_ld_shape, register_fragment, written_cells
from tirx.values import dataclass

PACKED_BITS = 16
"""Elements that `.pack::16b` and `.unpack::16b` move (PTX ISA, "tcgen05.ld")."""

UNPACKABLE = ("16x32bx2",)
"""Shapes that are not used with them: the ISA does not say whether immHalfSplitoff then counts pairs of columns."""

PACKED_HALF_LANES: LdShapeName = "16x64b"
"""The shape that moves tiles in half of the lanes instead."""


@dataclass(frozen=True)
class TensorTile:
    """A tile in tensor memory: its shape, its layout, whose `TCol` counts elements, and their width in bits.

    Elements of 16 bits either share a column with their neighbour, as those of A do, or have one of their own, as those
    of an accumulator do. Then `own_columns` is true, and instructions pack and unpack registers on the way.
    """

    dims: tuple[int, ...]
    layout: TileLayout
    bits: int

    @staticmethod
    def of(type_: TileType) -> TensorTile:
        """The tile of this type. LegalityError without a layout."""
        layout, bits = type_.layout, type_.dtype.storage_bits
        if layout is None:
            raise MissingLayoutError(f"expected a layout on {type_}; tirx-pick-layouts chooses one")
        assert isinstance(layout, TileLayout), layout
        return TensorTile(type_.dims, layout, bits)

    @property
    def per_column(self) -> int:
        """Elements that a column has room for."""
        return COLUMN_BITS // self.bits

    @property
    def own_columns(self) -> bool:
        steps = [it.stride for it in self.layout.shard if it.axis == "TCol" and it.extent > 1]
        return self.bits == PACKED_BITS and bool(steps) and all(step % self.per_column == 0 for step in steps)

    @property
    def column_elements(self) -> int:
        """Elements of this tile in one of its columns."""
        return 1 if self.own_columns else self.per_column

    def shapes(self) -> tuple[LdShapeName, ...]:
        """The data movement shapes: first the best one for the tile, then shapes of as many lanes, then all others."""
        best = pick_ld_shape(self.layout, self.bits)
        excluded = UNPACKABLE if self.own_columns else ()
        if best in excluded:
            best = PACKED_HALF_LANES
        others = [shape for shape in LD_SHAPES.values() if shape.name != best and shape.name not in excluded]
        others.sort(key=lambda shape: shape.lanes != LD_SHAPES[best].lanes)
        return (best, *(shape.name for shape in others))

    def fragment(self, shape: str | None = None) -> TileLayout:
        """The registers that the tile becomes with a data movement shape (the best one). LegalityError for none."""
        return register_fragment(
            self.layout, self.dims, shape or self.shapes()[0], element_bits=self.bits, pack=self.own_columns
        )

    def fragments(self) -> Iterator[tuple[LdShapeName, TileLayout]]:
        """The data movement shapes that can move the tile, the best one first, with the registers that it becomes."""
        for shape in self.shapes():
            try:
                yield shape, self.fragment(shape)
            except LegalityError:
                continue

    def cells(self) -> NDArray[np.bool_]:
        """The cells with elements of the tile, copies included: booleans of (4 warps, 32 lanes, 512 columns, parts)."""
        cells = np.zeros((LANES // WARP_SIZE, WARP_SIZE, COLUMNS * self.per_column), dtype=np.bool_)
        size = (self.layout.size(),)
        lane, column = self.layout.axis_table("TLane", size), self.layout.axis_table("TCol", size)
        for replica in self.layout.replicas():
            lanes = lane + replica.get("TLane", 0)
            cells[lanes // WARP_SIZE, lanes % WARP_SIZE, column + replica.get("TCol", 0)] = True
        return cells.reshape(*cells.shape[:2], COLUMNS, self.per_column)

    def written(self, shape: str) -> NDArray[np.bool_]:
        """The cells that tcgen05.st of the tile writes: whole columns, on all lanes of the shape in every warp."""
        columns = written_cells(self.layout, self.dims, shape, element_bits=self.bits, pack=self.own_columns)
        return np.repeat(columns[..., None], self.per_column, axis=-1)


def common_fragment(tiles: Sequence[TileType]) -> TileLayout:
    """Returns a register layout to which tcgen05.ld and st move all these tiles, each with a shape of its own.

    Where there is none, that of the first tile: the lowering then says what is wrong with the others.

    Raises LegalityError for a tile that no shape moves.
    """
    first, *others = map(TensorTile.of, tiles)
    for _, fragment in first.fragments():
        if all(any(same_registers(fragment, found) for _, found in other.fragments()) for other in others):
            return fragment
    return first.fragment()
