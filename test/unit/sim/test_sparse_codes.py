"""Sparse A of tcgen05.mma: each code of the metadata, and the places that it selects."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from unit.sim.machine import message_of

from tirx.sim.tensor import sparsity
from tirx.sim.tensor.data_path import data_path

_PAIRS = {4: (0, 1), 8: (0, 2), 12: (0, 3), 9: (1, 2), 13: (1, 3), 6: (2, 1), 14: (2, 3)}
_SINGLE = {4: (0,), 14: (1,)}


# Type of A, bytes of an element (0: half of one), and how many elements stand together.
@pytest.mark.parametrize(
    ("element", "size", "together"), [("e2m1", 0, 2), ("e4m3", 1, 1), ("f16", 2, 1), ("tf32", 4, 1)]
)
def test_codes(element: str, size: int, together: int, monkeypatch: pytest.MonkeyPatch) -> None:
    places = _SINGLE if element == "tf32" else _PAIRS
    kept, chunks, column = len(next(iter(places.values()))), 8, 6
    path = data_path(64, weight_stationary=False, pair=False, sparse=True)
    rng = np.random.default_rng(size)
    words = rng.choice(list(places), (128, 16, 8)) @ (1 << 4 * np.arange(8))
    words = words.astype(np.uint32)  # (lanes, columns)

    def read(cta: Any, thread: int, own: Any, lanes: Any, columns: Any, what: str) -> Any:
        return words[lanes[0], columns]

    monkeypatch.setattr(sparsity, "read_tensor_copies", read)
    fields: Any = Mock(kind=Mock(element=size), a=element, selector=1, version=0)
    stored = rng.integers(1, 100, (path.rows, chunks * kept * together)).astype(np.float32)

    def expand(address: int) -> Any:
        return sparsity.expand_sparse(Mock(), 0, stored, address, fields, path, 0, "an instruction")

    found, selected = expand(column)
    expected, chosen = np.zeros_like(found), np.zeros(found.shape, np.bool_)
    lanes = path.row_lanes(0)[0]
    for row in range(path.rows):
        for chunk in range(chunks):
            if size <= 1:
                word, number = words[lanes[row], column + chunk // 8], chunk % 8
            else:
                lane = lanes[row - row % 16] + row % 8 + 8 * (chunk // 4)
                word, number = words[lane, column + 1], row % 16 // 8 * 4 + chunk % 4
            for index, place in enumerate(places[int(word) >> 4 * number & 15]):
                at = (chunk * 2 * kept + place) * together
                first = (chunk * kept + index) * together
                expected[row, at : at + together] = stored[row, first : first + together]
                chosen[row, at : at + together] = True
    assert np.array_equal(found, expected) and np.array_equal(selected, chosen)
    assert message_of(lambda: expand(1 << 16 | column)) == "an instruction: expected lane 0, like D, found lane 1"
    if size > 1:
        assert message_of(lambda: expand(column + 1)) == "an instruction: expected an even column, found 7"
    words[:] = 0xFFFFFFFF
    shown = ", ".join(f"{code:#06b}" for code in places)
    assert message_of(lambda: expand(column)) == (
        f"an instruction: code 0b1111 of row 0, chunk 0: expected one of {shown}"
    )
