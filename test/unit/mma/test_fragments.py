"""The fragment table against the formulas of PTX ISA 9.7.14.5, for every lane and element."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from unit.cases import together

from tirx.layout import element_type
from tirx.layout.ownership import held_elements
from tirx.mma.fragments import VARIANTS, Fragment, FragmentError, MmaVariant, variants_for

Formula = Callable[[int, int], tuple[int, int]]


def a_row(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4 if lane < 16 else lane % 4 + 4), i


def a_col(lane: int, i: int) -> tuple[int, int]:
    return (i % 4 if lane < 16 else i % 4 + 4), lane % 4


def b_row(lane: int, i: int) -> tuple[int, int]:
    return lane % 4, (i if lane < 16 else i + 4)


def b_col(lane: int, i: int) -> tuple[int, int]:
    return i, (lane % 4 if lane < 16 else lane % 4 + 4)


def c_f16(lane: int, i: int) -> tuple[int, int]:
    return (lane % 4 if lane < 16 else lane % 4 + 4), i


def c_f32(lane: int, i: int) -> tuple[int, int]:
    x = (lane & 0b1) + (i & 0b10)
    return (x if lane < 16 else x + 4), (i & 0b100) + (lane & 0b10) + (i & 0b1)


def a_f64(lane: int, i: int) -> tuple[int, int]:
    return lane >> 2, lane % 4


def b_f64(lane: int, i: int) -> tuple[int, int]:
    return lane % 4, lane >> 2


def c_f64(lane: int, i: int) -> tuple[int, int]:
    return lane >> 2, lane % 4 * 2 + (i & 0x1)


A: dict[tuple[str, str], Formula] = {("f16", "row"): a_row, ("f16", "col"): a_col, ("f64", "row"): a_f64}
B: dict[tuple[str, str], Formula] = {("f16", "row"): b_row, ("f16", "col"): b_col, ("f64", "col"): b_f64}
C: dict[str, Formula] = {"f16": c_f16, "f32": c_f32, "f64": c_f64}

# m16n8: the formulas of the PTX ISA, section by section; groupID is lane >> 2, threadID_in_group is lane % 4.
# (instruction, bits of an element of A and B) -> row and column of a_i; of b_i in the K x N matrix.
M16N8_A: dict[tuple[str, int], Formula] = {
    ("m16n8k4", 32): lambda lane, i: ((lane >> 2) + (8 if i == 1 else 0), lane % 4),
    ("m16n8k4", 64): lambda lane, i: ((lane >> 2) + (8 if i == 1 else 0), lane % 4),
    ("m16n8k8", 16): lambda lane, i: ((lane >> 2) + (0 if i < 2 else 8), lane % 4 * 2 + (i & 1)),
    ("m16n8k8", 32): lambda lane, i: ((lane >> 2) + (0 if i in (0, 2) else 8), lane % 4 + (0 if i in (0, 1) else 4)),
    ("m16n8k8", 64): lambda lane, i: ((lane >> 2) + (0 if i in (0, 2) else 8), lane % 4 + (0 if i in (0, 1) else 4)),
    ("m16n8k16", 16): lambda lane, i: (
        (lane >> 2) + (0 if i < 2 or 4 <= i < 6 else 8),
        lane % 4 * 2 + (i & 1) + (0 if i < 4 else 8),
    ),
    ("m16n8k16", 64): lambda lane, i: (
        (lane >> 2) + (0 if i % 2 == 0 else 8),
        i * 2 + lane % 4 if i % 2 == 0 else i * 2 - 2 + lane % 4,
    ),
    ("m16n8k16", 8): lambda lane, i: ((lane >> 2) + (0 if i < 4 else 8), lane % 4 * 4 + (i & 3)),
    ("m16n8k32", 8): lambda lane, i: (
        (lane >> 2) + (0 if i < 4 or 8 <= i < 12 else 8),
        lane % 4 * 4 + (i & 3) + (0 if i < 8 else 16),
    ),
    ("m16n8k64", 4): lambda lane, i: (
        (lane >> 2) + (0 if i < 8 or 16 <= i < 24 else 8),
        lane % 4 * 8 + (i & 7) + (0 if i < 16 else 32),
    ),
}
M16N8_B: dict[tuple[str, int], Formula] = {
    ("m16n8k4", 32): lambda lane, i: (lane % 4, lane >> 2),
    ("m16n8k4", 64): lambda lane, i: (lane % 4, lane >> 2),
    ("m16n8k8", 16): lambda lane, i: (lane % 4 * 2 + i, lane >> 2),
    ("m16n8k8", 32): lambda lane, i: (lane % 4 + (0 if i == 0 else 4), lane >> 2),
    ("m16n8k8", 64): lambda lane, i: (lane % 4 + (0 if i == 0 else 4), lane >> 2),
    ("m16n8k16", 16): lambda lane, i: (lane % 4 * 2 + (i & 1) + (0 if i < 2 else 8), lane >> 2),
    ("m16n8k16", 64): lambda lane, i: (lane % 4 + i * 4, lane >> 2),
    ("m16n8k16", 8): lambda lane, i: (lane % 4 * 4 + i, lane >> 2),
    ("m16n8k32", 8): lambda lane, i: (lane % 4 * 4 + (i & 3) + (0 if i < 4 else 16), lane >> 2),
    ("m16n8k64", 4): lambda lane, i: (lane % 4 * 8 + (i & 7) + (0 if i < 8 else 32), lane >> 2),
    # Beside a sparse A, which is that of half of K.
    ("m16n8k16", 32): lambda lane, i: (lane % 4 + 4 * i, lane >> 2),
    ("m16n8k32", 16): lambda lane, i: (lane % 4 * 2 + (i & 1) + 8 * (i >> 1), lane >> 2),
    ("m16n8k64", 8): lambda lane, i: (lane % 4 * 4 + (i & 3) + 16 * (i >> 2), lane >> 2),
}


def m16n8_c(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (0 if i < 2 else 8), lane % 4 * 2 + (i & 1)


def elements(fragment: Fragment) -> dict[tuple[int, int], tuple[int, int, int]]:
    """(lane, i) -> (product, row, column)."""
    held = held_elements(fragment.layout, fragment.shape, 32)
    assert held.shape == (32, fragment.elements)
    _, rows, columns = fragment.shape
    return {
        (lane, i): (int(flat) // columns // rows, int(flat) // columns % rows, int(flat) % columns)
        for lane, row in enumerate(held)
        for i, flat in enumerate(row)
    }


def formulas(v: MmaVariant) -> tuple[Formula, Formula, Formula]:
    if v.instruction == "m8n8k4":
        a, b = A[v.operand_type, v.a_orientation], B[v.operand_type, v.b_orientation]
        return a, b, C[v.accumulator_type]
    bits = element_type(v.operand_type).bits
    return M16N8_A[f"m16n8k{v.a.shape[-1]}", bits], M16N8_B[v.instruction, bits], m16n8_c


@together("name", VARIANTS)
def test_fragments_equal_the_formulas(name: str) -> None:
    v = VARIANTS[name]
    a, b, c = formulas(v)
    for (lane, i), (q, row, column) in elements(v.a).items():
        assert (q, row, column) == (lane // 4 % v.products, *a(lane, i))
    for (lane, i), (q, n, k) in elements(v.b).items():
        # The formulas of B are (row, col) of a K x N matrix; the fragment is N x K.
        assert (q, (k, n)) == (lane // 4 % v.products, b(lane, i))
    for (lane, i), (q, row, column) in elements(v.c).items():
        assert (q, row, column) == (lane // 4 % v.products, *c(lane, i))


@together("name", VARIANTS)
def test_every_element_is_held_once(name: str) -> None:
    v = VARIANTS[name]
    for fragment in (v.a, v.b, v.c):
        found = elements(fragment)
        assert len(set(found.values())) == len(found) == fragment.layout.size()


def test_the_table_is_complete() -> None:
    assert list(VARIANTS) == [
        "m8n8k4.row.col.f16",
        "m8n8k4.row.row.f16",
        "m8n8k4.col.col.f16",
        "m8n8k4.col.row.f16",
        "m8n8k4.row.col.f32.f16",
        "m8n8k4.row.row.f32.f16",
        "m8n8k4.col.col.f32.f16",
        "m8n8k4.col.row.f32.f16",
        "m8n8k4.row.col.f64",
        "m16n8k16.row.col.f16",
        "m16n8k16.row.col.f32.f16",
        "m16n8k8.row.col.f16",
        "m16n8k8.row.col.f32.f16",
        "m16n8k16.row.col.f32.bf16",
        "m16n8k8.row.col.f32.bf16",
        "m16n8k8.row.col.f32.tf32",
        "m16n8k4.row.col.f32.tf32",
        "m16n8k16.row.col.f64",
        "m16n8k8.row.col.f64",
        "m16n8k4.row.col.f64",
        "m16n8k32.row.col.s32.s8",
        "m16n8k16.row.col.s32.s8",
        "m16n8k32.row.col.s32.u8",
        "m16n8k16.row.col.s32.u8",
        "m16n8k32.row.col.f32.e4m3",
        "m16n8k32.row.col.f16.e4m3",
        "m16n8k16.row.col.f16.e4m3",
        "m16n8k16.row.col.f32.e4m3",
        "m16n8k32.row.col.f32.e5m2",
        "m16n8k32.row.col.f16.e5m2",
        "m16n8k16.row.col.f16.e5m2",
        "m16n8k16.row.col.f32.e5m2",
        "m16n8k32.mxf8f6f4.e4m3.ue8m0.1X",
        "m16n8k32.mxf8f6f4.e4m3.e5m2.ue8m0.1X",
        "m16n8k32.mxf8f6f4.e5m2.e4m3.ue8m0.1X",
        "m16n8k32.mxf8f6f4.e5m2.ue8m0.1X",
        "m16n8k64.mxf4.e2m1.ue8m0.2X",
        "m16n8k64.mxf4nvf4.e2m1.ue4m3.4X",
        "m16n8k64.mxf4nvf4.e2m1.ue8m0.4X",
        "m16n8k32.sp.row.col.f16",
        "m16n8k32.sp.row.col.f32.f16",
        "m16n8k32.sp.row.col.f32.bf16",
        "m16n8k16.sp.row.col.f32.tf32",
        "m16n8k64.sp.row.col.s32.s8",
        "m16n8k64.sp.row.col.s32.u8",
        "m16n8k64.sp.row.col.f32.e4m3",
        "m16n8k64.sp.row.col.f32.e5m2",
    ]


@together(
    ("name", "mnemonic", "registers", "types"),
    [
        (
            "m8n8k4.row.col.f32.f16",
            "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
            (2, 2, 8),
            ("b32", "b32", "f32"),
        ),
        ("m8n8k4.col.row.f16", "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", (2, 2, 4), ("b32", "b32", "b32")),
        ("m8n8k4.row.col.f64", "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", (1, 1, 2), ("f64", "f64", "f64")),
        (
            "m16n8k16.row.col.f32.f16",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
            (4, 2, 4),
            ("b32", "b32", "f32"),
        ),
        (
            "m16n8k8.row.col.f32.tf32",
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
            (4, 2, 4),
            ("b32", "b32", "f32"),
        ),
        ("m16n8k16.row.col.f64", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", (8, 4, 4), ("f64",) * 3),
        ("m16n8k32.row.col.s32.u8", "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32", (4, 2, 4), ("b32",) * 3),
    ],
)
def test_registers(name: str, mnemonic: str, registers: tuple[int, int, int], types: tuple[str, str, str]) -> None:
    v = VARIANTS[name]
    assert v.mnemonic == mnemonic
    assert (v.a.registers, v.b.registers, v.c.registers) == registers
    assert (v.a.register_type, v.b.register_type, v.c.register_type) == types


def test_layouts_print_as_documented() -> None:
    assert str(VARIANTS["m8n8k4.row.col.f16"].a.layout) == "S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]"
    v = VARIANTS["m16n8k16.row.col.f32.f16"]
    assert str(v.a.layout) == "S[(2, 8, 2, 4, 2) : (2, 4@laneid, 4, 1@laneid, 1)]"
    assert str(v.b.layout) == "S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]"
    assert str(v.c.layout) == "S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]"


def test_variants_for() -> None:
    names = [v.name for v in variants_for("f64", "f64")]
    assert names == ["m8n8k4.row.col.f64", *(f"m16n8k{k}.row.col.f64" for k in (16, 8, 4))]
    assert variants_for("f16", "f32")[0].name == "m8n8k4.row.col.f32.f16"
    assert [v.instruction for v in variants_for("bf16", "f32")] == ["m16n8k16", "m16n8k8"]
    with pytest.raises(FragmentError) as error:
        variants_for("bf16", "f16")
    assert str(error.value) == (
        "expected one of f16 x f16 + f16, f16 x f16 + f32, f64 x f64 + f64, bf16 x bf16 + f32, tf32 x tf32 + f32, "
        "s8 x s8 + s32, u8 x u8 + s32, e4m3 x e4m3 + f32, e4m3 x e4m3 + f16, e5m2 x e5m2 + f32, e5m2 x e5m2 + f16, "
        "found bf16 x bf16 + f16"
    )
