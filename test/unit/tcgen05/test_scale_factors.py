"""Scale factors in tensor memory and shared memory against the tables of the PTX ISA and of cuBLAS, by element."""

from collections.abc import Callable

import numpy as np
import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.tcgen05.scale_factors import (
    SCALE_FACTOR_IDS,
    scale_factor_a_layout,
    scale_factor_atom,
    scale_factor_b_layout,
    scale_factor_smem_layout,
    scale_factor_tmem_layout,
)


@pytest.mark.parametrize("sf", [1, 2, 4])
def test_the_atom_is_that_of_the_seed_page(sf: int):
    expected = TileLayout.parse(f"S[(32, {sf}):(1@TLane, 1@TCol)] + R[4:32@TLane]")
    assert scale_factor_atom(sf) == expected
    # "routing that 32-row group across the four warps": every row is in four partitions of 32 lanes.
    assert [owner["TLane"] for owner in expected.owners((5, sf - 1), (32, sf))] == [5, 37, 69, 101]


def test_the_atom_direct_summed_with_an_outer_of_rows_and_groups():
    """Two groups of 32 rows and two scale factors per instruction, packed four to a column: digit for digit."""
    outer = TileLayout.parse("S[(2, 2, 2) : (4@TCol, 8@TCol, 2@TCol)]")
    by_hand = scale_factor_atom(2).direct_sum(outer, (2, 4), (32, 2))
    assert scale_factor_tmem_layout(64, 8, 2) == by_hand
    assert str(by_hand) == "S[(2, 32, 2, 4) : (4@TCol, 1@TLane, 8@TCol, 1@TCol)] + R[4 : 32@TLane]"
    # row 37 is lane 5 of the second group; scale factor 6 is byte 2 of the second column of that group
    assert by_hand.owners((37, 6), (64, 8)) == [{"TCol": 14, "TLane": 5 + 32 * w} for w in range(4)]


CASES = [
    (rows, sf_k, sf)
    for rows in (32, 64, 96, 128, 192, 224, 256)
    for sf in (1, 2, 4)
    for sf_k in (1, 2, 3, 4, 8, 12, 16)
    if sf_k % sf == 0
]


