"""
Which faults of the source do tests notice? `python test/mutants.py --count 20 --seed 0` makes single-fault mutants.

A mutant is one change of one function of `tirx`, `dialects` or `passes`: a comparison, an operator, a constant or a
condition becomes another one, or a statement goes. It is a function of the seed and its number. It is noticed if one of
these tests fails: those whose path mirrors that of the file or which name it, or those of `--tests`; with `--calls`,
before them those that call the function; with `--all-cases`, these in all their cases as well. `--calls` is a directory
in which a run of the tests with `TIRX_CALLS` in the environment (Python 3.12) has noted who calls what. Survivors are
printed as a diff: they need a test, or are equivalent to the source. The source is changed in copies of the tree.

Not changed, since a program that is right cannot show a difference:

- conditions of `assert`, and `strict=` of `zip`: they say what cannot happen;
- an index 0 to -1, which is the same element of a sequence of one (0 to 1 is made);
- `raise NotImplementedError`: the methods of an interface, which nobody reaches;
- `reshape(-1)`: any negative number is the same;
- `maxsize=` of caches: time and memory, not results;
- annotations, type arguments and `if TYPE_CHECKING`: nothing executes them;
- defaults of parameters that a method has for its interface only, and does not read;
- `__repr__`: text for debuggers. All other text is what users read, and counts;
- `tirx/viz/browser.py`, which drives a browser: its tests need one, as those of the pages do.
"""

# pyright: basic
# Nodes of syntax trees are told apart by the names of their fields.

from __future__ import annotations

import argparse
import ast
import difflib
import functools
import importlib
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "TIRX_CALLS"
_FOLDERS = ("tirx", "dialects", "passes")
_SLICES = (2.0, 10.0, 60.0)
"""Tests that call a function are run in parts: first so many seconds of them, then more, then all."""

_LEFT_OUT = ("tirx/viz/browser.py", "tirx/dialects/", "tirx/passes/")
"""Not changed: what needs a browser, and links to folders that are there already."""

_SOUND = "test/unit/test_universe.py"
"""A test that passes where tests can run at all."""

_OF_DEFAULTS = "test/unit/test_signatures.py"
"""A test of the defaults of all parameters, which does not call the functions."""

_MOST_SECONDS = 20.0
"""Processor time of a run of tests beyond five times their own."""

_SECONDS_OF_ALL_CASES = 240.0
"""Processor time of a run of tests with all their cases."""

_PATIENCE = 4
"""A run of tests that waits, or shares its processor with others, may take so many times its processor time."""

_LIBRARIES = (
    "pytest",
    "numpy",
    "ml_dtypes",
    "xdsl.dialects.builtin",
    "xdsl.dialects.scf",
    "xdsl.dialects.linalg",
    "rich",
)
"""Imported once, for all runs of tests."""

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
    """The text that replaces a node, and the qualified name of the function around it; `default`: of a parameter."""

    node: ast.expr | ast.stmt
    text: str
    function: str
    default: bool

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

    def walk(node: ast.AST, function: str | None, default: bool = False, scope: str = "") -> None:
        if isinstance(node, ast.JoinedStr):  # nodes inside have no positions of their own
            return
        if _is_left_out(node):
            return
        if isinstance(node, ast.FunctionDef):
            function = scope + node.name
            scope = f"{function}.<locals>."
        elif isinstance(node, ast.ClassDef):
            scope += f"{node.name}."
        if function is not None:
            for target, text in _replacements(node):
                found[target.lineno, target.col_offset, text] = Change(target, text, function, default)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            walk(node.value, function, default, scope)
            return
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "reshape":
            for child in (node.func, *(each for each in node.args if ast.unparse(each) != "-1")):
                walk(child, function, default, scope)
            return
        for name, value in ast.iter_fields(node):
            is_default = False
            if isinstance(node, ast.FunctionDef) and name == "args":
                is_default, value = True, _read_defaults(node)
            if name not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        walk(child, function, default or is_default, scope)

    walk(ast.parse(source), None)
    return list(found.values())


def _read_defaults(function: ast.FunctionDef) -> list[ast.expr]:
    """The default values of those parameters that a function reads: it may have others for its interface only."""
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    own = function.args
    positional = [*own.posonlyargs, *own.args]
    pairs = [
        *zip(positional[len(positional) - len(own.defaults) :], own.defaults, strict=True),
        *zip(own.kwonlyargs, own.kw_defaults, strict=True),
    ]
    return [default for argument, default in pairs if default is not None and argument.arg in read]


