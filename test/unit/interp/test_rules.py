"""Times of rules of the interpreter, beside the functions in numpy that they call."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tirx.interp

_MOST_LINES = 300


def _bodies(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The first and the last line of the body of each method with `@rule`, and of each entry of the tables of rules."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(decorator_list=[ast.Call(func=ast.Name(id="rule"))]):
                yield node.body[0].lineno, node.body[-1].end_lineno or 0
            case ast.Call(func=ast.Name(id="rules")):
                tables = [
                    each for each in (*node.args, *(word.value for word in node.keywords)) if isinstance(each, ast.Dict)
                ]
                for table in tables:
                    yield from ((each.lineno, each.end_lineno or 0) for each in table.values)
            case _:
                pass


def test_rules_are_short() -> None:
    count = 0
    for path in Path(tirx.interp.__file__).parent.glob("*.py"):
        text = path.read_text()
        lines = [line.strip() for line in text.splitlines()]
        for first, last in _bodies(ast.parse(text)):
            count += sum(bool(line) and not line.startswith("#") for line in lines[first - 1 : last])
    assert 200 < count <= _MOST_LINES, count
