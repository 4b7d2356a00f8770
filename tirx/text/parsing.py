"""Parsing with locations: every operation knows its line, and every error of bad input points at it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    Float80Type,
    Float128Type,
    FloatAttr,
    IntAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, AttributeInvT, Block, BlockArgument, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import UnresolvedOperand
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tirx.diagnostics import Facts, LocatedError, Note, in_stage
from tirx.dialects.definition import built
from tirx.dialects.xdsl_parser import OpenLexer, OpenParser, define, input_of, resume_from
from tirx.dialects.xdsl_private import append
from tirx.rules import TextError
from tirx.text.parsed import HEAD, NAME, TYPE, ParsedBefore, aliases_in
from tirx.text.source import file_location
from tirx.text.suggestions import did_you_mean

_BAD_VALUES = (VerifyException, ValueError, OverflowError, NotImplementedError, AssertionError)
"""What constructors and parsing hooks raise for a value that the text spells but that does not exist."""

_OP_NAME = re.compile(r'"?(?P<op>(?P<dialect>[A-Za-z_]\w*)\.[\w.]+)')
_DIALECT = re.compile(r"[A-Za-z_]\w*(?=\.[a-z])")
_OWN_DIALECTS = ("tirx", "ptx", "tcgen05", "wgmma")

_LONGEST = 2000
"""Characters of a message, which may quote what it is about: a file may be one line."""

_MAX_INTEGER_BITS = 2**24 - 1
"""MLIR's limit. Without one, checking that a constant fits into a mistyped width can take forever."""


_integer = lru_cache(maxsize=4096)(IntAttr)


class _LinearTimeLexer(OpenLexer):
    """xDSL's lexer takes time exponential in the rest of the line to reject a string that is not closed."""

    _string_literal = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def check_string(self, start: int) -> None:
        if self._string_literal.match(self.input.content, start) is None:
            raise ParseError(
                Span(start, start, self.input),
                r"expected a string literal that is closed on its line, with \n, \t, \", \\ and \XX as escapes",
            )


