"""The known order of memory accesses at a point of a kernel."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from xdsl.ir import Block, Operation

from tirx.dialects.ptx.effects import AccessKind
from tirx.passes.checks.memory_accesses import Access
from tirx.passes.checks.thread_flow import ActiveThreads, Decision
from tirx.passes.checks.thread_values import Symbol
from tirx.values import dataclass, field


class Ordering(enum.Enum):
    """An event behind an access, on every path to a point of the kernel."""

    __hash__ = object.__hash__  # that of Enum is not built in

    COMPLETE = enum.auto()
    """A wait of the sort that its kind asks for."""
    COMPLETE_THERE = enum.auto()
    """Such a wait, of which its own threads know: they tell at the next barrier."""
    GROUPED = enum.auto()
    """cp.async.bulk.commit_group."""
    SYNCED = enum.auto()
    """Its threads, done with it, have met those that are here."""
    MET = enum.auto()
    """Its threads have met those that are here, done or not."""
    WARP_SYNCED = enum.auto()
    """The lanes of its warp have met."""
    FENCED = enum.auto()
    """fence.proxy.async, or fence.mbarrier_init for an mbarrier.init."""
    BEFORE = enum.auto()
    """tcgen05.fence::before_thread_sync."""
    SENT = enum.auto()
    """A synchronisation behind that."""
    AFTER = enum.auto()
    """tcgen05.fence::after_thread_sync behind that."""
    HEARD = enum.auto()
    """Some wait for what threads elsewhere do."""


class Barrier(NamedTuple):
    """An mbarrier by its address (`origin` None: any address), or the barrier of the cluster."""

    origin: tuple[Symbol, ...] | None
    number: int = 0
    of_cluster: bool = False

    def may_be(self, other: Barrier) -> bool:
        """Returns True if both may be the same one."""
        if self.of_cluster or other.of_cluster:
            return self == other
        if self.origin is None or other.origin is None:
            return True
        if self.origin == other.origin:
            return self.number == other.number
        # Different allocations do not overlap.
        return not all(len(origin) == 1 and origin[0].kind == "shared" for origin in (self.origin, other.origin))


CLUSTER = Barrier(None, of_cluster=True)


class Committed(NamedTuple):
    """`barrier` completes a phase when the access is complete."""

    barrier: Barrier


class Arrived(NamedTuple):
    """Its threads have arrived at `barrier`; who waits for them there learns `gained`."""

    barrier: Barrier
    gained: frozenset[Ordering]


class Younger(NamedTuple):
    """So many groups of its kind have been committed since its own; fewer have, too."""

    groups: int


class OtherWay(NamedTuple):
    """Its threads take the other edge of the branch at the end of a block, by a predicate that chose them before."""

    branch: Block


OrderingState: TypeAlias = "frozenset[Ordering] | frozenset[Ordering | Committed | Arrived | Younger | OtherWay]"
"""All that has happened to an access since."""

Waited: TypeAlias = frozenset[tuple[Barrier, int]]
"""Mbarriers, each with a warp of which a thread has waited for it."""

NOTHING: OrderingState = frozenset()
OF_WARPS: OrderingState = frozenset((Ordering.WARP_SYNCED,))
JUST_COMPLETE = frozenset((Ordering.COMPLETE,))
JUST_COMPLETE_THERE = frozenset((Ordering.COMPLETE_THERE,))
JUST_FENCED = frozenset((Ordering.FENCED,))
JUST_HEARD = frozenset((Ordering.HEARD,))
OF_WHOLE_WARPS = (AccessKind.TENSOR_LOAD, AccessKind.TENSOR_STORE)


def is_awaited(ordering: OrderingState) -> bool:
    """Returns True if an mbarrier tracks the access, and nobody has waited for anything since."""
    if Ordering.COMPLETE in ordering or Ordering.HEARD in ordering:
        return False
    return Committed in map(type, ordering)


def _arrivals_in(ordering: OrderingState) -> OrderingState:
    """A phase waits for all arrivals: who waits knows that they happened, even if others took a path without."""
    return frozenset([one for one in ordering if type(one) is Arrived])


@dataclass
class State:
    """
    The accesses that a later one may have to be ordered behind, each with its ordering on every path here.

    `loading` are instructions whose results may not be in their registers yet, each with the number of groups that
    have been committed since, its own included. `waited` are mbarriers that some thread
    of a warp has waited for since all last met: at their next meeting all know of it, and at that of the warp its lanes
    do.
    """

    pending: dict[Access, OrderingState] = field(default_factory=dict[Access, "OrderingState"])
    loading: dict[Operation, int] = field(default_factory=dict[Operation, int])
    waited: Waited = frozenset()

    def copy(self) -> State:
        return State(dict(self.pending), dict(self.loading), self.waited)

    def join(self, other: State) -> bool:
        """Adds what is pending on another path. Returns True if anything is new."""
        changed = False
        for access, ordering in other.pending.items():
            before = self.pending.get(access)
            if before is ordering or before == ordering:
                continue
            after = ordering if before is None else before & ordering | _arrivals_in(before | ordering)
            if after != before:
                self.pending[access] = after
                changed = True
        for op, groups in other.loading.items():
            if groups < self.loading.get(op, groups + 1):
                self.loading[op] = groups
                changed = True
        if not other.waited <= self.waited:
            self.waited |= other.waited
            changed = True
        return changed

    def along(self, branch: Block, decision: Decision, before: ActiveThreads, taking: ActiveThreads) -> State:
        """
        The state for the threads `taking`, those of `before` that take the edge with `decision` of a branch. Accesses
        of threads that do not take it are known only where the threads have met since; that holds of `before` already,
        so that only accesses behind branches on the same predicate differ where the predicate rules out no thread.
        """
        condition, value = decision
        pending = self.pending
        if taking.mask == before.mask:
            pending = {one: pending[one] for one in pending if condition in one.active.conditions}
            if not pending:
                return self.copy()
        other_way = frozenset((OtherWay(branch),))
        kept = dict(self.pending)
        known: dict[ActiveThreads, tuple[bool, bool]] = {}
        """The threads of accesses -> whether they do not take the edge, and whether they take the other one."""
        for access, ordering in pending.items():
            if (found := known.get(who := access.active)) is None:
                turned = (condition, not value) in who.decisions and not is_elsewhere(who, before)
                found = known[who] = is_elsewhere(who, taking), turned
            elsewhere, turned = found
            if elsewhere and Ordering.MET not in ordering:
                del kept[access]
            elif turned:
                kept[access] = ordering | other_way
            elif not other_way.isdisjoint(ordering):
                kept[access] = ordering - other_way
        return State(kept, dict(self.loading), self.waited)

    def behind(self, branches: Iterable[Block]) -> State:
        """
        A copy of the state where both edges of some branches have come together.

        What is pending only in threads that went the other way than its own, those have waited for, or never did.
        """
        state = self.copy()
        for other_way in map(OtherWay, branches):
            for access, ordering in self.pending.items():
                if other_way in ordering:
                    state.pending[access] = state.pending[access] - {other_way} | JUST_COMPLETE_THERE
        return state


def is_elsewhere(who: ActiveThreads, here: ActiveThreads) -> bool:
    if who is here:
        return False
    if any((condition, not value) in here.decisions for condition, value in who.decisions):
        return True
    return who.exact and who.mask != 0 and not who.mask & here.mask
