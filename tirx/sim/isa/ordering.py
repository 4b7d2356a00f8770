"""Modifiers of accesses about order and caches (PTX ISA, section 8)."""

from __future__ import annotations

from collections.abc import Collection

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Array
from tirx.sim.hazards.global_access import READ_ONLY, WEAK, Access, Kind, Scope

# Modifiers that change neither the value nor, in a simulator without caches, the order of accesses.
HINTS = frozenset(
    """
    ca cg cs lu cv wb wt nc weak volatile relaxed acquire release acq_rel mmio cta cluster gpu sys unified
    L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate
    L2::evict_first L2::evict_last L2::evict_normal L2::cache_hint L2::64B L2::128B L2::256B
    """.split()
)
# Those that say that other threads may access the same address at the same time; `acquire` and `release` order as well.
STRONG = frozenset(("volatile", "relaxed", "acquire", "release", "mmio"))


_SCOPES = {scope.name.lower(): scope for scope in Scope}
_MOST_FLAGS = 8  # addresses of one instruction


def access_of(modifiers: Collection[str], kind: Kind = Kind.STRONG) -> Access:
    """Returns how a load or store with these modifiers accesses global memory; of atom and red, `kind` is UPDATE."""
    found = set(modifiers)
    if kind is Kind.STRONG and STRONG.isdisjoint(found):
        return READ_ONLY if "nc" in found else WEAK
    default = Scope.GPU if kind is Kind.UPDATE else Scope.SYS
    scope = next((_SCOPES[name] for name in modifiers if name in _SCOPES), default)
    acquires, releases = not found.isdisjoint(("acquire", "acq_rel")), not found.isdisjoint(("release", "acq_rel"))
    return Access(kind, scope, acquires, releases)


def order(group: ThreadGroup, lanes: Array, space: str, addresses: Array, how: Access) -> None:
    """
    Tells the monitor of a strong access, which may order accesses of shared memory by the threads.

    At "strict" it orders what it says. Otherwise all of them count as if between fences: that misses races through
    flags without fences, but reports none that is not there; an instruction of more than a few words of global memory
    accesses data there, no flags.
    """
    launch = group.cta.launch
    if not launch.checks:
        return
    parts = [(group, slice(None))] if group.sides is None else group.sides.split(lanes)
    for part, own in parts:
        if space != "global" or _may_be_flags(addresses[own]):
            exactly = how if launch.strict else None
            part.cta.monitor.ordered_access(
                space, addresses[own], group.lanes[lanes[own]] + part.cta.first_thread, exactly
            )


def _may_be_flags(addresses: Array) -> bool:
    """Returns True if there are few different addresses."""
    if len(addresses) <= _MOST_FLAGS or (addresses == addresses[0]).all():
        return True
    return all(len(set(some.tolist())) <= _MOST_FLAGS for some in (addresses[: 2 * _MOST_FLAGS], addresses))
