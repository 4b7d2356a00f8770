"""The plan by which the rings of a kernel are lowered: storage, mbarriers, and who arrives how at which.

All counts of the lowering come from here. Parties and bytes are those of the check (`passes/rings/proof`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto
from functools import cached_property
from itertools import count

from xdsl.dialects.builtin import IndexType, i1, i8, i16, i32, i64
from xdsl.ir import Operation

from tirx.dialects import tirx
from tirx.dialects.nesting import walk
from tirx.dialects.ptx.launch_control import ANSWER_BYTES
from tirx.dialects.schedule_names import RingPlace, RoleWarps, Schedule, SlotTile
from tirx.layout.axis import WARP_SIZE
from tirx.passes.match.memory_by_lifetime import COLUMN_STEP, MBARRIER_BYTES, shared_alignment, shared_bytes
from tirx.passes.rings.proof.bound_releases import BoundReleases, Passes
from tirx.passes.rings.proof.errors import located
from tirx.passes.rings.proof.extraction import Extraction
from tirx.passes.rings.proof.model import Ring
from tirx.passes.rings.proof.parties import (
    SELF,
    Members,
    Owner,
    blocks_led,
    is_of_one_thread,
    meets_at_barriers,
    multiplies_in_pairs,
    owners,
    response_place,
)
from tirx.passes.rings.proof.slots import Place, place_of, slot_tiles
from tirx.rules import RingLoweringError
from tirx.values import dataclass


class Passing(Enum):
    """A way in which the threads of a role pass a slot on: a row of the table of lowerings."""

    BYTES = auto()
    """One thread announces the bytes of all copies before it starts them; they arrive by hardware."""
    THREADS = auto()
    """One lane of every warp arrives."""
    NOINC = auto()
    """Every copying thread lets the hardware arrive when its copies are complete."""
    GROUPS = auto()
    """One lane of every warp arrives behind the wait for the group that works on the slot."""
    COMMIT = auto()
    """One thread lets the tensor core arrive when its work so far is complete."""
    BARRIER = auto()
    """Nobody arrives: all threads of the role meet at the acquire that follows."""
    ORDER = auto()
    """Nobody arrives or waits: one thread issues all work on the ring, which the tensor core does in order."""


INTEGER_BYTES = 8
"""Bytes of shared memory for each integer of a slot."""

INTEGERS = (IndexType(), i1, i8, i16, i32, i64)
"""Types of integers in the slots of rings."""

UNCOUNTED = (Passing.BARRIER, Passing.ORDER)
"""Ways to pass a slot on without an mbarrier."""


@dataclass(frozen=True)
class Tile:
    """The tile of a slot: its views, all in shared or all in tensor memory."""

    views: tuple[tirx.TileType, ...]

    @property
    def in_tensor_memory(self) -> bool:
        return self.views[0].memory is tirx.MemorySpace.TENSOR

    @cached_property
    def stride(self) -> int:
        """Bytes from a slot to the next, whole alignments of the views; columns in tensor memory."""
        alignment = max(map(_alignment, self.views))
        return -(-max(map(_size, self.views)) // alignment) * alignment

    def storage(self, slots: int) -> tirx.TileType:
        """The tile that holds `slots` slots, declared by the view with the strictest alignment, of these the largest.

        If another view is larger, there is one slot more: the last one's view ends in it. Raises TileTypeError for
        columns beyond those of tensor memory.
        """
        strictest = max(self.views, key=lambda view: (_alignment(view), _size(view)))
        is_largest = _size(strictest) == max(map(_size, self.views))
        return tirx.slot_storage(strictest, slots if is_largest else slots + 1, self.stride)


def _size(view: tirx.TileType) -> int:
    """Bytes of a view; columns in tensor memory."""
    return view.span_columns if view.memory is tirx.MemorySpace.TENSOR else shared_bytes(view)


def _alignment(view: tirx.TileType) -> int:
    """Returns a number of which the start of a view is a multiple, in the units of `_size`."""
    return COLUMN_STEP.get(view.dtype.bits, 1) if view.memory is tirx.MemorySpace.TENSOR else shared_alignment(view)


@dataclass(frozen=True)
class Side:
    """The part of one role in a station of a ring."""

    owner: Owner
    members: Members
    passing: Passing
    bytes: int
    """Bytes by TMA that fill a slot of the own block."""
    parties: int = 1
    """Parties of the role that share its warps, one of which works here; 1 where all of them do."""

    @property
    def warps(self) -> int:
        owner = self.owner
        warps = owner.num_warps if isinstance(owner, tirx.RoleOp) else owner.num_threads // WARP_SIZE
        return warps // self.parties

    @property
    def arrivals(self) -> int:
        """Arrivals at a barrier for one use."""
        match self.passing:
            case Passing.BYTES | Passing.COMMIT:
                return 1
            case Passing.NOINC:
                return self.warps * WARP_SIZE
            case Passing.THREADS | Passing.GROUPS:
                return self.warps if self.members is Members.ALL else 1
            case Passing.BARRIER | Passing.ORDER:
                return 0


class To(Enum):
    """The blocks of a cluster whose barriers an arrival goes to."""

    OWN = auto()
    """Its own block."""
    FIRST = auto()
    """The first block, or that of the own pair, which alone waits."""
    ALL = auto()
    GROUP = auto()
    """The blocks that share slots with it."""


@dataclass(frozen=True)
class Station:
    """A station of a ring, with the barriers behind it: `first` counts mbarriers of the kernel, None without."""

    index: int
    sides: tuple[Side, ...]
    needs_fence: bool
    first: int | None
    sources: int = 1
    """Blocks of the cluster whose threads arrive at a barrier."""
    leading: int = 1
    """Of these blocks, those that work for others, too: where only they do, as many arrive."""
    to: To = To.OWN
    """The blocks whose barriers an arrival goes to."""
    differences: tuple[int, ...] = ()
    """Of `To.GROUP`: their ranks, each combined with the own one by exclusive or; 0 first, the own block."""

    @property
    def arrivals(self) -> int:
        """Arrivals that complete a phase. Bytes of several blocks are announced by one of them."""
        return sum(side.arrivals * self._blocks_of(side) for side in self.sides)

    def _blocks_of(self, side: Side) -> int:
        if side.passing is Passing.BYTES:
            return 1
        return self.leading if side.members is Members.FIRST else self.sources

    def side(self, owner: Owner) -> Side:
        """Returns the part of a role."""
        return next(side for side in self.sides if side.owner is owner)


@dataclass(frozen=True)
class RingPlan:
    """A ring: the tiles of its slots and its stations."""

    op: tirx.RingOp
    name: str
    """The name of the SSA value, or a number; no other ring of the kernel has it."""
    tiles: tuple[Tile, ...]
    stations: tuple[Station, ...]

    @property
    def in_tensor_memory(self) -> bool:
        """True if a tile of the slots is in tensor memory."""
        return any(tile.in_tensor_memory for tile in self.tiles)

    @property
    def slots(self) -> int:
        return self.op.num_slots

    @property
    def word_bytes(self) -> int:
        """Bytes of a slot in shared memory that holds no tiles: an answer, or integers; 0 for other slots."""
        type_ = self.op.result.type
        return ANSWER_BYTES if type_.is_tile_id else INTEGER_BYTES * len(type_.views) * type_.holds_scalars

    def names(self) -> RingPlace:
        """The ring with places that are still to be chosen."""
        type_ = self.op.result.type
        labels = ["|".join(view.label.data or f"tile{i}" for view in tile) for i, tile in enumerate(type_.contents)]
        if self.word_bytes:
            name = "answer" if type_.is_tile_id else "integers"
            tiles = (SlotTile(name, "shared", -1, self.word_bytes),)
        else:
            tiles = tuple(
                SlotTile(label, "tensor" if tile.in_tensor_memory else "shared", -1, tile.stride)
                for label, tile in zip(labels, self.tiles, strict=True)
            )
        barriers = (-1 if station.first is None else MBARRIER_BYTES * station.first for station in self.stations)
        return RingPlace(self.name, self.slots, tuple(self.op.station_names), tuple(barriers), tiles)

    @cached_property
    def _by_name(self) -> dict[str, Station]:
        return {**dict(zip(self.op.station_names, self.stations, strict=True)), SELF: self.stations[0]}

    def station(self, name: str) -> Station:
        return self._by_name[name]

    def before(self, station: Station) -> Station:
        """The station whose barrier an acquire waits on."""
        return self.stations[station.index - 1]


class RingsPlan:
    """The rings of a kernel that has any, or roles, or loops of the scheduled level."""

    def __init__(self, kernel: tirx.KernelOp, extraction: Extraction | None = None):
        self.kernel = kernel
        self.extraction = Extraction(kernel) if extraction is None else extraction
        model = self.extraction.model
        if model is None:
            raise AssertionError(f"expected a kernel of the scheduled level, found @{self.kernel.sym_name.data}")
        self.model = model
        self.places: Mapping[Owner, Mapping[Place, Members]] = self.extraction.places
        self.happens = self.extraction.happens
        self.owners = owners(self.kernel)
        if (threads := self.kernel.num_threads) % WARP_SIZE:
            problem = f"expected whole warps of {WARP_SIZE} threads for rings, found {threads} threads"
            raise RingLoweringError(self.kernel, problem)
        self._bound: dict[Owner, dict[tirx.AwaitOp, list[tuple[Place, Passes]]]] = {}
        self.rings: dict[tirx.RingOp, RingPlan] = {}
        first = 0
        for ring in self.extraction.names:
            plan = self._ring(ring, first)
            first += sum(plan.slots for station in plan.stations if station.first is not None)
            self.rings[ring] = plan
        self.num_barriers = first

    def names(self) -> Schedule:
        """The roles and rings by name. Places are those before `tirx-allocate-memory`."""
        roles = [
            RoleWarps(owner.sym_name.data, owner.thread_set.first // WARP_SIZE, owner.num_warps)
            for owner in self.owners
            if isinstance(owner, tirx.RoleOp)
        ]
        return Schedule(tuple(roles), tuple(plan.names() for plan in self.rings.values()))

    @cached_property
    def led(self) -> int:
        """The blocks for which the first of them works: those of a pair, or of the cluster."""
        return blocks_led(self.kernel)

    @property
    def spans_blocks(self) -> bool:
        """True if blocks write the shared memory or arrive at the barriers of others."""
        return any(ring.across is not None for ring in self.rings)

    @cached_property
    def cta_group(self) -> int:
        """The blocks that multiply together: 2 for products of pairs."""
        return tirx.PAIR if multiplies_in_pairs(self.kernel) else 1

    def station(self, place: Place) -> Station:
        """The station of a place."""
        ring, name = place
        return self.rings[ring].station(name)

    def is_left_behind(self, place: Place) -> bool:
        """True if the tensor cores of other blocks may arrive behind the last wait of a role that fills a ring.

        Their commits arrive at its barriers when their work is complete. Where they commit something behind it that
        somebody waits for, all blocks of the cluster meet later than that.
        """
        ring, name = place
        if name == SELF or (station := self.station(place)).index or ring.across is None:
            return False
        before = self.rings[ring].before(station)
        sides = [side.owner for side in before.sides if side.passing is Passing.COMMIT]
        return before.to in (To.ALL, To.GROUP) and any(
            isinstance(op, tirx.ReleaseOp) and self.station(place_of(op)) is before and not self._is_followed(op, owner)
            for owner in sides
            for op in walk(owner)
        )

    def _is_followed(self, release: tirx.ReleaseOp, owner: Owner) -> bool:
        """True if a role commits later, in any run, for somebody who waits for it."""
        op: Operation | None = release
        while op is not None and op is not owner:
            following = op.next_op
            while following is not None:
                if isinstance(following, tirx.ReleaseOp) and self._is_awaited(following, owner):
                    return True
                following = following.next_op
            op = op.parent_op()
        return False

    def _is_awaited(self, release: tirx.ReleaseOp, owner: Owner) -> bool:
        """True if a role commits for another one that uses the slot next, and does not give it back."""
        ring, _ = place = place_of(release)
        station = self.station(place)
        is_last = station.index == len(self.rings[ring].stations) - 1
        return not is_last and station.side(owner).passing is Passing.COMMIT

    def is_single(self, owner: Owner) -> bool:
        """True for a role that consists of one elected thread: all of it is issued by that thread."""
        return owner in self._single

    @cached_property
    def _single(self) -> set[Owner]:
        return {owner for owner in self.owners if is_of_one_thread(owner, self.places[owner])}

    def bound_releases(self, owner: Owner) -> dict[tirx.AwaitOp, list[tuple[Place, Passes]]]:
        """The releases of a role that each await passes on, where the role waits for groups itself.

        Raises LocatedError for releases that no await passes on, or an unknown number of them.
        """
        if (known := self._bound.get(owner)) is not None:
            return known
        places: dict[tirx.Queue, dict[Place, None]] = {}
        for op in walk(owner):
            if isinstance(op, tirx.ReleaseOp) and op.after is not None:
                place = place_of(op)
                if self.station(place).side(owner).passing is Passing.GROUPS:
                    places.setdefault(op.after.data, {})[place] = None
        found: dict[tirx.AwaitOp, list[tuple[Place, Passes]]] = {}
        for queue, bound in places.items():
            with located(owner):
                at = BoundReleases(owner.body.block, queue, tuple(bound)).at
            for op, passes in at.items():
                found.setdefault(op, []).extend(passes.items())
        self._bound[owner] = found
        return found

    # Rings

    def _ring(self, ring: tirx.RingOp, first: int) -> RingPlan:
        type_ = ring.result.type
        if type_.holds_scalars:
            _check_integers(ring)
        tiles: list[Tile] = []
        for contents in () if type_.is_tile_id or type_.holds_scalars else type_.contents:
            views = tuple(view.type for view in contents if isinstance(view.type, tirx.TileType))
            for view in views:
                if view.layout is None:
                    raise RingLoweringError(ring, f"expected a layout on the slots of a ring, found {view}")
            tiles.append(Tile(views))
        passings = self._passings(ring)
        names = ring.station_names
        used = [any(passing not in UNCOUNTED for passing in passings[name].values()) for name in names]
        stations: list[Station] = []
        model = self._model_of(ring)
        for index, name in enumerate(names):
            own = len(names) if self._is_of_parties(ring) else 1
            sides = tuple(
                Side(
                    owner,
                    Members.ALL if own > 1 else self.places[owner][(ring, name)],
                    passing,
                    self._bytes(ring, model, owner, index),
                    own,
                )
                for owner, passing in passings[name].items()
            )
            # Threads reach tensor memory through no proxy.
            fence = self.happens.needs_fence(model, index) and not any(tile.in_tensor_memory for tile in tiles)
            first_barrier = first if used[index] else None
            sources, to, differences = self._blocks(ring, index, passings)
            blocks = sources, max(1, sources // self.led), to, tuple(sorted(differences))
            stations.append(Station(index, sides, fence, first_barrier, *blocks))
            first += ring.num_slots if used[index] else 0
        taken = {plan.name for plan in self.rings.values()}
        hint = ring.result.name_hint or f"ring{len(taken)}"
        name = next(each for n in count() if (each := f"{hint}_{n}" if n else hint) not in taken)
        return RingPlan(ring, name, tuple(tiles), tuple(stations))

    def _blocks(
        self, ring: tirx.RingOp, index: int, passings: Mapping[str, Mapping[Owner, Passing]]
    ) -> tuple[int, To, frozenset[int]]:
        """Returns how many blocks arrive at the barriers behind a station, the blocks of these barriers, and for
        `To.GROUP` the differences of their ranks.
        """
        if ring.across is None:
            return 1, To.OWN, frozenset()
        names, everyone = ring.station_names, self.kernel.cluster_size
        if ring.result.type.is_tile_id and ring.across.data is tirx.Across.CLUSTER:
            # The first block asks for all, and waits until all have read the answer that was in the slot.
            return (1, To.ALL, frozenset()) if index == 0 else (everyone, To.FIRST, frozenset())
        from_first, to_first = (
            all(self.places[owner][(ring, name)] is Members.FIRST for owner in passings[name])
            for name in (names[i % len(names)] for i in (index, index + 1))
        )
        if ring.across.data is not tirx.Across.PAIR and index == len(names) - 1:
            # A fill that reaches the slots of other blocks waits until the readers of these are done.
            found = self._model_of(ring).differences
            return len(found) or everyone, To.GROUP if found else To.ALL, found
        if ring.across.data is tirx.Across.CLUSTER or from_first == to_first:
            return 1, To.OWN, frozenset()
        if not from_first:
            return self.led, To.FIRST, frozenset()
        return (1, To.ALL, frozenset()) if self.led == everyone else (1, To.GROUP, frozenset(range(self.led)))

    def _model_of(self, ring: tirx.RingOp) -> Ring:
        for found in self.model.rings.values():
            if found.origin is ring:
                return found
        raise RingLoweringError(ring, "expected a ring that is used, found none of its users")

    def _bytes(self, ring: tirx.RingOp, model: Ring, owner: Owner, station: int) -> int:
        """The bytes by TMA that a barrier expects of a role for a use: those that come into its block or, for a pair,
        into both blocks. One of the parties of a role, the elected one, sends them all.
        """
        if station or not model.bytes:
            return 0
        of_pairs = ring.across is not None and ring.across.data is not tirx.Across.CLUSTER
        labels = {
            label
            for label in model.stations[0]
            if (party := self.extraction.parties[label]).owner is owner
            and (party.block or 0) < (self.led if of_pairs else 1)
        }
        return sum(map(model.share, labels))

    def _passings(self, ring: tirx.RingOp) -> Mapping[str, Mapping[Owner, Passing]]:
        """For every station: the roles that work there, and how each passes slots on."""
        if self._is_of_parties(ring):
            return {name: dict.fromkeys(self._turning(ring), Passing.THREADS) for name in ring.station_names}
        queues: dict[str, dict[Owner, tirx.Queue | None]] = {name: {} for name in ring.station_names}
        for owner in self.owners:
            for name in ring.station_names:
                if (ring, name) in self.places[owner]:
                    queues[name][owner] = self._queue(ring, name, owner)
        if (alone := self._within_role(ring, queues)) is not None:
            return {name: dict.fromkeys(found, alone) for name, found in queues.items()}
        return {
            name: {owner: self._passing(owner, queue) for owner, queue in found.items()}
            for name, found in queues.items()
        }

    def _is_of_parties(self, ring: tirx.RingOp) -> bool:
        """True for a baton whose stations are the parties of a role."""
        return any((ring, SELF) in places for places in self.places.values())

    def _turning(self, ring: tirx.RingOp) -> list[Owner]:
        """The role whose parties pass on a baton. Raises LocatedError for several roles or other stations."""
        found = [owner for owner in self.owners if any(place[0] is ring for place in self.places[owner])]
        if len(found) != 1 or any(place[0] is ring and place[1] != SELF for place in self.places[found[0]]):
            raise RingLoweringError(
                ring, f"expected a ring with at({SELF}) to be used by one role, and only so, found other uses"
            )
        return found

    @cached_property
    def _releases(self) -> Mapping[tuple[Owner, Place], Mapping[tirx.Queue | None, Operation]]:
        """The queues behind whose work each role releases slots at a station, each with the first who does."""
        found: dict[tuple[Owner, Place], dict[tirx.Queue | None, Operation]] = {}
        for owner in self.owners:
            for op in walk(owner):
                if isinstance(op, tirx.ReleaseOp):
                    after = None if op.after is None else op.after.data
                    found.setdefault((owner, place_of(op)), {}).setdefault(after, op)
                elif isinstance(op, tirx.TilesOp) and (place := response_place(op)) is not None:
                    found.setdefault((owner, place), {}).setdefault(None, op)
        return found

    @cached_property
    def _work(self) -> Mapping[Owner, Sequence[Operation]]:
        """The operations of every role that start work of a queue."""
        kinds = tirx.AsyncNextOp | tirx.AsyncCopyOp | tirx.AsyncMmaOp
        return {owner: [op for op in walk(owner) if isinstance(op, kinds)] for owner in self.owners}

    def _queue(self, ring: tirx.RingOp, station: str, owner: Owner) -> tirx.Queue | None:
        """The queue behind whose work a role releases slots at a station."""
        found = self._releases.get((owner, (ring, station)), {})
        if len(found) != 1:
            op = next(iter(found.values()), ring)
            raise RingLoweringError(
                op,
                f"expected releases of one kind at a station of a ring, found {len(found)} kinds at({station}) in "
                f"@{owner.sym_name.data}",
            )
        queue, release = next(iter(found.items()))
        tiles = ring.result.type.contents
        if queue is not None and tiles and not any(_works_at(op, queue, ring, station) for op in self._work[owner]):
            raise RingLoweringError(
                release, f"expected work of {queue} on the slot in front of after({queue}), found none"
            )
        return queue

    def _within_role(
        self, ring: tirx.RingOp, queues: Mapping[str, Mapping[Owner, tirx.Queue | None]]
    ) -> Passing | None:
        """Returns how a ring is passed on within one role, without mbarriers; None if it needs them.

        Bulk stores that empty the slots, and cp.async of all threads that fills them, are waited for by groups, and the
        threads meet at barriers. Where all work is that of tcgen05 by one thread, its order is enough.
        """
        roles = {owner for found in queues.values() for owner in found}
        if len(roles) != 1:
            return None
        (owner,) = roles
        after = {queue for found in queues.values() for queue in found.values()}
        if after == {tirx.Queue.TCGEN05}:
            return Passing.ORDER
        members = (self.places[owner][(ring, name)] for name in queues)
        return Passing.BARRIER if meets_at_barriers(after, members) else None

    def _passing(self, owner: Owner, queue: tirx.Queue | None) -> Passing:
        match queue:
            case None:
                return Passing.THREADS
            case tirx.Queue.TMA:
                return Passing.BYTES
            case tirx.Queue.TCGEN05:
                return Passing.COMMIT
            case tirx.Queue.CP_ASYNC if not self.awaits(owner, tirx.Queue.CP_ASYNC):
                return Passing.NOINC
            case _:
                return Passing.GROUPS

    @staticmethod
    def awaits(owner: Owner, queue: tirx.Queue) -> bool:
        """True if the role waits for groups of this queue itself."""
        return any(isinstance(op, tirx.AwaitOp) and op.awaited_queue is queue for op in walk(owner))


def _check_integers(ring: tirx.RingOp) -> None:
    """Raises LocatedError for integers that no register holds, or that other blocks would have to read."""
    for view in ring.result.type.views:
        if view.type not in INTEGERS:
            known = ", ".join(map(str, INTEGERS))
            raise RingLoweringError(ring, f"expected integers of {known}, found {view.type}")
    if ring.across is not None:
        problem = f"expected integers for the roles of one block, found across({ring.across.data})"
        raise RingLoweringError(ring, problem)


def _works_at(op: Operation, queue: tirx.Queue, ring: tirx.RingOp, station: str) -> bool:
    if isinstance(op, tirx.AsyncNextOp):
        return op.queue is queue and op.ring is ring.result
    if not isinstance(op, tirx.AsyncCopyOp | tirx.AsyncMmaOp) or op.queue is not queue:
        return False
    return any(slot.place == (ring, station) for _, slot in slot_tiles(op))


_PLAN = "rings_plan"
"""The attribute of the object of a kernel with the plan of its rings: it holds it, since that holds its IR."""


def plan_rings(kernel: tirx.KernelOp, extraction: Extraction | None = None) -> RingsPlan:
    """The plan of all rings of a kernel, whose programs may be known. Raises LocatedError for rings that cannot be
    lowered.
    """
    plan: RingsPlan | None = vars(kernel).pop(_PLAN, None)
    if plan is not None and plan.extraction is extraction:
        return plan
    with located(kernel, RingLoweringError):
        return RingsPlan(kernel, extraction)


def keep_plan(plan: RingsPlan) -> None:
    """Lets the plan be that of the kernel for whom asks with the same programs, once."""
    vars(plan.kernel)[_PLAN] = plan
