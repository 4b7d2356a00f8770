"""Descriptors as values: `tirx-materialize-descriptors` derives their bits."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import I32, I64, IntegerAttr, UnitAttr
from xdsl.irdl import ParsePropInAttrDict, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tcgen05.attributes import InstructionDescriptorAttr, ZeroColumnMaskAttr
from tirx.dialects.tcgen05.common import expect_tile
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, TileLayout
from tirx.rules import DescriptorSliceError, InvalidOperation
from tirx.smem.canonical_form import OperandSlice
from tirx.tcgen05.scale_copy import ROW_BYTES
from tirx.tcgen05.stored_operand import stored_slices

PADDED_BITS = 4
"""Elements that some kinds read packed and others padded. Those of 6 bits are always padded."""


@cache
def _slices(
    layout: TileLayout | ComposeLayout, shape: tuple[int, int], dtype: str, k: int, padded: bool, absolute_lbo: bool
) -> tuple[OperandSlice, ...]:
    return stored_slices(layout, shape, dtype, k, padded=padded, absolute_lbo=absolute_lbo)


@irdl_op_definition
class SmemDescriptorOp(DirectOperation):
    """`%d = tcgen05.smem_descriptor %a, 2 of 16 : !tirx.tile<128x64xf16, shared, L> -> i64`

    The shared-memory matrix descriptor of the slice of an operand that one instruction reads: slice 2 of 16
    elements along K. `tirx-materialize-descriptors` derives its bits from the layout. `padded`: for a kind that reads
    4-bit elements 16 to 16 bytes, data first. `absolute_lbo`: the slice may go on in the next row of the swizzle, as
    48 bytes of K may on sm_103a and sm_107a.
    """

    name = "tcgen05.smem_descriptor"

    tile = operand_def(TileType)
    step = prop_def(IntegerAttr[I32])
    k = prop_def(IntegerAttr[I32])
    padded = opt_prop_def(UnitAttr)
    absolute_lbo = opt_prop_def(UnitAttr)
    result = result_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$tile `,` $step `of` $k (`padded` $padded^)? (`absolute_lbo` $absolute_lbo^)? attr-dict "
        "`:` type($tile) `->` type($result)"
    )
    traits = traits_def(Pure())

    def slices(self) -> tuple[OperandSlice, ...]:
        """All slices of the tile. Raises LegalityError or LayoutError for a layout that no descriptor reaches."""
        type_ = TileType.of(self.tile)
        assert type_.layout is not None, type_
        return _slices(
            type_.layout,
            (type_.dims[-2], type_.dims[-1]),
            type_.dtype.name,
            self.k.value.data,
            self.padded is not None,
            self.absolute_lbo is not None,
        )

    def verify_(self) -> None:
        type_ = expect_tile(self.tile, MemorySpace.SHARED, "an operand")
        if len(type_.dims) != 2:
            raise DescriptorSliceError(f"expected an operand of shape MNxK, found {type_}")
        k, step, size = self.k.value.data, self.step.value.data, type_.dims[-1]
        if k < 1 or size % k:
            raise DescriptorSliceError(f"expected slices of a divisor of K = {size} elements, found slices of {k}")
        if not 0 <= step < size // k:
            raise DescriptorSliceError(
                f"expected slice 0 to {size // k - 1} of {k} elements of K = {size}, found {step}"
            )
        if self.padded is not None and type_.dtype.storage_bits != PADDED_BITS:
            raise DescriptorSliceError(
                f"expected elements of {PADDED_BITS} bits for 'padded', found {type_.element_type}"
            )


@irdl_op_definition
class CpDescriptorOp(DirectOperation):
    """`%d = tcgen05.cp_descriptor %sf, 512 : !tirx.tile<128x8xf8E4M3FN, shared, L> -> i64`

    The shared-memory matrix descriptor of 32 rows of 16 bytes behind each other, which lie so many bytes after the base
    of a tile: what `tcgen05.cp "32x128b"` takes.
    """

    name = "tcgen05.cp_descriptor"

    tile = operand_def(TileType)
    offset = prop_def(IntegerAttr[I32])
    result = result_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile `,` $offset attr-dict `:` type($tile) `->` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        expect_tile(self.tile, MemorySpace.SHARED, "a tile")
        offset = self.offset.value.data
        if offset < 0 or offset % ROW_BYTES:
            raise DescriptorSliceError(f"expected an offset of 0 or more in steps of {ROW_BYTES} bytes, found {offset}")


@irdl_op_definition
class InstructionDescriptorOp(DirectOperation):
    """`%i = tcgen05.instruction_descriptor <kind = "f16", ...> : i32`, see `#tcgen05.instruction_descriptor`"""

    name = "tcgen05.instruction_descriptor"

    descriptor = prop_def(InstructionDescriptorAttr)
    result = result_def(I32)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$descriptor attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        try:
            self.descriptor.data.verify()
        except LegalityError as e:
            raise InvalidOperation(str(e)) from e


@irdl_op_definition
class ZeroColumnMaskOp(DirectOperation):
    """`%z = tcgen05.zero_column_mask <0x0203028301020100> : i64`"""

    name = "tcgen05.zero_column_mask"

    mask = prop_def(ZeroColumnMaskAttr)
    result = result_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$mask attr-dict `:` type($result)"
    traits = traits_def(Pure())
