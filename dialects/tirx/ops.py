"""Tile-level operations: what a kernel does, on whole tiles, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import I32, AnyFloat, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AnyAttr, operand_def, opt_prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect

from tirx.dialects.definition import DirectOperation, i32_attr, irdl_op_definition
from tirx.dialects.syntax import parse_attributes, parse_in_parens, parse_integer, write
from tirx.dialects.tirx.attributes import MemorySpace, TileType
from tirx.dialects.tirx.elements import is_element
from tirx.dialects.tirx.index_text import made
from tirx.dialects.tirx.interface import TileOpInterface
from tirx.rules import ElementTypeError, PlaceError, TileMemoryError

_Number = UnresolvedOperand | int | float


def _parse_number(parser: Parser) -> _Number:
    operand = parser.parse_optional_unresolved_operand()
    return parser.parse_number(allow_boolean=False) if operand is None else operand


def _filling(parser: Parser, number: _Number, type_: Attribute, at: int) -> SSAValue:
    """The scalar that fills a tile of a type, or a constant in front of the operation that is parsed."""
    element = type_.element_type if isinstance(type_, TileType) else type_
    if isinstance(number, UnresolvedOperand):
        return parser.resolve_operand(number, element)
    if isinstance(element, AnyFloat):
        return made(parser, arith.ConstantOp(FloatAttr(float(number), element)))
    if not isinstance(element, IntegerType) or not isinstance(number, int):
        parser.raise_error(f"expected a number of type {element}, found {number}", at, parser.pos)
    return made(parser, arith.ConstantOp.from_int_and_width(number, cast("IntegerType", element)))


@irdl_op_definition
class AllocOp(DirectOperation):
    """`%t = tirx.alloc : !tirx.tile<128x64xf16, shared>`: a tile with undefined contents, for the whole kernel.

    `tirx.alloc at 1024 : ...` says where it lies: bytes from the start of the kernel's shared memory, or columns from
    that of its tensor memory. `tirx-allocate-memory` chooses the place. `tirx.alloc fill(0.0) : T` is parsed as one
    that is filled with a number, or a scalar, and `tirx.alloc copy(%a[%m, %k] clipped) : MEMREF, T` as one that a tile,
    or the tile at a place, is copied to.
    """

    name = "tirx.alloc"

    place = opt_prop_def(IntegerAttr[I32])
    result = result_def(TileType)

    traits = traits_def(MemoryWriteEffect())

    @classmethod
    def parse(cls, parser: Parser) -> AllocOp:
        place = None if parser.parse_optional_keyword("at") is None else i32_attr(parse_integer(parser))
        start = parser.pos
        number = parse_in_parens(parser, "fill", lambda: _parse_number(parser))
        copy: Any = parser.ctx.get_op("tirx.copy")
        source = None if number is not None else parse_in_parens(parser, "copy", lambda: copy.parse_source(parser))
        attributes = parse_attributes(parser, cls)
        parser.parse_punctuation(":")
        first = None if source is None else source.parse_type(parser)
        if source is not None:
            parser.parse_punctuation(",")
        properties = {} if place is None else {"place": place}
        op = cls.create(properties=properties, attributes=attributes, result_types=[parser.parse_type()])
        behind: list[Operation] | None = getattr(parser, "behind", None)
        if behind is None and (number is not None or source is not None):
            parser.raise_error("expected a tile without contents: this parser takes no others", start)
        if behind is not None and number is not None:
            behind.append(FillOp.create(operands=[op.result, _filling(parser, number, op.result.type, start)]))
        if behind is not None and source is not None and first is not None:
            behind.append(copy.create(operands=[source.tile(parser, first, op.result.type), op.result]))
        return op

    def print(self, printer: Printer) -> None:
        if self.start is not None:
            printer.print_string(f" at {self.start}")
        printer.print_op_attributes(self.attributes)
        write(printer, " : ", self.result.type)

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
        if not is_element(self.value.type, self.tile_type):
            raise ElementTypeError(f"expected a value of type {self.tile_type.element_type}, found {self.value.type}")