class LocatingParser(OpenParser):
    """xDSL's parser, with locations.

    Operations get the location of their name and block arguments that of theirs, unless the text says `loc(...)`. A
    value that an attribute, type or operation rejects while it is parsed is a ParseError at that place, and so is a
    value that is used but never defined. Unlike xDSL's, this parser accepts an empty input.
    """

    locates = True
    """Operations need not look for their places themselves."""

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>"):
        self._line_starts = [0, *(end.end() for end in re.finditer("\n", text))]
        self._file = StringAttr(name)
        self._name_positions: list[int] = []
        """Where the name of each operation being parsed starts, outermost first."""
        self._first_uses: dict[str, Span[str]] = {}
        """Where each value that is not yet defined was first used."""
        self._known = ParsedBefore.of(ctx)
        self.ahead: list[Operation] = []
        """Operations that the block has in front of the one that is parsed, which its text implies."""
        self.behind: list[Operation] = []
        """Those that it has behind that one."""
        super().__init__(ctx, _LinearTimeLexer(Input(text, name)), name)

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        # Without the constructor, which verifies what it is made of.
        made = FileLineColLoc.__new__(FileLineColLoc)
        column = _integer(position - self._line_starts[line - 1] + 1)
        vars(made).update(filename=self._file, line=_integer(line), column=column)
        return made

    def _raise_bad_value(self, error: Exception, start: Span[str]) -> NoReturn:
        self.raise_error(str(error) or "expected a value that xDSL implements", start)

    def parse_input(self) -> ModuleOp:
        """The module that the text is, or one of its operations."""
        ops: list[Operation] = []
        while self.token.kind is not MLIRTokenKind.EOF:
            match self.token.kind:
                case MLIRTokenKind.HASH_IDENT | MLIRTokenKind.EXCLAMATION_IDENT:
                    self.parse_alias()
                case MLIRTokenKind.FILE_METADATA_BEGIN:
                    self.parse_file_metadata()
                case _:
                    ops.append(self.expect(self.parse_optional_operation, "expected an operation"))
        for name in self.forward_ssa_references:
            self.raise_error(f"use of %{name}, which is not defined", self._first_uses[name])
        if len(ops) == 1 and isinstance(module := ops[0], ModuleOp):
            return module
        module = built(ModuleOp, regions=[Region(Block(ops))])
        module.location = self._location(0)
        return module

    def parse_operations(self, block: Block) -> None:
        around, self.ahead, self.behind = (self.ahead, self.behind), [], []
        while (op := self.parse_optional_operation()) is not None:
            if not self.ahead and not self.behind:
                append(block, op)
                continue
            for each in (*self.ahead, *self.behind):
                each.location = op.location
            block.add_ops([*self.ahead, op, *self.behind])
            self.ahead.clear()
            self.behind.clear()
        self.ahead, self.behind = around

    def parse_operation(self) -> Operation:
        head = HEAD.match(self.lexer.input.content, self.pos)
        kind = None if head is None else self._known.kinds.get(head[2]) or self._kind(head[2])
        start = self.token.span
        self._name_positions.append(start.start if head is None else head.start(2))
        try:
            if head is None or kind is None:
                op = super().parse_operation()
            else:
                op = self.parse_behind(kind, head.end())
                self._bind(op, head)
        except _BAD_VALUES as error:
            self._raise_bad_value(error, start)
        except (AttributeError, IndexError, KeyError, TypeError):
            # xDSL may build an operation from fewer operands or attributes than it has.
            name = _OP_NAME.match(input_of(self).content, self._name_positions[-1])
            if name is None or name["dialect"] in _OWN_DIALECTS:
                raise
            self.raise_error(f"expected the operands and attributes of '{name['op']}'", self._name_positions[-1])
        position = self._name_positions.pop()
        if op.location == UNKNOWN_LOC:
            op.location = self._location(position)
        blocks = [block for region in op.regions for block in region.blocks]
        for implied in [each for block in blocks for each in (*block.args, *block.ops)]:
            if implied.location is UNKNOWN_LOC:
                implied.location = op.location
        return op

    def _kind(self, name: str) -> type[Operation] | None:
        """The class of operations of a name, which is kept unless it leaves out the dialect."""
        kind = self.ctx.get_optional_op(name, dialect_stack=self.dialects)
        if kind is not None and kind.name == name:
            self._known.kinds[name] = kind
        return kind

    def _bind(self, op: Operation, head: re.Match[str]) -> None:
        """Gives the results of an operation the names that stand in front of it."""
        names = NAME.findall(head[1]) if head[1] else ()
        if len(names) not in (0, len(op.results)):
            problem = f"Operation has {len(op.results)} results, but was given {len(names)} to bind."
            self.raise_error(problem, Span(head.start(), head.end(1), self.lexer.input))
        for i, (name, result) in enumerate(zip(names, op.results, strict=bool(names))):
            if name in self.ssa_values or name in self.forward_ssa_references:
                at = [*NAME.finditer(head.string, *head.span(1))][i].span()
                define(self, name, (result,), Span(*at, self.lexer.input))
                continue
            self.ssa_values[name] = (result,)
            if SSAValue.is_valid_name(name):
                result.name_hint = name

    def behind_results(self) -> None:
        self._name_positions[-1] = self.pos

    def before_block(self) -> None:
        label = self.token
        if label.kind is not MLIRTokenKind.CARET_IDENT:
            found = "the end of the input" if label.kind is MLIRTokenKind.EOF else f"'{label.text}'"
            self.raise_error(f"expected an operation or '}}', found {found}", label.span)
        name = label.text[1:]
        if name in self.blocks and name not in self.forward_block_references:
            self.raise_error(f"re-declaration of block '^{name}'", label.span)

    def find_operation(self, name: str, dialects: list[str]) -> type[Operation]:
        op = self.ctx.get_optional_op(name, dialect_stack=dialects)
        if op is None:
            before = self.lexer.input.content[: self._name_positions[-1]]
            for dialect in dict.fromkeys(_DIALECT.findall(before)):
                self.ctx.get_optional_dialect(dialect)
            hint = did_you_mean(name, (known.name for known in self.ctx.loaded_ops))
            self.raise_error(f"operation '{name}' is not registered{hint}", self._name_positions[-1])
        return op

    def parse_optional_type(self) -> TypeAttribute | None:
        start = self.token.span
        content = start.input.content
        if (found := TYPE.match(content, start.start)) is None:
            return self._parse_optional_type(start)
        aliases = aliases_in(found[0], self.attribute_aliases)
        key = (found[0], *map(id, aliases))
        if (known := self._known.types.get(key)) is not None:
            resume_from(self, found.end())
            return known[0]
        parsed = self._parse_optional_type(start)
        if parsed is not None and content[start.start : self.pos].rstrip() == found[0]:
            self._known.keep(key, parsed, aliases)
        return parsed

    def _parse_optional_type(self, start: Span[str]) -> TypeAttribute | None:
        try:
            parsed = super().parse_optional_type()
        except _BAD_VALUES as error:
            self._raise_bad_value(error, start)
        match parsed:
            case IntegerType(width=IntAttr(data=bits)) if bits > _MAX_INTEGER_BITS:
                self.raise_error(f"expected an integer type of at most {_MAX_INTEGER_BITS} bits, found {bits}", start)
            case _:
                return parsed

    def parse_attribute(self) -> Attribute:
        return self.parse_optional_location() or super().parse_attribute()

    def parse_optional_attribute(self) -> Attribute | None:
        if self.token.text == "loc":
            return None  # it is the location of the operation, whose attribute is left out
        start = self.token.span
        try:
            parsed = super().parse_optional_attribute()
        except _BAD_VALUES as error:
            self._raise_bad_value(error, start)
        match parsed:
            case FloatAttr(type=Float80Type() | Float128Type() as type_):
                self.raise_error(f"expected a number of at most 64 bits, found one of type {type_}", start)
            case _:
                return parsed

    def resolve_operand(self, operand: UnresolvedOperand, type: AttributeInvT) -> SSAValue[AttributeInvT]:
        if operand.operand_name not in self.ssa_values:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def before_definition(self, name: str, values: Sequence[SSAValue], span: Span[str]) -> None:
        self._first_uses.pop(name, None)
        for value in values:
            if isinstance(value, BlockArgument) and value.location == UNKNOWN_LOC:
                value.location = self._location(span.start)


