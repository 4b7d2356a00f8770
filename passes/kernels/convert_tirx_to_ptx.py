"""`convert-tirx-to-ptx`: kernels become entries, tiles in memory addresses, register tiles registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, UnrealizedConversionCastOp, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.copy.tma import index_layout, lanes_of_rows
from tirx.diagnostics import for_each
from tirx.dialects import ptx, tirx
from tirx.dialects.definition import built
from tirx.dialects.xdsl_private import add_arguments, operands_of, type_of
from tirx.layout import TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.passes.copies.atomic_emission import AtomicEmission
from tirx.passes.copies.cp_async_emission import emit_cp_async
from tirx.passes.copies.tensor_map_parameters import NamedRows
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.index_analysis import index_range
from tirx.passes.ir.register_values import held_tile, register_format, shared_out, zero_register
from tirx.passes.ir.rule_tables import Rules
from tirx.passes.ir.views import POINTER_ALIGNMENT, view_alignment
from tirx.passes.kernels.kernel_lowering import KernelLowering, Place, Registers
from tirx.passes.kernels.roles import entry_registers, leaves_alone, meet, role_branches
from tirx.passes.kernels.stages import missing_pass
from tirx.passes.match.copy_engines import planned_matrices
from tirx.passes.match.run_time_strides import why_beyond_threads
from tirx.passes.products.mma_sync import emit_mma_sync
from tirx.rules import KernelArgumentError, StageError


def _expanded_types(values: Sequence[SSAValue]) -> list[Attribute]:
    """The types of values with those of the registers of a tile in its place."""
    types: list[Attribute] = []
    for value in values:
        format_ = None if (type_ := held_tile(value.type)) is None else register_format(type_)
        types += [value.type] if format_ is None else [format_.type] * format_.count
    return types


def _expanded(op: scf.ForOp | scf.IfOp | scf.WhileOp, at: Place) -> Sequence[Registers] | None:
    """Lets a loop or branch take, pass on and give the registers of tiles in their place."""
    if not any(map(held_tile, map(type_of, (*operands_of(op), *op.results)))):
        return None
    first = 1 if isinstance(op, scf.ForOp) else 0  # behind the counter
    for block in [block for region in op.regions for block in region.blocks]:
        old = block.args[first:]
        at.bind(old, shared_out(old, add_arguments(block, _expanded_types(old))))
        at.kernel.lowered += old  # which go once nothing uses them
        at.block(block)
        if isinstance(last := block.last_op, scf.YieldOp | scf.ConditionOp):
            last.operands = at.expanded(last.operands)
    operands, types = at.expanded(op.operands), _expanded_types(op.results)
    regions = [op.detach_region(region) for region in tuple(op.regions)]
    made = at.emit(built(type(op), operands, types, regions=regions))
    return shared_out(op.results, made.results)


CONTROL_FLOW: Mapping[type[Operation], Callable[..., Sequence[Registers] | None]] = dict.fromkeys(
    (scf.ForOp, scf.IfOp, scf.WhileOp), _expanded
)
"""Loop or branch -> its lowering, which expands the tiles that it carries into registers."""


_RULES: Rules[Sequence[Registers] | None] = Rules(CONTROL_FLOW)
"""Operation -> its lowering at a place: emits its replacement and returns the registers of each result."""

_lowering = _RULES.of
_NOTHING: Registers = ()

TICKET_BYTES = 4
"""The counter of blocks that have begun."""

_NANOSECONDS = 32
"""About how long a thread that waits for a flag sleeps before it asks again."""


# Blocks, threads and where they meet.


@_lowering(tirx.ReturnOp)
def _return(op: tirx.ReturnOp, at: Place) -> Sequence[Registers]:
    at.emit(ptx.RetOp())
    return ()


@_lowering(tirx.BlockIdOp, tirx.GridDimOp)
def _of_grid(op: tirx.BlockIdOp | tirx.GridDimOp, at: Place) -> Sequence[Registers]:
    register = "ctaid" if isinstance(op, tirx.BlockIdOp) else "nctaid"
    special = at.emit(ptx.ReadSpecialOp(f"{register}.{op.axis.data}")).result
    if at.kernel.kernel.in_clusters and op.axis.data is tirx.GridAxis.X:
        special = at.emit.div(special, at.kernel.kernel.cluster_size)
    return [[at.emit.cast(special, IndexType())]]


@_lowering(tirx.BarrierOp)
def _barrier(op: tirx.BarrierOp, at: Place) -> Sequence[Registers]:
    return meet(at.group, at.kernel.kernel, op, at.emit)


@_lowering(tirx.CtaRankOp)
def _cta_rank(op: tirx.CtaRankOp, at: Place) -> Sequence[Registers]:
    special = at.emit(ptx.ReadSpecialOp("cluster_ctarank")).result
    return [[at.emit.cast(special, IndexType())]]


@_lowering(tirx.LeaderOp)
def _leader(op: tirx.LeaderOp, at: Place) -> Sequence[Registers]:
    warp = at.emit.div(at.thread, WARP_SIZE)
    first = at.emit.compare(warp, at.emit.constant(0, i32), "eq")
    return [[at.emit.bit_and(first, at.emit(ptx.ElectSyncOp()).result)]]


@_lowering(tirx.WarpgroupOp)
def _warpgroup(op: tirx.WarpgroupOp, at: Place) -> Sequence[Registers]:
    warpgroup = at.emit.div(at.thread, tirx.WARPGROUP_THREADS)
    index = at.emit(arith.CmpiOp(warpgroup, at.emit.constant(op.index.value.data, i32), "eq"))
    block, group, thread = op.body.block, op.thread_set, at.thread
    if distance := group.first - at.group.first:
        thread = Emitter(InsertPoint.at_start(block), op.location).add(thread, -distance)
    at.of(group, thread).block(block)
    Emitter(InsertPoint.at_end(block), op.location)(scf.YieldOp())
    at.emit(scf.IfOp(index, [], op.detach_region(op.body), Region()))
    return ()


@_lowering(tirx.RolesOp)
def _roles(op: tirx.RolesOp, at: Place) -> Sequence[Registers]:
    """Lets every role run on its own warps; at the end all threads of the block, or the cluster, meet, if one must."""
    at.kernel.maxnreg = entry_registers(op)
    alone = leaves_alone(op, at.kernel.kernel)
    for role, inside, index in role_branches(op, at.emit, at.thread):
        at.of(role.thread_set, index).block(inside)
    if alone:
        return ()
    return meet(tirx.thread_set(at.kernel.kernel), at.kernel.kernel, op, at.emit)


@_lowering(tirx.LaunchValueOp)
def _launch_value(op: tirx.LaunchValueOp, at: Place) -> Sequence[Registers]:
    return [[at.kernel.parameters.launch_value(op.formula.data, op.result.name_hint)]]


@_lowering(memref.LoadOp)
def _load_scalar(op: memref.LoadOp, at: Place) -> Sequence[Registers] | None:
    parameters = at.kernel.parameters
    return [[parameters.load(op, at.emit)]] if op.memref in parameters.pointers else None


@_lowering(memref.StoreOp)
def _store_scalar(op: memref.StoreOp, at: Place) -> Sequence[Registers] | None:
    parameters = at.kernel.parameters
    if op.memref not in parameters.pointers:
        return None
    if at.group != tirx.thread_set(at.kernel.kernel):
        raise KernelArgumentError(op, "expected a number to be stored by all threads of the kernel, found a role")
    parameters.store(op, at.emit, at.thread)
    return ()


# Tiles in memory.


@_lowering(tirx.SlotOp)
def _slot(op: tirx.SlotOp, at: Place) -> Sequence[Registers]:
    """Notes the base of a slot, which is known at run time; its alignment is that of the storage."""
    base, alignment = at.kernel.bases[op.storage]
    return at.declare(op.result, at.emit.add(base, at.emit.mul(op.index, op.stride)), alignment)


@_lowering(tirx.AllocOp)
def _alloc(op: tirx.AllocOp, at: Place) -> Sequence[Registers]:
    type_ = op.result.type
    if type_.memory is not tirx.MemorySpace.SHARED or type_.layout is None:
        found = f"found {type_}; earlier passes lower the others{missing_pass(op)}"
        raise StageError(op, f"expected a shared tile with a layout at this point, {found}")
    if op.start is None or at.kernel.shared is None:
        raise StageError(op, "expected a place in shared memory; tirx-allocate-memory chooses it")
    return at.declare(op.result, at.emit.add(at.kernel.shared, op.start), POINTER_ALIGNMENT)


_BY_TENSOR_MAP = frozenset((tirx.TmaLoadOp, tirx.TmaStoreOp))
"""The users of a tile of global memory that need no address of it."""


@_lowering(tirx.ViewOp)
def _view(op: tirx.ViewOp, at: Place) -> Sequence[Registers]:
    type_, emit, parameters = op.source_type, at.emit, at.kernel.parameters
    strides = type_.get_strides()
    if tirx.is_register_tile(op.result):
        from tirx.passes.copies.gather_emission import gather

        return [gather(at.emit, op, at.kernel.registers, at.threads, at.thread)]
    if not op.is_global:
        return _seen(op, at)
    if op.source not in parameters.pointers or strides is None:
        raise KernelArgumentError(op, "expected a view of a kernel argument with strides")
    users = {type(user) for user, _ in tirx.views_in_use(op.result)}
    by_tensor_map = users <= _BY_TENSOR_MAP and (users or None in strides)
    if by_tensor_map or (None in strides and why_beyond_threads(op.result) is not None):
        return [_NOTHING]  # only tensor maps know, or need to know, where it is
    bits = op.result.type.dtype.bits
    address, index_tiles = parameters.pointers[op.source], op.index_tiles
    for dimension, (index, stride) in enumerate(zip(op.indices, strides, strict=True)):
        if dimension in index_tiles:
            continue  # the accesses to elements add them
        if stride is None:
            offset = emit.cast(index, i64)
            address = emit.add(address, emit.mul(offset, parameters.stride(op.source, dimension)))
            continue
        size = stride * bits
        if size % 8 and (step := index_range(index).divisor * size) % 8:
            raise KernelArgumentError(
                op, f"expected a view of {type_} that starts on a whole byte, found steps of {step} bits"
            )
        offset = emit.cast(index, i64)
        # The product is whole bytes even where one step of the index is not.
        distance = emit.div(emit.mul(offset, size), 8) if size % 8 else emit.mul(offset, size // 8)
        address = emit.add(address, distance)
    return at.declare(op.result, address, view_alignment(op))


def _seen(op: tirx.ViewOp, at: Place) -> Sequence[Registers]:
    """Notes the base of a view of a tile in shared memory."""
    emit, source = at.emit, at.memory(op.source)
    base, bits = source.base, op.result.type.dtype.storage_bits
    for index, stride in zip(op.indices, op.source_type.get_strides() or (), strict=True):
        if not isinstance(index.type, tirx.TileType):
            base = emit.add(base, emit.mul(emit.cast(index, i32), (stride or 0) * bits // 8))
    return at.declare(op.result, base, gcd(source.alignment, view_alignment(op)))


@_lowering(tirx.SubviewOp, tirx.ReshapeOp, tirx.TransposeOp, tirx.WordsOp)
def _part(op: tirx.PartOp, at: Place) -> Sequence[Registers]:
    """Emits nothing: `Place.memory` follows a view to its allocation or memref."""
    return [_NOTHING]


@_lowering(tirx.AddressOp)
def _address(op: tirx.AddressOp, at: Place) -> Sequence[Registers]:
    return [[at.address(op.tile)]]


@_lowering(tirx.LoadOp)
def _load(op: tirx.LoadOp, at: Place) -> Sequence[Registers]:
    if op.engine is not None and op.engine.data is tirx.Engine.LDMATRIX:
        return [at.matrix_access(op.source, planned_matrices(op)).load(register_format(op.result.type).type)]
    pad = None
    if op.pad is not None:
        from tirx.passes.scalars.splat_emission import splat

        pads = at.emit(tirx.SplatOp(op.pad, op.result.type))
        pad, *_ = splat(at.emit, pads)
        erase(pads)
    return [at.access(op.source, op.result.type, once=False, pad=pad).load()]


@_lowering(tirx.StoreOp)
def _store(op: tirx.StoreOp, at: Place) -> Sequence[Registers]:
    registers = at.registers(op.value)
    if op.engine is not None and op.engine.data is tirx.Engine.STMATRIX:
        at.matrix_access(op.destination, planned_matrices(op)).store(registers)
        return ()
    access = at.access(op.destination, tirx.TileType.of(op.value), once=True)
    if op.reduce is None:
        access.store(registers)
    else:
        access.reduce(registers, ptx.Red(op.reduce.data.value), at.target)
    return ()


@_lowering(tirx.AtomicOp)
def _atomic(op: tirx.AtomicOp, at: Place) -> Sequence[Registers]:
    type_ = tirx.TileType.of(op.value)
    data = [at.registers(op.value)] if op.expected is None else [at.registers(op.expected), at.registers(op.value)]
    emission = AtomicEmission(op.kind.data, type_.element_type, at.target, op.order.data, op.scope.data)
    return [at.access(op.place, type_, once=True).atomic(data, emission)]


@_lowering(tirx.TicketOp)
def _ticket(op: tirx.TicketOp, at: Place) -> Sequence[Registers]:
    """Lets the first thread count the block; the last block of a launch leaves 0 behind."""
    address = at.kernel.parameters.workspace(TICKET_BYTES)
    x, y, z = (at.emit(ptx.ReadSpecialOp(f"nctaid.{axis}")).result for axis in tirx.GridAxis)
    last = at.emit.add(at.emit.mul(at.emit.mul(x, y), z), -1)

    def count(inside: Emitter) -> Sequence[SSAValue]:
        return [inside(ptx.AtomOp(ptx.Order.RELAXED, ptx.Scope.GPU, address, ptx.Atomic.INC, [last], i32)).result]

    first = at.emit.compare(at.thread, at.emit.constant(0, i32), "eq")
    results = at.emit.either(first, count, lambda outside: [zero_register(outside, i32)])
    at.emit(ptx.BarWarpSyncOp())
    return [results]


@_lowering(tirx.SignalOp)
def _signal(op: tirx.SignalOp, at: Place) -> Sequence[Registers]:
    address = at.kernel.parameters.element(op, op.flags, op.indices, at.emit)
    order, scope = ptx.Order.RELEASE, op.scope.data
    kind = (
        ptx.StStrongOp(order, scope, address, op.number)
        if op.adds is None
        else ptx.AtomOp(order, scope, address, ptx.Atomic.ADD, [op.number], op.number.type)
    )
    first = at.emit.compare(at.thread, at.emit.constant(0, i32), "eq")
    at.emit.branch(first, [kind])
    at.emit(ptx.BarWarpSyncOp())
    return ()


@_lowering(tirx.WaitUntilOp)
def _wait_until(op: tirx.WaitUntilOp, at: Place) -> Sequence[Registers]:
    """Lets the first thread ask again and again; the others have 0."""
    emit, type_ = at.emit, op.number.type
    address = at.kernel.parameters.element(op, op.flags, op.indices, emit)

    def wait(inside: Emitter) -> Sequence[SSAValue]:
        before, body = Block(), Block(arg_types=[type_])
        head = Emitter(InsertPoint.at_end(before), op.location)
        seen = head(ptx.LdStrongOp(ptx.Order.ACQUIRE, op.scope.data, address, type_)).result
        done = head(arith.CmpiOp(seen, op.number, op.comparison)).result
        head(scf.ConditionOp(head.xor(done, head.constant(1, i1)), seen))
        again = Emitter(InsertPoint.at_end(body), op.location)
        again(ptx.NanosleepOp(again.constant(_NANOSECONDS, i32)))
        again(scf.YieldOp())
        return inside(scf.WhileOp([], [type_], Region(before), Region(body))).results

    first = emit.compare(at.thread, emit.constant(0, i32), "eq")
    results = emit.either(first, wait, lambda outside: [zero_register(outside, type_)])
    emit(ptx.BarWarpSyncOp())
    return [results]


@_lowering(tirx.TmaLoadOp)
def _tma_load(op: tirx.TmaLoadOp, at: Place) -> Sequence[Registers]:
    at.kernel.maps.load(at.emit, op, at.address(op.destination), _named_rows(op.source, at, loads=True))
    return ()


@_lowering(tirx.TmaStoreOp)
def _tma_store(op: tirx.TmaStoreOp, at: Place) -> Sequence[Registers]:
    at.kernel.maps.store(at.emit, op, at.address(op.source), _named_rows(op.destination, at, loads=False))
    return ()


def _named_rows(tile: SSAValue, at: Place, *, loads: bool) -> NamedRows | None:
    """Returns the rows that an index tile names in a bulk copy, to which all threads come; None for boxes."""
    if (view := tirx.indexed_view(tile)) is None:
        return None
    (index,) = view.index_tiles.values()
    type_ = tirx.TileType.of(index)
    wanted = index_layout(type_.num_elements)
    assert isinstance(type_.layout, TileLayout), "it has registers"
    if not type_.layout.equivalent(wanted):
        raise StageError(
            at.emit.location, f"expected indices as {wanted}, found {type_}; tirx-fit-index-tiles converts them"
        )
    return NamedRows(loads, lanes_of_rows(type_.num_elements), at.threads, at.thread, at.registers(index))


@_lowering(tirx.CpAsyncTileOp)
def _cp_async(op: tirx.CpAsyncTileOp, at: Place) -> Sequence[Registers]:
    ends = at.memory(op.source), at.memory(op.destination)
    at.require_vectors(op.source, "cp.async")
    clip = at.clip(op.source)
    emit_cp_async(at.emit, op, *ends, at.threads, at.thread, clip, lambda share: at.index_tiles(op.source, share))
    return ()


# Calls of the device runtime, which few kernels have.


@_lowering(tirx.PrintOp)
def _print(op: tirx.PrintOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.kernels.debugging_calls import emit_print

    emit_print(at.emit, op, at.thread, at.address)
    return ()


@_lowering(tirx.AssertOp)
def _assert(op: tirx.AssertOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.kernels.debugging_calls import emit_assert

    emit_assert(at.emit, op, at.kernel.kernel.sym_name.data, at.thread, at.threads, at.address)
    return ()


# Register tiles. What computes with them takes long to import, and kernels that only move data do without it.


@_lowering(tirx.MapOp)
def _map(op: tirx.MapOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.map_emission import MapEmission

    return MapEmission(at.emit, op, at.kernel.registers, at.threads, at.thread, at.target).run()


@_lowering(tirx.ReduceOp)
def _reduce(op: tirx.ReduceOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.fold_emission import ReduceEmission, RegionEmission

    if op.body is None:
        return [ReduceEmission(at.emit, op, at.registers(op.source), at.threads, at.target).run()]
    return RegionEmission(at.emit, op, at.threads).run([at.registers(tile) for tile in op.ins], at.thread)


@_lowering(tirx.ScanOp)
def _scan(op: tirx.ScanOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.fold_emission import ScanEmission

    tiles = {tile: at.registers(tile) for tile in (*op.ins, *op.inits)}
    return ScanEmission(at.emit, op, tiles, at.threads, at.thread).run()


@_lowering(tirx.BroadcastOp)
def _broadcast(op: tirx.BroadcastOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.register_moves import broadcast

    return [broadcast(at.emit, op, at.registers(op.source), at.threads)]


@_lowering(tirx.ConvertOp)
def _convert(op: tirx.ConvertOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.register_moves import convert

    return [convert(at.emit, op, at.registers(op.source), at.threads, at.thread)]


@_lowering(tirx.ClusterSumOp)
def _cluster_sum(op: tirx.ClusterSumOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.kernels.cluster_sums import cluster_sum

    return cluster_sum(op, at)


@_lowering(tirx.ConcatOp)
def _concat(op: tirx.ConcatOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.register_moves import joined

    return [joined(at.emit, op, [at.registers(tile) for tile in op.ins])]


@_lowering(tirx.BitcastOp)
def _bitcast(op: tirx.BitcastOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.register_moves import bitcast

    return [bitcast(at.emit, op, at.registers(op.source))]


@_lowering(tirx.ElementOp)
def _element(op: tirx.ElementOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.register_moves import element

    return [[element(at.emit, tirx.TileType.of(op.source), at.registers(op.source))]]


@_lowering(tirx.SplatOp)
def _splat(op: tirx.SplatOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.splat_emission import splat

    return [splat(at.emit, op)]


@_lowering(tirx.PackOp, tirx.UnpackOp)
def _words(op: tirx.PackOp | tirx.UnpackOp, at: Place) -> Sequence[Registers]:
    from tirx.passes.scalars.six_bits import pack_words, unpack_words

    return [(pack_words if isinstance(op, tirx.PackOp) else unpack_words)(at.emit, at.registers(op.source))]


@_lowering(tirx.MmaSyncOp)
def _mma_sync(op: tirx.MmaSyncOp, at: Place) -> Sequence[Registers]:
    return [emit_mma_sync(at.emit, op, at.kernel.registers)]


@_lowering(tirx.ZeroOp)
def _zero(op: tirx.ZeroOp, at: Place) -> Sequence[Registers]:
    format_ = register_format(op.result.type)
    return [[zero_register(at.emit, format_.type)] * format_.count]


@_lowering(arith.SelectOp)
def _select(op: arith.SelectOp, at: Place) -> Sequence[Registers] | None:
    """Chooses tiles register by register."""
    if not isinstance(op.result.type, tirx.TileType):
        return None
    pairs = zip(at.registers(op.lhs), at.registers(op.rhs), strict=True)
    return [[at.emit.select(op.cond, a, b) for a, b in pairs]]


@_lowering(UnrealizedConversionCastOp)
def _cast(op: UnrealizedConversionCastOp, at: Place) -> Sequence[Registers] | None:
    """Emits nothing between a tile and its registers, from one spelling of a layout to another, or for a sign."""
    if op.inputs and held_tile(op.inputs[0].type) is not None:
        return shared_out(op.results, at.registers(op.inputs[0]))
    if op.results and held_tile(op.results[0].type) is not None:
        return [op.inputs]
    if len(op.inputs) == 1 and tirx.scalar_type(op.inputs[0].type) == tirx.scalar_type(op.results[0].type):
        return [op.inputs]
    return None


class ConvertTirxToPtxPass(ModulePass):
    """Lowers what is left of the `tirx` dialect: kernels, views, shared tiles, loads and stores, fragments.

    `tirx.load` and `tirx.store` become vector accesses whose addresses follow from the two layouts. Register tiles
    become registers, also where loops carry them. Address arithmetic stays in `arith`.
    """

    name = "convert-tirx-to-ptx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for_each(tirx.kernels(op), lambda kernel: KernelLowering(kernel, _RULES).run())
