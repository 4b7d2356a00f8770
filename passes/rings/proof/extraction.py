"""Reads the rings of a kernel and the programs of its parties from the IR."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from itertools import chain, count

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, OpResult

from tirx.dialects import tirx
from tirx.dialects.nesting import operations, walk
from tirx.dialects.ptx.launch_control import ANSWER_BYTES
from tirx.passes.ir.scheduled import is_cp_async, is_scheduling, kernel_of
from tirx.passes.rings.proof.errors import PartyError, SlotUseError, UndecidedError
from tirx.passes.rings.proof.launch_control import check_launch_control
from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    Await,
    AwaitIssue,
    BeforeLast,
    Body,
    Completion,
    Condition,
    Fence,
    FromRound,
    If,
    Issue,
    Kernel,
    Loop,
    Mode,
    Release,
    Ring,
    Statement,
    Use,
    WorkQueue,
)
from tirx.passes.rings.proof.parties import (
    Members,
    Owner,
    Party,
    blocks_led,
    cluster_blocks,
    is_multicast,
    is_passed_at_barriers,
    issuer,
    owners,
    parties_of,
    response_place,
    station_index,
    stations_of,
)
from tirx.passes.rings.proof.scalars import ScalarNames
from tirx.passes.rings.proof.slots import (
    Place,
    SlotTile,
    enclosing_loop,
    executions_since,
    pending_product,
    place_of,
    slot_tile,
)
from tirx.passes.rings.proof.structure import Activity, activity
from tirx.passes.rings.proof.tile_accesses import TileAccess, accesses_in
from tirx.values import dataclass, field

_QUEUES = {
    tirx.Queue.TMA: WorkQueue("tma", Completion.BYTES),
    tirx.Queue.STORE: WorkQueue("store", Completion.THREAD, commits_at_release=True),
    tirx.Queue.TCGEN05: WorkQueue("tcgen05", Completion.HARDWARE),
    tirx.Queue.WGMMA: WorkQueue("wgmma", Completion.THREAD),
}


_STATEMENTS = frozenset(
    (tirx.AcquireOp, tirx.ReleaseOp, tirx.AsyncNextOp, tirx.AsyncCopyOp, tirx.AsyncMmaOp, tirx.AwaitOp)
)
"""Operations without regions that are statements, even if they access no slot."""


@dataclass
class Extraction:
    """A kernel as programs of parties. `kernel` is None for one without rings, roles and asynchronous work."""

    source: tirx.KernelOp
    names: dict[tirx.RingOp, str] = field(default_factory=dict[tirx.RingOp, str])
    parties: dict[str, Party] = field(default_factory=dict[str, Party])
    """The parties by their labels."""
    accesses: dict[Owner, list[TileAccess]] = field(default_factory=dict[Owner, list[TileAccess]])
    own: dict[Operation, list[TileAccess]] = field(default_factory=dict[Operation, list[TileAccess]])
    """The accesses of each operation itself that has any."""
    of_rings: dict[tirx.RingOp, list[TileAccess]] = field(default_factory=dict[tirx.RingOp, list[TileAccess]])
    """The accesses of all roles to the slots of each ring that has any."""
    writes: dict[Operation, list[TileAccess]] = field(default_factory=dict[Operation, list[TileAccess]])
    """The accesses that write to the slots that each acquire gives."""
    by_threads: dict[Operation, set[Mode]] = field(default_factory=dict[Operation, set[Mode]])
    """The accesses by threads, not by asynchronous work, to the slots that each acquire gives."""
    touched: set[tuple[Owner, Place]] = field(default_factory=set[tuple[Owner, Place]])
    """The stations of each role at which its threads access slots."""
    places: dict[Owner, dict[Place, Members]] = field(default_factory=dict[Owner, dict[Place, Members]])
    """The stations at which every role works, and with which of its parties."""
    ranks: dict[str, int] = field(default_factory=dict[str, int])
    scalar: ScalarNames = field(default_factory=ScalarNames)
    loop_names: dict[Operation, str] = field(default_factory=dict[Operation, str])

    @property
    def all_accesses(self) -> Iterator[TileAccess]:
        """The accesses of all roles."""
        return chain.from_iterable(self.accesses.values())

    @cached_property
    def happens(self) -> Activity:
        """The kinds of accesses at all stations; of a kernel that is proved right, those that the proof has found."""
        assert self.model is not None
        return activity(self.model)

    def of_tile(self, slot: SlotTile) -> Iterator[TileAccess]:
        """The accesses of all roles to one tile of the slots of a ring."""
        return (access for access in self.of_rings.get(slot.ring, ()) if access.slot.tile == slot.tile)

    def is_touched_by_threads(self, op: Operation) -> bool:
        """True if threads of the role touch a slot that asynchronous work is about while it is held; both may read."""
        found = ((access.mode, self.by_threads.get(access.slot.acquire, ())) for access in self.own.get(op, ()))
        return any(modes and (mode is Mode.WRITE or Mode.WRITE in modes) for mode, modes in found)

    def fills_for_async_proxy(self, owner: Owner) -> bool:
        """True if the asynchronous proxy reads what a role copies by `cp.async`, whose threads then fence."""
        filled = {access.slot.ring for access in self.accesses[owner] if is_cp_async(access.op)}
        found = (access.op for ring in filled for access in self.of_rings[ring])
        return any(_is_asynchronous(op) and not is_cp_async(op) for op in found)

    @cached_property
    def model(self) -> Kernel | None:
        """The kernel. Raises RingError for one that has no such programs."""
        if not is_scheduling(self.source):
            return None
        self._require_roles_only()
        for op in walk(self.source):
            match op:
                case _ if not op.regions and type(op) is not tirx.RingOp:
                    pass
                case tirx.RingOp():
                    self.names[op] = self._name_of(op)
                case tirx.ForOp() | tirx.TilesOp():
                    self.loop_names[op] = op.loop.data
                    self.ranks.setdefault(op.loop.data, len(self.ranks))
                case scf.ForOp() if is_scheduling(op):
                    self.loop_names[op] = name = self.scalar.name_loop(op)
                    self.ranks.setdefault(name, len(self.ranks))
                case scf.WhileOp() if is_scheduling(op):
                    self.loop_names[op] = name = f"scf.while {len(self.ranks)}"
                    self.ranks[name] = len(self.ranks)
                case _:
                    pass
        roles = owners(self.source)
        check_launch_control(self.source, self.names, roles)
        for role in roles:
            self.accesses[role] = found = accesses_in(role)
            for access in found:
                self.own.setdefault(access.op, []).append(access)
                self.of_rings.setdefault((place := access.slot.place)[0], []).append(access)
                if access.mode is Mode.WRITE:
                    self.writes.setdefault(access.slot.acquire, []).append(access)
                if not _is_asynchronous(access.op):
                    self.by_threads.setdefault(access.slot.acquire, set()).add(access.mode)
                    self.touched.add((role, place))
        for ring in self.names:
            self._require_contents(ring)
        blocks, led = cluster_blocks(self.source), blocks_led(self.source)
        self.places = places = {role: stations_of(role) for role in roles}
        parties = [party for role in roles for party in parties_of(role, places[role], blocks, led)]
        for party in parties:
            if self.parties.setdefault(party.label, party) is not party:
                raise PartyError(f"expected another name of a role, found a second party {party.label}", party.owner)
        rings = {
            name: found
            for ring in self.names
            for block in ((None,) if ring.across is not None else blocks)
            if (found := self._ring(ring, block, parties, places)) is not None
            for name in (found.name,)
        }
        return Kernel(rings, self._programs())

    def _programs(self) -> dict[str, Body]:
        """The programs of all parties; those of a role often have the same one."""
        found: dict[str, Body] = {}
        built: dict[Owner, list[tuple[_Program, Body]]] = {role: [] for role in self.places}
        for label, party in self.parties.items():
            known = built[party.owner]
            body = next((body for program, body in known if program.is_of(party)), None)
            if body is None:
                program = _Program(self, party, self.places[party.owner])
                known.append((program, body := program.build()))
            found[label] = body
        return found

    def _require_roles_only(self) -> None:
        """Raises PartyError if there are roles, and something else works with rings."""
        block = self.source.body.block
        roles = [op for op in block.ops if isinstance(op, tirx.RolesOp)]
        for op in block.ops if roles else ():
            if not isinstance(op, tirx.RingOp | tirx.RolesOp) and is_scheduling(op):
                raise PartyError(f"expected '{op.name}' inside of a role, found it beside 'tirx.roles'", op)
        if len(roles) > 1:
            raise PartyError("expected one 'tirx.roles' in a kernel, found a second one", roles[1])

    def _name_of(self, ring: tirx.RingOp) -> str:
        """A name that no other ring has: that of the SSA value, with a number as printers add it, or a number."""
        hint, taken = ring.result.name_hint, set(self.names.values())
        if not hint:
            return f"ring {len(taken)}"
        return next(name for n in count() if (name := f"%{hint}_{n}" if n else f"%{hint}") not in taken)

    def ring_name(self, ring: tirx.RingOp, block: int | None) -> str:
        """The name of a ring, with its block if every block has one of its own."""
        return self.names[ring] if block is None or ring.across is not None else f"{self.names[ring]}@{block}"

    def station(self, place: Place, party: Party) -> tuple[str, int]:
        """The name of the ring and the number of the station that a place is for a party."""
        ring, station = place
        return self.ring_name(ring, party.block), station_index(ring, station, party)

    def _ring(
        self, ring: tirx.RingOp, block: int | None, parties: list[Party], places: dict[Owner, dict[Place, Members]]
    ) -> Ring | None:
        """A ring with its parties; None if nobody in the block uses it."""
        stations: list[list[str]] = [[] for _ in ring.station_names]
        shares: list[int] = []
        for party in parties:
            if block is not None and party.block != block:
                continue
            for (used, station), members in places[party.owner].items():
                if used is not ring or not party.is_among(members):
                    continue
                index = station_index(ring, station, party)
                stations[index].append(party.label)
                if index == 0:
                    shares.append(self._share(ring, party))
        if not any(stations):
            return None
        for name, found in zip(ring.station_names, stations, strict=True):
            if not found:
                raise PartyError(
                    f"expected a role that works at station {name} of {self.names[ring]}, found none", ring
                )
        return Ring(
            self.ring_name(ring, block),
            ring.num_slots,
            tuple(map(tuple, stations)),
            bytes=sum(shares),
            shares=tuple(shares),
            multicast=is_multicast(ring),
            differences=self._differences(ring),
            station_names=ring.station_names,
            origin=ring,
        )

    def _differences(self, ring: tirx.RingOp) -> frozenset[int]:
        """The ranks of the blocks that share slots, combined with the own one by exclusive or; empty for all blocks."""
        if ring.across is not None and ring.across.data is tirx.Across.PAIR:
            return _of_pairs(frozenset({0}), self.source)
        if not is_multicast(ring):
            return frozenset()
        copies = (access.op for access in self.of_rings.get(ring, ()))
        multicast = [
            op for op in copies if isinstance(op, tirx.AsyncCopyOp) and op.engine.data is tirx.Engine.TMA_MULTICAST
        ]
        groups = {op.group for op in multicast}
        found = frozenset(each for group in groups if group is not None for each in group.differences)
        if ring.across is not None and ring.across.data is tirx.Across.PAIRS:
            found = _of_pairs(found, self.source)
        return frozenset() if None in groups or len(found) == self.source.cluster_size else found

    def _share(self, ring: tirx.RingOp, party: Party) -> int:
        """The bytes by TMA with which a party fills a slot: those of every tile that it copies anything to."""
        if not party.is_elected:
            return 0
        if ring.result.type.is_tile_id:
            return ANSWER_BYTES
        tiles = {
            access.slot.tile: access.slot.num_bytes
            for access in self.accesses[party.owner]
            if access.slot.ring is ring
            and access.mode is Mode.WRITE
            and isinstance(access.op, tirx.AsyncCopyOp)
            and access.op.queue is tirx.Queue.TMA
        }
        return sum(tiles.values())

    def _require_contents(self, ring: tirx.RingOp) -> None:
        """Every tile that is read is written at the same or an earlier station, without conditions at the first."""
        order = {name: i for i, name in enumerate(ring.station_names)}
        found = self.of_rings.get(ring, ())
        for tile in range(len(ring.result.type.contents)):
            mine = [access for access in found if access.slot.tile == tile]
            writes = [order.get(a.station, 0) for a in mine if a.mode is Mode.WRITE]
            for access in mine:
                if access.mode is Mode.READ and min(writes, default=len(order)) > order.get(access.station, 0):
                    raise SlotUseError(
                        f"expected tile {tile} of {self.names[ring]} to be written before it is read, "
                        f"found no write at an earlier station",
                        access.op,
                    )
            if ring.carries is None:
                self._require_unconditional_fill(ring, [a for a in mine if order.get(a.station, 0) == 0])

    def _require_unconditional_fill(self, ring: tirx.RingOp, accesses: list[TileAccess]) -> None:
        writes = [access for access in accesses if access.mode is Mode.WRITE]
        if writes and all(access.is_conditional for access in writes):
            raise SlotUseError(
                f"expected every use of {self.names[ring]} to be filled, found a fill under a condition", writes[0].op
            )


@dataclass
class _Program:
    extraction: Extraction
    party: Party
    places: dict[Place, Members]
    members: dict[Members, bool] = field(default_factory=dict[Members, bool])
    """Who takes part in something, and whether the party does."""
    stations: dict[Place, tuple[str, int]] = field(default_factory=dict[Place, tuple[str, int]])
    """The names and numbers that the party has for stations."""

    def build(self) -> Body:
        """The statements of the party's role, in order."""
        return self._block(self.party.owner.body.block)

    def is_of(self, party: Party) -> bool:
        """True if the program, which is built, is that of another party of the role as well."""
        return all(party.is_among(members) is answer for members, answer in self.members.items()) and all(
            self.extraction.station(place, party) == at for place, at in self.stations.items()
        )

    def _block(self, block: Block) -> Body:
        out: list[Statement] = []
        own = self.extraction.own
        for op in operations(block):
            if op.regions or op in own or type(op) in _STATEMENTS:
                out += self._op(op)
        return tuple(out)

    def _op(self, op: Operation) -> list[Statement]:
        match op:
            case tirx.RingOp() | tirx.RolesOp():
                return []
            case tirx.AcquireOp():
                return self._acquire(op)
            case tirx.ReleaseOp():
                return self._release(op)
            case tirx.AsyncNextOp():
                return self._next(op)
            case tirx.AsyncCopyOp() | tirx.AsyncMmaOp():
                return self._work(op)
            case tirx.AwaitOp():
                return self._await(op)
            case tirx.ForOp():
                return [self._for(op)]
            case tirx.TilesOp():
                return [self._tiles(op)]
            case scf.ForOp() if is_scheduling(op):
                name, trips = self.extraction.loop_names[op], self.extraction.scalar.bounds(op)
                return [Loop(name, trips, 0, self._block(op.body.block), self.extraction.ranks[name], op)]
            case scf.WhileOp() if is_scheduling(op):
                return [self._while(op)]
            case scf.IfOp() if is_scheduling(op):
                return self._if(op)
            case _ if op.regions and is_scheduling(op):
                raise UndecidedError(f"cannot decide: operations of a ring inside of '{op.name}'", op)
            case _:
                found = accesses_in(op) if op.regions else self.extraction.own.get(op, ())
                return [Use(self._access(access), access.op) for access in found]

    # Rings

    def _is_among(self, members: Members) -> bool:
        if (answer := self.members.get(members)) is None:
            answer = self.members[members] = self.party.is_among(members)
        return answer

    def _at(self, place: Place) -> tuple[str, int]:
        if (at := self.stations.get(place)) is None:
            at = self.stations[place] = self.extraction.station(place, self.party)
        return at

    def _acquire(self, op: tirx.AcquireOp) -> list[Statement]:
        place = place_of(op)
        if not self._is_among(self.places[place]):
            return []
        name, index = self._at(place)
        out: list[Statement] = [Acquire(name, index, op, op), *self._filled_before_loops(op)]
        # Integers are written by threads when the first station passes them on, and read when they are acquired.
        type_ = place[0].result.type
        if type_.holds_scalars or (index > 0 and type_.is_tile_id):
            out.append(Use(Access(name, index, Mode.READ if index else Mode.WRITE), op))
        return out

    def _release(self, op: tirx.ReleaseOp) -> list[Statement]:
        place = place_of(op)
        if not self._is_among(self.places[place]):
            return []
        name, index = self._at(place)
        type_ = place[0].result.type
        after = None if op.after is None else self._queue(op.after.data)
        touched = (self.party.owner, place) in self.extraction.touched or type_.holds_scalars or type_.is_tile_id
        # The lowering lets the lanes of a warp come, and fences wherever the kinds of accesses need it, before one of
        # them arrives; not where one that has waited for wgmma or stores does, or hardware.
        by_all = op.after is None or op.after.data is tirx.Queue.CP_ASYNC
        ordered = touched and (by_all or is_passed_at_barriers(place[0], self.extraction.places))
        fence: list[Statement] = [Fence(op, (name, index))] if ordered else []
        return [*fence, Release(name, index, after, op.early is not None, op)]

    def _queue(self, queue: tirx.Queue) -> WorkQueue:
        if queue is not tirx.Queue.CP_ASYNC:
            return _QUEUES[queue]
        # Hardware arrives for copies that threads read. Copies that the asynchronous proxy reads need a proxy fence of
        # the copying threads, which therefore wait for their groups themselves.
        waits = self.extraction.fills_for_async_proxy(self.party.owner)
        return WorkQueue("cp_async", Completion.THREAD if waits else Completion.HARDWARE, True, True)

    def _access(self, found: TileAccess) -> Access:
        ring, _ = place = found.slot.place
        name, index = self._at(place)
        mode = found.mode
        if mode is Mode.READ and ring.carries is not None and index == 0:
            mode = Mode.UPDATE
        return Access(
            *(name, index, mode, executions_since(found.slot.acquire, found.op), found.slot.acquire),
            *(_box_bytes(found), found.as_a),
        )

    # Asynchronous work

    def _work(self, op: tirx.AsyncCopyOp | tirx.AsyncMmaOp) -> list[Statement]:
        if not self._is_among(issuer(op)):
            return []
        if isinstance(op, tirx.AsyncCopyOp) and op.engine.data is tirx.Engine.TMA_MULTICAST:
            _require_shared(op)
        accesses = [self._access(access) for access in self.extraction.own.get(op, ())]
        if isinstance(op, tirx.AsyncMmaOp) and (slot := slot_tile(op.accumulator)) is not None:
            if slot.ring.carries is not None and slot.place[1] == slot.ring.station_names[0]:
                accesses.insert(0, self._access(TileAccess(slot, Mode.READ, op)))
        touched = self.extraction.is_touched_by_threads(op)
        fence: list[Statement] = [Fence(op)] if touched else []
        return [*fence, Issue(self._queue(op.queue), tuple(accesses), op, op)]

    def _next(self, op: tirx.AsyncNextOp) -> list[Statement]:
        if not self._is_among(issuer(op)):
            return []
        ring = tirx.RingOp.of(op.ring)
        name, index = self._at((ring, ring.station_names[0]))
        return [Issue(self._queue(op.queue), (Access(name, index, Mode.WRITE, bytes=ANSWER_BYTES),), op, op)]

    def _await(self, op: tirx.AwaitOp) -> list[Statement]:
        queue = self._queue(op.awaited_queue)
        if op.value is None:
            return [Await(queue, 0 if op.pending is None else op.pending.value.data, op)]
        product, iterations = pending_product(op.value)
        return [AwaitIssue(queue, product, executions_since(product, op, iterations), op)]

    # Regions

    def _for(self, op: tirx.ForOp) -> Loop:
        skew, name = op.rounds_ahead, op.loop.data
        trips = self._trips(op)
        if not op.parts:
            return Loop(name, trips, 0, self._block(op.body.block), self.extraction.ranks[name], op)
        body: list[Statement] = []
        for part in op.parts:
            inner = self._block(part.body.block)
            if inner and skew - part.offset:
                inner = (If(BeforeLast(skew - part.offset), inner, part),)
            if inner and part.offset:
                inner = (If(FromRound(part.offset), inner, part),)
            body += inner
        return Loop(name, trips, skew, tuple(body), self.extraction.ranks[name], op)

    def _trips(self, op: tirx.ForOp) -> Hashable:
        trips = op.iterations
        return ("constant", trips) if isinstance(trips, int) else self.extraction.scalar(trips)

    def _tiles(self, op: tirx.TilesOp) -> Loop:
        name = op.loop.data
        body = self._block(op.body.block)
        if (answers := response_place(op)) is not None and self._is_among(self.places[answers]):
            place, index = self._at(answers)
            answer = Access(place, index, Mode.READ)
            passed_on = Fence(op, (place, index)), Release(place, index, origin=op)
            body += (Acquire(place, index, None, op), Use(answer, op), *passed_on)
        source = None if op.source is None else self.extraction.scalar(op.source)
        trips = (op.order.data, op.group, source, tuple(map(self.extraction.scalar, op.extents)))
        return Loop(name, trips, 0, body, self.extraction.ranks[name], op)

    def _while(self, op: scf.WhileOp) -> Loop:
        """A loop of which nothing is known but that no other role has it."""
        if self._block(op.before_region.block):
            raise UndecidedError("cannot decide: operations of a ring in the condition of 'scf.while'", op)
        name = self.extraction.loop_names[op]
        return Loop(name, op, 0, self._block(op.after_region.block), self.extraction.ranks[name], op)

    def _if(self, op: scf.IfOp) -> list[Statement]:
        condition = self.extraction.scalar(op.cond)
        branches = ((True, op.true_region), (False, op.false_region))
        bodies = [(value, self._block(region.block)) for value, region in branches if region.blocks]
        return [If(Condition(condition, value), body, op) for value, body in bodies if body]

    # Loops that may have no iterations

    def _filled_before_loops(self, op: tirx.AcquireOp) -> list[Statement]:
        """A write that counts where all writes of a slot stand in loops that may have no iterations.

        Then the slot is handed on as it came, which is right if a loop always has iterations, if an earlier station has
        written it, or if every reader takes another value where there are none.
        """
        writes = self.extraction.writes.get(op, ())
        if not writes or any(loop_inside(access.op, op) is None for access in writes):
            return []
        loop, slot = loop_inside(writes[0].op, op), writes[0].slot
        if not isinstance(loop, tirx.ForOp) or not (
            (isinstance(n := loop.iterations, int) and n > 0)
            or self._written_earlier(slot)
            or self._readers_select(slot, loop)
        ):
            return []
        name, index = self._at(place_of(op))
        written = Access(name, index, Mode.WRITE, 0, op)
        for statement in self._op(writes[0].op):
            if isinstance(statement, Issue):
                return [Issue(statement.queue, (written,), None, statement.origin)]
            if isinstance(statement, Use):
                return [Use(written, statement.origin)]
        return []

    def _written_earlier(self, slot: SlotTile) -> bool:
        """True if an earlier station writes the tile, without conditions."""
        ring, station = slot.place
        order = ring.station_names
        earlier = order[: order.index(station)] if station in order else ()
        writes = (a for a in self.extraction.of_tile(slot) if a.mode is Mode.WRITE and not a.is_conditional)
        return any(access.station in earlier for access in writes)

    def _readers_select(self, slot: SlotTile, loop: tirx.ForOp) -> bool:
        """True if what is read of the slot is replaced, or nothing is read, where the loop has no iterations."""
        trips = None if loop.trips is None else self.extraction.scalar(loop.trips)
        readers = [access.op for access in self.extraction.of_tile(slot) if access.mode is Mode.READ]
        return all(
            self._is_left_out(reader, trips)
            or (reader.results and all(self._is_replaced(value, trips) for value in reader.results))
            for reader in readers
        )

    def _is_left_out(self, reader: Operation, trips: Hashable) -> bool:
        """True for an operation in a branch that is not taken where the number of iterations is 0."""
        branch = reader.parent_op()
        test = self.extraction.scalar.zero_test(branch.cond) if isinstance(branch, scf.IfOp) else None
        if test is None or not isinstance(branch, scf.IfOp) or test[0] != trips:
            return False
        return reader.parent_region() is (branch.false_region if test[1] else branch.true_region)

    def _is_replaced(self, value: OpResult, trips: Hashable) -> bool:
        """True if a value is only used by selects that take another one where the number of iterations is 0."""
        for use in value.uses:
            if use.operation.name != "arith.select":
                return False
            test = self.extraction.scalar.zero_test(use.operation.operands[0])
            if test is None or test[0] != trips or use.index != (2 if test[1] else 1):
                return False
        return True


