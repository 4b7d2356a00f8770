"""What `benchmarks/gpu.py` measures are right programs: the examples in other sizes and types."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirx.text.parsing import parse_located
from tirx.universe import new_context

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The module of the cases."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("gpu_cases")
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_every_case_is_a_program(gpu: Any) -> None:
    for case in gpu.CASES:
        size = (3, 512, 1024, 2048) if case.batched else (512, 1024, 2048)
        text = gpu.program_of(case, size)
        parse_located(new_context(), text, case.name).verify()
        assert "%benchmark_k" in text or "memref<?x?x" in text
    names = [case.name for case in gpu.CASES]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "size", "grid"),
    [("f64 m8n8k4", (64, 128, 16), (2, 1, 1)), ("f16 wgmma, pipeline", (120, 264, 72), (2, 1, 1))],
)
def test_a_case_of_another_size(gpu: Any, name: str, size: tuple[int, int, int], grid: tuple[int, int, int]) -> None:
    """Tiles that reach beyond the matrices are clipped."""
    case = next(case for case in gpu.CASES if case.name == name)
    kernel = gpu.built(case, size)
    assert kernel.launch.grid == grid
    m, n, k = size
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, k)).astype(case.a) for rows in (m, n))
    d = np.zeros((m, n), case.d)
    kernel.simulate(a, b, d)
    np.testing.assert_array_equal(d, (a.astype(np.float64) @ b.astype(np.float64).T).astype(case.d))


def test_texts_that_cannot_be_scaled(gpu: Any) -> None:
    with pytest.raises(ValueError, match="expected a product with a grid"):
        gpu.scaled("tirx.kernel @k() threads(32) { tirx.return }", (64, 64, 64), ())
    text = (gpu.EXAMPLES / gpu.CASES[0].file).read_text()
    with pytest.raises(ValueError, match="expected 'nowhere' in the program"):
        gpu.scaled(text, (64, 64, 64), [("nowhere", "")])
    with pytest.raises(ValueError, match="expected a batch of products"):
        gpu.scaled(text, (2, 64, 64, 64), ())
