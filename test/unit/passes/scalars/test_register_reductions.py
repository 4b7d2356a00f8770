"""Reductions of elements in registers: what the emitted operations compute for the lanes of a warp."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.passes.evaluation import Lanes, evaluated
from unit.passes.register_tiles import held_by_lanes, names_of, operation, random_layout, register_tile, run
from xdsl.dialects.builtin import Float64Type, IntegerType, Signedness, UnknownLoc, f32, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.exchange import reduced
from tirx.dialects.ptx.warp import ReduxSyncOp
from tirx.dialects.tirx import TileType
from tirx.hw.targets import Target
from tirx.layout import LayoutError, TileLayout
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format
from tirx.passes.scalars.fold_emission import (
    ReduceEmission,
    _is_unsigned,  # pyright: ignore[reportPrivateUsage]
    tree,
)
from tirx.rules import StageError

_DTYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64,
    "i32": np.int32, "i64": np.int64, "ui32": np.uint32,
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
        assert names in names_of(ops)


@together(
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


def test_reductions_in_any_layout() -> None:
    """A reduction that is emitted is right; what no warp holds whole is refused."""
    rng, made = random.Random(0), 0
    for _ in range(120):
        dims, layout = random_layout(rng)
        try:
            _reduced("sm_90a", "i32", "add", "x".join(map(str, dims)), rng.randrange(2), layout)
            made += 1
        except (StageError, LayoutError):
            pass
    assert made > 60


def _reduced(target: str, element: str, how: str, dims: str, along: int, layout: str) -> list[Operation]:
    """Operations for a reduction, whose result is that of numpy."""
    sizes = [int(n) for n in dims.split("x")]
    left = "x".join("1" if d == along else str(n) for d, n in enumerate(sizes))
    source = register_tile(dims, element, layout)
    op = operation(f"reduce {{}} dim({along}) {how}", source, f"!tirx.tile<{left}x{element}, register>")
    type_ = TileType.of(op.source)
    assert isinstance(type_.layout, TileLayout)
    op = operation(
        f"reduce {{}} dim({along}) {how}",
        source,
        register_tile(left, element, str(reduced(type_.layout, type_.dims, {along}))),
    )
    rng = np.random.default_rng(1)
    dtype = np.dtype(_DTYPES[element])
    low = 1 if how == "mul" else 0 if element == "ui32" else -4
    numbers = rng.integers(low, 3, sizes).astype(dtype)
    if element == "ui32" and how != "add":
        numbers *= np.uint32(0x7FFFFFFF)
    bits = np.ascontiguousarray(numbers).view(f"u{dtype.itemsize}").reshape(-1)
    held = held_by_lanes(type_)
    contents = np.where(held >= 0, bits[held], 0).astype(np.uint64)
    found, ops = run(
        type_, op.res[0].type, contents,
        lambda emit, _, registers: ReduceEmission(emit, op, registers, 32, Target.parse(target)).run(),
    )  # fmt: skip
    total = reduce(_COMBINED[how], np.moveaxis(numbers, along, 0))
    expected = np.ascontiguousarray(total).view(f"u{dtype.itemsize}").reshape(-1)
    wanted = held_by_lanes(op.res[0].type)
    assert (found == np.where(wanted >= 0, expected[wanted], found)).all()
    return ops


@together(
    ("slots", "expected"),
    [
        ([0, 1], True),
        ([6, 7], True),
        ([2, 3, 6, 7], True),
        ([8, 9, 4, 5, 0, 1], True),
        ([1, 2], False),
        ([1, 0], False),
        ([0, 2], False),
        ([3, 3], False),
        ([0, 1, 2], False),
        ([0, 1, 2, 3, 4], False),
        ([0, 1, 3, 4], False),
        ([0, 1, 4, 6], False),
        ([1, 2, 4, 5], False),
    ],
)
def test_slots_that_are_whole_registers_of_two(slots: list[int], expected: bool) -> None:
    assert ReduceEmission._whole_registers(slots) is expected  # pyright: ignore[reportPrivateUsage]


def _reduction(element: str, how: str, target: str, count: int = 8) -> tuple[ReduceEmission, Block]:
    """A reduction of `count` slots of each lane to one, of which nothing is emitted so far."""
    tiles = [register_tile(f"32x{n}", element, f"S[(32, {n}) : (1@laneid, 1)]") for n in (count, 1)]
    op = operation(f"reduce {{}} dim(1) {how}", *tiles)
    format_ = register_format(TileType.of(op.source))
    block = Block(arg_types=[format_.type] * format_.count)
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    return ReduceEmission(emit, op, block.args, 32, Target.parse(target)), block


@together(
    ("groups", "pairs", "scalars"),
    [
        # One element of both halves of each register.
        ([[0, 2], [1, 3]], 1, 0),
        ([[0, 2, 6], [1, 3, 7]], 2, 0),
        ([[2], [3]], 0, 0),
        # Whole registers, and then their halves.
        ([[0, 1]], 0, 1),
        ([[0, 1, 4, 5]], 1, 1),
        ([[2, 3, 4, 5, 6, 7]], 2, 1),
        # Neither: element by element, and those of a group alone for both halves.
        ([[1, 3], [2, 4]], 0, 2),
        ([[0, 4], [2, 6]], 0, 2),
        ([[1, 3], [0, 2]], 0, 2),
        ([[0, 2], [1, 5]], 0, 2),
        ([[0, 1], [2, 3]], 0, 2),
        ([[1], [4]], 0, 0),
        ([[1, 2]], 0, 2),
        ([[0, 2]], 0, 2),
        ([[0, 1, 2]], 0, 4),
        ([[0, 1, 3, 4]], 0, 6),
        ([[5]], 0, 0),
    ],
)
def test_halves_are_combined_two_at_a_time(groups: list[list[int]], pairs: int, scalars: int) -> None:
    """The first group in the low half and the last one in the high half; packed where that takes fewer instructions."""
    contents = np.random.default_rng(2).integers(-9, 9, (32, 8)).astype(np.float16)
    words = contents.view(np.uint32)
    for target, how, combine in (("sm_90a", "add", np.sum), ("sm_90a", "max", np.max), ("sm_75", "max", np.max)):
        emission, block = _reduction("f16", how, target)
        found = emission._register(groups)  # pyright: ignore[reportPrivateUsage]
        values: dict[SSAValue, Lanes] = {arg: words[:, i].copy() for i, arg in enumerate(block.args)}
        evaluated(block.ops, values)
        halves = values[found].view(np.float16).reshape(32, 2)
        expected = [combine(contents[:, group], axis=1) for group in (groups[0], groups[-1])]
        assert (halves == np.stack(expected, 1)).all()
        names = [op.name for op in block.ops]
        counts = names.count("ptx.pair"), names.count("arith.addf") + names.count("arith.maxnumf")
        assert counts == ((pairs, scalars) if target == "sm_90a" else (0, sum(len(groups[i]) - 1 for i in (0, -1))))


def test_neighbours_are_combined_first() -> None:
    for values, expected in (("a", "a"), ("ab", "(ab)"), ("abc", "((ab)c)"), ("abcdefg", "(((ab)(cd))((ef)g))")):
        values: Any
        combined: Any = tree(values, lambda a, b: f"({a}{b})")
        assert combined == expected


@together(
    ("element", "how", "targets"),
    [
        # PTX ISA, "redux.sync": integers of 32 bits from sm_80 on, min and max of f32 on sm_100a; no products.
        ("i32", "add", ("sm_80", "sm_90a", "sm_100a")),
        ("i32", "min", ("sm_80", "sm_90a", "sm_100a")),
        ("i32", "max", ("sm_80", "sm_90a", "sm_100a")),
        ("i32", "mul", ()),
        ("ui32", "add", ("sm_80", "sm_90a", "sm_100a")),
        ("ui32", "min", ("sm_80", "sm_90a", "sm_100a")),
        ("ui32", "max", ("sm_80", "sm_90a", "sm_100a")),
        ("ui32", "mul", ()),
        ("f32", "add", ()),
        ("f32", "mul", ()),
        ("f32", "min", ("sm_100a",)),
        ("f32", "max", ("sm_100a",)),
        ("f16", "max", ()),
        ("f64", "max", ()),
        ("i64", "add", ()),
    ],
)
def test_instructions_that_reduce_whole_warps(element: str, how: str, targets: tuple[str, ...]) -> None:
    for target in ("sm_75", "sm_80", "sm_90a", "sm_100a"):
        emission, block = _reduction(element, how, target, 2)
        found = emission._redux(block.args[0])  # pyright: ignore[reportPrivateUsage]
        assert (found is not None) == (target in targets)
        if found is not None:
            op = block.last_op
            assert isinstance(op, ReduxSyncOp) and op.results[0] is found and op.operands[0] is block.args[0]
            unsigned = element == "ui32" and how != "add"
            assert (op.reduction.data.value, op.unsigned is not None) == (how, unsigned)


def test_elements_without_a_sign() -> None:
    unsigned = [IntegerType(32, Signedness.UNSIGNED), IntegerType(8, Signedness.UNSIGNED)]
    others = [i32, IntegerType(32, Signedness.SIGNED), f32, Float64Type()]
    assert [_is_unsigned(each) for each in (*unsigned, *others)] == [True] * 2 + [False] * 4


@pytest.mark.parametrize("how", ["add", "max"])
def test_reductions_of_tf32(how: str) -> None:
    """In f32, between registers of 32 bits."""
    ops = _reduced("sm_90a", "tf32", how, "8x4x6", 1, "S[(8, 4, 6) : (4@laneid, 1@laneid, 1)]")
    assert [op.name for op in ops].count("ptx.mov") == 2 * 6
