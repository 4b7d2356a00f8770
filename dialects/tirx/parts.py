"""Register tiles behind each other."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I32, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import TileType
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.maps import require_readable
from tirx.dialects.tirx.registers import require_register
from tirx.layout import Iter, TileLayout
from tirx.rules import DimensionError, TileShapeError
from tirx.values import dataclass


@dataclass(frozen=True)
class _Joined(Reduced):
    """The layout of several tiles behind each other, from that of one of them: each has slots of its own."""

    dim: int = 0
    count: int = 1

    def layout(self, whole: TileLayout) -> TileLayout:
        grouped, starts = whole.group(TileType.of(self.whole).dims)
        at = starts[self.dim]
        outer = Iter(self.count, slots_of(whole), "m")
        return TileLayout((*grouped.shard[:at], outer, *grouped.shard[at:]), grouped.replica, grouped.offset)


def slots_of(layout: TileLayout) -> int:
    """Returns the slots of a thread that a register layout takes."""
    return layout.footprint().get("m", (0,))[-1] + 1


@irdl_op_definition
class ConcatOp(DirectOperation, TileOpInterface):
    """`%z = tirx.concat %x, %y dim(1) : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xf32, register> -> ...`

    Register tiles behind each other along a dimension, in which extents may differ.
    """

    name = "tirx.concat"

    ins = var_operand_def(TileType)
    dim = prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    assembly_format = "$ins `dim` `(` $dim `)` attr-dict `:` type($ins) `->` type($result)"

    traits = traits_def(Pure())

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [self.ins]

    def reductions(self) -> Sequence[Reduced]:
        return [_Joined(self.ins[0], self.result, (), self.dim.value.data, len(self.ins))]

    def verify_(self) -> None:
        result, d = self.result.type, self.dim.value.data
        require_register(result)
        if not self.ins or not 0 <= d < len(result.dims):
            raise DimensionError(f"expected tiles and a dimension from 0 to {len(result.dims) - 1}, found {d}")
        extents: list[int] = []
        for tile in self.ins:
            require_readable(type_ := TileType.of(tile))
            others = [type_.dims[:d] + type_.dims[d + 1 :], type_.element_type]
            if others != [result.dims[:d] + result.dims[d + 1 :], result.element_type]:
                raise TileShapeError(f"expected tiles that differ from {result} along dimension {d}, found {type_}")
            extents.append(type_.dims[d])
        if sum(extents) != result.dims[d]:
            raise TileShapeError(f"expected {sum(extents)} elements along dimension {d}, found {result.dims[d]}")
