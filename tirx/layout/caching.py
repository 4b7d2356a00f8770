"""A cache for functions of value classes, which keeps their signature for type checkers."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

ENTRIES = 1024
"""Results that one function keeps, those used last."""


def bounded_cache(function: Callable[P, R]) -> Callable[P, R]:
    """Keeps the last results of a function. Its arguments have to be hashable and its results immutable."""
    return cast("Callable[P, R]", lru_cache(maxsize=ENTRIES)(function))
