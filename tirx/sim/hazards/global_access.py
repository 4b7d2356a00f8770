"""Kinds, scopes and semantics of accesses of global memory (PTX ISA, sections 8.2 to 8.7)."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.IntEnum):
    """Ways to access global memory."""

    WEAK = 1  # ld, st
    STRONG = 2  # ld, st with .relaxed, .acquire, .release, .volatile or .mmio
    UPDATE = 3  # atom, red
    BULK = 4  # bulk copies, through the async proxy
    REDUCE = 5  # bulk reductions, through the async proxy
    COPY = 6  # the source of cp.async
    READ_ONLY = 7  # ld.global.nc, textures
    MAP = 8  # a tensor map, read by a bulk copy to global memory
    DEFERRED = 9  # st.async: not in order with its own thread (section 9.7.9.12)


ASYNC = (Kind.BULK, Kind.REDUCE)
ATOMIC = (Kind.STRONG, Kind.UPDATE, Kind.DEFERRED)


class Scope(enum.IntEnum):
    """Scopes of strong accesses and fences, from the narrowest."""

    CTA = 0
    CLUSTER = 1
    GPU = 2
    SYS = 3


@dataclass(frozen=True, slots=True)
class Access:
    """
    The way in which an instruction accesses global memory.

    `scope` matters for strong accesses and updates. `reads`: it acquires what flags release, which `red` and stores
    do not; `writes`: it releases, which loads do not. `collective`: the lanes of a warp access memory together, which
    orders them among themselves (wmma).
    """

    kind: Kind = Kind.WEAK
    scope: Scope = Scope.CTA
    acquires: bool = False
    releases: bool = False
    reads: bool = True
    writes: bool = True
    collective: bool = False

    @property
    def strong(self) -> bool:
        """Returns True if the memory model lets other threads access the same bytes at the same time."""
        return self.kind in ATOMIC


@dataclass(frozen=True, slots=True)
class Fence:
    """fence.sc, .acq_rel, .acquire or .release, or membar, of a scope."""

    scope: Scope = Scope.GPU
    sc: bool = False
    acquires: bool = True
    releases: bool = True


WEAK = Access()
STRONG = Access(Kind.STRONG, Scope.SYS)
BULK = Access(Kind.BULK)
REDUCE = Access(Kind.REDUCE, Scope.GPU)
COPY = Access(Kind.COPY)
READ_ONLY = Access(Kind.READ_ONLY)
MAP = Access(Kind.MAP)
UPDATE = Access(Kind.UPDATE, Scope.GPU)
COLLECTIVE = Access(collective=True)
