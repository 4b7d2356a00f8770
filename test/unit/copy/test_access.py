"""Access plans: every thread reaches exactly the elements that it holds, by the widest vectors."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from unit.cases import together

from tirx.copy.access import AccessPlan, Owners, plan_accesses
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, SwizzleMode, TileLayout
from tirx.layout.ownership import AccessError, held_elements

Memory = TileLayout | ComposeLayout


def participants(plan: AccessPlan) -> NDArray[np.int64]:
    """The threads that take part."""
    tids = np.arange(plan.threads, dtype=np.int64)
    return tids if plan.owners is None else tids[plan.owners.holds(tids)]


def reached(plan: AccessPlan) -> dict[int, NDArray[np.int64]]:
    """register -> the address that each participating thread uses for it."""
    tids = participants(plan)
    found: dict[int, NDArray[np.int64]] = {}
    for access in plan.accesses:
        offset = access.offset.evaluate({"tid": tids})
        assert (access.base.evaluate({"tid": tids}) + access.const == offset).all()
        assert access.base.split_const() == (access.base, 0)
        assert access.register % access.count == 0
        assert not (offset % access.count).any()
        for i in range(access.count):
            assert access.register + i not in found
            found[access.register + i] = offset + i
    return found


def check(plan: AccessPlan, register: TileLayout, memory: Memory, shape: tuple[int, ...]) -> None:
    """The plan against the definition: the address of the element in every register of every thread."""
    held = held_elements(register, shape, plan.threads)
    addresses = np.array([memory.apply(flat).get("m", 0) for flat in range(memory.size())])
    used = {int(m) for m in np.flatnonzero((held >= 0).any(axis=0))}
    found = reached(plan)
    assert found.keys() == used
    assert (participants(plan) == np.flatnonzero((held >= 0).any(axis=1))).all()
    held = held[participants(plan)]
    for slot, at in found.items():
        assert (at == addresses[held[:, slot]]).all()
    # Widest: no two neighbouring accesses could have been one.
    accesses = plan.accesses
    for a, b in zip(accesses, accesses[1:], strict=False):
        if a.count == b.count and a.register % (2 * a.count) == 0 and b.register == a.register + a.count:
            first = found[a.register]
            joined = (found[b.register] == first + a.count).all() and not (first % (2 * a.count)).any()
            assert not joined or 2 * a.count * plan.element_bits > 128


def draw_factors(draw: st.DrawFn, total: int) -> list[int]:
    """A random factorisation, in random order."""
    factors: list[int] = []
    while total > 1:
        factor = draw(st.sampled_from([d for d in range(2, total + 1) if total % d == 0]))
        factors.append(factor)
        total //= factor
    return draw(st.permutations(factors))


def draw_radix(draw: st.DrawFn, factors: list[int], name: str, gap: bool) -> list[Iter]:
    """Iters of these extents, in order, with the strides of a mixed-radix number of shuffled digits."""
    strides = [0] * len(factors)
    stride = 1
    for k in draw(st.permutations(range(len(factors)))):
        strides[k] = stride
        stride *= factors[k] + (draw(st.integers(0, 2)) if gap else 0)
    return [Iter(f, s, name) for f, s in zip(factors, strides, strict=True)]


@st.composite
def registers(draw: st.DrawFn) -> tuple[TileLayout, int]:
    """A layout that gives every thread of a block the same number of elements, and the threads."""
    if draw(st.booleans()):
        threads = draw(st.sampled_from([1, 4, 6, 12, 32, 60]))
        digits = draw_radix(draw, draw_factors(draw, threads), "tx", gap=False)
    else:
        warps = draw(st.sampled_from([1, 2, 3, 4]))
        threads = 32 * warps
        digits = draw_radix(draw, draw_factors(draw, 32), "laneid", gap=False)
        digits += draw_radix(draw, draw_factors(draw, warps), "warpid", gap=False)
    offset: dict[str, int] = {}
    if digits and draw(st.booleans()):
        it = digits[0]
        digits[0] = Iter(it.extent, -it.stride, it.axis)
        offset[it.axis] = (it.extent - 1) * it.stride
    copies = [it for it in digits if draw(st.integers(0, 3)) == 0]
    shard = [it for it in digits if it not in copies]
    slots = draw_factors(draw, draw(st.sampled_from([1, 2, 3, 4, 6, 8, 16, 20])))
    shard += draw_radix(draw, slots, "m", gap=draw(st.integers(0, 4)) == 0)
    return TileLayout(draw(st.permutations(shard)), copies, offset), threads


@st.composite
def memories(draw: st.DrawFn, size: int) -> Memory:
    digits = draw_radix(draw, draw_factors(draw, size), "m", gap=draw(st.integers(0, 2)) == 0)
    offset = draw(st.sampled_from([0, 0, 1, 8, 64]))
    if digits and draw(st.integers(0, 4)) == 0:
        it = digits[0]
        digits[0] = Iter(it.extent, -it.stride)
        offset += (it.extent - 1) * it.stride
    tile = TileLayout(digits, (), {"m": offset})
    if draw(st.booleans()):
        return tile
    numbers = draw(st.sampled_from([(0, 1, 1), (1, 2, 2), (3, 3, 3), (2, 1, 3)]))
    return ComposeLayout(SwizzleLayout(*numbers, swizzle_inner=draw(st.booleans())), tile)


@given(st.data(), st.sampled_from([8, 16, 32, 64]))
def test_plans_are_exact(data: st.DataObject, bits: int) -> None:
    register, threads = data.draw(registers())
    memory = data.draw(memories(register.size()))
    plan = plan_accesses(register, memory, (register.size(),), bits, threads)
    check(plan, register, memory, (register.size(),))


def row_of_swizzle(bits: int, mode: SwizzleMode) -> int:
    return {"none": 128, "32B": 32, "64B": 64, "128B": 128, "128B_base32B": 128}[mode] * 8 // bits


@pytest.mark.sample(10)
@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B", "128B_base32B"])
@pytest.mark.parametrize("bits", [16, 32, 64])
@pytest.mark.parametrize(
    "threads_along", ["row", "column"], ids=["a thread holds a row", "a thread holds vectors of many rows"]
)
def test_swizzled_tiles_by_vectors(mode: SwizzleMode, bits: int, threads_along: str) -> None:
    vector = 128 // bits
    columns = row_of_swizzle(bits, mode)
    shape = (64, columns)
    memory = ComposeLayout(SwizzleLayout.for_bits(bits, mode), TileLayout.row_major(shape))
    chunks = columns // vector
    if threads_along == "row":
        register, threads = TileLayout((Iter(64, 1, "tx"), Iter(columns, 1))), 64
    else:
        register = TileLayout((Iter(8, vector), Iter(8, chunks, "tx"), Iter(chunks, 1, "tx"), Iter(vector, 1)))
        threads = 8 * chunks
    plan = plan_accesses(register, memory, shape, bits, threads)
    check(plan, register, memory, shape)
    assert {access.count for access in plan.accesses} == {vector}
    if threads_along == "column":
        # Rows of one thread are whole periods or multiples of 8 rows apart: one base, immediate offsets.
        assert len(plan.bases) == 1


F32_ACCUMULATOR = TileLayout.parse("S[(4, 2, 2, 2, 2, 2, 2) : (4@laneid, 16@laneid, 2, 1@laneid, 4, 2@laneid, 1)]")


def test_a_fragment_in_global_memory() -> None:
    memory = TileLayout.parse("S[(4, 8, 8) : (1000, 100, 1)]")
    plan = plan_accesses(F32_ACCUMULATOR, memory, (4, 8, 8), 32, 32)
    check(plan, F32_ACCUMULATOR, memory, (4, 8, 8))
    assert [(a.register, a.count, a.const) for a in plan.accesses] == [(0, 2, 0), (2, 2, 200), (4, 2, 4), (6, 2, 204)]
    assert [str(base) for base in plan.bases] == [
        "1000*((tid//4)%4) + 400*(tid//16) + 100*(tid%2) + 2*((tid//2)%2)",
    ]


def test_one_base_and_immediates_in_swizzled_memory() -> None:
    memory = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((128, 64)))
    register = TileLayout.parse("S[(16, 8, 8, 8) : (8, 8@tx, 1@tx, 1)]")
    plan = plan_accesses(register, memory, (128, 64), 16, 64)
    assert [str(base) for base in plan.bases] == ["((8*(tid//8)) ^ (8*tid))"]
    assert [a.const for a in plan.accesses] == [512 * i for i in range(16)]


def test_bases_of_one_swizzled_row_differ_by_an_exclusive_or() -> None:
    memory = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout.row_major((128, 64)))
    register = TileLayout.parse("S[(128, 64) : (1@tx, 1)]")
    plan = plan_accesses(register, memory, (128, 64), 16, 128)
    assert [str(a.base) for a in plan.accesses][:3] == [
        "64*tid + 8*(tid%8)",
        "((64*tid) ^ (8*(tid%8)) ^ 8)",
        "((64*tid) ^ (8*(tid%8)) ^ 16)",
    ]
    assert {a.const for a in plan.accesses} == {0}


@together(
    ("align", "largest", "counts"),
    [(16, 16, [8]), (16, 8, [4, 4]), (8, 16, [4, 4]), (2, 16, [1] * 8), (1024, 16, [8])],
)
def test_alignment_and_width_limit_vectors(align: int, largest: int, counts: list[int]) -> None:
    register, memory = TileLayout.parse("S[(32, 8) : (1@tx, 1)]"), TileLayout.row_major((32, 8))
    plan = plan_accesses(register, memory, (32, 8), 16, 32, max_vector_bytes=largest, base_align_bytes=align)
    assert [a.count for a in plan.accesses] == counts


def test_vectors_start_at_multiples_of_their_length_in_registers_and_in_memory() -> None:
    register = TileLayout.parse("S[(32, 6) : (1@tx, 1)] + 1")
    plan = plan_accesses(register, TileLayout.parse("S[(32, 6) : (8, 1)] + 1"), (32, 6), 16, 32)
    assert [(a.register, a.count) for a in plan.accesses] == [(1, 1), (2, 2), (4, 2), (6, 1)]
    plan = plan_accesses(register, TileLayout.parse("S[(32, 6) : (8, 1)]"), (32, 6), 16, 32)
    assert [(a.register, a.count) for a in plan.accesses] == [(m, 1) for m in range(1, 7)]


def test_unused_registers_are_skipped() -> None:
    register = TileLayout.parse("S[(32, 2) : (1@tx, 3)]")
    plan = plan_accesses(register, TileLayout.row_major((32, 2)), (32, 2), 32, 32)
    assert [(a.register, a.count) for a in plan.accesses] == [(0, 1), (3, 1)]
    assert plan.registers == 4


def test_four_bit_elements_move_in_whole_bytes() -> None:
    register = TileLayout.parse("S[(32, 8) : (1@tx, 1)]")
    plan = plan_accesses(register, TileLayout.row_major((32, 8)), (32, 8), 4, 32)
    assert [a.count for a in plan.accesses] == [8]
    with pytest.raises(AccessError, match="^expected at least 2 consecutive 4-bit elements in the registers of every"):
        plan_accesses(register, TileLayout.parse("S[(32, 8) : (1, 32)]"), (32, 8), 4, 32)


def test_a_tile_of_one_element() -> None:
    plan = plan_accesses(TileLayout(), TileLayout(), (1, 1), 32, 64)
    assert [(a.register, a.count, str(a.base), a.const) for a in plan.accesses] == [(0, 1, "0", 0)]


@together(
    ("register", "memory", "threads", "message"),
    [
        (
            "S[3 : 31@tx]",
            "S[3 : 1]",
            64,
            "expected a tile on the same lanes of every warp that holds a part of it, up to some thread; thread 30 ",
        ),
        (
            "S[(2, 2, 16) : (5@tx, 2@tx, 1)] + R[(2, 2, 2) : (1@tx, 7@tx, 3@tx)]",
            "S[64 : 1]",
            19,
            "expected one element in register 0 of thread 3, found",
        ),
        (
            "S[(32, 2) : (1@tx, 1)]",
            "S[(32, 2) : (2, 1)] + R[2 : 64]",
            32,
            "expected every element once in memory, found replicas in S[(32, 2) : (2, 1)] + R[2 : 64]",
        ),
        ("S[(32, 2) : (1@tx, 1)]", "S[(32, 2) : (1@TLane, 1)]", 32, "expected a memory layout on axis m only, found"),
        ("S[(32, 2) : (1@TLane, 1)]", "S[(32, 2) : (2, 1)]", 32, "expected thread axes and m in a register layout"),
    ],
)
def test_what_threads_cannot_reach(register: str, memory: str, threads: int, message: str) -> None:
    layout = TileLayout.parse(register)
    with pytest.raises(AccessError) as error:
        plan_accesses(layout, TileLayout.parse(memory), (layout.size(),), 32, threads)
    assert str(error.value).startswith(message)


def test_threads_up_to_one() -> None:
    layout = TileLayout.parse("S[(40, 2) : (1@tx, 1)]")
    shape = (layout.size(),)
    plan = plan_accesses(layout, TileLayout.row_major(shape), shape, 32, 96)
    assert plan.owners == Owners(0b11, 0xFFFFFFFF, below=40)
    check(plan, layout, TileLayout.row_major(shape), shape)


@together(
    ("register", "threads", "warps", "lanes"),
    [
        ("S[(16, 4) : (1@laneid, 1)]", 32, 0b1, 0xFFFF),
        ("S[(16, 4) : (1@laneid, 1)]", 96, 0b111, 0xFFFF),
        ("S[(32, 2) : (1@laneid, 1)] + 1@warpid", 64, 0b10, 0xFFFFFFFF),
        ("S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid", 352, 0x660, 0xFFFFFFFF),
        ("S[(2, 4) : (3@warpid, 8@laneid)] + 1@warpid + 1@laneid", 256, 0b10010, 0x02020202),
        ("S[(20, 2) : (1@tx, 1)]", 48, 0b1, 0xFFFFF),
        ("S[(3, 5) : (7@tx, 1)] + 2@tx", 40, 0b1, 0x10204),
    ],
)
def test_threads_that_hold_nothing_take_no_part(register: str, threads: int, warps: int, lanes: int) -> None:
    layout = TileLayout.parse(register)
    shape = (layout.size(),)
    plan = plan_accesses(layout, TileLayout.row_major(shape), shape, 32, threads)
    assert plan.owners == Owners(warps, lanes)
    check(plan, layout, TileLayout.row_major(shape), shape)


@together(
    ("register", "threads", "warps", "lanes"),
    [
        ("S[(16, 4) : (1@tx, 1)] + R[8 : 16@tx]", 128, 0b1, 0xFFFF),
        ("S[(20, 2) : (1@tx, 1)] + R[3 : 20@tx]", 60, 0b1, 0xFFFFF),
        ("S[(32, 2) : (1@laneid, 1)]", 128, 0b1, 0xFFFFFFFF),
        ("S[(2, 2, 4, 4) : (8@laneid, 16@laneid, 1@laneid, 1)] + R[2 : 4@laneid]", 32, 0b1, 0x0F0F0F0F),
        ("S[(2, 16, 2) : (2@warpid, 1@laneid, 1)] + R[(2, 2) : (1@warpid, 16@laneid)]", 128, 0b101, 0xFFFF),
    ],
)
def test_one_copy_is_stored(register: str, threads: int, warps: int, lanes: int) -> None:
    layout = TileLayout.parse(register)
    shape = (layout.size(),)
    memory = TileLayout.row_major(shape)
    assert plan_accesses(layout, memory, shape, 32, threads).owners is None
    plan = plan_accesses(layout, memory, shape, 32, threads, once=True)
    assert plan.owners == Owners(warps, lanes)
    stored = np.concatenate(list(reached(plan).values()))
    assert sorted(stored.tolist()) == list(range(layout.size()))


def test_copies_that_cannot_be_told_are_all_stored() -> None:
    layout = TileLayout.parse("S[(2, 20, 2) : (40@tx, 1@tx, 1)] + R[2 : 20@tx]")
    shape = (layout.size(),)
    assert plan_accesses(layout, TileLayout.row_major(shape), shape, 32, 80, once=True).owners is None


def test_replicas_that_overlap_the_digits() -> None:
    """Both digits of a thread number that is no mixed-radix number: right as a table, but not solvable by digits."""
    register = TileLayout.parse("S[(2, 2) : (2@tx, 1)] + R[(2, 2) : (1@tx, 4@tx)] - 0@tx")
    plan = plan_accesses(register, TileLayout.row_major((2, 2)), (2, 2), 32, 8)
    check(plan, register, TileLayout.row_major((2, 2)), (2, 2))
    overlapping = TileLayout.parse("S[(2, 2) : (1@tx, 1)] + R[(2, 2) : (2@tx, 2@tx)]")
    memory = TileLayout.row_major((2, 2))
    plan = plan_accesses(overlapping, memory, (2, 2), 32, 6)
    check(plan, overlapping, memory, (2, 2))


@together(
    ("options", "message"),
    [
        ({"element_bits": 6}, "expected element_bits to be a power of two, found 6"),
        ({"max_vector_bytes": 12}, "expected max_vector_bytes to be a power of two, found 12"),
        ({"base_align_bytes": 0}, "expected base_align_bytes to be a power of two, found 0"),
        ({"element_bits": 64, "base_align_bytes": 4}, "expected a base aligned to its 64-bit elements, found 4 bytes"),
    ],
)
def test_widths_that_do_not_exist(options: dict[str, int], message: str) -> None:
    layout = TileLayout.parse("S[(32, 2) : (1@tx, 1)]")
    widths = {"element_bits": 32, "max_vector_bytes": 16, "base_align_bytes": 16} | options
    with pytest.raises(AccessError, match=f"^{message}$"):
        plan_accesses(
            layout,
            TileLayout.row_major((32, 2)),
            (32, 2),
            widths["element_bits"],
            32,
            widths["max_vector_bytes"],
            widths["base_align_bytes"],
        )


def test_sizes_have_to_agree() -> None:
    layout = TileLayout.parse("S[(32, 2) : (1@tx, 1)]")
    with pytest.raises(ValueError, match="the layout has 128 elements"):
        plan_accesses(layout, TileLayout.row_major((32, 4)), (32, 2), 32, 32)
    assert prod((32, 2)) == layout.size()


def test_threads_that_tell_no_digits() -> None:
    layout = TileLayout.parse("S[(2, 2, 3) : (5@laneid, 3@laneid, 6@laneid)]")
    with pytest.raises(AccessError, match="expected the iters on each thread axis to form a mixed-radix number"):
        plan_accesses(layout, TileLayout.row_major((12,)), (12,), 32, 32)
