"""
Single-fault mutants of the source, and which of them tests notice: `python test/mutants.py --count 20 --seed 0`.

A mutant is one change of one function of `tirx`, `dialects` or `passes`, or of a value of a module; `mutations.py` says
what is changed and what is not, and why. Besides, `tirx/viz/browser.py` is not: its tests need a browser. A mutant is a
function of the seed and its number.

It is noticed if a test fails: one of `--tests`, or of those that execute the changed function, the quickest before the
others, and of those whose path mirrors that of the file or which name it; with `--all-cases`, in all their cases as
well. Who executes what a run of all tests has noted in `--calls`; without, or where nothing is noted yet, that run is
made first. Of what no test calls, those tests are run that call anything in the file, or in files that import it.

A test that does not end has not failed. The others go on without it, and if none of them fails, the mutant is
undecided, which is counted apart. Survivors and undecided mutants are printed as a diff: they need a test, or are
equivalent to the source. The source is changed in copies of the tree.
"""

# pyright: basic

from __future__ import annotations

import argparse
import difflib
import gc
import importlib
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import mutations
import pytest
from calls import ROOT, VARIABLE, Calls, sources, tests_of
from mutations import MODULE, Change, mutant

_LEFT_OUT = Path("tirx/viz/browser.py")
"""Not changed: it drives a browser, which its tests need."""

_SOUND = "test/unit/test_universe.py"
"""A test that passes where tests can run at all."""

_OF_DEFAULTS = "test/unit/test_signatures.py"
"""A test of the defaults of all parameters and fields, which does not call the functions."""

_OF_NAMES = "test/unit/test_public_names.py::test_exported_names"
"""A test of the names that modules export, whoever imports them."""

_SECONDS_OF_A_TEST = 10.0
"""Processor time of a test beyond five times its own, after which it is taken not to end."""

_MOST_SECONDS = 30.0
"""Processor time of a run of tests beyond fifteen times its own, whatever happens to its limits of tests."""

_SECONDS_OF_ALL_CASES = 240.0
"""Processor time of a run of tests with all their cases."""

_PATIENCE = 4
"""Tests that wait, or share their processor with others, may take so many times their processor time."""

_ENDLESS = 2
"""Tests that do not end, after which a run is given up; and such runs, after which a mutant is."""

_UNDECIDED = 100
"""The exit status of a run of tests of which some do not end, and no other one fails."""

_LIBRARIES = (
    "numpy",
    "ml_dtypes",
    "xdsl.dialects.builtin",
    "xdsl.dialects.scf",
    "xdsl.dialects.linalg",
    "rich",
)
"""Imported once, for all runs of tests."""


class Outcome(Enum):
    """Verdict of tests about a mutant."""

    NOTICED = "noticed"
    IN_ALL_CASES = "noticed in all cases"
    UNDECIDED = "undecided: tests do not end"
    SURVIVES = "SURVIVES"


class _TestTakesTooLong(BaseException):
    """Raised in a test at its limit."""


def _set_timers(processor: float, clock: float) -> None:
    """Sends a signal after seconds of processor time and one by the clock; 0: not."""
    signal.setitimer(signal.ITIMER_PROF, processor)
    signal.setitimer(signal.ITIMER_REAL, clock)


class _Limits:
    """A plugin of pytest that ends tests at their limits, as neither passed nor failed."""

    def __init__(self, seconds: Mapping[str, float]):
        self._seconds = seconds
        self.endless = 0
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, self._end)

    def _end(self, *_) -> None:
        _set_timers(0, 0)  # the other one must not end the report of the test
        self.endless += 1
        raise _TestTakesTooLong

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        seconds = _SECONDS_OF_A_TEST + 5 * self._seconds.get(item.nodeid.partition("[")[0], 1.0)
        _set_timers(seconds, _PATIENCE * seconds)
        try:
            return (yield)
        finally:
            _set_timers(0, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.excinfo is not None and call.excinfo.errisinstance(_TestTakesTooLong):
            report.outcome, report.longrepr = "skipped", (str(item.path), 0, "does not end")
            if self.endless >= _ENDLESS:
                item.session.shouldstop = "tests do not end"
        return report


def _pytest(root: Path, tests: list[str], seconds: float, options: list[str], usual: Mapping[str, float]) -> None:
    """Runs tests in a copy of the tree. Ends the process, with the exit status of pytest or `_UNDECIDED`."""
    status = 1
    gc.freeze()  # what was made before stays: to look at it takes longer than most tests
    try:
        os.setsid()  # with the processes that tests start it can be ended
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), -1))
        for stream in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        os.chdir(root)
        sys.path[:0] = paths = [str(root), str(root / "test")]
        os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
        limits = _Limits(usual)
        arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *options, *tests]
        status = int(pytest.main(arguments, plugins=[limits]))
        if limits.endless and status != 1:
            status = _UNDECIDED
    finally:
        os._exit(status)


