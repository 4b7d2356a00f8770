"""Loads, stores and reductions of register tiles: what they do to memory, by the layouts of both sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from unit.cases import together
from unit.passes.evaluation import Lanes, dtype_of
from unit.passes.memory import BASES, Memory
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float64Type, IndexType, IntegerAttr, IntegerType, UnknownLoc, f16, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.cp_async import plan_cp_async
from tirx.dialects.ptx.reductions import Red, RedOp
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.targets import Target
from tirx.layout import TileLayout
from tirx.layout.ownership import held_elements
from tirx.passes.copies.clipping import Clip
from tirx.passes.copies.cp_async_emission import _start_copies  # pyright: ignore[reportPrivateUsage]
from tirx.passes.copies.memory_access import (
    ClippedAccess,
    MemoryTile,
    TileAccess,
    is_whole,
)
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format
from tirx.passes.ir.views import ClipPlan, OpenBound
from tirx.rules import RegisterLayoutError

FILL = 0xEE


ELEMENTS: dict[str, Attribute] = {
    "i4": IntegerType(4), "i8": IntegerType(8), "f16": f16, "i32": i32, "f32": f32, "f64": Float64Type(),
}  # fmt: skip


def _types(element: str, dims: str, layout: str, memory: str, space: str) -> tuple[TileType, TileType]:
    """The types of a register tile and of the same elements in memory."""
    sizes = [int(n) for n in dims.split("x")]
    places = ((MemorySpace.REGISTER, layout), (MemorySpace(space), memory))
    register, other = (TileType.get(sizes, ELEMENTS[element], each, TileLayout.parse(text)) for each, text in places)
    return register, other


class _Case:
    """A register tile, its place in memory, and both their contents."""

    def __init__(self, types: tuple[TileType, TileType], threads: int, alignment: int = 16):
        self.type, self.memory = types
        self.threads, self.alignment = threads, alignment
        layout, place = self.type.layout, self.memory.layout
        assert isinstance(layout, TileLayout) and isinstance(place, TileLayout)
        self.bits = self.type.dtype.storage_bits
        self.format = register_format(self.type)
        held = held_elements(layout, self.type.dims, threads)
        more = self.format.slots - held.shape[1]
        self.held = np.pad(held, ((0, 0), (0, more)), constant_values=-1)
        self.places = place.axis_table("m", (place.size(),))
        self.size = -(-(int(self.places.max()) + 1) * self.bits // 8)
        self.numbers = np.random.default_rng(4).integers(1, 1 << min(self.bits, 62), place.size(), np.uint64)

    def contents(self, numbers: Lanes, exists: Lanes | None = None) -> Lanes:
        """The bytes of memory with these elements, of which only those that exist are written."""
        units = np.full(2 * self.size, FILL & 0xF, np.uint8)
        of_element = self.bits // 4
        which = np.arange(len(numbers)) if exists is None else np.flatnonzero(exists)
        for i in range(of_element):
            units[self.places.reshape(-1)[which] * of_element + i] = numbers[which] >> np.uint64(4 * i) & np.uint64(0xF)
        return units[::2] | units[1::2] << 4

    def registers(self, numbers: Lanes, first: int) -> list[Lanes]:
        """The registers of the 32 threads from `first` on; slots without an element are 0."""
        words = np.zeros((32, self.format.count), np.uint64)
        for slot in range(self.format.slots):
            held = self.held[first : first + 32, slot]
            number = np.where(held >= 0, numbers[held], np.uint64(0))
            words[:, slot // self.format.packed] |= number << np.uint64(slot % self.format.packed * self.bits)
        dtype = np.dtype(dtype_of(self.format.type))
        return [words[:, i].astype(f"u{dtype.itemsize}").view(dtype) for i in range(self.format.count)]

    def block(self) -> tuple[Block, Emitter, MemoryTile]:
        """A block with the address, the thread, 3 numbers and the registers as arguments."""
        address = i64 if self.memory.memory.value == "global" else i32
        block = Block(arg_types=[address, i32, i32, i32, i1, *[self.format.type] * self.format.count])
        tile = MemoryTile(self.memory, block.args[0], self.alignment)
        return block, Emitter(InsertPoint.at_end(block), UnknownLoc()), tile

    def values(self, block: Block, first: int, numbers: Sequence[int] = (0, 0, 0)) -> dict[SSAValue, Lanes]:
        base = BASES[self.memory.memory.value]
        given = [np.full(32, base, np.uint64), np.arange(first, first + 32), *(np.full(32, n) for n in numbers)]
        values: dict[SSAValue, Lanes] = {
            arg: each.astype(dtype_of(arg.type)) for arg, each in zip(block.args, given, strict=False)
        }
        registers = self.registers(self.numbers, first) if len(block.args) > 5 else []
        return values | dict(zip(block.args[5:], registers, strict=True))


LAYOUTS = [
    # Whole registers, vectors and single ones; memory in another order.
    ("f32", "32x8", "S[(32, 8) : (1@laneid, 1)]", "S[(32, 8) : (8, 1)]", 32, {16}),
    ("f32", "32x6", "S[(32, 6) : (1@laneid, 1)]", "S[(32, 6) : (1, 32)]", 32, {4}),
    ("f64", "16x4", "S[(16, 4) : (1@laneid, 1)]", "S[(16, 4) : (4, 1)]", 32, {16}),
    ("f16", "32x12", "S[(32, 12) : (1@laneid, 1)]", "S[(32, 12) : (12, 1)]", 32, {8}),
    # Halves and bytes of registers.
    ("f16", "32x5", "S[(32, 5) : (1@laneid, 1)]", "S[(32, 5) : (1, 32)]", 32, {2}),
    ("f16", "32x3", "S[(32, 3) : (1@laneid, 2)] + 1", "S[(32, 3) : (3, 1)]", 32, {2}),
    ("i8", "32x8", "S[(32, 8) : (1@laneid, 1)]", "S[(32, 8) : (8, 1)]", 32, {8}),
    ("i8", "32x7", "S[(32, 7) : (1@laneid, 1)]", "S[(32, 7) : (1, 32)]", 32, {1}),
    ("i8", "32x6", "S[(32, 6) : (1@laneid, 1)]", "S[(32, 6) : (6, 1)]", 32, {2}),
    ("i4", "32x6", "S[(32, 6) : (1@laneid, 1)]", "S[(32, 6) : (6, 1)]", 32, {1}),
    ("i4", "32x12", "S[(32, 12) : (1@laneid, 1)]", "S[(32, 12) : (12, 1)]", 32, {2}),
    # Some lanes, some warps, threads below one; elements that several threads hold.
    ("f16", "5x4", "S[(5, 4) : (3@laneid, 1)]", "S[(5, 4) : (4, 1)]", 32, {8}),
    ("f32", "2x8x3", "S[(2, 8, 3) : (2@warpid, 4@laneid, 1)]", "S[(2, 8, 3) : (24, 3, 1)]", 128, {4}),
    ("i32", "45x2", "S[(45, 2) : (1@tid_in_wg, 1)]", "S[(45, 2) : (2, 1)]", 128, {8}),
    ("f32", "8x2", "S[(8, 2) : (1@laneid, 1)] + R[4 : 8@laneid]", "S[(8, 2) : (2, 1)]", 32, {8}),
]


def _case(element: str, dims: str, layout: str, memory: str, threads: int, space: str = "global") -> _Case:
    return _Case(_types(element, dims, layout, memory, space), threads)


@pytest.mark.parametrize(("element", "dims", "layout", "memory", "threads", "sizes"), LAYOUTS)
def test_loads_and_stores(element: str, dims: str, layout: str, memory: str, threads: int, sizes: set[int]) -> None:
    """Every element goes to its place and back; other bytes stay, and registers without an element are 0."""
    for space in ("global", "shared"):
        case = _case(element, dims, layout, memory, threads, space)
        contents = case.contents(case.numbers)
        block, emit, tile = case.block()
        access = TileAccess(emit, tile, case.type, threads, block.args[1], once=False)
        access.store(block.args[5:])
        written = Memory(**{space: np.full(len(contents), FILL, np.uint8)})
        other, inside, there = case.block()
        found = TileAccess(inside, there, case.type, threads, other.args[1], once=False).load()
        read = Memory(**{space: contents.copy()})
        for first in range(0, threads, 32):
            written.run(block, case.values(block, first))
            values = case.values(other, first)
            read.run(other, values)
            for each, expected in zip(found, case.registers(case.numbers, first), strict=True):
                assert values[each].tobytes() == expected.tobytes()
        assert written.spaces[space].tobytes() == contents.tobytes() == read.spaces[space].tobytes()
        assert written.sizes == read.sizes == sizes
        # Behind a branch of some threads the others wait for them: instructions of whole warps may follow.
        branches = 0 if (case.held >= 0).any(axis=1).all() else threads // 32
        assert written.barriers == read.barriers == branches


@together(
    ("element", "dims", "layout", "memory", "threads", "sizes"),
    [
        ("f32", "32x8", "S[(32, 8) : (1@laneid, 1)]", "S[(32, 8) : (8, 1)]", 32, {16}),
        ("f32", "32x3", "S[(32, 3) : (1@laneid, 2)]", "S[(32, 3) : (3, 1)]", 32, {4}),
        ("f16", "32x4", "S[(32, 4) : (1@laneid, 1)]", "S[(32, 4) : (4, 1)]", 32, {8}),
        ("f16", "32x5", "S[(32, 5) : (1@laneid, 1)] + 1", "S[(32, 5) : (1, 32)]", 32, {2}),
        ("i32", "16x2", "S[(16, 2) : (2@laneid, 3)] + 1", "S[(16, 2) : (2, 1)]", 64, {4}),
        ("f32", "8x2", "S[(8, 2) : (1@laneid, 1)] + R[4 : 8@laneid]", "S[(8, 2) : (2, 1)]", 32, {8}),
    ],
)
def test_reductions(element: str, dims: str, layout: str, memory: str, threads: int, sizes: set[int]) -> None:
    """Every element is added once, slots without an element are not, and of copies in several threads one is."""
    case = _case(element, dims, layout, memory, threads)
    dtype = np.dtype({"f16": np.float16, "f32": np.float32, "i32": np.int32}[element])
    numbers = np.random.default_rng(6).integers(-20, 20, len(case.numbers))
    case.numbers = numbers.astype(dtype).view(f"u{dtype.itemsize}").astype(np.uint64)
    block, emit, tile = case.block()
    access = TileAccess(emit, tile, case.type, threads, block.args[1], once=True)
    access.reduce(block.args[5:], Red.ADD, Target.parse("sm_90a"))
    before = np.arange(case.size // dtype.itemsize).astype(dtype)
    after = Memory(**{"global": before.copy().view(np.uint8)})
    for first in range(0, threads, 32):
        after.run(block, case.values(block, first))
    expected = before.copy()
    expected[case.places.reshape(-1)] += numbers.astype(dtype)
    assert (after.spaces["global"].view(dtype) == expected).all()
    assert after.sizes == sizes


def test_elements_of_several_threads_are_not_reduced() -> None:
    layout = "S[(8, 2) : (1@laneid, 1)] + R[4 : 8@laneid]"
    case = _case("f32", "8x2", layout, "S[(8, 2) : (2, 1)]", 32)
    block, emit, tile = case.block()
    access = TileAccess(emit, tile, case.type, 32, block.args[1], once=False)
    with pytest.raises(RegisterLayoutError) as error:
        access.reduce(block.args[5:], Red.ADD, Target.parse("sm_90a"))
    assert error.value.message == (
        "expected a layout that lets one thread reduce each element to memory, found "
        "S[(8, 2) : (1@laneid, 1)] + R[4 : 8@laneid]"
    )
    assert not any(isinstance(op, RedOp) for op in block.walk())


ROWS = ("f32", "8x16", "S[(8, 4, 4) : (4@laneid, 1@laneid, 1)]", "S[(8, 16) : (16, 1)]", 32)


def _clip(emit: Emitter, block: Block, starts: tuple[int, int | None], run: int, *, narrow: bool) -> Clip:
    """
    Bounds of the dimensions of a tile of 8 x 16 that begins at `starts`; the sizes are the numbers 0 and 1. Without
    `narrow` a tile that begins at 0 or later is moved on by 2^33 elements, and the sizes with it.
    """
    far = 0 if narrow or min(start or 0 for start in starts) < 0 else 1 << 33
    indices = [arith.ConstantOp(IntegerAttr(far + (start or 0) - d - 1, IndexType())) for d, start in enumerate(starts)]
    bounds = tuple(
        OpenBound(d + 1, d, extent, index.result, d + 1)
        for d, (extent, index) in enumerate(zip((8, 16), indices, strict=True))
        if starts[d] is not None
    )
    plan = ClipPlan(3, (8, 16), bounds, 1, run, run, False)
    sizes = {(3, 1): block.args[2], (3, 2): block.args[3]}

    def size(argument: int, dimension: int, type_: IntegerType) -> SSAValue:
        found = sizes[argument, dimension]
        return found if type_ == i32 else emit.add(emit.extend(found, i64), far)

    return Clip(emit, plan, size, lambda bound: narrow)


def _exists(starts: tuple[int, int], sizes: tuple[int, int]) -> Lanes:
    rows, columns = np.arange(8)[:, None] + starts[0], np.arange(16) + starts[1]
    return ((rows >= 0) & (rows < sizes[0]) & (columns >= 0) & (columns < sizes[1])).reshape(-1)


BOUNDS = [
    # Where the tile begins, the sizes of the memref, the run, and whether all of the tile exists.
    ((0, 0), (8, 16), 4, True),
    ((92, 4), (100, 20), 4, True),
    ((93, 4), (100, 20), 4, False),
    ((92, 8), (100, 20), 4, False),
    ((5, 6), (9, 20), 2, False),
    ((5, 7), (9, 20), 1, False),
    ((-3, 0), (100, 20), 4, False),
    ((0, -8), (100, 20), 4, False),
    ((9, 0), (9, 20), 4, False),
]


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(("starts", "sizes", "run", "whole"), BOUNDS)
def test_clipped_tiles(starts: tuple[int, int], sizes: tuple[int, int], run: int, whole: bool, narrow: bool) -> None:
    """Elements outside are loaded as 0, not stored and not added to; tiles that are all inside have wide accesses."""
    case = _case(*ROWS)
    exists = _exists(starts, sizes)
    assert exists.all() == whole
    case.numbers = np.arange(1, 129, dtype=np.float32).view(np.uint32).astype(np.uint64)
    contents = case.numbers.astype(np.uint32).view(np.float32)
    there = np.where(exists, contents, np.float32(0))
    widths = {16 if whole else run * 4}
    for what in ("load", "store", "reduce"):
        block, emit, tile = case.block()
        clip = _clip(emit, block, starts, run, narrow=narrow)

        def access(
            emit: Emitter, careful: bool, block: Block = block, tile: MemoryTile = tile, clip: Clip = clip
        ) -> TileAccess:
            clip_ = clip if careful else None
            return TileAccess(emit, tile, case.type, 32, block.args[1], once=True, clip=clip_)

        clipped = ClippedAccess(emit, access, is_whole(emit, clip, tile, True))
        found: Sequence[SSAValue] = ()
        memory = Memory(**{"global": contents.copy().view(np.uint8)})
        if what == "load":
            found = clipped.load()
        elif what == "store":
            memory.spaces["global"][:] = FILL
            clipped.store(block.args[5:])
        else:
            clipped.reduce(block.args[5:], Red.ADD, Target.parse("sm_90a"))
        values = case.values(block, 0, (*sizes, 0))
        memory.run(block, values)
        after = memory.spaces["global"].view(np.float32)
        if what == "load":
            expected = case.registers(there.view(np.uint32).astype(np.uint64), 0)
            assert [values[each].tolist() for each in found] == [each.tolist() for each in expected]
        elif what == "store":
            assert memory.spaces["global"].tobytes() == case.contents(case.numbers, exists).tobytes()
        else:
            assert (after == contents + there).all()
        assert memory.sizes == (widths if exists.any() else set())
        assert memory.barriers == (0 if whole else 1)


@pytest.mark.parametrize("whole", [None, False, True])
def test_both_ways_of_an_access(whole: bool | None) -> None:
    """With a look at the bounds where not all of the tile exists, which no condition says of tiles that never do."""
    for what in ("load", "store", "reduce"):
        case = _case(*ROWS)
        block, emit, tile = case.block()
        asked: list[bool] = []

        def access(emit: Emitter, careful: bool, block: Block = block, tile: MemoryTile = tile) -> TileAccess:
            asked.append(careful)  # noqa: B023
            return TileAccess(emit, tile, case.type, 32, block.args[1], once=True)  # noqa: B023

        clipped = ClippedAccess(emit, access, None if whole is None else block.args[4])
        arguments = () if what == "load" else (block.args[5:],)
        more = (Red.ADD, Target.parse("sm_90a")) if what == "reduce" else ()
        getattr(clipped, what)(*arguments, *more)
        assert asked == ([True] if whole is None else [False, True])
        case.numbers[:] = 0
        memory = Memory(**{"global": np.zeros(512, np.uint8)})
        memory.run(block, case.values(block, 0, (0, 0, bool(whole))))
        assert memory.sizes == {16}


@together("narrow", [True, False])
@together(
    ("starts", "sizes", "run", "threads", "size"),
    [
        (None, (0, 0), 4, 32, 16),
        (None, (0, 0), 2, 32, 8),
        (None, (0, 0), 4, 256, 4),
        ((0, 0), (8, 16), 4, 32, 16),
        ((92, 8), (98, 18), 4, 32, 16),
        ((5, 6), (9, 17), 2, 32, 8),
        ((-3, -8), (100, 7), 4, 32, 16),
        ((-3, -8), (100, 7), 4, 64, 8),
        ((9, 0), (9, 20), 4, 32, 16),
        # No bound along the dimension of neighbours.
        ((5, None), (9, 1), 4, 32, 16),
    ],
)
def test_copies_of_threads(
    starts: tuple[int, int | None] | None, sizes: tuple[int, int], run: int, threads: int, size: int, narrow: bool
) -> None:
    """Elements outside are 0 in shared memory, and those that some threads would copy again are copied once."""
    case, inside = (
        _case("f32", "8x16", "S[(8, 16) : (16, 1)]", memory, 1, space)
        for memory, space in (("S[(8, 16) : (24, 1)]", "global"), ("S[(8, 4, 4) : (4, 32, 1)]", "shared"))
    )
    assert isinstance(case.memory.layout, TileLayout) and isinstance(inside.memory.layout, TileLayout)
    plan = plan_cp_async(case.memory.layout, inside.memory.layout, (8, 16), 32, threads, run * 4)
    block = Block(arg_types=[i64, i32, i32, i32, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    ends = MemoryTile(case.memory, block.args[0], 16), MemoryTile(inside.memory, block.args[4], 16)
    clip = None if starts is None else _clip(emit, block, starts, run, narrow=narrow)
    _start_copies(emit, *ends, plan, block.args[1], clip)
    numbers = np.arange(1, 1 + 8 * 24, dtype=np.uint32)
    memory = Memory(**{"global": numbers.view(np.uint8), "shared": np.full(512, FILL, np.uint8)})
    for first in range(0, threads, 32):
        values = case.values(block, first, (*sizes, BASES["shared"]))
        memory.run(block, values)
    exists = np.full(128, True)
    if starts is not None:
        exists = _exists((starts[0], starts[1] or 0), (sizes[0], 1 << 30 if starts[1] is None else sizes[1]))
    written = memory.spaces["shared"].view(np.uint32)[inside.places.reshape(-1)]
    assert written.tolist() == np.where(exists, numbers[case.places.reshape(-1)], 0).tolist()
    assert memory.sizes == {size}
