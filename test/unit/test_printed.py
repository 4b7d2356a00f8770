"""Long outputs of parts of tirx are those that were recorded."""

from __future__ import annotations

import sys

import outputs
import pytest
from unit.printed import PRINTED

from tirx.viz.words import word_tables

_AXES = sys.modules["tirx.layout.axis"]  # whose name in the package is that of a function


@pytest.mark.parametrize("name", PRINTED)
def test_printed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tests that ran before in this process may have added axes, which pages and errors list.
    monkeypatch.setattr(_AXES, "_REGISTRY", {row.name: row for row in _AXES._BUILTIN})
    word_tables.cache_clear()
    outputs.check(name, PRINTED[name]())
