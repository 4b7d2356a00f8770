"""The checker of allocations, copies, loads, stores and shifts: every rule broken once and kept once."""

from dataclasses import replace

import pytest
from unit.cases import together, with_less_known

from tirx.hw.errors import LegalityError
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.check_memory import (
    ALLOC_RULES,
    CP_RULES,
    LD_ST_RULES,
    SHIFT_RULES,
    Alloc,
    Cp,
    LdSt,
    Shift,
    check_memory,
    find_memory_violations,
)
from tirx.tcgen05.tmem_access import LD_SHAPES

Instruction = Alloc | LdSt | Cp | Shift

LD = LdSt("32x32b", 32, registers=32, lane=32, column=0, allocated=32, warp=1, target="sm_100a")
RED = LdSt("32x32b", 4, reduce="max", type="f32", target="sm_103a")
SPLIT = LdSt("16x32bx2", 4, split=8)
CP = Cp("128x256b", lane=0, column=0, allocated=32, target="sm_100a")
SHIFT = Shift(lane=32, column=8, allocated=32, target="sm_100a")

# rule -> (instructions that break it, with what the message says; instructions that nearly do)
CASES: dict[str, tuple[list[tuple[Instruction, str]], list[Instruction]]] = {
    "alloc-columns": (
        [
            (Alloc(columns), f"a power of two of columns from 32 to 512, found {columns}")
            for columns in (0, 16, 96, 1024)
        ],
        [Alloc(columns) for columns in (None, 32, 64, 128, 256, 512)],
    ),
    "alloc-exclusive-columns": (
        [
            (
                Alloc(columns, exclusive=True),
                f"a multiple of 32 columns from 32 to 576 with .exclusive, found {columns}",
            )
            for columns in (0, 48, 608, 1024)
        ],
        [Alloc(columns, exclusive=True) for columns in (None, 32, 96, 544, 576)],
    ),
    "alloc-exclusive-target": (
        [(Alloc(576, exclusive=True, target="sm_100a"), "'tensor_memory.576_columns' does not exist on sm_100a")],
        [Alloc(576, exclusive=True, target="sm_107a"), Alloc(512, exclusive=True, target="sm_100a")],
    ),
    "alloc-cta-group": ([(Alloc(32, 3), "expected cta_group 1 or 2, found 3")], [Alloc(32, 2)]),
    "alloc-target": (
        [
            (Alloc(32, target="sm_90a"), "'tcgen05' does not exist on sm_90a"),
            (Alloc(32, target="sm_103a", ptx=(8, 6)), "needs PTX 8.8 on sm_103a, found 8.6"),
        ],
        [Alloc(32, target="sm_110a"), Alloc(32, target="sm_100f", ptx=(8, 8))],
    ),
    "ld-shape": ([(LdSt("32x64b", 1), "expected a shape out of 32x32b, .* found 32x64b")], [LD]),
    "ld-num": (
        [
            (LdSt("16x256b", 64), "repeats of .16x256b to be a power of two up to 32, found 64"),
            (LdSt("32x32b", 3), "found 3"),
            (LdSt("32x32b", 0), "found 0"),
        ],
        [LdSt("16x256b", 32), LdSt("32x32b", 128), LdSt("16x128b", 64)],
    ),
    "ld-registers": (
        [(replace(LD, registers=16), "expected 32 registers for .32x32b.x32, found 16")],
        [LD, LdSt("16x256b", 2, registers=8)],
    ),
    "ld-split": (
        [
            (LdSt("16x32bx2", 4), "expected immHalfSplitoff with .16x32bx2 and only there, found none"),
            (replace(LD, split=16), "found 16 with .32x32b"),
        ],
        [SPLIT],
    ),
    "ld-split-range": (
        [(replace(SPLIT, split=512), "expected immHalfSplitoff from 0 to 511 columns, found 512")],
        [SPLIT],
    ),
    "ld-lane": (
        [
            (replace(LD, lane=0), "at lane 32 for .32x32b of warp 1, found 0"),
            (replace(LD, warp=None, lane=16), "at lane 0 or 32 or 64 or 96 for .* found 16"),
            (LdSt("16x64b", 1, lane=8), "found 8"),
            (LdSt("16x64b", 1, lane=48, warp=0), "at lane 0 or 16 for .16x64b of warp 0, found 48"),
        ],
        [LD, LdSt("16x64b", 1, lane=48, warp=5), replace(LD, warp=None, lane=96)],
    ),
    "ld-columns": (
        [
            (replace(LD, column=1), "expected 32 columns from column 1 on, of 32, to be inside"),
            (LdSt("32x32b", 64, packed=True, column=385), "expected 128 columns from column 385 on, of 512"),
            (replace(SPLIT, column=21, allocated=32), "expected 12 columns from column 21 on, of 32"),
        ],
        [LD, LdSt("32x32b", 64, packed=True, column=384), replace(SPLIT, column=20, allocated=32)],
    ),
    "ld-reduce": (
        [
            (replace(RED, num=1), "expected min or max of .* found max of .32x32b.x1"),
            (replace(RED, shape="16x64b"), "found max of .16x64b.x4"),
            (replace(RED, reduce="sum"), "found sum"),
            (replace(RED, packed=True), "not packed"),
        ],
        [RED, replace(RED, shape="16x32bx2", split=4, reduce="min")],
    ),
    "ld-reduce-type": (
        [(replace(RED, type="f16"), "expected a reduction of f32, u32 or s32, found f16")],
        [replace(RED, type="s32")],
    ),
    "ld-reduce-modifier": (
        [
            (replace(RED, type="u32", modified=True), "expected .abs and .NaN on a reduction of f32 only"),
            (replace(LD, modified=True), "found one with none"),
        ],
        [replace(RED, modified=True)],
    ),
    "ld-target": (
        [
            (replace(LD, target="sm_120a"), "'tcgen05' does not exist on sm_120a"),
            (replace(RED, target="sm_100a"), "'tcgen05.ld.red' does not exist on sm_100a; supported on"),
        ],
        [LD, RED],
    ),
    "cp-shape": ([(Cp("128x512b"), "expected a shape out of 128x256b, .* found 128x512b")], [CP]),
    "cp-multicast": (
        [
            (Cp("64x128b"), "expected multicast warpx2::02_13 or warpx2::01_23 with .64x128b, found none"),
            (Cp("32x128b", "warpx2::02_13"), "with .32x128b, found warpx2::02_13"),
            (replace(CP, multicast="warpx4"), "expected multicast none with .128x256b, found warpx4"),
        ],
        [Cp("64x128b", "warpx2::01_23"), Cp("32x128b", "warpx4"), CP, Cp("4x256b"), Cp("128x128b")],
    ),
    "cp-source": (
        [(replace(CP, source="b4x16"), "expected a source format out of b6x16_p32, b4x16_p64, found b4x16")],
        [replace(CP, source="b4x16_p64"), replace(CP, source="b6x16_p32")],
    ),
    "cp-descriptor-bits": (
        [(Cp("128x256b", descriptor=0), "descriptor: bits 46-48: expected 0b001, found 0b000")],
        [Cp("128x256b", descriptor=0x4000404000010000)],
    ),
    "cp-descriptor": (
        [
            (
                Cp("128x256b", descriptor=SmemDescriptor(112, None, 1024, "128B")),
                "descriptor: start address: expected 32 bytes of K within one 128-byte row of .*, found byte 112",
            ),
            (
                Cp("4x256b", descriptor=SmemDescriptor(128, None, 1024, "128B")),
                "expected the first 128 bytes of a 1024-byte pattern",
            ),
            (Cp("128x128b", descriptor=SmemDescriptor(0, None, 1024, "128B", 1)), "matrix base offset: expected 0"),
            (
                Cp("128x128b", descriptor=SmemDescriptor(0, 0, 1024, "128B", lbo_absolute=True)),
                "absolute LBO: expected 48 bytes of K .*, found 16",
            ),
        ],
        [
            Cp("128x128b", descriptor=SmemDescriptor(112, None, 1024, "128B")),
            Cp("128x256b", descriptor=SmemDescriptor(16, 16, 128, "none")),
        ],
    ),
    "cp-lane": (
        [
            (replace(CP, lane=32), "expected an address from lane 0 to 0 with .128x256b, found lane 32"),
            (Cp("4x256b", lane=32), "from lane 0 to 31 with .4x256b, found lane 32"),
        ],
        [CP, Cp("4x256b", lane=31)],
    ),
    "cp-columns": (
        [
            (replace(CP, column=25), "expected 8 columns from column 25 on, of 32, to be inside"),
            (Cp("128x128b", column=509), "expected 4 columns from column 509 on, of 512"),
        ],
        [replace(CP, column=24), Cp("128x128b", column=508)],
    ),
    "cp-cta-group": ([(replace(CP, cta_group=0), "expected cta_group 1 or 2, found 0")], [replace(CP, cta_group=2)]),
    "cp-target": ([(replace(CP, target="sm_100"), "'tcgen05' does not exist on sm_100")], [replace(CP, target=None)]),
    "shift-lane": (
        [
            (replace(SHIFT, lane=16), "expected an address at lane 0, 32, 64 or 96, found lane 16"),
            (replace(SHIFT, lane=128), "found lane 128"),
        ],
        [SHIFT, Shift(lane=96)],
    ),
    "shift-columns": (
        [(replace(SHIFT, column=25), "expected 8 columns from column 25 on, of 32, to be inside")],
        [replace(SHIFT, column=24)],
    ),
    "shift-cta-group": ([(replace(SHIFT, cta_group=3), "expected cta_group 1 or 2, found 3")], [SHIFT]),
    "shift-target": (
        [
            (
                replace(SHIFT, target="sm_100f"),
                "'tcgen05.shift' does not exist on sm_100f; supported on",
            )
        ],
        [SHIFT, replace(SHIFT, target="sm_110a")],
    ),
}


