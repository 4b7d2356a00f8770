"""The package has no import circle, and rooms import in one direction only.

Every import statement counts: those inside functions and those under TYPE_CHECKING, too.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_IMPORT = re.compile(r"^ *(?:from (\S+) import|import (\S+)) *(\([^)]*\)|.*)$", re.MULTILINE)
"""An import statement: (package, "", names of `from`) or ("", module, rest of the line)."""

ROOT = Path(__file__).parents[2]

# Where the source of each package lies. `dialects` and `passes` are mapped to `tirx.dialects` and `tirx.passes`.
_SOURCES = {"tirx": ROOT / "tirx", "tirx.dialects": ROOT / "dialects", "tirx.passes": ROOT / "passes"}

# Room -> the rooms that it may import, besides itself. Modules directly in `tirx` are rooms of their own.
_BASE = ("values",)
_LAYOUT = (*_BASE, "layout")
_HW = (*_LAYOUT, "symbolic", "hw")
_FAMILIES = (*_HW, "smem", "copy")
_DIALECTS = (*_FAMILIES, "mma", "wgmma", "tcgen05", "diagnostics", "rules", "dialects")
_PASS_ROOMS = ("ir", "match", "scalars", "copies", "layouts", "products", "rings.proof", "rings", "checks", "kernels")
"""The rooms of passes: each may import those before it."""
_PASSES = (*_DIALECTS, *(f"passes.{room}" for room in _PASS_ROOMS), "passes")
_TEXT = (*_PASSES, "ptx", "text", "universe")
_TOP = (*_TEXT, "compiler", "sim", "explain", "runtime", "viz", "version")
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
    "diagnostics": _BASE,
    "version": (),
    "rules": (*_BASE, "diagnostics"),
    "dialects": _DIALECTS,
    **{
        f"passes.{room}": (*_DIALECTS, *(f"passes.{each}" for each in _PASS_ROOMS[:i]))
        for i, room in enumerate(_PASS_ROOMS)
    },
    "passes": _PASSES,
    "ptx": (*_PASSES, "ptx"),
    "universe": (*_PASSES, "diagnostics"),
    "text": _TEXT,
    "compiler": _TEXT,
    "sim": (),
    "explain": (*_FAMILIES, "wgmma", "tcgen05", "sim"),
    "runtime": _TOP,
    "viz": _TOP,
    "builder": (*_TEXT, "builder"),
    "embed": _TOP,
    "tools": _TOP,
    "tirx": (*_TOP, "builder", "embed"),
}


def _name_of(path: Path, package: str, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def _modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    return {
        _name_of(path, package, root): path
        for package, root in _SOURCES.items()
        for path in sorted(root.rglob("*.py"))
        if not (package == "tirx" and path.relative_to(root).parts[0] in ("dialects", "passes"))
    }


def _imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, wherever the statement stands."""
    known = _modules()
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
def _imports() -> dict[str, set[str]]:
    return {name: _imported(path) - {name} for name, path in _modules().items()}


def _room(module: str) -> str:
    """Returns the longest name in the table that the module, or a package that it is in, has below `tirx`."""
    words = module.split(".")[1:] or [module]
    names = (".".join(words[:count]) for count in range(len(words), 0, -1))
    return next((name for name in names if name in ROOMS), words[0])


def _reached(start: str) -> set[str]:
    """The modules that a module imports, directly or not."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for module in _imports()[waiting.pop()] - seen:
            seen.add(module)
            waiting.append(module)
    return seen


def _circles() -> set[frozenset[str]]:
    """The groups of modules each of which reaches all others of its group (strongly connected components)."""
    reached = {name: _reached(name) for name in _modules()}
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in reached
        if name in reached[name]
    }


def _folder(module: str) -> str:
    """Returns the folder of a module, below `tirx`; a package is a folder of its own."""
    path = _modules()[module]
    words = module.split(".")[1:]
    return ".".join(words if path.name == "__init__.py" else words[:-1])


def test_there_is_no_circle_of_folders() -> None:
    """
    Every folder of passes builds on others, never on one that builds on it, directly or not.

    The package `passes` itself and the pipeline name all passes, and are no folder of them.
    """
    below: dict[str, set[str]] = {}
    for name, others in _imports().items():
        if _folder(name).startswith("passes."):
            below.setdefault(_folder(name), set()).update(
                _folder(other) for other in others if _folder(other).startswith("passes.")
            )
    assert len(below) == len(_PASS_ROOMS)
    done: set[str] = set()
    while left := below.keys() - done:
        free = {folder for folder in left if below[folder] <= done | {folder}}
        assert free, f"{sorted(left)} import one another"
        done |= free


def test_there_is_no_import_circle() -> None:
    """Modules that import one another cannot be understood, tested or replaced one by one."""
    assert not [sorted(circle) for circle in _circles()], "modules import one another"


def test_every_room_is_in_the_table() -> None:
    """A new room says what it may import."""
    rooms = {_room(name) for name in _modules()}
    assert rooms <= ROOMS.keys(), f"expected an entry for {sorted(rooms - ROOMS.keys())}"


def test_rooms_import_in_one_direction() -> None:
    """`layout` imports nothing, everything else only what stands before it."""
    against = sorted(
        f"{name} imports {other}"
        for name, others in _imports().items()
        for other in others
        if _room(other) != _room(name) and _room(other) not in ROOMS[_room(name)]
    )
    assert not against, "\n".join(against)


def test_the_compiler_imports_numpy_when_it_needs_it() -> None:
    """To import numpy takes long: what every run imports has it from `tirx.layout.arrays`."""
    rooms = {"layout", "hw", "smem", "copy", "mma", "wgmma", "tcgen05", "dialects", "passes", "text", "ptx"}
    found = [
        name
        for name, path in _modules().items()
        if _room(name) in rooms and re.search(r"^(import|from) numpy\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert not found, f"expected `from tirx.layout.arrays import np` in {', '.join(found)}"
