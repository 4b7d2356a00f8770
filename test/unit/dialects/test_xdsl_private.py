"""Private names of xDSL are used in one module."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from pathlib import Path

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.mlir_lexer import MLIRLexer

import tirx
from tirx.dialects import xdsl_private

_CLASSES = (Block, Operation, OpResult, Region, SSAValue, Use, Parser, Printer, MLIRLexer)


@cache
def _private(classes: tuple[type, ...]) -> set[str]:
    """The private names of classes and of those that they inherit from."""
    every = [each for kind in classes for each in kind.__mro__ if each.__module__.startswith("xdsl.")]
    names = {name for each in every for name in (*vars(each), *inspect.get_annotations(each))}
    return {name for name in names if name.startswith("_") and not name.startswith(("__", "_abc"))}


def _uses(path: Path) -> list[str]:
    """Private names of xDSL that a file imports, overrides, or reads from another object than its own."""
    names, overridden = _private(_CLASSES), _private((Parser, MLIRLexer))
    found: list[str] = []
    nodes = list(ast.walk(ast.parse(path.read_text())))
    own = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                is_private = name in names and name not in own and name != "_name"  # of tiles of the builder
            case ast.Attribute(attr=name):
                is_private = name in names
            case ast.FunctionDef(name=name):
                is_private = name in overridden
            case ast.ImportFrom(module=str(module), names=imported) if module.startswith("xdsl"):
                is_private, name = any(part.startswith("_") for part in module.split(".")), module
                is_private |= any(each.name.startswith("_") for each in imported)
            case _:
                continue
        if is_private:
            found.append(f"{path.name}:{node.lineno}: {name}")
    return found


def test_no_other_file_touches_private_names():
    root, own = Path(tirx.__file__).parent, Path(xdsl_private.__file__)
    files = {path.resolve() for folder in (root, root / "dialects", root / "passes") for path in folder.rglob("*.py")}
    assert _uses(own)
    assert [use for path in sorted(files - {own.resolve()}) for use in _uses(path)] == []
