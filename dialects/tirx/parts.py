"""Register tiles put together otherwise: transposed, and behind each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import I32, ArrayAttr, IntegerAttr
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure

from tirx.dialects.definition import DirectOperation, irdl_op_definition
from tirx.dialects.tirx.attributes import TileType
from tirx.dialects.tirx.interface import Reduced, TileOpInterface
from tirx.dialects.tirx.maps import require_readable
from tirx.dialects.tirx.registers import require_register
from tirx.dialects.tirx.syntax import parse_attributes, parse_integer
from tirx.layout import Iter, TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.rules import DimensionError, TileShapeError


@irdl_op_definition
class TransposeOp(DirectOperation, TileOpInterface):
    """
    `%y = tirx.transpose %x [1, 0] : !tirx.tile<64x32xf16, register> -> !tirx.tile<32x64xf16, register>`

    The register tile whose dimension i is dimension `permutation[i]` of another one.
    """

    name = "tirx.transpose"

    source = operand_def(TileType)
    permutation = prop_def(ArrayAttr[IntegerAttr[I32]])
    result = result_def(TileType)

    traits = traits_def(Pure())

    @property
    def arranged(self) -> Arrangement:
        """The elements of the source that the result has."""
        return Arrangement.transposed(TileType.of(self.source).dims, self.order)

    @property
    def order(self) -> tuple[int, ...]:
        """The dimension of the source that each dimension of the result is."""
        return tuple(d.value.data for d in self.permutation)

    def verify_(self) -> None:
        source, result = TileType.of(self.source), self.result.type
        require_readable(source)
        require_register(result)
        rank = len(source.dims)
        if sorted(self.order) != list(range(rank)):
            raise DimensionError(f"expected each dimension from 0 to {rank - 1} once, found {list(self.order)}")
        expected = tuple(source.dims[d] for d in self.order)
        if (result.dims, result.element_type) != (expected, source.element_type):
            raise TileShapeError(
                f"expected a {'x'.join(map(str, expected))} tile of {source.element_type}, found {result}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> TransposeOp:
        operand = parser.parse_unresolved_operand()
        order = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_integer(parser))
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        source = parser.resolve_operand(operand, parser.parse_type())
        parser.parse_punctuation("->")
        op = cls(source, order, parser.parse_type())
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(self.order, printer.print_int)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)


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
    """
    `%z = tirx.concat %x, %y dim(1) : !tirx.tile<8x4xf32, register>, !tirx.tile<8x4xf32, register> -> ...`

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
