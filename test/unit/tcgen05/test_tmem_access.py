"""Results of tcgen05.ld of a tile, simulated instruction by instruction with numpy."""

from collections.abc import Callable

import numpy as np
import pytest
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.tcgen05.tmem import accumulator_layout, operand_a_layout
from tirx.tcgen05.tmem_access import (
    LD_SHAPES,
    TmemAccess,
    ld_fragment,
    pick_ld_shape,
    plan_tmem_access,
    register_fragment,
    written_cells,
)

# The fragments of the ISA: (thread, register, split) -> (lane, column), relative to the address
FRAGMENTS: dict[str, tuple[int, int, Callable[[int, int, int], tuple[int, int]]]] = {
    "32x32b": (1, 128, lambda t, r, s: (t, r)),
    "16x64b": (1, 128, lambda t, r, s: ((t >> 2) + 8 * (t & 1), ((t >> 1) & 1) + 2 * r)),
    "16x128b": (2, 64, lambda t, r, s: ((t >> 2) + 8 * (r & 1), (t & 3) + 4 * (r >> 1))),
    "16x256b": (4, 32, lambda t, r, s: ((t >> 2) + 8 * ((r >> 1) & 1), (r & 1) + 2 * (t & 3) + 8 * (r >> 2))),
    "16x32bx2": (1, 128, lambda t, r, s: (t % 16, r + t // 16 * s)),
}


# (bits of an element, .pack::16b)
WIDTHS = [(32, False), (16, False), (16, True), (8, False), (4, False)]


def fragment_place(name: str, thread: int, element: int, split: int, bits: int, pack: bool) -> tuple[int, int]:
    """(lane, element of the lane) of an element of a thread's registers: the ISA's fragment, two 16-bit halves apart.

    `.pack::16b` doubles the columns of the fragment, and takes the low halves of two of them for one register; the
    immHalfSplitoff counts columns as they are.
    """
    per = 32 // bits
    if not pack:
        lane, column = FRAGMENTS[name][2](thread, element // per, split)
        return lane, column * per + element % per
    lane, column = FRAGMENTS[name][2](thread, element // 2, 0)
    half = thread // 16 * split if name == "16x32bx2" else 0
    return lane, 2 * (2 * column + element % 2 + half)


@pytest.mark.sample(10)
@pytest.mark.parametrize(("bits", "pack"), WIDTHS)
@pytest.mark.parametrize("name", FRAGMENTS)
def test_register_maps(name: str, bits: int, pack: bool):
    """Every NUM of every shape."""
    per, max_num, _ = FRAGMENTS[name]
    shape = next(shape for shape in LD_SHAPES.values() if shape.name == name)
    assert (shape.registers_per_repeat, shape.max_num) == (per, max_num)
    num = 1
    while num <= max_num:
        split = 3 * num
        elements = num * per * 32 // bits
        table = shape.register_map(num, split, element_bits=bits, pack=pack).table((32, elements))
        for t in range(32):
            for e in (*range(0, elements, 3), elements - 1):
                place = fragment_place(name, t, e, split, bits, pack)
                assert (table["TLane"][t, e], table["TCol"][t, e]) == place
        num *= 2
    for num in (0, 3, 2 * max_num):
        with pytest.raises(LegalityError, match=f"expected NUM a power of two up to {max_num}, found {num}"):
            shape.register_map(num)


@pytest.mark.parametrize(("bits", "pack"), WIDTHS)
@pytest.mark.parametrize(
    ("name", "rows"), [(name, rows) for name in FRAGMENTS for rows in ((128,) if name == "32x32b" else (64, 128))]
)
@pytest.mark.sample(6)
def test_fragments_of_a_warpgroup(name: str, rows: int, bits: int, pack: bool):
    """Every NUM of every shape, and a second instruction 16 lanes further for 128 rows: where each element goes."""
    per, max_num, _ = FRAGMENTS[name]
    num = 1
    while num <= max_num:
        image = ld_fragment(name, num, rows, element_bits=bits, pack=pack)
        columns = image.size() // rows
        elements = num * per * 32 // bits
        table = {axis: image.axis_table(axis, (rows, columns)) for axis in ("wid_in_wg", "laneid", "m")}
        instructions = (0, 16) if rows == 128 and name != "32x32b" else (0,)
        assert elements * len(instructions) * 128 == image.size()
        split = columns * bits // 32 // 2 if not pack else columns // 2
        for warp, thread in ((0, 0), (1, 5), (2, 18), (3, 31)):
            for index, start in enumerate(instructions):
                for e in (*range(0, elements, 5), elements - 1):
                    lane, place = fragment_place(name, thread, e, split, bits, pack)
                    lane += 32 * warp + start
                    row = lane if rows == 128 else lane // 32 * 16 + lane % 32
                    at = row, place // 2 if pack else place
                    found = tuple(int(table[axis][at]) for axis in ("wid_in_wg", "laneid", "m"))
                    assert found == (warp, thread, index * elements + e)
        assert image.is_injective()
        image.check_bounds(bits)
        num *= 2


def test_fragments_in_the_notation():
    """Rows and columns as the PTX figures draw them; the second instruction's registers follow the first's."""
    assert str(ld_fragment("32x32b", 8).fuse_threads()) == "S[(128, 8) : (1@tid_in_wg, 1)]"
    assert str(ld_fragment("16x64b", 4).canonicalize()) == (
        "S[(4, 2, 8, 4, 2) : (1@wid_in_wg, 1@laneid, 4@laneid, 1, 2@laneid)]"
    )
    assert str(ld_fragment("16x128b", 4).canonicalize()) == (
        "S[(4, 2, 8, 4, 4) : (1@wid_in_wg, 1, 4@laneid, 2, 1@laneid)]"
    )
    assert str(ld_fragment("16x256b", 4).canonicalize()) == (
        "S[(4, 2, 8, 4, 4, 2) : (1@wid_in_wg, 2, 4@laneid, 4, 1@laneid, 1)]"
    )
    assert str(ld_fragment("16x256b", 4, 128).canonicalize()) == (
        "S[(4, 2, 2, 8, 4, 4, 2) : (1@wid_in_wg, 16, 2, 4@laneid, 4, 1@laneid, 1)]"
    )
    assert str(ld_fragment("16x256b", 4, element_bits=16, pack=True).canonicalize()) == (
        "S[(4, 2, 8, 4, 4, 4) : (1@wid_in_wg, 4, 4@laneid, 8, 1@laneid, 1)]"
    )


@together(
    ("arguments", "options", "message"),
    [
        (("32x32b", 256), {}, "expected NUM a power of two up to 128, found 256"),
        (("32x32b", 4, 64), {}, "tcgen05.ld.32x32b: expected 128 rows, found 64"),
        (("16x64b", 4, 32), {}, "tcgen05.ld.16x64b: expected 64 or 128 rows, found 32"),
        (("16x32b", 4), {}, "expected a tcgen05.ld shape"),
        (("16x64b", 4), {"pack": True}, r"\.pack::16b and \.unpack::16b: expected elements of 16 bits, found 32"),
        (("16x64b", 4), {"element_bits": 64}, "expected elements of 4, 8, 16 or 32 bits in tensor memory, found 64"),
    ],
)
def test_fragments_that_do_not_exist(
    arguments: tuple[str, int] | tuple[str, int, int], options: dict[str, int], message: str
):
    with pytest.raises(LegalityError, match=message):
        ld_fragment(*arguments, **options)  # type: ignore[arg-type]


def run_loads(
    memory: np.ndarray, accesses: tuple[TmemAccess, ...], registers: int, column: int = 0, bits: int = 32
) -> np.ndarray:
    """Executes tcgen05.ld by the ISA's fragments: registers[warp, thread, element] from memory[lane, element]."""
    per_register = 32 // bits
    result = np.full((4, 32, registers * per_register), -1, dtype=np.int64)
    for access in accesses:
        per, max_num, _ = FRAGMENTS[access.shape]
        assert access.num & (access.num - 1) == 0 and access.num <= max_num
        assert access.registers == per * access.num <= 128
        assert (access.split is not None) == (access.shape == "16x32bx2")
        for warp in range(4):
            for thread in range(32):
                for e in range(access.registers * per_register):
                    lane, place = fragment_place(access.shape, thread, e, access.split or 0, bits, access.pack)
                    at = 32 * warp + access.lane + lane, (access.column + column) * per_register + place
                    result[warp, thread, access.first_register * per_register + e] = memory[at]
    return result


CASES = [
    (128, 64, False, 0, "32x32b"),
    (128, 64, False, 0, "16x64b"),
    (128, 64, False, 0, "16x128b"),
    (128, 64, False, 0, "16x256b"),
    (128, 48, False, 0, "16x32bx2"),
    (128, 24, False, 0, None),
    (64, 128, True, 0, None),
    (64, 64, True, 0, "16x256b"),
    (32, 64, True, 0, None),
    (64, 96, False, 0, None),
    (64, 96, False, 16, None),
    (64, 32, False, 0, "32x32b"),
    (64, 32, False, 16, "32x32b"),
    (64, 32, False, 16, "16x64b"),
    (64, 32, False, 16, "16x128b"),
    (64, 32, False, 0, "16x256b"),
]


@pytest.mark.sample(8)
@pytest.mark.parametrize(("m", "n", "ws", "base_lane", "ld_shape"), CASES)
@pytest.mark.parametrize("max_registers", [128, 16])
def test_loading_an_accumulator(m: int, n: int, ws: bool, base_lane: int, ld_shape: str | None, max_registers: int):
    layout = accumulator_layout(m, n, ws=ws, base_lane=base_lane)
    layout = layout.with_offset(TCol=40)
    plan = plan_tmem_access(layout, (m, n), ld_shape, max_registers=max_registers, warp_axis="wid_in_wg")
    assert all(access.registers <= max_registers for access in plan.accesses)
    assert sum(access.registers for access in plan.accesses) == plan.registers
    place = layout.table((m, n))
    values = np.arange(m * n).reshape(m, n)
    memory = np.full((128, 512), -2, dtype=np.int64)
    memory[place["TLane"], place["TCol"]] = values
    registers = run_loads(memory, plan.accesses, plan.registers)
    image = plan.fragment.table((m, n))
    assert set(image) <= {"wid_in_wg", "laneid", "m"}
    zero = np.zeros((m, n), dtype=np.int64)
    found = registers[image.get("wid_in_wg", zero), image["laneid"], image["m"]]
    assert (found == values).all()
    assert plan.fragment.is_injective()


@pytest.mark.sample(6)
@pytest.mark.parametrize(("m", "n", "ws", "base_lane", "ld_shape"), [case for case in CASES if case[1] != 24])
def test_loading_a_16_bit_accumulator(m: int, n: int, ws: bool, base_lane: int, ld_shape: str | None):
    """D of f16 is one element in each column: packed in pairs by .pack::16b, in the low halves of registers without."""
    layout = accumulator_layout(m, n, ws=ws, base_lane=base_lane, dtype="f16").with_offset(TCol=2 * 40)
    place = layout.table((m, n))
    assert not (place["TCol"] % 2).any()
    values = np.arange(m * n).reshape(m, n)
    memory = np.full((128, 1024), -2, dtype=np.int64)
    memory[place["TLane"], place["TCol"]] = values
    for pack in (False, True):
        plan = plan_tmem_access(layout, (m, n), ld_shape, warp_axis="wid_in_wg", element_bits=16, pack=pack)
        registers = run_loads(memory, plan.accesses, plan.registers, bits=16)
        image = {axis: plan.fragment.axis_table(axis, (m, n)) for axis in ("wid_in_wg", "laneid", "m")}
        assert (registers[image["wid_in_wg"], image["laneid"], image["m"]] == values).all()
        assert (image["m"] % 2 == 0).all() != pack
        assert {access.pack for access in plan.accesses} == {pack}
        whole = plan_tmem_access(accumulator_layout(m, n, ws=ws, base_lane=base_lane), (m, n), ld_shape)
        assert plan.registers == whole.registers // (2 if pack else 1)


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("dtype", "bits", "k"), [("f16", 16, 64), ("e4m3", 8, 128), ("tf32", 32, 64), ("e2m1", 4, 256)]
)
@pytest.mark.parametrize("ld_shape", ["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"])
def test_storing_an_operand(dtype: str, bits: int, k: int, ld_shape: str):
    """A of packed elements takes its registers whole, which is what tcgen05.st writes from."""
    layout = operand_a_layout(128, k, dtype)
    place = layout.table((128, k))
    values = np.arange(128 * k).reshape(128, k)
    memory = np.full((128, 512 * 32 // bits), -2, dtype=np.int64)
    memory[place["TLane"], place["TCol"]] = values
    plan = plan_tmem_access(layout, (128, k), ld_shape, warp_axis="wid_in_wg", element_bits=bits)
    assert plan.registers == k * bits // 32
    registers = run_loads(memory, plan.accesses, plan.registers, bits=bits)
    image = plan.fragment.table((128, k))
    assert (registers[image["wid_in_wg"], image["laneid"], image["m"]] == values).all()
    assert written_cells(layout, (128, k), ld_shape, element_bits=bits).sum() == 128 * k * bits // 32


def test_offsets_inside_a_column_have_no_address():
    layout = TileLayout.parse("S[(128, 8) : (1@TLane, 1@TCol)] + 3@TCol")
    with pytest.raises(LegalityError, match="TCol offset of whole 32-bit columns, in steps of 2 elements, found 3"):
        register_fragment(layout, (128, 8), "32x32b", element_bits=16)


def test_packed_elements_cannot_be_packed_again():
    with pytest.raises(LegalityError, match="in steps of 2, 4 on TCol, found 8 : 1@TCol"):
        register_fragment(
            TileLayout.parse("S[(128, 8) : (1@TLane, 1@TCol)]"), (128, 8), "32x32b", element_bits=16, pack=True
        )


def test_32_lanes_only_rename_the_axes():
    assert str(register_fragment(accumulator_layout(128, 64), (128, 64), "32x32b")) == (
        "S[(4, 32, 64) : (1@warpid, 1@laneid, 1)]"
    )
    image = register_fragment(accumulator_layout(128, 64), (128, 64), "32x32b", "wid_in_wg")
    assert image.axes == ("wid_in_wg", "laneid", "m")


def test_m_64_without_ws_uses_all_threads():
    layout = accumulator_layout(64, 96)
    assert pick_ld_shape(layout) == "16x32bx2"
    plan = plan_tmem_access(layout, (64, 96))
    assert [(access.num, access.column, access.split) for access in plan.accesses] == [(32, 0, 48), (16, 32, 48)]
    assert str(plan.fragment) == "S[(4, 16, 2, 48) : (1@warpid, 1@laneid, 16@laneid, 1)]"
    assert pick_ld_shape(TileLayout.parse("S[(64, 1) : (1@TLane, 1@TCol)]")) == "32x32b"


def test_columns_of_two_accumulators():
    """The columns between them take no registers, and none of them is written."""
    layout = TileLayout.parse("S[(2, 128, 24) : (128@TCol, 1@TLane, 1@TCol)] + 32@TCol")
    plan = plan_tmem_access(layout, (256, 24))
    assert str(plan.fragment) == "S[(2, 4, 32, 24) : (24, 1@warpid, 1@laneid, 1)]"
    assert [(access.column, access.first_register, access.registers) for access in plan.accesses] == [
        (32, 0, 16),
        (48, 16, 8),
        (160, 24, 16),
        (176, 40, 8),
    ]
    written = np.flatnonzero(written_cells(layout, (256, 24), "32x32b").all(axis=(0, 1)))
    assert written.tolist() == [*range(32, 56), *range(160, 184)]


def test_a_pair_of_ctas_keeps_its_axis():
    image = register_fragment(accumulator_layout(256, 64, 2), (256, 64), "32x32b")
    assert str(image) == "S[(2, 4, 32, 64) : (1@cbx, 1@warpid, 1@laneid, 1)]"


def test_replicated_lanes_are_loaded_by_every_warp():
    layout = TileLayout.parse("S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
    image = register_fragment(layout, (32, 4), "32x32b")
    assert image == TileLayout.parse("S[(32, 4) : (1@laneid, 1)] + R[4 : 1@warpid]")


@together(
    ("layout", "ld_shape", "message"),
    [
        ("S[(128, 6) : (1@TLane, 1@TCol)]", "16x128b", "expected columns in steps of 4, found 6"),
        ("S[(128, 3) : (1@TLane, 1@TCol)]", "16x32bx2", "expected columns in steps of 2, found 3"),
        ("S[(128, 4) : (1@TLane, 1@TCol)]", "8x8b", r"expected a tcgen05.ld shape \(32x32b, .*found '8x8b'"),
        (
            "S[(43, 4) : (3@TLane, 1@TCol)]",
            "32x32b",
            "expected lanes that the threads of a warp .* count, in steps of 1, 32 on TLane, found 43 : 3",
        ),
        ("S[(129, 4) : (1@TLane, 1@TCol)]", "32x32b", "expected lanes 0 to 127, found 0 to 128"),
        ("S[(2, 16, 4) : (24@TLane, 1@TLane, 1@TCol)]", "32x32b", "in steps of 1, 32 on TLane, found 2 : 24@TLane"),
        (
            "S[(2, 32, 4) : (4@TLane, 1@TLane, 1@TCol)]",
            "32x32b",
            (
                r"^tcgen05\.ld\.32x32b has no register fragment of S\[\(2, 32, 4\) : \(4@TLane, 1@TLane, "
                r"1@TCol\)\]: element \(1, 28, 0\) is at lane 32, column 0 and would be read from lane 0, "
                "column 0$"
            ),
        ),
    ],
)
def test_tiles_without_a_register_fragment(layout: str, ld_shape: str, message: str):
    tile = TileLayout.parse(layout)
    with pytest.raises(LegalityError, match=message):
        register_fragment(tile, tile.extents, ld_shape)


def test_room_for_one_repeat():
    with pytest.raises(LegalityError, match="expected room for 4 registers, found 2"):
        plan_tmem_access(accumulator_layout(128, 64), (128, 64), "16x256b", max_registers=2)


@together(
    ("layout", "shape", "ld_shape", "lanes", "columns"),
    [
        ("S[(128, 16) : (1@TLane, 1@TCol)] + 4@TCol", (128, 16), "32x32b", range(32), range(4, 20)),
        ("S[(32, 16) : (1@TLane, 1@TCol)] + 32@TLane", (32, 16), "32x32b", range(32), range(16)),
        ("S[(4, 16, 8) : (32@TLane, 1@TLane, 1@TCol)] + 16@TLane", (64, 8), "16x32bx2", range(16, 32), range(8)),
        ("S[128 : 1@TLane] + 7@TCol", (128, 1), "32x32b", range(32), range(7, 8)),
    ],
)
def test_every_warp_writes_all_lanes_of_the_shape(
    layout: str, shape: tuple[int, ...], ld_shape: str, lanes: range, columns: range
):
    written = written_cells(TileLayout.parse(layout), shape, ld_shape)
    for warp in range(4):
        lane, column = np.nonzero(written[warp])
        assert set(zip(lane.tolist(), column.tolist(), strict=True)) == {(i, j) for i in lanes for j in columns}
