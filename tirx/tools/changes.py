"""The IR between passes for people: short names for layouts, and only what changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from difflib import SequenceMatcher
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

_CONTEXT = 3
"""Lines around a change."""

_ALIASED = re.compile(r"!tirx\.tile<|#tirx\.(?:tile|compose)_layout<")
_NAME = re.compile(r"[!#][a-z]+\d+")
_NUMBER = re.compile(r"%\d+|\^bb\d+")


class ChangePrinter:
    """Writes the IR behind each pass to `write`, or what is different from the IR before.

    Types and attributes with layouts get names (`!shared0`, `#layout0`), which stay the same from pass to pass. The
    first lines with a name are its definition, so that whole modules can be read again. `only`: these passes; all if it
    is empty. `whole`: the module, not the changes.
    """

    def __init__(self, write: Callable[[str], object], only: Collection[str] = (), *, whole: bool = False):
        self._write, self._only, self._whole = write, frozenset(only), whole
        self._before: list[str] | None = None
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._defined: set[str] = set()

    def start(self, module: ModuleOp) -> None:
        """Notes the input, and writes it where all passes are wanted."""
        self._before = self._lines(module)
        if not self._only and not self._whole:
            self._show("input", self._before)

    def after(self, module_pass: ModulePass, module: ModuleOp) -> None:
        """Writes the IR behind a pass, or its changes."""
        before, lines = self._before or [], self._lines(module)
        self._before = lines
        if self._only and module_pass.name not in self._only:
            return
        title = f"IR after {module_pass.name}"
        if self._whole:
            self._defined.clear()
            self._show(title, lines)
        elif _plain(before) == _plain(lines):
            self._write(f"// -----// {title}: no change //----- //\n")
        else:
            self._show(title, list(_changes(before, lines)))

    def _show(self, title: str, lines: list[str]) -> None:
        """Writes lines below the definitions of the names in them that were not defined yet."""
        text = "\n".join(lines)
        used = set(_NAME.findall(text))
        definitions = [f"{name} = {meant}" for meant, name in self._names.items() if name in used - self._defined]
        self._defined |= used
        self._write("\n".join([f"// -----// {title} //----- //", *definitions, text, ""]))

    def _lines(self, module: ModuleOp) -> list[str]:
        stream = StringIO()
        Printer(stream=stream).print_op(module)
        return "".join(self._aliased(stream.getvalue())).splitlines()

    def _aliased(self, text: str) -> Iterator[str]:
        """The parts of a text, with names for what has a layout."""
        at = 0
        while (found := _ALIASED.search(text, at)) is not None:
            end = closing_bracket(text, found.end())
            yield text[at : found.start()]
            yield self._name(text[found.start() : end])
            at = end
        yield text[at:]

    def _name(self, text: str) -> str:
        if text.startswith("!") and "#tirx." not in text:
            return text  # a tile without a layout is short
        if text not in self._names:
            stem = "#layout"
            if text.startswith("!"):
                stem = "!" + text.split(",")[1].strip(" >")
            number = self._counts.get(stem, 0)
            self._counts[stem] = number + 1
            self._names[text] = f"{stem}{number}"
        return self._names[text]


def closing_bracket(text: str, at: int) -> int:
    """The position at which the bracket `<` in front of `at` is closed."""
    depth = 1
    while depth:
        depth += {"<": 1, ">": -1}.get(text[at], 0)
        at += 1
    return at


def _plain(lines: list[str]) -> list[str]:
    """Lines without the numbers of values, which change whenever one is added."""
    return [_NUMBER.sub("%", line) for line in lines]


def _changes(before: list[str], after: list[str]) -> Iterator[str]:
    """The changed lines with `-` and `+`, and some around them, as in a unified diff."""
    matcher = SequenceMatcher(None, _plain(before), _plain(after), autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT):
        yield f"@@ line {group[0][3] + 1} @@"
        for tag, first, last, start, end in group:
            if tag == "equal":
                yield from (f"  {line}" for line in after[start:end])
                continue
            yield from (f"- {line}" for line in before[first:last])
            yield from (f"+ {line}" for line in after[start:end])