def test_every_rule_has_both_cases():
    names = [rule.name for rules in (ALLOC_RULES, LD_ST_RULES, CP_RULES, SHIFT_RULES) for rule in rules]
    assert len(set(names)) == len(names)
    assert list(CASES) == names
    for broken, kept in CASES.values():
        assert broken and kept


BROKEN = [(name, case, message) for name, (broken, _) in CASES.items() for case, message in broken]
KEPT = [(name, case) for name, (_, kept) in CASES.items() for case in kept]


@together(("name", "case", "message"), BROKEN)
def test_broken(name: str, case: Instruction, message: str):
    (finding,) = find_memory_violations(case)
    assert finding.rule == name and finding.fix and finding.section
    with pytest.raises(LegalityError, match=rf"{message}.*; .* \[{name}\]$"):
        check_memory(case)


@together(("name", "case"), KEPT)
def test_kept(name: str, case: Instruction):
    assert find_memory_violations(case) == ()
    check_memory(case)


FACTS = {"columns", "registers", "lane", "column", "allocated", "warp", "type", "descriptor", "target", "ptx"}


@together("case", [case for _, case, *_ in (*KEPT, *BROKEN)])
def test_who_knows_less_finds_no_more(case: Instruction):
    found = {finding.rule for finding in find_memory_violations(case)}
    for known in with_less_known(case, FACTS & vars(case).keys()):
        assert {finding.rule for finding in find_memory_violations(known)} <= found


@together("shape", LD_SHAPES)
def test_columns_are_those_of_the_register_map(shape: str):
    """The columns that the checker counts are those that the map of threads and registers reaches."""
    row = LD_SHAPES[shape]  # pyright: ignore[reportArgumentType]
    num, split = 4, 16 if row.halves else None
    reached = row.register_map(num, split or 0).table((32, num * row.registers_per_repeat))["TCol"]
    assert LdSt(shape, num, split=split).columns == int(reached.max()) + 1
