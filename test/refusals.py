"""Tables of refused texts: lines of text, and below them the message, indented. Long lines are broken at spaces."""

from __future__ import annotations

import pytest

from tirx.diagnostics import LocatedError
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context


def cases(table: str) -> list[tuple[str, str]]:
    """The texts and messages of a table."""
    found: list[tuple[list[str], list[str]]] = []
    for line in table.strip().splitlines():
        if line.startswith(" "):
            found[-1][1].append(line.strip())
        elif not found or found[-1][1]:
            found.append(([line], []))
        else:
            found[-1][0].append(line)
    return [(" ".join(text), " ".join(message)) for text, message in found]


def refusal(text: str) -> str:
    """Returns the first line of the message with which a module is refused, by the parser or by a verifier."""
    with pytest.raises(LocatedError) as found:
        verify_located(parse_located(new_context(), text, "<input>"))
    return found.value.diagnostic.message.partition("\n")[0]
