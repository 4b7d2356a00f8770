"""Answers to an editor about a program: diagnostics, what a word means, where it is defined, what may follow."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache
from inspect import cleandoc
from math import prod

from xdsl.irdl import IRDLOperation, OptPropertyDef
from xdsl.utils.exceptions import DiagnosticException

from tirx.diagnostics import Diagnostic, Facts, LocatedError, diagnostic_handler
from tirx.dialects import get_all_dialects
from tirx.layout import ComposeLayout, LayoutError, TileLayout, element_type, known_axes, parse_layout
from tirx.passes import lower_to_ptx_passes
from tirx.text.collector import paused_collector
from tirx.text.parsing import parse_located
from tirx.text.source import Source, file_location
from tirx.text.verification import InvalidPassOutputError, run_passes
from tirx.tools.changes import closing_bracket
from tirx.tools.decisions import Decision, DecisionRecorder, KernelDecisions
from tirx.tools.names import WORD, Place, Text
from tirx.universe import new_context
from tirx.values import dataclass, field

_SHOWN = 8
"""Rows and columns of the table of a layout."""

_BULLET = re.compile(r"^- `(\w+)|, `(\w+)`?(?=[^`]*`?:)", re.MULTILINE)
_WRONG = re.compile(r"(?:unknown \w+ '|operation '|found '|attribute '|type '|pass '|dialect '|use of (?=%))([^',]+)")
_HEAD = 3
"""Lines of an operation in which a word that its error names is looked for."""
_LAYOUT = re.compile(r"#tirx\.(?:tile|compose)_layout<")


@dataclass
class Analysis(Text):
    """A text with what the compiler says about it. Lines and columns count from 0, as in editors."""

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

    # Hover

    def hover(self, line: int, column: int) -> str | None:
        """Returns the meaning of the word at a place, in Markdown."""
        word = self.word(line, column)
        if word is None:
            return None
        name = word[0]
        parts: list[str] = []
        if name == "!tirx.tile":
            parts += _tile_parts(self.source.lines[line][word[1] :])
        elif name[0] in "!#" and (place := self.definition(line, column)) is not None:
            text = self.source.lines[place[0]].strip()
            parts += [f"```mlir\n{text}\n```", *_layout_parts(text)]
        elif name[0] == "%":
            parts += self._tile(name, line, column)
        elif (op := operations().get(name)) is not None:
            parts += [_decision_text(each) for each in self._decisions(line)]
            if name in ("scf.for", "tirx.for"):
                parts += self._rings(line)
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
        return [
            each
            for kernel in self.kernels
            for each in (*kernel.tiles, *kernel.copies, *kernel.products)
            if each.line == line + 1
        ]

    def _rings(self, line: int) -> list[str]:
        """The rings whose tiles are copied or multiplied inside of the loop of a line."""
        last = self._ends().get(line, line)
        words = {*WORD.findall(" ".join(self.source.lines[line : last + 1]))}
        names = {word[1:] for word in words if word.startswith("%")}
        found: list[str] = []
        for each in (each for kernel in self.kernels for each in kernel.schedule if each.what.startswith("ring ")):
            tiles = each.what.removeprefix("ring ").partition(":")[0]
            if any(f"_{name}_" in f"_{tiles}_" for name in names):
                found.append(_decision_text(each))
        return found

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

    # Hints and fixes

    def hints(self) -> list[tuple[int, str]]:
        """(line, what was decided about it) for layouts that are not written, engines and plans."""
        found: list[tuple[int, str]] = []
        for kernel in self.kernels:
            for name, decisions in (("layout", kernel.tiles), ("engine", kernel.copies), ("plan", kernel.products)):
                for each in decisions:
                    text = dict(each.facts).get(name)
                    if each.line is None or text is None:
                        continue
                    row = self.source.lines[each.line - 1]
                    if f"{name}(" not in row and not (name == "layout" and _LAYOUT.search(row)):
                        found.append((each.line - 1, _short(name, text)))
        return sorted(dict.fromkeys(found))

    def fixes(self, diagnostic: Diagnostic) -> list[tuple[str, list[Place], str]]:
        """(title, places, text to write there) for each word or layout that a diagnostic proposes."""
        if diagnostic.position is None:
            return []
        line, column = diagnostic.position[1] - 1, diagnostic.position[2] - 1
        if (layout := re.search(r"; write (#.*)", diagnostic.message)) is not None:
            better = _layout_in(layout[1])
            written = _layout_in(self.source.lines[line]) if "tirx.alloc" in self.source.lines[line] else None
            return [(f"write {better}", self._written(written, line), better)] if better and written else []
        rows = self.source.lines[line : line + _HEAD]
        wrong = _WRONG.search(diagnostic.message)
        proposed: list[str] = re.findall(r"did you mean '([^']+)'", diagnostic.message)
        if wrong is not None and wrong[1].startswith("%"):
            proposed += get_close_matches(wrong[1], self.visible(line, column, "%"), n=1)
        if wrong is None or not rows:
            at = (
                next((each for each in WORD.finditer(rows[0]) if each.start() <= column <= each.end()), None)
                if rows
                else None
            )
            places = [] if at is None else [Place(line, at.start(), len(at[0]))]
        else:  # named by the message: where it stands in the head of the operation
            starts = [column if row == 0 and wrong[1] in rows[0][column:] else 0 for row in range(len(rows))]
            ends = [text.find(wrong[1], start) for text, start in zip(rows, starts, strict=True)]
            places = [Place(line + row, at, len(wrong[1])) for row, at in enumerate(ends) if at >= 0]
        return [(f"write '{better}'", places[:1], better) for better in proposed if places]

    def _written(self, layout: str, line: int) -> list[Place]:
        """Every place in the function of a line where a layout is written as it is there, outside of comments."""
        rows = ((row, self.source.lines[row].partition("//")[0]) for row in self.function(line))
        return [
            Place(row, at.start(), len(layout)) for row, text in rows for at in re.finditer(re.escape(layout), text)
        ]

    # Completion

    def completions(self, line: int, column: int) -> list[tuple[str, str]]:
        """Returns the words that may stand at a place, with their kind: operations, or clauses of the operation of
        the line."""
        lines = self.source.lines
        before = lines[line][:column] if 0 <= line < len(lines) else ""
        if (sigil := re.search(r"(\d\s*)?([%@!#^])[\w$.-]*$", before)) is not None:
            if sigil[1] is not None and sigil[2] == "@":
                return [(axis.name, axis.meaning) for axis in known_axes()]
            kinds = {"%": "value", "@": "symbol", "!": "alias of a type", "#": "alias of an attribute", "^": "block"}
            names = self.visible(line, sigil.start(2), sigil[2])
            types = [("!tirx.tile", "type of a tile")] if sigil[2] == "!" else []
            return [*((name, kinds[sigil[2]]) for name in names), *types]
        typed: str = re.findall(r"[\w.]*$", before)[0]
        op = next((op for word in reversed(WORD.findall(before)) if (op := operations().get(word)) is not None), None)
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


def _short(name: str, text: str) -> str:
    """A decision in a few words."""
    if name == "layout":
        return f"layout: {parse_layout(text)}"
    if name == "plan":
        family, m, n, k = text.partition(",")[0], *(re.search(rf"\b{key} = (\d+)", text) for key in "mnk")
        return f"plan: {family}" + (f" m{m[1]}n{n[1]}k{k[1]}" if m and n and k else "")
    return f"{name}: {text.partition(' ')[0]}"


def _tile_parts(text: str) -> list[str]:
    """The size of the tile whose type a text begins with, and how many places of each axis have a part of it."""
    found = re.match(r"!tirx\.tile<((?:\d+x)+)(\w+), (\w+)", text)
    if found is None:
        return []
    extents = [int(n) for n in found[1].split("x")[:-1]]
    try:
        dtype = element_type(found[2])
    except LayoutError:  # of a type that is still being written
        return []
    elements = prod(extents)
    size = elements * dtype.storage_bits // 8
    lines = [f"{elements:,} elements of {dtype.name} in {found[3]} memory, {size:,} bytes"]
    layout = _layout_in(text)
    if layout is not None:
        try:
            parsed = parse_layout(layout)
        except LayoutError:
            return lines
        tile = parsed.tile if isinstance(parsed, ComposeLayout) else parsed
        if isinstance(tile, TileLayout):
            lines.append("owners: " + ", ".join(f"{tile.size(axis)} on {axis}" for axis in tile.axes))
    return ["\n\n".join(lines), *_layout_parts(text, tuple(extents))]


def _layout_parts(text: str, shape: tuple[int, ...] | None = None) -> list[str]:
    """A table of the corner of the layout in a text, if there is one."""
    found = _layout_in(text)
    if found is None:
        return []
    try:
        layout = parse_layout(found)
        return [layout_table(layout, shape)] if isinstance(layout, TileLayout | ComposeLayout) else []
    except LayoutError:  # of more elements than a table has
        return []


def _layout_in(text: str) -> str | None:
    """The first layout in a text; None if there is none that ends."""
    found = _LAYOUT.search(text)
    try:
        return None if found is None else text[found.start() : closing_bracket(text, found.end())]
    except IndexError:  # of a line that is still being written
        return None


def layout_table(layout: TileLayout | ComposeLayout, shape: tuple[int, ...] | None = None) -> str:
    """Places of the first elements of a tile: a Markdown table, the last two dimensions of `shape` down and across."""
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
