"""Moves and reductions of elements in registers: what the emitted operations compute for the lanes of a warp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest
from unit.passes.emit.evaluation import Lanes, dtype_of, evaluated
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.exchange import reduced
from tirx.dialects.tirx import BroadcastOp, ConvertOp, ReduceOp, TileType
from tirx.hw.targets import Target
from tirx.layout import TileLayout
from tirx.layout.ownership import held_elements
from tirx.passes.emit.emitter import Emitter
from tirx.passes.emit.register_moves import ReduceEmission, broadcast, convert, gathered
from tirx.passes.emit.register_values import register_format
from tirx.rules import PackedElementsError, StageError

Emission = Callable[[Emitter, Any, Sequence[SSAValue]], Sequence[SSAValue]]


def _tile(dims: str, element: str, layout: str) -> str:
    return f"!tirx.tile<{dims}x{element}, register, #tirx.tile_layout<{layout}>>"


def _operation(name: str, source: str, result: str) -> Any:
    """A `tirx` operation from a tile to another one."""
    text = f"""
tirx.kernel @k() target("sm_100a") threads(32) {{
  %s = tirx.zero : {source}
  %r = tirx.{name.format("%s")} : {source} -> {result}
  tirx.return
}}"""
    module = parsed(text)
    return next(op for op in module.walk() if isinstance(op, BroadcastOp | ConvertOp | ReduceOp))


def _held(type_: TileType) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The element in each slot of each lane, -1 for slots without one."""
    assert isinstance(type_.layout, TileLayout)
    held = held_elements(type_.layout, type_.dims, 32)
    slots = register_format(type_).slots
    return np.pad(held, ((0, 0), (0, slots - held.shape[1])), constant_values=-1)


def _packed(type_: TileType, contents: Lanes) -> list[Lanes]:
    """The registers of slots, (lanes, slots), whose elements have the bits of `contents`."""
    format_, bits = register_format(type_), type_.dtype.storage_bits
    words = np.zeros((32, format_.count), np.uint64)
    for slot in range(format_.slots):
        words[:, slot // format_.packed] |= contents[:, slot].astype(np.uint64) << np.uint64(
            slot % format_.packed * bits
        )
    dtype = np.dtype(dtype_of(format_.type))
    return [words[:, i].astype(f"u{dtype.itemsize}").view(dtype) for i in range(format_.count)]


