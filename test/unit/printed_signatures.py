"""The default values of all parameters, which calls without them rely on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_ROOT = Path(__file__).parents[2]
_FOLDERS = {"tirx": "tirx", "dialects": "tirx.dialects", "passes": "tirx.passes"}
_OTHERS = ("tirx.tools.lsp", "tirx.runtime.torch_op")
"""Modules of packages that are not everywhere."""


def _modules() -> Iterator[ModuleType]:
    for folder, package in _FOLDERS.items():
        for path in sorted((_ROOT / folder).rglob("*.py")):
            parts = path.relative_to(_ROOT / folder).with_suffix("").parts
            name = ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))
            if folder != "tirx" or parts[0] not in ("dialects", "passes"):
                if parts[-1] != "__main__" and name not in _OTHERS:
                    yield import_module(name)


def _defaults(function: Any) -> str:
    parameters = inspect.signature(function).parameters.values()
    shown = [f"{each.name}={each.default!r}" for each in parameters if each.default is not each.empty]
    return re.sub(r" at 0x[0-9a-f]+", "", ", ".join(shown))


def signatures() -> str:
    """The default values of the functions and methods of every module."""
    lines: list[str] = []
    for module in _modules():
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            members = vars(value).items() if isinstance(value, type) else [("", value)]
            for member, found in members:
                function = inspect.unwrap(getattr(found, "__func__", found))
                # Those of data classes are made by Python, some when they are first asked for.
                written = isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__
                if written and (defaults := _defaults(function)):
                    lines.append(f"{module.__name__}.{name} {member}: {defaults}")
    return "\n".join(sorted(lines))
