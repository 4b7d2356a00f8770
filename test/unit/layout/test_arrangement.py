"""Rearranged tiles: threads hold the elements that the definition says, in slots without gaps, or it is refused."""

from __future__ import annotations

import random

import numpy as np
import pytest
from unit.cases import together

from tirx.copy.exchange import moved_slots
from tirx.layout import LayoutError, TileLayout
from tirx.layout.arrangement import Arrangement, row_major_strides
from tirx.layout.ownership import AccessError

_LAYOUTS = {
    "S[(8, 2, 4, 2) : (4@laneid, 4, 1@laneid, 1)]": (16, 8),
    "S[(4, 4, 8, 2) : (8@laneid, 2, 1@laneid, 1)] + R[2 : 1@warpid]": (16, 16),
    "S[(2, 16, 2, 8) : (1@warpid, 1@laneid, 16@laneid, 1)]": (32, 16),
    "S[(8, 4, 4) : (1, 1@laneid, 4@laneid)] + 16@laneid": (8, 16),
    "S[(4, 32) : (3, 1@laneid)]": (4, 32),
}
"""Layouts of registers, and the shapes of their tiles."""


def _without_slots(owners: list[dict[str, int]]) -> list[dict[str, int]]:
    return [{name: at for name, at in sorted(owner.items()) if name != "m"} for owner in owners]


def _random(rng: random.Random, shape: tuple[int, ...]) -> Arrangement:
    """A transposed tile, or a part of one with steps, forwards or backwards."""
    if rng.random() < 0.3:
        return Arrangement.transposed(shape, rng.sample(range(len(shape)), len(shape)))
    steps = [rng.choice((1, 1, 2, -1, -2)) for _ in shape]
    dims = [max(1, n // abs(step) // rng.choice((1, 1, 2, 4))) for n, step in zip(shape, steps, strict=True)]
    ends = [n - 1 - abs(step) * (m - 1) for n, step, m in zip(shape, steps, dims, strict=True)]
    low = [rng.choice((0, end, rng.randint(0, end))) for end in ends]
    start = [a if step > 0 else a - step * (m - 1) for a, step, m in zip(low, steps, dims, strict=True)]
    return Arrangement.part(shape, start, steps, tuple(dims))


@pytest.mark.parametrize("text", _LAYOUTS)
def test_threads_hold_what_they_held(text: str) -> None:
    source, shape, rng, made = TileLayout.parse(text), _LAYOUTS[text], random.Random(text), 0
    for _ in range(60):
        arranged = _random(rng, shape)
        try:
            found = arranged.layout(source)
        except LayoutError:
            continue
        size, slots = int(np.prod(arranged.dims)), 1
        assert found.size() == size and found == found.canonicalize()
        for it in sorted((it for it in found.shard if it.axis == "m" and it.extent > 1), key=lambda it: it.stride):
            assert it.stride == slots
            slots *= it.extent
        backwards = [min(0, stride * (n - 1)) for stride, n in zip(arranged.strides, arranged.dims, strict=True)]
        forwards = Arrangement(arranged.dims, arranged.offset + sum(backwards), tuple(map(abs, arranged.strides)))
        assert forwards.layout(source) == found
        try:
            kept = moved_slots(source, found, arranged.dims, 256, arranged)
        except AccessError:
            continue  # beyond the last thread
        if kept is None:
            continue  # threads would have to exchange elements
        assert len(kept) == slots
        made += 1
        for flat, whole in enumerate(arranged.elements(np.arange(size))):
            holders = [
                {tuple(o.items()) for o in _without_slots(each)}
                for each in (found.owners(flat), source.owners(int(whole)))
            ]
            assert holders[0] == holders[1], (arranged, found, flat)
    assert made > 20


def test_slots_keep_their_order() -> None:
    """Slots that a part leaves out leave no gap, and none moves past another."""
    source = TileLayout.parse("S[(2, 4, 32, 8) : (8, 16, 1@laneid, 1)]")
    every_other = Arrangement.part((8, 256), (0, 1), (1, 2), (8, 128))
    assert str(every_other.layout(source)) == "S[(2, 4, 32, 4) : (4, 8, 1@laneid, 1)]"
    assert str(Arrangement.part((8, 256), (3, 8), (1, 1), (1, 8)).layout(source)) == "S[8 : 1] + 1@laneid"


@together(
    ("dims", "strides", "text"),
    [
        ((6,), (1,), "found 6 steps of 1 in"),  # a part of an iter
        ((4,), (3,), "found 4 steps of 3 in"),
        ((2,), (6,), "found 2 steps of 6 in"),  # between the steps of an iter
        ((2, 8), (64, 1), "found 2 steps of 64 in"),  # beyond the tile
    ],
)
def test_parts_of_iters_are_refused(dims: tuple[int, ...], strides: tuple[int, ...], text: str) -> None:
    with pytest.raises(LayoutError, match=f"expected dimensions of whole iters, {text}"):
        Arrangement(dims, 0, strides).layout(TileLayout.parse("S[(4, 4, 4) : (1@laneid, 1, 4@laneid)]"))


@pytest.mark.parametrize("shape", [(4, 6), (1, 5), (3, 4, 2)])
def test_parts_begin_and_go_on(shape: tuple[int, ...]) -> None:
    """`steps` says what `part` was made of; what no part is has none."""
    rng = random.Random(str(shape))
    whole = np.arange(np.prod(shape)).reshape(shape)
    for _ in range(40):
        arranged = _random(rng, shape)
        found, flat = arranged.steps(shape), arranged.elements(np.arange(int(np.prod(arranged.dims))))
        if found is None:
            assert any(n % stride for n, stride in zip(arranged.strides, row_major_strides(shape), strict=True))
            continue
        index = np.indices(arranged.dims)
        at = [a + step * each for a, step, each in zip(*found, index, strict=True)]
        assert (whole[tuple(at)].ravel() == flat).all()
    assert Arrangement((4,), 0, (1,)).steps(shape) is None
    assert Arrangement.part(shape, [0] * len(shape), [1] * len(shape), (shape[0] + 1, *shape[1:])).steps(shape) is None
    assert list(Arrangement((2,), 1, (3,)).elements(np.array([-1, 0, 1]))) == [-1, 1, 4]


def test_inverses() -> None:
    """A part, however dense, and what is backwards are no whole tile in another order."""
    source = (8, 64)
    whole = Arrangement.part(source, (0, 0), (1, 1), source)
    assert whole.inverse(source) == whole
    assert Arrangement.part(source, (0, 0), (1, 1), (4, 64)).inverse(source) is None
    assert Arrangement.part(source, (7, 0), (-1, 1), source).inverse(source) is None
