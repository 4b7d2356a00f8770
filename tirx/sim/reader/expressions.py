"""Constant expressions of integers (PTX ISA, section 4.6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tirx.sim.errors import SimError
from tirx.sim.reader.stream import TokenStream

_MAX_NESTING = 64


def _quotient(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b))


# Binary operators, those that bind least first.
_LEVELS: tuple[dict[str, Callable[[int, int], int]], ...] = (
    {"||": lambda a, b: int(bool(a) or bool(b))},
    {"&&": lambda a, b: int(bool(a) and bool(b))},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<=": lambda a, b: int(a <= b),
        ">=": lambda a, b: int(a >= b),
        "<": lambda a, b: int(a < b),
        ">": lambda a, b: int(a > b),
    },
    {"<<": lambda a, b: a << min(b, 64), ">>": lambda a, b: a >> b},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": _quotient},
)
PRODUCTS = len(_LEVELS) - 1
_UNARY: dict[str, Callable[[int], int]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "~": lambda a: ~a,
    "!": lambda a: int(not a),
}
_PAIRS = ("||", "&&", "==", "!=", "<=", ">=", "<<", ">>")


def _operator(cursor: TokenStream, ahead: int = 0) -> str:
    """The operator some tokens ahead, of one or two tokens."""
    first = cursor.peek(ahead).text
    pair = first + cursor.peek(ahead + 1).text
    return pair if pair in _PAIRS else first


def continues(cursor: TokenStream, ahead: int = 0) -> bool:
    """Returns True if the token `ahead` tokens further is an operator."""
    found = _operator(cursor, ahead)
    return found == "?" or any(found in level for level in _LEVELS)


def expression(cursor: TokenStream, depth: int = 0) -> int:
    """An expression with all operators."""
    condition = binary(cursor, 0, depth)
    if not cursor.accept("?"):
        return condition
    first = expression(cursor, depth + 1)
    cursor.expect(":")
    second = expression(cursor, depth + 1)
    return first if condition else second


def binary(cursor: TokenStream, level: int, depth: int = 0) -> int:
    """Reads an expression of the operators from `level` on, which bind tighter."""
    if level == len(_LEVELS):
        return _unary(cursor, depth)
    value = binary(cursor, level + 1, depth)
    while (found := _operator(cursor)) in _LEVELS[level]:
        line = cursor.line
        for _ in found:
            cursor.next()
        other = binary(cursor, level + 1, depth)
        if (found == "/" and other == 0) or (found in ("<<", ">>") and other < 0):
            raise SimError(f"expected another right operand of '{found}', found {other}", line)
        value = _LEVELS[level][found](value, other)
    return value


def _unary(cursor: TokenStream, depth: int) -> int:
    if depth > _MAX_NESTING:
        raise SimError(f"expressions nested more than {_MAX_NESTING} deep", cursor.line)
    for sign, function in _UNARY.items():
        if cursor.accept(sign):
            return function(_unary(cursor, depth + 1))
    if cursor.accept("("):
        if cursor.accept(".s64") or cursor.accept(".u64"):
            cursor.expect(")")
            return _unary(cursor, depth + 1)
        value = expression(cursor, depth + 1)
        cursor.expect(")")
        return value
    literal = cursor.literal("an integer")
    if not isinstance(literal.value, int) or literal.kind != "integer":
        raise SimError("expected integers in an expression", cursor.line)
    return literal.value
