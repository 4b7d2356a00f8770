"""Hints for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'X'?` for the known name nearest to `name`, or nothing when none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""
