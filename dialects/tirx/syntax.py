"""Parsing and printing that the operations of the `tirx` dialect share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer

from tirx.dialects.tirx.attributes import TileType
from tirx.rules import ElementTypeError, TileShapeError

T = TypeVar("T")


Shown = str | SSAValue | Attribute | Region | Iterable[SSAValue] | Iterable[Attribute]


def write(printer: Printer, *parts: Shown) -> None:
    """Prints texts, names of values, attributes, types and regions; commas stand between those of an iterable."""
    for part in parts:
        match part:
            case str():
                printer.print_string(part)
            case SSAValue():
                printer.print_ssa_value(part)
            case Attribute():
                printer.print_attribute(part)
            case Region():
                printer.print_region(part, print_empty_block=False)
            case _:
                printer.print_list(part, lambda each: write(printer, each))


def write_types(printer: Printer, op: Operation, *operands: SSAValue, results: bool = True) -> None:
    """Prints the end of an operation: its attributes, the types of some operands, and those of its results, if any."""
    printer.print_op_attributes(op.attributes)
    write(printer, " : ", [value.type for value in operands])
    if results and op.results:
        write(printer, " -> ", [result.type for result in op.results])


def require_alike(source: TileType, destination: TileType) -> None:
    """Raises TileShapeError or ElementTypeError unless two tiles have one shape and one element type."""
    if source.dims != destination.dims:
        raise TileShapeError(f"expected tiles of one shape, found {shape_text(source)} and {shape_text(destination)}")
    if source.element_type != destination.element_type:
        raise ElementTypeError(
            f"expected tiles of one element type, found {source.element_type} and {destination.element_type}"
        )


def shape_text(type_: TileType) -> str:
    """`128x64`"""
    return "x".join(map(str, type_.dims))


def types_text(types: Iterable[Attribute]) -> str:
    """`(f16, f32)`"""
    return f"({', '.join(map(str, types))})"


def parse_integer(parser: Parser) -> int:
    """An integer; xDSL would take `true` for 1."""
    return parser.parse_integer(allow_boolean=False)


def parse_attributes(parser: Parser, op: type[IRDLOperation], keyword: bool = False) -> dict[str, Attribute]:
    """An optional dictionary of attributes. A property in it would be taken for an attribute and have no effect."""
    if keyword and parser.parse_optional_keyword("attributes") is None:
        return {}
    start = parser.pos
    attributes = parser.parse_optional_attr_dict()
    for name in attributes:
        if name in op.get_irdl_definition().properties:
            parser.raise_error(f"expected '{name}' in its own place, found it among the attributes", start, parser.pos)
    return attributes


def parse_defined(parser: Parser) -> SSAValue:
    """A value that is defined above, with the type that it has there."""
    return defined_value(parser, parser.parse_unresolved_operand())


def defined_value(parser: Parser, operand: UnresolvedOperand) -> SSAValue:
    """The value of a name, which is defined above."""
    values = parser.ssa_values.get(operand.operand_name, ())
    if operand.index >= len(values):
        parser.raise_error(f"expected a value that is defined above, found %{operand.operand_name}", operand.span)
    return values[operand.index]


def in_parens(parser: Parser, parse: Callable[[], T]) -> T:
    """Parses between parentheses."""
    with parser.in_parens():
        return parse()


def parse_in_parens(parser: Parser, keyword: str, parse: Callable[[], T]) -> T | None:
    """Parses `keyword(...)`, or returns None if the keyword does not follow."""
    return None if parser.parse_optional_keyword(keyword) is None else in_parens(parser, parse)


def parse_typed(parser: Parser) -> list[SSAValue]:
    """`(%x, %y : T, U)`"""
    with parser.in_parens():
        start = parser.pos
        operands = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return list(parser.resolve_operands(operands, types, start))


def parse_operands(parser: Parser, count: int) -> list[UnresolvedOperand]:
    """As many operands as are asked for, whose types come later."""
    operands = [parser.parse_unresolved_operand()]
    for _ in range(1, count):
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
    return operands


def parse_types(parser: Parser, operands: Sequence[UnresolvedOperand]) -> list[SSAValue]:
    """The operands with the types that follow a colon."""
    parser.parse_punctuation(":")
    types = [parser.parse_type()]
    for _ in operands[1:]:
        parser.parse_punctuation(",")
        types.append(parser.parse_type())
    return [parser.resolve_operand(operand, type_) for operand, type_ in zip(operands, types, strict=True)]
