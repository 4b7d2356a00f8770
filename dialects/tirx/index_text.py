"""Indices as text: values, and sums of values, integers and parameters, which become operations of `arith`."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from tirx.dialects.tirx.kernel import ParamOp
from tirx.dialects.tirx.sizes import parse_name
from tirx.dialects.xdsl_parser import current_token

_OPERATORS = ("+", "-", "*", "floordiv", "ceildiv", "mod")


def parse_offset(parser: Parser) -> int | SSAValue:
    """An integer that stands alone, or an index (`parse_index`)."""
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is None:
        return parse_index(parser)
    if current_token(parser).text not in _OPERATORS:
        return number
    return parse_index(parser, made(parser, arith.ConstantOp(IntegerAttr(number, IndexType()))))


def parse_index(parser: Parser, first: SSAValue | None = None) -> SSAValue:
    """`%i`, `64`, `2 * %p - 1`, `%i * BM + 8`, `%n floordiv 4`: an index, with `*`, `floordiv`, `ceildiv` and `mod`
    before `+` and `-`. Quotients are rounded down or up, and `mod` is what is left of those rounded down.

    What computes it goes to `parser.ahead`, the operations that the block has in front of the one that is parsed;
    parsers without one take values only. `first` is what stands first where that is parsed already.
    """
    value = _term(parser, first)
    while True:
        if parser.parse_optional_punctuation("+") is not None:
            value = made(parser, arith.AddiOp(value, _term(parser)))
        elif parser.parse_optional_punctuation("-") is not None:
            value = made(parser, arith.SubiOp(value, _term(parser)))
        else:
            return value


def _term(parser: Parser, first: SSAValue | None = None) -> SSAValue:
    value = _factor(parser) if first is None else first
    while True:
        if parser.parse_optional_punctuation("*") is not None:
            value = made(parser, arith.MuliOp(value, _factor(parser)))
        elif parser.parse_optional_keyword("floordiv") is not None:
            value = made(parser, arith.FloorDivSIOp(value, _factor(parser)))
        elif parser.parse_optional_keyword("ceildiv") is not None:
            value = made(parser, arith.CeilDivSIOp(value, _factor(parser)))
        elif parser.parse_optional_keyword("mod") is not None:
            divisor = _factor(parser)
            floor = made(parser, arith.FloorDivSIOp(value, divisor))
            value = made(parser, arith.SubiOp(value, made(parser, arith.MuliOp(floor, divisor))))
        else:
            return value


def _factor(parser: Parser) -> SSAValue:
    if (operand := parser.parse_optional_unresolved_operand()) is not None:
        return parser.resolve_operand(operand, IndexType())
    if (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
        return made(parser, arith.ConstantOp(IntegerAttr(number, IndexType())))
    name = StringAttr(parse_name(parser))
    return made(parser, ParamOp.create(properties={"parameter": name}, result_types=[IndexType()]))


def made(parser: Parser, op: Operation) -> SSAValue:
    """The result of an operation that is put in front of the one that is parsed."""
    ahead: list[Operation] | None = getattr(parser, "ahead", None)
    if ahead is None:
        parser.raise_error("expected a value as index: this parser takes no others")
    ahead.append(op)
    return op.results[0]
