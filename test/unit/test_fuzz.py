"""The fuzzer: its corpus, a few inputs of every class, limits, and that failures are found and made small."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.classes import CLASSES, SHARES
from fuzz.engine import CORPUS, Finding, InputClass, Problem, examine
from fuzz.minimise import minimised
from fuzz.semantics import DTYPES, SCALARS
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.parser import Parser
from xdsl.utils.test_value import create_ssa_value

from tirx.universe import new_context

_INPUTS = {"programs": 5, "modules": 5, "documents": 2, "layouts": 40, "kernels": 6, "commands": 10}
"""Of each class, in every run of the tests."""


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """Warnings are errors; what a class of inputs puts into the environment does not stay for other tests."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.sample(25)
@pytest.mark.parametrize("path", sorted(CORPUS.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_corpus(path: Path) -> None:
    found = examine(CLASSES[path.parent.name](), path.read_text(encoding="utf-8", errors="surrogateescape"))
    assert not isinstance(found, Finding), found


@pytest.mark.parametrize("name", CLASSES)
def test_some_inputs(name: str) -> None:
    inputs = CLASSES[name]()
    for number in range(_INPUTS[name]):
        text = inputs.generate(random.Random(f"{name} 0 {number}"))
        assert text == inputs.generate(random.Random(f"{name} 0 {number}"))
        found = examine(inputs, text)
        assert not isinstance(found, Finding), f"{found}\n{text}"


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("f8E8M0FNU", [2.0**-127, 1.0, 2.0, 2.0, 4.0, 2.0**127, math.nan]),
        ("f8E4M3FN", [0.0, 1.0, 1.125, 2.0, 3.0, 448.0, math.nan]),
        ("f8E5M2", [0.0, 1.0, 1.0, 2.0, 3.0, 57344.0, math.nan]),
        ("f4E2M1FN", [0.0, 1.0, 1.0, 2.0, 3.0, 6.0, 6.0]),
    ],
)
def test_numbers_that_narrow_types_do_not_have(element: str, expected: list[float]) -> None:
    """They are those of docs/language.md: nearest and saturated, powers of two rounded up."""
    dtype = np.dtype(DTYPES[element])
    type_: Any = Parser(new_context(), element).parse_type()
    operation = arith.TruncFOp(create_ssa_value(f32), type_)
    values = np.array([0.0, 1.0, 1.1, 2.0, 3.0, 1e38 if element != "f8E8M0FNU" else 3e38, math.nan], np.float32)
    found = SCALARS["arith.truncf"][1](operation, values).astype(dtype).astype(np.float64)
    np.testing.assert_array_equal(found, expected)


def test_every_class_has_a_share() -> None:
    assert set(SHARES) == set(CLASSES)
    assert sum(SHARES.values()) == 100


class _Broken(InputClass):
    name = "broken"

    def generate(self, rng: random.Random) -> str:
        return "".join(rng.choice(("one\n", "two\n", "three four\n")) for _ in range(30))

    def check(self, text: str) -> str:
        if "four" in text and "two" in text:
            raise Problem("wrong answer", "as planted", "here")
        if text == "wait":
            while True:
                pass
        return {"index": "accepted"}[text]


def test_failures_are_named_and_minimised() -> None:
    inputs = _Broken()
    text = inputs.generate(random.Random(3))
    found = examine(inputs, text)
    assert found == Finding("wrong answer", "here", "as planted")
    assert minimised(text, lambda small: examine(inputs, small) == found) in ("twofour", "fourtwo")
    assert examine(inputs, "index") == "accepted"


def test_exceptions_and_time() -> None:
    unknown = examine(_Broken(), "else")
    assert isinstance(unknown, Finding) and unknown.cause == ("KeyError", "test_fuzz.py:check")
    late = examine(_Broken(), "wait", seconds=0.05)
    assert isinstance(late, Finding) and late.kind == "out of time"
