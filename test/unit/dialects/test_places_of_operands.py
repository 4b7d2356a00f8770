"""Rows, columns and bits that operands of the tensor cores name: both sides of each limit."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, f32, i1, i32, i64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import ptx, tcgen05
from tirx.dialects.tcgen05 import immediate
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.dialects.wgmma import MmaAsyncOp
from tirx.layout import TileLayout

_WGMMA = """
#a = #tirx.compose_layout<#tirx.swizzle_layout<3, 3, 3>, #tirx.tile_layout<S[128, 64]>>
#d = #tirx.tile_layout<S[(2, 4, 2, 8, 8, 4, 2) : (4@warpid, 1@warpid, 2, 4@laneid, 4, 1@laneid, 1)]>
!a = !tirx.tile<128x64xf16, shared, #a>
!d = !tirx.tile<128x64xf32, register, #d>
func.func @f(%a: !a, %d: !d, %x: i64) {
  %0 = wgmma.smem_descriptor %a, 0 of 16 rows ROWS : !a -> i64
  %1 = wgmma.mma_async "f16" "f16" n 64 OPERANDS c(%d : !d) at 0 -> !tirx.pending<!d>
  func.return
}
"""


@together(
    "operand, rows, is_right",
    [
        ("A", "64 from [0, 64]", True),
        ("A", "64 from [64, 0]", False),
        ("A", "64 from [0, 0]", False),
        ("A", "64 from [0]", False),
        ("A", "64 from [64]", False),
        ("A", "64 from [0, 64] warpgroup 1", False),
        ("B", "64 from [0]", True),
        ("B", "64 from [0] warpgroup 1", True),
        ("B", "64 from [0, 0]", True),
        ("B", "64 from [0, 0] warpgroup 1", False),
        ("B", "64 from [64]", False),
        ("B", "64 from [0, 64]", False),
        ("B", "64 from [0, 0, 0]", False),
        ("B", "72 from [0]", False),
    ],
)
def test_rows_of_warpgroups(operand: str, rows: str, is_right: bool):
    """Warpgroups 0 and 1 multiply rows 0 and 64 of A by columns 0 of B."""
    text = _WGMMA.replace("ROWS", rows).replace(
        "OPERANDS", "a(%0 : i64) b(%x)" if operand == "A" else "a(%x : i64) b(%0)"
    )
    (op,) = [op for op in parsed(text).walk() if isinstance(op, MmaAsyncOp)]
    if is_right:
        return op.verify_()
    count, _, first = rows.partition(" from ")
    found, _, group = first.partition(" warpgroup ")
    wanted = {"A": "rows of A from 0, 64 on", "B": "rows of B from 0, 0 on"}[operand]
    with pytest.raises(VerifyException) as error:
        op.verify_()
    assert str(error.value) == (
        f"expected the descriptor of 64 {wanted}, for warpgroups 0, 1, as the accumulators have them, found {count} "
        f"rows from {found.strip('[]')} on, from warpgroup {group or 0} on"
    )


def value(type_: TileType) -> SSAValue:
    """Some tile."""
    return AnyOp(result_types=[type_]).results[0]


SHARED = TileType.get((128, 64), f32, MemorySpace.SHARED, TileLayout.row_major((128, 64)))


@together(
    "columns, base, column, found",
    [
        (32, 480, 0, ""),
        (32, 481, 0, "481 to 512"),
        (32, 479, 2, "481 to 512"),
        (32, (64 << 16) + 480, 0, ""),
        (32, (64 << 16) + 481, 0, "481 to 512"),
        (32, 0, -1, "-1 to 30"),
        (32, None, 480, ""),
        (32, None, 481, "481 to 512"),
    ],
)
def test_columns_of_tensor_memory(columns: int, base: int | None, column: int, found: str):
    type_ = TileType.get(
        (128, columns), f32, MemorySpace.TENSOR, TileLayout.parse(f"S[(128, {columns}) : (1@TLane, 1@TCol)]")
    )
    address = AnyOp(result_types=[i32]).results[0] if base is None else arith.ConstantOp(IntegerAttr(base, i32)).result
    tile = tcgen05.TileOp(address, column, type_)
    if not found:
        return tile.verify_()
    with pytest.raises(VerifyException) as error:
        tile.verify_()
    assert str(error.value) == f"expected columns 0 to 511 of tensor memory, found {found}"


@together(
    "step, k, message",
    [
        (0, 64, ""),
        (63, 1, ""),
        (3, 16, ""),
        (0, 0, "expected slices of a divisor of K = 64 elements, found slices of 0"),
        (0, -16, "expected slices of a divisor of K = 64 elements, found slices of -16"),
        (0, 24, "expected slices of a divisor of K = 64 elements, found slices of 24"),
        (4, 16, "expected slice 0 to 3 of 16 elements of K = 64, found 4"),
        (-1, 16, "expected slice 0 to 3 of 16 elements of K = 64, found -1"),
    ],
)
def test_slices_of_operands(step: int, k: int, message: str):
    op = tcgen05.SmemDescriptorOp(value(SHARED), step, k)
    if not message:
        return op.verify_()
    with pytest.raises(VerifyException) as error:
        op.verify_()
    assert str(error.value) == message


def test_tensor_memory_is_copied_to_and_shifted():
    source = AnyOp(result_types=[i64]).results[0]
    for op in (tcgen05.CpOp("128x256b", value(SHARED), source), tcgen05.ShiftOp(value(SHARED))):
        with pytest.raises(VerifyException) as error:
            op.verify_()
        assert str(error.value) == f"expected a tile in tensor memory with a layout, found {SHARED}"


def test_bits_of_constants():
    given = [(-1, i32), (-2, i64), (1, i1)]
    constants = [arith.ConstantOp(IntegerAttr(number, type_)).result for number, type_ in given]
    assert [immediate(each) for each in constants] == [(1 << 32) - 1, (1 << 64) - 2, 1]
    assert immediate(ptx.ConstantOp.integer(-3, i32).result) == (1 << 32) - 3
    assert immediate(AnyOp(result_types=[i32]).results[0]) is None
