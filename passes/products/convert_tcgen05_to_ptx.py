"""`convert-tcgen05-to-ptx`: tensor-memory operations become instructions on addresses and registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import tcgen05
from tirx.dialects.nesting import walk
from tirx.dialects.ptx import tcgen05 as ptx
from tirx.dialects.ptx.arith import MaxOp, MinOp
from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.tcgen05_ld_st import Tcgen05LdOp, Tcgen05LdRedOp, Tcgen05StOp
from tirx.dialects.tcgen05 import FencePosition, Reduction, WaitFor, first_cell
from tirx.dialects.tirx import ReshapeOp, SubviewOp, TileType, base_allocation, kernels
from tirx.dialects.tirx.roles import REGISTER_FILE
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_values import register_format, registers_of, tile_of
from tirx.passes.ir.rule_tables import Rules
from tirx.passes.match.computed_parts import displaced
from tirx.passes.match.product import kernel_around
from tirx.passes.products.tensor_lifetimes import check_lifetimes
from tirx.rules import StageError
from tirx.tcgen05 import TmemAccess
from tirx.tcgen05.tmem import LANES
from tirx.tcgen05.tmem_access import MAX_REGISTERS

LANE_SHIFT = 16
"""A tensor-memory address is lane << 16 | column (PTX ISA, "Tensor Memory Addressing")."""

_RULES = Rules()


def _root(tile: SSAValue, emit: Emitter) -> tcgen05.TileOp:
    """The operation that gives the allocation behind `tile`, or behind the tile it is a view of, its columns."""
    root = base_allocation(tile).owner
    if not isinstance(root, tcgen05.TileOp):
        message = f"expected a tile in an allocation of tensor memory, found {tile.type}"
        raise StageError(emit.location, f"{message}; run convert-tirx-to-tcgen05 first")
    return root


def _address(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address of the allocated tile behind `tile`, with the computed offsets of a view, without constant ones."""
    root = _root(tile, emit)
    return displaced(emit, tile, emit.add(root.base, root.column.value.data))[0]


