"""Operations by the helpers of lowerings, and refusals: places in no block, layouts that are not of the tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.passes.evaluation import Lanes, evaluated
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import IndexType, IntegerType, UnknownLoc, f16, i32
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.tirx import AllocOp, MemorySpace, TileType
from tirx.layout import TileLayout
from tirx.passes.ir.emitter import Emitter, bit_pattern, erase
from tirx.passes.ir.placement import place
from tirx.passes.ir.tile_loops import without_constant
from tirx.rules import LayoutChoiceError


def test_an_operation_in_no_block_has_no_place_before_it() -> None:
    with pytest.raises(ValueError, match=r"expected an operation in a block, found 'test\.op' in none"):
        Emitter.before(test.TestOp())


def test_a_picked_layout_is_of_as_many_elements() -> None:
    alloc = AllocOp(TileType.get((8, 8), f16, MemorySpace.SHARED))
    Block([alloc])
    with pytest.raises(LayoutChoiceError) as caught:
        place(alloc.result, TileLayout.row_major((8, 4)))
    assert caught.value.message == (
        "the layout picked for the tile does not fit its memory: expected a layout of 64 elements for a 8x8 tile, "
        "found one of 32: S[(8, 4) : (4, 1)]"
    )


@together(
    ("value", "width", "expected"),
    [
        (0, 32, 0),
        (1, 1, -1),
        (0x7FFFFFFF, 32, 0x7FFFFFFF),
        (0x80000000, 32, -0x80000000),
        (0xFFFFFFFE, 32, -2),
        (0x8001, 16, -0x7FFF),
        (0x7FFE, 16, 0x7FFE),
        (0xC000_0000_0000_0003, 64, -0x3FFF_FFFF_FFFF_FFFD),
    ],
)
def test_bit_patterns(value: int, width: int, expected: int) -> None:
    attribute = bit_pattern(value, width)
    assert attribute.value.data == expected and attribute.type == IntegerType(width)


Arithmetic = Callable[[Emitter, SSAValue], SSAValue]


ARITHMETIC: list[tuple[Arithmetic, str | None, Callable[[Any], Any]]] = [
        (lambda emit, x: emit.add(x, 0), None, lambda x: x),
        (lambda emit, x: emit.add(x, 9), "arith.addi", lambda x: x + 9),
        (lambda emit, x: emit.add(x, -9), "arith.addi", lambda x: x - 9),
        (lambda emit, x: emit.add(x, x), "arith.addi", lambda x: x + x),
        (lambda emit, x: emit.mul(x, 1), None, lambda x: x),
        (lambda emit, x: emit.mul(x, 2), "arith.shli", lambda x: 2 * x),
        (lambda emit, x: emit.mul(x, 64), "arith.shli", lambda x: 64 * x),
        (lambda emit, x: emit.mul(x, 6), "arith.muli", lambda x: 6 * x),
        (lambda emit, x: emit.mul(x, 7), "arith.muli", lambda x: 7 * x),
        (lambda emit, x: emit.mul(x, 0), "arith.muli", lambda x: 0 * x),
        (lambda emit, x: emit.mul(x, -4), "arith.muli", lambda x: -4 * x),
        (lambda emit, x: emit.mul(x, x), "arith.muli", lambda x: x * x),
        (lambda emit, x: emit.div(x, 1), None, lambda x: x),
        (lambda emit, x: emit.div(x, 2), "arith.shrui", lambda x: x // 2),
        (lambda emit, x: emit.div(x, 32), "arith.shrui", lambda x: x // 32),
        (lambda emit, x: emit.div(x, 6), "arith.divui", lambda x: x // 6),
        (lambda emit, x: emit.div(x, 3), "arith.divui", lambda x: x // 3),
        (lambda emit, x: emit.mod(x, 2), "arith.andi", lambda x: x % 2),
        (lambda emit, x: emit.mod(x, 32), "arith.andi", lambda x: x % 32),
        (lambda emit, x: emit.mod(x, 6), "arith.remui", lambda x: x % 6),
        (lambda emit, x: emit.mod(x, 3), "arith.remui", lambda x: x % 3),
        (lambda emit, x: emit.xor(x, 0), None, lambda x: x),
        (lambda emit, x: emit.xor(x, 21), "arith.xori", lambda x: x ^ 21),
        (lambda emit, x: emit.xor(x, -1), "arith.xori", lambda x: x ^ -1),
        (lambda emit, x: emit.bit_and(x, 21), "arith.andi", lambda x: x & 21),
    ]  # fmt: skip


@together(("arithmetic", "name", "expected"), ARITHMETIC)
def test_arithmetic(arithmetic: Arithmetic, name: str | None, expected: Callable[[Any], Any]) -> None:
    """Neutral elements are left out; powers of two are shifts and masks."""
    block = Block(arg_types=[i32])
    result = arithmetic(Emitter(InsertPoint.at_end(block), UnknownLoc()), block.args[0])
    x = np.arange(32) * 37 + 5
    values: dict[SSAValue, Lanes] = {block.args[0]: x.astype(np.uint32)}
    evaluated(block.ops, values)
    assert values[result].view(np.int32).tolist() == expected(x).astype(np.int32).tolist()
    assert [op.name for op in block.ops if op.operands] == ([] if name is None else [name])


@pytest.mark.parametrize(("columns", "bits"), [(512, 32), (1024, 16)])
def test_a_picked_layout_has_at_most_all_columns(columns: int, bits: int) -> None:
    def placed(width: int) -> None:
        alloc = AllocOp(TileType.get((128, width), IntegerType(bits), MemorySpace.TENSOR))
        Block([alloc])
        place(alloc.result, TileLayout.parse(f"S[(128, {width}) : (1@TLane, 1@TCol)]"))

    placed(columns)
    with pytest.raises(LayoutChoiceError) as caught:
        placed(columns + 1)
    assert caught.value.message.startswith("expected a tile of at most 512 columns of tensor memory, found ")


def test_what_is_used_is_not_erased() -> None:
    made, user = test.TestOp(result_types=[i32]), test.TestOp()
    Block([made, user])
    user.operands = made.results
    with pytest.raises(Exception, match="still has uses"):
        erase(made)


def test_indices_without_their_constants() -> None:
    block = Block(arg_types=[IndexType()])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    index, (three, four) = block.args[0], (emit.constant(n, IndexType()) for n in (3, 4))
    moved = emit(arith.AddiOp(three, emit(arith.AddiOp(index, four)).result)).result
    assert without_constant(moved) == (index, 7)
    assert without_constant(emit(arith.AddiOp(three, four)).result) == (None, 7)
    assert without_constant(four) == (None, 4) and without_constant(index) == (index, 0)
