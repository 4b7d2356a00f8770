"""Makes a failing text small: delta debugging by lines, and then by tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_TOKENS = re.compile(r"\s+|[%@^#!]?[\w.]+|.", re.DOTALL)


def _smaller(parts: Sequence[str], fails: Callable[[str], bool]) -> list[str]:
    """A part of `parts` that still fails when joined, of which no piece can go (ddmin)."""
    left = list(parts)
    size = len(left) // 2
    while size:
        start = 0
        while start < len(left):
            shorter = left[:start] + left[start + size :]
            if fails("".join(shorter)):
                left = shorter
            else:
                start += size
        size //= 2
    return left


def minimised(text: str, fails: Callable[[str], bool], tries: int = 1500) -> str:
    """The smallest text found within so many tries for which `fails` holds, as it must for `text`."""
    left = tries
    known: dict[str, bool] = {}

    def counted(candidate: str) -> bool:
        nonlocal left
        if candidate not in known:
            if left <= 0:
                return False
            left -= 1
            known[candidate] = fails(candidate)
        return known[candidate]

    while True:
        before = text
        text = "".join(_smaller(text.splitlines(keepends=True), counted))
        text = "".join(_smaller(_TOKENS.findall(text), counted))
        if text == before or left <= 0:
            return text
