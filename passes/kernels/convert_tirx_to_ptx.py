"""`convert-tirx-to-ptx`: kernels become entries, tiles in memory addresses, register tiles registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import gcd
from typing import Any, TypeVar

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import (
    IndexType,
    IntAttr,
    ModuleOp,
    UnrealizedConversionCastOp,
    i32,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.copy.matrix import MatrixPlan
from tirx.diagnostics import LocatedError, for_each, operation_name
from tirx.dialects.nesting import operations
from tirx.dialects.ptx.core import EntryOp, ReadSpecialOp, RetOp, SharedAllocOp
from tirx.dialects.ptx.parameters import PARAM_LIMIT, RESERVED_NAMES, check_identifier
from tirx.dialects.ptx.reductions import Red
from tirx.dialects.ptx.sync import ElectSyncOp
from tirx.dialects.tirx import (
    AddressOp,
    AllocOp,
    BarrierOp,
    BlockIdOp,
    CpAsyncTileOp,
    CtaRankOp,
    Engine,
    GridAxis,
    GridDimOp,
    KernelOp,
    LaunchValueOp,
    LeaderOp,
    LoadOp,
    MemoryPlan,
    MemorySpace,
    MmaSyncOp,
    ReshapeOp,
    ReturnOp,
    RolesOp,
    SlotOp,
    StoreOp,
    SubviewOp,
    ThreadLowering,
    TileOpInterface,
    TileType,
    TmaLoadOp,
    TmaStoreOp,
    ViewOp,
    WarpgroupOp,
    WordsOp,
    ZeroOp,
    is_foreign,
    kernels,
    thread_set,
    views_in_use,
)
from tirx.dialects.tirx.kernel import PAIR
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.hw.errors import LegalityError
from tirx.hw.targets import Target
from tirx.layout.axis import WARP_SIZE
from tirx.passes.copies.clipping import Clip
from tirx.passes.copies.memory_access import (
    ClippedAccess,
    MatrixAccess,
    MemoryTile,
    TileAccess,
    emit_cp_async,
    is_whole,
)
from tirx.passes.copies.tensor_map_parameters import TensorMapParameters
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.index_analysis import index_range
from tirx.passes.ir.register_values import held_tile, is_narrow_float, no_register, register_format, zero_register
from tirx.passes.ir.scheduled import require_lowered
from tirx.passes.ir.views import POINTER_ALIGNMENT, Origin, clipped_view, plan_clip
from tirx.passes.kernels.entry_parameters import Parameters
from tirx.passes.kernels.guest_operations import lower_scalars, lower_tiles
from tirx.passes.kernels.roles import bound_registers, entry_registers, meet, role_branches
from tirx.passes.kernels.stages import missing_pass
from tirx.passes.match.computed_parts import displaced
from tirx.passes.match.copy_engines import beyond_threads, planned_matrices
from tirx.passes.match.narrow_places import mark_narrow_views, require_narrow
from tirx.passes.match.run_time_strides import STRIDE_BYTES, are_multiples, placed, run_time_strides, why_beyond_threads
from tirx.passes.products.mma_sync import emit_mma_sync
from tirx.passes.scalars.carried_registers import CONTROL_FLOW
from tirx.passes.scalars.tile_arithmetic import ARITHMETIC, ArithmeticOp, emit_arithmetic
from tirx.rules import KernelArgumentError, ParameterError, RegisterLayoutError, StageError

DYNAMIC_SHARED = "dynamic_shared"
"""The name of the shared memory that launches set aside, the same for all kernels of a module."""


class _KernelLowering:
    """Lowers one kernel to an entry."""

    def __init__(self, kernel: KernelOp):
        self.kernel = kernel
        self.bases: dict[SSAValue, tuple[SSAValue, int]] = {}  # tile in memory -> its address and alignment
        self.registers: dict[SSAValue, Sequence[SSAValue]] = {}  # register tile -> the registers of one thread
        self.lowered: list[Operation | BlockArgument] = []
        self.threads = thread_set(kernel)
        self.target: Target
        self.thread: SSAValue  # the index among them (i32)
        self.parameters: Parameters
        self.maps: TensorMapParameters
        self.shared: SSAValue | None = None
        self.maxnreg: IntAttr | None = None
        self.names = {op.symbol.data for op in kernel.walk() if isinstance(op, SharedAllocOp)} | RESERVED_NAMES
        if kernel.memory is not None and kernel.memory.data.dynamic:
            self.names.add(DYNAMIC_SHARED)

    def run(self) -> None:
        kernel = self.kernel
        require_lowered(kernel)
        self.target = kernel.require_target()
        mark_narrow_views(kernel)
        lower_scalars(kernel, self.target)
        if kernel.is_whole_pair:
            raise StageError(kernel, "expected what one block of a pair does; run tirx-split-pairs first")
        try:
            check_identifier("the name of a kernel", kernel.sym_name.data)
        except ParameterError as e:
            raise LocatedError(kernel, str(e)) from e
        block = kernel.body.block
        first = block.first_op
        emit = Emitter(InsertPoint.at_end(block) if first is None else InsertPoint.before(first), kernel.location)
        self.parameters = Parameters(kernel, emit, self.name)
        self.thread = emit(ReadSpecialOp("tid.x")).result
        plan = MemoryPlan() if kernel.memory is None else kernel.memory.data
        if plan.shared:
            name = DYNAMIC_SHARED if plan.dynamic else self.name(None, "shared")
            self.shared = emit(SharedAllocOp(name, plan.shared, plan.alignment, dynamic=plan.dynamic)).result
        self.maps = TensorMapParameters(kernel, emit, self.name)
        self.block(block)
        self.maps.prefetch(self.thread)
        parameters = [*self.parameters.declared, *self.maps.parameters]
        if (size := sum(parameter.size for parameter in parameters)) > PARAM_LIMIT:
            raise KernelArgumentError(kernel, f"expected at most {PARAM_LIMIT} bytes of parameters, found {size}")
        self._erase_lowered()
        for argument in reversed(block.args):
            if (use := argument.first_use) is not None:
                raise KernelArgumentError(
                    use.operation,
                    "expected only 'tirx.view' and 'memref.load' on a memref argument, found "
                    f"'{operation_name(use.operation)}'",
                )
            block.erase_arg(argument)
        body = kernel.detach_region(kernel.body)
        cluster = (PAIR, 1, 1) if kernel.of_pairs else None
        threads = (kernel.num_threads, 1, 1)
        dynamic = plan.shared if plan.dynamic else None
        name, target, grid = kernel.sym_name.data, self.target.name, kernel.launch_grid
        entry = EntryOp(name, parameters, target, body, threads, cluster, dynamic, grid=grid)
        bound_registers(entry, kernel.num_threads, self.maxnreg, plan.shared)
        entry.attributes.update(kernel.attributes)
        Emitter.before(kernel)(entry)
        erase(kernel)

    def name(self, hint: str | None, default: str) -> str:
        """Returns a PTX name that nothing else in the entry has, like `hint` where there is one."""
        # SSA names may have characters that PTX names do not.
        stem = default if hint is None else re.sub(r"\W", "_", hint, flags=re.ASCII)
        if not stem[0].isalpha():
            stem = f"{default}{stem}"
        name, i = stem, 0
        while name in self.names:
            i += 1
            name = f"{stem}_{i}"
        self.names.add(name)
        return name

    def block(self, block: Block) -> None:
        for op in tuple(operations(block)):
            rule = _RULES.get(type(op))
            results = None if rule is None else rule(self, op, Emitter.before(op))
            if results is not None:
                for old, new in zip(op.results, results, strict=True):
                    if new is not None:
                        new.name_hint = new.name_hint or old.name_hint
                        old.replace_all_uses_with(new)
                self.lowered.append(op)
                continue
            if isinstance(op, TileOpInterface):
                made = lower_tiles(op, _Threads(self, op))
                for old, registers in zip(op.results, made, strict=True):
                    if type(old.type) is TileType:
                        self.keep(old, registers)
                    else:
                        old.replace_all_uses_with(registers[0])
                self.lowered.append(op)
                continue
            if op.name.startswith("tirx."):
                raise StageError(op, f"expected '{op.name}' to be lowered by an earlier pass{missing_pass(op)}")
            if type(op) not in (scf.YieldOp, scf.ConditionOp):  # whose operands are expanded with the loop or branch
                self._require_no_tiles(op)
            for region in op.regions:
                for inner in region.blocks:
                    self.block(inner)

    @staticmethod
    def _require_no_tiles(op: Operation) -> None:
        for value in (*op._operands, *op.results):  # pyright: ignore[reportPrivateUsage]
            if type(value.type) is TileType:
                name = operation_name(op)
                hint = "; lower it before convert-tirx-to-ptx, or give it a TileOpInterface" if is_foreign(op) else ""
                raise StageError(op, f"expected no tiles after lowering, found {value.type} on '{name}'{hint}")

    def _erase_lowered(self) -> None:
        """Erases what has been lowered, users first. Raises LocatedError for a user that is not lowered."""
        for old in reversed(self.lowered):
            if isinstance(old, Operation):
                for result in old.results:
                    if (use := result.first_use) is not None:
                        raise no_register(use.operation, result.type)
                erase(old)
            else:
                old.block.erase_arg(old)

    # Register tiles.

    def keep(self, tile: SSAValue, registers: Sequence[SSAValue]) -> Sequence[SSAValue | None]:
        """Notes the registers of a tile; returns its replacement, which is none."""
        self.registers[tile] = registers
        return (None,)

    def expanded(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Returns the values with every register tile replaced by its registers."""
        found: list[SSAValue] = []
        for value in values:
            found += (value,) if held_tile(value.type) is None else self.registers[value]
        return found

    def collapsed(self, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> list[SSAValue | None]:
        """The counterpart: notes which of the values `new` are the registers of tiles; returns the others."""
        found: list[SSAValue | None] = []
        at = 0
        for value in old:
            if (type_ := held_tile(value.type)) is not None:
                count = register_format(type_).count
                found += self.keep(value, new[at : at + count])
            else:
                count = 1
                found.append(new[at])
            at += count
        return found

    # Tiles in memory.

    def declare(self, tile: SSAValue, base: SSAValue, alignment: int) -> Sequence[SSAValue | None]:
        """Notes where a tile in memory is; returns its replacement, which is none."""
        self.bases[tile] = base, alignment
        return (None,)

    def memory(self, tile: SSAValue, emit: Emitter) -> MemoryTile:
        """Returns the address and alignment of a tile of global or shared memory, with its type."""
        numbers = sorted(run_time_strides(tile).items())
        strides = tuple((number, self.stride(tile, dimension)) for dimension, number in numbers)
        root = tile
        while isinstance(op := root.owner, SubviewOp | ReshapeOp | WordsOp):
            root = op.source
        if root not in self.bases:
            wanted = f"expected a tile of global or shared memory, found {tile.type}"
            raise RegisterLayoutError(emit.location, beyond_threads(tile) or wanted)
        where = displaced(emit, tile, *self.bases[root])
        return MemoryTile(placed(tile), *where, strides, are_multiples(tile))

    def stride(self, tile: SSAValue, dimension: int) -> SSAValue:
        """The run-time stride (i64, bytes) of the argument that a tile is a part of."""
        origin = Origin.of(tile)
        assert origin is not None
        return self.parameters.stride(origin.view.source, dimension)

    def access(self, emit: Emitter, memory: SSAValue, register: TileType, *, once: bool) -> TileAccess | ClippedAccess:
        tile, threads = self.memory(memory, emit), self.threads.count
        clip = self.clip(memory, emit)
        if tile.are_multiples and (origin := Origin.of(memory)) is not None:
            # Sizes say so of arrays without gaps; a launch may give others.
            for dimension in run_time_strides(memory):
                self.parameters.require_vectors(origin.view.source, dimension, STRIDE_BYTES, "vectors")

        def access(emit: Emitter, careful: bool = False) -> TileAccess:
            end = tile.by_element() if careful and not tile.are_multiples else tile
            return TileAccess(emit, end, register, threads, self.thread, once=once, clip=clip if careful else None)

        if clip is None and tile.are_multiples:
            return access(emit)
        return ClippedAccess(emit, access, is_whole(emit, clip, tile))

    def clip(self, memory: SSAValue, emit: Emitter) -> Clip | None:
        """The bounds of a tile in memory, None where all of it exists."""
        try:
            plan = plan_clip(memory)
        except LegalityError as e:
            raise LocatedError(emit.location, str(e)) from e
        if plan is None or (view := clipped_view(memory)) is None:
            return None
        return Clip(emit, plan, self.parameters.size, lambda bound: require_narrow(self.kernel, view, bound))

    def matrix_access(self, emit: Emitter, memory: SSAValue, plan: MatrixPlan | None) -> MatrixAccess:
        if plan is None:
            raise StageError(emit.location, "expected layouts that matrix instructions move; run tirx-select-copies")
        return MatrixAccess(emit, self.memory(memory, emit), plan, self.thread)


class _Threads(ThreadLowering):
    """What an operation of another dialect is lowered with."""

    def __init__(self, lowering: _KernelLowering, op: Operation):
        self._lowering = lowering
        self._emit = Emitter.before(op)
        self.thread, self.threads, self.target = lowering.thread, lowering.threads.count, lowering.target

    def insert(self, op: OpT) -> OpT:
        return self._emit(op)

    def registers(self, tile: SSAValue) -> Sequence[SSAValue]:
        return tuple(self._lowering.registers[tile])

    def address(self, tile: SSAValue) -> SSAValue:
        return self._lowering.memory(tile, self._emit).base


OpT = TypeVar("OpT", bound=Operation)
_Rule = Callable[[_KernelLowering, Any, Emitter], Sequence[SSAValue | None] | None]
_RULES: dict[type[Operation], _Rule] = {}
"""
Operation -> its lowering, which emits the replacement and returns the new results, None for tiles. A lowering that
returns None leaves the operation as it is.
"""


def _lowering(
    *op_types: type[OpT],
) -> Callable[[Callable[[_KernelLowering, OpT, Emitter], Sequence[SSAValue | None] | None]], None]:
    def register(rule: Callable[[_KernelLowering, OpT, Emitter], Sequence[SSAValue | None] | None]) -> None:
        _RULES.update(dict.fromkeys(op_types, rule))

    return register


@_lowering(ReturnOp)
def _return(lowering: _KernelLowering, op: ReturnOp, emit: Emitter) -> Sequence[SSAValue]:
    emit(RetOp())
    return ()


@_lowering(BlockIdOp)
def _block_id(lowering: _KernelLowering, op: BlockIdOp, emit: Emitter) -> Sequence[SSAValue]:
    return _of_grid(lowering, "ctaid", op, emit)


@_lowering(GridDimOp)
def _grid_dim(lowering: _KernelLowering, op: GridDimOp, emit: Emitter) -> Sequence[SSAValue]:
    return _of_grid(lowering, "nctaid", op, emit)


def _of_grid(lowering: _KernelLowering, register: str, op: BlockIdOp | GridDimOp, emit: Emitter) -> Sequence[SSAValue]:
    special = emit(ReadSpecialOp(f"{register}.{op.axis.data}")).result
    if lowering.kernel.of_pairs and op.axis.data is GridAxis.X:
        special = emit.div(special, PAIR)
    return [emit.cast(special, IndexType())]


@_lowering(BarrierOp)
def _barrier(lowering: _KernelLowering, op: BarrierOp, emit: Emitter) -> Sequence[SSAValue]:
    return meet(lowering.threads, lowering.kernel, op, emit)


@_lowering(CtaRankOp)
def _cta_rank(lowering: _KernelLowering, op: CtaRankOp, emit: Emitter) -> Sequence[SSAValue]:
    special = emit(ReadSpecialOp("cluster_ctarank")).result
    return [emit.cast(special, IndexType())]


@_lowering(LeaderOp)
def _leader(lowering: _KernelLowering, op: LeaderOp, emit: Emitter) -> Sequence[SSAValue]:
    warp = emit.div(lowering.thread, WARP_SIZE)
    first = emit.compare(warp, emit.constant(0, i32), "eq")
    return [emit.bit_and(first, emit(ElectSyncOp()).result)]


@_lowering(WarpgroupOp)
def _warpgroup(lowering: _KernelLowering, op: WarpgroupOp, emit: Emitter) -> Sequence[SSAValue]:
    around, thread = lowering.threads, lowering.thread
    index = emit(arith.CmpiOp(emit.div(thread, WARPGROUP_THREADS), emit.constant(op.index.value.data, i32), "eq"))
    block = op.body.block
    lowering.threads = op.thread_set
    if distance := lowering.threads.first - around.first:
        start = InsertPoint.at_end(block) if block.first_op is None else InsertPoint.before(block.first_op)
        lowering.thread = Emitter(start, op.location).add(thread, -distance)
    lowering.block(block)
    lowering.threads, lowering.thread = around, thread
    Emitter(InsertPoint.at_end(block), op.location)(scf.YieldOp())
    emit(scf.IfOp(index, [], op.detach_region(op.body), Region()))
    return ()


@_lowering(RolesOp)
def _roles(lowering: _KernelLowering, op: RolesOp, emit: Emitter) -> Sequence[SSAValue]:
    """Every role runs on its own warps; at the end all threads of the block, or the cluster, meet."""
    thread = lowering.thread
    lowering.maxnreg = entry_registers(op)
    for role, inside, index in role_branches(op, emit, thread):
        lowering.threads, lowering.thread = role.thread_set, index
        lowering.block(inside)
    lowering.threads, lowering.thread = thread_set(lowering.kernel), thread
    return meet(lowering.threads, lowering.kernel, op, emit)


@_lowering(SlotOp)
def _slot(lowering: _KernelLowering, op: SlotOp, emit: Emitter) -> Sequence[SSAValue | None]:
    """The base of a slot is known at run time, its alignment is that of the storage."""
    base, alignment = lowering.bases[op.storage]
    return lowering.declare(op.result, emit.add(base, emit.mul(op.index, op.stride)), alignment)


@_lowering(AllocOp)
def _alloc(lowering: _KernelLowering, op: AllocOp, emit: Emitter) -> Sequence[SSAValue | None]:
    type_ = op.result.type
    layout = type_.layout
    if type_.memory is not MemorySpace.SHARED or layout is None:
        found = f"found {type_}; earlier passes lower the others{missing_pass(op)}"
        raise StageError(op, f"expected a shared tile with a layout at this point, {found}")
    if op.start is None or lowering.shared is None:
        raise StageError(op, "expected a place in shared memory; tirx-allocate-memory chooses it")
    address = emit.add(lowering.shared, op.start)
    return lowering.declare(op.result, address, POINTER_ALIGNMENT)


@_lowering(ViewOp)
def _view(lowering: _KernelLowering, op: ViewOp, emit: Emitter) -> Sequence[SSAValue | None]:
    type_ = op.source_type
    strides = type_.get_strides()
    if op.source not in lowering.parameters.pointers or strides is None:
        raise KernelArgumentError(op, "expected a view of a kernel argument with strides")
    users = [user for user, _ in views_in_use(op.result)]
    if None in strides and (
        why_beyond_threads(op.result) is not None or all(isinstance(user, TmaLoadOp | TmaStoreOp) for user in users)
    ):
        return (None,)  # only tensor maps know where it is
    bits = op.result.type.dtype.bits
    address = lowering.parameters.pointers[op.source]
    alignment = POINTER_ALIGNMENT
    for dimension, (index, stride) in enumerate(zip(op.indices, strides, strict=True)):
        if stride is None:
            offset = emit.cast(index, i64)
            distance = emit.mul(offset, lowering.parameters.stride(op.source, dimension))
            address = emit.add(address, distance)
            continue
        step = index_range(index).divisor * stride * bits
        if step % 8:
            raise KernelArgumentError(
                op, f"expected a view of {type_} that starts on a whole byte, found steps of {step} bits"
            )
        alignment = gcd(alignment, step // 8)
        offset = emit.cast(index, i64)
        size = stride * bits
        # The product is whole bytes even where one step of the index is not.
        distance = emit.div(emit.mul(offset, size), 8) if size % 8 else emit.mul(offset, size // 8)
        address = emit.add(address, distance)
    return lowering.declare(op.result, address, alignment)


@_lowering(memref.LoadOp)
def _load_scalar(lowering: _KernelLowering, op: memref.LoadOp, emit: Emitter) -> Sequence[SSAValue] | None:
    return [lowering.parameters.load(op, emit)] if op.memref in lowering.parameters.pointers else None


@_lowering(LaunchValueOp)
def _launch_value(lowering: _KernelLowering, op: LaunchValueOp, emit: Emitter) -> Sequence[SSAValue]:
    return [lowering.parameters.launch_value(op.formula.data, op.result.name_hint)]


@_lowering(AddressOp)
def _address(lowering: _KernelLowering, op: AddressOp, emit: Emitter) -> Sequence[SSAValue]:
    return [lowering.memory(op.tile, emit).base]


def _part(lowering: _KernelLowering, op: SubviewOp | ReshapeOp | WordsOp, emit: Emitter) -> Sequence[SSAValue | None]:
    """Emits nothing: `memory` follows a view to its allocation or memref."""
    return (None,)


for _part_op in (SubviewOp, ReshapeOp, WordsOp):
    _RULES[_part_op] = _part


@_lowering(LoadOp)
def _load(lowering: _KernelLowering, op: LoadOp, emit: Emitter) -> Sequence[SSAValue | None]:
    if op.engine is not None and op.engine.data is Engine.LDMATRIX:
        access = lowering.matrix_access(emit, op.source, planned_matrices(op))
        return lowering.keep(op.result, access.load(register_format(op.result.type).type))
    return lowering.keep(op.result, lowering.access(emit, op.source, op.result.type, once=False).load())


@_lowering(StoreOp)
def _store(lowering: _KernelLowering, op: StoreOp, emit: Emitter) -> Sequence[SSAValue]:
    registers = lowering.registers[op.value]
    if op.engine is not None and op.engine.data is Engine.STMATRIX:
        lowering.matrix_access(emit, op.destination, planned_matrices(op)).store(registers)
        return ()
    access = lowering.access(emit, op.destination, TileType.of(op.value), once=True)
    if op.reduce is None:
        access.store(registers)
    else:
        access.reduce(registers, Red(op.reduce.data.value), lowering.target)
    return ()


@_lowering(TmaLoadOp)
def _tma_load(lowering: _KernelLowering, op: TmaLoadOp, emit: Emitter) -> Sequence[SSAValue]:
    lowering.maps.load(emit, op, lowering.memory(op.destination, emit).base)
    return ()


@_lowering(TmaStoreOp)
def _tma_store(lowering: _KernelLowering, op: TmaStoreOp, emit: Emitter) -> Sequence[SSAValue]:
    lowering.maps.store(emit, op, lowering.memory(op.source, emit).base)
    return ()


@_lowering(CpAsyncTileOp)
def _cp_async(lowering: _KernelLowering, op: CpAsyncTileOp, emit: Emitter) -> Sequence[SSAValue]:
    ends = lowering.memory(op.source, emit), lowering.memory(op.destination, emit)
    if (origin := Origin.of(op.source)) is not None:
        for dimension in run_time_strides(op.source):
            lowering.parameters.require_vectors(origin.view.source, dimension, STRIDE_BYTES, "cp.async")
    emit_cp_async(emit, op, *ends, lowering.threads.count, lowering.thread, lowering.clip(op.source, emit))
    return ()


def _arithmetic(lowering: _KernelLowering, op: ArithmeticOp, emit: Emitter) -> Sequence[SSAValue | None]:
    threads = lowering.threads.count
    made = emit_arithmetic(emit, op, lowering.registers, threads, lowering.thread, lowering.target)
    for tile, registers in zip(op.results, made, strict=True):
        lowering.keep(tile, registers)
    return [None] * len(op.results)


_RULES.update(dict.fromkeys(ARITHMETIC, _arithmetic))


@_lowering(arith.ConstantOp, arith.TruncFOp)
def _narrow_float(
    lowering: _KernelLowering, op: arith.ConstantOp | arith.TruncFOp, emit: Emitter
) -> Sequence[SSAValue | None] | None:
    """A number of a type without registers is read where a tile is filled with it."""
    return (None,) if is_narrow_float(op.result.type) else None


@_lowering(MmaSyncOp)
def _mma_sync(lowering: _KernelLowering, op: MmaSyncOp, emit: Emitter) -> Sequence[SSAValue | None]:
    return lowering.keep(op.result, emit_mma_sync(emit, op, lowering.registers))


@_lowering(ZeroOp)
def _zero(lowering: _KernelLowering, op: ZeroOp, emit: Emitter) -> Sequence[SSAValue | None]:
    format_ = register_format(op.result.type)
    return lowering.keep(op.result, [zero_register(emit, format_.type)] * format_.count)


@_lowering(arith.SelectOp)
def _select(lowering: _KernelLowering, op: arith.SelectOp, emit: Emitter) -> Sequence[SSAValue | None] | None:
    """Tiles are chosen register by register."""
    if not isinstance(op.result.type, TileType):
        return None
    pairs = zip(lowering.registers[op.lhs], lowering.registers[op.rhs], strict=True)
    return lowering.keep(op.result, [emit.select(op.cond, a, b) for a, b in pairs])


@_lowering(UnrealizedConversionCastOp)
def _cast(lowering: _KernelLowering, op: UnrealizedConversionCastOp, emit: Emitter) -> Sequence[SSAValue | None] | None:
    """Between a tile and its registers, or from one spelling of a layout to another."""
    if op.inputs and held_tile(op.inputs[0].type) is not None:
        return lowering.collapsed(op.results, lowering.registers[op.inputs[0]])
    if op.results and held_tile(op.results[0].type) is not None:
        return lowering.keep(op.results[0], op.inputs)
    return None


_RULES.update(CONTROL_FLOW)


class ConvertTirxToPtxPass(ModulePass):
    """
    Lowers what is left of the `tirx` dialect: kernels, views, shared tiles, loads and stores, fragments.

    `tirx.load` and `tirx.store` become vector accesses whose addresses follow from the two layouts. Register tiles
    become registers, also where loops carry them. Address arithmetic stays in `arith`.
    """

    name = "convert-tirx-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for_each(kernels(op), lambda kernel: _KernelLowering(kernel).run())