def _of_pairs(differences: frozenset[int], kernel: tirx.KernelOp) -> frozenset[int]:
    """The same differences of ranks, and those of the other blocks of the pairs; none where these are the cluster."""
    found = frozenset(difference ^ other for difference in differences for other in range(tirx.PAIR))
    return frozenset() if len(found) == kernel.cluster_size else found


def loop_inside(op: Operation, acquire: tirx.AcquireOp) -> Operation | None:
    """The outermost loop around `op` that is not around `acquire`, or None."""
    outer = enclosing_loop(acquire)
    found: Operation | None = None
    around = enclosing_loop(op)
    while around is not None and around is not outer:
        found = around
        around = enclosing_loop(around)
    return found


def _is_asynchronous(op: Operation) -> bool:
    return isinstance(op, tirx.AsyncCopyOp | tirx.AsyncMmaOp | tirx.AsyncNextOp)


def _require_shared(op: tirx.AsyncCopyOp) -> None:
    """Raises PartyError for a copy to slots of other blocks in a ring that these do not share."""
    slot = slot_tile(op.destination)
    if slot is not None and not is_multicast(slot.ring):
        across = slot.ring.across
        raise PartyError(
            "expected across(cluster) or across(pairs) of a ring whose slots are filled in several blocks by one copy, "
            f"found {'none' if across is None else f'across({across.data})'}",
            op,
        )


def _box_bytes(access: TileAccess) -> int:
    """The bytes that come into the own block by a copy by TMA and, with multicast, by the same copy of the others."""
    op = access.op
    if access.mode is not Mode.WRITE or not isinstance(op, tirx.AsyncCopyOp) or op.queue is not tirx.Queue.TMA:
        return 0
    size = tirx.TileType.of(op.destination).num_bytes
    kernel = kernel_of(op)
    if op.engine.data is not tirx.Engine.TMA_MULTICAST:
        return size
    return size * (kernel.cluster_size if op.group is None else op.group.count)
