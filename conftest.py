"""Makes every lit test a pytest item, and takes samples of long lists of cases."""

# pyright: basic, reportMissingTypeStubs=false
# lit has no type information.

from __future__ import annotations

import gc
import os
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import calls
import lit.discovery
import lit.LitConfig
import lit.Test
import outputs
import pytest
import raises
from hypothesis import settings
from hypothesis.internal.conjecture import providers

if raises.VARIABLE in os.environ:
    raises.install(os.environ[raises.VARIABLE])

# What a pass would take back, because it cannot prove its rings right, is an error in tests.
os.environ.setdefault("TIRX_STRICT_SCHEDULE", "1")

# IR is full of cycles that are in use: the collector runs far less often than by default. Compilations pause it; behind
# them, garbage that still is in the caches of the CPU is collected faster than more of it at once.
gc.set_threshold(50_000, 10, 10)
gc.disable()  # until everything is collected: what is read before then stays

# A sample in every run; `pytest --hypothesis-profile=thorough` looks further. Times depend on the machine.
settings.register_profile("sample", deadline=None, max_examples=10)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile("sample")
# Constants of sources are no likelier inputs than others here; to look for them, each process parses all its modules.
providers.__dict__["is_local_module_file"] = lambda path: False


@cache
def _lit_tests() -> tuple[lit.LitConfig.LitConfig, dict[Path, Any]]:
    """The lit tests by file; one discovery reads the configuration once."""
    config = lit.LitConfig.LitConfig(
        progname="pytest",
        path=[],
        diagnostic_level="error",
        useValgrind=False,
        valgrindLeakCheck=False,
        valgrindArgs=[],
        noExecute=False,
        debug=False,
        isWindows=os.name == "nt",
        order="smart",
        params={},
    )
    found = lit.discovery.find_tests_for_inputs(config, [str(Path(__file__).parent / "test")])
    return config, {Path(test.getSourcePath()): test for test in found}


class LitFailure(Exception):
    """A lit test failed; the message is its transcript."""


class LitItem(pytest.Item):
    """One lit test."""

    def __init__(self, *, test: Any, lit_config: lit.LitConfig.LitConfig, **kwargs: Any):
        super().__init__(**kwargs)
        self._test = test
        self._lit_config = lit_config

    def runtest(self) -> None:
        self._test.setResult(self._test.config.test_format.execute(self._test, self._lit_config))
        result = self._test.result
        if result.code is lit.Test.UNSUPPORTED:
            pytest.skip(result.output)
        if result.code.isFailure:
            raise LitFailure(f"{result.code.name}\n{result.output}")
        if (printed := getattr(result, "printed", None)) is not None:
            outputs.check(self.path.relative_to(outputs.ROOT).as_posix(), printed)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, LitFailure):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"lit: {'/'.join(self._test.path_in_suite)}"


class LitFile(pytest.File):
    """A file that may hold a lit test; lit decides."""

    def collect(self) -> Iterator[LitItem]:
        lit_config, tests = _lit_tests()
        if (test := tests.get(self.path)) is not None:
            yield LitItem.from_parent(self, name="lit", test=test, lit_config=lit_config)


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> LitFile | None:
    if file_path.suffix != ".mlir" or not {"Inputs", "corpus"}.isdisjoint(file_path.parts):
        return None
    return LitFile.from_parent(parent, path=file_path)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """
    Every other process collects directories from the end on, and finds there the bytecode that the others have written.

    The first run in a checkout rewrites and compiles all test files; in the same order, each process would do it all.
    """
    report = yield
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if isinstance(collector, pytest.Directory) and report.result is not None and int(number) % 2:
        report.result.reverse()
    return report


def pytest_configure(config: pytest.Config) -> None:
    distributes = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    if distributes:  # workers divide the cores, not the libraries that numpy calls in them
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")
    if calls.VARIABLE in os.environ and not distributes:
        config.pluginmanager.register(calls.CallNotes(os.environ[calls.VARIABLE]))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-cases", action="store_true", help="all cases of tests that are marked `sample`")


def _left_out(name: str, cases: list[pytest.Item], count: int) -> list[pytest.Item]:
    """All but `count` of the cases of a test, which have each value of each parameter about as often as the others."""
    dropped = random.Random(name).sample(cases, max(0, len(cases) - count))
    left = sorted(cases, key=set(dropped).__contains__)
    values = {
        case: [f"{key} {value!r}" for key, value in getattr(getattr(case, "callspec", None), "params", {}).items()]
        for case in cases
    }
    used = Counter[str]()
    for _ in range(min(count, len(cases))):
        chosen = min(left, key=lambda case: sum(used[value] for value in values[case]))
        left.remove(chosen)
        used.update(values[chosen])
    return left


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """
    Of a test marked `sample(n)`, n cases stay: always the same ones.

    Tests with a browser come first, so that one process has all of them, and not each a browser. All processes have the
    same order of files.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: item.path)
    items.sort(key=lambda item: "browser" not in getattr(item, "fixturenames", ()))
    if config.getoption("--all-cases"):
        return
    groups: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("sample")) is not None:
            groups[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    left_out = {case for (name, count), cases in groups.items() for case in _left_out(name, cases, count)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """What was imported and collected stays: the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_unconfigure() -> Generator[None, None, None]:
    """Pytest has collected what is left: to collect it again at the end of the process takes seconds."""
    yield
    gc.freeze()


@pytest.fixture(scope="session")
def sampled(request: pytest.FixtureRequest) -> Callable[[Iterable[Any], int], list[Any]]:
    """`sampled(cases, n)`: n of the cases, in their order, for a test that has many in one; all with --all-cases."""

    def sample(cases: Iterable[Any], count: int) -> list[Any]:
        listed = list(cases)
        if request.config.getoption("--all-cases") or len(listed) <= count:
            return listed
        chosen = random.Random(count).sample(range(len(listed)), count)
        return [listed[index] for index in sorted(chosen)]

    return sample
