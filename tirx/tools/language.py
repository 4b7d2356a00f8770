"""Answers to an editor about a program: diagnostics, what a word means, where it is defined, what may follow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc

from xdsl.irdl import IRDLOperation, OptPropertyDef
from xdsl.utils.exceptions import DiagnosticException

from tirx.diagnostics import Diagnostic, Facts, LocatedError, diagnostic_handler
from tirx.dialects import get_all_dialects
from tirx.layout import ComposeLayout, LayoutError, TileLayout, parse_layout
from tirx.passes import lower_to_ptx_passes
from tirx.text.collector import paused_collector
from tirx.text.parsing import parse_located
from tirx.text.source import Source, file_location
from tirx.text.verification import InvalidPassOutputError, run_passes
from tirx.tools.changes import closing_bracket
from tirx.tools.decisions import Decision, DecisionRecorder, KernelDecisions
from tirx.universe import new_context
from tirx.values import dataclass, field

_WORD = re.compile(r"[%@!#^]?[\w$.-]*\w|[%@!#^]")
_SHOWN = 8
"""Rows and columns of the table of a layout."""

_BULLET = re.compile(r"^- `(\w+)|, `(\w+)`?(?=[^`]*`?:)", re.MULTILINE)
_LAYOUT = re.compile(r"#tirx\.(?:tile|compose)_layout<")


@dataclass
class Analysis:
    """A text with what the compiler says about it. Lines and columns count from 0, as in editors."""

    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    kernels: list[KernelDecisions] = field(default_factory=list[KernelDecisions])

    @staticmethod
    def of(text: str, name: str) -> Analysis:
        """Compiles a text, each part between `// -----` lines for itself; errors become diagnostics."""
        found = Analysis(Source(name, text))
        for chunk in found.source.chunks():
            found._compile(chunk)
        return found

    def _compile(self, chunk: Source) -> None:
        recorder, context = DecisionRecorder(), new_context()

        def hear(diagnostic: Diagnostic) -> None:
            recorder.hear(diagnostic)
            if diagnostic.severity != "remark":
                self.diagnostics.append(diagnostic)

        with paused_collector(), diagnostic_handler(hear):
            try:
                module = parse_located(context, chunk.text, chunk.name)
                run_passes(context, module, lower_to_ptx_passes().passes, recorder.after)
            except LocatedError as error:
                self.diagnostics += error.diagnostics
            except InvalidPassOutputError as error:
                self.diagnostics.append(Diagnostic("error", str(error), error.diagnostic.location, stage="internal"))
            except DiagnosticException as error:
                start = file_location(chunk.name, 1, 1)
                self.diagnostics.append(Diagnostic("error", str(error), start, Facts.of(error)))
        self.kernels += recorder.kernels()

    # Words

    def word(self, line: int, column: int) -> tuple[str, int] | None:
        """The word at a place, with the column where it starts."""
        lines = self.source.lines
        if not 0 <= line < len(lines):
            return None
        return next(
            ((m[0], m.start()) for m in _WORD.finditer(lines[line]) if m.start() <= column <= m.end() and m[0]), None
        )

    def definition(self, line: int, column: int) -> tuple[int, int] | None:
        """The line and column where the value, kernel, alias or block at a place is defined; None if nowhere."""
        word = self.word(line, column)
        if word is None or word[0][0] not in "%@!#^":
            return None
        name = word[0].partition("#")[0] if word[0].startswith("%") else word[0]
        places = list(self._definitions(name))
        before = [place for place in places if place <= (line, word[1])]
        if name[0] == "%":
            return before[-1] if before else None
        return places[0] if places else None

    def _definitions(self, name: str) -> Iterator[tuple[int, int]]:
        quoted = re.escape(name)
        end = r"(?![\w$.-])"
        patterns = {
            # Results, `%a, %b = ...`, and arguments, `%a: type`.
            "%": rf"{quoted}{end}(?=(?::\d+)?(?:\s*,\s*%[\w$.-]+)*\s*=[^=])|{quoted}{end}(?=:\s)",
            "@": rf"(?:tirx\.kernel|ptx\.entry|func\.func|tirx\.for|tirx\.role|tirx\.tiles)\s+(?P<at>{quoted}{end})",
            "!": rf"^\s*(?P<at>{quoted}{end})\s*=",
            "#": rf"^\s*(?P<at>{quoted}{end})\s*=",
            "^": rf"^\s*(?P<at>{quoted}{end})\s*[:(]",
        }
        pattern = re.compile(patterns[name[0]])
        for number, line in enumerate(self.source.lines):
            for found in pattern.finditer(line.partition("//")[0]):
                yield number, found.start("at") if "at" in pattern.groupindex else found.start()

    # Hover

    def hover(self, line: int, column: int) -> str | None:
        """Returns the meaning of the word at a place, in Markdown."""
        word = self.word(line, column)
        if word is None:
            return None
        name = word[0]
        parts: list[str] = []
        if name[0] in "!#" and (place := self.definition(line, column)) is not None:
            text = self.source.lines[place[0]].strip()
            parts += [f"```mlir\n{text}\n```", *_layout_parts(text)]
        elif name[0] == "%":
            parts += self._tile(name, line, column)
        elif (op := operations().get(name)) is not None:
            parts += [_decision_text(each) for each in self._decisions(line)]
            parts.append(cleandoc(op.__doc__ or name))
        elif name[0] == "@":
            parts += [
                f"```\n{kernel.head}\n"
                + "\n".join(each.text() for each in (*kernel.memory, *kernel.schedule))
                + "\n```"
                for kernel in self.kernels
                if f"@{kernel.name}" == name
            ]
        return "\n\n".join(parts) or None

    def _decisions(self, line: int) -> list[Decision]:
        """Decisions about operations of a line (from 0)."""
        return [
            each
            for kernel in self.kernels
            for each in (*kernel.tiles, *kernel.copies, *kernel.products)
            if each.line == line + 1
        ]

    def _tile(self, name: str, line: int, column: int) -> list[str]:
        place = self.definition(line, column)
        if place is None:
            return []
        parts = [f"```mlir\n{self.source.lines[place[0]].strip()}\n```"]
        for kernel in self.kernels:
            for tile in kernel.tiles:
                if tile.line == place[0] + 1 and tile.what.startswith(f"{name}:"):
                    parts.append(_decision_text(tile))
                    layout = dict(tile.facts)["layout"]
                    shape = tuple(int(n) for n in tile.what.split()[1].split("x"))
                    parts += _layout_parts(layout, shape)
        return parts

    # Completion

    def completions(self, line: int, column: int) -> list[tuple[str, str]]:
        """Returns the words that may stand at a place, with their kind: operations, or clauses of the operation of
        the line."""
        lines = self.source.lines
        before = lines[line][:column] if 0 <= line < len(lines) else ""
        typed: str = re.findall(r"[\w.]*$", before)[0]
        op = next((op for word in reversed(_WORD.findall(before)) if (op := operations().get(word)) is not None), None)
        if op is not None and typed != op.name and "." not in typed:
            return [(each, f"clause of {op.name}") for each in clauses(op) if each.startswith(typed)]
        return [(name, _summary(op)) for name, op in operations().items() if name.startswith(typed)]


@cache
def operations() -> dict[str, type[IRDLOperation]]:
    """The operations of tirx's dialects and those of xDSL that kernels are written with, by name."""
    from xdsl.dialects.arith import Arith
    from xdsl.dialects.math import Math
    from xdsl.dialects.memref import MemRef
    from xdsl.dialects.scf import Scf

    dialects = [*(make() for make in get_all_dialects().values()), Scf, Arith, Math, MemRef]
    found = {op.name: op for dialect in dialects for op in dialect.operations if issubclass(op, IRDLOperation)}
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith("tirx."), item[0])))


