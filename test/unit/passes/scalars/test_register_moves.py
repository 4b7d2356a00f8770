"""Moves of elements in registers: what the emitted operations compute for the lanes of a warp."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from unit.cases import together
from unit.passes.evaluation import Lanes, dtype_of, evaluated
from unit.passes.register_tiles import held_by_lanes, names_of, operation, packed, register_tile, run
from xdsl.dialects.builtin import Float64Type, UnknownLoc, f32, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.exchange import Shuffle
from tirx.dialects.ptx.warp import ShflSyncOp
from tirx.dialects.tirx import TileType
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format
from tirx.passes.scalars.register_moves import (
    _Shuffling,  # pyright: ignore[reportPrivateUsage]
    broadcast,
    convert,
    gathered,
    shuffled,
)
from tirx.rules import StageError

# Slots of the same thread


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "i8", "f8E5M2", "i4"])
def test_gathered_slots(element: str) -> None:
    """Any slots, in any order and with gaps; None has any contents."""
    rng = np.random.default_rng(0)
    type_ = operation("convert {}", *[register_tile("32x24", element, "S[(32, 24) : (1@laneid, 1)]")] * 2).result.type
    result = operation("convert {}", *[register_tile("32x21", element, "S[(32, 21) : (1@laneid, 1)]")] * 2).result.type
    bits = type_.dtype.storage_bits
    contents = rng.integers(0, min(1 << bits, 1 << 62), (32, 24), np.uint64)
    for _ in range(6):
        slots: list[int | None] = [int(n) if rng.random() < 0.8 else None for n in rng.integers(0, 24, 21)]
        found, _ = run(
            type_, result, contents, lambda emit, _, registers, s=slots: gathered(emit, result, registers, s)
        )
        for place, slot in enumerate(slots):
            assert slot is None or (found[:, place] == contents[:, slot]).all()


def test_whole_registers_are_taken_as_they_are() -> None:
    """Where the slots of a register are neighbours and begin one; those without contents fit anywhere."""
    type_ = operation("convert {}", *[register_tile("32x12", "f16", "S[(32, 12) : (1@laneid, 1)]")] * 2).result.type
    block = Block(arg_types=[i32] * 6)
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    whole = gathered(emit, type_, block.args, [4, 5, None, 7, 10, None, 0, 1, None, None, 2])
    assert [each in block.args and block.args.index(each) for each in whole[:4]] == [2, 3, 5, 0]  # pyright: ignore
    (zero,) = block.ops
    assert whole[4] is zero.results[0]
    assert whole[5] is block.args[1]
    gathered(emit, type_, block.args, [4, 6, 5, 4, 1, None, 2, 2, 0, 3, 3, 2])
    assert [op.name for op in block.ops].count("ptx.pack") == 6
    narrow = operation("convert {}", *[register_tile("32x8", "i8", "S[(32, 8) : (1@laneid, 1)]")] * 2).result.type
    block = Block(arg_types=[i32] * 3)
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    assert list(gathered(emit, narrow, block.args, [None, 9, None, 11, 4, 5, 6, 7])) == [block.args[2], block.args[1]]
    assert not block.ops
    gathered(emit, narrow, block.args, [None, 8, None, 10, 3, 4, 5, 6])
    assert [op.name for op in block.ops].count("arith.ori") == 1 + 3


@pytest.mark.parametrize(
    ("element", "source", "result"),
    [
        ("f32", "S[(16, 1) : (1@laneid, 1)] + R[2 : 16@laneid]", "S[(16, 12) : (1@laneid, 1)] + R[2 : 16@laneid]"),
        ("f16", "S[(16, 1) : (1@laneid, 1)] + R[2 : 16@laneid]", "S[(16, 12) : (1@laneid, 1)] + R[2 : 16@laneid]"),
        (
            "i8",
            "S[(2, 8, 1) : (1, 1@laneid, 1)] + R[4 : 8@laneid]",
            "S[(2, 8, 12) : (12, 1@laneid, 1)] + R[4 : 8@laneid]",
        ),
    ],
)
def test_broadcasts(element: str, source: str, result: str) -> None:
    op = operation("broadcast {}", register_tile("16x1", element, source), register_tile("16x12", element, result))
    source_type = TileType.of(op.source)
    held, wanted = held_by_lanes(source_type), held_by_lanes(op.result.type)
    contents = np.where(held >= 0, held * 5 + 3, 0).astype(np.uint64)
    found, _ = run(source_type, op.result.type, contents, lambda emit, _, registers: broadcast(emit, op, registers, 32))
    assert (found == np.where(wanted >= 0, wanted // 12 * 5 + 3, found)).all()


# Slots of other lanes

ROWS = "S[(32, 4) : (1@laneid, 1)]"


@pytest.mark.sample(10)
@pytest.mark.parametrize("element", ["f64", "i64", "f32", "f16"])
@pytest.mark.parametrize(
    ("dims", "source", "result", "names"),
    [
        # Lanes that are read at one distance, and those of a table.
        ("2x16x2", "S[(2, 16, 2) : (1, 2@laneid, 1@laneid)]", "S[(2, 16, 2) : (1@laneid, 2@laneid, 1)]", "shfl"),
        ("16x2x2", "S[(16, 2, 2) : (2@laneid, 1@laneid, 1)]", "S[(16, 2, 2) : (1@laneid, 16@laneid, 1)]", "shfl"),
        ("16x2x4", "S[(16, 2, 4) : (2@laneid, 1@laneid, 1)]", "S[(16, 2, 4) : (1@laneid, 16@laneid, 1)]", "shfl"),
        ("32x3", "S[(32, 3) : (1@laneid, 1)]", "S[(2, 16, 3) : (1@laneid, 2@laneid, 1)]", "shfl"),
        # One lane gives all others its elements.
        ("1x2", "S[(1, 2) : (1@laneid, 1)] + 5@laneid", "S[(1, 2) : (1@laneid, 1)] + R[32 : 1@laneid]", "shfl"),
        ("4x2", "S[(4, 2) : (8@laneid, 1)]", "S[(4, 2) : (2, 1)] + R[32 : 1@laneid]", "shfl"),
        # Slots that are not side by side, and such without elements.
        ("32x2", "S[(32, 2) : (1@laneid, 3)]", "S[(2, 16, 2) : (1@laneid, 2@laneid, 2)]", "shfl"),
        ("32x2", "S[(32, 2) : (1@laneid, 2)]", "S[(2, 16, 2) : (1@laneid, 2@laneid, 3)] + 1", "shfl"),
    ],
)
def test_shuffles(element: str, dims: str, source: str, result: str, names: str) -> None:
    assert ("ptx.shfl.sync" in names_of(_shuffled(element, dims, source, result))) == (names == "shfl")


@pytest.mark.parametrize(
    ("dims", "source", "result"),
    [
        # Pairs that begin in the middle of a register, and half a pair.
        ("32x4", "S[(32, 4) : (1@laneid, 1)] + 1", "S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]"),
        ("32x3", "S[(32, 3) : (1@laneid, 1)]", "S[(2, 16, 3) : (1@laneid, 2@laneid, 1)]"),
        ("32x2", "S[(32, 2) : (1@laneid, 1)]", "S[(2, 16, 2) : (1@laneid, 2@laneid, 3)] + 1"),
    ],
)
def test_shuffles_of_halves(dims: str, source: str, result: str) -> None:
    _shuffled("f16", dims, source, result)


def _shuffled(element: str, dims: str, source: str, result: str) -> list[Operation]:
    """Operations for a change of layout, which put every element in its place."""
    op = operation("convert {}", register_tile(dims, element, source), register_tile(dims, element, result))
    source_type = TileType.of(op.source)
    held, wanted = held_by_lanes(source_type), held_by_lanes(op.result.type)
    scale = 0x0001_0003_0007_0101 if source_type.dtype.storage_bits == 64 else 0x1FF
    contents = np.where(held >= 0, (held + 1) * scale, 0).astype(np.uint64)
    found, ops = run(
        source_type, op.result.type, contents, lambda emit, thread, registers: convert(emit, op, registers, 32, thread)
    )
    assert (found == np.where(wanted >= 0, (wanted + 1) * scale, found)).all()
    return ops


def test_shuffles_of_pairs_move_whole_registers() -> None:
    """Both elements of a register come from one register: one shuffle for the two of them."""
    tile = register_tile("32x4", "f16", "S[(32, 4) : (1@laneid, 1)]")
    op = operation("convert {}", tile, register_tile("32x4", "f16", "S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]"))
    contents = (held_by_lanes(TileType.of(op.source)) * 7 + 1).astype(np.uint64)
    _, ops = run(
        TileType.of(op.source), op.result.type, contents,
        lambda emit, thread, registers: convert(emit, op, registers, 32, thread),
    )  # fmt: skip
    names = [op.name for op in ops]
    assert names.count("ptx.shfl.sync") == 2 and "ptx.pack" not in names
    turned = operation("convert {}", tile, register_tile("2x16x4", "f16", "S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]")
                        .replace("2x16x4xf16", "32x4xf16").replace("(2, 16, 4)", "(2, 16, 2, 2)")
                        .replace("2@laneid, 1)", "2@laneid, 1, 2)"))  # fmt: skip
    _, ops = run(
        TileType.of(turned.source), turned.result.type, contents,
        lambda emit, thread, registers: convert(emit, turned, registers, 32, thread),
    )  # fmt: skip
    names = [op.name for op in ops]
    assert names.count("ptx.shfl.sync") == 4 and names.count("ptx.pack") == 4 + 2


def test_exchanges_that_shared_memory_does_better_are_an_earlier_pass() -> None:
    op = operation(
        "convert {}",
        register_tile("32x32", "f32", "S[(32, 32) : (1@laneid, 1)]"),
        register_tile("32x32", "f32", "S[(32, 32) : (1, 1@laneid)]"),
    )
    with pytest.raises(StageError) as error:
        run(
            TileType.of(op.source), op.result.type, np.zeros((32, 32), np.uint64),
            lambda emit, thread, registers: convert(emit, op, registers, 32, thread),
        )  # fmt: skip
    assert error.value.message == "expected a change of layout within warps; run tirx-expand-exchanges first"


TURNED, MIRRORED = tuple((5 * lane + 3) % 32 for lane in range(32)), tuple(lane ^ 19 for lane in range(32))
ALL, EVEN, ODD, FIRST, LAST = 0xFFFFFFFF, 0x55555555, 0xAAAAAAAA, 0x0000FFFF, 0xFFFF0000

Sources = tuple[tuple[int, int], ...]


def _shuffling(element: str, count: int) -> tuple[_Shuffling, Block, Lanes, dict[SSAValue, Lanes]]:
    """Shuffling that fills a tile of `count` slots from one like it, with its contents: any bits."""
    tile = register_tile(f"32x{count}", element, f"S[(32, {count}) : (1@laneid, 1)]")
    type_ = operation("convert {}", tile, tile).result.type
    format_ = register_format(type_)
    block = Block(arg_types=[*[format_.type] * format_.count, i32])
    contents = np.random.default_rng(5).integers(0, 1 << type_.dtype.storage_bits, (32, format_.slots), np.uint64)
    values: dict[SSAValue, Lanes] = dict(zip(block.args[:-1], packed(type_, contents), strict=True))
    values[block.args[-1]] = np.arange(64, 96, dtype=np.uint32)
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    return _Shuffling(emit, type_, block.args[:-1], block.args[-1]), block, contents, values


def _read(shuffle: Shuffle | None, contents: Lanes) -> list[int] | None:
    """Words that each lane finds in the lane that it reads, by the definition of a shuffle."""
    if shuffle is None:
        return None
    slots = [next(slot for slot, mask in shuffle.sources if mask >> own & 1) for own in range(32)]
    return [int(contents[lane, slot]) for lane, slot in zip(shuffle.lanes, slots, strict=True)]


@together("lanes", [TURNED, MIRRORED])
@together(
    ("low", "high", "same_lanes", "shuffles", "packs"),
    [
        # Both halves of a register, in all lanes alike.
        (((4, ALL),), ((5, ALL),), True, 1, 0),
        (((6, ALL),), ((7, ALL),), True, 1, 0),
        (((2, EVEN), (4, ODD)), ((3, EVEN), (5, ODD)), True, 2, 0),
        # Halves of two registers, halves in the other order, or those of other lanes.
        (((5, ALL),), ((6, ALL),), True, 2, 3),
        (((4, ALL),), ((6, ALL),), True, 2, 3),
        (((5, ALL),), ((4, ALL),), True, 2, 3),
        (((4, ALL),), ((5, ALL),), False, 2, 3),
        (((2, EVEN), (4, ODD)), ((3, FIRST), (5, LAST)), True, 4, 5),
        (((2, EVEN), (4, ODD)), ((3, EVEN), (7, ODD)), True, 4, 5),
        (((2, ALL),), ((3, EVEN), (6, ODD)), True, 3, 4),
        (((2, EVEN), (7, ODD)), ((3, ALL),), True, 3, 4),
        # One half has no element.
        ((), ((3, EVEN), (6, ODD)), True, 2, 3),
        (((2, ALL),), (), True, 1, 2),
        ((), (), True, 0, 0),
    ],
)
def test_pairs_of_shuffles(
    lanes: tuple[int, ...], low: Sources, high: Sources, same_lanes: bool, shuffles: int, packs: int
) -> None:
    shuffling, block, contents, values = _shuffling("f16", 8)
    first = Shuffle(lanes, low) if low else None
    second = Shuffle(lanes if same_lanes else (*lanes[16:], *lanes[:16]), high) if high else None
    found = shuffling._pair(first, second)  # pyright: ignore[reportPrivateUsage]
    evaluated(block.ops, values)
    for expected, half in ((_read(first, contents), 0), (_read(second, contents), 1)):
        assert expected is None or values[found].view(np.uint16)[half::2].tolist() == expected
    names = [op.name for op in block.ops]
    assert (names.count("ptx.shfl.sync"), names.count("ptx.pack")) == (shuffles, packs)
    if first is second is None:
        assert values[found].tolist() == [0] * 32


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_shuffles_of_whole_registers(element: str) -> None:
    """One of several words by the own lane; registers without an element are zero, and there are as many as asked."""
    shuffling, block, contents, values = _shuffling(element, 5)
    contents = contents[:, :5]
    shuffles = [
        Shuffle(TURNED, ((1, EVEN & FIRST), (4, ODD & FIRST), (2, LAST))),
        None,
        Shuffle(MIRRORED, ((3, ALL),)),
    ]
    found = shuffling.run(shuffles)
    evaluated(block.ops, values)
    assert len(found) == 5
    for each, shuffle in zip(found, [*shuffles, None, None], strict=True):
        words = values[each].view(f"u{values[each].dtype.itemsize}").tolist()
        assert words == (_read(shuffle, contents) or [0] * 32)
    count = 2 if element == "f64" else 1
    modes = [op.mode.data.value for op in block.ops if isinstance(op, ShflSyncOp)]
    assert modes == ["idx"] * 3 * count + ["bfly"] * count
    assert [op.name for op in block.ops].count("arith.select") == 2


@together("lanes", [TURNED, (0,) * 32, (21,) * 32, (1,) * 20 + (2,) * 12])
def test_tables_of_lanes(lanes: tuple[int, ...]) -> None:
    """A table for each bit that a lane has, made once."""
    shuffling, block, _, values = _shuffling("f32", 1)
    before = len(block.ops)
    found = shuffling._source_lane(lanes)  # pyright: ignore[reportPrivateUsage]
    evaluated(block.ops, values)
    assert values[found].tolist() == list(lanes)
    bits = reduce(lambda a, b: a | b, lanes).bit_count()
    assert [op.name for op in block.ops].count("arith.shrui") == bits
    count = len(block.ops)
    assert bits or count == before + 1
    assert shuffling._source_lane(lanes) is found and len(block.ops) == count  # pyright: ignore[reportPrivateUsage]


@together(
    ("type_", "words", "others"),
    [
        (f32, ["f32"], []),
        (i32, ["i32"], []),
        (i64, ["i32"] * 2, ["ptx.unpack", "ptx.pack"]),
        (Float64Type(), ["i32"] * 2, ["ptx.mov", "ptx.unpack", "ptx.pack", "ptx.mov"]),
    ],
)
def test_words_that_are_shuffled(type_: Attribute, words: list[str], others: list[str]) -> None:
    """Words of 64 bits are shuffled as two, each of which keeps its place."""
    block = Block(arg_types=[type_])
    asked: list[SSAValue] = []

    def shuffle(word: SSAValue) -> SSAValue:
        asked.append(word)
        return word

    found = shuffled(Emitter(InsertPoint.at_end(block), UnknownLoc()), block.args[0], shuffle)
    assert [str(each.type) for each in asked] == words and found.type == type_
    assert [op.name for op in block.ops] == others
    number = np.arange(7, 7 + 32, dtype=np.uint64) * np.uint64(0x0001_0003_0507_0911)
    values: dict[SSAValue, Lanes] = {block.args[0]: number.astype(f"u{4 * len(words)}").view(dtype_of(type_))}
    evaluated(block.ops, values)
    assert values[found].tobytes() == values[block.args[0]].tobytes()
