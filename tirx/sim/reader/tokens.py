"""PTX text to tokens (PTX ISA, section 4)."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from tirx.sim.errors import SimError

TokenKind: TypeAlias = Literal["string", "number", "word", "punctuation", "end"]

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f\n]+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]*)
    | (?P<string>"[^"\n]*")
    | (?P<number>0[fF][0-9a-fA-F]{8}\b | 0[dD][0-9a-fA-F]{16}\b | 0[xX][0-9a-fA-F]+U?\b | 0[bB][01]+U?\b
               | \d+\.\d*(?:[eE][+-]?\d+)? | \.\d+(?:[eE][+-]?\d+)?\b | \d+[eE][+-]?\d+ | \d+U?\b)
    | (?P<word>\.[\w$]+(?:::[\w$]+)* | [%$_A-Za-z][\w$]*(?:(?:\.|::|(?<=::\d):(?=\d))[\w$]+)*)
    | (?P<punctuation>[{}()\[\],;:|!@<>=+\-*/~&^?])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


class Token(NamedTuple):
    """A token and the line (1-based) it is on."""

    kind: TokenKind
    text: str
    line: int


def tokenize(text: str) -> tuple[Token, ...]:
    """Returns the tokens of `text`, then one of kind "end". Raises SimError at a character that starts no token."""
    tokens: list[Token] = []
    position, line = 0, 1
    for match in _TOKEN.finditer(text):
        if match.start() != position:
            break
        position, kind = match.end(), match.lastgroup
        if kind == "space":
            line += match.group().count("\n")
        elif kind == "string" or kind == "number" or kind == "word" or kind == "punctuation":
            tokens.append(Token(kind, match.group(), line))
    if position < len(text):
        found = text[position : position + 20].split("\n")[0]
        raise SimError(f"expected a PTX token, found {found!r}", line)
    tokens.append(Token("end", "end of file", line))
    return tuple(tokens)
