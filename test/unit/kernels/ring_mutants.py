"""Kernels with rings in which one line of PTX is wrong: a fence, arrival, count, phase, wait or number of bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from unit.kernels.ring_kernels import RingKernel, check, kernel_of

from tirx.sim import SimError

_Change = Callable[[re.Match[str]], str]


def _count(step: int) -> _Change:
    """The same text with its last number changed."""
    return lambda found: f"{found[1]}{int(found[2]) + step}{found[3]}"


def _nothing(found: re.Match[str]) -> str:
    return ""


MUTATIONS: Mapping[str, tuple[str, _Change]] = {
    "no proxy fence": (r"fence\.proxy\.async[^;]*;", _nothing),
    "no arrival": (r"mbarrier\.arrive\.shared[^;]*;", _nothing),
    "no arrival of a block": (r"mbarrier\.arrive\.shared::cluster[^;]*;", _nothing),
    "one arrival more": (r"(mbarrier\.init[^;]*, )(\d+)(;)", _count(1)),
    "one arrival less": (r"(mbarrier\.init[^;]*, )([2-9]|\d\d+)(;)", _count(-1)),
    "bytes missing": (r"(mbarrier\.arrive\.expect_tx[^;]*, )(\d+)(;)", _count(-16)),
    "bytes too many": (r"(mbarrier\.arrive\.expect_tx[^;]*, )(\d+)(;)", _count(16)),
    "no wait": (r"@!%p\d+ bra \$wait\d+;", _nothing),
    "phase 0 in every round": (r"(mbarrier\.t\w+_wait\.parity[^;]*, )(%r\d+)(;)", lambda m: f"{m[1]}0{m[3]}"),
    "phase 1 in every round": (r"(mbarrier\.t\w+_wait\.parity[^;]*, )(%r\d+)(;)", lambda m: f"{m[1]}1{m[3]}"),
    "one product more pending": (r"(wgmma\.wait_group\.sync\.aligned )(\d+)(;)", _count(1)),
    "one group more pending": (r"(cp\.async\.wait_group )(\d+)(;)", _count(1)),
    "no group": (r"cp\.async\.commit_group;", _nothing),
    "no group of stores": (r"cp\.async\.bulk\.commit_group;", _nothing),
    "no wait for stores": (r"cp\.async\.bulk\.wait_group\.read[^;]*;", _nothing),
    "arrival counted twice": (r"arrive\.noinc\.", lambda found: "arrive."),
    "no barrier": (r"bar\.sync [^;]*;", _nothing),
    "no commit": (r"tcgen05\.commit[^;]*;", _nothing),
    "no request for a tile": (r"clusterlaunchcontrol\.try_cancel[^;]*;", _nothing),
    "answer for one block": (r"\.multicast::cluster::all", _nothing),
    "box for one block": (r"(\.multicast::cluster(?:\.cta_group::2)? \[[^;]*, )(%h\d+)(;)", lambda m: f"{m[1]}1{m[3]}"),
    "commit for one block": (
        r"(tcgen05\.commit[^;]*\.multicast::cluster[^;]*, )(%h\d+)(;)",
        lambda m: f"{m[1]}1{m[3]}",
    ),
    "another block": (r"(mapa\.shared::cluster[^;]*, )(0|1)(;)", lambda m: f"{m[1]}{1 - int(m[2])}{m[3]}"),
    "no fence of tcgen05": (r"tcgen05\.fence::\w+;", _nothing),
}
"""Name of a fault -> the text that it concerns, and the change."""

KERNELS = (
    RingKernel(slots=3, skew=2, engine="tma", tiles=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", tiles=True, output=1),
    RingKernel(slots=3, skew=2, engine="cp_async", use_first=True, tiles=True),
    RingKernel(slots=2, skew=0, roles=True, engine="cp_async", tiles=True),
    RingKernel(slots=3, skew=1, engine="tma", family="wgmma", pending=1, tiles=True),
    RingKernel(slots=2, skew=0, roles=True, engine="ld_st", family="wgmma", tiles=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", family="tcgen05", tiles=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", cluster=True, tiles=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", family="tcgen05", tiles=True, launched=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", cluster=True, tiles=True, launched=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", family="tcgen05", tiles=True, apart=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", cluster=True, tiles=True, square=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", family="tcgen05", cluster=True, tiles=True, square=True),
    RingKernel(slots=2, skew=0, roles=True, engine="tma", family="tcgen05", cluster=True, tiles=True, pairs=True),
)
"""Every engine, family and way to pass slots on. All go through several tiles, so that what the last iterations of one
give back is used again."""


def runs(kernel: RingKernel, seeds: int) -> Iterator[tuple[int, int, int | None]]:
    """Iterations, tiles and seeds with which a wrong kernel shows it."""
    n = kernel.slots
    # Five tiles go more than twice through a ring of two accumulators.
    for trips, tiles in ((2 * n + 1, 2), (1, 5), (n, 2), (n + 2, 3)):
        # Without a seed a block takes over all tiles that are left.
        for seed in (*((None,) if kernel.launched else ()), *range(seeds)):
            yield trips, tiles if kernel.tiles else 1, seed


@dataclass(frozen=True)
class Mutant:
    """A kernel whose line `line` is wrong in the way `mutation`: the `ordinal`-th line that can be."""

    kernel: RingKernel
    mutation: str
    ordinal: int
    line: str
    ptx: str

    @property
    def reason(self) -> str | None:
        """Why it is right; None if it should be refused."""
        return RIGHT.get((self.kernel, self.mutation, self.ordinal))

    def verdict(self, seeds: int = 2) -> str | None:
        """First message of the simulator, or "wrong numbers". None if the kernel does not fail."""
        for trips, tiles, seed in runs(self.kernel, seeds):
            try:
                check(self.kernel, trips, seed=seed, extents=(tiles, 1), ptx=self.ptx)
            except SimError as error:
                return str(error).splitlines()[0]
            except AssertionError:
                return "wrong numbers"
        return None


def mutants(kernel: RingKernel) -> Iterator[Mutant]:
    """All mutants of a kernel."""
    ptx = kernel_of(kernel).program.ptx
    for mutation, (pattern, change) in MUTATIONS.items():
        for ordinal, found in enumerate(re.finditer(pattern, ptx)):
            start = ptx.rindex("\n", 0, found.start()) + 1
            line = ptx[start : ptx.index("\n", found.end())].strip()
            yield Mutant(kernel, mutation, ordinal, line, ptx[: found.start()] + change(found) + ptx[found.end() :])


_END = "nothing behind the barrier at the end of the roles uses what they share"
_TWICE = "two barriers stand in a row, where tensor memory is allocated and freed"
_FENCED = "the barrier beside that has these fences, too"
_ENDED = "work on tensor memory has ended, and threads have fenced behind it, before they come to the barrier"

RIGHT: Mapping[tuple[RingKernel, str, int], str] = {
    (KERNELS[1], "no barrier", 3): _END,
    (KERNELS[3], "no barrier", 1): _END,
    (KERNELS[5], "no barrier", 1): _END,
    (KERNELS[5], "one product more pending", 1): "every round has waited for its product",
    **{(KERNELS[n], "no barrier", ordinal): _TWICE for n in (6, 8) for ordinal in (2, 3)},
    **{(KERNELS[n], "no fence of tcgen05", ordinal): _FENCED for n in (6, 8, 12, 13) for ordinal in range(4)},
    **{
        (KERNELS[n], "no fence of tcgen05", ordinal): f"the fence behind the wait for {other} stands before the product"
        for n in (6, 8, 12, 13)
        for ordinal, other in ((6, "a slot"), (7, "the sum"))
    },
    **{(KERNELS[n], "no fence of tcgen05", ordinal): _ENDED for n in (6, 8, 12, 13) for ordinal in (8, 9)},
}
"""Kernel, mutation and ordinal of mutants that are right -> why."""
