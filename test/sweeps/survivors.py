"""
Why a deleted instruction is missed by nobody: reasons that can be checked, for `deleted_synchronization`.

Instructions whose deletion nobody sees are deleted together, one more at a time. One that is seen then was covered by
one that was gone before: the two are named, and what is reported without both. Those that remain are not needed by the
run at all; where no path from such an instruction, or to it, has anything to order, that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation

from tirx.dialects import tcgen05
from tirx.dialects.ptx import EntryOp
from tirx.dialects.ptx.base import PTXInstruction

_GENERIC_WRITES = {"st", "st.u8", "red", "stmatrix", "cp.async", "mbarrier.init"}
_ASYNC = {
    "cp.async.bulk.tensor.load", "cp.async.bulk.tensor.store", "wgmma.mma_async", "clusterlaunchcontrol.try_cancel",
    "tcgen05.mma", "tcgen05.mma.block_scale", "tcgen05.mma.ws", "tcgen05.cp",
}  # fmt: skip
_TENSOR = {
    "tcgen05.mma", "tcgen05.mma.block_scale", "tcgen05.mma.ws", "tcgen05.cp", "tcgen05.ld", "tcgen05.ld.red",
    "tcgen05.st", "tcgen05.shift", "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.commit",
}  # fmt: skip
_WAITS = {"mbarrier.wait_parity", "mbarrier.test_wait_parity", "cp.async.wait_group", "cp.async.bulk.wait_group"}
_MEMORY = {
    *_GENERIC_WRITES, *_ASYNC, *_TENSOR, *_WAITS, "ld", "ld.u8", "ldmatrix", "mbarrier.arrive",
    "mbarrier.arrive.expect_tx", "cp.async.mbarrier.arrive", "clusterlaunchcontrol.query_cancel", "wgmma.wait_group",
}  # fmt: skip
_BARRIERS = {"bar.sync", "barrier.cluster.wait"}


@dataclass(frozen=True)
class Rule:
    """Order by an instruction: instructions before it with those behind it, up to `others`, which do the same."""

    before: set[str]
    behind: set[str]
    others: set[str]


RULES = {
    "bar.sync": Rule(_MEMORY, _MEMORY, _BARRIERS),
    "barrier.cluster.arrive": Rule(_MEMORY, _MEMORY, {"barrier.cluster.arrive"}),
    "barrier.cluster.wait": Rule(_MEMORY, _MEMORY, {"barrier.cluster.wait"}),
    "fence.proxy.async": Rule(_GENERIC_WRITES, _ASYNC, {"fence.proxy.async"}),
    "fence.mbarrier_init": Rule({"mbarrier.init"}, _MEMORY, {"fence.proxy.async", "fence.mbarrier_init", *_BARRIERS}),
    "tcgen05.fence.before_thread_sync": Rule(_TENSOR, _TENSOR, {"tcgen05.fence.before_thread_sync"}),
    "tcgen05.fence.after_thread_sync": Rule(_TENSOR, _TENSOR, {"tcgen05.fence.after_thread_sync"}),
    "tcgen05.wait.st": Rule({"tcgen05.st"}, _TENSOR, {"tcgen05.wait.st"}),
    "tcgen05.wait.ld": Rule({"tcgen05.ld", "tcgen05.ld.red"}, _MEMORY, {"tcgen05.wait.ld"}),
    "cp.async.commit_group": Rule({"cp.async"}, {"cp.async.wait_group"}, {"cp.async.commit_group"}),
    "cp.async.wait_group": Rule({"cp.async"}, _MEMORY, {"cp.async.wait_group"}),
    "wgmma.wait_group": Rule({"wgmma.mma_async"}, _MEMORY, {"wgmma.wait_group"}),
}
"""Instruction -> what it orders (PTX ISA, the section of each)."""


def name_of(op: Operation) -> str:
    """Returns the name of an instruction, with what it waits for or where it fences."""
    match op:
        case tcgen05.WaitOp():
            return f"{op.name}.{op.kind.data.value}"
        case tcgen05.FenceOp():
            return f"{op.name}.{op.position.data.value}"
        case _:
            return op.name.removeprefix("ptx.")


def _reaches(op: Operation, wanted: set[str], others: set[str], forward: bool) -> bool:
    """Returns True if a path from an operation, or to it, has one of `wanted` in front of the first of `others`."""
    block, seen = op.parent_block(), set[Block]()
    assert block is not None
    waiting: list[tuple[Block, Operation | None]] = [(block, op.next_op if forward else op.prev_op)]
    while waiting:
        block, at = waiting.pop()
        while at is not None and name_of(at) not in others:
            if name_of(at) in wanted:
                return True
            at = at.next_op if forward else at.prev_op
        if at is not None:
            continue
        last = block.last_op
        nexts = block.predecessors() if not forward else () if last is None else last.successors
        for each in nexts:
            if each not in seen:
                seen.add(each)
                waiting.append((each, each.first_op if forward else each.last_op))
    return False


def _kernel_of(op: Operation) -> EntryOp:
    while not isinstance(op, EntryOp):
        parent = op.parent_op()
        assert parent is not None
        op = parent
    return op


def _is_converged(op: Operation) -> bool:
    return isinstance(op, PTXInstruction) and op.issue.is_converged


def nothing_to_order(op: Operation) -> str | None:
    """Accesses of which an instruction has none on one of its sides; None where it has some on both, or has no rule."""
    name = name_of(op)
    if name == "mbarrier.init":
        uses = [use.operation for value in op.operands[:1] for use in value.uses if use.operation is not op]
        return "no instruction uses the mbarrier" if not uses else None
    if name == "bar.warp.sync":
        whole = {name_of(each) for each in _kernel_of(op).walk() if _is_converged(each)} - _BARRIERS
        behind = _reaches(op, whole, {"bar.sync", "bar.warp.sync"}, True)
        return (
            None if behind else "no instruction of a whole warp behind it, up to another `bar.sync` or `bar.warp.sync`"
        )
    if (rule := RULES.get(name)) is None:
        return None
    for wanted, forward, where in ((rule.before, False, "before"), (rule.behind, True, "behind")):
        if not _reaches(op, wanted, rule.others, forward):
            return (
                f"nothing to order {where} it, up to another {' or '.join(f'`{each}`' for each in sorted(rule.others))}"
            )
    return None


@dataclass(frozen=True)
class Reason:
    """
    Why nobody sees a deletion. `kind`: `covered` (something else that is deletable alone does the same), `nothing to
    order`, or `not needed` (by the run: it stays right without all of these at once).
    """

    kind: str
    detail: str


def reasons(ops: Sequence[Operation], seen: Callable[[Sequence[Operation]], str | None]) -> list[Reason]:
    """The reason for each of the instructions of a kernel; `seen` says what is reported without some of them."""
    gone: list[Operation] = []
    found: dict[Operation, Reason] = {}
    for op in ops:
        if (message := seen([*gone, op])) is None:
            gone.append(op)
            continue
        for other in sorted(gone, key=lambda each: abs(ops.index(each) - ops.index(op))):
            if (both := seen([other, op])) is not None:
                found[op] = Reason("covered", f"by {_numbered(other, ops)}; without both: {both}")
                break
        else:
            found[op] = Reason("covered", f"by several others; without all of them: {message}")
    for op in gone:
        orders = nothing_to_order(op)
        found[op] = Reason("not needed", "") if orders is None else Reason("nothing to order", orders)
    return [found[op] for op in ops]


def _numbered(op: Operation, ops: Sequence[Operation]) -> str:
    alike = [each for each in ops if each.name == op.name]
    return f"`{name_of(op)}` (number {alike.index(op)} of those that nobody misses)"
