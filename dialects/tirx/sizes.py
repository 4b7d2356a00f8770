"""Compile-time parameters of kernels, and sizes that are expressions of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tirx.dialects.formula import Call, Formula
from tirx.dialects.formula_attr import parse_formula
from tirx.dialects.text_data import TextData
from tirx.rules import KernelParameterError, UnboundParameterError
from tirx.values import dataclass

NAME = re.compile(r"[A-Z]\w*")
"""Names of parameters begin with a capital letter, which no function of formulas does."""

_SCALAR = int | str


@dataclass(frozen=True)
class Size:
    """A sum of products of parameters, divided by a number: `BM * 2 + 1`, `B floordiv 2`.

    `terms` are (factor, names), names and terms sorted, so that equal sizes are equal values.
    """

    terms: tuple[tuple[int, tuple[str, ...]], ...]
    divisor: int = 1

    @staticmethod
    def of(terms: Mapping[tuple[str, ...], int], divisor: int = 1) -> Size:
        """The normal form of a sum: names of each product -> its factor."""
        return Size(tuple(sorted((factor, names) for names, factor in terms.items() if factor)), divisor)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of the size, each once."""
        return tuple(dict.fromkeys(name for _, names in self.terms for name in names))

    def evaluate(self, values: Mapping[str, _SCALAR]) -> int:
        """The size with these values. Raises UnboundParameterError for one without, KernelParameterError for a word."""
        numbers: dict[str, int] = {}
        for name in self.names:
            if name not in values:
                raise UnboundParameterError.of([name])
            value = values[name]
            if isinstance(value, str):
                raise KernelParameterError(f"expected a number for {name} in {self}, found '{value}'")
            numbers[name] = value
        return sum(factor * prod(numbers[name] for name in names) for factor, names in self.terms) // self.divisor

    def __str__(self) -> str:
        products = [" * ".join((*names, *([str(n)] if n != 1 or not names else []))) for n, names in self.terms]
        text = " + ".join(products) or "0"
        if self.divisor == 1:
            return text
        return f"{text if len(products) == 1 else f'({text})'} floordiv {self.divisor}"


def parse_name(parser: AttrParser) -> str:
    """The name of a parameter."""
    start = parser.pos
    name = parser.expect(parser.parse_optional_identifier, "expected a number or the name of a parameter")
    if NAME.fullmatch(name) is None:
        parser.raise_error(f"expected a parameter, whose name begins with a capital letter, found '{name}'", start)
    return name


def parse_size(parser: AttrParser) -> Size | int:
    """`BM`, `BM * 2 + 1`, `BM floordiv 2`; a number where no parameter stands in it."""
    terms: dict[tuple[str, ...], int] = {}
    while True:
        factor, names = 1, list[str]()
        while True:
            number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
            if number is None:
                names.append(parse_name(parser))
            else:
                factor *= number
            if parser.parse_optional_punctuation("*") is None:
                break
        key = tuple(sorted(names))
        terms[key] = terms.get(key, 0) + factor
        if parser.parse_optional_punctuation("+") is None:
            break
    divisor = 1
    if parser.parse_optional_keyword("floordiv") is not None:
        start = parser.pos
        divisor = parser.parse_integer(allow_boolean=False, allow_negative=False)
        if divisor < 1:
            parser.raise_error(f"expected a positive divisor, found {divisor}", start, parser.pos)
    size = Size.of(terms, divisor)
    return size if size.names else size.evaluate({})


@irdl_attr_definition
class SizeAttr(TextData[Size]):
    """`#tirx.size<BM * 2>`: an expression of parameters of the kernel, `[BM * 2]` in the extents of a tile."""

    name = "tirx.size"

    @classmethod
    def parse_body(cls, parser: AttrParser) -> Size:
        start = parser.pos
        size = parse_size(parser)
        if isinstance(size, int):
            parser.raise_error(f"expected an expression of parameters, found {size}", start, parser.pos)
        return size


@dataclass(frozen=True)
class Parameter:
    """A parameter with its candidates, numbers or words, the first of which is the default.

    With `launch`, a formula of the launch decides: its value has to be the one that is bound.
    """

    name: str
    candidates: tuple[_SCALAR, ...]
    launch: Formula | None = None

    def __str__(self) -> str:
        candidates = ", ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in self.candidates)
        return f"{self.name}{'' if self.launch is None else f' = {self.launch}'} in [{candidates}]"


def _parse_candidate(parser: AttrParser) -> _SCALAR:
    word = parser.parse_optional_str_literal()
    return parser.parse_integer(allow_boolean=False) if word is None else word


def _parse_parameter(parser: AttrParser) -> Parameter:
    start = parser.pos
    name = parse_name(parser)
    launch = None if parser.parse_optional_punctuation("=") is None else parse_formula(parser)
    parser.parse_keyword("in")
    candidates = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_candidate(parser))
    if not candidates or len(set(candidates)) < len(candidates) or len({type(each) for each in candidates}) > 1:
        parser.raise_error(
            f"expected different candidates of {name}, one or more numbers or words, found {candidates}",
            start,
            parser.pos,
        )
    return Parameter(name, tuple(candidates), launch)


@irdl_attr_definition
class ParametersAttr(Data[tuple[Parameter, ...]]):
    """`#tirx.parameters<BM in [128, 64], D = size(0, 2) in [64, 128]>`: the clause `params` of a kernel."""

    name = "tirx.parameters"

    @classmethod
    def parse_list(cls, parser: AttrParser, delimiter: AttrParser.Delimiter) -> tuple[Parameter, ...]:
        """Parameters between brackets."""
        start = parser.pos
        found = parser.parse_comma_separated_list(delimiter, lambda: _parse_parameter(parser))
        names = [each.name for each in found]
        if not found or len(set(names)) < len(names):
            parser.raise_error(f"expected parameters of different names, found {', '.join(names)}", start, parser.pos)
        return tuple(found)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Parameter, ...]:
        return cls.parse_list(parser, parser.Delimiter.ANGLE)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(", ".join(map(str, self.data)))


def formula_names(formula: Formula) -> tuple[str, ...]:
    """The parameters in a formula."""
    if isinstance(formula, int):
        return ()
    own = (formula.function,) if NAME.fullmatch(formula.function) else ()
    return tuple(dict.fromkeys((*own, *(name for each in formula.operands for name in formula_names(each)))))


def bound_formula(formula: Formula, values: Mapping[str, _SCALAR]) -> Formula:
    """A formula with numbers for parameters."""
    if isinstance(formula, int) or not formula_names(formula):
        return formula
    if not formula.operands:
        return Size.of({(formula.function,): 1}).evaluate(values)
    return Call(formula.function, tuple(bound_formula(each, values) for each in formula.operands))