def _unpacked(type_: TileType, registers: Sequence[Lanes]) -> Lanes:
    """The bits of the elements in each slot, (lanes, slots)."""
    format_, bits = register_format(type_), type_.dtype.storage_bits
    words = [each.view(f"u{each.dtype.itemsize}").astype(np.uint64) for each in registers]
    each = [
        words[slot // format_.packed] >> np.uint64(slot % format_.packed * bits) & np.uint64((1 << bits) - 1)
        for slot in range(format_.slots)
    ]
    return np.stack(each, 1)


def _run(type_: TileType, result: TileType, contents: Lanes, emission: Emission) -> tuple[Lanes, list[Operation]]:
    """The bits of the slots of the result, and what was emitted, for the bits of the slots of the source."""
    format_ = register_format(type_)
    block = Block(arg_types=[*[format_.type] * format_.count, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    registers = emission(emit, block.args[-1], block.args[:-1])
    values: dict[SSAValue, Lanes] = dict(zip(block.args[:-1], _packed(type_, contents), strict=True))
    values[block.args[-1]] = np.arange(64, 96, dtype=np.uint32)  # the third warp
    evaluated(block.ops, values)
    return _unpacked(result, [values[each] for each in registers]), list(block.ops)


def _names(ops: Sequence[Operation]) -> set[str]:
    return {op.name for op in ops if op.operands}


# Slots of the same thread


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "i8", "f8E5M2", "i4"])
def test_gathered_slots(element: str) -> None:
    """Any slots, in any order and with gaps; None has any contents."""
    rng = np.random.default_rng(0)
    type_ = _operation("convert {}", *[_tile("32x24", element, "S[(32, 24) : (1@laneid, 1)]")] * 2).result.type
    result = _operation("convert {}", *[_tile("32x21", element, "S[(32, 21) : (1@laneid, 1)]")] * 2).result.type
    bits = type_.dtype.storage_bits
    contents = rng.integers(0, min(1 << bits, 1 << 62), (32, 24), np.uint64)
    for _ in range(6):
        slots: list[int | None] = [int(n) if rng.random() < 0.8 else None for n in rng.integers(0, 24, 21)]
        found, _ = _run(
            type_, result, contents, lambda emit, _, registers, s=slots: gathered(emit, result, registers, s)
        )
        for place, slot in enumerate(slots):
            assert slot is None or (found[:, place] == contents[:, slot]).all()


def test_whole_registers_are_taken_as_they_are() -> None:
    """Where the slots of a register are neighbours and begin one; those without contents fit anywhere."""
    type_ = _operation("convert {}", *[_tile("32x12", "f16", "S[(32, 12) : (1@laneid, 1)]")] * 2).result.type
    block = Block(arg_types=[i32] * 6)
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    whole = gathered(emit, type_, block.args, [4, 5, None, 7, 10, None, 0, 1, None, None, 2])
    assert [each in block.args and block.args.index(each) for each in whole[:4]] == [2, 3, 5, 0]  # pyright: ignore
    (zero,) = block.ops
    assert whole[4] is zero.results[0]
    assert whole[5] is block.args[1]
    gathered(emit, type_, block.args, [4, 6, 5, 4, 1, None, 2, 2, 0, 3, 3, 2])
    assert [op.name for op in block.ops].count("ptx.pack") == 6
    narrow = _operation("convert {}", *[_tile("32x8", "i8", "S[(32, 8) : (1@laneid, 1)]")] * 2).result.type
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
    op = _operation("broadcast {}", _tile("16x1", element, source), _tile("16x12", element, result))
    source_type = TileType.of(op.source)
    held, wanted = _held(source_type), _held(op.result.type)
    contents = np.where(held >= 0, held * 5 + 3, 0).astype(np.uint64)
    found, _ = _run(
        source_type, op.result.type, contents, lambda emit, _, registers: broadcast(emit, op, registers, 32)
    )
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
    assert ("ptx.shfl.sync" in _names(_shuffled(element, dims, source, result))) == (names == "shfl")


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
    """What is emitted for a change of layout, which puts every element in its place."""
    op = _operation("convert {}", _tile(dims, element, source), _tile(dims, element, result))
    source_type = TileType.of(op.source)
    held, wanted = _held(source_type), _held(op.result.type)
    scale = 0x0001_0003_0007_0101 if source_type.dtype.storage_bits == 64 else 0x1FF
    contents = np.where(held >= 0, (held + 1) * scale, 0).astype(np.uint64)
    found, ops = _run(
        source_type, op.result.type, contents, lambda emit, thread, registers: convert(emit, op, registers, 32, thread)
    )
    assert (found == np.where(wanted >= 0, (wanted + 1) * scale, found)).all()
    return ops


def test_shuffles_of_pairs_move_whole_registers() -> None:
    """Both elements of a register come from one register: one shuffle for the two of them."""
    tile = _tile("32x4", "f16", "S[(32, 4) : (1@laneid, 1)]")
    op = _operation("convert {}", tile, _tile("32x4", "f16", "S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]"))
    contents = (_held(TileType.of(op.source)) * 7 + 1).astype(np.uint64)
    _, ops = _run(
        TileType.of(op.source), op.result.type, contents,
        lambda emit, thread, registers: convert(emit, op, registers, 32, thread),
    )  # fmt: skip
    names = [op.name for op in ops]
    assert names.count("ptx.shfl.sync") == 2 and "ptx.pack" not in names
    turned = _operation("convert {}", tile, _tile("2x16x4", "f16", "S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]")
                        .replace("2x16x4xf16", "32x4xf16").replace("(2, 16, 4)", "(2, 16, 2, 2)")
                        .replace("2@laneid, 1)", "2@laneid, 1, 2)"))  # fmt: skip
    _, ops = _run(
        TileType.of(turned.source), turned.result.type, contents,
        lambda emit, thread, registers: convert(emit, turned, registers, 32, thread),
    )  # fmt: skip
    names = [op.name for op in ops]
    assert names.count("ptx.shfl.sync") == 4 and names.count("ptx.pack") == 4 + 2


def test_exchanges_that_shared_memory_does_better_are_an_earlier_pass() -> None:
    op = _operation(
        "convert {}",
        _tile("32x32", "f32", "S[(32, 32) : (1@laneid, 1)]"),
        _tile("32x32", "f32", "S[(32, 32) : (1, 1@laneid)]"),
    )
    with pytest.raises(StageError) as error:
        _run(
            TileType.of(op.source), op.result.type, np.zeros((32, 32), np.uint64),
            lambda emit, thread, registers: convert(emit, op, registers, 32, thread),
        )  # fmt: skip
    assert error.value.message == "expected a change of layout within warps; run tirx-expand-exchanges first"


# Reductions

_DTYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "ui32": np.uint32,
}  # fmt: skip
_COMBINED: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@pytest.mark.sample(25)
@pytest.mark.parametrize(
    ("target", "element", "how", "names"),
    [
        ("sm_100a", "f32", "max", "ptx.redux.sync"),
        ("sm_100a", "f32", "add", "ptx.shfl.sync"),
        ("sm_90a", "f32", "max", "ptx.shfl.sync"),
        ("sm_90a", "i32", "add", "ptx.redux.sync"),
        ("sm_90a", "i32", "max", "ptx.redux.sync"),
        ("sm_90a", "i32", "min", "ptx.redux.sync"),
        ("sm_90a", "ui32", "add", "ptx.redux.sync"),
        ("sm_90a", "ui32", "max", "ptx.redux.sync"),
        ("sm_90a", "ui32", "min", "ptx.redux.sync"),
        ("sm_90a", "i32", "mul", "ptx.shfl.sync"),
        ("sm_75", "i32", "max", "ptx.shfl.sync"),
        ("sm_75", "ui32", "max", "ptx.shfl.sync"),
        ("sm_90a", "i64", "add", "ptx.shfl.sync"),
        ("sm_90a", "f64", "add", "ptx.shfl.sync"),
        ("sm_90a", "f16", "add", "ptx.pair"),
        ("sm_90a", "f16", "max", "ptx.pair"),
        ("sm_75", "f16", "max", "arith.maxnumf"),
    ],
)
@pytest.mark.parametrize(
    ("dims", "along", "layout"),
    [
        ("5x32x2", 1, "S[(5, 32, 2) : (2, 1@laneid, 1)]"),
        ("32x6", 1, "S[(32, 6) : (1@laneid, 1)]"),
        ("32x5", 1, "S[(32, 5) : (1@laneid, 1)]"),
        ("8x4x6", 1, "S[(8, 4, 6) : (4@laneid, 1@laneid, 1)]"),
        ("4x32x2", 2, "S[(4, 32, 2) : (1, 1@laneid, 4)]"),
    ],
)
def test_reductions(target: str, element: str, how: str, names: str, dims: str, along: int, layout: str) -> None:
    ops = _reduced(target, element, how, dims, along, layout)
    if dims == "5x32x2":
        assert names in _names(ops)


