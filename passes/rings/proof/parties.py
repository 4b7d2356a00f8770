"""Finds who takes part in a ring: the parties of every role, and the stations at which they work."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from enum import Enum, auto

from xdsl.ir import Operation

from tirx.dialects import tirx
from tirx.dialects.nesting import walk
from tirx.dialects.traits import is_pure, is_terminator
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.scheduled import kernel_of
from tirx.passes.rings.proof.errors import PartyError
from tirx.passes.rings.proof.slots import Place, place_of, slot_tiles
from tirx.values import dataclass

WARPGROUP = 4
"""Warps of a warpgroup."""

SELF = "self"
"""The station of a party of that name."""

Owner = tirx.RoleOp | tirx.KernelOp
"""A role, or the kernel itself where there are no roles."""


class Members(Enum):
    """The parties of a role that work at a station."""

    __hash__ = object.__hash__  # that of Enum is not built in

    ALL = auto()
    ELECTED = auto()
    """Only the party with the thread that issues TMA, tcgen05 and bulk stores: the first one."""
    FIRST = auto()
    """Only that party of the first block of a cluster, or of each pair, which issues for all of its blocks."""


@dataclass(frozen=True)
class Party:
    """A set of threads that moves together. `block` counts the blocks of a cluster; None if only one is looked at.

    `leads`: its block is the first one of the cluster, or of a pair that multiplies together.
    """

    owner: Owner
    name: str
    index: int
    block: int | None
    leads: bool

    @property
    def is_elected(self) -> bool:
        return self.index == 0

    def is_among(self, members: Members) -> bool:
        """True if the party works where these members of its role do."""
        match members:
            case Members.ALL:
                return True
            case Members.ELECTED:
                return self.is_elected
            case Members.FIRST:
                return self.is_elected and self.leads

    @property
    def label(self) -> str:
        """The party with its block: `math.wg0@1`."""
        base = self.owner.sym_name.data
        whole = f"{base}.{self.name}" if self.name else base
        return whole if self.block is None else f"{whole}@{self.block}"


def meets_at_barriers(queues: Container[tirx.Queue | None], members: Iterable[Members]) -> bool:
    """True if a ring of one role, with releases behind these queues, is passed on at barriers of all of its threads.

    Bulk stores that empty the slots, and cp.async of all threads that fills them, are waited for by groups.
    """
    stored = tirx.Queue.STORE in queues and tirx.Queue.TMA not in queues
    return stored or (tirx.Queue.CP_ASYNC in queues and all(each is Members.ALL for each in members))


def is_passed_at_barriers(ring: tirx.RingOp, places: Mapping[Owner, Mapping[Place, Members]]) -> bool:
    """True if all threads of the one role that works with a ring meet at barriers where slots are passed on."""
    found = [owner for owner, own in places.items() if any(used is ring for used, _ in own)]
    if len(found) != 1:
        return False
    releases = (op for op in walk(found[0]) if isinstance(op, tirx.ReleaseOp) and op.ring is ring.result)
    queues = {None if op.after is None else op.after.data for op in releases}
    return meets_at_barriers(queues, [members for (used, _), members in places[found[0]].items() if used is ring])


def is_issued_by_one_thread(op: Operation) -> bool:
    """True for asynchronous work that one elected thread starts for all."""
    match op:
        case tirx.AsyncCopyOp():
            return op.engine.data is not tirx.Engine.CP_ASYNC
        case tirx.AsyncMmaOp():
            return op.on_tensor_memory
        case tirx.AsyncNextOp():
            return True
        case _:
            return False


def issuer(op: Operation) -> Members:
    """The threads that start asynchronous work: for products of pairs, their scale factors and requests for tiles of
    a cluster the elected thread of the first block, else that of each block, or all threads.
    """
    match op:
        case tirx.AsyncMmaOp() if op.pair is not None:
            return Members.FIRST
        case tirx.AsyncNextOp() if tirx.RingOp.of(op.ring).across is not None:
            return Members.FIRST
        case tirx.AsyncCopyOp() if op.engine.data is tirx.Engine.TCGEN05_CP and _is_in_pair(op):
            return Members.FIRST
        case _:
            return Members.ELECTED if is_issued_by_one_thread(op) else Members.ALL


def _is_in_pair(op: Operation) -> bool:
    return multiplies_in_pairs(kernel_of(op))


def multiplies_in_pairs(kernel: tirx.KernelOp) -> bool:
    """True for a kernel whose products are those of pairs of blocks."""
    return any(isinstance(each, tirx.AsyncMmaOp) and each.pair is not None for each in walk(kernel))


def owners(kernel: tirx.KernelOp) -> tuple[Owner, ...]:
    """The roles of a kernel, or the kernel if it has none."""
    for op in kernel.body.block.ops:
        if isinstance(op, tirx.RolesOp):
            return op.roles
    return (kernel,)


def stations_of(owner: Owner) -> dict[Place, Members]:
    """The stations of rings at which a role acquires and releases, and which of its parties do.

    Answers of cluster launch control are read by all threads of a role that has work for them.
    """
    touched: dict[Place, set[Members]] = {}
    answers: list[Place] = []
    for op in walk(owner):
        match op:
            case tirx.AcquireOp() | tirx.ReleaseOp():
                touched.setdefault(place_of(op), set())
            case tirx.AsyncNextOp():
                ring = tirx.RingOp.of(op.ring)
                touched.setdefault((ring, ring.station_names[0]), set()).add(issuer(op))
            case tirx.TilesOp() if (answer := response_place(op)) is not None:
                answers.append(answer)
            case _:
                for _, slot in () if is_pure(op) or is_terminator(op) else slot_tiles(op):
                    touched.setdefault(slot.place, set()).add(issuer(op))
    found = {place: _all_of(issuers) for place, issuers in touched.items()}
    if answers:
        single = is_of_one_thread(owner, found)
        found |= dict.fromkeys(answers, _all_of(set(found.values())) if single else Members.ALL)
    return found


def _all_of(issuers: set[Members]) -> Members:
    """Returns the parties that work at a station for all of these issuers."""
    if not issuers or Members.ALL in issuers:
        return Members.ALL
    return Members.ELECTED if Members.ELECTED in issuers else Members.FIRST


def response_place(op: tirx.TilesOp) -> Place | None:
    """The ring of answers that a tile loop reads, and the station at which it does; None for another order."""
    return None if op.source is None or op.station is None else (tirx.RingOp.of(op.source), op.station.data)


def is_of_one_thread(owner: Owner, places: Mapping[Place, Members]) -> bool:
    """True for a role at these stations that consists of one elected thread, which issues all of its work."""
    if not isinstance(owner, tirx.RoleOp) or Members.ALL in places.values():
        return False
    return all(
        isinstance(
            op, tirx.AcquireOp | tirx.ReleaseOp | tirx.AwaitOp | tirx.ForOp | tirx.TilesOp | tirx.AtOp | tirx.RoleOp
        )
        or is_issued_by_one_thread(op)
        or is_pure(op)
        or is_terminator(op)
        or bool(op.regions)
        for op in walk(owner)
    )


def parties_of(owner: Owner, places: Mapping[Place, Members], blocks: Sequence[int | None], led: int) -> list[Party]:
    """The parties of a role, which works at these stations, in each block of the cluster in which it runs; one of each
    `led` blocks leads them.
    """
    prefix, count = _units(owner)
    names = [f"{prefix}{i}" for i in range(count)] if count > 1 else [""]
    alone = runs_in_first_block_only(owner, places)
    leading = {block: (block or 0) % led == 0 for block in blocks}
    return [
        Party(owner, name, i, block, leads)
        for block, leads in leading.items()
        if leads or not alone
        for i, name in enumerate(names)
    ]


def _units(owner: Owner) -> tuple[str, int]:
    """The short name of the unit of a role, and how many parties of it are looked at."""
    warps = owner.num_warps if isinstance(owner, tirx.RoleOp) else owner.num_threads // WARP_SIZE
    unit = owner.unit.data if isinstance(owner, tirx.RoleOp) and owner.unit is not None else _derived_unit(owner)
    if unit is tirx.Unit.WARPGROUP:
        return "wg", max(1, warps // WARPGROUP)
    if unit is tirx.Unit.WARP:
        # All warps but the first, which has the elected thread, do the same: two stand for all, unless each of them
        # has a station of its own.
        alone = any(isinstance(op, tirx.AcquireOp) and op.station.data == SELF for op in walk(owner))
        return "w", warps if alone else min(warps, 2)
    return "", 1


def _derived_unit(owner: Owner) -> tirx.Unit:
    """Returns the unit that moves together: a warpgroup for wgmma, a warp for mma.sync, else all threads of a role."""
    for op in walk(owner):
        match op:
            case tirx.AsyncMmaOp() if not op.on_tensor_memory:
                return tirx.Unit.WARPGROUP
            case tirx.MmaSyncOp():
                return tirx.Unit.WARP
            case tirx.MmaOp() if op.accumulator_type.memory is tirx.MemorySpace.REGISTER:
                return tirx.Unit.WARP
            case _:
                pass
    return tirx.Unit.THREAD


def runs_in_first_block_only(owner: Owner, places: Mapping[Place, Members]) -> bool:
    """True for a role of one thread that works for all blocks of a cluster or pair: it issues products of pairs, or
    asks for tiles, and does nothing else but to read which tile comes next. `places` are its stations.
    """
    return set(places.values()) == {Members.FIRST} and is_of_one_thread(owner, places)


def cluster_blocks(kernel: tirx.KernelOp) -> tuple[int | None, ...]:
    """The blocks to look at: those of the cluster if they share a ring or the first works for all, else one of them."""
    if any(isinstance(op, tirx.RingOp) and op.across is not None for op in kernel.body.block.ops):
        return tuple(range(kernel.cluster_size))
    if kernel.cluster is None or not any(issuer(op) is Members.FIRST for op in walk(kernel)):
        return (None,)
    return tuple(range(kernel.cluster_size))


def blocks_led(kernel: tirx.KernelOp) -> int:
    """The blocks for which the first of them works: those of a pair where pairs multiply, else of the cluster."""
    return tirx.PAIR if multiplies_in_pairs(kernel) else kernel.cluster_size


def is_multicast(ring: tirx.RingOp) -> bool:
    """True if a fill of the ring writes the slots of other blocks of the cluster, or of other pairs."""
    shared = tirx.Across.CLUSTER, tirx.Across.PAIRS
    return ring.across is not None and ring.across.data in shared and not ring.result.type.is_tile_id


def station_index(ring: tirx.RingOp, station: str, party: Party) -> int:
    """The station by its number; `self` is the one with the name of the party."""
    name = party.name if station == SELF else station
    if name not in ring.station_names:
        raise PartyError(
            f"expected stations that are named after the parties of @{party.owner.sym_name.data}, "
            f"found {', '.join(ring.station_names)} and the party {name or party.label}",
            ring,
        )
    return ring.station_names.index(name)