def _status(root: Path, tests: list[str], seconds: float, options: list[str], usual: Mapping[str, float]) -> int:
    """The exit status of pytest; `_UNDECIDED` where the tests do not end."""
    arguments = (root, tests, seconds, options, usual)
    process = multiprocessing.get_context("fork").Process(target=_pytest, args=arguments)
    process.start()
    left = _PATIENCE * seconds if _run is None else min(_PATIENCE * seconds, _run.end - time.time())
    process.join(max(left, 0))
    if process.exitcode is None:
        assert process.pid is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.join()
    assert process.exitcode is not None
    return _UNDECIDED if process.exitcode in (-signal.SIGKILL, -signal.SIGXCPU) else process.exitcode


def outcome_of(root: Path, tests: list[str], calls: Calls) -> Outcome:
    """Runs tests on the source in a copy of the tree, and returns their verdict."""
    left_out = [f"--deselect={case}" for case in calls.failed if case.startswith(tuple(tests))]
    seconds = _MOST_SECONDS + 15 * sum(map(calls.seconds_of, tests))
    status = _status(root, tests, seconds, left_out, calls.seconds)
    if status in (0, 5):  # 5: no test
        return Outcome.SURVIVES
    return Outcome.UNDECIDED if status == _UNDECIDED else Outcome.NOTICED


def _fails_in_all_cases(root: Path, tests: list[str]) -> bool:
    """Returns True if one of all cases of tests fails."""
    usual = dict.fromkeys(tests, _SECONDS_OF_ALL_CASES)
    return _status(root, tests, _SECONDS_OF_ALL_CASES, ["--all-cases"], usual) in (1, 2)


@dataclass
class _Run:
    """Mutants by number, each process with a copy of the tree."""

    flags: argparse.Namespace
    files: list[Path]
    calls: Calls
    end: float
    directory: Path

    def examine(self, number: int) -> tuple[int, Outcome] | None:
        """Makes the mutant of a number, prints what tests say about it, and returns that; None without time."""
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
        # Bytecode goes by the time of its source: no two mutants have the same, nor one that of the source.
        written = (ROOT / path).stat().st_mtime_ns + (number + 1) * 1_000_000_000
        os.utime(root / path, ns=(written, written))
        try:
            outcome = self._outcome(root, path, change)
            tests = sorted(self.calls.callers.get(f"{path.as_posix()}:{change.function}", ()))
            in_all = outcome is Outcome.SURVIVES and self.flags.all_cases and _fails_in_all_cases(root, tests)
        finally:
            shutil.copy2(ROOT / path, root / path)
        if outcome is None:
            return None
        if in_all and not _fails_in_all_cases(root, tests):
            outcome = Outcome.IN_ALL_CASES
        lines = [f"{number} {path}: {outcome.value}"]
        if outcome in (Outcome.SURVIVES, Outcome.UNDECIDED):
            diff = difflib.unified_diff(source.splitlines(), changed.splitlines(), n=3, lineterm="")
            lines += [f"    {line}" for line in list(diff)[2:]]
        print("\n".join(lines), flush=True)
        return number, outcome

    def tree(self) -> Path:
        """The copy of the tree of this process."""
        root = self.directory / str(os.getpid())
        if not root.exists():
            ignored = shutil.ignore_patterns(
                ".git", "__pycache__", ".lit", ".hypothesis", "*.egg-info", "build", ".gpu"
            )
            shutil.copytree(ROOT, root, symlinks=True, ignore=ignored)
        return root

    def _outcome(self, root: Path, path: Path, change: Change) -> Outcome | None:
        """None if there is no time left to say."""
        slices = [] if self.flags.tests else list(self.calls.slices(path, change.function))
        if change.default:
            slices.insert(0, [_OF_DEFAULTS])
        if change.function == MODULE and not self.flags.tests:
            slices.append([_OF_NAMES])
        if tests := self.flags.tests or tests_of(path, root):  # also what a table calls, once, when it is imported
            slices.append(tests)
        endless = 0
        for tests in slices:
            if time.time() + sum(map(self.calls.seconds_of, tests)) > self.end:
                return None
            outcome = outcome_of(root, tests, self.calls)
            if outcome is Outcome.NOTICED:
                return outcome
            if time.time() > self.end:
                return None
            endless += outcome is Outcome.UNDECIDED
            if endless == _ENDLESS:
                break
        return Outcome.UNDECIDED if endless else Outcome.SURVIVES


