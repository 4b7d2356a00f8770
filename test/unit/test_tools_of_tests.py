"""The commands that look for what tests miss: `raise` statements that they do not execute, mutants, other outputs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import mutants
import outputs
import pytest
import raises

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
        found = mutants.mutant(_SOURCE, random.Random(seed))
        assert found is not None
        after = found[0].splitlines()
        assert len(after) == len(before)
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
        assert found[1].function in ("f", "A.g", "A.h")


def test_changes_are_made_in_the_text() -> None:
    source = (
        "def f(x: int | str) -> int | None:  # \u00e9\n    return {'\u00e9': (x if x < 7 else 8), 'b': f'{x + 1}'}\n"
    )
    texts = {change.apply(source).splitlines()[1] for change in mutants.changes(source)}
    assert texts == {
        f"    return {{'\u00e9': (x if {condition} else {other}), 'b': f'{{x + 1}}'}}"
        for condition, other in [("((x) <= (7))", 8), ("((x) >= (7))", 8), ("x < 8", 8), ("x < 6", 8)]
        + [("x < 7", 9), ("x < 7", 7)]
    }


def test_indices_and_defaults() -> None:
    changes = mutants.changes("def f(x, y=3):\n    return x[0] if y else x[2]\n")
    assert [(each.text, each.default) for each in changes if each.text.strip("()-").isdigit()] == [
        ("4", True), ("2", True), ("1", False), ("3", False), ("1", False),
    ]  # fmt: skip


def test_what_says_nothing_is_not_changed() -> None:
    source = (
        "def f(x: list[1], unread=5):\n    assert x > 1\n    y: dict[1, 2] = x\n    return zip(x, y, strict=True)\n"
        "class A:\n    @lru_cache(maxsize=7)\n    def __repr__(self):\n        return 3\n"
    )
    assert mutants.changes(source) == []


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
    calls = mutants.Calls.read(tmp_path)
    assert list(calls.slices("a.py:3")) == [["u::own"], ["t::wide"], ["t::slow"], ["t::partly"], ["t::other"]]
    assert calls.failed == {"t::partly[1]"}
    assert list(calls.slices("a.py:4")) == []


def test_tests_of_a_file_mirror_it() -> None:
    found = mutants.tests_of(Path("passes/tirx_mem2reg.py"))
    assert {"test/passes/tirx-mem2reg.mlir", "test/passes/tirx-mem2reg-invalid.mlir"} <= set(found)
    assert "test/unit/layout/test_swizzle.py" in mutants.tests_of(Path("tirx/layout/swizzle.py"))


def test_another_output_is_an_error() -> None:
    text = f"{outputs.ROOT}/a.mlir: wrong"
    assert outputs.digest(text) == outputs.digest("/a.mlir: wrong") != outputs.digest("/a.mlir: right")
    with pytest.raises(outputs.ChangedOutputError, match="the output of examples/attention is not the recorded one"):
        outputs.check("examples/attention", text)


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