def _origin(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address of the first lane and column of a tile."""
    lane, column = first_cell(TileType.of(tile))
    return emit.add(_address(tile, emit), lane << LANE_SHIFT | column)


def _place(op: Operation) -> None:
    """Replaces the tiles that an instruction reads and writes by their addresses."""
    emit = Emitter.before(op)
    for index, operand in enumerate(op.operands):
        if isinstance(operand.type, TileType):
            op.operands[index] = _origin(operand, emit)


def _warp_address(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address with the first lane that this warp reaches: 32 lanes for each warp of the warpgroup."""
    tid = emit(ReadSpecialOp("tid.x")).result
    lane = emit.mul(emit.bit_and(tid, LANES - WARP_SIZE), 1 << LANE_SHIFT)  # 32 * (warp % 4)
    return emit.add(_address(tile, emit), lane)


def _column(access: TmemAccess) -> int:
    return access.lane << LANE_SHIFT | access.column


@_RULES.of(tcgen05.AllocOp)
def _alloc(op: tcgen05.AllocOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05AllocOp(op.slot, op.columns.value.data, op.cta_group.value.data))
    return ()


@_RULES.of(tcgen05.RelinquishAllocPermitOp)
def _relinquish(op: tcgen05.RelinquishAllocPermitOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05RelinquishAllocPermitOp(op.cta_group.value.data))
    return ()


@_RULES.of(tcgen05.DeallocOp)
def _dealloc(op: tcgen05.DeallocOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05DeallocOp(op.base, op.columns.value.data, op.cta_group.value.data))
    return ()


@_RULES.of(tcgen05.CommitOp)
def _commit(op: tcgen05.CommitOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05CommitOp(op.mbarrier, op.cta_group.value.data, op.multicast))
    return ()


@_RULES.of(tcgen05.CpOp)
def _cp(op: tcgen05.CpOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(
        ptx.Tcgen05CpOp(
            _origin(op.destination, emit),
            op.source,
            op.cp_shape.data,
            multicast=None if op.multicast is None else op.multicast.data,
            decompress=None if op.decompress is None else op.decompress.data,
            cta_group=op.cta_group.value.data,
        )
    )
    return ()


@_RULES.of(tcgen05.ShiftOp)
def _shift(op: tcgen05.ShiftOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05ShiftOp(_origin(op.tile, emit), op.cta_group.value.data))
    return ()


def _most_registers(op: Operation) -> int:
    """How many registers one instruction may move: half of those of a thread, since others are in use next to them."""
    kernel = kernel_around(op)
    return MAX_REGISTERS if kernel is None else min(MAX_REGISTERS, REGISTER_FILE // kernel.num_threads // 2)


@_RULES.of(tcgen05.LdOp)
def _ld(op: tcgen05.LdOp, emit: Emitter) -> Sequence[SSAValue]:
    format_ = register_format(op.result.type)
    address = _warp_address(op.source, emit)
    registers: list[SSAValue] = []
    for access in op.plan(_most_registers(op)).accesses:
        ld = Tcgen05LdOp(
            address,
            access.shape,
            access.num,
            result_type=format_.type,
            offset=_column(access),
            pack=access.pack,
            half_split_offset=access.split,
        )
        registers += emit(ld).res
    return [tile_of(emit, registers, op.result.type)]


@_RULES.of(tcgen05.LdRedOp)
def _ld_red(op: tcgen05.LdRedOp, emit: Emitter) -> Sequence[SSAValue]:
    """Loads with a reduction per instruction, then reduces the results of all instructions."""
    format_ = register_format(op.result.type)
    address = _warp_address(op.source, emit)
    registers: list[SSAValue] = []
    found: list[SSAValue] = []
    for access in op.plan(_most_registers(op)).accesses:
        ld = Tcgen05LdRedOp(
            address,
            access.shape,
            access.num,
            reduction=op.reduction.data.value,
            type=op.ptx_type,
            result_type=format_.type,
            offset=_column(access),
            abs=op.abs is not None,
            nan=op.nan is not None,
            half_split_offset=access.split,
        )
        registers += emit(ld).res
        found.append(ld.reduced)
    compare = MaxOp if op.reduction.data is Reduction.MAX else MinOp
    best = found[0]
    if len(found) > 1:
        # The registers of an asynchronous load have no value before the wait.
        emit(ptx.Tcgen05WaitLdOp())
    for other in found[1:]:
        best = emit(compare(best, other, unsigned=op.ptx_type == "u32", nan=op.nan is not None)).result
    return [tile_of(emit, registers, op.result.type), tile_of(emit, [best], op.reduced.type)]


@_RULES.of(tcgen05.StOp)
def _st(op: tcgen05.StOp, emit: Emitter) -> Sequence[SSAValue]:
    registers = registers_of(emit, op.value)
    address = _warp_address(op.destination, emit)
    for access in op.plan(_most_registers(op)).accesses:
        data = registers[access.first_register : access.first_register + access.registers]
        emit(
            Tcgen05StOp(
                address,
                data,
                access.shape,
                access.num,
                offset=_column(access),
                unpack=access.pack,
                half_split_offset=access.split,
            )
        )
    return ()


@_RULES.of(tcgen05.WaitOp)
def _wait(op: tcgen05.WaitOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(ptx.Tcgen05WaitLdOp() if op.kind.data is WaitFor.LD else ptx.Tcgen05WaitStOp())
    return ()


@_RULES.of(tcgen05.FenceOp)
def _fence(op: tcgen05.FenceOp, emit: Emitter) -> Sequence[SSAValue]:
    before = op.position.data is FencePosition.BEFORE
    emit(ptx.Tcgen05FenceBeforeThreadSyncOp() if before else ptx.Tcgen05FenceAfterThreadSyncOp())
    return ()


_SYMBOLIC = (
    tcgen05.SmemDescriptorOp,
    tcgen05.CpDescriptorOp,
    tcgen05.InstructionDescriptorOp,
    tcgen05.ZeroColumnMaskOp,
)


class ConvertTcgen05ToPtxPass(ModulePass):
    """
    Lowers the `tcgen05` dialect to the instructions of the `ptx` dialect.

    Tensor tiles become addresses, register tiles the registers of each thread (through casts that
    `convert-tirx-to-ptx` resolves). Descriptors must have been materialized. What is allocated must be given back,
    and not be used after that.
    """

    name = "convert-tcgen05-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            check_lifetimes(kernel)
        views: list[tcgen05.TileOp | SubviewOp | ReshapeOp] = []
        for inner in list(walk(op)):
            kind = type(inner)
            if kind in _SYMBOLIC:
                message = f"expected materialized descriptors, found {inner.name}"
                raise StageError(inner, f"{message}; run tirx-materialize-descriptors first")
            if isinstance(inner, tcgen05.TileOp | SubviewOp | ReshapeOp):
                views.append(inner)
            if kind is tcgen05.MmaOp:
                _place(inner)
            if (rule := _RULES.get(kind)) is None:
                continue
            for old, new in zip(inner.results, rule(inner, Emitter.before(inner)), strict=True):
                old.replace_all_uses_with(new)
            erase(inner)
        for view in reversed(views):
            if view.result.first_use is None:
                erase(view)
