"""The default values of all parameters and fields, which calls without them rely on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_ROOT = Path(__file__).parents[2]
_FOLDERS = {"tirx": "tirx", "dialects": "tirx.dialects", "passes": "tirx.passes"}
_OTHERS = ("tirx.tools.lsp", "tirx.runtime.torch_op")
"""Modules of packages that are not everywhere."""


def every_module() -> Iterator[ModuleType]:
    """The modules of all packages, but those that need others."""
    for folder, package in _FOLDERS.items():
        for path in sorted((_ROOT / folder).rglob("*.py")):
            parts = path.relative_to(_ROOT / folder).with_suffix("").parts
            name = ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))
            if folder != "tirx" or parts[0] not in ("dialects", "passes"):
                if parts[-1] != "__main__" and name not in _OTHERS:
                    yield import_module(name)


def _line(name: str, defaults: Iterable[str]) -> str:
    return f"{name}: {re.sub(' at 0x[0-9a-f]+', '', ', '.join(defaults))}"


def _of_parameters(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [f"{each.name}={each.default!r}" for each in parameters if each.default is not each.empty]


def _of_fields(type_: Any) -> list[str]:
    """Of a data class or a named tuple; for a field that does not count when values are compared, that too."""
    found = [f"{name}={default!r}" for name, default in getattr(type_, "_field_defaults", {}).items()]
    for each in fields(type_) if is_dataclass(type_) else ():
        if each.default is not MISSING:
            found.append(f"{each.name}={each.default!r}{'' if each.compare else ', not compared'}")
    return found


def signatures() -> str:
    """The default values of the functions, methods and fields of every module."""
    lines: list[str] = []
    for module in every_module():
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) != module.__name__:
                continue
            members = vars(value).items() if isinstance(value, type) else [("", value)]
            if isinstance(value, type) and (defaults := _of_fields(value)):
                lines.append(_line(f"{module.__name__}.{name}", defaults))
            for member, found in members:
                function = inspect.unwrap(getattr(found, "__func__", found))
                written = isinstance(function, FunctionType) and function.__code__.co_filename == module.__file__
                if written and (defaults := _of_parameters(function)):
                    lines.append(_line(f"{module.__name__}.{name} {member}", defaults))
    return "\n".join(sorted(lines))
