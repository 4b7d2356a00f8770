"""Files of modules that packages import from elsewhere, and whether they are still those that a process has loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec, resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

FileStamp = tuple[str, str, str | None]
"""The top-level name of a module, a file of it, relative to the directory in which the name stands, and its content."""

_COVERED = sys.stdlib_module_names | {"tirx", "xdsl", "numpy", "ml_dtypes"}


def imported(packages: Collection[str]) -> list[FileStamp]:
    """Returns the files of loaded modules of other packages that `packages` import, in one or more steps.

    Import statements anywhere in a source count. Python's own modules, tirx, xDSL and numpy are left out.
    """
    import ast  # here, so that a hit does not wait for it

    waiting = [name for name in sys.modules if name.partition(".")[0] in packages]
    found, stamps = set(waiting), set[FileStamp]()
    while waiting:
        module = sys.modules[name := waiting.pop()]
        path: str | None = getattr(module, "__file__", None)
        if path is None:  # a package without a file of its own
            continue
        top, *inner = name.split(".")
        if top not in packages:
            depth = len(inner) + hasattr(module, "__path__")
            part = os.path.join(*os.path.abspath(path).split(os.sep)[-1 - depth :])
            stamps.add((top, part, _content(top, part)))
        if not path.endswith(".py"):
            continue
        try:
            with open(path, "rb") as file:
                names = set(_names(ast.parse(file.read()), module.__package__ or ""))
        except (OSError, SyntaxError):  # it is not the file that was loaded any more
            stamps.add((top, "", None))
            continue
        others = {each for each in names & sys.modules.keys() if each.partition(".")[0] not in _COVERED} - found
        found |= others
        waiting += others
    return sorted(stamps, key=str)


def _names(source: ast.Module, package: str) -> Iterator[str]:
    """The names of modules that a module of a package may import."""
    import ast

    for node in ast.walk(source):
        named = list[str]()
        if isinstance(node, ast.Import):
            named = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            with suppress(ImportError):  # of a module that is in no package, where the statement did not run
                named = [f"{resolve_name(name, package)}.{each.name}" for each in node.names]
        for name in named:
            parts = name.split(".")
            yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


def are_unchanged(stamps: Collection[FileStamp]) -> bool:
    """Returns True if this process would load the same files."""
    return all(content is not None and content == _content(top, part) for top, part, content in stamps)


def _content(top: str, part: str) -> str | None:
    """A digest of a file, size and time for one that is not a source; None for one that cannot be read."""
    try:
        spec = find_spec(top)
        inside = () if spec is None else spec.submodule_search_locations or (spec.origin or "",)
        paths = (os.path.join(os.path.dirname(each), part) for each in inside)
        path = next(path for path in paths if os.path.isfile(path))
        if not path.endswith(".py"):
            return "{0.st_size} {0.st_mtime_ns}".format(os.stat(path))
        with open(path, "rb") as file:
            return sha256(file.read()).hexdigest()
    except (OSError, StopIteration, ValueError):  # the last for a module without a specification
        return None
