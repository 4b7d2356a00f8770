"""Loops whose copies take their places from memory: indices of rows and numbers of pages fill rings a round ahead."""

from __future__ import annotations

import numpy as np
import pytest

import tirx

_TARGETS = ("sm_75", "sm_80", "sm_90a", "sm_100a")

_LOOP = """
!x = memref<?x?xf16>
!list = memref<?x?xi32>
!ids = !tirx.tile<64xi32, register>
!s = !tirx.tile<64x64xf16, shared>
!sums = !tirx.tile<64x64xf32, accumulator>
!f = !tirx.tile<64x64xf32, register>
tirx.kernel @bags(%x: !x, %w: !x, %ids: !list, %y: memref<?x?xf32>) grid(%i = ceildiv(size(2, 1), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %none = arith.constant -1 : i32
  %n = memref.dim %ids, %c0 : !list
  %sx = tirx.alloc : !s
  %sw = tirx.alloc : !s
  %acc = tirx.alloc : !sums
  tirx.fill %acc, %zero : f32, !sums
  scf.for %k = %c0 to %n step %c1 {
    PLACES
    tirx.mma %sx, %sw, %acc : !s, !s, !sums
  }
  %o = tirx.map ins(%acc : !sums) (%p) { %p + 0.0 } -> !f
  tirx.store %o, %y[%i * 64, 0] clipped : !f, memref<?x?xf32>
}
"""

_ROWS = """
    %token = tirx.load %ids[%k, %i * 64] clipped pad(%none) : !list -> !ids
    tirx.copy %x[[%token], 0] clipped, %sx : !x, !s
    tirx.copy %w[%k * 64, 0] clipped, %sw : !x, !s
"""

_COMPUTED_ROWS = """
    %read = tirx.load %ids[%k, %i * 64] clipped pad(%none) : !list -> !ids
    %token = tirx.map ins(%read : !ids) (%t) { select(%k + index(0) < 1000, %t, -1) } -> !ids
    tirx.copy %x[[%token], 0] clipped, %sx : !x, !s
    tirx.copy %w[%k * 64, 0] clipped, %sw : !x, !s
"""

_ROWS_AND_PAGES = """
    %token = tirx.load %ids[%k, %i * 64] clipped pad(%none) : !list -> !ids
    %page32 = memref.load %ids[%k, %c0] : !list
    %page = arith.index_cast %page32 : i32 to index
    tirx.copy %x[[%token], 0] clipped, %sx : !x, !s
    tirx.copy %w[%page * 64, 0] clipped, %sw : !x, !s
"""


def _rows(x: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The rows of `x` with these numbers, zeros where there are none."""
    inside = (first >= 0) & (first < len(x))
    return np.where(inside[:, None], x[np.where(inside, first, 0)].astype(np.float64), 0)


def _expected(x: np.ndarray, w: np.ndarray, ids: np.ndarray, paged: bool) -> np.ndarray:
    sums = np.zeros((ids.shape[1], 64))
    for k, row in enumerate(ids):
        page = int(row[0]) if paged else k
        sums += _rows(x, row) @ _rows(w, page * 64 + np.arange(64)).T
    return sums


def _run(target: str, text: str, rounds: int, width: int, paged: bool) -> None:
    rng = np.random.default_rng(rounds)
    x, w = (rng.integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (100, max(rounds, 3) * 64 - 7))
    ids = rng.integers(0 if paged else -3, 105, (rounds, width)).astype(np.int32)
    ids[:, 0] %= max(rounds, 3)
    y = np.full((width, 64), 7, np.float32)
    kernel = tirx.build(text, target=target).kernels["bags"]
    schedule = kernel.launch.schedule
    staged = {name for ring in schedule.rings for name in ring.name.split("_")} if schedule else set[str]()
    assert (target == "sm_75") or {"sx", "sw"} <= staged
    kernel.simulate(x, w, ids, y, check="strict")
    np.testing.assert_array_equal(y, _expected(x, w, ids, paged))


@pytest.mark.parametrize("rounds, width", ((0, 64), (1, 70), (2, 64), (9, 70)))
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(4)
def test_rows_whose_indices_an_iteration_loads(target: str, rounds: int, width: int) -> None:
    _run(target, _LOOP.replace("PLACES", _ROWS), rounds, width, paged=False)


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(2)
def test_rows_whose_indices_are_computed_of_what_an_iteration_loads(target: str) -> None:
    _run(target, _LOOP.replace("PLACES", _COMPUTED_ROWS), 5, 64, paged=False)


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.sample(2)
def test_pages_whose_numbers_an_iteration_loads(target: str) -> None:
    """Numbers are loaded by every thread, or by those of the role that starts the copies."""
    _run(target, _LOOP.replace("PLACES", _ROWS_AND_PAGES), 5, 64, paged=True)


def test_rows_of_two_arrays_by_one_index_tile() -> None:
    """Copies that need the indices in one layout share what loads them, and nothing is left of what they do not use."""
    second = "tirx.copy %w[[%token], 0] clipped, %sw : !x, !s"
    text = _LOOP.replace("PLACES", _ROWS.replace("tirx.copy %w[%k * 64, 0] clipped, %sw : !x, !s", second))
    assert second in text
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-3, 4, (rows, 64)).astype(np.float16) for rows in (100, 90))
    ids = rng.integers(-3, 105, (3, 64)).astype(np.int32)
    y = np.full((64, 64), 7, np.float32)
    tirx.build(text, "sm_100a", "pipeline=off").kernels["bags"].simulate(x, w, ids, y)
    np.testing.assert_array_equal(y, sum(_rows(x, row) @ _rows(w, row).T for row in ids))
