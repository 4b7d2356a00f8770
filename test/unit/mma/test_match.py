"""The plans of `plan_mma`: run on numpy registers they are the product, and what does not fit is explained."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from unit.cases import together

from tirx.copy.access import plan_accesses
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, TileLayout, element_type
from tirx.layout.ownership import held_elements
from tirx.mma import match
from tirx.mma.fragments import VARIANTS, FragmentError, MmaVariant, variants_for
from tirx.mma.match import MmaStep, plan_mma
from tirx.mma.pick import ROW_ORDERS, Major, PickedFragments, RowOrder, choose_variant, pick_fragments

IntArray = NDArray[np.int64]


def run(steps: Sequence[MmaStep], a: IntArray, b: IntArray, c: IntArray) -> None:
    """Executes steps on (warps, 32, registers) tables, by the fragments of the instruction."""
    for step in steps:
        v = step.variant
        operands: list[IntArray] = []
        for fragment, tile, first in ((v.a, a, step.a_reg), (v.b, b, step.b_reg), (v.c, c, step.c_reg)):
            lanes, slots = (fragment.layout.axis_table(x, fragment.shape) for x in ("laneid", "m"))
            operands.append(tile[:, lanes, first + slots])
        x, y, z = operands
        lanes, slots = (v.c.layout.axis_table(name, v.c.shape) for name in ("laneid", "m"))
        c[:, lanes, step.c_reg + slots] = z + np.einsum("wqik,wqjk->wqij", x, y)


def check(
    layouts: Sequence[TileLayout],
    shapes: Sequence[tuple[int, ...]],
    types: tuple[str, str],
    threads: int,
    variants: Sequence[MmaVariant] | None = None,
) -> tuple[MmaStep, ...]:
    """Plans a product and runs it: every copy of every element of C has the whole sum, over what it had before."""
    a, b, c = layouts
    m_k, n_k, m_n = shapes
    steps = plan_mma(a, b, c, m_k, n_k, m_n, (types[0], types[0]), types[1], threads, variants)
    random = np.random.default_rng(7)
    values = [random.integers(-9, 9, shape) for shape in shapes]
    held = [held_elements(x, shape, threads) for x, shape in zip(layouts, shapes, strict=True)]
    registers = [
        np.where(h < 0, 1000, v.reshape(-1)[h]).reshape(threads // 32, 32, -1)
        for h, v in zip(held, values, strict=True)
    ]
    run(steps, *registers)
    expected = values[2] + np.einsum("...mk,...nk->...mn", values[0], values[1])
    found = registers[2].reshape(threads, -1)
    assert (np.where(held[2] < 0, 1000, expected.reshape(-1)[held[2]]) == found).all()
    return steps


def shapes_of(
    batch: tuple[int, ...], m: int, n: int, k: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    return (*batch, m, k), (*batch, n, k), (*batch, m, n)


PLAIN = tuple(name for name, variant in VARIANTS.items() if variant.scales is None and variant.codes is None)
"""The variants without scale factors and metadata."""


@together("name", PLAIN)
def test_the_fragments_themselves(name: str) -> None:
    v = VARIANTS[name]
    layouts, shapes = (v.a.layout, v.b.layout, v.c.layout), (v.a.shape, v.b.shape, v.c.shape)
    types = v.operand_type, v.accumulator_type
    assert check(layouts, shapes, types, 32, (v,)) == (MmaStep(0, 0, 0, v),)
    chosen = check(layouts, shapes, types, 32)
    if types == ("f64", "f64"):  # also so many m8n8k4 fragments, which come first in the table
        assert {step.variant.name for step in chosen} == {"m8n8k4.row.col.f64"}
        assert len(chosen) == v.shape[0] * v.shape[2] // 32
    else:
        assert chosen == (MmaStep(0, 0, 0, v),)


@together("name", PLAIN)
def test_tiles_of_fragments(name: str) -> None:
    """Fragments repeated by `TileLayout.tile`: 2 along M, 3 along N, 2 along K."""
    v = VARIANTS[name]
    a = v.a.layout.tile(TileLayout.row_major((1, 2, 2)), (1, 2, 2), v.a.shape)
    b = v.b.layout.tile(TileLayout.row_major((1, 3, 2)), (1, 3, 2), v.b.shape)
    c = v.c.layout.tile(TileLayout.row_major((1, 2, 3)), (1, 2, 3), v.c.shape)
    m, n, k = v.shape
    shapes = shapes_of((v.products,), 2 * m, 3 * n, 2 * k)
    steps = check((a, b, c), shapes, (v.operand_type, v.accumulator_type), 32, (v,))
    e = v.c.elements
    assert [s.c_reg for s in steps] == [i * e for i in range(6)] * 2
    assert [s.a_reg // v.a.elements for s in steps] == [0, 0, 0, 2, 2, 2, 1, 1, 1, 3, 3, 3]


@together(
    ("small", "large"),
    [
        ("m16n8k8.row.col.f32.f16", "m16n8k16.row.col.f32.f16"),
        ("m16n8k8.row.col.f32.bf16", "m16n8k16.row.col.f32.bf16"),
        ("m16n8k4.row.col.f32.tf32", "m16n8k8.row.col.f32.tf32"),
        ("m16n8k16.row.col.s32.s8", "m16n8k32.row.col.s32.s8"),
        ("m16n8k16.row.col.f16.e4m3", "m16n8k32.row.col.f16.e4m3"),
    ],
)
def test_the_fewest_instructions_of_one_family(small: str, large: str) -> None:
    """Two fragments behind each other along K are one of twice the K; what is left over takes the smaller one."""
    v = VARIANTS[small]
    for fragments, expected in ((1, [small]), (2, [large]), (3, [large, small]), (4, [large, large])):
        outer = TileLayout.row_major((1, 1, fragments))
        a, b = (x.layout.tile(outer, (1, 1, fragments), x.shape) for x in (v.a, v.b))
        m, n, k = v.shape
        steps = check(
            (a, b, v.c.layout), shapes_of((1,), m, n, fragments * k), (v.operand_type, v.accumulator_type), 32
        )
        assert [step.variant.name for step in steps] == expected


def test_no_smaller_instruction_where_a_and_b_are_paired_differently() -> None:
    """A in fragments of 16, B in pairs of 8 that are not next to each other: only m16n8k8 fits both."""
    small, large = VARIANTS["m16n8k8.row.col.f32.f16"], VARIANTS["m16n8k16.row.col.f32.f16"]
    b = small.b.layout.tile(TileLayout.parse("S[(1, 1, 2) : (1, 1, 2)]"), (1, 1, 2), small.b.shape)
    steps = check((large.a.layout, b, large.c.layout), shapes_of((1,), 16, 8, 16), ("f16", "f32"), 32)
    assert [(step.a_reg, step.b_reg, step.variant.name) for step in steps] == [(0, 0, small.name), (4, 4, small.name)]


def test_variants_to_choose_from() -> None:
    v = VARIANTS["m16n8k16.row.col.f64"]
    layouts, shapes = (v.a.layout, v.b.layout, v.c.layout), (v.a.shape, v.b.shape, v.c.shape)
    smaller = tuple(x for x in VARIANTS.values() if x.operand_type == "f64" and x.instruction == "m16n8k8")
    assert [step.a_reg for step in check(layouts, shapes, ("f64", "f64"), 32, smaller)] == [0, 4]
    with pytest.raises(FragmentError, match="expected one of m8n8k4.row.col.f64, .* to choose from, found none"):
        check(layouts, shapes, ("f64", "f64"), 32, ())


def test_without_warpid_every_warp_does_the_same() -> None:
    v = VARIANTS["m8n8k4.row.col.f64"]
    steps = check((v.a.layout, v.b.layout, v.c.layout), shapes_of((), 8, 8, 4), ("f64", "f64"), 64)
    assert len(steps) == 1


def test_thread_axes_of_any_scope() -> None:
    """Lanes and warps named by tx, and a warp named inside its warpgroup."""
    a = TileLayout.parse("S[(8, 8, 4) : (32@tx, 4@tx, 1@tx)]")
    b = TileLayout.parse("S[(8, 4) : (4@laneid, 1@laneid)] + R[(2, 4) : (1@wgid, 1@wid_in_wg)]")
    c = TileLayout.parse("S[(2, 4, 8, 4, 2) : (1@wgid, 1@wid_in_wg, 4@laneid, 1@laneid, 1)]")
    steps = check((a, b, c), shapes_of((), 64, 8, 4), ("f64", "f64"), 256)
    assert len(steps) == 1


def test_k_may_come_in_any_order_that_a_and_b_share() -> None:
    a = TileLayout.parse("S[(8, 4, 4) : (4@laneid, 1@laneid, 1)]")  # lane t holds k = 4t..4t+3
    c = VARIANTS["m8n8k4.row.col.f64"].c.layout
    steps = check((a, a, c), shapes_of((), 8, 8, 16), ("f64", "f64"), 32)
    assert [s.a_reg for s in steps] == [s.b_reg for s in steps] == [0, 1, 2, 3]


def test_copies_of_k_in_registers_are_added_once() -> None:
    v = VARIANTS["m8n8k4.row.col.f64"]
    a = TileLayout(v.a.layout.shard, (Iter(2, 1),))
    assert check((a, v.b.layout, v.c.layout), shapes_of((), 8, 8, 4), ("f64", "f64"), 32) == (MmaStep(0, 0, 0, v),)


def test_copies_of_c_in_registers_get_the_sum_each() -> None:
    v = VARIANTS["m8n8k4.row.col.f64"]
    c = TileLayout(v.c.layout.shard, (Iter(2, 2),))
    assert len(check((v.a.layout, v.b.layout, c), shapes_of((), 8, 8, 4), ("f64", "f64"), 32)) == 2


def test_registers_may_start_anywhere() -> None:
    v = VARIANTS["m8n8k4.row.col.f32.f16"]
    a = v.a.layout.with_offset(m=8)
    steps = check((a, v.b.layout, v.c.layout), shapes_of((4,), 8, 8, 4), ("f16", "f32"), 32)
    assert [s.a_reg for s in steps] == [8]


TYPES = st.sampled_from([("f16", "f16"), ("f16", "f32"), ("f64", "f64")])
MAJORS: st.SearchStrategy[Major] = st.sampled_from(["K", "MN"])


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 5),
    TYPES,
    st.sampled_from([1, 2, 3, 4, 6, 8]),
    st.sampled_from([(), (1,), (2,), (3,), (4,), (2, 2)]),
    MAJORS,
    MAJORS,
)
def test_what_is_picked_is_accepted(
    m: int,
    n: int,
    k: int,
    types: tuple[str, str],
    warps: int,
    batch: tuple[int, ...],
    a_major: Major,
    b_major: Major,
) -> None:
    m, n, k = 8 * m, 8 * n, 4 * k
    layouts = pick_fragments(m, n, k, *types, warps, batch, a_major, b_major)
    shapes = shapes_of(batch, m, n, k)
    steps = check(layouts, shapes, types, 32 * warps)
    assert len({(s.c_reg, s.a_reg, s.b_reg) for s in steps}) == len(steps)
    # Every thread holds something in every register, and can load and store it.
    bits = {"f16": 16, "f32": 32, "f64": 64}
    for layout, shape, dtype in zip(layouts, shapes, (types[0], types[0], types[1]), strict=True):
        plan_accesses(layout, TileLayout.row_major(shape), shape, bits[dtype], 32 * warps)


@given(
    st.sampled_from([VARIANTS[name] for name in PLAIN if VARIANTS[name].products == 1]),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([1, 2, 3, 4, 6]),
    st.sampled_from([(), (2,), (3,)]),
    MAJORS,
    MAJORS,
    st.sampled_from(ROW_ORDERS),
    st.sampled_from(ROW_ORDERS),
)
def test_every_instruction_can_be_picked(
    v: MmaVariant,
    m: int,
    n: int,
    k: int,
    warps: int,
    batch: tuple[int, ...],
    a_major: Major,
    b_major: Major,
    a_order: RowOrder,
    b_order: RowOrder,
) -> None:
    """Rows in any order: A and C permute alike, and so do B and the columns of C."""
    m, n, k = (extent * unit for extent, unit in zip((m, n, k), v.shape, strict=True))
    types = v.operand_type, v.accumulator_type
    layouts = pick_fragments(m, n, k, *types, warps, batch, a_major, b_major, (v,), (a_order, b_order))
    shapes = shapes_of(batch, m, n, k)
    steps = check(layouts, shapes, types, 32 * warps, (v,))
    assert {step.variant for step in steps} == {v}
    for layout, shape, dtype in zip(layouts, shapes, (types[0], types[0], types[1]), strict=True):
        plan_accesses(layout, TileLayout.row_major(shape), shape, element_type(dtype).bits, 32 * warps)


def test_the_first_instruction_that_divides_is_chosen() -> None:
    f16 = variants_for("f16", "f32")
    m16n8 = [v for v in f16 if v.instruction != "m8n8k4"]
    assert choose_variant(16, 8, 16, f16).name == "m8n8k4.row.col.f32.f16"
    assert choose_variant(16, 8, 16, f16, "MN", "MN").name == "m8n8k4.col.row.f32.f16"
    assert choose_variant(16, 8, 48, m16n8).instruction == "m16n8k16"
    assert choose_variant(32, 8, 24, m16n8, "MN").instruction == "m16n8k8"
    assert choose_variant(24, 8, 24, [*m16n8, *f16]).instruction == "m8n8k4"
    message = "expected K to be a multiple of 8 for m16n8k8.row.col.f32.f16, found 12; nearest: 8 and 16"
    with pytest.raises(FragmentError, match=message):
        choose_variant(16, 8, 12, m16n8)


def widths(
    layout: TileLayout, memory: TileLayout | ComposeLayout, shape: tuple[int, ...], bits: int, threads: int
) -> set[int]:
    return {access.count * bits // 8 for access in plan_accesses(layout, memory, shape, bits, threads).accesses}


@pytest.mark.parametrize("types", [("f16", "f32"), ("f64", "f64")])
@pytest.mark.parametrize("a_major", ["K", "MN"])
@pytest.mark.parametrize("b_major", ["K", "MN"])
def test_operands_are_loaded_by_16_byte_vectors(types: tuple[str, str], a_major: Major, b_major: Major) -> None:
    m, n, k = 64, 128, 16
    bits = {"f16": 16, "f64": 64}[types[0]]
    picked = pick_fragments(m, n, k, *types, 4, a_major=a_major, b_major=b_major)
    for layout, major, rows in ((picked.a, a_major, m), (picked.b, b_major, n)):
        memory = TileLayout.row_major((rows, k))
        if major == "MN":
            memory = TileLayout((Iter(rows, 1), Iter(k, rows)))
        assert widths(layout, memory, (rows, k), bits, 128) == {16}
        swizzled = ComposeLayout(SwizzleLayout.for_bits(bits, "128B"), memory)
        assert widths(layout, swizzled, (rows, k), bits, 128) == {16}


@together("dtype", ["f16", "bf16", "tf32", "e4m3"])
def test_operands_of_m16n8_are_loaded_by_whole_registers(dtype: str) -> None:
    """Of four lanes, each loads a register next to the others', so that rows are read in one piece."""
    bits = element_type(dtype).bits
    m, n, k = 64, 128, 1024 // bits
    variants = [v for v in variants_for(dtype, "f32") if v.instruction != "m8n8k4"]
    picked = pick_fragments(m, n, k, dtype, "f32", 4, variants=variants)
    for layout, rows in ((picked.a, m), (picked.b, n)):
        assert widths(layout, TileLayout.row_major((rows, k)), (rows, k), bits, 128) == {4}
        first = [layout.owners((0, column), (rows, k))[0]["laneid"] for column in range(0, 128 // bits, 32 // bits)]
        assert first == [0, 1, 2, 3]


def test_the_f16_gemm_unit_is_16x16x4() -> None:
    picked = pick_fragments(16, 16, 4, "f16", "f32", 1)
    assert [str(x) for x in picked] == [
        "S[(2, 2, 4, 4) : (8@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 4@laneid]",
        "S[(2, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 8@laneid]",
        "S[(2, 2, 2, 2, 2, 2, 2, 2) : (8@laneid, 16@laneid, 2, 1@laneid, 4@laneid, 4, 2@laneid, 1)]",
    ]


def test_the_f64_unit_is_the_fragment() -> None:
    v = VARIANTS["m8n8k4.row.col.f64"]
    expected = PickedFragments(*(x.layout.canonicalize() for x in (v.a, v.b, v.c)))
    assert pick_fragments(8, 8, 4, "f64", "f64", 1) == expected


def test_f16_batches_of_one_fragment_are_the_fragment() -> None:
    v = VARIANTS["m8n8k4.row.col.f16"]
    picked = pick_fragments(8, 8, 4, "f16", "f16", 1, batch=(4,))
    assert picked == PickedFragments(*(x.layout.canonicalize() for x in (v.a, v.b, v.c)))


def test_warps_form_a_square_and_share_operands() -> None:
    picked = pick_fragments(64, 64, 4, "f64", "f64", 4)
    assert picked.a.replica == (Iter(2, 1, "warpid"),)
    assert picked.b.replica == (Iter(2, 2, "warpid"),)
    assert picked.c.replica == ()


def test_planning_is_fast() -> None:
    for warps in (4, 8):
        picked = pick_fragments(64, 64, 16, "f16", "f32", warps)
        start = time.process_time()
        shapes = shapes_of((), 64, 64, 16)
        plan_mma(*picked, *shapes, ("f16", "f16"), "f32", 32 * warps)
        assert time.process_time() - start < 0.1


def plan(
    a: str, b: str, c: str, m: int, n: int, k: int, types: tuple[str, str] = ("f64", "f64"), threads: int = 32
) -> None:
    layouts = PickedFragments(*(TileLayout.parse(x) for x in (a, b, c)))
    m8n8k4 = [v for v in variants_for(*types) if v.instruction == "m8n8k4"]
    plan_mma(*layouts, *shapes_of((), m, n, k), (types[0], types[0]), types[1], threads, m8n8k4)


AB = "S[(8, 4) : (4@laneid, 1@laneid)]"
C = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]"
F64 = "mma.sync on f64 with f64 accumulators has fragments for m8n8k4 (1 per warp, row.col), as in tirx.mma.VARIANTS"
F16 = (
    "mma.sync on f16 with f32 accumulators has fragments for m8n8k4 (4 per warp, row.col, row.row, col.col, col.row), "
    "as in tirx.mma.VARIANTS"
)


@pytest.mark.parametrize(
    ("a", "b", "c", "k", "message"),
    [
        pytest.param(
            AB,
            AB,
            "S[(8, 4, 2) : (1@laneid, 8@laneid, 1)]",
            4,
            f"expected element (0, 2) of C in register 0 of thread 1, found (1, 0); {F64}",
            id="accumulator rows on the wrong lanes",
        ),
        pytest.param(
            "S[(8, 4) : (1@laneid, 8@laneid)]",
            AB,
            C,
            4,
            f"expected element (0, 1) of A in register 0 of thread 1, found (1, 0); {F64}",
            id="A is transposed in the lanes",
        ),
        pytest.param(
            AB,
            "S[(8, 4) : (1@laneid, 8@laneid)]",
            C,
            4,
            f"expected element (0, 1) of B in register 0 of thread 1, found (1, 0); {F64}",
            id="B is transposed in the lanes",
        ),
        pytest.param(
            "S[(8, 2, 4) : (4@laneid, 1, 1@laneid)]",
            "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]",
            C,
            8,
            f"expected fragments of A and B with the same k, found none that share k = 0 for registers 0..1 of C "
            f"(product 0 of warp 0); {F64}",
            id="A and B hold k in different orders",
        ),
    ],
)
def test_what_does_not_fit_is_named(a: str, b: str, c: str, k: int, message: str) -> None:
    with pytest.raises(FragmentError) as error:
        plan(a, b, c, 8, 8, k)
    assert str(error.value) == message


def test_f16_fragments_that_do_not_fit() -> None:
    with pytest.raises(FragmentError) as error:
        plan(
            "S[(2, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 8@laneid]",
            "S[(2, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 8@laneid]",
            "S[(2, 2, 2, 2, 2, 2, 2, 2) : (8@laneid, 16@laneid, 2, 1@laneid, 4@laneid, 4, 2@laneid, 1)]",
            16,
            16,
            4,
            ("f16", "f32"),
        )
    assert str(error.value) == f"expected element (0, 0) of A in register 0 of thread 4, found (8, 0); {F16}"


def test_the_family_whose_accumulator_fits_is_explained() -> None:
    """C is that of m16n8, so what is wrong is that A is not."""
    v = VARIANTS["m16n8k16.row.col.f32.f16"]
    a = TileLayout.parse("S[(2, 8, 2, 4, 2) : (4, 4@laneid, 2, 1@laneid, 1)]")
    with pytest.raises(FragmentError) as error:
        plan_mma(a, v.b.layout, v.c.layout, (16, 16), (8, 16), (16, 8), ("f16", "f16"), "f32", 32)
    assert str(error.value) == (
        "expected element (8, 0) of A in register 2 of thread 0, found (0, 8); mma.sync on f16 with f32 accumulators "
        "has fragments for m8n8k4 (4 per warp, row.col, row.row, col.col, col.row), m16n8k16 (1 per warp, row.col), "
        "m16n8k8 (1 per warp, row.col), as in tirx.mma.VARIANTS"
    )


def test_f16_accumulators_on_the_f32_fragment() -> None:
    f32 = VARIANTS["m8n8k4.row.col.f32.f16"]
    shapes = (f32.a.shape, f32.b.shape, f32.c.shape)
    layouts = (f32.a.layout, f32.b.layout, f32.c.layout)
    with pytest.raises(FragmentError, match=r"^expected element \(0, 0, 2\) of C in register 2 of thread 0, found "):
        plan_mma(*PickedFragments(*layouts), *shapes, ("f16", "f16"), "f16", 32)


def test_one_product_in_two_batches() -> None:
    """Rows 0..3 of the fragment from batch 0, rows 4..7 from batch 1: no product of the tile."""
    a = TileLayout.parse("S[(2, 4, 4) : (16@laneid, 4@laneid, 1@laneid)]")
    b = TileLayout.parse("S[(2, 8, 4) : (1, 4@laneid, 1@laneid)]")
    c = TileLayout.parse("S[(2, 4, 4, 2) : (16@laneid, 4@laneid, 1@laneid, 1)]")
    with pytest.raises(FragmentError, match=r"^expected each product within one batch, found element \(1, 0, 0\) of C"):
        plan_mma(a, b, c, (2, 4, 4), (2, 8, 4), (2, 4, 8), ("f64", "f64"), "f64", 32)


@together(
    ("a_shape", "b_shape", "c_shape", "types", "threads", "message"),
    [
        ((8, 4), (8, 4), (4, 8), ("f64", "f64"), 32, r"expected A \(..., M, K\), B \(..., N, K\) and C \(..., M, N\)"),
        ((8, 4), (8, 4), (1, 8, 8), ("f64", "f64"), 32, "expected tiles of one rank of 2 or more"),
        ((8, 4), (8, 4), (8, 8), ("f64", "f16"), 32, "expected A and B of one type, found f64 and f16"),
        ((8, 4), (8, 4), (8, 8), ("bf16", "bf16"), 32, "expected one of f16 x f16"),
        ((8, 4), (8, 4), (8, 8), ("f64", "f64"), 48, "expected a multiple of 32 threads, found 48"),
    ],
)
def test_wrong_questions(
    a_shape: tuple[int, ...],
    b_shape: tuple[int, ...],
    c_shape: tuple[int, ...],
    types: tuple[str, str],
    threads: int,
    message: str,
) -> None:
    ab, c = TileLayout.parse(AB), TileLayout.parse(C)
    with pytest.raises(FragmentError, match=f"^{message}"):
        plan_mma(ab, ab, c, a_shape, b_shape, c_shape, types, "f64", threads)


def test_layouts_that_threads_cannot_hold() -> None:
    with pytest.raises(FragmentError, match="^A: expected warpid in 0..0 in a block of 32 threads, found element"):
        plan(f"{AB} + 1@warpid", AB, C, 8, 8, 4)
    with pytest.raises(FragmentError, match="^expected registers of A in whole fragments of 4 elements per thread"):
        a = "S[(2, 2, 4, 6) : (8@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 4@laneid]"
        plan(a, a, str(pick_fragments(16, 16, 4, "f16", "f16", 1).c), 16, 16, 6, ("f16", "f16"))
    with pytest.raises(FragmentError, match="^expected an element of C in register 1 of thread 0, found nothing"):
        plan(AB, AB, "S[(8, 4, 2) : (4@laneid, 1@laneid, 3)]", 8, 8, 4)


@together(
    ("sizes", "message"),
    [
        ((12, 8, 4), "expected M to be a multiple of 8 for m8n8k4.row.col.f64, found 12; nearest: 8 and 16"),
        ((8, 3, 4), "expected N to be a multiple of 8 for m8n8k4.row.col.f64, found 3; nearest: 8"),
        ((8, 8, 6), "expected K to be a multiple of 4 for m8n8k4.row.col.f64, found 6; nearest: 4 and 8"),
        ((8, 8, 0), "expected K to be a multiple of 4 for m8n8k4.row.col.f64, found 0; nearest: 4"),
    ],
)
def test_sizes_that_no_fragments_have(sizes: tuple[int, int, int], message: str) -> None:
    with pytest.raises(FragmentError) as error:
        pick_fragments(*sizes, "f64", "f64", 1)
    assert str(error.value) == message


def test_types_and_warps_that_do_not_exist() -> None:
    with pytest.raises(FragmentError, match="^expected one of f16 x f16"):
        pick_fragments(8, 8, 4, "f16", "f64", 1)
    with pytest.raises(FragmentError, match="^expected 1 or more warps"):
        pick_fragments(8, 8, 4, "f64", "f64", 0)
    with pytest.raises(FragmentError, match=r"^expected 1 or more warps .*, found 1 and \(2, 0\)$"):
        pick_fragments(8, 8, 4, "f64", "f64", 1, (2, 0))
    assert pick_fragments(8, 8, 4, "f64", "f64", 1, (1,)) is not None


def test_warps_hold_whole_rows_where_they_are_asked_to() -> None:
    """A square grid of warps reads less of A and B; sums whose rows are reduced stay in one warp."""
    square = pick_fragments(64, 64, 64, "f16", "f32", 4).c.group((64, 64))
    rows = pick_fragments(64, 64, 64, "f16", "f32", 4, whole_rows=True).c.group((64, 64))
    warps = [[it.extent for it in c.shard[seps[1] :] if it.axis == "warpid"] for c, seps in (square, rows)]
    assert warps == [[2], []]


def test_no_variants_and_orders_of_rows_that_do_not_fit():
    layout = TileLayout.parse("S[16 : 1]")
    with pytest.raises(FragmentError, match="expected one of m8n8k4.row.col.f32.f16, .* to choose from, found none"):
        plan_mma(layout, layout, layout, (4, 4), (4, 4), (4, 4), ("f16", "f16"), "f32", 32, ())
    with pytest.raises(FragmentError, match="expected the plain order of rows of A, 4 of which are neighbours"):
        pick_fragments(16, 16, 16, "f16", "f32", 1, (), "MN", "MN", row_orders=((0, 1, 2), (0, 1, 2)))


_PIECE = VARIANTS["m8n8k4.row.col.f64"].a
"""Lane 4 * i + j holds element (i, j) of 8 x 4, in one register."""


def _nearest(wrong: dict[tuple[int, int], int], missing: Sequence[tuple[int, int]]) -> str:
    """
    Message about an operand of 2 warps with 8 rows of 16 each, in 4 registers, where (thread, register) of `wrong`
    hold another element, and the `missing` (warp, k).
    """
    held = np.array(
        [[[(8 * w + lane // 4) * 16 + 4 * r + lane % 4 for r in range(4)] for lane in range(32)] for w in range(2)]
    )
    for (thread, register), element in wrong.items():
        held[thread // 32, thread % 32, register] = element
    operand = match._Operand("A", _PIECE.layout, (16, 16), held)  # pyright: ignore[reportPrivateUsage]
    left = np.zeros((2, 1, 16), np.bool_)
    for warp, k in missing:
        left[warp, 0, k] = True
    rows = np.arange(16).reshape(2, 1, 8)
    return str(match._closest(operand, (_PIECE,), rows, left, "those of the target"))  # pyright: ignore[reportPrivateUsage]


@together(
    ("wrong", "missing", "message"),
    [
        # The fewest wrong elements: two in register 1, one in registers 2 and 3.
        (
            {(9, 0): 7, (41, 0): 7, (60, 0): 7, (9, 1): 7, (60, 1): 7, (45, 2): 0, (46, 3): -1},
            [(0, 0), (1, 4), (0, 8), (1, 15)],
            "expected element (11, 9) of A in register 2 of thread 45, found (0, 0)",
        ),
        # Those with a k that is missing, behind the first that is wrong at all.
        (
            {(9, 0): 7, (41, 0): 7, (60, 0): 7, (50, 1): 7, (61, 2): -1, (43, 2): 1},
            [(1, 3), (1, 11)],
            "expected element (10, 11) of A in register 2 of thread 43, found (0, 1)",
        ),
        (
            {(41, 2): 7, (60, 2): 17, (50, 3): 7},
            [(0, 0), (1, 7)],
            "expected element (10, 9) of A in register 2 of thread 41, found (0, 7)",
        ),
        ({(0, 0): -1}, [(0, 0)], "expected element (0, 0) of A in register 0 of thread 0, found nothing"),
        ({(33, 1): -1}, [(1, 4)], "expected element (8, 5) of A in register 1 of thread 33, found nothing"),
        # The first row says which k the columns are.
        (
            {(4 * i + j, 0): 16 * i + k for i in range(8) for j, k in ((1, 2), (2, 1))} | {(9, 0): 7},
            [(0, 0)],
            "expected element (2, 2) of A in register 0 of thread 9, found (0, 7)",
        ),
        ({(1, 0): 2, (2, 0): 1}, [(0, 0)], "expected element (1, 2) of A in register 0 of thread 5, found (1, 1)"),
        # No element is wrong.
        (
            {},
            [(1, 6), (1, 9)],
            "expected a fragment with element (8, 6) of A in the lanes of product 0 of warp 1, found none",
        ),
    ],
)
def test_nearest_fragment(wrong: dict[tuple[int, int], int], missing: Sequence[tuple[int, int]], message: str) -> None:
    assert _nearest(wrong, missing) == f"{message}; those of the target"
