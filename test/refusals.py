"""Tables of refused texts: lines of text, and below them the message, indented. Long lines are broken at spaces."""

from __future__ import annotations


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
