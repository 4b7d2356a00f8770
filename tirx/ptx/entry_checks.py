"""What must hold between the tcgen05 instructions of one entry, and on its target. `ptxas` looks at none of it."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.core import EntryOp
from tirx.dialects.ptx.memory import LdOp
from tirx.dialects.ptx.tcgen05 import (
    CtaGroupOp,
    Tcgen05AllocOp,
    Tcgen05DeallocOp,
    Tcgen05Op,
    Tcgen05RelinquishAllocPermitOp,
    Tcgen05WaitLdOp,
    immediate,
)
from tirx.dialects.ptx.tcgen05_ld_st import Tcgen05LdOp, Tcgen05LdRedOp
from tirx.dialects.ptx.tcgen05_mma import Tcgen05MmaWsOp
from tirx.ptx.targets import Target
from tirx.tcgen05 import LegalityError
from tirx.tcgen05.check import check_instruction


def check_entry(entry: EntryOp, target: Target) -> None:
    """Raises LocatedError, with the fix, at the first instruction that breaks a rule of `tirx.tcgen05.check` on this
    target, or does not fit the others of the entry."""
    instructions = [op for op in entry.body.walk() if isinstance(op, Tcgen05Op)]
    for op in instructions:
        if (description := op.description) is None:
            continue
        try:
            check_instruction(description, target.name)
        except LegalityError as error:
            raise LocatedError(op, str(error)) from error
    _check_cta_groups(entry, instructions)
    _check_allocations(instructions)
    _check_loads(instructions)


def _check_cta_groups(entry: EntryOp, instructions: list[Tcgen05Op]) -> None:
    """
    `ptxas` 13.0 and later rejects a kernel that mixes `.cta_group::1` and `.cta_group::2`; 12.9 accepts it. No release
    looks at the cluster, whose CTAs form pairs (PTX ISA, "CTA Pair").
    """
    first: CtaGroupOp | Tcgen05MmaWsOp | None = None
    for op in instructions:
        if not isinstance(op, CtaGroupOp | Tcgen05MmaWsOp):
            continue
        if first is None:
            first = op
        elif op.group != first.group:
            raise LocatedError(
                op, f"expected {first.group} as in '{first.name}', got {op.group}: a kernel uses one cta_group"
            )
    if first is not None and first.group == "cta_group::2" and entry.cluster is not None and entry.cluster_size % 2:
        raise LocatedError(
            first,
            f"expected a cluster of pairs of CTAs for {first.group}, got {entry.cluster_size} "
            f"{'CTA' if entry.cluster_size == 1 else 'CTAs'} in a cluster of @{entry.sym_name.data}",
        )


def _check_allocations(instructions: list[Tcgen05Op]) -> None:
    """Nothing is allocated after the permit is given up, and all is given back, in the sizes it was allocated in (PTX
    ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit")."""
    allocated: dict[SSAValue, Tcgen05AllocOp] = {}
    freed = [op for op in instructions if isinstance(op, Tcgen05DeallocOp)]
    given_up = [op for op in instructions if isinstance(op, Tcgen05RelinquishAllocPermitOp)]
    for op in instructions:
        if not isinstance(op, Tcgen05AllocOp):
            continue
        if any(op is later for permit in given_up for later in _after(permit)):
            raise LocatedError(
                op, "expected no allocation after tcgen05.relinquish_alloc_permit, got one; allocate first"
            )
        if not freed:
            raise LocatedError(
                op,
                "expected a tcgen05.dealloc of what is allocated before the kernel ends, got none; the columns would "
                "stay taken on the multiprocessor",
            )
        allocated[op.dst] = op
    for op in freed:
        base = op.taddr.owner
        if not isinstance(base, LdOp) or base.offset.value.data or (origin := allocated.get(base.address)) is None:
            continue
        found, expected = _columns(op), _columns(origin)
        if found is not None and expected is not None and found != expected:
            raise LocatedError(
                op, f"expected the {expected} columns that were allocated there, got {found}; give back all of them"
            )


def _columns(op: Tcgen05AllocOp | Tcgen05DeallocOp) -> int | None:
    return immediate(op.columns_register) if op.columns is None else op.columns.value.data


def _after(op: Operation) -> Iterator[Operation]:
    """The operations that follow in the same block."""
    following = op.next_op
    while following is not None:
        yield following
        following = following.next_op


def _check_loads(instructions: list[Tcgen05Op]) -> None:
    """The registers of an asynchronous load have no value before a wait (PTX ISA, "tcgen05.wait")."""
    for load in instructions:
        if not isinstance(load, Tcgen05LdOp | Tcgen05LdRedOp):
            continue
        registers = frozenset(load.results)
        for op in _after(load):
            if isinstance(op, Tcgen05WaitLdOp):
                break
            if not registers.isdisjoint(op.operands):
                raise LocatedError(
                    op, f"expected tcgen05.wait::ld between '{load.name}' and the use of its registers, got none"
                )
