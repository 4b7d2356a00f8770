"""Bank conflicts of access patterns, against a count of words by the definition and known kernels."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from unit.cases import together

from tirx.copy import analyse_access, bank_of, bank_table, conflict_degree
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, SwizzleMode, TileLayout

Memory = TileLayout | ComposeLayout
LANES = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}


def degrees(memory: Memory, pattern: NDArray[np.int64], bits: int, vector: int) -> list[int]:
    """Phase by phase, the number of distinct words of the bank that has most of them."""
    found: list[int] = []
    together = LANES[bits * vector // 8]
    for warp in range(0, len(pattern), 32):
        for first in range(0, pattern.shape[1], vector):
            for lane in range(warp, warp + 32, together):
                words: dict[int, set[int]] = defaultdict(set)
                for thread in range(lane, min(lane + together, len(pattern))):
                    for flat in pattern[thread, first : first + vector]:
                        if flat >= 0:
                            byte = memory.apply(int(flat))["m"] * bits // 8
                            for word in {(byte + b) // 4 for b in range(max(1, bits // 8))}:
                                words[word % 32].add(word)
                if words:
                    found.append(max(len(bank) for bank in words.values()))
    return found


@st.composite
def accesses(draw: st.DrawFn) -> tuple[Memory, NDArray[np.int64], int, int]:
    """A tile of 512 elements in units of 16 bytes, and threads that access parts of units."""
    bits = draw(st.sampled_from([4, 8, 16, 32, 64]))
    unit = 128 // bits
    units = 512 // unit
    shard = [Iter(units, unit * draw(st.sampled_from([1, 2, 3, 5, 8, 16]))), Iter(unit, 1)]
    memory: Memory = TileLayout(shard)
    if draw(st.booleans()):
        mode: SwizzleMode = draw(st.sampled_from(["32B", "64B", "128B"]))
        memory = ComposeLayout(SwizzleLayout.for_bits(bits, mode), TileLayout(shard))
    vector = draw(st.sampled_from([v for v in (1, 2, 4, 8, 16, 32) if 8 <= bits * v <= 128]))
    threads, count = draw(st.integers(1, 70)), draw(st.integers(1, 2))
    starts = st.one_of(st.integers(0, 512 // vector - 1), st.just(-1))
    chosen = draw(st.lists(starts, min_size=threads * count, max_size=threads * count))
    parts = [[s * vector + k if s >= 0 else -1 for k in range(vector)] for s in [draw(st.integers(0, 3)), *chosen[1:]]]
    return memory, np.array(parts, dtype=np.int64).reshape(threads, count * vector), bits, vector


@given(accesses())
def test_degrees(access: tuple[Memory, NDArray[np.int64], int, int]) -> None:
    memory, pattern, bits, vector = access
    report = analyse_access(memory, (512,), pattern, bits, vector)
    expected = degrees(memory, pattern, bits, vector)
    assert list(report.degrees) == expected
    assert report.degree == max(expected)
    assert report.wavefronts == sum(expected)
    assert report.is_conflict_free == (max(expected) == 1)


@given(accesses())
def test_the_worst_phase_is_named(access: tuple[Memory, NDArray[np.int64], int, int]) -> None:
    """Every lane that is named accesses the element that is named, and the lines are as many as the degree."""
    memory, pattern, bits, vector = access
    worst = analyse_access(memory, (512,), pattern, bits, vector).worst
    assert len({a.line for a in worst.accesses}) == worst.degree
    assert len(worst.lanes) == LANES[bits * vector // 8]
    for lane, line, (flat,) in worst.accesses:
        assert lane in worst.lanes
        mine = pattern[32 * worst.warp + lane, vector * worst.access : vector * (worst.access + 1)]
        assert flat in mine
        words = {bank_of(memory.apply(int(x))["m"], min(bits, 32)) for x in mine}
        if bits <= 32:
            assert (worst.bank, line) in words


# The statements of the tensor layout page, with the conditions under which they are true.


def column(rows: int, columns: int, start: int, count: int) -> NDArray[np.int64]:
    """Thread i accesses `count` elements of row i."""
    return np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)[:, start : start + count]


def test_a_column_of_a_row_major_tile_is_serialized() -> None:
    """8 rows of 128 bytes: as many words of one bank as there are rows, so 8-way; 32 rows make it 32-way."""
    for rows in (8, 32):
        tile = TileLayout.row_major((rows, 64))
        for j in (0, 1, 63):
            report = analyse_access(tile, (rows, 64), column(rows, 64, j, 1), "f16")
            assert report.degree == rows
            assert report.worst.bank == j // 2
            assert [(a.lane, a.line, a.element) for a in report.worst.accesses] == [(i, i, (i, j)) for i in range(rows)]


def test_a_column_of_a_swizzled_tile_is_conflict_free() -> None:
    layout = ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), TileLayout.row_major((8, 64)))
    table = bank_table(layout, (8, 64), 16)
    assert table.bank[:, 0].tolist() == [0, 4, 8, 12, 16, 20, 24, 28]
    assert table.line[:, 0].tolist() == list(range(8))
    assert analyse_access(layout, (8, 64), column(8, 64, 0, 1), "f16").is_conflict_free


@together("dtype", ["e2m1", "e2m3", "e4m3", "f16", "tf32", "f64"])
@together("mode", ["32B", "64B", "128B"])
def test_a_column_of_16_bytes_is_conflict_free(dtype: str, mode: SwizzleMode) -> None:
    """8 rows x 16 bytes, in any mode and type, where the pitch of the rows is the width of the mode."""
    swizzle = SwizzleLayout.for_dtype(dtype, mode)
    chunk = 1 << swizzle.per_element
    columns = chunk * int(mode[:-1]) // 16
    layout = ComposeLayout(swizzle, TileLayout.row_major((8, columns)))
    for start in range(0, columns, chunk):
        assert analyse_access(layout, (8, columns), column(8, columns, start, chunk), dtype, chunk).is_conflict_free


@together(("mode", "degree"), [("none", 8), ("32B", 4), ("64B", 2), ("128B", 1)])
def test_a_pitch_wider_than_the_mode_conflicts(mode: SwizzleMode, degree: int) -> None:
    """Row-major (8, 64) f16 has a pitch of 128 bytes, so only the 128B mode spreads all 8 rows."""
    layout = ComposeLayout(SwizzleLayout.for_dtype("f16", mode), TileLayout.row_major((8, 64)))
    for start in range(0, 64, 8):
        report = analyse_access(layout, (8, 64), column(8, 64, start, 8), "f16", 8)
        assert (report.degree, report.wavefronts) == (degree, degree)


def test_units_of_32_bytes_leave_a_two_way_conflict() -> None:
    """The mode with 32-byte atoms spreads 4 rows: a column of 16 bytes down 8 rows meets every bank twice."""
    layout = ComposeLayout(SwizzleLayout.for_dtype("tf32", "128B_base32B"), TileLayout.row_major((8, 32)))
    assert analyse_access(layout, (8, 32), column(8, 32, 0, 4), "tf32", 4).degree == 2
    assert analyse_access(layout, (8, 32), column(4, 32, 0, 4), "tf32", 4).degree == 1


# Well-known access patterns.


@together(("stride", "degree"), [(1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)])
def test_strided_words(stride: int, degree: int) -> None:
    """A stride of s words is gcd(s, 32)-way: the example of the CUDA programming guide."""
    layout = TileLayout([Iter(32, stride)])
    assert analyse_access(layout, (32,), np.arange(32)[:, None], "f32").degree == degree


def test_broadcast() -> None:
    """All lanes on one word, or four lanes on the bytes of each word, are conflict-free."""
    words = TileLayout.row_major((64,))
    assert analyse_access(words, (64,), np.zeros((32, 1), dtype=np.int64), "f32").is_conflict_free
    assert analyse_access(words, (64,), np.arange(32)[:, None], "u8").is_conflict_free
    assert analyse_access(words, (64,), np.arange(32)[:, None] // 2, "f16").is_conflict_free


@pytest.mark.parametrize(("vector", "phases"), [(1, 1), (2, 2), (4, 4)])
def test_wide_accesses_take_phases(vector: int, phases: int) -> None:
    """Contiguous accesses of 4, 8 and 16 bytes: one phase for each line of 128 bytes, no conflict."""
    size = 32 * vector
    report = analyse_access(TileLayout.row_major((size,)), (size,), np.arange(size).reshape(32, -1), "f32", vector)
    assert report.degrees == (1,) * phases


def test_transpose_with_and_without_padding() -> None:
    """The 32x32 transpose: a column is 32-way, a pitch of 33 words cures it, and so does a swizzle of words."""
    rows = np.arange(1024, dtype=np.int64).reshape(32, 32)
    plain, padded = TileLayout.row_major((32, 32)), TileLayout.parse("S[(32, 32) : (33, 1)]")
    swizzled = ComposeLayout(SwizzleLayout(0, 5, 5), plain)
    assert analyse_access(plain, (32, 32), rows, "f32").degree == 32
    for layout in (padded, swizzled):
        assert analyse_access(layout, (32, 32), rows, "f32").is_conflict_free
        assert analyse_access(layout, (32, 32), rows.T, "f32").is_conflict_free


def test_layout_of_the_accessing_threads() -> None:
    """The accumulator fragment of m16n8, stored as pairs: 4 rows of 32 bytes share a line, rows of 128 bytes do not."""
    fragment = TileLayout.parse("S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]")
    pitch32 = TileLayout.parse("S[(16, 8) : (16, 1)]")
    pitch128 = TileLayout.parse("S[(16, 8) : (64, 1)]")
    report = analyse_access(pitch32, (16, 8), fragment, "f16", 2)
    assert report.degrees == (2, 2)
    report = analyse_access(pitch128, (16, 8), fragment, "f16", 2)
    assert report.degrees == (8, 8)
    swizzled = ComposeLayout(SwizzleLayout.for_dtype("f16", "128B"), pitch128)
    assert analyse_access(swizzled, (16, 8), fragment, "f16", 2).is_conflict_free


def test_report_text() -> None:
    tile = TileLayout.row_major((8, 64))
    assert str(analyse_access(tile, (8, 64), column(8, 64, 0, 8), "f16", 8)) == (
        "8-way bank conflict: 8 wavefronts for 1 phase of 8 lanes x 16 bytes; worst is warp 0, access 0, lanes 0-7: "
        "8 words of bank 0, for lane 0 (0, 0) in line 0, lane 1 (1, 0) in line 1, lane 2 (2, 0) in line 2, "
        "lane 3 (3, 0) in line 3, 4 more"
    )
    assert str(analyse_access(tile, (8, 64), np.arange(512).reshape(64, 8), "f16", 8)) == (
        "conflict-free: 8 wavefronts for 8 phases of 8 lanes x 16 bytes"
    )
    late = np.where(np.arange(64)[:, None] < 32, -1, np.arange(64)[:, None] % 2 * 64)
    assert str(analyse_access(tile, (8, 64), late, "f16").worst) == (
        "warp 1, access 0, lanes 0-31: 2 words of bank 0, for lane 0 (0, 0) in line 0, lane 1 (1, 0) in line 1, "
        "lane 2 (0, 0) in line 0, lane 3 (1, 0) in line 1, 28 more"
    )


def test_conflict_degree_of_wide_elements() -> None:
    assert conflict_degree(np.arange(16), 64) == 1
    assert conflict_degree(np.arange(32), 64) == 2
    assert conflict_degree(np.arange(8) * 16, 64) == 8


def test_errors() -> None:
    tile = TileLayout.row_major((8, 64))
    ones = np.zeros((32, 1), dtype=np.int64)
    with pytest.raises(LayoutError, match="an access takes 1, 2, 4, 8, 16 bytes, found 3 elements of 16 bits"):
        analyse_access(tile, (8, 64), column(8, 64, 0, 3), "f16", 3)
    with pytest.raises(LayoutError, match="found 1 elements of 4 bits"):
        analyse_access(tile, (8, 64), ones, "e2m1")
    with pytest.raises(LayoutError, match="the 3 elements of a thread are no whole number of accesses of 2"):
        analyse_access(tile, (8, 64), column(8, 64, 0, 3), "f16", 2)
    with pytest.raises(LayoutError) as caught:
        analyse_access(TileLayout.parse("S[(8, 32, 2) : (64, 2, 1)] + 2"), (8, 64), column(8, 64, 0, 4), "f16", 4)
    assert str(caught.value) == (
        "expected 4 consecutive elements of 16 bits, aligned to 4, in access 0 of lane 0 of warp 0, found (0, 0) at 2, "
        "(0, 1) at 3, (0, 2) at 4, (0, 3) at 5; accesses of 2 elements work"
    )
    with pytest.raises(LayoutError, match="found .0, 0. at 0, .0, 2. at 2; accesses of 1 element work"):
        analyse_access(tile, (8, 64), np.array([[0, 2]]), "f16", 2)
    with pytest.raises(LayoutError, match=r"found none, \(0, 1\) at 1; accesses of 1 element work"):
        analyse_access(tile, (8, 64), np.array([[-1, 1]]), "f16", 2)
    with pytest.raises(LayoutError, match=r"names elements 0..511, or -1 for none, found 0..512"):
        analyse_access(tile, (8, 64), np.array([[0, 512]]), "f16")
    with pytest.raises(LayoutError, match=r"expected an access pattern of integers .* found float64 of shape \(1,\)"):
        analyse_access(tile, (8, 64), np.array([0.5]), "f16")
    with pytest.raises(LayoutError, match="in which some thread accesses an element"):
        analyse_access(tile, (8, 64), -1 - ones, "f16")
    with pytest.raises(LayoutError, match="expected a layout on axis m only, found laneid"):
        analyse_access(TileLayout.parse("S[32 : 1@laneid]"), (32,), ones, "f32")
