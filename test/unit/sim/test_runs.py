"""Bytes of boxes and columns of tensor maps, against those that loads and stores of them touch."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import TensorMap
from tirx.sim.memory.columns import load_column, runs_of_column, store_column
from tirx.sim.memory.tensor_copy import Runs, load_box, rows_of, runs_of_box, store_box


def _bytes_of(runs: Runs | None) -> list[int]:
    if runs is None:
        return []
    return (runs.offsets[:, None] + np.arange(runs.width)).ravel().tolist()


def _tensor(rng: np.random.Generator, shape: tuple[int, ...], dtype: type[np.generic]) -> tuple[Any, Any]:
    """A view with padding behind its rows, and the memory from its first element."""
    sizes = [*shape[:-1], shape[-1] + int(rng.integers(0, 3)) * (16 // np.dtype(dtype).itemsize)]
    raw = np.zeros(int(np.prod(sizes)) * np.dtype(dtype).itemsize, np.uint8)
    view = raw.view(dtype).reshape(sizes)[..., : shape[-1]]
    return view, raw


def _written(raw: Any, store: Callable[[Any], None], data: Any) -> Any:
    """Returns which bytes a store changes: all of `data` differ from what is there."""
    raw[:] = 0
    store(data)
    return np.flatnonzero(raw)


def _check(raw: Any, runs: Runs | None, data: Any, store: Callable[[Any], None], load: Callable[[], Any]) -> None:
    written = _written(raw, store, data)
    own = _bytes_of(runs)
    assert len(own) == len({*own}) and sorted(own) == written.tolist()
    if runs is not None:
        assert runs.data is not None and runs.data.shape == (len(runs.offsets), runs.width)
        assert raw[own].tolist() == runs.data.ravel().tolist()
    raw[:] = 1
    assert len(np.flatnonzero(load())) == len(written)  # what is outside is filled with zeros


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.sample(4)
def test_boxes(seed: int):
    """Of one to four dimensions, partly or wholly outside, with strides between elements."""
    rng = np.random.default_rng(seed)
    dtype = (np.uint8, np.uint16, np.uint32, np.uint64)[seed % 4]
    rank = 1 + seed % 4
    item = np.dtype(dtype).itemsize
    shape = (*rng.integers(1, 6, rank - 1).tolist(), int(rng.integers(1, 4)) * 16 // item)
    view, raw = _tensor(rng, shape, dtype)
    for steps in ([1] * rank, [int(each) for each in rng.integers(1, 4, rank)]):
        steps[0] = 1
        box = [16 // item * int(rng.integers(1, 3)), *(int(each) for each in rng.integers(1, 5, rank - 1))]
        tensor_map = TensorMap(view, tuple(box), element_strides=tuple(steps))
        for _ in range(12):
            at = [int(each) for each in rng.integers(-6, max(shape) + 3, rank)]
            data = rng.integers(1, 256, tensor_map.box_bytes, np.uint8)
            runs = runs_of_box(tensor_map, at, data)
            _check(raw, runs, data, partial(store_box, tensor_map, at), partial(load_box, tensor_map, at))
            reads = runs_of_box(tensor_map, at)
            assert _bytes_of(reads) == _bytes_of(runs)
            assert reads is None or reads.data is None


def test_rows_of_gather4():
    """Four rows, in any order; one may be outside."""
    view, raw = _tensor(np.random.default_rng(1), (9, 32), np.uint16)
    tensor_map = TensorMap(view, (16, 1))
    found: list[int] = []
    for at in rows_of((8, 7, 2, -1, 3)):
        found += _bytes_of(runs_of_box(tensor_map, at))
    view[[7, 2, 3], 8:24] = 0x0101
    assert sorted(found) == np.flatnonzero(raw).tolist() and len(found) == 3 * 32


@together("first", [-4, 0, 8, 12, 16])
def test_columns_of_images(first: int):
    """Pixels and channels that are outside are left out, also all of them."""
    rng = np.random.default_rng(3)
    view, raw = _tensor(rng, (2, 5, 16), np.uint16)  # images, pixels, channels
    tensor_map = TensorMap.im2col(view, (0,), (0,), 8, 6)
    places = np.array([[-1, 0], [0, 0], [4, 0], [5, 0], [2, 1], [2, 2]])
    data = rng.integers(1, 256, 6 * 8 * 2, np.uint8)
    runs = runs_of_column(tensor_map, first, places, data)
    _check(
        raw, runs, data,
        lambda raw: store_column(tensor_map, first, places, raw), lambda: load_column(tensor_map, first, places),
    )  # fmt: skip
    assert _bytes_of(runs_of_column(tensor_map, first, places)) == _bytes_of(runs)
    assert len(_bytes_of(runs)) == 3 * 2 * {-4: 4, 0: 8, 8: 8, 12: 4, 16: 0}[first]
