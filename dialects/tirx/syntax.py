"""Parsing and printing that the operations of the `tirx` dialect share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser

from tirx.dialects.tirx.attributes import TileType

T = TypeVar("T")


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
    operand = parser.parse_unresolved_operand()
    values = parser.ssa_values.get(operand.operand_name, ())
    if operand.index >= len(values):
        parser.raise_error(f"expected a value that is defined above, found %{operand.operand_name}", operand.span)
    return values[operand.index]


def parse_in_parens(parser: Parser, keyword: str) -> int | None:
    """The integer of `keyword(n)`, or None if the keyword does not follow."""
    if parser.parse_optional_keyword(keyword) is None:
        return None
    with parser.in_parens():
        return parse_integer(parser)


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
