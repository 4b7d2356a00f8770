"""The commands that look for what tests miss: `raise` statements that they do not execute, mutants, other outputs."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import calls
import mutants
import mutations
import outputs
import pytest
import raises
from sweeps.shares import Part, Sweep
from unit.cases import together

_SOURCE = """
def f(x):
    if x < 1:
        raise ValueError(f"too small, {'below' if x < 0 else 'not above'} 0")
    raise KeyError(x)

class A:
    def g(self):
        raise ValueError("too small")
        raise ValueError("too small")

    def h(self):
        raise NotImplementedError
        raise AssertionError("not here")
"""


def test_raise_statements_have_names_that_lines_do_not_change() -> None:
    names = [name for _, name in raises.statements(_SOURCE)]
    assert names == [
        "f: raise ValueError(too small, {(below if x < 0 else not above)} 0)",
        "f: raise KeyError(x)",
        "A.g: raise ValueError(too small)",
        "A.g: raise ValueError(too small) #2",
    ]
    assert [name for _, name in raises.statements("\n\n# moved\n" + _SOURCE)] == names


def test_a_statement_without_a_test_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(raises, "all_raises", lambda: {"a: tested", "b: new"})
    assert raises.compared({"a: tested", "c: gone"}) == 1
    assert capsys.readouterr().out == "no test executes: b: new\n2 raise statements, 1 without a test\n"
    assert raises.compared({"a: tested", "b: new"}) == 0


def test_a_mutant_has_one_change() -> None:
    before = _SOURCE.splitlines()
    for seed in range(20):
        found = mutations.mutant(_SOURCE, random.Random(seed))
        assert found is not None
        after = found[0].splitlines()
        assert len(after) == len(before)
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
        assert found[1].function in ("f", "A.g", "A.h")


def _changed(source: str, kind: str) -> set[str]:
    """Results of the changes of a kind to a source of one line."""
    return {change.apply(source) for change in mutations.changes(source) if change.kind == kind}


def test_changes_are_made_in_the_text() -> None:
    source = "def f(x: int | str) -> int | None: return {'\u00e9': (x if x < 7 else 8), 'b': f'{x + 1}'}  # \u00e9"
    start, end = "def f(x: int | str) -> int | None: return {'\u00e9': (x if ", "), 'b': f'{x + 1}'}  # \u00e9"
    assert _changed(source, "comparison") == {f"{start}((x) {sign} (7)) else 8{end}" for sign in ("<=", ">=")}
    numbers = {("8", "8"), ("6", "8"), ("7", "9"), ("7", "7")}
    assert _changed(source, "number") == {f"{start}x < {one} else {other}{end}" for one, other in numbers}
    assert _changed(source, "condition") == {f"{start}(not (x < 7)) else 8{end}"}


@together(
    ("kind", "source", "expected"),
    [
        ("condition", "def f(): g = a and b and c", [
            "((a) or (b) or (c))", "((b) and (c))", "((a) and (c))", "((a) and (b))",
        ]),
        ("condition", "def f(): g = not a", ["bool(a)"]),
        ("condition", "def f(): g = [x for x in y if x]", ["[x for x in y if (not (x))]"]),
        ("comparison", "def f(): g = a < b <= c", [
            "((a) <= (b) <= (c))", "((a) >= (b) <= (c))", "((a) < (b) < (c))", "((a) < (b) > (c))",
        ]),
        ("text", "def f(): g = 'mma.sync'", ["'mma.~ync'"]),
        ("text", "def f(): g = f'ld.{x}.b{n} '", ["f'l~.{x}.b{n} '", "f'ld.{x}.~{n} '"]),
        ("text", "g = {'add': 'a'}", ["{'a~d': 'a'}", "{'add': '~'}"]),
        ("text", "g = list['A']()", []),
        ("operator", "g = dict[str, int | float]()", []),
        ("number", "g = (2, True)", ["(3, True)", "(1, True)", "(2, False)"]),
        ("operator", "def f(): g = 1 << n", ["((1) >> (n))"]),
    ],
)  # fmt: skip
def test_operators(kind: str, source: str, expected: list[str]) -> None:
    start = source.partition("g = ")[0]
    assert _changed(source, kind) == {f"{start}g = {each}" for each in expected}


def test_statements_alone_in_their_block_go() -> None:
    source = "def f(x):\n    if x:\n        raise E(x)\n    else:\n        g()\n    return 1\n"
    texts = [change.apply(source) for change in mutations.changes(source) if change.kind == "statement"]
    assert texts == [source.replace("raise E(x)", "pass"), source.replace("g()", "pass")]


def test_guards_and_loops_ask_the_opposite() -> None:
    source = "def f(x):\n    while x:\n        match x:\n            case 1 if y:\n                return x\n"
    texts = {change.apply(source) for change in mutations.changes(source) if change.kind == "condition"}
    assert texts == {source.replace("while x", "while (not (x))"), source.replace("if y", "if (not (y))")}


def test_kinds_come_before_their_numbers() -> None:
    """A table of texts leaves room for the one condition."""
    source = f"T = {[str(number) for number in range(500)]}\ndef f(x): return not x\n"
    kinds = [found[1].kind for seed in range(40) if (found := mutations.mutant(source, random.Random(seed)))]
    assert 8 < kinds.count("condition") < 32


def test_indices_and_defaults() -> None:
    changes = mutations.changes("def f(x, y=3):\n    return x[0] if y else x[2]\n")
    assert [(each.text, each.default) for each in changes if each.text.strip("()-").isdigit()] == [
        ("4", True), ("2", True), ("1", False), ("3", False), ("1", False),
    ]  # fmt: skip


def test_what_says_nothing_is_not_changed() -> None:
    source = (
        "def f(x: list[1], unread=5):\n    'Text.'\n    assert x > 1\n    y: dict[1, 2] = x\n"
        "    return zip(x, y, strict=True)\n"
        "@dataclass(frozen=True)\nclass A:\n    @lru_cache(maxsize=7)\n    def __repr__(self):\n        return 3\n"
        "    def g(self):\n        raise NotImplementedError\n"
        "    def h(self):\n        raise AssertionError(f'{self} is not here')\n"
        "T = TypeVar('T')\nL = Literal['a']\nS: TypeAlias = 'A | int'\nx = cast('A', y)\n"
        "if TYPE_CHECKING:\n    z = 1\n"
    )
    assert mutations.changes(source) == []


def test_tests_that_call_a_function_come_in_order_of_what_they_say(tmp_path: Path) -> None:
    def note(seconds: float, functions: list[int], *failed: str) -> dict[str, object]:
        return {"seconds": seconds, "functions": functions, "failed": failed}

    first = {"functions": ["a.py:3", "a.py:9"], "tests": {"t::slow": note(50.0, [0]), "t::wide": note(1.0, [0, 1])}}
    second = {"functions": ["a.py:9", "a.py:3"], "tests": {"t::slow": note(20.0, [1]), "u::own": note(1.5, [1])}}
    broken = {
        "functions": ["a.py:3"],
        "tests": {"t::partly": note(100.0, [0], "t::partly[1]"), "t::other": note(1.0, [])},
    }
    for number, each in enumerate((first, second, broken)):
        (tmp_path / f"{number}.json").write_text(json.dumps(each))
    found = calls.Calls.read(tmp_path)
    path = Path("a.py")
    assert list(found.slices(path, "3")) == [["u::own"], ["t::wide"], ["t::slow"], ["t::partly"], ["t::other"]]
    assert found.failed == {"t::partly[1]"}
    # Nobody calls it, or it is a value of the module: what calls anything in the file.
    assert list(found.slices(path, "4")) == [["u::own"], ["t::wide"], ["t::slow"], ["t::partly"]]
    assert list(found.slices(Path("b.py"), "4")) == [["t::other"], ["u::own", "t::wide"], ["t::slow"], ["t::partly"]]


def test_values_of_modules_are_for_the_files_that_import_them() -> None:
    path = Path("passes/rings/proof/errors.py")
    assert Path("passes/rings/proof/replay.py") in calls.importers(path)
    assert Path("tirx/layout/axis.py") not in calls.importers(path)
    noted = calls.Calls(seconds=defaultdict(float, {"t::rings": 1.0, "t::layouts": 1.0}))
    noted.callers["passes/rings/proof/replay.py:State.run"].add("t::rings")
    assert list(noted.slices(path, mutations.MODULE)) == [["t::rings"]]
    # Who is the first to import the file says nothing.
    noted.seconds |= {"u::first": 0.5, "t::errors": 2.0}
    noted.callers[f"{path}:{mutations.MODULE}"].add("u::first")
    noted.callers[f"{path}:RaceError.of"].add("t::errors")
    assert list(noted.slices(path, mutations.MODULE)) == [["u::first"], ["t::errors"], ["t::rings"]]


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("def test_a(): assert True", mutants.Outcome.SURVIVES),
        ("def test_a(): assert False", mutants.Outcome.NOTICED),
        ("def test_a():\n    while True: pass", mutants.Outcome.UNDECIDED),
        ("def test_a():\n    while True: pass\ndef test_b(): assert False", mutants.Outcome.NOTICED),
        ("import nothing_of_this_name", mutants.Outcome.NOTICED),
    ],
)
def test_a_test_that_does_not_end_has_not_failed(
    body: str, outcome: mutants.Outcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mutants, "_SECONDS_OF_A_TEST", 0.1)
    (tmp_path / "test_it.py").write_text(body)
    # Only what does not end comes to its limit, however slow the machine is.
    seconds = {"test_it.py::test_a": 0.01 if "while" in body else 60.0, "test_it.py::test_b": 60.0}
    usual = calls.Calls(seconds=defaultdict(float, seconds))
    assert mutants.outcome_of(tmp_path, ["test_it.py"], usual) is outcome


def test_undecided_mutants_are_counted_apart() -> None:
    of = mutants.Outcome
    assert mutants.summary([of.NOTICED, of.NOTICED, of.UNDECIDED, of.SURVIVES]) == (
        "4 mutants, 2 noticed by failing tests (50.0 %), 1 undecided, 1 survive"
    )


def test_tests_of_a_file_mirror_it() -> None:
    found = calls.tests_of(Path("passes/layouts/tirx_mem2reg.py"))
    assert {"test/passes/tirx-mem2reg.mlir", "test/passes/tirx-mem2reg-invalid.mlir"} <= set(found)
    assert "test/unit/layout/test_swizzle.py" in calls.tests_of(Path("tirx/layout/swizzle.py"))


def test_another_output_is_an_error() -> None:
    text = f"{outputs.ROOT}/a.mlir: wrong"
    assert outputs.digest(text) == outputs.digest("/a.mlir: wrong") != outputs.digest("/a.mlir: right")
    with pytest.raises(outputs.ChangedOutputError, match=r"`python test/outputs.py --since HEAD examples/attention`"):
        outputs.check("examples/attention", text)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_an_output_is_compared_line_by_line_with_that_of_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "test" / "outputs.py"
    script.parent.mkdir()
    script.write_text("import pathlib, sys\npathlib.Path(sys.argv[2], 'said.out').write_text('a\\nb\\n')\n")
    for command in ("init", "add .", "-c user.name=a -c user.email=a@b.c commit -m a"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(outputs, "ROOT", tmp_path)
    found = outputs.since("HEAD", {"said": f"{tmp_path}a\nc\n"})
    assert found.splitlines() == ["--- said at HEAD", "+++ said now", "@@ -1,2 +1,2 @@", " a", "-b", "+c"]
    with pytest.raises(subprocess.CalledProcessError, match=r"rev-parse --verify|'rev-parse', '--verify', 'HEAD~1"):
        outputs.since("HEAD~1", {"said": ""})


def test_differences_of_outputs_in_full_name_the_words() -> None:
    recorded = outputs.stored("executing/redux")
    assert recorded is not None and outputs.check("executing/redux", recorded) is None
    line = next(
        each for each in recorded.splitlines() if each.startswith("redux.sync.min.f32") and " 80000000 " in each
    )
    changed = recorded.replace(line, line.replace(" 80000000 ", " 0 ", 1))
    with pytest.raises(
        outputs.ChangedOutputError, match=r"(?s)1 of \d+ lines differ.*redux.sync.min.f32.*80000000, now 0"
    ):
        outputs.check("executing/redux", changed)
    assert outputs.differences("a\nb", "a\nc\nb").splitlines()[-1] == "+c"


def _stops_the_sweep(number: int) -> dict[str, int]:
    """The second task sends SIGTERM to the process of the sweep, and does not end."""
    if number == 2:
        os.kill(os.getppid(), signal.SIGTERM)
        time.sleep(600)
    return {"found": number}


def test_a_sweep_that_is_ended_has_results() -> None:
    """Results of the tasks that are done come out, processes of the others end, and the signal is as it was."""
    before = signal.getsignal(signal.SIGTERM)
    sweep = Sweep(jobs=1, seconds=60, part=Part(), results=None)
    found = [(task, result["found"]) for task, result in sweep.run([("a", 1), ("b", 2), ("c", 3)], _stops_the_sweep)]
    assert found == [(1, 1)] and signal.getsignal(signal.SIGTERM) is before
