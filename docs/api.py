"""The reference of the Python interface, from docstrings: a page for each module whose names others may use."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from typing import Any

MODULES = (
    *("tirx", "tirx.builder", "tirx.embed", "tirx.layout", "tirx.sim", "tirx.runtime", "tirx.viz", "tirx.explain"),
    *("tirx.tcgen05", "tirx.wgmma", "tirx.mma", "tirx.copy", "tirx.predict", "tirx.interp"),
)
"""The modules that have pages, in the order of the site; `tirx` says which of them are the public interface."""

_SESSION = re.compile(r"^(>>> .*(?:\n(?!\n|```).+)*)", re.MULTILINE)
_LONGEST = 80  # characters of a constant or a default
_LINE = 90  # characters of a signature in one line


def page_name(module: str) -> str:
    """Returns the file of a module's page, beside the other pages."""
    return f"api/{module}.md"


def anchor(module: str, *names: str) -> str:
    """Returns the anchor of a name of a module, or of a member of a class."""
    return ".".join((module, *names))


def page(module: str) -> str:
    """Returns the page of a module: a heading for every name of its `__all__` and every public member of classes."""
    found = import_module(module)
    values: dict[str, Any] = {name: getattr(found, name) for name in found.__all__}
    lines = [f"# `{module}`", "", _text(found), ""]
    if elsewhere := {name: home for name, value in values.items() if (home := _home(module, name, value)) != module}:
        links = (
            f"[`{name}`]({home}.md{'' if inspect.ismodule(values[name]) else '#' + anchor(home, name)})"
            for name, home in sorted(elsewhere.items())
        )
        lines += ["Names with pages of their own or from other modules: " + ", ".join(links) + ".", ""]
    own = {name: value for name, value in values.items() if name not in elsewhere}
    constants = {name: value for name, value in own.items() if not _is_documented(value)}
    for name, value in sorted(own.items()):
        if name not in constants and not inspect.ismodule(value):
            lines += _entry("##", anchor(module, name), name, value)
            for member, each in sorted(_members(value)):
                lines += _entry("###", anchor(module, name, member), f"{name}.{member}", each)
    if constants:
        lines += ["## Constants and aliases", "", "| name | value |", "|---|---|"]
        lines += [f'| <a id="{anchor(module, name)}"></a>`{name}` | {_value(value)} |'
                  for name, value in sorted(constants.items())]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _home(module: str, name: str, value: object) -> str:
    """Returns the module whose page has a name: `tirx` passes on what `tirx.builder` has, and modules are pages."""
    if inspect.ismodule(value):
        return value.__name__
    return "tirx.builder" if module == "tirx" and name in import_module("tirx.builder").__all__ else module


def _is_documented(value: object) -> bool:
    return inspect.isroutine(value) or inspect.isclass(value) or (callable(value) and _own_text(value))


def _own_text(value: object) -> bool:
    """Returns True for an object with a docstring that is not the one of a type of the standard library or numpy."""
    return type(value).__module__.startswith("tirx.") and inspect.getdoc(value) is not None


def _members(value: Any) -> Iterator[tuple[str, object]]:
    """Yields the public methods and properties that a class, or one of tirx that it is made from, defines."""
    bases = (
        [each for each in inspect.getmro(value) if each.__module__.startswith("tirx.")]
        if inspect.isclass(value)
        else []
    )
    found: dict[str, Any] = {name: each for base in reversed(bases) for name, each in vars(base).items()}
    for name, each in found.items():
        kinds = (property, classmethod, staticmethod)
        if not name.startswith("_") and (inspect.isfunction(each) or isinstance(each, kinds)):
            yield name, each


def _entry(level: str, place: str, name: str, value: object) -> list[str]:
    shown: Any = getattr(value, "__func__", value)  # of class methods and static methods
    lines = [f"{level} {'class ' if inspect.isclass(value) else ''}`{name}` {{ #{place} }}", ""]
    signature = _signature(shown) if callable(shown) else None
    if signature is not None:
        lines += ["```python", _written(name.rpartition(".")[2], signature), "```", ""]
    return [*lines, _text(shown, () if signature is None else signature.parameters), ""]


class _Long:
    """A default that is too long to be shown."""

    def __repr__(self) -> str:
        return "..."


def _signature(value: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the parameters, without the object that a method is of; None for a type that is made by C."""
    try:
        found = inspect.signature(value)
    except ValueError:
        return None
    kept = [each for each in found.parameters.values() if each.name not in ("self", "cls")]
    short = [each.replace(default=_Long()) if len(repr(each.default)) > _LONGEST else each for each in kept]
    return found.replace(parameters=short)


def _written(name: str, signature: inspect.Signature) -> str:
    """Returns a call as it is written, without the packages of types; a parameter a line where it is long."""

    def plain(text: object) -> str:
        unquoted = re.sub(r"(: |-> )(?:ForwardRef\()?'([^']*)'\)?", r"\1\2", str(text))
        return re.sub(r"\b(?:\w+\.)+(?=[A-Za-z_])", "", unquoted)

    if len(text := plain(f"{name}{signature}")) <= _LINE:
        return text
    _, _, returned = text.rpartition(" -> ")
    return "\n".join(
        [f"{name}(", *(f"    {plain(each)}," for each in signature.parameters.values()), f") -> {returned}"]
    )


def _text(value: object, parameters: Collection[str] = ()) -> str:
    """Returns a docstring as Markdown: its sessions are blocks; what it says about parameters is a list."""

    def said(match: re.Match[str]) -> str:
        names = match[1].split(", ")
        return f"- `{match[1]}`: " if all(name in parameters for name in names) else match[0]

    def plain(text: str) -> str:
        """Text outside of code, in which nothing is HTML or a heading."""
        return text if text.startswith("`") else re.sub(r"^#", r"\\#", text.replace("<", "&lt;"), flags=re.MULTILINE)

    parts: list[str] = []
    for text in _SESSION.split(inspect.getdoc(value) or ""):
        if text.startswith(">>> "):
            parts.append(f"```pycon\n{text}\n```")
            continue
        text = re.sub(r"^(\w+(?:, \w+)*): +(?=\S)", said, text, flags=re.MULTILINE)
        text = re.sub(r"^(?![-*] |\s)(.+)\n(?=[-*] )", r"\1\n\n", text, flags=re.MULTILINE)
        parts += map(plain, re.split(r"(`[^`]*`)", text))
    return "".join(parts)


def _value(value: object) -> str:
    text = html.escape(repr(value)).replace("|", "&#124;")
    return f"<code>{text if len(text) <= _LONGEST else text[: _LONGEST - 3] + '...'}</code>"
