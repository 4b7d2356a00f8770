"""The cost of copies against a recount by hand, and the order of the layouts that an operand can have."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx.copy.cost import COST_TERMS, CopyCost, CopyEnd, copy_cost, least_cost
from tirx.copy.distribute import copy_distribution
from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.smem.atoms import smem_layout
from tirx.smem.canonical import operand_slices
from tirx.smem.operand_tile import operand_tile
from tirx.smem.pick import operand_candidates
from tirx.smem.swizzle_modes import MAJORS, SWIZZLE_MODES, legal_modes


def from_global(text: str, shared: TileLayout | ComposeLayout) -> tuple[CopyEnd, CopyEnd]:
    return CopyEnd(TileLayout.parse(text), "global"), CopyEnd(shared, "shared")


def test_a_copy_at_full_speed():
    # 16 KiB: 128 wavefronts of 128 bytes, 512 sectors of 32, 32 warp-wide loads and 32 stores of 16 bytes a lane.
    tile = operand_tile((128, 64), find_dtype("f16"), "K", "128B")
    assert tile is not None
    ends = from_global("S[(128, 64) : (256, 1)]", tile.layout)
    cost = copy_cost((128, 64), ends, 16, 128)
    assert cost == CopyCost(wavefronts=128, sectors=512, instructions=64) == least_cost((128, 64), ends, 16)
    assert cost.cycles == 128 + 256 + 64
    assert str(cost) == "448 cycles (128 wavefronts x 1 + 512 sectors x 0.5 + 64 instructions x 1)"


def test_conflicts_count():
    # Rows of 96 bytes in rows of 128: the last 32 bytes of every row of banks are never used.
    tile = operand_tile((96, 48), find_dtype("f16"), "K", "128B")
    assert tile is not None and tile.padding_bytes == 96 * 32
    ends = from_global("S[(96, 48) : (256, 1)]", tile.layout)
    assert copy_cost((96, 48), ends, 16, 128) == CopyCost(144, 288, 36)
    assert least_cost((96, 48), ends, 16) == CopyCost(72, 288, 36)


@pytest.mark.parametrize("threads", [32, 64, 128])
@pytest.mark.parametrize("swizzle", [(2, 3, 3), (0, 0, 0), (2, 2, 3)])
def test_a_transposing_copy_counted_by_hand(threads: int, swizzle: tuple[int, int, int]):
    """No vectors: every register is one access, and the first warp's addresses are counted one by one."""
    shape = (64, 32)
    ends = from_global(
        "S[(64, 32) : (32, 1)]", ComposeLayout(SwizzleLayout(*swizzle), TileLayout.parse("S[(64, 32) : (1, 64)]"))
    )
    registers = copy_distribution(shape, ends[0].layout, ends[1].layout, 32, threads).table(shape)
    slots = int(registers["m"].max()) + 1
    counted = CopyCost()
    for slot in range(slots):
        for end in ends:
            mine = (registers["m"] == slot) & (registers["tx"] < 32)
            words = set(end.layout.table(shape)["m"][mine].tolist())
            assert len(words) == 32
            if end.memory == "global":
                counted += CopyCost(sectors=len({word // 8 for word in words}), instructions=1)
            else:
                banks = [word % 32 for word in words]
                counted += CopyCost(wavefronts=max(banks.count(bank) for bank in banks), instructions=1)
    warps = threads // 32
    found = copy_cost(shape, ends, 32, threads)
    assert found == CopyCost(counted.wavefronts * warps, counted.sectors * warps, counted.instructions * warps)


@given(
    st.sampled_from([("f16", 16), ("tf32", 8), ("e4m3", 32)]),
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from(["row", "column"]),
)
def test_candidates_are_legal_and_none_beats_the_bound(kind: tuple[str, int], mn: int, k: int, order: str):
    dtype, k_instr = kind
    shape = (16 * mn, k * k_instr)
    bits = find_dtype(dtype).storage_bits
    source = TileLayout.row_major(shape) if order == "row" else TileLayout.row_major(shape[::-1]).permute((1, 0))
    candidates = operand_candidates(shape, dtype)
    order_keys = [(tile.padding_bytes, tile.major, tile.blocks) for tile in candidates]
    assert order_keys == sorted(order_keys)
    for tile in candidates:
        parts = operand_slices(tile.layout, shape, dtype, k_instr)
        assert {(part.canonical.major, part.canonical.swizzle) for part in parts} == {(tile.major, tile.swizzle)}
        table = tile.layout.table(shape)["m"]
        assert len(np.unique(table)) == table.size
        used = -(-(int(table.max()) + 1) * bits // 8)
        size = table.size * bits // 8 + tile.padding_bytes
        assert size - SWIZZLE_MODES[tile.swizzle].period_bytes * 8 <= used <= size
        ends = (CopyEnd(source, "global"), CopyEnd(tile.layout, "shared"))
        cost, least = copy_cost(shape, ends, bits, 128), least_cost(shape, ends, bits)
        assert all(getattr(cost, term.name) >= getattr(least, term.name) for term in COST_TERMS)


def test_extents_that_are_no_powers_of_two():
    def names(shape: tuple[int, int], dtype: str = "f16") -> list[str]:
        return [f"{tile.major} {tile.swizzle}" for tile in operand_candidates(shape, dtype)]

    assert names((96, 48))[:2] == ["K 32B", "K none"]
    assert names((224, 80))[:2] == ["K 32B", "K none"]
    assert names((224, 96))[:2] == ["K 64B", "K 32B"]
    assert "MN 64B" in names((224, 96)) and "MN 128B" not in names((224, 96))
    assert names((96, 48))[-1] == "K 128B"  # a row of 128 bytes of which 96 are used


def test_part_of_a_row_is_padded():
    tile = operand_tile((16, 16), find_dtype("tf32"), "MN", "128B_base32B")
    assert tile is not None and (tile.blocks, tile.padding_bytes) == (1, 1024)
    assert operand_slices(tile.layout, (16, 16), "tf32", 8)[1].offset_bytes == 1024
    assert operand_tile((48, 16), find_dtype("tf32"), "MN", "128B_base32B") is None


def test_no_candidates():
    with pytest.raises(LegalityError, match=r"expected K in steps of 8 elements \(16 bytes\), found 12; nearest is 16"):
        operand_candidates((60, 12), "f16")


@pytest.mark.parametrize(("dtype", "bits"), [("f16", 16), ("tf32", 32), ("e2m1", 8)])
def test_tiles_of_whole_rows_or_a_padded_one(dtype: str, bits: int):
    """Extents of the contiguous dimension around each boundary, by numbers of lines: room, blocks and places."""
    element = find_dtype(dtype)
    for major in MAJORS:
        for mode in (SWIZZLE_MODES[name] for name in legal_modes(element, major)):
            row, atom = mode.row_bytes * 8 // bits, (16 if major == "K" else mode.atom_bytes) * 8 // bits
            for contiguous in {-row, 0, 1, atom // 2, atom - 1, atom, row, row + atom, 2 * row}:
                for lines in (-4, 0, 1, 4, 8, 20):
                    shape = (lines, contiguous) if major == "K" else (contiguous, lines)
                    tile = operand_tile(shape, element, major, mode.name, bits)
                    rows = contiguous in (row, 2 * row) or (0 < contiguous < row and contiguous % atom == 0)
                    if not rows or lines < 1 or (major == "MN" and lines % mode.rows):
                        assert tile is None, (shape, major, mode)
                        continue
                    assert tile is not None, (shape, major, mode)
                    blocks, groups = (2 if contiguous > row else 1), -(-lines // mode.rows)
                    room = blocks * groups * mode.rows * mode.row_bytes
                    assert (tile.major, tile.swizzle, tile.blocks) == (major, mode.name, blocks)
                    assert tile.padding_bytes == room - contiguous * lines * bits // 8
                    whole = (lines, blocks * row) if major == "K" else (blocks * row, lines)
                    places = smem_layout(element, mode.name, major, whole, container_bits=bits).table(whole)["m"]
                    assert (tile.layout.table(shape)["m"] == places[: shape[0], : shape[1]]).all()
