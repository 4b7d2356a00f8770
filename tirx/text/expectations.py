"""`--verify-diagnostics`: compares what a run reports with what comments of its input announce.

```mlir
%c = "test.op"() {value = } : () -> i32   // expected-error {{attribute expected}}
```

The comment names the severity (`error`, `warning` or `remark`), then optionally another line than its own (`@+1`,
`@-2`; `@below` and `@above` skip lines that hold nothing but such comments; `@unknown` is a diagnostic without a
location), then a part of the message. Every diagnostic needs one comment of its own, and every comment one diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tirx.diagnostics import Diagnostic, Severity
from tirx.text.source import Source, file_location
from tirx.values import dataclass

_ANY_COMMENT = re.compile(r"expected-(?:error|warning|remark|note)\b")
_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|remark)(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)
_SYNTAX = "'expected-(error|warning|remark)', then maybe '@(+N|-N|above|below|unknown)', then '{{text}}'"
_COMMENT_LINE = re.compile(r"\s*//.*\bexpected-(?:error|warning|remark)\b")
_SEVERITIES: dict[str, Severity] = {"error": "error", "warning": "warning", "remark": "remark"}


@dataclass(frozen=True)
class Expectation:
    """A diagnostic that a comment at `line` and `column` announces at line `target`; None is an unknown location."""

    severity: Severity
    text: str
    target: int | None
    line: int
    column: int

    def matches(self, diagnostic: Diagnostic, file: str) -> bool:
        """Returns True if `diagnostic` is the one that the comment announces in the file `file`."""
        position = diagnostic.position
        if position is None:
            at_target = self.target is None
        else:
            at_target = position[0] == file and position[1] == self.target
        return at_target and diagnostic.severity == self.severity and self.text in diagnostic.message


def _target(where: str | None, line: int, lines: Sequence[str]) -> int | None:
    match where:
        case None:
            return line
        case "unknown":
            return None
        case "above" | "below":
            step = -1 if where == "above" else 1
            line += step
            while 1 <= line <= len(lines) and _COMMENT_LINE.match(lines[line - 1]):
                line += step
            return line
        case offset:
            return line + int(offset)


def find_expectations(source: Source) -> tuple[list[Expectation], list[Diagnostic]]:
    """The expectations that the comments of `source` spell, and an error for every comment that is misspelt."""
    lines = source.lines
    found: list[Expectation] = []
    errors: list[Diagnostic] = []
    for number, row in enumerate(lines, 1):
        comment = row.find("//")
        if comment < 0:
            continue
        for start in _ANY_COMMENT.finditer(row, comment):
            match = _COMMENT.match(row, start.start())
            column = start.start() + 1
            if match is None:
                message = f"misspelt diagnostic comment; expected {_SYNTAX}"
                errors.append(Diagnostic("error", message, file_location(source.name, number, column)))
                continue
            target = _target(match["where"], number, lines)
            found.append(Expectation(_SEVERITIES[match["severity"]], match["text"], target, number, column))
    return found, errors


def check_diagnostics(source: Source, produced: Sequence[Diagnostic]) -> list[Diagnostic]:
    """An error for every diagnostic that no comment of `source` announces and every comment that nothing answers."""
    expected, complaints = find_expectations(source)
    for diagnostic in produced:
        for expectation in expected:
            if expectation.matches(diagnostic, source.name):
                expected.remove(expectation)
                break
        else:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            complaints.append(Diagnostic("error", message, diagnostic.location))
    for missing in expected:
        where = "an unknown location" if missing.target is None else f"line {missing.target}"
        message = f"expected {missing.severity} '{missing.text}' at {where}, which was not reported"
        complaints.append(Diagnostic("error", message, file_location(source.name, missing.line, missing.column)))
    return complaints
