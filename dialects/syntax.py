"""Texts of operations: parsing and printing that dialects share, and clauses as tables.

The parser and the printer of a clause are made of one row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar, cast

from xdsl.dialects.builtin import IntAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.parser.core import UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from tirx.dialects.definition import DirectOperation
from tirx.dialects.text_data import TextData
from tirx.dialects.xdsl_parser import current_token
from tirx.values import dataclass

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


_TEXT = re.compile(r"([^ (\[]*)( ?)([(\[]?)(\*?)[)\]]?")
_BRACKETS = {"": ("", Parser.Delimiter.NONE), "(": (")", Parser.Delimiter.PAREN), "[": ("]", Parser.Delimiter.SQUARE)}


@dataclass(frozen=True)
class Form:
    """The text of a value: `parse` returns what a constructor takes, `shown` what is printed for the field."""

    parse: Callable[[Parser], Any]
    shown: Callable[[Any], Iterable[Shown]] = lambda value: [value]


def identifier(of: str) -> Form:
    """A word that stands for itself; `of` says in messages what it names."""
    return Form(lambda parser: parser.parse_identifier(context_msg=of), lambda text: [text.data])


STATION = identifier(" of a station")
SYMBOL = Form(lambda parser: parser.parse_symbol_name().data, lambda name: [SymbolRefAttr(name)])
VALUE = Form(parse_defined)
OPERAND = Form(lambda parser: parser.parse_unresolved_operand())
"""An operand whose type comes later."""
BODY = Form(lambda parser: parser.parse_region())
TYPED = Form(parse_typed, lambda values: ["(", values, " : ", [value.type for value in values], ")"])

Kind = type[int] | type[str] | type[StrEnum] | type[TextData[Any]] | Form
"""The text of a value: an integer, a string in quotes, a word, an attribute without its brackets, or another one."""


def _form(kind: Kind) -> Form:
    if isinstance(kind, Form):
        return kind
    if issubclass(kind, TextData):
        return Form(lambda parser: kind(kind.parse_body(parser)), lambda value: [value.body()])
    if issubclass(kind, StrEnum):
        return Form(lambda parser: parser.parse_str_enum(kind), lambda value: [value.data])
    if kind is int:
        return Form(
            parse_integer,
            lambda value: [str(cast(Any, value).data if isinstance(value, IntAttr) else value.value.data)],
        )
    return Form(lambda parser: parser.parse_str_literal())


class Clause:
    """A part of the text of an operation: a keyword, a value behind it, and by default in the field of that name.

    `text` is the keyword with a space or brackets where the value has them: `engine `, `warps()`, with a star for
    several values, `stations(*)`. Without a kind it is a flag, or a word for the value `member` of the field. One
    without a keyword, or that is `needed`, is always there. `unsaid` ones are parsed but not printed.
    """

    def __init__(
        self,
        text: str,
        kind: Kind | None = None,
        field: str | None = None,
        member: Attribute | None = None,
        *,
        needed: bool = False,
        unsaid: bool = False,
    ):
        found = _TEXT.fullmatch(text)
        assert found is not None
        self.keyword, self._space, self._bracket, self._star = found.groups()
        self.field = self.keyword if field is None else field
        self._form = None if kind is None else _form(kind)
        self._member, self._needed, self._unsaid = member, needed, unsaid

    def _value(self, parser: Parser) -> Any:
        if (form := self._form) is None:
            return self._member or True
        if self._star:
            return parser.parse_comma_separated_list(_BRACKETS[self._bracket][1], lambda: form.parse(parser))
        return in_parens(parser, lambda: form.parse(parser)) if self._bracket else form.parse(parser)

    def parse(self, parser: Parser, found: dict[str, Any]) -> None:
        """Parses the clause if it comes next, or must. Adds the value to the fields that are found."""
        if self._needed:
            parser.parse_keyword(self.keyword)
        if self._needed or not self.keyword or parser.parse_optional_keyword(self.keyword) is not None:
            found[self.field] = self._value(parser)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        """Prints the clause, or nothing if the operation does not have it."""
        value = getattr(op, self.field)
        if self._unsaid or value is None or value == () or self._member not in (None, value):
            return
        write(printer, " " if self.keyword or not self._bracket else "", self.keyword, self._space, self._bracket)
        if self._form is not None:
            for i, each in enumerate(value if self._star else [value]):
                write(printer, *(", ",)[:i], *self._form.shown(each))
            write(printer, _BRACKETS[self._bracket][0])


def words(field: str, kind: Callable[[Any], Attribute], enum: Iterable[StrEnum], unsaid: object = None) -> list[Clause]:
    """Returns the clauses of a field for which a member of an enumeration stands."""
    return [Clause(each, None, field, kind(each), unsaid=each is unsaid) for each in enum]


class AnyOrder:
    """Clauses in any order, each at most once, which are printed in that of the table.

    `needed` is the keyword of one that has to be there, and the error where it is not.
    """

    def __init__(self, *clauses: Clause, needed: tuple[str, str] | None = None):
        self._clauses = {clause.keyword: clause for clause in clauses}
        self._needed = needed

    def parse(self, parser: Parser, found: dict[str, Any], before_types: bool = False) -> None:
        """Parses the clauses. Adds their values to the fields that are found.

        With `before_types` no other word may follow: it is an error that names the clauses.
        """
        start, seen = parser.pos, dict[str, str]()
        while (clause := self._clauses.get(current_token(parser).text)) is not None:
            if clause.keyword in seen:
                refuse_again(parser)
            clause.parse(parser, found)
            if clause.field in seen.values():
                parser.raise_error(f"expected one {clause.field}, found two", start, parser.pos)
            seen[clause.keyword] = clause.field
        start = parser.pos
        if before_types and (other := parser.parse_optional_identifier()) is not None:
            known = ", ".join(self._clauses)
            parser.raise_error(f"expected ':' and types or a clause ({known}), found '{other}'", start, parser.pos)
        if self._needed is not None and self._needed[0] not in seen:
            parser.raise_error(self._needed[1])

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        """Prints the clauses that the operation has."""
        for clause in self._clauses.values():
            clause.print(printer, op)


def refuse_again(parser: Parser) -> None:
    """Raises the error of a clause that comes next and has been there."""
    start = parser.pos
    name = parser.parse_identifier()
    parser.raise_error(f"expected the clause '{name}' once, found it again", start, parser.pos)


class WrittenOp(DirectOperation):
    """An operation whose text is that of `SYNTAX`, attributes, which have a keyword before a region, and `BEHIND`."""

    SYNTAX: ClassVar[tuple[Clause | AnyOrder, ...]] = ()
    BEHIND: ClassVar[tuple[Clause, ...]] = ()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        found: dict[str, Any] = {}
        for part in cls.SYNTAX:
            part.parse(parser, found)
            if current_token(parser).text in found:
                refuse_again(parser)
        attributes = parse_attributes(parser, cls, keyword=bool(cls.get_irdl_definition().regions))
        for clause in cls.BEHIND:
            clause.parse(parser, found)
        return cls(**found).with_attributes(attributes)

    def print(self, printer: Printer) -> None:
        for part in self.SYNTAX:
            part.print(printer, self)
        printer.print_op_attributes(self.attributes, print_keyword=bool(self.regions))
        for clause in self.BEHIND:
            clause.print(printer, self)
