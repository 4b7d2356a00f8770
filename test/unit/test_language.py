"""The programs of `docs/language.md` compile, assemble, and compute what the page says that numpy computes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.sim.assembled import assembled

import tirx
from tirx.sim import run

_PAGE = Path(__file__).parents[2] / "docs" / "language.md"
_PROGRAM = re.compile(r"^<!-- numpy: d = (?P<d>.*?) -->\n```mlir\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAMS = {found["text"].split("@")[1].split("(")[0]: found for found in _PROGRAM.finditer(_PAGE.read_text())}

_TYPES: dict[str, Any] = {"f16": np.float16, "f32": np.float32}
_SCALAR = 2.0


def _arguments(text: str) -> dict[str, NDArray[Any] | float]:
    """Small integers for every memref of the kernel, in the order of its arguments; strides of [1, n] are columns."""
    rng = np.random.default_rng(0)
    found: dict[str, NDArray[Any] | float] = {}
    head = text[: text.index("target(")]
    for name, rows, columns, dtype, strided, scalar in re.findall(
        r"%(\w+): (?:memref<(\d+)x(\d+)x(\w+)(, strided<\[1, \d+\]>)?>|(f32))", head
    ):
        if scalar:
            found[name] = _SCALAR
            continue
        values = rng.integers(-4, 5, (int(rows), int(columns))).astype(_TYPES[dtype])
        found[name] = np.asfortranarray(values).T if strided else values
    return found


def test_every_program_has_its_numbers() -> None:
    assert _PAGE.read_text().count("```mlir") == len(_PROGRAMS)


@pytest.mark.parametrize("name", _PROGRAMS)
def test_program(name: str) -> None:
    text = _PROGRAMS[name]["text"]
    arguments = _arguments(text)
    expected = eval(_PROGRAMS[name]["d"], {"np": np, **arguments})
    grid, threads = re.search(r"grid\((\d+)\)", text), re.search(r"threads\((\d+)\)", text)
    assert threads is not None
    blocks = 1 if grid is None else int(grid[1])
    run(assembled(tirx.compile(text)), name, (blocks, 1, 1), (int(threads[1]), 1, 1), list(arguments.values()))
    found = np.asarray(arguments["d"])
    np.testing.assert_array_equal(found.T if "strided" in text else found, expected)
