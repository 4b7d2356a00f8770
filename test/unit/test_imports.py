"""The package has no import circle, and rooms import in one direction only.

Every import statement counts: those inside functions and those under TYPE_CHECKING, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docs.rooms import PASS_ROOMS, ROOMS, folder, imports, modules, room, upward


def _reached(start: str) -> set[str]:
    """The modules that a module imports, directly or not."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for module in imports()[waiting.pop()] - seen:
            seen.add(module)
            waiting.append(module)
    return seen


def _circles() -> set[frozenset[str]]:
    """The groups of modules each of which reaches all others of its group (strongly connected components)."""
    reached = {name: _reached(name) for name in modules()}
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in reached
        if name in reached[name]
    }


def test_there_is_no_circle_of_folders() -> None:
    """
    Every folder of passes builds on others, never on one that builds on it, directly or not.

    The package `passes` itself and the pipeline name all passes, and are no folder of them.
    """
    below: dict[str, set[str]] = {}
    for name, others in imports().items():
        if folder(name).startswith("passes."):
            below.setdefault(folder(name), set()).update(
                folder(other) for other in others if folder(other).startswith("passes.")
            )
    assert len(below) == len(PASS_ROOMS)
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
    rooms = {room(name) for name in modules()}
    assert rooms <= ROOMS.keys(), f"expected an entry for {sorted(rooms - ROOMS.keys())}"


def test_rooms_import_in_one_direction() -> None:
    """`layout` imports nothing, everything else only what stands before it."""
    against = sorted(
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in others
        if room(other) != room(name) and room(other) not in ROOMS[room(name)]
    )
    assert not against, "\n".join(against)


def test_no_arrow_of_the_picture_leads_up() -> None:
    """Rooms stand in rows from the foundation up, and import those of their own row or of rows below."""
    assert upward() == []


def test_the_compiler_imports_numpy_when_it_needs_it() -> None:
    """To import numpy takes long: what every run imports has it from `tirx.layout.arrays`."""
    rooms = {"layout", "hw", "smem", "copy", "mma", "wgmma", "tcgen05", "dialects", "passes", "text", "ptx"}
    found = [
        name
        for name, path in modules().items()
        if room(name) in rooms and re.search(r"^(import|from) numpy\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert not found, f"expected `from tirx.layout.arrays import np` in {', '.join(found)}"


_LONGEST_FUNCTION = 80
"""Lines without those of the docstring."""

_LONGEST_FILE = 650


def _functions(text: str) -> Iterator[tuple[str, int]]:
    """Yields functions of a file with their lines: all up to the next line that is indented as little as `def`."""
    lines = text.splitlines()
    open_ones: list[tuple[int, int, str]] = []
    last = 0
    for i, line in enumerate([*lines, "end"]):
        if not line.strip() or line.lstrip().startswith(")"):
            continue
        indent = len(line) - len(line.lstrip())
        while open_ones and indent <= open_ones[-1][0]:
            _, start, name = open_ones.pop()
            docstring = re.search(r'"""(?:.|\n)*?"""', "\n".join(lines[start : last + 1]))
            yield name, last + 1 - start - (docstring[0].count("\n") + 1 if docstring else 0)
        if found := re.match(r" *def (\w+)", line):
            open_ones.append((indent, i, found[1]))
        last = i


def test_files_and_functions_are_short() -> None:
    """A longer file has two subjects, a longer function several steps; ruff measures how many branches one has."""
    texts = {name: path.read_text() for name, path in modules().items()}
    assert not [name for name, text in texts.items() if text.count("\n") > _LONGEST_FILE]
    long = [
        f"{name}.{function}: {lines} lines"
        for name, text in texts.items()
        for function, lines in _functions(text)
        if lines > _LONGEST_FUNCTION
    ]
    assert not long, "\n".join(long)
    assert [*_functions("def f():\n    def g():\n        pass\n\n\ndef h(\n    x,\n):\n    pass\n")] == [
        ("g", 2),
        ("f", 3),
        ("h", 4),
    ]
