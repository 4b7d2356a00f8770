"""A position in a list of tokens."""

from __future__ import annotations

import re

from tirx.sim.errors import SimError
from tirx.sim.reader.syntax import Immediate
from tirx.sim.reader.tokens import Token, tokenize

_MOST_DIGITS = 128  # of an integer: 64 bits and their prefix are fewer


class TokenStream:
    """Reads tokens one after another; raises SimError with the line where something else was expected."""

    def __init__(self, text: str):
        self.tokens: tuple[Token, ...] = tokenize(text)
        self.index: int = 0
        self.token: Token = self.tokens[0]
        self.text: str = self.token.text

    def advance(self) -> None:
        """Goes to the next token; there must be one."""
        self.index += 1
        self.token = self.tokens[self.index]
        self.text = self.token.text

    @property
    def line(self) -> int:
        return self.token.line

    @property
    def at_end(self) -> bool:
        return self.token.kind == "end"

    def peek(self, ahead: int = 1) -> Token:
        return self.tokens[min(self.index + ahead, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        if not self.at_end:
            self.advance()
        return token

    def accept(self, text: str) -> bool:
        if self.text == text and self.token.kind in ("punctuation", "word"):
            self.advance()
            return True
        return False

    def error(self, expected: str) -> SimError:
        return SimError(f"expected {expected}, found {self.text!r}", self.line)

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.error(repr(text))

    def word(self, what: str) -> str:
        if self.token.kind != "word":
            raise self.error(what)
        return self.next().text

    def literal(self, what: str = "a literal") -> Immediate:
        """A number, without a sign."""
        if self.token.kind != "number":
            raise self.error(what)
        text = self.next().text
        prefix = text[:2].lower()
        if prefix == "0f" and len(text) == 10:
            return Immediate("f32", int(text[2:], 16))
        if prefix == "0d" and len(text) == 18:
            return Immediate("f64", int(text[2:], 16))
        if prefix != "0x" and re.search(r"[.eE]", text):
            return Immediate("decimal", float(text))
        digits = text.rstrip("U")
        if len(digits) > _MOST_DIGITS:
            raise SimError(f"expected a literal of at most 64 bits, found one of {len(digits)} digits", self.line)
        if re.fullmatch(r"0[0-7]+", digits):
            return Immediate("integer", int(digits, 8))
        if re.fullmatch(r"0\d+", digits):
            raise SimError(f"expected an octal number, found {text!r}", self.line)
        value = int(digits, 0)
        if value >> 64:
            raise SimError(f"expected a literal of at most 64 bits, found {text}", self.line)
        return Immediate("integer", value)
