"""Building `tcgen05` operations and attributes from Python."""

from collections.abc import Callable

import pytest
from unit.cases import together
from xdsl.dialects.builtin import f16, f32, i1, i16, i32, i64
from xdsl.dialects.test import TestOp as AnyOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from tirx.dialects import tcgen05
from tirx.dialects.tcgen05.facts import tensor_operand
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.errors import LegalityError
from tirx.layout import TileLayout
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.zero_column_mask import ZeroColumnMask
from tirx.universe import new_context

ACCUMULATOR = TileType.get((128, 256), f32, MemorySpace.TENSOR, TileLayout.parse("S[(128, 256) : (1@TLane, 1@TCol)]"))
OPERAND = TileType.get((128, 64), f16, MemorySpace.SHARED, TileLayout.row_major((128, 64)))
REGISTERS = TileType.get(
    (128, 256), f32, MemorySpace.REGISTER, TileLayout.parse("S[(4, 32, 256) : (1@warpid, 1@laneid, 1)]")
)

ROWS = TileType.get((128,), f32, MemorySpace.REGISTER, TileLayout.parse("S[(4, 32) : (1@warpid, 1@laneid)]"))


def value(type_: Attribute) -> SSAValue:
    """Some value of that type."""
    return AnyOp(result_types=[type_]).results[0]


def test_every_operation() -> None:
    address, descriptor, enable = value(i32), value(i64), value(i1)
    tile = tcgen05.TileOp(address, 256, ACCUMULATOR).result
    loaded = tcgen05.LdOp("32x32b", tile, [REGISTERS]).res[0]
    ops: list[Operation] = [
        tcgen05.AllocOp(address, columns=512),
        tcgen05.RelinquishAllocPermitOp(),
        tcgen05.DeallocOp(address, columns=512),
        tcgen05.SmemDescriptorOp(value(OPERAND), 3, 16),
        tcgen05.CpDescriptorOp(value(OPERAND), 512),
        tcgen05.InstructionDescriptorOp(InstructionDescriptor()),
        tcgen05.ZeroColumnMaskOp(ZeroColumnMask()),
        tcgen05.MmaOp("f16", tile, descriptor, descriptor, address, enable),
        tcgen05.MmaOp("f16", tile, descriptor, descriptor, address, enable, ws=True, zero_column_mask=descriptor),
        tcgen05.AllocOp(address, columns_register=address, cta_group=2),
        tcgen05.RelinquishAllocPermitOp(2),
        tcgen05.DeallocOp(address, columns=64, cta_group=2),
        tcgen05.MmaOp(
            "tf32",
            tile,
            tile,
            descriptor,
            address,
            enable,
            cta_group=2,
            sparse_metadata=tile,
            disable_lanes=[address] * 8,
            ashift=True,
            collector=tcgen05.Collector.LASTUSE,
            scale_d=15,
        ),
        tcgen05.MmaOp(
            "mxf4nvf4",
            tile,
            tile,
            descriptor,
            address,
            enable,
            scale_vector="block16",
            scales=[tile, tile],
            cta_group=2,
            sparse_metadata=tile,
            collector="fill",
        ),
        tcgen05.MmaOp(
            "i8", tile, tile, descriptor, address, enable, ws=True, sparse_metadata=tile, buffer="b3", collector="use"
        ),
        tcgen05.CpOp("32x128b", tile, descriptor, multicast="warpx4", decompress="b4x16_p64", cta_group=2),
        tcgen05.ShiftOp(tile, 2),
        tcgen05.LdRedOp("32x32b", tile, "max", ROWS, [REGISTERS], abs=True, nan=True),
        tcgen05.LdSpcompressOp("32x32b", address, "max", [i32, f32, f32, f32], num=4, red=True, nan=True),
        tcgen05.CommitOp(address),
        tcgen05.CommitOp(address, multicast=value(i16), cta_group=2),
        tcgen05.StOp("32x32b", tile, [loaded]),
        tcgen05.WaitOp(tcgen05.WaitFor.ST),
        tcgen05.FenceOp(tcgen05.FencePosition.AFTER),
    ]
    for op in ops:
        op.verify()
    assert {type(op) for op in ops} | {tcgen05.TileOp, tcgen05.LdOp} == set(tcgen05.TCGEN05.operations)
    assert str(ops[-1]) == "tcgen05.fence after_thread_sync"
    assert str(ops[-2]) == "tcgen05.wait st"


@together(
    ("op", "message"),
    [
        (lambda: tcgen05.AllocOp(value(i32), columns=48), "expected a power of two of columns from 32 to 512"),
        (lambda: tcgen05.TileOp(value(i32), 300, ACCUMULATOR), "expected columns 0 to 511 .* found 300 to 555"),
        (lambda: tcgen05.SmemDescriptorOp(value(OPERAND), 0, 48), "found slices of 48"),
        (lambda: tcgen05.InstructionDescriptorOp(InstructionDescriptor(m=100)), "expected M in"),
        (
            lambda: tcgen05.MmaOp("mxf4", value(ACCUMULATOR), value(i64), value(i64), value(i32), value(i1)),
            "expected a kind without scale factors",
        ),
        (lambda: tcgen05.LdOp("64x64b", value(ACCUMULATOR), [REGISTERS]), "found '64x64b'"),
    ],
)
def test_operations_that_do_not_verify(op: Callable[[], Operation], message: str) -> None:
    with pytest.raises(VerifyException, match=message):
        op().verify()


@together("kind", KINDS)
def test_every_kind_survives_printing(kind: str) -> None:
    row = KINDS[kind]
    descriptor = InstructionDescriptor(
        row.name,
        a=row.operands[0][0],
        b=row.operands[-1][0],
        d=row.accumulators[-1][0],
        a_major="MN",
        negate_b=True,
        max_shift=16,
        scale=row.scales[0][0] if row.scales else None,
        sf_b_id=2,
        wide_k=True,
    )
    attribute = tcgen05.InstructionDescriptorAttr(descriptor)
    assert Parser(new_context(), str(attribute)).parse_attribute() == attribute


def test_masks_print_as_descriptors() -> None:
    mask = ZeroColumnMask((0, 1, 2, 1), (1, 1, 0, 0), skip_span=2, use_span=3, shift=2)
    attribute = tcgen05.ZeroColumnMaskAttr(mask)
    assert str(attribute) == "#tcgen05.zero_column_mask<0x0203028301020100>"
    assert Parser(new_context(), str(attribute)).parse_attribute() == attribute
    with pytest.raises(LegalityError, match="shift: expected 0 to 32"):
        ZeroColumnMask(shift=33)


def test_places_of_lines() -> None:
    """A tile of one dimension has no rows, one of two as many as lanes."""
    line = TileType.get((128,), f32, MemorySpace.TENSOR, TileLayout.parse("S[128 : 1@TLane] + 3@TCol"))
    found = [tensor_operand(value(type_)) for type_ in (line, ACCUMULATOR)]
    assert [(each.column, each.lane, each.dtype, each.rows) for each in found] == [
        (None, 0, "f32", None), (None, 0, "f32", 128),
    ]  # fmt: skip
