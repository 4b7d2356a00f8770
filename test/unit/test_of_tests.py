"""Tests say which error they expect, not only that there is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_TESTS = Path(__file__).parents[1]


def _vague(path: Path) -> Iterator[str]:
    """`pytest.raises` that looks at nothing of the error: no `match`, no `check`, no name for it."""
    text = path.read_text()
    if "pytest.raises" not in text:
        return
    for node in [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.With)]:
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.raises" and item.optional_vars is None:
                if not {keyword.arg for keyword in call.keywords} & {"match", "check"}:
                    yield f"{path.relative_to(_TESTS)}:{node.lineno}"


def test_errors_are_looked_at() -> None:
    assert [place for path in sorted(_TESTS.rglob("*.py")) for place in _vague(path)] == []