def _is_left_out(node: ast.AST) -> bool:
    """Returns True for code whose changes make no difference to a program that is right."""
    match node:
        case ast.Assert() | ast.keyword(arg="strict" | "maxsize") | ast.FunctionDef(name="__repr__"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
        case _:
            return False


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
        case ast.Subscript(slice=ast.Constant(value=0) as index):
            yield index, "1"
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
            if (
                isinstance(statement, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue)
                and not _is_text(statement)
                and not _is_left_out(statement)
            ):
                yield statement, "pass"


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def mutant(source: str, rng: random.Random) -> tuple[str, Change] | None:
    """A module with one change, and the change; None if there is nothing to change."""
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
            return after, change
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
    """
    The tests (`file::function`, or `file`) that call each function of the source, and the seconds that they take.

    Functions of the source are named by file and qualified name.
    """

    callers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    functions: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many functions a test calls."""
    failed: set[str] = field(default_factory=set)
    """Cases (`file::function[case]`) that fail without any change, which say nothing."""

    @staticmethod
    def read(directory: Path) -> Calls:
        """What the processes of a run have noted."""
        calls = Calls()
        for path in directory.glob("*.json"):
            noted = json.loads(path.read_text())
            for test, each in noted["tests"].items():
                calls.seconds[test] += each["seconds"]
                calls.failed.update(each["failed"])
                for number in each["functions"]:
                    calls.callers[noted["functions"][number]].add(test)
        for tests in calls.callers.values():
            for test in tests:
                calls.functions[test] += 1
        return calls

    def seconds_of(self, test: str) -> float:
        """Of a test, or of all tests of a file."""
        of_file = (seconds for name, seconds in self.seconds.items() if name.startswith(f"{test}::"))
        return self.seconds[test] if test in self.seconds else sum(of_file) or 1.0

    def slices(self, function: str) -> Iterator[list[str]]:
        """
        The tests that call a function: first those that take little time and call little else, which say most. Then
        the other tests of the same files: what a cache or a fixture holds is computed once, for the first that asks.
        """
        direct = self.callers.get(function, set())
        files = {test.partition("::")[0] for test in direct}
        others = {test for test in self.seconds if test.partition("::")[0] in files} - direct
        for tests in (direct, others):
            left = sorted(tests, key=lambda test: (self.seconds[test] * self.functions[test], test))
            for most in (*_SLICES, float("inf")):
                total, count = 0.0, 0
                while count < len(left) and (count == 0 or total + self.seconds[left[count]] <= most):
                    total += self.seconds[left[count]]
                    count += 1
                if count:
                    yield left[:count]
                left = left[count:]


class CallNotes:
    """A plugin of pytest that notes which functions of the source each test function calls."""

    def __init__(self, directory: str):
        self._path = Path(directory, f"{os.getpid()}.json")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._notes: dict[str, dict] = {}
        self._numbers: dict[str, int] = {}
        self._own: set[int] = set()
        self._file = ""
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
                self._own.add(self._numbers.setdefault(f"{name}:{code.co_qualname}", len(self._numbers)))
        return self._monitoring.DISABLE

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.partition("[")[0]
        note = self._notes.setdefault(test, {"seconds": 0.0, "failed": set(), "functions": set()})
        note["seconds"] += report.duration
        if report.failed:
            note["failed"].add(report.nodeid)
        if report.when == "teardown":
            note["functions"] |= self._own
            self._own.clear()
            self._monitoring.restart_events()
            if self._file != (file := test.partition("::")[0]):
                self._file = file
                _clear_caches()

    def pytest_sessionfinish(self):
        sets = ("failed", "functions")
        tests = {test: note | {name: sorted(note[name]) for name in sets} for test, note in self._notes.items()}
        self._path.write_text(json.dumps({"functions": list(self._numbers), "tests": tests}))


def _clear_caches() -> None:
    """Forgets the results of the functions of the source, so that the next test that asks for one calls it."""
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "tirx"]
    for module in modules:
        for value in list(vars(module).values()):
            for each in (value, *vars(value).values()) if isinstance(value, type) else (value,):
                if isinstance(each, functools._lru_cache_wrapper):
                    each.cache_clear()


# Running mutants.


def _pytest(root: Path, tests: list[str], seconds: float, options: list[str]) -> None:
    """Runs tests in a copy of the tree. Ends the process, with the exit status of pytest."""
    status = 1
    try:
        os.setsid()  # with the processes that tests start it can be ended
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), -1))
        for stream in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        os.chdir(root)
        sys.path[:0] = paths = [str(root), str(root / "test")]
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
        import pytest

        status = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *options, *tests]))
    finally:
        os._exit(status)


def _status(root: Path, tests: list[str], seconds: float, options: list[str]) -> int:
    """The exit status of pytest; negative where the tests do not end in time."""
    process = multiprocessing.get_context("fork").Process(target=_pytest, args=(root, tests, seconds, options))
    process.start()
    process.join(_PATIENCE * seconds)
    if process.exitcode is None:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    assert process.exitcode is not None
    return process.exitcode


def _notices(root: Path, tests: list[str], seconds: float, failed: Iterable[str] = ()) -> bool:
    left_out = [f"--deselect={case}" for case in failed if case.startswith(tuple(tests))]
    return _status(root, tests, seconds, left_out) not in (0, 5)  # 5: no test


def _fails_in_all_cases(root: Path, tests: list[str]) -> bool:
    """Whether one of all cases of tests fails. That they take too long says nothing: nobody knows what is right."""
    return _status(root, tests, _SECONDS_OF_ALL_CASES, ["--all-cases"]) in (1, 2)


def _files() -> list[Path]:
    return [
        path.relative_to(ROOT)
        for folder in _FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(_LEFT_OUT)
    ]


@dataclass
class _Run:
    """Mutants by number, each process with a copy of the tree."""

    flags: argparse.Namespace
    files: list[Path]
    calls: Calls
    end: float
    directory: Path

    def examine(self, number: int) -> tuple[int, bool] | None:
        """Makes the mutant of a number, prints whether a test notices it, and returns that; None without time."""
        if time.time() > self.end:
            return None
        rng = random.Random(f"{self.flags.seed} {number}")
        sizes = [(ROOT / path).stat().st_size for path in self.files]
        found = None
        while found is None:
            path = rng.choices(self.files, sizes)[0]
            source = (ROOT / path).read_text()
            found = mutant(source, rng)
        changed, change = found
        root = self.tree()
        (root / path).write_text(changed)
        try:
            seen = self._is_noticed(root, path, change)
            tests = sorted(self.calls.callers.get(f"{path.as_posix()}:{change.function}", ()))
            in_all = seen is False and self.flags.all_cases and _fails_in_all_cases(root, tests)
        finally:
            (root / path).write_text(source)
        seen = seen or (in_all and not _fails_in_all_cases(root, tests))
        if seen is None:
            return None
        lines = [f"{number} {path}: {'SURVIVES' if not seen else 'noticed in all cases' if in_all else 'noticed'}"]
        if not seen:
            diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=3, lineterm="")
            lines += [f"    {line}" for line in list(diff)[2:]]
        print("\n".join(lines), flush=True)
        return number, seen

    def tree(self) -> Path:
        """The copy of the tree of this process."""
        root = self.directory / str(os.getpid())
        if not root.exists():
            ignored = shutil.ignore_patterns(
                ".git", "__pycache__", ".lit", ".hypothesis", "*.egg-info", "build", ".gpu"
            )
            shutil.copytree(ROOT, root, symlinks=True, ignore=ignored)
        return root

    def _is_noticed(self, root: Path, path: Path, change: Change) -> bool | None:
        """None if there is no time left to say."""
        slices = [] if self.flags.tests else list(self.calls.slices(f"{path.as_posix()}:{change.function}"))
        if change.default:
            slices.insert(0, [_OF_DEFAULTS])
        slices.append(self.flags.tests or tests_of(path, root))  # also what a table calls, once, when it is imported
        for tests in slices:
            usual = sum(self.calls.seconds_of(test) for test in tests)
            if time.time() + usual > self.end:
                return None
            if _notices(root, tests, _MOST_SECONDS + 5 * usual, self.calls.failed):
                return True
        return False


_run: _Run | None = None
"""What the processes of the pool do: they are forked."""


def _examine(number: int) -> tuple[int, bool] | None:
    assert _run is not None
    return _run.examine(number)


def main() -> int:
    """Makes mutants as the command line says, and prints how many are noticed."""
    parser = argparse.ArgumentParser(prog="test/mutants.py", description="single-fault mutants of the source")
    parser.add_argument("files", nargs="*", type=Path, help="files to change; all by default")
    parser.add_argument("--count", type=int, default=20, help="mutants")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", help="the tests to run, whatever the file")
    parser.add_argument("--calls", type=Path, help="where a run of the tests with TIRX_CALLS has noted who calls what")
    parser.add_argument("--all-cases", action="store_true", help="with --calls: survivors meet all cases")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds by the clock")
    flags = parser.parse_args()
    files = [path.resolve().relative_to(ROOT) for path in flags.files] or _files()
    calls = Calls() if flags.calls is None else Calls.read(flags.calls)
    if flags.calls is not None and not calls.callers:
        parser.error(f"nobody has noted in '{flags.calls}' who calls what")
    for name in _LIBRARIES:
        importlib.import_module(name)
    numbers = range(flags.first, flags.first + flags.count)
    global _run
    with tempfile.TemporaryDirectory(prefix="tirx-mutants-") as directory:
        _run = _Run(flags, files, calls, time.time() + flags.seconds, Path(directory))
        if _notices(_run.tree(), [_SOUND], _MOST_SECONDS):
            parser.error(f"{_SOUND} fails without any change: nothing that fails would mean anything")
        with ProcessPoolExecutor(flags.jobs, multiprocessing.get_context("fork")) as pool:
            results = dict(filter(None, pool.map(_examine, numbers)))
    made, noticed = len(results), sum(results.values())
    print(f"{made} mutants, {noticed} noticed ({100 * noticed / max(made, 1):.1f} %)")
    if left := sorted({*numbers} - {*results}):
        print(f"no time for {left}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