_run: _Run | None = None
"""Examination that the processes of the pool do: they are forked."""


def _examine(number: int) -> tuple[int, Outcome] | None:
    assert _run is not None
    return _run.examine(number)


def main() -> int:
    """Makes mutants as the command line says, and prints how many are noticed."""
    parser = argparse.ArgumentParser(
        prog="test/mutants.py",
        description=f"{__doc__}\nmutations.py: {mutations.__doc__}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", type=Path, help="files to change; all by default")
    parser.add_argument("--count", type=int, default=20, help="mutants")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", help="the tests to run, whatever the file")
    parser.add_argument("--calls", type=Path, help="where who calls what is noted, or will be")
    parser.add_argument("--all-cases", action="store_true", help="survivors meet all cases of the tests")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many seconds by the clock")
    flags = parser.parse_args()
    end = time.time() + flags.seconds
    files = [path.resolve().relative_to(ROOT) for path in flags.files] or [
        path for path in sources() if path != _LEFT_OUT
    ]
    if missing := [test for test in flags.tests or () if not (ROOT / test.partition("::")[0]).exists()]:
        parser.error(f"expected tests that exist, found {', '.join(missing)}")  # pytest fails of them, for any mutant
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # mutants divide the cores
    numbers = range(flags.first, flags.first + flags.count)
    global _run
    with tempfile.TemporaryDirectory(prefix="tirx-mutants-") as directory:
        calls = Calls() if flags.tests else _calls(flags.calls or Path(directory, "calls"), flags.jobs)
        for name in _LIBRARIES:
            importlib.import_module(name)
        _run = _Run(flags, files, calls, end, Path(directory))
        if outcome_of(_run.tree(), [_SOUND], calls) is not Outcome.SURVIVES:
            parser.error(f"{_SOUND} fails without any change: nothing that fails would mean anything")
        with ProcessPoolExecutor(flags.jobs, multiprocessing.get_context("fork")) as pool:
            results = dict(filter(None, pool.map(_examine, numbers)))
    print(summary(results.values()))
    if left := sorted({*numbers} - {*results}):
        print(f"no time for {left}")
    return 0


def _calls(directory: Path, jobs: int) -> Calls:
    """Who calls what: as noted in a directory, or by a run of all tests that notes it there."""
    if not any(directory.glob("*.json")):
        command = [sys.executable, "-m", "pytest", "-q", *(("-n", str(jobs)) if jobs > 1 else ())]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, VARIABLE: str(directory.resolve())}, capture_output=True, text=True
        )
        print(f"all tests, for who calls what: {done.stdout.strip().rpartition(chr(10))[2]}", flush=True)
        if not any(directory.glob("*.json")):
            raise SystemExit(f"the run of all tests noted nothing:\n{done.stdout}{done.stderr}")
    return Calls.read(directory)


def summary(outcomes: Iterable[Outcome]) -> str:
    """The last line: how many mutants failing tests have noticed, and what the others are."""
    counts = Counter(outcomes)
    made, noticed = sum(counts.values()), counts[Outcome.NOTICED] + counts[Outcome.IN_ALL_CASES]
    return (
        f"{made} mutants, {noticed} noticed by failing tests ({100 * noticed / max(made, 1):.1f} %), "
        f"{counts[Outcome.UNDECIDED]} undecided, {counts[Outcome.SURVIVES]} survive"
    )


if __name__ == "__main__":
    sys.exit(main())
