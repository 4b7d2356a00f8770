"""Tile-level operations: what a kernel does, on whole tiles, one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import AnyAttr, ParsePropInAttrDict, operand_def, opt_prop_def, result_def, traits_def
from xdsl.traits import MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.interface import TileOpInterface
from tirx.rules import ElementTypeError, PlaceError, TileMemoryError


@irdl_op_definition
class AllocOp(DirectOperation):
    """`%t = tirx.alloc : !tirx.tile<128x64xf16, shared>`: a tile with undefined contents, for the whole kernel.

    `tirx.alloc at 1024 : ...` says where it lies: bytes from the start of the kernel's shared memory, or columns from
    that of its tensor memory. `tirx-allocate-memory` chooses the place.
    """

    name = "tirx.alloc"

    place = opt_prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "(`at` $place^)? attr-dict `:` type($result)"

    traits = traits_def(MemoryWriteEffect())

    @property
    def start(self) -> int | None:
        """The place as a number, None before there is one."""
        return None if self.place is None else self.place.value.data

    def verify_(self) -> None:
        type_ = self.result.type
        if type_.memory is MemorySpace.GLOBAL:
            raise TileMemoryError(
                "expected a shared, tensor or register tile, found a global one: kernels get global memory "
                "as memref arguments"
            )
        _ = type_.dims  # raises for parameters that the kernel does not declare
        placed = type_.memory in (MemorySpace.SHARED, MemorySpace.TENSOR)
        if self.start is not None and (not placed or self.start < 0):
            raise PlaceError(
                f"expected a place of 0 or more in shared or tensor memory, found {self.start} in {type_.memory.place}"
            )


@irdl_op_definition
class FillOp(DirectOperation, TileOpInterface):
    """`tirx.fill %t, %v : f32, !tirx.tile<128x256xf32, tensor>`: every element becomes `%v`."""

    name = "tirx.fill"

    tile = operand_def(TileType)
    value = operand_def(AnyAttr())

    assembly_format = "$tile `,` $value attr-dict `:` type($value) `,` type($tile)"

    traits = traits_def(MemoryWriteEffect())

    @property
    def tile_type(self) -> TileType:
        return TileType.of(self.tile)

    def tile_reads(self) -> Sequence[SSAValue]:
        return ()

    def tile_writes(self) -> Sequence[SSAValue]:
        return (self.tile,)

    def verify_(self) -> None:
        if self.value.type != self.tile_type.element_type:
            raise ElementTypeError(f"expected a value of type {self.tile_type.element_type}, found {self.value.type}")
