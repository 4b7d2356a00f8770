"""Roles as branches of warps, with the registers that each of them asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.definition import built
from tirx.dialects.nesting import ancestors
from tirx.dialects.ptx.core import EntryOp, ReadSpecialOp
from tirx.dialects.ptx.launch_control import QueryCancelOp
from tirx.dialects.ptx.memory import MapaOp
from tirx.dialects.ptx.mma import MmaM8N8K4F16Op, MmaM8N8K4F64Op, MmaM16N8Op
from tirx.dialects.ptx.sync import (
    BLOCK_BARRIERS,
    BarrierClusterArriveOp,
    BarrierClusterWaitOp,
    BarSyncOp,
    BarWarpSyncOp,
    FenceMbarrierInitOp,
    RegisterChange,
    SetMaxNRegOp,
)
from tirx.dialects.tirx import AllocOp, ClusterSumOp, CtaRankOp, KernelOp, ReturnOp, RoleOp, RolesOp, ThreadSet, ViewOp
from tirx.dialects.tirx.roles import REGISTER_BOUNDS
from tirx.dialects.traits import is_pure
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter
from tirx.passes.kernels.register_pressure import registers_alive
from tirx.passes.rings.start_values import entry_bound
from tirx.rules import RegisterSumError, RingLoweringError, RoleBarrierError

_MMA = (MmaM8N8K4F16Op, MmaM8N8K4F64Op, MmaM16N8Op)

_OTHER_BLOCKS = ("multicast", "multicast_32b", "cta_group")
"""Clauses of instructions that reach other blocks of a cluster, beside `ptx.mapa`."""

_SPARE = 32
"""Registers of a thread beside those that are alive at one place before ptxas orders the instructions."""


def meet(threads: ThreadSet, kernel: KernelOp, op: Operation, emit: Emitter) -> tuple[()]:
    """Lets all of some threads of a kernel wait for each other. LocatedError at `op` where they cannot meet."""
    if threads.barrier is None:
        raise RingLoweringError(op, "expected no barrier where a part of the threads that could meet runs the region")
    if threads.barrier >= BLOCK_BARRIERS:
        raise RoleBarrierError(
            op,
            f"expected a barrier in one of the first {BLOCK_BARRIERS - 1} roles, as a block has {BLOCK_BARRIERS} and "
            f"all threads meet at one, found it in role {threads.barrier}",
        )
    if threads.barrier:
        emit(BarSyncOp(threads.barrier, threads.count))
    elif kernel.in_clusters and not _by_rank(op):
        # All blocks, since one may read from global memory what another wrote.
        meet_cluster(emit, relaxed=op.parent is kernel.body.block and _is_behind_inits(op))
    else:
        emit(BarSyncOp(0))
    return ()


def leaves_alone(op: RolesOp, kernel: KernelOp) -> bool:
    """Returns True for roles behind which a block of a cluster may end: nothing of it follows, and others read nothing
    of its shared memory but sums, behind which all have met.
    """
    if not kernel.in_clusters or not isinstance(op.next_op, ReturnOp):
        return False
    has_sums = False
    for inner in kernel.walk():
        if isinstance(inner, MapaOp) or any(getattr(inner, name, None) is not None for name in _OTHER_BLOCKS):
            return False
        has_sums |= isinstance(inner, ClusterSumOp)
    return has_sums


def _is_behind_inits(op: Operation) -> bool:
    """Returns True where no thread has done anything before but one, which has made mbarriers and their fence.

    Arriving at a barrier of the cluster need not order anything then (PTX ISA, "fence.mbarrier_init").
    """
    before: list[Operation] = []
    while (made := op.prev_op) is not None:
        op = made
        if made.regions or not (is_pure(made) or isinstance(made, AllocOp | ViewOp | scf.IfOp)):  # not what is lowered
            before.append(made)
    if len(before) != 1 or not isinstance(before[0], scf.IfOp):
        return False
    last = before[0].regions[0].block.last_op
    return last is not None and isinstance(last.prev_op, FenceMbarrierInitOp)


def _by_rank(op: Operation) -> bool:
    """Returns True inside loops and branches that blocks of one cluster run differently, as they come from the rank."""
    around = [each for each in ancestors(op) if isinstance(each, scf.ForOp | scf.WhileOp | scf.IfOp)]
    known, new = set[SSAValue](), {operand for each in around for operand in each.operands}
    while new:
        if any(map(_is_rank, new)):
            return True
        known |= new
        new = {source for each in new for source in _sources(each)} - known
    return False


def _is_rank(value: SSAValue) -> bool:
    match value.owner:
        case ReadSpecialOp(register=register):
            return register.data.value == "cluster_ctarank"
        case owner:
            return isinstance(owner, CtaRankOp)


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """Returns the values that one is computed from, in loops those of all rounds."""
    owner = value.owner
    if isinstance(owner, Block):
        owner = around if isinstance(around := owner.parent_op(), scf.ForOp | scf.WhileOp) else None
    return () if owner is None else [*owner.operands, *(end for region in owner.regions for end in _ends(region))]


def _ends(region: Region) -> Iterator[SSAValue]:
    """Values that the blocks of a region give to the operation around it."""
    for block in region.blocks:
        if block.last_op is not None:
            yield from block.last_op.operands


def meet_cluster(emit: Emitter, *, relaxed: bool = False) -> None:
    """Lets all threads of a cluster that have not ended wait for each other; `relaxed` orders nothing.

    Both instructions are `.aligned`, and one lane may have taken a branch before them, which nothing promises to end
    together (PTX ISA, 3.1.1).
    """
    emit(BarWarpSyncOp())
    emit(BarrierClusterArriveOp(relaxed=relaxed, aligned=True))
    emit(BarrierClusterWaitOp(aligned=True))


def role_branches(op: RolesOp, emit: Emitter, thread: SSAValue) -> Iterator[tuple[RoleOp, Block, SSAValue]]:
    """
    Moves the body of every role into a branch that its warps take, and yields it for what is still to be done inside.

    With each role comes its block and, for a thread of it, the index within the role (i32); `thread` is that within the
    block. A role with `registers(n)` starts with `setmaxnreg`: what some roles give back is what others get, so that
    the sum is that of the entry (PTX ISA, "setmaxnreg"). Raises LocatedError where it is not.
    """
    entry = entry_registers(op).data
    _check_sum(op, entry)
    branches: list[tuple[SSAValue, RoleOp]] = []
    for role in op.roles:
        threads = role.thread_set
        block = role.body.block
        inside = Emitter(InsertPoint.at_start(block), role.location)
        count = entry if role.registers is None else role.registers.value.data
        if count > entry:
            inside(SetMaxNRegOp(RegisterChange.INC, count))
        if count < entry:
            inside(SetMaxNRegOp(RegisterChange.DEC, count))
        runs = _runs(emit, thread, threads.first, threads.count)
        yield role, block, inside.add(thread, -threads.first)
        Emitter(InsertPoint.at_end(block), role.location)(built(scf.YieldOp))
        branches.append((runs, role))
    for runs, role in branches:
        emit(built(scf.IfOp, (runs,), regions=(role.detach_region(role.body), Region())))


def _runs(emit: Emitter, thread: SSAValue, first: int, count: int) -> SSAValue:
    """Emits a predicate that holds in threads that are one of `count` from `first` on."""
    distance = emit.add(thread, -first)
    return emit.compare(distance, emit.constant(count, i32), "ult")


def entry_registers(op: RolesOp) -> IntAttr:
    """The most registers that each thread can have at the entry; where roles ask for some, a multiple of 8.

    `ptxas` ignores `setmaxnreg` in an entry without `.maxnreg`, whose registers it chooses itself. Then it also spills
    to let more blocks run on an SM, of which rings leave room for one.
    """
    bound = entry_bound(sum(role.num_warps for role in op.roles))
    if all(role.registers is None for role in op.roles):
        return IntAttr(bound)
    step = REGISTER_BOUNDS[2]
    return IntAttr(bound // step * step)


def bound_registers(entry: EntryOp, ops: Sequence[Operation], threads: int, given: IntAttr | None, shared: int) -> None:
    """Keeps ptxas from spilling registers to let one block more of so many threads, with `shared` bytes, run on an SM.

    `ops` are all operations of the entry. Roles have `given` a bound. Kernels that take over tiles of other blocks get
    the most that each thread can have, those that multiply by `mma.sync`, whose fragments and sums take most registers,
    as many as the blocks leave that fit into the shared memory of an SM and have the registers that are alive at one
    place and some more.
    """
    kinds, warps = {*map(type, ops)}, -(-threads // WARP_SIZE)
    entry.maxnreg = given
    if given is None and QueryCancelOp in kinds:
        entry.maxnreg = IntAttr(entry_bound(warps))
    elif given is None and not kinds.isdisjoint(_MMA):
        needed = _SPARE + max(registers_alive(op) for op in ops if isinstance(op, EntryOp | scf.ForOp))
        limit = entry.target_info.blocks_of_sm(shared)
        bounds = [bound for blocks in range(1, limit + 1) if (bound := entry_bound(blocks * warps)) >= needed]
        entry.maxnreg = IntAttr(min(bounds, default=entry_bound(warps)))


def _check_sum(op: RolesOp, entry: int) -> None:
    given = [(role.thread_set.count, role.registers.value.data) for role in op.roles if role.registers is not None]
    used = sum(threads * registers for threads, registers in given)
    available = entry * sum(threads for threads, _ in given)
    if used > available:
        raise RegisterSumError(
            op,
            f"expected at most {available} registers in all roles together, {entry} of each thread at the entry, "
            f"found {used}",
        )
