"""Modules of tests: of one context, whose dialects are read once."""

from __future__ import annotations

from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from tirx.text.parsing import parse_located
from tirx.universe import new_context


@cache
def context() -> Context:
    """The context of all tests that do not change it."""
    return new_context(allow_unregistered=True)


def parsed(text: str) -> ModuleOp:
    """The module that a text says, with `<test>` as its file."""
    return parse_located(context(), text, "<test>")
