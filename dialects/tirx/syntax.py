"""Parsing and printing that the operations of the `tirx` dialect share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer

from tirx.dialects.tirx.attributes import TileType
from tirx.rules import ElementTypeError, TileShapeError

T = TypeVar("T")


def write(printer: Printer, *parts: str | SSAValue | Attribute | Iterable[SSAValue] | Iterable[Attribute]) -> None:
    """Prints texts, the names of values, and attributes and types; commas stand between those of an iterable."""
    for part in parts:
        match part:
            case str():
                printer.print_string(part)
            case SSAValue():
                printer.print_ssa_value(part)
            case Attribute():
                printer.print_attribute(part)
            case _:
                printer.print_list(part, lambda each: write(printer, each))


def write_types(printer: Printer, op: Operation, *operands: SSAValue) -> None:
    """Prints the end of an operation: its attributes, the types of some operands, and those of its results, if any."""
    printer.print_op_attributes(op.attributes)
    write(printer, " : ", [value.type for value in operands])
    if op.results:
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


def parse_attributes(parser: Parser, op: type[IRDLOperation]) -> dict[str, Attribute]:
    """An optional dictionary of attributes. A property in it would be taken for an attribute and have no effect."""
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


def parse_clauses(parser: Parser, clauses: Mapping[str, Callable[[], T]], before_types: bool = False) -> dict[str, T]:
    """Keywords that follow in any order, each at most once, with what its function parses behind each.

    With `before_types` no other word may follow: it is an error that names the clauses.
    """
    found: dict[str, T] = {}
    while True:
        start = parser.pos
        name = next((name for name in clauses if parser.parse_optional_keyword(name) is not None), None)
        if name is None:
            if before_types and (word := parser.parse_optional_identifier()) is not None:
                known = ", ".join(clauses)
                parser.raise_error(f"expected ':' and types or a clause ({known}), found '{word}'", start, parser.pos)
            return found
        if name in found:
            parser.raise_error(f"expected the clause '{name}' once, found it again", start, parser.pos)
        found[name] = clauses[name]()


def refuse_again(parser: Parser, *clauses: str) -> None:
    """An error if one of the clauses, which have been parsed, follows once more."""
    start = parser.pos
    for name in clauses:
        if parser.parse_optional_keyword(name) is not None:
            parser.raise_error(f"expected the clause '{name}' once, found it again", start, parser.pos)
