"""Texts that were parsed before: types, and operations on a line of their own, are not parsed again.

What such a text means follows from itself, the types of its operands, the aliases that it names and the dialects that
the parser knows. Names of values have no part in it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute

from tirx.dialects.xdsl_parser import dialects_of

_LIMIT = 4096
"""Texts that are kept of each kind."""

_NAME = r"%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)"
NAME = re.compile(r"%([0-9]+|[A-Za-z$._-][\w$.-]*)", re.ASCII)
"""The name of a value."""

HEAD = re.compile(rf"(?:({_NAME}(?:, *{_NAME})*) *= *)?([A-Za-z_]\w*\.[\w.]+)(?![\w$.])", re.ASCII)
"""The names of the results of an operation, and its own."""

REST = re.compile(r"([^\n{}^\"/]*)(?://[^\n]*)?\n(?:\s+|//[^\n]*)*+(?=[%}]|[A-Za-z_]\w*\.|\Z)", re.ASCII)
"""The text behind it, without regions, attributes and strings, up to the token behind its line, which cannot go on
with it."""

TYPE = re.compile(r"!?[A-Za-z_][\w$.]*(?:<(?:[^<>\"/]|<(?:[^<>\"/]|<(?:[^<>\"/]|<[^<>\"/]*>)*+>)*+>)*+>)?", re.ASCII)
"""The text of a type without strings and comments, in which brackets could mean something else."""

_ALIAS = re.compile(r"[!#](?:[0-9]+|[A-Za-z_$-][\w$-]*)(?![\w$.<-])", re.ASCII)

_KeptT = TypeVar("_KeptT")


class Parsed(NamedTuple):
    """An operation: types of its operands, in the order of the text, and of its results, and its properties."""

    operands: Sequence[Attribute]
    results: Sequence[Attribute]
    properties: Mapping[str, Attribute]


class ParsedBefore(NamedTuple):
    """Types and operations that parsers of the same dialects have parsed, with the aliases that their texts name, and
    the classes of operations by their whole names: a dialect need not be loaded to find them.
    """

    kinds: dict[str, type[Operation]]
    types: dict[Hashable, tuple[TypeAttribute, Sequence[Attribute]]]
    operations: dict[Hashable, tuple[Parsed, Sequence[Attribute]]]

    @staticmethod
    def of(context: Context) -> ParsedBefore:
        """Texts that parsers of such a context have parsed: none where it may know what others do not."""
        return ParsedBefore({}, {}, {}) if (dialects := dialects_of(context)) is None else _shared(dialects)


@lru_cache(maxsize=8)
def _shared(dialects: Hashable) -> ParsedBefore:
    return ParsedBefore({}, {}, {})


def aliases_in(text: str, aliases: Mapping[str, Attribute]) -> list[Attribute]:
    """The aliases that a text names."""
    if "!" not in text and "#" not in text:
        return []
    return [aliases[name] for name in _ALIAS.findall(text) if name in aliases]


def follows_text(op: Operation, operands: Sequence[SSAValue], text: str) -> bool:
    """Returns True if another operation of the same text, on values of the types of these, is the same but for them."""
    return (
        len({*operands}) == len(operands)
        and [*op.operands] == operands
        and not (op.regions or op.successors or op.attributes)
        and not any(word in text for word in ("%#", "loc", "resource"))
    )


def keep(known: dict[Hashable, _KeptT], key: Hashable, value: _KeptT) -> None:
    """Keeps what a text means."""
    if len(known) >= _LIMIT:
        known.clear()
    known[key] = value
