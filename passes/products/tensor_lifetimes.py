"""From its allocation to its end: what a kernel written with `tcgen05` operations may do with tensor memory, and when.

`ptxas` looks at none of it. PTX ISA, "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit".
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from tirx.dialects.nesting import ancestors, enclosing, walk
from tirx.dialects.ptx.known_bits import EVERYTHING
from tirx.dialects.ptx.memory import LdOp
from tirx.dialects.tcgen05 import AllocOp, DeallocOp, TileOp
from tirx.dialects.tirx import KernelOp, ReshapeOp, SubviewOp, TileType
from tirx.dialects.xdsl_private import operands_of
from tirx.rules import AllocationError
from tirx.tcgen05.tmem import COLUMNS
from tirx.values import dataclass, field


@dataclass
class _Allocation:
    """One `tcgen05.alloc`, and what has given it back so far."""

    op: AllocOp
    freed: list[DeallocOp] = field(default_factory=list[DeallocOp])

    @property
    def columns(self) -> int | None:
        """None if a register says it."""
        return self.op.describe(EVERYTHING).columns

    def freed_before(self, op: Operation) -> bool:
        """Returns True if a dealloc has run when `op` does; one in the other branch of a condition has not."""
        return any(not _exclusive(dealloc, op) for dealloc in self.freed)


_FOLLOWED = frozenset((AllocOp, LdOp, DeallocOp, TileOp, SubviewOp, ReshapeOp))
"""The operations that give, take back or pass on columns of tensor memory, or their address."""


def check_lifetimes(kernel: KernelOp) -> None:
    """Checks the allocations of a kernel in the order of its text. An allocation is known by the slot in shared memory
    that its address is read from; addresses that come from elsewhere are not followed.

    Raises LocatedError at an allocation larger than one before it, or beyond the columns there are next to those that
    are not given back; at a use of columns that were given back; and at an allocation that nothing gives back.
    """
    allocations: list[_Allocation] = []
    addresses: dict[SSAValue, _Allocation] = {}
    tiles: dict[SSAValue, _Allocation] = {}
    followed, freed = True, False
    for op in walk(kernel):
        if type(op) not in _FOLLOWED:
            if freed:
                _check_use(op, tiles)
            continue
        match op:
            case AllocOp():
                _check_size(op, allocations)
                allocations.append(_Allocation(op))
            case LdOp():
                found = [each for each in allocations if each.op.address is op.address and not op.offset.value.data]
                if found:
                    addresses[op.res[0]] = found[-1]
            case DeallocOp() if (allocation := addresses.get(op.address)) is not None:
                _check_dealloc(op, allocation)
                allocation.freed.append(op)
                freed = True
            case DeallocOp():
                followed = False
            case TileOp() if (allocation := addresses.get(op.base)) is not None:
                tiles[op.result] = allocation
            case SubviewOp() | ReshapeOp() if (allocation := tiles.get(op.source)) is not None:
                tiles[op.result] = allocation
            case _:
                _check_use(op, tiles)
    for allocation in allocations:
        if not allocation.freed and followed:
            raise AllocationError(
                allocation.op,
                f"expected a tcgen05.dealloc of these {allocation.columns} columns before the kernel ends, found none; "
                "no other block could allocate them",
            )


def _check_size(op: AllocOp, before: list[_Allocation]) -> None:
    if (columns := op.describe(EVERYTHING).columns) is None:
        return
    earlier = [each for each in before if not _exclusive(each.op, op)]
    smallest = min((each.columns for each in earlier if each.columns is not None), default=COLUMNS)
    if columns > smallest:
        raise AllocationError(
            op,
            f"expected at most the {smallest} columns of an allocation before this one, found {columns}: sizes must "
            "not grow; allocate the largest first",
        )
    taken = sum(each.columns or 0 for each in earlier if not each.freed_before(op))
    if taken + columns > COLUMNS:
        raise AllocationError(
            op, f"expected at most {COLUMNS - taken} columns next to the {taken} that are allocated, found {columns}"
        )


def _check_dealloc(op: DeallocOp, allocation: _Allocation) -> None:
    if allocation.freed_before(op):
        raise AllocationError(op, "expected columns that are allocated, found some that were given back before")
    around = enclosing(op, scf.ForOp, scf.WhileOp)
    if around is not None and around not in ancestors(allocation.op):
        raise AllocationError(
            op, "expected columns that are allocated in this loop, found some from before it; give them back after it"
        )


def _check_use(op: Operation, tiles: dict[SSAValue, _Allocation]) -> None:
    for operand in operands_of(op):
        allocation = tiles.get(operand)
        if allocation is not None and allocation.freed_before(op):
            raise AllocationError(
                op,
                f"expected a tile in columns that are allocated, found {TileType.of(operand)} in some that were given "
                "back before",
            )


def _exclusive(a: Operation, b: Operation) -> bool:
    """Returns True if two operations are in different branches of one condition, so that only one of them runs."""
    branches = dict(_branches(a))
    return any(each in branches and branches[each] is not region for each, region in _branches(b))


def _branches(op: Operation) -> list[tuple[Operation, object]]:
    """The conditions around an operation, each with the region that holds it."""
    found: list[tuple[Operation, object]] = []
    inner = op
    for around in ancestors(op):
        if isinstance(around, scf.IfOp):
            found.append((around, inner.parent_region()))
        inner = around
    return found
