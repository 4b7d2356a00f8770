"""xDSL's parser and lexer, with the private names of theirs that tirx uses: no other file does (`xdsl_private.py`).

Most tokens are read in one step, and a token makes its place in the text when it is asked for.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence

from xdsl.context import Context
from xdsl.ir import Block, Operation, SSAValue
from xdsl.parser import AttrParser, Parser, ParserState
from xdsl.utils.lexer import Input, Span, Token
from xdsl.utils.mlir_lexer import KIND_BY_PUNCTUATION_SPELLING, MLIRLexer, MLIRTokenKind, PunctuationSpelling


def input_of(parser: Parser) -> Input:
    """The text that a parser reads."""
    return parser._parser_state.lexer.input


def current_token(parser: Parser) -> Token[MLIRTokenKind]:
    """The token that a parser is at."""
    return parser._current_token


def resume_from(parser: AttrParser, position: int) -> None:
    """Lets a parser go on at a position of its text."""
    parser._resume_from(position)


def dialects_of(context: Context) -> Hashable | None:
    """The dialects that a context has to load names from; None where it has loaded some already, or takes any."""
    if context.allow_unregistered or context._loaded_ops or context._loaded_attrs or context._loaded_types:
        return None
    return tuple(context._registered_dialects.items())


def operation_named(parser: Parser, name: str) -> type[Operation]:
    """The class of operations of a name, as the parser finds it."""
    return parser._get_op_by_name(name)


def define(parser: Parser, name: str, values: Sequence[SSAValue], span: Span[str]) -> None:
    """Gives values a name in the text that a parser reads."""
    parser._register_ssa_definition(name, values, span)


_TOKEN = re.compile(
    r"(?:\s+|//[^\n]*)*+(?:([A-Za-z_][\w$.]*)|((?!#-\})[%#!^](?:[0-9]+|[A-Za-z$._-][\w$.-]*))"
    r"|(->|[:,()\[\]}<>=+/*?|-]|\{(?!-#))|((?!0x[0-9a-fA-F])[0-9]++(?!\.))|(@[A-Za-z_][\w$.]*))",
    re.ASCII,
)
"""White space and a token: a name, one behind a prefix, punctuation, a decimal integer, the name of a symbol."""

_KINDS: Mapping[str, MLIRTokenKind] = {
    **KIND_BY_PUNCTUATION_SPELLING,
    "#": MLIRTokenKind.HASH_IDENT,
    "!": MLIRTokenKind.EXCLAMATION_IDENT,
    "^": MLIRTokenKind.CARET_IDENT,
    "%": MLIRTokenKind.PERCENT_IDENT,
}
"""Punctuation, or the prefix of a name -> the kind of the token."""


class _Word(Token[MLIRTokenKind, str]):
    """A token that knows its text, and makes its place in the input when it is asked for."""

    text: str = ""

    def __init__(self, kind: MLIRTokenKind, text: str, end: int, input: Input[str]):
        self.kind, self.end, self._input = kind, end, input
        self.text = text  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def span(self) -> Span[str]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Span(self.end - len(self.text), self.end, self._input)


class OpenLexer(MLIRLexer):
    """xDSL's lexer, which reads most tokens in one step, and looks at strings before it reads them."""

    def lex(self) -> Token[MLIRTokenKind, str]:
        found = _TOKEN.match(self.input.content, self.pos)
        if found is None:
            return super().lex()
        group = found.lastindex or 0
        text, self.pos = found[group], found.end()
        match group:
            case 1:
                kind = MLIRTokenKind.BARE_IDENT
            case 2:
                kind = _KINDS[text[0]]
            case 3:
                kind = _KINDS[text]
            case 4:
                kind = MLIRTokenKind.INTEGER_LIT
            case _:
                kind = MLIRTokenKind.AT_IDENT
        return _Word(kind, text, self.pos, self.input)

    def check_string(self, start: int) -> None:
        """Raises ParseError for a string that is not to be read."""

    def _lex_string_literal(self, start_pos: int) -> Token[MLIRTokenKind, str]:
        self.check_string(start_pos)
        return super()._lex_string_literal(start_pos)


class OpenParser(Parser):
    """xDSL's parser, with methods for the steps that a parser with locations changes."""

    def __init__(self, ctx: Context, lexer: MLIRLexer, name: str):
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(lexer)

    @property
    def token(self) -> Token[MLIRTokenKind]:
        """The token that the parser is at."""
        return self._current_token

    @property
    def dialects(self) -> list[str]:
        """The dialects of the operations around, whose names may leave them out."""
        return self._parser_state.dialect_stack

    def parse_alias(self) -> None:
        """Parses the definition of an alias."""
        self._parse_alias_def()

    def parse_file_metadata(self) -> None:
        """Parses the metadata of a file."""
        self._parse_file_metadata_dictionary()

    def parse_operations(self, block: Block) -> None:
        """Parses the operations of a block."""
        raise NotImplementedError

    def parse_behind(self, kind: type[Operation], position: int) -> Operation:
        """Parses what stands behind the name of an operation of a class, and its location."""
        self._resume_from(position)
        self.dialects.append(kind.dialect_name())
        op = kind.parse(self)
        self.dialects.pop()
        if (location := self.parse_optional_location()) is not None:
            op.location = location
        return op

    def behind_results(self) -> None:
        """Runs behind the results of an operation, at its name."""

    def before_block(self) -> None:
        """Runs at the label of a block."""

    def before_definition(self, name: str, values: Sequence[SSAValue], span: Span[str]) -> None:
        """Runs before values get a name."""

    def find_operation(self, name: str, dialects: list[str]) -> type[Operation]:
        """The class of operations of a name, which may leave out one of `dialects`, those around it."""
        raise NotImplementedError

    @property
    def pos(self) -> int:
        token = self._parser_state.current_token
        return token.end - len(token.text) if type(token) is _Word else token.span.start

    def parse_punctuation(self, punctuation: PunctuationSpelling, context_msg: str = "") -> PunctuationSpelling:
        if self._parse_optional_token(KIND_BY_PUNCTUATION_SPELLING[punctuation]) is not None:
            return punctuation
        return super().parse_punctuation(punctuation, context_msg)  # which says what is wrong

    def parse_optional_punctuation(self, punctuation: PunctuationSpelling) -> PunctuationSpelling | None:
        found = self._parse_optional_token(KIND_BY_PUNCTUATION_SPELLING[punctuation])
        return None if found is None else punctuation

    def parse_optional_characters(self, text: str) -> str | None:
        state = self._parser_state
        if state.current_token.text != text:
            return None
        state.current_token = state.lexer.lex()
        return text

    def _parse_optional_token(self, expected_kind: MLIRTokenKind) -> Token[MLIRTokenKind] | None:
        state = self._parser_state
        if (token := state.current_token).kind is not expected_kind:
            return None
        state.current_token = state.lexer.lex()
        return token

    def _parse_block_body(self, block: Block) -> None:
        self.parse_operations(block)

    def _parse_op_result_list(self) -> list[tuple[Span[str], int]]:
        results = super()._parse_op_result_list()
        self.behind_results()
        return results

    def _parse_block(self) -> Block:
        self.before_block()
        return super()._parse_block()

    def _get_op_by_name(self, name: str) -> type[Operation]:
        return self.find_operation(name, self.dialects)

    def _register_ssa_definition(self, name: str, values: Sequence[SSAValue], span: Span[str]) -> None:
        self.before_definition(name, values, span)
        super()._register_ssa_definition(name, values, span)
