"""
Tests by the parts of the source that they execute: noted by `pytest` with `TIRX_CALLS=DIR`, one file a process.

Without notes, the tests of a file are those whose names mirror it, and those that import it.
"""

# pyright: basic

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path

from mutations import MODULE

ROOT = Path(__file__).resolve().parents[1]
VARIABLE = "TIRX_CALLS"
FOLDERS = ("tirx", "dialects", "passes")
LINKS = ("tirx/dialects/", "tirx/passes/")
"""Links to folders that are there already."""

_SLICES = (2.0, 10.0, 60.0)
"""Tests that call a function are run in parts: first so many seconds of them, then more, then all."""


def sources() -> list[Path]:
    """The files of the source, from the root."""
    return [
        path.relative_to(ROOT)
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(LINKS)
    ]


def _module(path: Path) -> str:
    """The name by which a file of the source is imported."""
    names = path.with_suffix("").parts
    names = names[:-1] if names[-1] == "__init__" else names
    return ".".join(names if names[0] == "tirx" else ("tirx", *names))


@functools.cache
def _texts() -> dict[Path, str]:
    return {path: (ROOT / path).read_text() for path in sources()}


def importers(path: Path) -> set[Path]:
    """The files of the source that import from a file of it."""
    imports = re.compile(rf"^\s*(from|import) {re.escape(_module(path))} ", re.MULTILINE)
    return {each for each, text in _texts().items() if imports.search(text)}


def tests_of(path: Path, root: Path = ROOT) -> list[str]:
    """The tests of a file of the source: those whose names mirror it, and those that import it. There may be none."""
    stem, folder, module = path.stem, path.parent.name, _module(path)
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
    return [str(each.relative_to(root)) for each in found]


@dataclass
class Calls:
    """
    The tests (`file::function`, or `file`) that call each function of the source, and the seconds that they take.

    Functions of the source are named by file and qualified name.
    """

    callers: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    functions: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Functions that a test calls, counted."""
    failed: set[str] = field(default_factory=set)
    """Cases (`file::function[case]`) that fail without any change, which say nothing."""

    @staticmethod
    def read(directory: Path) -> Calls:
        """Reads the notes of all processes of a run."""
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

    def slices(self, path: Path, function: str) -> Iterator[list[str]]:
        """
        The tests that execute a function of a file: first those that take little time and call little else, which say
        most. Then the other tests of the same files: what a cache or a fixture holds is computed once, for the first
        that asks.

        Of a function that nobody calls, and of what is executed once, by whoever imports the file first (the values of
        a module, and the functions that make them): also the tests that call anything in the file, and then those that
        call anything in the files that import it; if there are none, all tests.
        """
        direct = self.callers.get(f"{path.as_posix()}:{function}", set())
        files = {test.partition("::")[0] for test in direct}
        groups = [direct, {test for test in self.seconds if test.partition("::")[0] in files}]
        if direct <= self._importing({path, *importers(path)}):
            groups += [self._callers_in({path}), self._callers_in(importers(path))]
        if not any(groups):
            groups = [set(self.seconds)]
        seen: set[str] = set()
        for tests in groups:
            left = sorted(tests - seen, key=lambda test: (self.seconds[test] * self.functions[test], test))
            seen |= tests
            for most in (*_SLICES, float("inf")):
                total, count = 0.0, 0
                while count < len(left) and (count == 0 or total + self.seconds[left[count]] <= most):
                    total += self.seconds[left[count]]
                    count += 1
                if count:
                    yield left[:count]
                left = left[count:]

    def _importing(self, paths: Set[Path]) -> set[str]:
        """The tests in which one of the files is imported."""
        return set[str]().union(*(self.callers.get(f"{path.as_posix()}:{MODULE}", ()) for path in paths))

    def _callers_in(self, paths: Set[Path]) -> set[str]:
        """The tests that call a function of one of the files."""
        names = {path.as_posix() for path in paths}
        found = (tests for function, tests in self.callers.items() if function.partition(":")[0] in names)
        return set[str]().union(*found)


class CallNotes:
    """A plugin of pytest that notes which functions of the source each test function calls."""

    def __init__(self, directory: str):
        self._path = Path(directory, f"{os.getpid()}.json")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._notes: dict[str, dict] = {}
        self._numbers: dict[str, int] = {}
        self._own: set[int] = set()
        self._file = ""
        self._known: dict[str, str | None] = {}
        self._monitoring = getattr(sys, "monitoring", None)  # Python 3.12
        if self._monitoring is None:
            sys.setprofile(lambda frame, event, _: self._called(frame.f_code, 0) if event == "call" else None)
            return
        tool = self._monitoring.COVERAGE_ID
        self._monitoring.use_tool_id(tool, "calls")
        self._monitoring.register_callback(tool, self._monitoring.events.PY_START, self._called)
        self._monitoring.set_events(tool, self._monitoring.events.PY_START)

    def _called(self, code, _):
        if (name := self._name(code.co_filename)) is not None:
            self._own.add(self._numbers.setdefault(f"{name}:{code.co_qualname}", len(self._numbers)))
        return None if self._monitoring is None else self._monitoring.DISABLE

    def _name(self, file: str) -> str | None:
        """A file of the source, from the root; None for another file."""
        if file not in self._known:
            name = os.path.relpath(os.path.realpath(file), ROOT) if file.startswith(str(ROOT)) else ""
            self._known[file] = name if name.partition(os.sep)[0] in FOLDERS else None
        return self._known[file]

    def pytest_runtest_logreport(self, report):
        test = report.nodeid.partition("[")[0]
        note = self._notes.setdefault(test, {"seconds": 0.0, "failed": set(), "functions": set()})
        note["seconds"] += report.duration
        if report.failed:
            note["failed"].add(report.nodeid)
        if report.when == "teardown":
            note["functions"] |= self._own
            self._own.clear()
            if self._monitoring is not None:
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
