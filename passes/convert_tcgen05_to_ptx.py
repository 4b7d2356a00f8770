"""`convert-tcgen05-to-ptx`: tensor-memory operations become instructions on addresses and registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import LocatedError
from tirx.dialects import tcgen05
from tirx.dialects.ptx import tcgen05 as ptx
from tirx.dialects.ptx import tcgen05_ld_st as ptx_ld_st
from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.tcgen05_mma import Tcgen05MmaOp, Tcgen05MmaWsOp
from tirx.dialects.tcgen05 import FencePosition, WaitFor
from tirx.dialects.tirx import ReshapeOp, SubviewOp, TileType, owner_root
from tirx.layout import TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.passes.lowering.emitter import Emitter
from tirx.passes.lowering.register_values import register_format, registers_of, tile_of
from tirx.tcgen05 import TmemAccess, plan_tmem_access
from tirx.tcgen05.tmem import LANES

LANE_SHIFT = 16
"""A tensor-memory address is lane << 16 | column (PTX ISA, "Tensor Memory Addressing")."""

OpT = TypeVar("OpT", bound=Operation)
_RULES: dict[type[Operation], Callable[[Operation, Emitter], Sequence[SSAValue]]] = {}


def _lowering(op_type: type[OpT]) -> Callable[[Callable[[OpT, Emitter], Sequence[SSAValue]]], None]:
    """Registers the rule for one operation: it emits the replacement and returns the new results."""

    def register(rule: Callable[[OpT, Emitter], Sequence[SSAValue]]) -> None:
        _RULES[op_type] = rule  # pyright: ignore[reportArgumentType]

    return register


def _address(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address of the allocated tile that `tile` is (a part of), without the part's own offset."""
    root = owner_root(tile).owner
    if not isinstance(root, tcgen05.TileOp):
        raise LocatedError(emit.location, f"expected a tile in an allocation of tensor memory, found {tile.type}")
    return emit.add(root.base, root.column.value.data)


def _origin(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address of the first lane and column of a tile."""
    layout = _layout(tile, emit)
    offset = layout.offsets.get("TLane", 0) << LANE_SHIFT | layout.offsets.get("TCol", 0)
    return emit.add(_address(tile, emit), offset)


def _layout(tile: SSAValue, emit: Emitter) -> TileLayout:
    layout = TileType.of(tile).placement
    if not isinstance(layout, TileLayout):
        raise LocatedError(emit.location, f"expected a tensor tile with a tile layout, found {tile.type}")
    return layout


def _warp_address(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address with the first lane that this warp reaches: 32 lanes for each warp of the warpgroup."""
    tid = emit(ReadSpecialOp("tid.x")).result
    lane = emit.mul(emit.bit_and(tid, LANES - WARP_SIZE), 1 << LANE_SHIFT)  # 32 * (warp % 4)
    return emit.add(_address(tile, emit), lane)


def _accesses(tile: SSAValue, shape: str, emit: Emitter) -> Sequence[TmemAccess]:
    return plan_tmem_access(_layout(tile, emit), TileType.of(tile).dims, shape).accesses


def _column(access: TmemAccess) -> int:
    return access.lane << LANE_SHIFT | access.column


@_lowering(tcgen05.AllocOp)
def _alloc(op: tcgen05.AllocOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05AllocOp(op.slot, op.columns.value.data))
    return ()


@_lowering(tcgen05.RelinquishAllocPermitOp)
def _relinquish(op: tcgen05.RelinquishAllocPermitOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05RelinquishAllocPermitOp())
    return ()


@_lowering(tcgen05.DeallocOp)
def _dealloc(op: tcgen05.DeallocOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05DeallocOp(op.base, op.columns.value.data))
    return ()


@_lowering(tcgen05.MmaOp)
def _mma(op: tcgen05.MmaOp, emit: Emitter) -> Sequence[SSAValue]:
    d = _origin(op.accumulator, emit)
    emit(Tcgen05MmaOp(d, op.a, op.b, op.descriptor, op.enable_input_d, kind=op.kind.data))
    return ()


@_lowering(tcgen05.MmaWsOp)
def _mma_ws(op: tcgen05.MmaWsOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(
        Tcgen05MmaWsOp(
            _origin(op.accumulator, emit),
            op.a,
            op.b,
            op.descriptor,
            op.enable_input_d,
            kind=op.kind.data,
            zero_column_mask=op.zero_column_mask,
        )
    )
    return ()


@_lowering(tcgen05.CommitOp)
def _commit(op: tcgen05.CommitOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05CommitOp(op.mbarrier))
    return ()


@_lowering(tcgen05.LdOp)
def _ld(op: tcgen05.LdOp, emit: Emitter) -> Sequence[SSAValue]:
    format_ = register_format(op.result.type)
    address = _warp_address(op.source, emit)
    registers: list[SSAValue] = []
    for access in _accesses(op.source, op.ld_shape.data, emit):
        ld = ptx_ld_st.Tcgen05LdOp(
            address,
            access.shape,
            access.num,
            result_type=format_.type,
            offset=_column(access),
            half_split_offset=access.split,
        )
        registers += emit(ld).res
    return [tile_of(emit, registers, op.result.type)]


@_lowering(tcgen05.StOp)
def _st(op: tcgen05.StOp, emit: Emitter) -> Sequence[SSAValue]:
    registers = registers_of(emit, op.value)
    address = _warp_address(op.destination, emit)
    for access in _accesses(op.destination, op.st_shape.data, emit):
        data = registers[access.first_register : access.first_register + access.registers]
        emit(
            ptx_ld_st.Tcgen05StOp(
                address, data, access.shape, access.num, offset=_column(access), half_split_offset=access.split
            )
        )
    return ()


@_lowering(tcgen05.WaitOp)
def _wait(op: tcgen05.WaitOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05WaitLdOp() if op.kind.data is WaitFor.LD else ptx.Tcgen05WaitStOp())
    return ()


@_lowering(tcgen05.FenceOp)
def _fence(op: tcgen05.FenceOp, emit: Emitter) -> Sequence[SSAValue]:
    before = op.position.data is FencePosition.BEFORE
    emit(ptx.Tcgen05FenceBeforeThreadSyncOp() if before else ptx.Tcgen05FenceAfterThreadSyncOp())
    return ()


_SYMBOLIC = (tcgen05.SmemDescriptorOp, tcgen05.InstructionDescriptorOp, tcgen05.ZeroColumnMaskOp)


@dataclass(frozen=True)
class ConvertTcgen05ToPtxPass(ModulePass):
    """
    Lowers the `tcgen05` dialect to the instructions of the `ptx` dialect.

    Tensor tiles become addresses, register tiles the registers of each thread (through casts that
    `convert-tirx-to-ptx` resolves). Descriptors must have been materialized.
    """

    name = "convert-tcgen05-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, _SYMBOLIC):
                raise LocatedError(inner, f"expected materialized descriptors, found {inner.name}")
            if (rule := _RULES.get(type(inner))) is None:
                continue
            results = rule(inner, Emitter.before(inner))
            for old, new in zip(inner.results, results, strict=True):
                old.replace_all_uses_with(new)
            inner.detach()
            inner.erase()
        for inner in reversed(list(op.walk())):
            if isinstance(inner, tcgen05.TileOp | SubviewOp | ReshapeOp) and inner.result.first_use is None:
                inner.detach()
                inner.erase()