def _located(error: ParseError, name: str) -> LocatedError:
    place = error.span.get_location()
    where, message, notes = file_location(name, place.line, place.col), error.msg, list[Note]()
    if isinstance(error, MultipleSpansParseError):
        what = (error.ref_text or "see").removesuffix(":")
        others = [span.get_location() for span, _ in error.refs]
        message += f" ({what} at {', '.join(f'{other.line}:{other.col}' for other in others)})"
        notes = [Note(what, file_location(name, other.line, other.col)) for other in others]
    if len(message) > _LONGEST:
        message = f"{message[:_LONGEST]}..."
    kind = LocatedError if Facts.of(error).rule is not None else TextError
    return kind(where, message, notes)


def parse_located(ctx: Context, text: str, name: str = "<unknown>") -> ModuleOp:
    """The module that `text` spells, with locations in the file `name`.

    Raises LocatedError when the text is not well-formed. The module is not verified yet: see `verify_located`.
    """
    parser: LocatingParser | None = None
    with in_stage("syntax"):
        try:
            parser = LocatingParser(ctx, text, name)
            return parser.parse_input()
        except ParseError as error:
            raise _located(error, name) from error
        except RecursionError as error:
            line = 1 if parser is None else text.count("\n", 0, parser.pos) + 1
            raise TextError(file_location(name, line, 1), "the input is nested too deeply to parse") from error
