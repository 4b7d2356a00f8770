"""What the layout algebra refuses, message by message."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirx.layout import Axis, LayoutError, TileLayout

_read = TileLayout.parse
_CASES: list[tuple[Callable[[], object], str]] = [
    (lambda: _read("S[8 : 1]").unpack(0, "m"), "the factor must be positive, found 0"),
    (lambda: Axis("x", "memory", "m", bound=0), "bound of axis 'x' must be positive, found 0"),
    (lambda: _read('S[4 : 1@""]'), "expected an axis name, found an empty string"),
    (
        lambda: _read("S[2 : 1] + R[(1024, 2048) : (1, 1024)]").owners(0),
        "expected at most 1048576 replica displacements",
    ),
    (
        lambda: _read("S[2 : 1] + R[(1024, 2048) : (1@laneid, 1@warpid)]").owners(0),
        "expected at most 1048576 copies of",
    ),
    (lambda: _threads("((3,2),4):((1,3),6)", (4, 6)), "expected digits that end with a dimension of 4, found [3]"),
    (lambda: _threads("(3,4):(1,3)", (2, 6)), "expected digits that end with a dimension of 2, found one of 3"),
    (lambda: _threads("(4,2):(1,8)", (8,)), "expected a layout that reaches each element once, found stride 8 for 4"),
    (lambda: _threads("(4,2,2):(1,4,8)", (16,)), "expected two modes, threads and values, found 3"),
    (lambda: _threads("(4,2):(1,4)", (16,)), "expected 16 elements of (16,), found 8"),
]


def _threads(text: str, shape: tuple[int, ...]) -> TileLayout:
    return TileLayout.from_thread_value(text, shape)


@pytest.mark.parametrize(("refused", "message"), _CASES, ids=[message for _, message in _CASES])
def test_refusals(refused: Callable[[], object], message: str):
    with pytest.raises(LayoutError) as found:
        refused()
    assert str(found.value).startswith(message)