@pytest.mark.parametrize(
    ("dims", "along", "layout"),
    [
        # Slots of two registers that are no pairs, and pairs that begin in the middle of a register.
        ("32x2x2", 2, "S[(32, 2, 2) : (1@laneid, 4, 2)]"),
        ("32x2x2", 2, "S[(32, 2, 2) : (1@laneid, 1, 2)] + 1"),
        ("32x2", 1, "S[(32, 2) : (1@laneid, 2)]"),
        ("32x2", 1, "S[(32, 2) : (1@laneid, 1)] + 1"),
        ("32x3", 1, "S[(32, 3) : (1@laneid, 1)]"),
    ],
)
def test_reductions_of_halves(dims: str, along: int, layout: str) -> None:
    _reduced("sm_90a", "f16", "add", dims, along, layout)


def _reduced(target: str, element: str, how: str, dims: str, along: int, layout: str) -> list[Operation]:
    """What is emitted for a reduction, which gives what numpy says."""
    sizes = [int(n) for n in dims.split("x")]
    left = "x".join("1" if d == along else str(n) for d, n in enumerate(sizes))
    source = _tile(dims, element, layout)
    op = _operation(f"reduce {{}} dim({along}) {how}", source, f"!tirx.tile<{left}x{element}, register>")
    type_ = TileType.of(op.source)
    assert isinstance(type_.layout, TileLayout)
    op = _operation(
        f"reduce {{}} dim({along}) {how}", source, _tile(left, element, str(reduced(type_.layout, type_.dims, {along})))
    )
    rng = np.random.default_rng(1)
    dtype = np.dtype(_DTYPES[element])
    low = 1 if how == "mul" else 0 if element == "ui32" else -4
    numbers = rng.integers(low, 3, sizes).astype(dtype)
    if element == "ui32" and how != "add":
        numbers *= np.uint32(0x7FFFFFFF)
    bits = np.ascontiguousarray(numbers).view(f"u{dtype.itemsize}").reshape(-1)
    held = _held(type_)
    contents = np.where(held >= 0, bits[held], 0).astype(np.uint64)
    found, ops = _run(
        type_, op.result.type, contents,
        lambda emit, _, registers: ReduceEmission(emit, op, registers, 32, Target.parse(target)).run(),
    )  # fmt: skip
    total = reduce(_COMBINED[how], np.moveaxis(numbers, along, 0))
    expected = np.ascontiguousarray(total).view(f"u{dtype.itemsize}").reshape(-1)
    wanted = _held(op.result.type)
    assert (found == np.where(wanted >= 0, expected[wanted], found)).all()
    return ops


def test_bytes_are_not_reduced() -> None:
    op = _operation("reduce {} dim(1) add", *[_tile(f"32x{n}", "i8", f"S[(32, {n}) : (1@laneid, 1)]") for n in (8, 1)])
    with pytest.raises(PackedElementsError) as error:
        _run(
            TileType.of(op.source), op.result.type, np.zeros((32, 8), np.uint64),
            lambda emit, _, registers: ReduceEmission(emit, op, registers, 32, Target.parse("sm_100a")).run(),
        )  # fmt: skip
    assert error.value.message == "expected elements of 16 bits or more in a reduction, found i8"
