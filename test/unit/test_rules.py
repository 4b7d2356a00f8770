"""Every error about a program has a rule, and every rule says what it is about, by a program that breaks it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import cast

import pytest
from xdsl.utils.exceptions import VerifyException

from tirx.diagnostics import WARNINGS, LocatedError
from tirx.hw.errors import LegalityError
from tirx.hw.features import UnsupportedFeature
from tirx.hw.targets import TargetError
from tirx.layout import LayoutError
from tirx.layout.ownership import AccessError
from tirx.mma.fragments import FragmentError
from tirx.passes.rings.proof.errors import RingError
from tirx.rules import InvalidOperation
from tirx.text.rules import explain, explained_rules, hardware_rules
from tirx.tools.tirx_opt import main

_ROOT = Path(__file__).parents[2]
_SOURCES = {"tirx": _ROOT / "tirx", "tirx.dialects": _ROOT / "dialects", "tirx.passes": _ROOT / "passes"}
_APART = ("tirx/sim/", "tirx/dialects/", "tirx/passes/")
"""The simulator has errors of its own, and the links lead to what is looked at by its name."""

_REPORTED = (LocatedError, VerifyException, LegalityError, LayoutError, RingError)
"""The errors that become diagnostics, or that those which become diagnostics are raised from."""

_BASES = (InvalidOperation, LegalityError, RingError)
"""Classes that are caught, and never made without a rule."""


def _rule(kind: type[BaseException]) -> object:
    return getattr(kind, "rule", None)


def _subclasses(*kinds: type[BaseException]) -> Iterator[type[BaseException]]:
    for kind in kinds:
        yield kind
        yield from _subclasses(*kind.__subclasses__())


@dataclass(frozen=True)
class _Site:
    """A place that makes an error: its class, and the classes of the errors that it passes on, if it does."""

    where: str
    made: type[BaseException]
    relayed: tuple[type[BaseException], ...]
    has_rule: bool


def _files() -> Iterator[tuple[str, Path]]:
    for package, folder in _SOURCES.items():
        for path in sorted(folder.rglob("*.py")):
            if not path.relative_to(_ROOT).as_posix().startswith(_APART):
                parts = path.relative_to(folder).with_suffix("").parts
                yield ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts))), path


def _classes(node: ast.expr | None, names: dict[str, object]) -> tuple[type[BaseException], ...]:
    """The classes of errors that an expression names: a name, or a tuple of names."""
    if isinstance(node, ast.Tuple):
        return tuple(kind for each in node.elts for kind in _classes(each, names))
    value = names.get(node.id) if isinstance(node, ast.Name) else None
    found = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return tuple(each for each in found if isinstance(each, type) and issubclass(each, BaseException))


def _sites(node: ast.AST, path: Path, names: dict[str, object], caught: dict[str, ast.expr | None]) -> Iterator[_Site]:
    for child in ast.iter_child_nodes(node):
        inside = caught
        if isinstance(child, ast.ExceptHandler) and child.name is not None:
            inside = caught | {child.name: child.type}
        if isinstance(child, ast.Call) and (made := _classes(child.func, names)) and issubclass(made[0], _REPORTED):
            said = {each.id for arg in child.args for each in ast.walk(arg) if isinstance(each, ast.Name)}
            relayed = tuple(kind for name in said & inside.keys() for kind in _classes(inside[name], names))
            where = f"{path.relative_to(_ROOT)}:{child.lineno}"
            yield _Site(where, made[0], relayed, any(keyword.arg == "rule" for keyword in child.keywords))
        yield from _sites(child, path, names, inside)


def test_every_error_has_a_rule() -> None:
    without_rule = {kind.__name__ for kind in _ERRORS if _rule(kind) is None}
    assert "LocatedError" in without_rule
    made = re.compile(rf"\b({'|'.join(without_rule)})\(")
    sites = [
        site
        for module, path in _files()
        if made.search(text := path.read_text())
        for site in _sites(ast.parse(text), path, vars(import_module(module)), {})
    ]
    assert len(sites) > 100
    without = [
        site.where
        for site in sites
        if _rule(site.made) is None
        and not site.has_rule
        and not (site.relayed and all(kind in _BASES or _rule(kind) is not None for kind in site.relayed))
    ]
    assert not without, f"expected a rule for each error, found none at {', '.join(without)}"


_ERRORS = tuple(kind for kind in _subclasses(LocatedError, VerifyException, LegalityError, LayoutError, RingError))


def _names() -> set[str]:
    """The rules of all classes of errors, and of warnings."""
    named = {_rule(kind) for kind in _ERRORS} | {LayoutError("").rule, LayoutError("", 1).rule, AccessError("").rule}
    others = {FragmentError.rule, TargetError.rule, UnsupportedFeature.rule}
    return {name for name in named | others if isinstance(name, str)} | set(WARNINGS)


def test_every_rule_is_explained() -> None:
    explained = explained_rules()
    assert explained.keys() == _names()
    assert list(explained) == sorted(explained)
    assert not explained.keys() & hardware_rules().keys()
    for name, rule in explained.items():
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name)
        assert "\nFix: " in rule.text
        assert explain(name) is not None


@pytest.mark.parametrize("name", explained_rules())
def test_the_example_breaks_its_rule(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    example = explained_rules()[name]
    if example.language == "python":
        with pytest.raises(LegalityError) as caught:
            exec(example.code, {})
        assert caught.value.rule == name
        return
    source = tmp_path / "example.mlir"
    source.write_text(example.code)
    status = main([*example.arguments, str(source)])
    found = capsys.readouterr().err
    flags = re.findall(r"(?:error|warning): .*\[(?:-W)?([a-z0-9-]+)\]$", found, re.MULTILINE)
    assert set(flags) == {name}, found
    assert status == (name not in WARNINGS)
