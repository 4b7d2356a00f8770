"""Addresses of accesses: what the emitted operations compute, and in how many bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from unit.cases import together
from unit.passes.evaluation import Lanes, evaluated
from xdsl.dialects.builtin import Float64Type, IntegerType, UnknownLoc, f16, i32, i64
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.access import Access
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.passes.copies.memory_access import (
    THREAD_VARIABLE,
    Addresses,
    MemoryTile,
    _is_narrow,  # pyright: ignore[reportPrivateUsage]
)
from tirx.passes.ir.emitter import Emitter
from tirx.symbolic.index_expr import IndexExpr, var

X = var(THREAD_VARIABLE, 32)
TID = np.arange(32)
BASE = 0x7F00_0000_1000


def _type(element: Attribute) -> TileType:
    return TileType.get((4, 4), element, MemorySpace.GLOBAL)


def _wide(number: int) -> Lanes:
    return np.full(32, number, np.int64).view(np.uint64)


@together(
    ("element", "expression", "types"),
    [
        (IntegerType(8), X, ["i64"]),
        (IntegerType(8), X * 69_273_666, ["i32", "i64"]),  # 31 * 69_273_666 is 2^31 - 2
        (IntegerType(8), X * 69_273_666 + 1, ["i32", "i64"]),
        (IntegerType(8), X * 69_273_666 + 2, ["i64"]),
        (IntegerType(8), X * 69_273_667, ["i64"]),
        (f16, X * 3 + 5, ["i32", "i64"]),
        (f16, X * 34_636_833, ["i32", "i64"]),
        (f16, X * 34_636_834, ["i64"]),
        (Float64Type(), X * 3 + 5, ["i32", "i64"]),
        (Float64Type(), X * 3 - 1, ["i64"]),
        (IntegerType(4), X * 6 + 2, ["i32", "i64"]),
    ],
)
def test_addresses(element: Attribute, expression: IndexExpr, types: list[str]) -> None:
    """32 bits where all offsets are below 2^31 and none is negative."""
    block = Block(arg_types=[i64, i32])
    memory = MemoryTile(_type(element), block.args[0], 16)
    addresses = Addresses(Emitter(InsertPoint.at_end(block), UnknownLoc()), memory, block.args[1])
    found = addresses._address(expression)  # pyright: ignore[reportPrivateUsage]
    values: dict[SSAValue, Lanes] = {block.args[0]: _wide(BASE), block.args[1]: TID.astype(np.uint32)}
    evaluated(block.ops, values)
    offsets = expression.evaluate({THREAD_VARIABLE: TID}) * memory.type.dtype.storage_bits // 8
    assert values[found].tolist() == (BASE + offsets).tolist()
    assert sorted({str(op.results[0].type) for op in block.ops if op.operands}) == types
    assert addresses._address(expression) is found  # pyright: ignore[reportPrivateUsage]


def test_addresses_of_shared_memory_have_32_bits() -> None:
    block = Block(arg_types=[i32, i32])
    memory = MemoryTile(TileType.get((4, 4), f16, MemorySpace.SHARED), block.args[0], 16)
    addresses = Addresses(Emitter(InsertPoint.at_end(block), UnknownLoc()), memory, block.args[1])
    found = addresses._address(X * 6 + 2)  # pyright: ignore[reportPrivateUsage]
    values: dict[SSAValue, Lanes] = {block.args[0]: np.full(32, 512, np.uint32), block.args[1]: TID.astype(np.uint32)}
    evaluated(block.ops, values)
    assert values[found].tolist() == (512 + TID * 12 + 4).tolist()
    assert {str(op.results[0].type) for op in block.ops} == {"i32"}


@together("element", [IntegerType(8), f16, Float64Type()])
@together(
    ("numbers", "base", "const", "distance", "types"),
    [
        ((1 << 20,), X * (1 << 20) + X % 4 * 3, 5, 5, ["i32", "i64"]),
        ((1 << 20,), X * (66 << 20), (9 << 20) + 2, 2, ["i32", "i64"]),
        ((1 << 20,), X * (1 << 47), (1 << 20), 0, ["i64"]),
        ((1 << 20,), X * (1 << 20), -(2 << 20) + 3, 3, ["i64"]),
        ((1 << 40, 1 << 20), X // 4 * (1 << 40) + X % 4 * (2 << 20), (3 << 40) + 7, 7, ["i32", "i64"]),
        ((1 << 20,), X * (1 << 17), (1 << 20) - 1, 0, ["i32", "i64"]),  # some rows begin with what the constant adds
    ],
)
def test_run_time_strides(
    element: Attribute, numbers: tuple[int, ...], base: IndexExpr, const: int, distance: int, types: list[str]
) -> None:
    """Digits of the expression count bytes of the strides; what is left counts elements."""
    block = Block(arg_types=[i64, i32, i64, i64])
    strides = tuple(zip(numbers, block.args[2:], strict=False))
    memory = MemoryTile(_type(element), block.args[0], 16, strides)
    addresses = Addresses(Emitter(InsertPoint.at_end(block), UnknownLoc()), memory, block.args[1])
    found, behind = addresses._strided(base, const)  # pyright: ignore[reportPrivateUsage]
    size = memory.type.dtype.storage_bits // 8
    assert behind == distance * size
    lengths = (1001, 37)
    values: dict[SSAValue, Lanes] = {block.args[0]: _wide(BASE), block.args[1]: TID.astype(np.uint32)}
    values.update({arg: _wide(n) for arg, n in zip(block.args[2:], lengths, strict=True)})
    evaluated(block.ops, values)
    rest = (base + const).evaluate({THREAD_VARIABLE: TID.astype(np.int64)})
    expected = np.full(32, BASE)
    for number, length in zip(numbers, lengths, strict=False):
        expected, rest = expected + rest // number * length, rest % number
    assert (values[found].astype(np.int64) + behind).tolist() == (expected + rest * size).tolist()
    assert sorted({str(op.results[0].type) for op in block.ops if op.operands}) == types
    assert addresses._strided(base, const) == (found, behind)  # pyright: ignore[reportPrivateUsage]


def test_tiles_of_which_elements_are_aligned() -> None:
    base = Block(arg_types=[i64]).args[0]
    alignments = [MemoryTile(_type(each), base, 16).by_element().alignment for each in (Float64Type(), f16, i32)]
    assert alignments == [8, 2, 4]


PLACES: list[tuple[Attribute, IndexExpr, int, bool, Callable[[Lanes], Lanes], int]] = [
    (f16, X * 6, 5, False, lambda x: x * 12, 10),
    (Float64Type(), X * 2, 3, False, lambda x: x * 16, 24),
    (IntegerType(4), X * 4, 6, False, lambda x: x * 2, 3),
    # Half a byte and half a byte.
    (IntegerType(4), X * 4 + 1, 1, False, lambda x: x * 2 + 1, 0),
    (f16, X * (1 << 20), 5, True, lambda x: x * 1001, 10),
]


@together(("element", "base", "const", "strided", "offset", "distance"), PLACES)
def test_places_of_accesses(
    element: Attribute,
    base: IndexExpr,
    const: int,
    strided: bool,
    offset: Callable[[Lanes], Lanes],
    distance: int,
) -> None:
    block = Block(arg_types=[i64, i32, i64])
    memory = MemoryTile(_type(element), block.args[0], 16, ((1 << 20, block.args[2]),) if strided else ())
    addresses = Addresses(Emitter(InsertPoint.at_end(block), UnknownLoc()), memory, block.args[1])
    address, behind = addresses.place(Access(0, 2, base, const))
    values: dict[SSAValue, Lanes] = {
        block.args[0]: _wide(BASE),
        block.args[1]: TID.astype(np.uint32),
        block.args[2]: _wide(1001),
    }
    evaluated(block.ops, values)
    assert behind == distance
    assert values[address].tolist() == (BASE + offset(TID)).tolist()


def test_expressions_of_32_bits() -> None:
    """All that is computed is below 2^31, not only the result."""
    y = var(THREAD_VARIABLE, 2)
    assert [_is_narrow(each) for each in (y * (2**31 - 1), y * 2**31, y * (2**31 + 1) // 4, y * (2**30 + 1) // 4)] == [
        True, False, False, True,
    ]  # fmt: skip
