"""Modifiers of accesses about order and caches (PTX ISA, section 8)."""

from __future__ import annotations

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import Array

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


def order(group: ThreadGroup, lanes: Array, space: str, addresses: Array) -> None:
    """
    Tells the monitor of a strong access, which may order the threads.

    All of them count as if between fences: that misses races through flags without fences, but reports none that is
    not there.
    """
    if group.cta.launch.checks:
        group.cta.monitor.ordered_access(space, addresses, group.threads[lanes])
