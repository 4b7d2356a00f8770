"""
`raise` statements of the source that no test executes: `python test/raises.py` runs the tests and says.

With `TIRX_RAISES=directory` in the environment, `pytest` notes the statements that it executes in files there: modules
are compiled with a call in front of every `raise`. `python test/raises.py directory` says which are missing: each is an
error. Statements are known by file, function and text; quotes are left out, as versions of Python print different ones.
Processes that tests start are not seen. Not counted: `raise AssertionError`, which says what cannot happen, and
`raise NotImplementedError`, which stands for the body of an abstract method.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import importlib.machinery
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "TIRX_RAISES"
_PACKAGE = "tirx"
_HOOK = "__tirx_raises__"
_TEXT = 110
_QUOTES = re.compile(r"""(?:\bf)?["'\\]+""")


def statements(source: str) -> Iterator[tuple[ast.Raise, str]]:
    """Every `raise` of a module, with its function and text, and a number where that is not unique."""
    count: Counter[str] = Counter()

    def walk(node: ast.AST, around: tuple[str, ...]) -> Iterator[tuple[ast.Raise, str]]:
        for child in ast.iter_child_nodes(node):
            inner = around
            if isinstance(child, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
                inner = (*around, child.name)
            if isinstance(child, ast.Raise) and not _is_statement_only(child):
                text = " ".join(_QUOTES.sub("", ast.unparse(child)).split())
                name = f"{'.'.join(around)}: {text[:_TEXT]}"
                count[name] += 1
                yield child, name if count[name] == 1 else f"{name} #{count[name]}"
            yield from walk(child, inner)

    yield from walk(ast.parse(source), ())


def _is_statement_only(node: ast.Raise) -> bool:
    called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(called, ast.Name) and called.id in ("AssertionError", "NotImplementedError")


def sources() -> Iterator[tuple[str, Path]]:
    """The files of the source by their names in keys."""
    for folder in ("tirx", "dialects", "passes"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith(("tirx/dialects/", "tirx/passes/")):  # links
                yield name, path


def all_raises() -> set[str]:
    """The key of every `raise` that counts, as `file: function: text`."""
    return {f"{name}: {key}" for name, path in sources() for _, key in statements(path.read_text())}


class _Marked(ast.NodeTransformer):
    """Puts a call in front of every `raise`."""

    def __init__(self, file: str, tree: ast.AST, source: str):
        lines = {(node.lineno, node.col_offset): key for node, key in statements(source)}
        self._keys = {place: f"{file}: {key}" for place, key in lines.items()}

    def visit_Raise(self, node: ast.Raise) -> list[ast.stmt] | ast.Raise:
        key = self._keys.get((node.lineno, node.col_offset))
        if key is None:
            return node
        call = ast.Expr(ast.Call(ast.Name(_HOOK, ast.Load()), [ast.Constant(key)], []))
        return [ast.fix_missing_locations(ast.copy_location(call, node)), node]


class _Loader(importlib.machinery.SourceFileLoader):
    def path_stats(self, path: str) -> Any:
        raise OSError("no compiled file, which would not have the calls")

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # pyright: ignore
        source = data.decode() if isinstance(data, bytes) else str(data)
        file = Path(path).resolve().relative_to(ROOT).as_posix()
        tree = ast.parse(source)
        return compile(_Marked(file, tree, source).visit(tree), path, "exec", dont_inherit=True, optimize=_optimize)


class _Finder:
    """Finds modules of the package as the other finders do, and loads them with the calls."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if name.partition(".")[0] != _PACKAGE:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(name, path, target)
            if spec is not None:
                if spec.origin is not None and spec.origin.endswith(".py"):
                    spec.loader = _Loader(name, spec.origin)
                return spec
        return None


def install(directory: str) -> None:
    """Notes the `raise` statements that this process executes in a file of `directory`, as they come."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    file = os.open(Path(directory, f"{os.getpid()}.txt"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(key: str) -> None:
        if key not in seen:
            seen.add(key)
            os.write(file, f"{key}\n".encode())

    setattr(builtins, _HOOK, note)
    sys.meta_path.insert(0, _Finder())  # pyright: ignore[reportArgumentType]


def executed(directory: Path) -> set[str]:
    """Reads the statements that the processes of a run have noted."""
    return {line for path in directory.glob("*.txt") for line in path.read_text().splitlines()}


def compared(found: set[str]) -> int:
    """Prints the statements that are not among those `found`; the exit code."""
    every = all_raises()
    for key in sorted(every - found):
        print(f"no test executes: {key}")
    print(f"{len(every)} raise statements, {len(every - found)} without a test")
    return 1 if every - found else 0


def main() -> int:
    """Runs the tests, or takes what a run has noted, and says what is missing."""
    parser = argparse.ArgumentParser(prog="test/raises.py", description=__doc__)
    parser.add_argument("directory", nargs="?", type=Path, help="of a run with TIRX_RAISES; without it, tests are run")
    flags = parser.parse_args()
    if flags.directory is not None:
        return compared(executed(flags.directory))
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "--all-cases"]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, VARIABLE: directory}, check=False)
        return done.returncode or compared(executed(Path(directory)))


if __name__ == "__main__":
    sys.exit(main())
