"""
Which faults of the source do tests notice? `python test/mutants.py --count 20 --seed 0` makes single-fault mutants.

A mutant is one change of one function of `tirx`, `dialects` or `passes`: a comparison, an operator, a constant or a
condition becomes another one, or a statement goes. It is a function of the seed and its number. It is noticed if one of
these tests fails: those whose path mirrors that of the file or which name it, or those of `--tests`; then those that
call the function according to `--calls`, a directory in which a run of the tests with `TIRX_CALLS` in the environment
(Python 3.12) has noted who calls what. Survivors are printed as a diff: they need a test, or are equivalent to the
source. The source is changed in copies of the tree.
"""

# pyright: basic
# Nodes of syntax trees are told apart by the names of their fields.

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "TIRX_CALLS"
_FOLDERS = ("tirx", "dialects", "passes")
_SLICES = (10.0, 60.0)
"""Tests that call a function are run in order of their time: first so many seconds of them, then more, then all."""

_SOUND = "test/unit/test_universe.py"
"""A test that passes where tests can run at all."""

_MOST_SECONDS = 90.0
"""Time of a run of tests beyond five times their own."""

_COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.In: ("not in",), ast.NotIn: ("in",), ast.Is: ("is not",), ast.IsNot: ("is",),
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-",), ast.Sub: ("+",), ast.Mult: ("//", "+"), ast.FloorDiv: ("*",), ast.Mod: ("//",),
    ast.BitAnd: ("|",), ast.BitOr: ("&",), ast.LShift: (">>",), ast.RShift: ("<<",), ast.Pow: ("*",),
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """The text that replaces a node, and the first line of the function around it."""

    node: ast.expr | ast.stmt
    text: str
    function: int

    def apply(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        node = self.node
        assert node.end_lineno is not None and node.end_col_offset is not None
        before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
        after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
        return (before + self.text.encode() + after).decode()


def changes(source: str) -> list[Change]:
    """Everything that can be changed inside of functions."""
    found: dict[tuple[int, int, str], Change] = {}

    def walk(node: ast.AST, function: int | None) -> None:
        if isinstance(node, ast.JoinedStr):  # nodes inside have no positions of their own
            return
        if isinstance(node, ast.FunctionDef):
            function = node.lineno if not node.decorator_list else node.decorator_list[0].lineno
        if function is not None:
            for target, text in _replacements(node):
                found[target.lineno, target.col_offset, text] = Change(target, text, function)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        walk(child, function)

    walk(ast.parse(source), None)
    return list(found.values())


def _replacements(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    def text(part: ast.expr) -> str:
        return f"({ast.unparse(part)})"

    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            for new in _COMPARISONS[type(op)]:
                yield node, f"({text(left)} {new} {text(right)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            for new in _OPERATORS[type(op)]:
                yield node, f"({text(left)} {new} {text(right)})"
        case ast.BoolOp(op=op, values=values):
            yield node, f"({(' or ' if isinstance(op, ast.And) else ' and ').join(map(text, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool{text(operand)}"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value):
            yield node, str(value + 1)
            yield node, str(value - 1) if value else "(-1)"
        case ast.If(test=test):
            yield test, f"(not {text(test)})"
        case _:
            pass
    body = getattr(node, "body", None)
    if isinstance(body, list) and len(body) > 1:
        for statement in body:
            if isinstance(statement, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue) and not _is_text(statement):
                yield statement, "pass"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def mutant(source: str, rng: random.Random) -> tuple[str, int] | None:
    """A module with one change and the first line of the changed function; None if there is nothing to change."""
    found = changes(source)
    before = ast.dump(ast.parse(source))
    while found:
        change = found.pop(rng.randrange(len(found)))
        after = change.apply(source)
        try:
            differs = ast.dump(ast.parse(after)) != before
        except SyntaxError:  # a number in a pattern
            continue
        if differs:
            return after, change.function
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


# Who calls what: noted by `pytest` with TIRX_CALLS, one file a process.


@dataclass
class Calls:
    """The test files that call each function, named by file and first line, and the seconds that they take."""

    callers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    failed: set[str] = field(default_factory=set)
    """Test files that fail without any change, which say nothing."""

    @staticmethod
    def read(directory: Path) -> Calls:
        """What the processes of a run have noted."""
        calls = Calls()
        for path in directory.glob("*.json"):
            for test, each in json.loads(path.read_text()).items():
                calls.seconds[test] += each["seconds"]
                if each["failed"]:
                    calls.failed.add(test)
                for function in each["functions"]:
                    calls.callers[function].add(test)
        return calls

    def slices(self, function: str, without: set[str]) -> Iterator[list[str]]:
        """The tests that call a function, the quick ones first, without some."""
        left = sorted(self.callers.get(function, set()) - without - self.failed, key=lambda test: self.seconds[test])
        for most in (*_SLICES, float("inf")):
            total, count = 0.0, 0
            while count < len(left) and (count == 0 or total + self.seconds[left[count]] <= most):
                total += self.seconds[left[count]]
                count += 1
            if count:
                yield left[:count]
            left = left[count:]


class CallNotes:
    """A plugin of pytest that notes which functions of the source each test file calls."""

    def __init__(self, directory: str):
        self._path = Path(directory, f"{os.getpid()}.json")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._notes: dict[str, dict] = {}
        self._own: set[str] = set()
        self._monitoring = sys.monitoring  # pyright: ignore[reportAttributeAccessIssue]  # Python 3.12
        tool = self._monitoring.COVERAGE_ID
        self._monitoring.use_tool_id(tool, "calls")
        self._monitoring.register_callback(tool, self._monitoring.events.PY_START, self._called)
        self._monitoring.set_events(tool, self._monitoring.events.PY_START)

    def _called(self, code, _):
        file = code.co_filename
        if file.startswith(str(ROOT)):
            name = os.path.relpath(os.path.realpath(file), ROOT)
            if name.partition(os.sep)[0] in _FOLDERS:
                self._own.add(f"{name}:{code.co_firstlineno}")
        return self._monitoring.DISABLE

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.partition("::")[0]
        note = self._notes.setdefault(test, {"seconds": 0.0, "failed": False, "functions": []})
        note["seconds"] += report.duration
        note["failed"] |= report.failed
        if report.when == "teardown":
            note["functions"] = sorted({*note["functions"], *self._own})
            self._own.clear()
            self._monitoring.restart_events()

    def pytest_sessionfinish(self):
        self._path.write_text(json.dumps(self._notes))


# Running mutants.


def _notices(root: Path, tests: list[str], seconds: float) -> bool:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    path = os.pathsep.join([str(root), str(root / "test"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    try:
        done = subprocess.run(
            command, cwd=root, env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)


def _files() -> list[Path]:
    return [
        path.relative_to(ROOT)
        for folder in _FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(("tirx/dialects/", "tirx/passes/"))  # links
    ]


@dataclass
class _Run:
    """Mutants by number, in copies of the tree."""

    flags: argparse.Namespace
    files: list[Path]
    calls: Calls
    end: float
    trees: SimpleQueue[Path] = field(default_factory=SimpleQueue)
    results: dict[int, bool] = field(default_factory=dict)

    def examine(self, number: int) -> None:
        """Makes the mutant of a number, and prints whether a test notices it."""
        if time.time() > self.end:
            return
        rng = random.Random(f"{self.flags.seed} {number}")
        sizes = [(ROOT / path).stat().st_size for path in self.files]
        found = None
        while found is None:
            path = rng.choices(self.files, sizes)[0]
            source = (ROOT / path).read_text()
            found = mutant(source, rng)
        changed, function = found
        root = self.trees.get()
        (root / path).write_text(changed)
        try:
            seen = self._is_noticed(root, path, function)
        finally:
            (root / path).write_text(source)
            self.trees.put(root)
        if seen is None:
            return
        self.results[number] = seen
        lines = [f"{number} {path}: {'noticed' if seen else 'SURVIVES'}"]
        if not seen:
            diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=3, lineterm="")
            lines += [f"    {line}" for line in list(diff)[2:]]
        print("\n".join(lines), flush=True)

    def _is_noticed(self, root: Path, path: Path, function: int) -> bool | None:
        """None if there is no time left to say."""
        named = self.flags.tests or tests_of(path, root)
        if self.calls.seconds:  # tests that ran, and passed
            named = [each for each in named if each in self.calls.seconds and each not in self.calls.failed]
        quick = sorted(named, key=lambda test: self.calls.seconds.get(test, 0.0))
        slices = [quick] if quick else []
        for tests in (*slices, *self.calls.slices(f"{path.as_posix()}:{function}", set(named))):
            usual = sum(self.calls.seconds.get(test, 10.0) for test in tests)
            if time.time() + usual > self.end:
                return None
            if _notices(root, tests, _MOST_SECONDS + 5 * usual):
                return True
        return False


def main() -> int:
    """Makes mutants as the command line says, and prints how many are noticed."""
    parser = argparse.ArgumentParser(prog="test/mutants.py", description="single-fault mutants of the source")
    parser.add_argument("files", nargs="*", type=Path, help="files to change; all by default")
    parser.add_argument("--count", type=int, default=20, help="mutants")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", help="the tests to run first instead of those of the file")
    parser.add_argument("--calls", type=Path, help="where a run of the tests with TIRX_CALLS has noted who calls what")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds by the clock")
    flags = parser.parse_args()
    files = [path.resolve().relative_to(ROOT) for path in flags.files] or _files()
    calls = Calls() if flags.calls is None else Calls.read(flags.calls)
    if flags.calls is not None and not calls.callers:
        parser.error(f"nobody has noted in '{flags.calls}' who calls what")
    run = _Run(flags, files, calls, time.time() + flags.seconds)
    with tempfile.TemporaryDirectory(prefix="tirx-mutants-") as directory:
        ignored = shutil.ignore_patterns(".git", "__pycache__", ".lit", ".hypothesis", "*.egg-info", "build", ".gpu")
        for job in range(flags.jobs):
            shutil.copytree(ROOT, root := Path(directory, str(job)), symlinks=True, ignore=ignored)
            run.trees.put(root)
        if _notices(root, [_SOUND], _MOST_SECONDS):
            parser.error(f"{_SOUND} fails without any change: nothing that fails would mean anything")
        with ThreadPoolExecutor(flags.jobs) as pool:
            list(pool.map(run.examine, range(flags.first, flags.first + flags.count)))
    made, noticed = len(run.results), sum(run.results.values())
    print(f"{made} mutants, {noticed} noticed ({100 * noticed / max(made, 1):.1f} %)")
    left = sorted({*range(flags.first, flags.first + flags.count)} - {*run.results})
    if left:
        print(f"no time for {left}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
