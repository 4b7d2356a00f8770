"""Matrix descriptors as values: `tirx-materialize-descriptors` derives their bits."""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import I32, I64, IntegerAttr
from xdsl.ir import Data
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.layout import ComposeLayout, TileLayout
from tirx.rules import DescriptorSliceError
from tirx.smem.canonical import operand_slices
from tirx.smem.canonical_form import OperandSlice
from tirx.smem.swizzle_modes import WGMMA_OPERANDS, Major
from tirx.smem.wgmma_descriptor import WgmmaDescriptor


@cache
def _slices(
    layout: TileLayout | ComposeLayout, shape: tuple[int, int], dtype: str, k: int, rows: tuple[int, int]
) -> tuple[OperandSlice, ...]:
    return operand_slices(layout, shape, dtype, k, rows=rows, family=WGMMA_OPERANDS)


@irdl_attr_definition
class RowsAttr(Data[tuple[int, ...]]):
    """`[0, 64]`: a row for each warpgroup."""

    name = "wgmma.rows"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, ...]:
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False), " of rows"
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"[{', '.join(map(str, self.data))}]")


READ_AS = {"f32": "tf32"}
"""Element types of tiles -> the type that wgmma reads them as."""


@irdl_op_definition
class SmemDescriptorOp(DirectOperation):
    """`%d = wgmma.smem_descriptor %a, 2 of 16 rows 64 from [0, 64] : !tirx.tile<128x64xf16, shared, L> -> i64`

    The matrix descriptor of the part of an operand that one instruction reads: slice 2 of 16 stored elements along K,
    of 64 rows. `first` has the first of these rows for each warpgroup, from warpgroup `warpgroup` of the threads that
    run the region on (0 by default); one entry means that all of them read the same. `tirx-materialize-descriptors`
    derives the bits.
    """

    name = "wgmma.smem_descriptor"

    tile = operand_def(TileType)
    step = prop_def(IntegerAttr[I32])
    k = prop_def(IntegerAttr[I32])
    rows = prop_def(IntegerAttr[I32])
    first = prop_def(RowsAttr)
    warpgroup = opt_prop_def(IntegerAttr[I32])
    result = result_def(I64)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$tile `,` $step `of` $k `rows` $rows `from` $first (`warpgroup` $warpgroup^)? attr-dict "
        "`:` type($tile) `->` type($result)"
    )
    traits = traits_def(Pure())

    @property
    def first_rows(self) -> tuple[int, ...]:
        return self.first.data

    @property
    def dtype(self) -> str:
        """The element type that wgmma reads, by its PTX name."""
        name = TileType.of(self.tile).dtype.name
        return READ_AS.get(name, name)

    def slices(self) -> tuple[OperandSlice, ...]:
        """This slice for each entry of `first`. Raises LegalityError or LayoutError where no descriptor reads one."""
        type_ = TileType.of(self.tile)
        assert type_.layout is not None, type_
        shape, rows = (type_.dims[-2], type_.dims[-1]), self.rows.value.data
        return tuple(
            _slices(type_.layout, shape, self.dtype, self.k.value.data, (first, first + rows))[self.step.value.data]
            for first in self.first_rows
        )

    def descriptors(self) -> tuple[WgmmaDescriptor, ...]:
        """The descriptors for a tile at address 0. Raises as `slices`."""
        return tuple(WgmmaDescriptor.of(part.descriptor()) for part in self.slices())

    @property
    def major(self) -> Major:
        """Raises as `slices`."""
        return self.slices()[0].canonical.major

    def verify_(self) -> None:
        type_ = TileType.of(self.tile)
        if type_.memory is not MemorySpace.SHARED or type_.layout is None or len(type_.dims) != 2:
            raise DescriptorSliceError(
                f"expected an operand of shape MNxK in shared memory with a layout, found {type_}"
            )
        (mn, size), k, step = type_.dims, self.k.value.data, self.step.value.data
        if k < 1 or size % k:
            raise DescriptorSliceError(f"expected slices of a divisor of K = {size} elements, found slices of {k}")
        if not 0 <= step < size // k:
            raise DescriptorSliceError(
                f"expected slice 0 to {size // k - 1} of {k} elements of K = {size}, found {step}"
            )
        rows = self.rows.value.data
        if not self.first_rows:
            raise DescriptorSliceError("expected the first row for each warpgroup, found none")
        for first in self.first_rows:
            if first < 0 or first % 8 or rows < 1 or rows % 8 or first + rows > mn:
                raise DescriptorSliceError(
                    f"expected rows [first, first + rows) of {mn} in steps of 8, found [{first}, {first + rows})"
                )
        if self.warpgroup is not None and self.warpgroup.value.data < 0:
            raise DescriptorSliceError(f"expected the number of a warpgroup, found {self.warpgroup.value.data}")
