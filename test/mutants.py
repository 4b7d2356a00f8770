"""
Which faults of the source do tests notice? `python test/mutants.py --count 20 --seed 0` makes single-fault mutants.

A mutant is one change of one function of `tirx`, `dialects` or `passes`: a comparison, an operator, a constant or a
condition becomes another one, or a statement goes. It is noticed if one of the tests of the file fails: those whose
path mirrors that of the file or which name it, or those of `--tests`; with `--all`, then all tests. Survivors are
printed as a diff: they need a test, or are equivalent to the source. The source is changed in a copy of the tree.
"""

# pyright: basic
# Nodes of syntax trees are changed by the names of their fields.

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_FOLDERS = ("tirx", "dialects", "passes")
_SECONDS = 600
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv, ast.Add), ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,), ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,), ast.Pow: (ast.Mult,),
}  # fmt: skip


def changes(tree: ast.Module, rng: random.Random) -> Iterator[Callable[[], None]]:
    """Everything that can be changed inside of functions, each as a function that changes the tree."""
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        for node in ast.walk(function):
            match node:
                case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
                    yield lambda n=node, o=op: setattr(n, "ops", [rng.choice(_COMPARISONS[type(o)])()])
                case ast.BinOp(op=op) if type(op) in _OPERATORS:
                    yield lambda n=node, o=op: setattr(n, "op", rng.choice(_OPERATORS[type(o)])())
                case ast.BoolOp(op=op):
                    yield lambda n=node, o=op: setattr(n, "op", ast.Or() if isinstance(o, ast.And) else ast.And())
                case ast.UnaryOp(op=ast.Not(), operand=operand):
                    yield lambda n=node, o=operand: setattr(n, "op", ast.UAdd()) or setattr(n, "operand", _truth(o))
                case ast.Constant(value=bool() as value):
                    yield lambda n=node, v=value: setattr(n, "value", not v)
                case ast.Constant(value=int() as value):
                    yield lambda n=node, v=value: setattr(n, "value", v + rng.choice((1, -1)))
                case ast.If(test=test):
                    yield lambda n=node, t=test: setattr(n, "test", ast.UnaryOp(ast.Not(), t))
                case _:
                    pass
            body = getattr(node, "body", None)
            if isinstance(body, list) and len(statements := [each for each in body if isinstance(each, ast.stmt)]) > 1:
                for place, statement in enumerate(statements):
                    if isinstance(statement, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue):
                        if not _is_text(statement):
                            yield lambda b=body, p=place: b.__setitem__(p, ast.Pass())


def _truth(node: ast.expr) -> ast.expr:
    return ast.Call(ast.Name("bool", ast.Load()), [node], [])


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def mutant(source: str, rng: random.Random) -> str | None:
    """A module with one change; None if there is nothing to change."""
    tree = ast.parse(source)
    before = ast.unparse(tree)
    found = list(changes(tree, rng))
    for _ in range(20):
        if not found:
            return None
        rng.choice(found)()
        after = ast.unparse(ast.fix_missing_locations(tree))
        if after != before:
            return after
    return None


def tests_of(path: Path, root: Path = ROOT) -> list[str]:
    """The tests of a file of the source: those whose names mirror it, and those that import it."""
    stem, folder = path.stem, path.parent.name
    module = ".".join(path.with_suffix("").parts)
    module = module if module.startswith("tirx") else f"tirx.{module}"
    named = stem.replace("_", "-")
    found: list[Path] = []
    for test in sorted((root / "test").rglob("*")):
        if test.suffix == ".mlir" and "Inputs" not in test.parts:
            if (
                test.stem == named
                or test.stem.startswith(f"{named}-")
                or (test.parent.name == folder and stem in test.stem)
            ):
                found.append(test)
        elif test.suffix == ".py" and test.name.startswith("test_"):
            if test.stem == f"test_{stem}" or module in test.read_text():
                found.append(test)
    near = root / "test" / "unit" / folder
    return [str(each.relative_to(root)) for each in found] or (
        [str(near.relative_to(root))] if near.is_dir() else ["test"]
    )


def _notices(root: Path, tests: list[str]) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)


def main() -> int:
    """Makes mutants as the command line says, and prints how many are noticed."""
    parser = argparse.ArgumentParser(prog="test/mutants.py", description="single-fault mutants of the source")
    parser.add_argument("files", nargs="*", type=Path, help="files to change; all by default")
    parser.add_argument("--count", type=int, default=20, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", help="the tests to run instead of those of the file")
    parser.add_argument("--all", action="store_true", help="run all tests where those of the file notice nothing")
    flags = parser.parse_args()
    rng = random.Random(flags.seed)
    files = [path.resolve().relative_to(ROOT) for path in flags.files] or [
        path.relative_to(ROOT)
        for folder in _FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(("tirx/dialects/", "tirx/passes/"))
    ]
    sizes = [(ROOT / path).stat().st_size for path in files]
    noticed = made = 0
    with tempfile.TemporaryDirectory(prefix="tirx-mutants-") as directory:
        root = Path(directory, "tree")
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".lit", ".hypothesis", "*.egg-info")
        shutil.copytree(ROOT, root, symlinks=True, ignore=ignored)
        while made < flags.count:
            path = rng.choices(files, sizes)[0]
            source = (ROOT / path).read_text()
            changed = mutant(source, rng)
            if changed is None:
                continue
            made += 1
            (root / path).write_text(changed)
            seen = _notices(root, flags.tests or tests_of(path)) or (flags.all and _notices(root, ["test"]))
            (root / path).write_text(source)
            noticed += seen
            print(f"{made} {path}: {'noticed' if seen else 'SURVIVES'}", flush=True)
            if not seen:
                plain = ast.unparse(ast.parse(source)).splitlines()
                lines = difflib.unified_diff(plain, changed.splitlines(), n=2, lineterm="")
                print("\n".join(f"    {line}" for line in list(lines)[2:]), flush=True)
    print(f"{made} mutants, {noticed} noticed ({100 * noticed / max(made, 1):.0f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