@pytest.mark.parametrize(("rows", "sf_k", "sf"), CASES)
@pytest.mark.sample(10)
def test_every_scale_factor_is_where_the_instruction_reads_it(rows: int, sf_k: int, sf: int):
    """Instruction i reads row r, index j at lane r % 32 of each partition, column + r / 32, byte SF_ID + j."""
    layout = scale_factor_tmem_layout(rows, sf_k, sf)
    bytes_of = layout.axis_table("TCol", (rows, sf_k // sf, sf)).min(axis=(0, 2)).tolist()
    reads = [divmod(first, 4) for first in bytes_of]
    assert all(sf_id in SCALE_FACTOR_IDS[sf] for _, sf_id in reads)
    layout.check_bounds(8)
    assert layout.is_injective()
    for i, (column, sf_id) in enumerate(reads):
        for r in (*range(0, rows, 7), rows - 1):
            for j in range(sf):
                byte = 4 * (column + r // 32) + sf_id + j
                expected = [(r % 32 + 32 * w, byte) for w in range(4)]
                assert [
                    (o["TLane"], o.get("TCol", 0)) for o in layout.owners((r, i * sf + j), (rows, sf_k))
                ] == expected


def test_stages_follow_each_other():
    one, two = scale_factor_tmem_layout(128, 8, 4), scale_factor_tmem_layout(128, 8, 4, pipe=2)
    assert one.footprint()["TCol"] == (0, 31)
    table = two.axis_table("TCol", (2, 128, 8))
    assert (table[0] == one.axis_table("TCol", (128, 8))).all()
    assert (table[1] == table[0] + 32).all()


def test_reuse_gives_several_instructions_one_scale_factor():
    layout = scale_factor_tmem_layout(128, 4, 1, reuse=4)
    table = layout.axis_table("TCol", (128, 16))
    assert table[0].tolist() == [i // 4 for i in range(16)]


@pytest.mark.parametrize(("m", "cta_group", "rows"), [(128, 1, 128), (256, 2, 128), (128, 2, 64)])
def test_scale_factors_of_a(m: int, cta_group: int, rows: int):
    """Each CTA holds its rows of A, replicated to all four partitions."""
    layout = scale_factor_a_layout(m, 8, 4, cta_group)
    for r in range(0, m, 5):
        for k in range(8):
            places = {(o.get("cbx", 0), o["TLane"], o["TCol"]) for o in layout.owners((r, k), (m, 8))}
            cta, local = divmod(r, rows)
            byte = 4 * (local // 32) + rows // 32 * 4 * (k // 4) + k % 4
            assert places == {(cta, local % 32 + 32 * w, byte) for w in range(4)}
    layout.check_bounds(8)
    assert layout.is_injective()


@together("n", [64, 128, 256])
@together(("m", "cta_group"), [(128, 1), (256, 2), (128, 2)])
def test_scale_factors_of_b(m: int, cta_group: int, n: int):
    """All of N in each CTA; with M = 128 of a pair, a half of N in each half of the lanes, twice."""
    layout = scale_factor_b_layout(m, n, 4, 4, cta_group)
    halves = 2 if (m, cta_group) == (128, 2) else 1
    rows = n // halves
    for r in range(0, n, 5):
        half, local = divmod(r, rows)
        partitions = range(4) if halves == 1 else (2 * half, 2 * half + 1)
        for k in range(4):
            places = {(o.get("cbx", 0), o["TLane"], o["TCol"]) for o in layout.owners((r, k), (n, 4))}
            lanes = [local % 32 + 32 * w for w in partitions]
            assert places == {(cta, lane, 4 * (local // 32) + k) for cta in range(cta_group) for lane in lanes}
    layout.check_bounds(8)
    assert layout.is_injective()


@together(("rows", "sf_k"), [(128, 4), (256, 4), (128, 16), (384, 8)])
def test_shared_memory_is_blocks_of_128_by_4(rows: int, sf_k: int):
    """The formula of cuBLAS: offset in the block, then blocks along K, then blocks of rows."""
    table = scale_factor_smem_layout(rows, sf_k).axis_table("m", (rows, sf_k))
    r, k = np.meshgrid(np.arange(rows), np.arange(sf_k), indexing="ij")
    block = r // 128 * (sf_k // 4) + k // 4
    assert (table == 512 * block + r % 32 * 16 + r % 128 // 32 * 4 + k % 4).all()
    assert sorted(table.reshape(-1).tolist()) == list(range(rows * sf_k))


def test_a_block_in_shared_memory_is_what_the_copy_moves():
    """tcgen05.cp.32x128b.warpx4 takes 16 bytes of row r to columns 0 to 3 of lane r of every partition."""
    shared = scale_factor_smem_layout(128, 4).axis_table("m", (128, 4))
    tensor = scale_factor_tmem_layout(128, 4, 4)
    lane, byte = tensor.axis_table("TLane", (128, 4)), tensor.axis_table("TCol", (128, 4))
    assert (shared == 16 * lane + byte).all()
    assert [step["TLane"] for step in tensor.replicas()] == [0, 32, 64, 96]


def test_reuse_and_stages_in_shared_memory():
    table = scale_factor_smem_layout(128, 4, reuse=2, pipe=3).axis_table("m", (3, 128, 4, 2))
    one = scale_factor_smem_layout(128, 4).axis_table("m", (128, 4))
    for stage in range(3):
        assert (table[stage] == one[:, :, None] + 512 * stage).all()


@together(
    ("make", "message"),
    [
        (lambda: scale_factor_atom(3), r"expected 1, 2, 4 scale factors of each row .*, found 3"),
        (
            lambda: scale_factor_tmem_layout(48, 4, 4),
            r"expected rows in steps of 32 \(lanes\), found 48; nearest .* 64",
        ),
        (lambda: scale_factor_tmem_layout(128, 6, 2), "along K in steps of 4, found 6; nearest above is 8"),
        (lambda: scale_factor_tmem_layout(128, 2, 4), "along K in steps of 4, found 2; nearest above is 4"),
        (lambda: scale_factor_tmem_layout(128, 0, 1), "along K in steps of 1, found 0"),
        (lambda: scale_factor_tmem_layout(128, 4, 1, reuse=0), "expected a positive reuse, found 0"),
        (lambda: scale_factor_tmem_layout(128, 4, 2, reuse=2), "expected reuse 1 with 2 scale factors per instr"),
        (lambda: scale_factor_tmem_layout(256, 256, 4, pipe=2), "at most 512 columns of tensor memory, found 1024"),
        (lambda: scale_factor_a_layout(64, 4, 4), "expected M = 128 with cta_group 1, .*found M = 64 with cta_group 1"),
        (lambda: scale_factor_b_layout(128, 96, 4, 4, 2), r"rows in steps of 64 \(2 parts .*found 96; nearest .* 128"),
        (lambda: scale_factor_smem_layout(96, 4), r"rows in steps of 128 \(blocks\), found 96; nearest above is 128"),
        (lambda: scale_factor_smem_layout(64, 4), r"along K in steps of 8 \(blocks\), found 4; nearest above is 8"),
        (lambda: scale_factor_smem_layout(192, 8, halves=2), r"rows in steps of 256 \(blocks\), found 192"),
        (lambda: scale_factor_smem_layout(128, 2), r"along K in steps of 4 \(blocks\), found 2"),
    ],
)
def test_sizes_that_do_not_exist(make: Callable[[], TileLayout], message: str):
    with pytest.raises(LegalityError, match=message):
        make()
