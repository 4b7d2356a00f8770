"""`convert-tcgen05-to-ptx`: tensor-memory operations on tiles become those on addresses and registers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import ptx, tcgen05, tirx
from tirx.dialects.nesting import Listed, walk
from tirx.dialects.tcgen05 import Reduction, WaitFor, first_cell, is_tile
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_values import register_format, registers_of, tile_of
from tirx.passes.ir.rule_tables import Rules
from tirx.passes.match.computed_parts import displaced
from tirx.passes.match.product import kernel_around
from tirx.passes.products.tensor_lifetimes import check_lifetimes
from tirx.rules import StageError
from tirx.tcgen05.tmem import LANES
from tirx.tcgen05.tmem_access import MAX_REGISTERS, TmemAccess

LANE_SHIFT = 16
"""A tensor-memory address is lane << 16 | column (PTX ISA, "Tensor Memory Addressing")."""

_RULES: Rules[Sequence[SSAValue]] = Rules()


def _root(tile: SSAValue, emit: Emitter) -> tcgen05.TileOp:
    """The operation that gives the allocation behind `tile`, or behind the tile it is a view of, its columns."""
    root = tirx.base_allocation(tile).owner
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
    lane, column = first_cell(tirx.TileType.of(tile))
    return emit.add(_address(tile, emit), lane << LANE_SHIFT | column)


def _place(op: Operation) -> None:
    """Replaces the tiles that an instruction reads and writes by their addresses."""
    emit = Emitter.before(op)
    for index, operand in enumerate(op.operands):
        if is_tile(operand):
            op.operands[index] = _origin(operand, emit)


def _warp_address(tile: SSAValue, emit: Emitter) -> SSAValue:
    """The address with the first lane that this warp reaches: 32 lanes for each warp of the warpgroup."""
    tid = emit(ptx.ReadSpecialOp("tid.x")).result
    lane = emit.mul(emit.bit_and(tid, LANES - WARP_SIZE), 1 << LANE_SHIFT)  # 32 * (warp % 4)
    return emit.add(_address(tile, emit), lane)


def _most_registers(op: Operation) -> int:
    """Returns the number of registers that one instruction may move: half of those of a thread; others are in use."""
    kernel = kernel_around(op)
    return MAX_REGISTERS if kernel is None else min(MAX_REGISTERS, tirx.REGISTER_FILE // kernel.num_threads // 2)


def _fields(access: TmemAccess) -> dict[str, int | None]:
    """Returns the fields of one instruction besides its shape, address and registers."""
    offset = access.lane << LANE_SHIFT | access.column
    return {"num": access.num, "offset": offset, "half_split_offset": access.split}


@_RULES.of(tcgen05.LdOp)
def _ld(op: tcgen05.LdOp, emit: Emitter) -> Sequence[SSAValue]:
    type_ = tirx.TileType.of(op.res[0])
    register = register_format(type_).type
    address = _warp_address(op.taddr, emit)
    registers: list[SSAValue] = []
    for access in op.plan(_most_registers(op)).accesses:
        types = [register] * access.registers
        registers += emit(tcgen05.LdOp(access.shape, address, types, pack=access.pack, **_fields(access))).res
    return [tile_of(emit, registers, type_)]


@_RULES.of(tcgen05.LdRedOp)
def _ld_red(op: tcgen05.LdRedOp, emit: Emitter) -> Sequence[SSAValue]:
    """Loads with a reduction per instruction, then reduces the results of all instructions."""
    type_ = tirx.TileType.of(op.res[0])
    register = register_format(type_).type
    address = _warp_address(op.taddr, emit)
    registers: list[SSAValue] = []
    found: list[SSAValue] = []
    nan = op.nan is not None
    for access in op.plan(_most_registers(op)).accesses:
        ld = tcgen05.LdRedOp(
            access.shape,
            address,
            op.reduction,
            tcgen05.REDUCTION_TYPES[op.ptx_type],
            [register] * access.registers,
            type=op.ptx_type,
            abs=op.abs is not None,
            nan=nan,
            **_fields(access),
        )
        registers += emit(ld).res
        found.append(ld.reduced)
    compare = ptx.MaxOp if op.reduction.data is Reduction.MAX else ptx.MinOp
    best = found[0]
    if len(found) > 1:
        # The registers of an asynchronous load have no value before the wait.
        emit(tcgen05.WaitOp(WaitFor.LD))
    for other in found[1:]:
        best = emit(compare(best, other, unsigned=op.ptx_type == "u32", nan=nan)).result
    tile = tile_of(emit, registers, type_)
    return [tile_of(emit, [best], tirx.TileType.of(op.reduced)), tile]


@_RULES.of(tcgen05.StOp)
def _st(op: tcgen05.StOp, emit: Emitter) -> Sequence[SSAValue]:
    registers = registers_of(emit, op.data[0])
    address = _warp_address(op.taddr, emit)
    for access in op.plan(_most_registers(op)).accesses:
        data = registers[access.first_register : access.first_register + access.registers]
        emit(tcgen05.StOp(access.shape, address, data, unpack=access.pack, **_fields(access)))
    return ()


_SYMBOLIC = (
    tcgen05.SmemDescriptorOp,
    tcgen05.CpDescriptorOp,
    tcgen05.InstructionDescriptorOp,
    tcgen05.ZeroColumnMaskOp,
)


class ConvertTcgen05ToPtxPass(ModulePass):
    """Lowers the `tcgen05` instructions on tiles to those on addresses and registers.

    Tensor tiles become addresses in place, register tiles the registers of each thread (through casts that
    `convert-tirx-to-ptx` resolves): `tcgen05.ld` and `tcgen05.st` become as many instructions as a tile needs.
    Descriptors must have been materialized. What is allocated must be given back, and not be used after that.
    """

    name = "convert-tcgen05-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            check_lifetimes(kernel)
        ops = Listed(walk(op))
        views = ops.of(tcgen05.TileOp, tirx.SubviewOp, tirx.ReshapeOp)
        for symbolic in ops.of(*_SYMBOLIC):
            message = f"expected materialized descriptors, found {symbolic.name}"
            raise StageError(symbolic, f"{message}; run tirx-materialize-descriptors first")
        for inner in ops.where(lambda kind: issubclass(kind, tcgen05.Tcgen05Op)):
            if not any(map(is_tile, operands_of(inner))):
                continue
            if (rule := _RULES.get(type(inner))) is None:
                _place(inner)
                continue
            for old, new in zip(inner.results, rule(inner, Emitter.before(inner)), strict=True):
                old.replace_all_uses_with(new)
            erase(inner)
        for view in reversed(views):
            if view.result.first_use is None:
                erase(view)
