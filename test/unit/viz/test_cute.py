"""CuTe's operations on the page, against their definitions on every element and against CUTLASS's documentation."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import pytest
from unit.viz.viz_page import Page

# (operation, A, B, result): examples of "CuTe Layout Algebra" in the documentation of CUTLASS.
_DOCUMENTED = (
    ("composition", "(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ("composition", "20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
    ("composition", "(10,2):(16,4)", "(5,4):(1,5)", "(5,(2,2)):(16,(80,4))"),
    ("complement", "4:1", "24:1", "6:4"),
    ("complement", "6:4", "24:1", "4:1"),
    ("complement", "4:2", "24:1", "(2,3):(1,8)"),
    ("complement", "(2,4):(1,6)", "24:1", "3:2"),
    ("complement", "(2,2):(1,6)", "24:1", "(3,2):(2,12)"),
    ("logical_divide", "(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
    ("logical_product", "(2,2):(4,1)", "6:1", "((2,2),(2,3)):((4,1),(2,8))"),
    ("blocked_product", "(2,5):(5,1)", "(3,4):(1,3)", "((2,3),(5,4)):((5,10),(1,30))"),
    ("raked_product", "(2,5):(5,1)", "(3,4):(1,3)", "((3,2),(4,5)):((10,5),(30,1))"),
    ("coalesce", "(2,(1,6)):(1,(6,2))", "1:0", "12:1"),
)

_RUN = """(cases) => cases.map(([name, a, b]) => {
  const { parseCute, cuteText, cuteAt, cuteSize, CUTE_OPERATIONS } = tirx.cute;
  const image = (layout) => Array.from({ length: cuteSize(layout) }, (_, i) => cuteAt(layout, i));
  const A = parseCute(a), B = parseCute(b);
  let text = null, result = [];
  try {
    const found = CUTE_OPERATIONS[name].run(A, B);
    [text, result] = [cuteText(found), image(found)];
  } catch (error) {
    if (error.position === undefined) throw error;
  }
  return { text, result, a: image(A), b: image(B) };
})"""


@pytest.mark.parametrize(("name", "a", "b", "result"), _DOCUMENTED)
def test_documented(shown: Page, name: str, a: str, b: str, result: str) -> None:
    assert shown.call(_RUN, [[name, a, b]])[0]["text"] == result


def _compact(rng: random.Random, size: int) -> str:
    """A layout of compact strides in any order of its modes."""
    extents: list[int] = []
    while size > 1:
        extents.append(rng.choice([d for d in range(2, size + 1) if size % d == 0]))
        size //= extents[-1]
    order = rng.sample(range(len(extents)), len(extents))
    strides = {k: prod(extents[j] for j in order[:place]) for place, k in enumerate(order)}
    return f"({','.join(map(str, extents))}):({','.join(str(strides[k]) for k in range(len(extents)))})"


def test_definitions(shown: Page) -> None:
    """R(c) = A(B(c)); a complement fills up; quotients and products have A's indices, as often as they should."""
    rng = random.Random(8)
    names = ("composition", "complement", "logical_divide", "logical_product", "coalesce", "right_inverse")
    cases: list[tuple[str, str, str]] = []
    for _ in range(120):
        tiler = rng.choice(("2:1", "4:1", "4:2", "(2,2):(1,4)", "(2,2):(4,1)", "6:2", "3:1"))
        cases.append((rng.choice(names), _compact(rng, rng.choice((24, 36, 64))), tiler))
    counted = 0
    for (name, a, b), found in zip(cases, shown.call(_RUN, cases), strict=True):
        if found["text"] is None:
            continue
        counted += 1
        _check(name, found, (a, b))
    assert counted > 80


def _check(name: str, found: dict[str, Any], case: tuple[str, str]) -> None:
    a, b, result = found["a"], found["b"], found["result"]
    if name == "composition":
        assert result == [a[index] for index in b], case
    elif name == "complement":
        assert sorted(set(result)) == result, "in order, each once"
        assert len({x + y for x in result for y in a}) == len(result) * len(a), case
    elif name == "logical_divide":
        assert sorted(result) == sorted(a), case
        assert result[: len(b)] == [a[index] for index in b], case
    elif name == "logical_product":
        assert result[: len(a)] == a, case
        assert len(set(result)) == len(result) == len(a) * len(b), case
    elif name == "coalesce":
        assert result == a, case
    else:
        assert [a[index] for index in result] == list(range(len(result))), case
