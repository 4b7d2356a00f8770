"""Copy distributions: every element, by every thread, in accesses that both memories like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.copy import conflict_degree
from tirx.copy.access import AccessPlan, plan_accesses
from tirx.copy.distribute import copy_distribution
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.layout.ownership import held_elements

Memory = TileLayout | ComposeLayout


@st.composite
def memories(draw: st.DrawFn, shape: tuple[int, ...], swizzles: bool) -> Memory:
    order = draw(st.permutations(range(len(shape))))
    strides = [0] * len(shape)
    stride = 1
    for d in order:
        strides[d] = stride
        stride *= shape[d] + draw(st.sampled_from([0, 0, 0, 1, 8]))
    tile = TileLayout(tuple(Iter(e, s) for e, s in zip(shape, strides, strict=True)))
    if swizzles and draw(st.booleans()):
        return ComposeLayout(SwizzleLayout(draw(st.integers(0, 3)), 3, 3), tile)
    return tile


@given(
    st.data(),
    st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 8, 12, 16, 32]), min_size=1, max_size=3).map(tuple),
    st.sampled_from([8, 16, 32, 64]),
    st.sampled_from([1, 32, 48, 64, 96, 128, 256]),
)
def test_distributions_are_exact_on_both_sides(
    data: st.DataObject, shape: tuple[int, ...], bits: int, threads: int
) -> None:
    source = data.draw(memories(shape, swizzles=False))
    destination = data.draw(memories(shape, swizzles=True))
    layout = copy_distribution(shape, source, destination, bits, threads)
    held = held_elements(layout, shape, threads)
    held = held[(held >= 0).any(axis=1)]
    assert (held >= 0).all()
    assert set(held.reshape(-1).tolist()) == set(range(layout.size()))
    for memory in (source, destination):
        plan = plan_accesses(layout, memory, shape, bits, threads)
        assert sum(access.count for access in plan.accesses) == held.shape[1]


@given(st.data(), st.sampled_from([(6, 4), (4, 6), (35,), (12, 2), (30, 8)]), st.sampled_from([32, 128]))
def test_layouts_that_cut_the_tile_differently(data: st.DataObject, shape: tuple[int, ...], threads: int) -> None:
    size = int(np.prod(shape))
    source = data.draw(memories(shape, swizzles=False))
    cut = data.draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
    destination = data.draw(memories((size // cut, cut), swizzles=False))
    layout = copy_distribution(shape, source, destination, 32, threads)
    for memory in (source, destination):
        plan_accesses(layout, memory, shape, 32, threads)


def addresses(plan: AccessPlan, warp: int) -> list[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    tids = np.arange(32 * warp, 32 * warp + 32, dtype=np.int64)
    return [access.offset.evaluate({"tid": tids}) for access in plan.accesses]


GLOBAL = TileLayout.parse("S[(128, 64) : (256, 1)]")

SHARED: dict[str, Memory] = {
    "row-major": TileLayout.row_major((128, 64)),
    "128B": ComposeLayout(SwizzleLayout.for_bits(16, "128B"), TileLayout.row_major((128, 64))),
    "64B": ComposeLayout(SwizzleLayout.for_bits(16, "64B"), TileLayout.parse("S[(128, 2, 32) : (32, 4096, 1)]")),
    "core matrices": TileLayout.parse("S[(16, 8, 8, 8) : (64, 8, 1024, 1)]"),
}


@together("name", SHARED)
@together("to_shared", [True, False])
def test_coalesced_vectors_without_bank_conflicts(name: str, to_shared: bool) -> None:
    sides = (GLOBAL, SHARED[name]) if to_shared else (SHARED[name], GLOBAL)
    memories = ("global", "shared") if to_shared else ("shared", "global")
    layout = copy_distribution((128, 64), *sides, 16, 128, *memories)
    outside = plan_accesses(layout, GLOBAL, (128, 64), 16, 128)
    inside = plan_accesses(layout, SHARED[name], (128, 64), 16, 128)
    assert [a.count for a in outside.accesses] == [a.count for a in inside.accesses] == [8] * 8
    for warp in range(4):
        for at in addresses(outside, warp):
            assert len(np.unique(at * 2 // 32)) == 32 * 16 // 32
        if name != "core matrices":  # there, whole sectors of a row and all banks exclude each other
            for at in addresses(inside, warp):
                phases = at.reshape(4, 8)[:, :, None] + np.arange(8)
                assert [conflict_degree(phase, 16) for phase in phases] == [1] * 4


@pytest.mark.parametrize(
    ("shape", "bits", "threads", "expected"),
    [
        pytest.param((4, 4), 32, 128, "S[16 : 1@tx] + R[8 : 16@tx]", id="fewer elements than threads"),
        pytest.param((128, 4), 32, 128, "S[(128, 4) : (1@tx, 1)]", id="one vector each"),
        pytest.param((64, 4), 32, 128, "S[(128, 2) : (1@tx, 1)]", id="half a vector each, no copies"),
        pytest.param((35,), 32, 64, "S[35 : 1@tx]", id="a part of the threads"),
        pytest.param((5, 64), 32, 96, "S[(80, 4) : (1@tx, 1)]", id="one vector for most threads"),
        pytest.param((66, 64), 16, 128, "S[(6, 88, 8) : (8, 1@tx, 1)]", id="vectors for most threads"),
        pytest.param((1,), 32, 32, "S[] + R[32 : 1@tx]", id="one element"),
        pytest.param((2, 16), 4, 64, "S[(16, 2) : (1@tx, 1)] + R[4 : 16@tx]", id="whole bytes"),
    ],
)
def test_row_major_copies(shape: tuple[int, ...], bits: int, threads: int, expected: str) -> None:
    memory = TileLayout.row_major(shape)
    assert str(copy_distribution(shape, memory, memory, bits, threads)) == expected


def test_alignment_limits_vectors() -> None:
    memory = TileLayout.row_major((128, 64))
    layout = copy_distribution((128, 64), memory, memory, 16, 128, base_align_bytes=4)
    plan = plan_accesses(layout, memory, (128, 64), 16, 128, base_align_bytes=4)
    assert {access.count for access in plan.accesses} == {2}


def test_errors() -> None:
    memory = TileLayout.row_major((8, 8))
    with pytest.raises(LayoutError, match="^expected 1 to 1024 threads, found 2048$"):
        copy_distribution((8, 8), memory, memory, 32, 2048)
    with pytest.raises(LayoutError, match="^the layout has 64 elements, shape \\(8, 4\\) has 32$"):
        copy_distribution((8, 4), memory, memory, 32, 32)