def _doc(op: type[IRDLOperation]) -> str:
    return "\n".join(cleandoc(kind.__doc__ or "") for kind in op.__mro__ if kind.__module__.startswith("tirx."))


def clauses(op: type[IRDLOperation]) -> list[str]:
    """The names of the clauses of an operation: those that its documentation lists, and its optional properties."""
    found = dict.fromkeys(name for match in _BULLET.finditer(_doc(op)) for name in match.groups() if name)
    for name, kind in op.get_irdl_definition().properties.items():
        if isinstance(kind, OptPropertyDef) or re.search(rf"\b{name}\(", _doc(op)):
            found[name] = None
    return [name for name in found if not name.endswith("SegmentSizes")]


def _summary(op: type[IRDLOperation]) -> str:
    return cleandoc(op.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _decision_text(decision: Decision) -> str:
    lines = [f"**{decision.what}**", *(f"- {name}: {text}" for name, text in decision.facts)]
    return "\n".join([*lines, *(f"- why: {each}" for each in decision.why)])


def _layout_parts(text: str, shape: tuple[int, ...] | None = None) -> list[str]:
    """A table of the corner of the layout in a text, if there is one."""
    found = _LAYOUT.search(text)
    if found is None:
        return []
    try:
        layout = parse_layout(text[found.start() : closing_bracket(text, found.end())])
        return [layout_table(layout, shape)] if isinstance(layout, TileLayout | ComposeLayout) else []
    except (LayoutError, IndexError):  # of a line that is still being written, or of more elements than a table has
        return []


def layout_table(layout: TileLayout | ComposeLayout, shape: tuple[int, ...] | None = None) -> str:
    """Where the first elements of a tile are: a Markdown table, the last two dimensions of `shape` down and across."""
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    extents = shape or tuple(each.extent for each in tile.shard)
    if len(extents) < 2:
        extents = (1, *extents)
    coordinates = layout.table(extents)
    rows, columns = (min(n, _SHOWN) for n in extents[-2:])
    axes = list(coordinates)
    leading = (0,) * (len(extents) - 2)
    lines = [
        f"{' '.join(axes)} of the first elements of {'x'.join(map(str, extents))}:\n",
        "| | " + " | ".join(map(str, range(columns))) + " |",
        "|---" * (columns + 1) + "|",
    ]
    for row in range(rows):
        cells = [" ".join(str(int(coordinates[axis][(*leading, row, c)])) for axis in axes) for c in range(columns)]
        lines.append(f"| **{row}** | " + " | ".join(cells) + " |")
    return "\n".join(lines)
