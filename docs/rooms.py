"""
Rooms of the project, their imports, and the picture of both.

A room is a folder of `tirx`, `dialects` or `passes` (which are packages of `tirx`), or a module directly in `tirx`.
Every import statement counts: those inside functions and those under TYPE_CHECKING, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[1]

_SOURCES = {"tirx": ROOT / "tirx", "tirx.dialects": ROOT / "dialects", "tirx.passes": ROOT / "passes"}
"""Package -> the directory of its source."""

_IMPORT = re.compile(r"^ *(?:from (\S+) import|import (\S+)) *(\([^)]*\)|.*)$", re.MULTILINE)
"""An import statement: (package, "", names of `from`) or ("", module, rest of the line)."""

PASS_ROOMS = ("ir", "match", "scalars", "copies", "layouts", "products", "rings.proof", "rings", "checks", "kernels")
"""The rooms of passes: each may import those before it."""

_BASE = ("values", "frames")
_LAYOUT = (*_BASE, "layout")
_HW = (*_LAYOUT, "symbolic", "hw")
_FAMILIES = (*_HW, "smem", "copy")
_DIALECTS = (*_FAMILIES, "mma", "wgmma", "tcgen05", "remarks", "diagnostics", "rules", "dialects")
_PASSES = (*_DIALECTS, "predict", *(f"passes.{room}" for room in PASS_ROOMS), "passes")
_TEXT = (*_PASSES, "ptx", "text", "universe")
_TOP = (*_TEXT, "compiler", "interp", "sim", "explain", "runtime", "viz", "version")
ROOMS: dict[str, tuple[str, ...]] = {
    "values": (),
    "layout": _BASE,
    "symbolic": _LAYOUT,
    "hw": _LAYOUT,
    "smem": _HW,
    "copy": _HW,
    "mma": _FAMILIES,
    "wgmma": _FAMILIES,
    "tcgen05": _FAMILIES,
    "remarks": _BASE,
    "diagnostics": (*_BASE, "remarks"),
    "version": (),
    "frames": (),
    "predict": (*_LAYOUT, "hw"),
    "rules": (*_BASE, "diagnostics"),
    "dialects": _DIALECTS,
    **{
        f"passes.{room}": (*_DIALECTS, "predict", *(f"passes.{before}" for before in PASS_ROOMS[:i]))
        for i, room in enumerate(PASS_ROOMS)
    },
    "passes": _PASSES,
    "ptx": (*_PASSES, "ptx"),
    "universe": (*_PASSES, "diagnostics"),
    "text": _TEXT,
    "compiler": _TEXT,
    "interp": (*_DIALECTS, "sim"),
    "sim": (),
    "explain": (*_FAMILIES, "wgmma", "tcgen05", "sim"),
    "runtime": _TOP,
    "viz": _TOP,
    "builder": _TOP,
    "embed": _TOP,
    "tools": _TOP,
    "tirx": (*_TOP, "builder", "embed"),
}
"""Room -> the rooms that it may import, besides itself."""


def _name_of(path: Path, package: str, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def modules() -> dict[str, Path]:
    """Returns every module of the project: dotted name -> file."""
    return {
        _name_of(path, package, root): path
        for package, root in _SOURCES.items()
        for path in sorted(root.rglob("*.py"))
        if not (package == "tirx" and path.relative_to(root).parts[0] in ("dialects", "passes"))
    }


def _imported(path: Path) -> set[str]:
    """Returns the modules of the project that a file imports, wherever the statement stands."""
    known = modules()
    found: set[str] = set()
    for package, name, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        assert not package.startswith("."), f"{path}: imports are absolute"
        if name:
            found.add(name)
        # `from package import module` imports the module, `from module import name` the module of that name.
        for imported in re.findall(r"[\w*]+", re.sub(r" as \w+|#.*", "", names)):
            found.add(f"{package}.{imported}" if f"{package}.{imported}" in known else package)
    return found & known.keys()


@cache
def imports() -> dict[str, set[str]]:
    """Returns module -> the modules that it imports."""
    return {name: _imported(path) - {name} for name, path in modules().items()}


def room(module: str) -> str:
    """Returns the longest name in `ROOMS` of the module or a package around it, or else its first name in `tirx`."""
    words = module.split(".")[1:] or [module]
    names = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in names if name in ROOMS), words[0])


def folder(module: str) -> str:
    """Returns the folder of a module, below `tirx`; that of a package is its own."""
    words = module.split(".")[1:]
    return ".".join(words if modules()[module].name == "__init__.py" else words[:-1])


# The picture

_LEVELS = (
    ("version", "frames", "values", "layout", "symbolic", "hw"),
    ("smem", "copy", "mma", "wgmma", "tcgen05", "predict", "remarks", "diagnostics", "rules"),
    ("dialects",),
    ("passes.ir", "passes.match"),
    ("passes.scalars", "passes.copies", "passes.layouts", "passes.products"),
    ("passes.rings.proof", "passes.rings", "passes.checks", "passes.kernels"),
    ("passes", "ptx", "text", "universe", "compiler"),
    ("sim", "interp", "explain", "runtime", "builder", "embed", "viz"),
    ("tools", "tirx"),
)
"""Rows of the picture, from the foundation up; a room imports rooms of its own row or of rows below."""

_WIDTH, _ROW, _HEIGHT, _GAP = 1180, 92, 40, 14


def _arrows() -> set[tuple[str, str]]:
    """Returns pairs of a room and one that it imports."""
    return {
        (room(name), room(other)) for name, others in imports().items() for other in others if room(name) != room(other)
    }


def upward() -> list[tuple[str, str]]:
    """Returns the arrows of the picture that lead to a row above."""
    rows = {name: row for row, names in enumerate(_LEVELS) for name in names}
    return sorted((room, other) for room, other in _arrows() if rows[other] > rows[room])


def picture() -> str:
    """Returns an SVG of rooms, the foundation below; no arrow stands where other arrows lead to the same room."""
    places: dict[str, tuple[float, float, float]] = {}
    for level, names in enumerate(_LEVELS):
        width = (_WIDTH - _GAP * (len(names) + 1)) / len(names)
        for i, name in enumerate(names):
            places[name] = (_GAP + i * (width + _GAP), (len(_LEVELS) - 1 - level) * _ROW + _GAP, width)
    arrows = _arrows()
    reached = {name: _reached({name}, arrows) for name in places}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {len(_LEVELS) * _ROW}" '
        'font-family="sans-serif" font-size="13">',
        "<title>Rooms of tirx; an arrow points to what a room imports</title>",
        '<defs><marker id="to" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" markerHeight="7" orient="auto" '
        'markerUnits="userSpaceOnUse"><path d="M0,0L6,3L0,6z" fill="#7a8aa0"/></marker></defs>',
    ]
    for upper, lower in sorted(arrows):
        if any(lower in reached[other] for from_, other in arrows if from_ == upper and other != lower):
            continue
        (x, y, width), (to_x, to_y, to_width) = places[upper], places[lower]
        x, to_x = x + width / 2, to_x + to_width / 2
        start, end = (y + _HEIGHT, to_y) if y < to_y else (y + _HEIGHT, to_y + _HEIGHT)
        bend = end - 30 if y < to_y else end + 34
        parts.append(
            f'<path d="M{x:.0f},{start:.0f}C{x:.0f},{start + 34:.0f} {to_x:.0f},{bend:.0f} {to_x:.0f},{end:.0f}" '
            f'fill="none" stroke="#7a8aa0" stroke-opacity=".6" marker-end="url(#to)">'
            f"<title>{escape(upper)} imports {escape(lower)}</title></path>"
        )
    for name, (x, y, width) in places.items():
        color = "#dbe9ff" if name.startswith("passes") else "#e8f5e2" if name == "sim" else "#f4f1e6"
        parts += [
            f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{_HEIGHT}" rx="5" fill="{color}" '
            'stroke="#445"/>',
            f'<text x="{x + width / 2:.0f}" y="{y + 25:.0f}" text-anchor="middle">{escape(name)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _reached(starts: set[str], arrows: Iterable[tuple[str, str]]) -> set[str]:
    """Returns the rooms that some rooms import, directly or not."""
    found = {lower for upper, lower in arrows if upper in starts}
    return found if found <= starts else found | _reached(starts | found, arrows)
