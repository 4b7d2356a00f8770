"""Formulas of launches in the IR: their text and their attribute."""

from __future__ import annotations

from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser

from tirx.dialects.formula import LOOKUPS, OPERATORS, Call, Formula
from tirx.dialects.text_data import TextData, errors_from


def parse_formula(parser: AttrParser) -> Formula:
    """Parses a number or `function(formula, ...)`."""
    start = parser.pos
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None:
        return number
    function = parser.parse_identifier(context_msg=" or a number for a formula of the launch")
    if function[:1].isupper():
        return Call(function)
    if function not in LOOKUPS and function not in OPERATORS:
        known = ", ".join((*LOOKUPS, *OPERATORS))
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
