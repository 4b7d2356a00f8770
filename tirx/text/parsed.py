"""Types are not parsed again where their text came before: what it means follows from itself, the aliases that it names
and the dialects that the parser knows.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from xdsl.context import Context
from xdsl.ir import Attribute, Operation, TypeAttribute

from tirx.dialects.xdsl_parser import dialects_of

_LIMIT = 4096
"""Texts that are kept."""

_NAME = r"%(?:[0-9]+|[A-Za-z$._-][\w$.-]*)"
NAME = re.compile(r"%([0-9]+|[A-Za-z$._-][\w$.-]*)", re.ASCII)
"""The name of a value."""

HEAD = re.compile(rf"(?:({_NAME}(?:, *{_NAME})*) *= *)?([A-Za-z_]\w*\.[\w.]+)(?![\w$.])", re.ASCII)
"""The names of the results of an operation, and its own."""

TYPE = re.compile(
    r"(?:![A-Za-z_$.-][\w$.-]*+|[A-Za-z_][\w$.]*+)(?:<(?:[^<>\"/]|<(?:[^<>\"/]|<(?:[^<>\"/]|<[^<>\"/]*>)*+>)*+>)*+>)?",
    re.ASCII,
)
"""The text of a type without strings and comments, in which brackets could mean something else."""

_ALIAS = re.compile(r"[!#](?:[0-9]+|[A-Za-z_$-][\w$-]*)(?![\w$.<-])", re.ASCII)


class ParsedBefore(NamedTuple):
    """Types that parsers of the same dialects have parsed, with the aliases that their texts name, and the classes of
    operations by their whole names: a dialect need not be loaded to find them.
    """

    kinds: dict[str, type[Operation]]
    types: dict[Hashable, tuple[TypeAttribute, Sequence[Attribute]]]

    @staticmethod
    def of(context: Context) -> ParsedBefore:
        """Texts that parsers of such a context have parsed: none where it may know what others do not."""
        return ParsedBefore({}, {}) if (dialects := dialects_of(context)) is None else _shared(dialects)

    def keep(self, key: Hashable, type_: TypeAttribute, aliases: Sequence[Attribute]) -> None:
        """Keeps what a text means."""
        if len(self.types) >= _LIMIT:
            self.types.clear()
        self.types[key] = type_, aliases


@lru_cache(maxsize=8)
def _shared(dialects: Hashable) -> ParsedBefore:
    return ParsedBefore({}, {})


def aliases_in(text: str, aliases: Mapping[str, Attribute]) -> list[Attribute]:
    """The aliases that a text names."""
    if "!" not in text and "#" not in text:
        return []
    return [aliases[name] for name in _ALIAS.findall(text) if name in aliases]
