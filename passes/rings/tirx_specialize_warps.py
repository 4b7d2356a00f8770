"""`tirx-specialize-warps`: copies, products and the rest of a kernel run on warps of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.nesting import ancestors, operations, walk
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.tirx.product import ProductOp
from tirx.dialects.tirx.roles import MAX_WARPS, WARPGROUP, is_constant_load
from tirx.dialects.traits import is_pure, is_terminator
from tirx.hw.features import supports
from tirx.layout import TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.layout.ownership import thread_axes
from tirx.passes.ir.emitter import Emitter, move
from tirx.passes.ir.views import argument_number
from tirx.passes.match.memory_by_lifetime import allocated_columns, slot_columns
from tirx.passes.match.pipelining import (
    NotApplicable,
    hardware_operation,
    is_computed,
    needed_values,
    require_no_ordering,
    written_memref,
    written_memrefs,
)
from tirx.passes.rings.attempt import attempt, prove_together, until_fragments
from tirx.passes.rings.live_registers import live_registers
from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.slots import Place, place_of, slot_tile, slot_tiles
from tirx.passes.rings.role_bodies import copied_part, remove_part
from tirx.passes.rings.start_values import (
    WORKING_REGISTERS,
    Roles,
    chosen_word,
    entry_bound,
    role_registers,
    start_values,
)
from tirx.remarks import MaySpill, NoProductRole, OneAccumulator, OneRoleKept, RolesMade
from tirx.tcgen05.tmem import COLUMNS
from tirx.values import dataclass

AUTO = "auto"

ROLES = "tirx.roles"
"""The attribute of a kernel that says which roles it gets."""

_Stations = frozenset[Place]


@dataclass(frozen=True)
class TirxSpecializeWarpsPass(ModulePass):
    """
    Splits a kernel with rings into roles: `load` fills rings by TMA, `mma` starts products of tcgen05, the rest stays.

    Each role is a copy of the loops with only its own operations; loops keep their symbols and scalars are computed
    again. What the kernel does not write, such as indices of rows, they load again; numbers of iterations that it loads
    in front of its loops are loaded once by all threads. The warps of the kernel stay the first ones of the block, so
    layouts keep their meaning: `warpid` counts in a role. The roles that are added come behind them. Where the target
    can, warps that load give registers to others (`setmaxnreg`), most where the tiles of these need them. `roles` is
    `none`, `load`, `load-mma-epilogue` or `auto`, which looks it up by the family of the products;
    `attributes {tirx.roles = "load"}` says it for one kernel. A remark tells why a kernel stays as it is.
    """

    name = "tirx-specialize-warps"

    roles: str | int = AUTO

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            until = until_fragments(kernel, "tirx-multicast-copies")
            prove_together(kernel, self.name, partial(self._choose, kernel), until)

    def _choose(self, kernel: tirx.KernelOp) -> None:
        word = chosen_word(kernel, ROLES, self.roles, "roles to be", (AUTO, *Roles))
        products = (inner for inner in walk(kernel) if isinstance(inner, ProductOp))
        wanted = start_values(products).roles if word == AUTO else Roles(word)
        if wanted is not Roles.NONE:
            _specialize(kernel, wanted, asked=word != AUTO)


def _specialize(kernel: tirx.KernelOp, wanted: Roles, asked: bool) -> None:
    kinds = {type(op) for op in operations(kernel.body.block)}
    if tirx.RolesOp in kinds or tirx.RingOp not in kinds:
        return
    ops = walk(kernel)
    try:
        if (written := hardware_operation(kernel)) is not None:
            raise NotApplicable(written, f"'{written.name}' is in the terms of the hardware")
        require_no_ordering(kernel)
        for op in ops:
            if isinstance(op, tirx.MmaOp) and op.on_tensor_memory:
                raise NotApplicable(op, f"threads wait for '{op.name}', which needs all of the block")
        places = _places(ops)
        loads = _load_stations(kernel, places)
        _check_sources(ops, loads)
        products = _products(kernel, places) if wanted is Roles.LOAD_MMA_EPILOGUE else frozenset[Place]()
        attempt(kernel, "keeps one role", partial(_split, kernel, loads, products, asked))
    except (NotApplicable, RingError) as e:
        reason, where = (e.reason, e.where) if isinstance(e, NotApplicable) else (e.message, e.origin)
        remark(where if isinstance(where, Operation) else kernel, OneRoleKept(kernel.sym_name.data, reason))


def _places(ops: Sequence[Operation]) -> dict[Operation, list[Place]]:
    """The stations of the slots that operations work on; not those that release one or give a part of it to others."""
    found: dict[Operation, list[Place]] = {}
    for op in ops:
        slots = slot_tiles(op)
        if slots and not (is_pure(op) and any(slot_tile(result) is not None for result in op.results)):
            found[op] = [slot.place for _, slot in slots]
    return found


def _load_stations(kernel: tirx.KernelOp, places: Mapping[Operation, Sequence[Place]]) -> _Stations:
    """The first stations of the rings that TMA fills. Raises NotApplicable if there is none."""
    others: dict[Place, Operation] = {}
    filled: dict[Place, None] = {}
    for op, found in places.items():
        by_tma = isinstance(op, tirx.AsyncCopyOp) and op.queue is tirx.Queue.TMA
        for ring, station in found:
            if station != ring.station_names[0]:
                continue
            if by_tma:
                filled[ring, station] = None
            else:
                others.setdefault((ring, station), op)
    loads = frozenset(station for station in filled if station not in others)
    if not loads:
        raise NotApplicable(next(iter(others.values()), kernel), "no ring is filled by TMA alone")
    return loads


def _check_sources(ops: Sequence[Operation], loads: _Stations) -> None:
    """Raises NotApplicable if the kernel may write what the load role reads, which may run ahead by whole tiles."""
    sources = {tirx.base_allocation(op.operands[0]): op for op in ops if _fills(op, loads)}
    for op in ops:
        written = written_memrefs(op)
        for source in sources if written else ():
            if source in written:
                name = f"%{source.name_hint}" if source.name_hint else "the memory"
                raise NotApplicable(op, f"'{op.name}' may write {name}, which the load role reads ahead")


def _products(kernel: tirx.KernelOp, places: Mapping[Operation, Sequence[Place]]) -> _Stations:
    """The stations of the role of products; empty, with a remark, where it cannot be separated."""
    try:
        return _product_stations(kernel, places)
    except NotApplicable as e:
        remark(e.where, NoProductRole(kernel.sym_name.data, e.reason))
        return frozenset()


def _product_stations(kernel: tirx.KernelOp, places: Mapping[Operation, Sequence[Place]]) -> _Stations:
    """The stations at which products of tcgen05 and the copies of their scale factors work; empty if there are none."""
    issued = [op for op in walk(kernel) if _is_product(op)]
    found: dict[Place, None] = {}
    for op in issued:
        found.update(dict.fromkeys(places.get(op, ())))
        for operand in op.operands:
            if not isinstance(operand.type, tirx.TileType) or slot_tile(operand) is not None:
                continue
            if isinstance(tirx.base_allocation(operand).owner, tirx.AllocOp):
                raise NotApplicable(op, f"'{op.name}' works on a tile that is in no ring")
    if not issued:
        raise NotApplicable(kernel, "no product of tcgen05 is asynchronous")
    for op, at in places.items():
        if not found.keys().isdisjoint(at) and not _is_product(op) and not is_terminator(op):
            raise NotApplicable(op, f"threads do '{op.name}' at a station of the products")
    return frozenset(found)


def _is_product(op: Operation) -> bool:
    match op:
        case tirx.AsyncMmaOp():
            return op.on_tensor_memory
        case tirx.AsyncCopyOp():
            return op.engine.data is tirx.Engine.TCGEN05_CP
        case _:
            return False


def _works(
    ops: Sequence[Operation], loads: _Stations, products: _Stations, requests: _Stations
) -> tuple[set[Operation], set[Operation], set[Operation]]:
    """Returns the operations that work at the stations of each role: those that load, multiply and ask for tiles."""
    loading, multiplying, asking = set[Operation](), set[Operation](), set[Operation]()
    for op in ops:
        match op:
            case tirx.AcquireOp() | tirx.ReleaseOp():
                place = place_of(op)
                for stations, found in ((loads, loading), (products, multiplying), (requests, asking)):
                    if place in stations:
                        found.add(op)
            case tirx.AsyncNextOp():
                asking.add(op)
            case tirx.AsyncCopyOp() | tirx.AsyncMmaOp():
                if _fills(op, loads):
                    loading.add(op)
                if products and _is_product(op):
                    multiplying.add(op)
            case _:
                pass
    return loading, multiplying, asking


def _warps_of_roles(
    kernel: tirx.KernelOp, has_products: bool, requests: int, asked: bool
) -> tuple[tuple[int, int] | None, int, int, int]:
    """Returns the registers of loading and other threads, if they differ, and numbers of warps: all, loading, added.

    Raises NotApplicable where they do not fit.
    """
    warps, rest = divmod(kernel.num_threads, WARP_SIZE)
    if rest:
        raise NotApplicable(kernel, f"{kernel.num_threads} threads are no whole warps")
    moves = warps % WARPGROUP == 0 and not has_products
    moves = moves and ((target := kernel.target_info) is None or supports(target, "setmaxnreg"))
    moves = moves and start_values(op for op in walk(kernel) if isinstance(op, ProductOp)).moves_registers
    registers = role_registers(warps // WARPGROUP, live_registers(kernel)) if moves else None
    load_warps = 1 if registers is None else WARPGROUP
    added = load_warps + ((1 + requests) if has_products else 0)
    if warps + added > MAX_WARPS:
        raise NotApplicable(kernel, f"{warps} and {added} warps are more than the {MAX_WARPS} of a block")
    sums = _carried_registers(kernel)
    if registers is None and sums + WORKING_REGISTERS > (bound := entry_bound(warps + added)):
        reason = (
            f"{warps + added} warps have {bound} registers a thread, of which sums take {sums}, and no instruction of "
            "the target moves registers between warps"
        )
        if not asked:
            raise NotApplicable(kernel, reason)
        remark(kernel, MaySpill(kernel.sym_name.data, reason))
    return registers, warps, load_warps, added


def _split(kernel: tirx.KernelOp, loads: _Stations, products: _Stations, asked: bool) -> None:
    """Moves what the kernel does into roles. Raises NotApplicable before anything is changed.

    Unless roles were `asked` for, a kernel stays whole if more warps leave its threads too few registers.
    """
    ops = walk(kernel)
    requests = _request_stations(ops)
    body = kernel.body.block
    shared = _shared_prelude(kernel)
    parts = [op for op in operations(body) if op not in shared and not isinstance(op, tirx.ReturnOp)]
    inside = {inner: None for op in parts for inner in walk(op)}
    loading, multiplying, asking = works = _works([*inside], loads, products, requests)
    moved = loading | multiplying | asking
    if not products:
        loading |= asking
    registers, warps, load_warps, added = _warps_of_roles(kernel, bool(products), len(requests), asked)
    reads = [_reads(kernel, inside, work) for work in works]
    repeated = set[Operation]().union(*reads)
    # Products of tcgen05 have warps of their own, and so have requests: loads wait for nothing but their slots.
    load, mma, sched = (
        copied_part(parts, (work | read).__contains__) if is_made else None
        for work, read, is_made in zip(works, reads, (True, products, products and requests), strict=True)
    )
    assert load is not None
    location = parts[0].location
    last = body.last_op
    assert last is not None
    main = Block()
    move(parts, main)
    remove_part(main, moved.__contains__)
    if repeated:
        remove_part(main, lambda op: op in repeated and not any(result.uses for result in op.results))
    name = "epilogue" if products else "math"
    load_registers, main_registers = registers or (None, None)
    roles = [
        tirx.RoleOp(name, warps, Region(main), main_registers),
        tirx.RoleOp("load", load_warps, Region(load), load_registers),
        *([] if mma is None else [tirx.RoleOp("mma", 1, Region(mma))]),
        *([] if sched is None else [tirx.RoleOp("sched", 1, Region(sched))]),
    ]
    kernel.threads = i32_attr(WARP_SIZE * (warps + added))
    emit = Emitter(InsertPoint.before(last), location)
    for role in roles:
        role.location = location
    emit(tirx.RolesOp(Region(Block(roles))))
    if products and any(isinstance(op, tirx.TilesOp) for op in ops):
        _double_accumulators(kernel)
    remark(kernel, RolesMade(kernel.sym_name.data, ", ".join(map(_share, roles))))


def _reads(kernel: tirx.KernelOp, inside: Mapping[Operation, None], work: Collection[Operation]) -> set[Operation]:
    """The loads of what the kernel does not write, on whose values the work of a role depends: it does them again.

    Raises NotApplicable for register tiles among these values that are not within each warp.
    """
    pending = [around for op in inside if op in work for around in (op, *ancestors(op)) if around in inside]
    found: set[Operation] = set()
    seen: set[Operation] = set()
    while pending:
        op = pending.pop()
        for value in () if op in seen else _needed(op):
            value = _computed(value)
            if not isinstance(value, OpResult) or (source := value.op) not in inside:
                continue
            if is_register_tile(value):
                layout = tirx.TileType.of(value).layout
                if not isinstance(layout, TileLayout) or set(thread_axes(layout)) - {"laneid"}:
                    raise NotApplicable(source, f"'{op.name}' in another role needs registers of several warps")
            if isinstance(source, tirx.LoadOp | memref.LoadOp) and _is_constant(kernel, source):
                found.add(source)
            if isinstance(source, tirx.MapOp) and is_computed(source):
                found.add(source)
            if source in found or is_computed(source):
                pending.append(source)
        seen.add(op)
    return found


def _computed(value: SSAValue) -> SSAValue:
    """Returns the value inside of a part of a loop that a result of the part is."""
    while isinstance(value, OpResult) and isinstance(part := value.op, tirx.AtOp):
        assert part.body.block.last_op is not None
        value = part.body.block.last_op.operands[value.index]
    return value


def _needed(op: Operation) -> Sequence[SSAValue]:
    """Returns the operands of an operation in a role, but for numbers of iterations, which all roles have to share.

    Loops carry nothing there.
    """
    match op:
        case scf.ForOp():
            return op.lb, op.ub, op.step
        case tirx.ForOp():
            return ()
        case _ if op.regions and not is_computed(op):
            return op.operands
        case _:
            return needed_values(op)


def _is_constant(kernel: tirx.KernelOp, load: tirx.LoadOp | memref.LoadOp) -> bool:
    """Returns True if a load is of an argument in global memory that the kernel does not write."""
    source = tirx.base_allocation(load.operands[0])
    return argument_number(source) is not None and not any(written_memref(op, source) for op in walk(kernel))


def _request_stations(ops: Iterable[Operation]) -> _Stations:
    """The stations at which cluster launch control is asked for tiles."""
    rings = {tirx.RingOp.of(op.ring) for op in ops if isinstance(op, tirx.AsyncNextOp)}
    return frozenset((ring, ring.station_names[0]) for ring in rings)


def _carried_registers(kernel: tirx.KernelOp) -> int:
    """The most 32-bit registers of a thread that tiles take from one iteration of a loop to the next."""
    loops = [op for op in walk(kernel) if isinstance(op, tirx.ForOp)]
    return max((sum(map(_register_bytes, op.finals)) // (4 * kernel.num_threads) for op in loops), default=0)


def _register_bytes(value: SSAValue) -> int:
    """Bytes of a register tile, which may be pending, in all threads together; 0 for a scalar."""
    return tirx.PendingType.tile_of(value).num_bytes if isinstance(value.type, tirx.TileType | tirx.PendingType) else 0


def _share(role: tirx.RoleOp) -> str:
    """The warps and registers of a role in a remark."""
    registers = "" if role.registers is None else f" of {role.registers.value.data} registers"
    return f"@{role.sym_name.data} with {role.num_warps} warp{'' if role.num_warps == 1 else 's'}{registers}"


def _fills(op: Operation, loads: _Stations) -> bool:
    return isinstance(op, tirx.AsyncCopyOp) and (slot := slot_tile(op.destination)) is not None and slot.place in loads


def _shared_prelude(kernel: tirx.KernelOp) -> set[Operation]:
    """Returns what stays around the roles: rings, tiles, and scalars and views that every role can compute.

    Scalars that are loaded are among them where numbers of iterations, which all roles have to share, depend on them,
    and nothing but loads uses the memory.
    """
    found: set[Operation] = set()
    counting = _counting(kernel)
    for op in operations(kernel.body.block):
        match op:
            case tirx.RingOp() | tirx.AllocOp():
                found.add(op)
                continue
            case memref.LoadOp():
                may_share = op in counting and is_constant_load(op)
            case _:
                may_share = is_pure(op) and not op.regions and not any(map(is_register_tile, op.results))
        if may_share and all(not isinstance(v.owner, Operation) or v.owner in found for v in op.operands):
            found.add(op)
    return found


def _counting(kernel: tirx.KernelOp) -> set[Operation]:
    """Returns the operations on whose results numbers of iterations depend."""
    pending = [op.iterations for op in walk(kernel) if isinstance(op, tirx.ForOp)]
    found: set[Operation] = set()
    while pending:
        value = pending.pop()
        if isinstance(value, OpResult) and value.op not in found:
            found.add(value.op)
            pending.extend(value.op.operands)
    return found


def _double_accumulators(kernel: tirx.KernelOp) -> None:
    """Gives accumulators of a persistent kernel two slots where tensor memory has the columns for them.

    Then the products of the next tile run while the epilogue reads those of this one.
    """
    ops = walk(kernel)
    columns = sum(map(allocated_columns, ops))
    slots = (slot_tile(op.accumulator) for op in ops if isinstance(op, tirx.AsyncMmaOp))
    sums = {slot.ring for slot in slots if slot is not None}
    for ring in (op for op in ops if isinstance(op, tirx.RingOp) and op in sums):
        if ring.num_slots != 1 or ring.carries is not None:
            continue
        more = slot_columns(ring)
        if not more or columns + more > COLUMNS:
            remark(ring, OneAccumulator(more, columns))
            continue
        columns += more
        ring.slots = i32_attr(2)
