"""Formulas of what a launch computes from its arguments: the grid, sizes and strides that are parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from tirx.dialects.text_data import TextData, errors_from
from tirx.values import dataclass


@dataclass(frozen=True)
class Call:
    """A function of numbers that are known at a launch, such as `ceildiv(size(0, 1), 128)`.

    - `size(i, d)`: elements of argument `i` along dimension `d`;
    - `stride(i, d)`: elements from one index of that dimension to the next;
    - `sm_count()`: multiprocessors of the GPU;
    - `BM`: a compile-time parameter of the kernel, until it is bound;
    - `add`, `mul`, `ceildiv` (rounded up), `min` and `max` of two formulas.

    Arguments count from 0, in the order of the kernel's. Raises ValueError for other functions and operands.
    """

    function: str
    operands: tuple[Formula, ...] = ()

    def __post_init__(self) -> None:
        if self.function in _LOOKUPS:
            count = _LOOKUPS[self.function]
            if len(self.operands) != count or not all(isinstance(x, int) and x >= 0 for x in self.operands):
                raise ValueError(f"expected {count} numbers of 0 or more for {self.function}, found {self}")
        elif self.is_parameter:
            return
        elif self.function not in _OPERATORS:
            raise ValueError(f"expected a function of {', '.join((*_LOOKUPS, *_OPERATORS))}, found {self.function}")
        elif len(self.operands) != 2:
            raise ValueError(f"expected two operands for {self.function}, found {self}")

    @property
    def is_parameter(self) -> bool:
        """Returns True for the name of a compile-time parameter, which begins with a capital letter."""
        return self.function[:1].isupper() and not self.operands

    def __str__(self) -> str:
        return self.function if self.is_parameter else f"{self.function}({', '.join(map(str, self.operands))})"


Formula: TypeAlias = int | Call
"""A number, or how to compute it at a launch."""

_LOOKUPS: dict[str, int] = {"size": 2, "stride": 2, "sm_count": 0}
"""What is looked up -> how many numbers say where."""

_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class LaunchSizes:
    """The numbers of one launch: shape and strides (elements) of every argument, () for scalars."""

    shapes: Sequence[Sequence[int]]
    strides: Sequence[Sequence[int]]
    sm_count: int

    def evaluate(self, formula: Formula) -> int:
        """The value of a formula. Raises ValueError for a division by zero or an argument that is not there."""
        match formula:
            case int():
                return formula
            case Call("sm_count"):
                return self.sm_count
            case Call("size" | "stride" as what, (int(argument), int(dimension))):
                table = self.shapes if what == "size" else self.strides
                if argument >= len(table) or dimension >= len(table[argument]):
                    raise ValueError(f"expected an argument that has {formula}, found none")
                return table[argument][dimension]
            case Call(function, (a, b)):
                left, right = self.evaluate(a), self.evaluate(b)
                if function == "ceildiv" and right <= 0:
                    raise ValueError(f"expected a positive divisor in {formula}, found {right}")
                return _OPERATORS[function](left, right)
            case Call():
                raise ValueError(f"expected a number for the parameter {formula}")


def lookups(formula: Formula) -> list[tuple[str, int, int]]:
    """The sizes and strides that a formula reads, as ("size" or "stride", argument, dimension)."""
    match formula:
        case Call("size" | "stride" as what, (int(argument), int(dimension))):
            return [(what, argument, dimension)]
        case Call():
            return [found for operand in formula.operands for found in lookups(operand)]
        case int():
            return []


def constant_divisors(formula: Formula) -> list[int]:
    """The numbers by which a formula divides, as far as they are written in it."""
    if not isinstance(formula, Call):
        return []
    own = [each for each in formula.operands[1:] if formula.function == "ceildiv" and isinstance(each, int)]
    return own + [found for operand in formula.operands for found in constant_divisors(operand)]


def parse_formula(parser: AttrParser) -> Formula:
    """Parses a number or `function(formula, ...)`."""
    start = parser.pos
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return number
    function = parser.parse_identifier(" or a number for a formula of the launch")
    if function[:1].isupper():
        return Call(function)
    if function not in _LOOKUPS and function not in _OPERATORS:
        known = ", ".join((*_LOOKUPS, *_OPERATORS))
        parser.raise_error(f"expected an integer or a function of {known}, found '{function}'", start, parser.pos)
    operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_formula(parser))
    with errors_from(parser, start):
        return Call(function, tuple(operands))


@irdl_attr_definition
class FormulaAttr(TextData[Formula]):
    """`#ptx.formula<ceildiv(size(0, 1), 128)>`: a number that a launch computes."""

    name = "ptx.formula"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> Formula:
        return parse_formula(parser)
