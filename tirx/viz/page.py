"""One self-contained page: HTML, style, JavaScript and data in a single file that needs no network.

The JavaScript lies beside this file as ES modules. They are put into one script, each in a function of its own, in
the order in which they import one another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from tirx.viz.fragments import fragment_tables
from tirx.viz.presets import presets
from tirx.viz.tile import Tile
from tirx.viz.words import word_tables

_INDENT_OR_COMMENT = re.compile(r"^[ ]+(?://.*\n)?|^//.*\n", re.MULTILINE)
_IMPORT = re.compile(r'^import (\* as \w+|\{[^}]*\}) from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let) )", re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{([^}]*)\};\n", re.MULTILINE)


def read_asset(name: str) -> str:
    """The text of a file of the page."""
    return (files("tirx.viz") / "page" / name).read_text(encoding="utf-8")


def _bound(clause: str, module: str) -> str:
    """An import as a declaration."""
    names = clause.removeprefix("* as ").replace(" as ", ": ")
    return f"const {names} = $modules.{module};\n"


def _as_function(module: str, text: str) -> str:
    """A module as an entry of `$modules`: an object with the names that it exports."""
    names = _EXPORTED.findall(text)
    names += [name for names in _EXPORT_LIST.findall(text) for name in re.findall(r"\w+", names)]
    text = _IMPORT.sub(lambda found: _bound(found[1], found[2]), text)
    text = _EXPORT.sub("", _EXPORT_LIST.sub("", text))
    return f"$modules.{module} = (() => {{\n{text}return {{ {', '.join(names)} }};\n}})();\n"


@cache
def script() -> str:
    """All modules of the page as one script, without indentation and lines that are comments."""
    done: dict[str, str] = {}

    def visit(module: str) -> None:
        if module in done:
            return
        text = read_asset(f"{module}.js")
        for _, other in _IMPORT.findall(text):
            visit(other)
        done[module] = _as_function(module, text)

    visit("main")
    return "const $modules = {};\n" + _INDENT_OR_COMMENT.sub("", "".join(done.values()))


def inline_json(data: Any) -> str:
    """JSON that can stand inside of a script element: nothing in it ends the element or starts a comment."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def page(tiles: Sequence[Tile] = (), title: str = "Layouts", programs: Sequence[Mapping[str, Any]] = ()) -> str:
    """The page with these tiles first, and all presets. The first tile is open at the start.

    programs: what the compiler decided about each program, as `tirx-viz` collects it: `name`, `source`, `kernels` (as
    `tirx-opt --explain-json` prints them), `ptx` and for each of its lines that of the source in `lines`, or `error`
    where it does not compile to the end.
    """
    data = {
        "tables": word_tables(),
        "tiles": [tile.json() for tile in tiles],
        "presets": [tile.json() for tile in presets()],
        "variants": fragment_tables(),
        "programs": [each for each in programs if each["kernels"] or "error" in each],
    }
    parts = {
        "title": escape(title),
        "style": read_asset("style.css"),
        "data": inline_json(data),
        "script": script(),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], read_asset("page.html"))
