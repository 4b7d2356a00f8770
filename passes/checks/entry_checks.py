"""Checks rules between the tcgen05 instructions of one entry, and of its target. `ptxas` looks at none of them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, lru_cache
from typing import cast

from xdsl.ir import Block, Operation, SSAValue

from tirx.diagnostics import Errors, warn
from tirx.dialects.nesting import Listed, walk
from tirx.dialects.ptx.arith import AndOp
from tirx.dialects.ptx.base import PTXInstruction
from tirx.dialects.ptx.core import CondBraOp, EntryOp
from tirx.dialects.ptx.effects import Issue
from tirx.dialects.ptx.known_bits import EVERYTHING, bits_found_once
from tirx.dialects.ptx.sync import ElectSyncOp
from tirx.dialects.ptx.tma import CpAsyncBulkTensorLoadOp
from tirx.dialects.tcgen05 import (
    AllocOp,
    CtaGroupOp,
    DeallocOp,
    RelinquishAllocPermitOp,
    Tcgen05Op,
    address_operand,
    allocation_of,
)
from tirx.dialects.wgmma import MmaAsyncOp
from tirx.hw.targets import Target
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.control_flow import ControlFlow
from tirx.passes.match.product import legal
from tirx.rules import AllocationError, CollectorError, CtaGroupError, IssueError
from tirx.tcgen05.check import Mma, check_instruction
from tirx.tcgen05.check_memory import LdSt
from tirx.tcgen05.mma_info import MmaInfo
from tirx.tcgen05.tmem import COLUMNS, EXCLUSIVE_SIZES
from tirx.wgmma.check import Wgmma, WgmmaFacts, check_wgmma


@bits_found_once()
def check_entry(entry: EntryOp, target: Target, inside: Listed | None = None) -> None:
    """
    Raises LocatedError, with the fix, at an instruction that breaks a rule of `tirx.tcgen05.check` (on this target) or
    `tirx.wgmma.check`, with the others that do as its `others`; if there is none, at the first instruction that does
    not fit the others of the entry, whose operations are those `inside` of it.
    """
    inside = Listed(walk(entry)) if inside is None else inside
    instructions = cast("list[Tcgen05Op]", inside.where(_is_tcgen05))
    products, loads = inside.of(MmaAsyncOp), inside.of(CpAsyncBulkTensorLoadOp)
    described = [(op, description) for op in instructions if (description := op.description) is not None]
    errors = Errors()
    for op, description in described:
        with errors.attempt():
            with legal(op):
                check_instruction(description, target.name)
            if isinstance(description, Mma):
                for message, name in _suspicions(description):
                    warn(op, message, name)
    for op in products:
        with errors.attempt():
            product = replace(op.description, threads=_threads(entry))
            with legal(op):
                check_wgmma(product)
            for message, name in _suspicions(product):
                warn(op, message, name)
    errors.raise_all()
    flow = ControlFlow(entry)
    _check_issue(entry, flow, inside)
    _check_cta_groups(entry, instructions, loads)
    _check_lanes(entry, [(op, access) for op, access in described if isinstance(access, LdSt)], flow)
    _check_allocations(instructions, flow)
    _check_collectors([(op, product) for op, product in described if isinstance(product, Mma)], flow)


@lru_cache(maxsize=256)
def _suspicions(product: Mma | Wgmma) -> list[tuple[str, str]]:
    """Messages of what is legal in a product and nearly always a mistake, each with the name of its warning."""
    info = MmaInfo(product) if isinstance(product, Mma) else WgmmaFacts(product)
    late = info.late_starts if isinstance(info, MmaInfo) else ()
    return [*((each, "aliased-elements") for each in info.aliases), *((each, "mask-start-count") for each in late)]


def _check_cta_groups(entry: EntryOp, instructions: list[Tcgen05Op], loads: list[CpAsyncBulkTensorLoadOp]) -> None:
    """
    `ptxas` 13.0 and later rejects a kernel that mixes `.cta_group::1` and `.cta_group::2`; 12.9 accepts it. No release
    looks at the cluster, whose CTAs form pairs (PTX ISA, "CTA Pair").
    """
    first: CtaGroupOp | None = None
    for op in instructions:
        if not isinstance(op, CtaGroupOp):
            continue
        if first is None:
            first = op
        elif op.group != first.group:
            raise CtaGroupError(
                op, f"expected {first.group} as in '{first.name}', found {op.group}: a kernel uses one cta_group"
            )
    pair = first if first is not None and first.group == "cta_group::2" else _load_of_a_pair(loads)
    if pair is not None and entry.cluster is not None and entry.cluster_size % 2:
        raise CtaGroupError(
            pair,
            f"expected a cluster of pairs of CTAs for cta_group::2, found {entry.cluster_size} "
            f"{'CTA' if entry.cluster_size == 1 else 'CTAs'} in a cluster of @{entry.sym_name.data}",
        )


def _load_of_a_pair(loads: list[CpAsyncBulkTensorLoadOp]) -> CpAsyncBulkTensorLoadOp | None:
    """
    The first TMA load that may signal the other CTA of a pair. It may be in a kernel of either cta_group: that of TMA
    says where the mbarrier is (PTX ISA, "cp.async.bulk.tensor").
    """
    return next((op for op in loads if op.cta_group is not None and op.cta_group.value.data == 2), None)


def _check_issue(entry: EntryOp, flow: ControlFlow, inside: Listed) -> None:
    """Checks the threads that execute each instruction, as each starts it once more (PTX ISA, "Issue Granularity")."""
    threads = _threads(entry)
    elected = _elected_blocks(flow)
    for op in inside.where(_may_be_issued_together):
        if op.parent not in flow.position or not isinstance(op, PTXInstruction) or (issue := op.issue) is Issue.THREAD:
            continue
        if threads is not None and issue in (Issue.ONE_THREAD, Issue.ONE_WARP) and flow.is_executed_by_all(op):
            if issue is Issue.ONE_THREAD and threads > 1:
                raise IssueError(
                    op,
                    f"expected one thread to execute '{op.name}', found all {threads} of the CTA; elect one of a warp",
                )
            if issue is Issue.ONE_WARP and threads > WARP_SIZE:
                raise IssueError(
                    op,
                    f"expected one warp to execute '{op.name}', found all {threads // WARP_SIZE} of the CTA; choose "
                    "one",
                )
        if issue.is_converged and op.parent in elected:
            raise IssueError(
                op,
                f"expected all threads of a warp to execute '{op.name}', found the one that elect.sync chose; leave "
                "its branch first",
            )


@cache
def _is_tcgen05(kind: type[Operation]) -> bool:
    return issubclass(kind, Tcgen05Op)


@cache
def _may_be_issued_together(kind: type[Operation]) -> bool:
    """Returns False for instructions that each thread executes by itself, in all their forms."""
    return issubclass(kind, PTXInstruction) and (
        kind.issue is not PTXInstruction.issue or kind.ISSUE is not Issue.THREAD
    )


def _threads(entry: EntryOp) -> int | None:
    """Threads of a CTA, None where the entry does not say."""
    return None if entry.reqntid is None else math.prod(n.data for n in entry.reqntid)


def _elected_blocks(flow: ControlFlow) -> set[Block]:
    """The blocks that only a thread comes to that `elect.sync` chose, by a branch that leads nowhere else."""
    elected: set[Block] = set()
    for block in flow.blocks:
        if len(before := flow.predecessors(block)) != 1:
            continue
        branch = before[0].last_op
        if before[0] in elected or (
            isinstance(branch, CondBraOp)
            and branch.then_dest is block is not branch.else_dest
            and _implies_elected(branch.condition)
        ):
            elected.add(block)
    return elected


def _implies_elected(condition: SSAValue) -> bool:
    op = condition.owner
    if isinstance(op, AndOp):
        return _implies_elected(op.lhs) or _implies_elected(op.rhs)
    return isinstance(op, ElectSyncOp)


def _check_lanes(entry: EntryOp, accesses: list[tuple[Tcgen05Op, LdSt]], flow: ControlFlow) -> None:
    """A warp reaches its own lanes only (PTX ISA, "Access restrictions"); an address that is one for all does not."""
    threads = _threads(entry)
    if threads is None or threads <= WARP_SIZE:
        return
    for op, access in accesses:
        if access.lane is not None and flow.is_executed_by_all(op):
            other = 1 if access.lane < WARP_SIZE else 0
            with legal(op):
                check_instruction(replace(access, warp=other))


def _check_allocations(instructions: list[Tcgen05Op], flow: ControlFlow) -> None:
    """Nothing is allocated after the permit is given up, sizes do not increase, and all is given back, in the sizes it
    was allocated in (PTX ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit")."""
    allocated = [op for op in instructions if isinstance(op, AllocOp)]
    freed = [op for op in instructions if isinstance(op, DeallocOp)]
    for op in freed:
        place = address_operand(op.address, EVERYTHING)
        if place.allocated is not None and place.column:
            raise AllocationError(
                op,
                f"expected the address that tcgen05.alloc wrote, found column {place.column} of the {place.allocated} "
                "allocated there; give back all of them",
            )
    origins = [allocation_of(op.address) for op in freed]
    for op in allocated:
        for permit in instructions:
            if isinstance(permit, RelinquishAllocPermitOp) and flow.may_follow(op, permit):
                raise AllocationError(
                    op, "expected no allocation after tcgen05.relinquish_alloc_permit, found one; allocate first"
                )
        if op not in origins and None not in origins:
            raise AllocationError(
                op,
                "expected a tcgen05.dealloc of what is allocated before the kernel ends, found none; the columns would "
                "stay taken on the multiprocessor",
            )
        for other in allocated:
            found, most = op.describe(EVERYTHING).columns, other.describe(EVERYTHING).columns
            if found is not None and most is not None and found > most and flow.always_before(other, op):
                raise AllocationError(
                    op,
                    f"expected at most the {most} columns of the allocation before, found {found}; allocate more first",
                )
    for op, origin in zip(freed, origins, strict=True):
        if origin is None:
            continue
        found, expected = op.describe(EVERYTHING).columns, origin.describe(EVERYTHING).columns
        if found is not None and expected is not None and found != expected:
            raise AllocationError(
                op, f"expected the {expected} columns that were allocated there, found {found}; give back all of them"
            )
        if op.exclusive != origin.exclusive:
            raise AllocationError(op, "expected 'exclusive' on both tcgen05.alloc and tcgen05.dealloc, found it on one")
    _check_capacity(instructions)


def _check_capacity(instructions: list[Tcgen05Op]) -> None:
    """An allocation waits until there is room: for ever, where the CTA itself holds it."""
    live, block = 0, None
    for op in instructions:
        if not isinstance(op, AllocOp | DeallocOp):
            continue
        columns = op.describe(EVERYTHING).columns
        live, block = (live if op.parent is block else 0), op.parent
        if isinstance(op, DeallocOp):
            live = 0 if columns is None else max(0, live - columns)
        else:
            if live and op.exclusive is not None:
                raise AllocationError(op, f"expected nothing beside an exclusive allocation, found {live} columns")
            live += columns or 0
        if live > (COLUMNS if op.exclusive is None else EXCLUSIVE_SIZES[-1]):
            raise AllocationError(
                op, f"expected at most {COLUMNS} columns to be allocated at a time, found {live}; give some back first"
            )


def _check_collectors(products: list[tuple[Tcgen05Op, Mma]], flow: ControlFlow) -> None:
    """A collector buffer that is used has been filled (PTX ISA, "tcgen05.mma: .collector_usage")."""
    usages = [
        (op, buffer, usage)
        for op, product in products
        for buffer, usage in ((product.collector_buffer, product.collector_usage), ("b", product.collector_b))
    ]
    for op, buffer, usage in usages:
        if usage not in ("use", "lastuse"):
            continue
        if not any(
            (filled, other_usage) == (buffer, "fill") and flow.may_follow(op, other)
            for other, filled, other_usage in usages
        ):
            raise CollectorError(
                op,
                f"expected .collector::{buffer}::fill before .collector::{buffer}::{usage}, found none; fill the "
                "buffer with the first product",
            )
