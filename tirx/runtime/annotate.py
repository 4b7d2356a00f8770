"""Attributes written into the text of a program, which keeps its comments, names and layout."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from tirx.dialects.tirx import KernelOp
from tirx.passes.match.pipelining import copies_to_shared
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_SKIPPED = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"')
"""Comments and strings, in which braces have no meaning."""


def annotated(text: str, words: Mapping[str, str], stages: int | None) -> str:
    """Writes `attributes {...}` with the strings `words` on every kernel, and `{tirx.stages = n}` on every loop that
    copies global tiles to shared memory.

    Raises ValueError for a kernel or a loop that has attributes already, and LocatedError for a text that is wrong.
    """
    changes: list[tuple[int, str]] = []
    for op in parse_located(new_context(), text).walk():
        if isinstance(op, KernelOp) and words:
            if op.attributes:
                raise ValueError(f"expected a kernel without attributes, found {', '.join(op.attributes)}")
            written = ", ".join(f'{name} = "{word}"' for name, word in words.items())
            changes.append((_body(text, op)[0], f"attributes {{{written}}} "))
        elif isinstance(op, scf.ForOp) and stages is not None and copies_to_shared(op):
            if op.attributes:
                raise ValueError(f"expected a loop without attributes, found {', '.join(op.attributes)}")
            changes.append((_body(text, op)[1], f" {{tirx.stages = {stages} : i64}}"))
    for place, insertion in sorted(changes, reverse=True):
        text = text[:place] + insertion + text[place:]
    return text


def _body(text: str, op: Operation) -> tuple[int, int]:
    """Returns where the braces of the region of `op` start, and where they end."""
    location = op.location
    assert isinstance(location, FileLineColLoc), op.name
    blank = _SKIPPED.sub(lambda found: " " * len(found[0]), text)
    lines = text.splitlines(keepends=True)
    place = sum(map(len, lines[: location.line.data - 1])) + location.column.data - 1
    start = blank.index("{", place)
    depth = 0
    for i in range(start, len(blank)):
        depth += {"{": 1, "}": -1}.get(blank[i], 0)
        if depth == 0:
            return start, i + 1
    raise AssertionError(f"no braces around the region of '{op.name}', which the parser has seen")
