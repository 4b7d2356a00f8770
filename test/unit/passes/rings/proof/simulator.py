"""
The witness of the check of rings: runs programs of parties on mbarriers, in random or in all interleavings.

It shares nothing with the check but the classes that programs consist of. Barriers have pending arrivals, bytes and a
phase, of which waits see the parity. Asynchronous work ends at any later moment, and so does, for asynchronous
accesses, an access by threads that no proxy fence follows. Slots hold who wrote which use.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    Restart,
    Ring,
    Rotation,
    Step,
    Use,
    WorkQueue,
    accesses,
)

Path = tuple[tuple[str, int], ...]
"""The loops around a place and their rounds."""

Programs = dict[str, list[Step]]


class BugError(Exception):
    """Raised for a fault of one run."""


def straight_line(
    kernel: Kernel, trips: Callable[[Hashable, Path], int], condition: Callable[[Hashable, Path], bool]
) -> Programs:
    """Every program without loops and conditions, for given numbers of iterations and conditions."""

    def lag(found: int | Rotation, rounds: dict[str, tuple[int, int]]) -> int:
        if isinstance(found, int):
            return found
        i, n = rounds[found.loop]
        return min(found.rounds, n - 1 - i + found.left)

    def resolved(access: Access, rounds: dict[str, tuple[int, int]]) -> Access:
        return Access(access.ring, access.station, access.mode, lag(access.lag, rounds), access.acquire, access.bytes)

    def unroll(body: Body, path: Path, i: int, n: int, rounds: dict[str, tuple[int, int]]) -> Iterator[Step]:
        for s in body:
            match s:
                case Loop():
                    iterations = trips(s.trips, path)
                    count = max(iterations + s.extra, 0)
                    for j in range(count):
                        inner = {**rounds, s.name: (j, iterations)}
                        yield from unroll(s.body, (*path, (s.name, j)), j, count, inner)
                case If(guard=guard):
                    match guard:
                        case Condition():
                            taken = condition(guard.name, path) == guard.value
                        case FromRound():
                            taken = i >= guard.round
                        case BeforeLast():
                            taken = i + guard.rounds < n
                    if taken:
                        yield from unroll(s.body, path, i, n, rounds)
                case Use():
                    yield Use(resolved(s.access, rounds))
                case Issue():
                    yield Issue(s.queue, tuple(resolved(a, rounds) for a in s.accesses), s.label)
                case AwaitIssue():
                    yield AwaitIssue(s.queue, s.label, lag(s.lag, rounds))
                case _:
                    yield s

    return {role: list(unroll(body, (), 0, 1, {})) for role, body in kernel.roles.items()}


@dataclass
class Barrier:
    """An mbarrier: arrivals that it waits for, bytes that are expected and have not come, completed phases."""

    count: int
    pending: int = field(init=False)
    phase: int = 0
    bytes: int = 0

    def __post_init__(self) -> None:
        self.pending = self.count

    def update(self, arrivals: int = 0, expected: int = 0, completed: int = 0) -> None:
        self.pending -= arrivals
        self.bytes += expected - completed
        if self.pending < 0:
            raise BugError("more arrivals than the barrier counts")
        if self.pending == 0 and self.bytes == 0:
            self.phase, self.pending = self.phase + 1, self.count


class Live(NamedTuple):
    """
    An access that has begun and may still happen.

    `proxy` is "generic" for one by threads, which only asynchronous accesses may still see happen, "copy" for an
    asynchronous one that needs no proxy fences (cp.async), else "async".
    """

    ring: str
    slot: int
    block: int
    use: int
    station: int
    party: str
    mode: Mode
    proxy: str


@dataclass
class Group:
    """Work of a queue whose groups threads wait for."""

    work: list[int]
    releases: list[tuple[str, int, int]]
    label: Hashable
    is_complete: bool = False


Actor = tuple[str, Any]
"""Who makes the next step: a role, or the hardware somewhere."""


class Simulation:
    """One run."""

    def __init__(self, kernel: Kernel, programs: Programs):
        self.kernel, self.programs = kernel, programs
        self.at = dict.fromkeys(programs, 0)
        self.barriers: dict[tuple[str, int, int, int], Barrier] = {}
        self.content: dict[tuple[str, int, int, str], tuple[object, int]] = {}
        self.writes = {(r.name, s): False for r in kernel.rings.values() for s in range(len(r.stations))}
        for ring in kernel.rings.values():
            for station in range(len(ring.stations)):
                count = ring.counts[station] if ring.counts else self._arrivals(ring, station)
                for slot in range(ring.slots):
                    for block in self._blocks(ring):
                        self.barriers[(ring.name, station, slot, block)] = Barrier(count)
        for steps in programs.values():
            for access in (access for step in steps for access in accesses(step)):
                self.writes[(access.ring, access.station)] |= access.mode is Mode.WRITE
        self.acquired: dict[tuple[str, int, str], int] = {}
        self.released: dict[tuple[str, int, str], int] = {}
        self.labels: dict[tuple[str, int, str], list[Hashable]] = {}
        self.live: dict[int, Live] = {}
        self.boxes: list[tuple[int, str, int, int, int]] = []  # TMA on its way: access, ring, slot, block, bytes
        self.hardware: dict[tuple[str, WorkQueue], list[tuple[str, Any]]] = {}
        self.groups: dict[tuple[str, WorkQueue], list[Group]] = {}
        self.unfenced: list[tuple[str, int]] = []
        self.next = 0

    @staticmethod
    def _blocks(ring: Ring) -> range:
        return range(len({party.split("@")[1] for party in ring.stations[0]})) if ring.multicast else range(1)

    def _sharing(self, ring: Ring, block: int) -> list[int]:
        """The blocks to which the fills and releases of one go."""
        return [other for other in self._blocks(ring) if not ring.differences or other ^ block in ring.differences]

    def _arrivals(self, ring: Ring, station: int) -> int:
        if ring.multicast and (station == 0 or not ring.signal_all):
            return sum(p.endswith("@0") for p in ring.stations[station])
        return sum(self._own_block(ring, p) in self._sharing(ring, 0) for p in ring.stations[station])

    @staticmethod
    def _own_block(ring: Ring, party: str) -> int:
        return int(party.split("@")[1]) if ring.multicast else 0

    # Accesses

    def _require_content(self, ring: Ring, slot: int, block: int, use: int, station: int, mode: Mode) -> None:
        if mode is Mode.CARRY:
            writers = [self.content.get((ring.name, slot, block, p)) for parties in ring.stations for p in parties]
            if use and not any(found is not None and found[0] == use - 1 for found in writers):
                raise BugError(f"{ring.name}: carried value of use {use - 1} is not in the slot")
            return
        for before in reversed(range(station)):
            if self.writes[(ring.name, before)]:
                for party in ring.stations[before]:
                    own = self._own_block(ring, party)
                    if ring.multicast and own not in (self._sharing(ring, block) if before == 0 else (block,)):
                        continue  # only the first station writes to the slots of other blocks
                    if (found := self.content.get((ring.name, slot, block, party))) != (use, before):
                        raise BugError(f"{ring.name}: read of use {use} finds {found}")
                return

    def _use(self, party: str, access: Access) -> int:
        place = (access.ring, access.station, party)
        lag = access.lag if isinstance(access.lag, int) else 0
        if access.acquire is None:
            return self.acquired.get(place, 0) - 1 - lag
        found = [i for i, label in enumerate(self.labels.get(place, [])) if label == access.acquire]
        if lag >= len(found):
            raise BugError(f"{party}: a slot of {access.ring} that was never acquired")
        return found[-1 - lag]

    def _begin(self, party: str, access: Access, proxy: str) -> list[int]:
        ring = self.kernel.rings[access.ring]
        use, station = self._use(party, access), access.station
        slot = use % ring.slots
        begun: list[int] = []
        spread = ring.multicast and station == 0
        own_block = self._own_block(ring, party)
        for block in self._sharing(ring, own_block) if spread else [own_block]:
            mode = access.mode
            if mode is Mode.UPDATE:
                own = self.content.get((ring.name, slot, block, party), (None, 0))[0]
                mode = Mode.READ if own in (use, ("torn", use)) else Mode.CARRY
            for other in self.live.values():
                if other[:3] != (ring.name, slot, block) or Mode.WRITE not in (mode, other.mode):
                    continue
                unordered = "async" in (proxy, other.proxy) or other.proxy == "copy"
                if (other.use, other.station) != (use, station) and unordered:
                    raise BugError(
                        f"{ring.name}: {mode.name} of use {use} at {station} meets {other.mode.name} of use "
                        f"{other.use} at {other.station}"
                    )
                if other.party == party and {proxy, other.proxy} == {"async", "generic"}:
                    if (other.use, other.station) == (use, station):
                        raise BugError(f"{ring.name}: {party} mixes proxies without a fence")
            if mode is Mode.WRITE:
                done = (use, station) if proxy == "generic" else (("torn", use), station)
                self.content[(ring.name, slot, block, party)] = done
            else:
                self._require_content(ring, slot, block, use, station, mode)
            self.live[self.next] = Live(ring.name, slot, block, use, station, party, mode, proxy)
            begun.append(self.next)
            self.next += 1
        return begun

    def _end(self, number: int) -> None:
        access = self.live.pop(number)
        if access.proxy == "generic":
            return
        if access.mode is Mode.WRITE:
            place = (access.ring, access.slot, access.block, access.party)
            self.content[place] = (access.use, access.station)
        else:
            ring = self.kernel.rings[access.ring]
            self._require_content(ring, access.slot, access.block, access.use, access.station, access.mode)

    def _arrive(self, party: str, name: str, station: int, slot: int, expected: int = 0) -> None:
        ring = self.kernel.rings[name]
        everyone = ring.multicast and station > 0 and ring.signal_all
        own = self._own_block(ring, party)
        for block in self._sharing(ring, own) if everyone else [own]:
            self.barriers[(name, station, slot, block)].update(1, expected)

    # Steps

    def actors(self) -> list[Actor]:
        """Everybody who can move."""
        found: list[Actor] = [("role", role) for role in self.programs if self._is_enabled(role)]
        found += [("box", i) for i in range(len(self.boxes))]
        found += [("hardware", key) for key, queue in self.hardware.items() if queue]
        found += [("group", key) for key, groups in self.groups.items() if any(not g.is_complete for g in groups)]
        return found + [("unfenced", i) for i in range(len(self.unfenced))]

    def _is_enabled(self, role: str) -> bool:
        if self.at[role] == len(self.programs[role]):
            return False
        match self.programs[role][self.at[role]]:
            case Await() as step:
                groups = self.groups.get((role, step.queue), [])
                return all(group.is_complete for group in groups[: max(len(groups) - step.pending, 0)])
            case AwaitIssue() as step:
                groups = self.groups.get((role, step.queue), [])
                return all(group.is_complete for group in groups[: self._awaited(step, groups)])
            case Acquire() as step:
                ring, use = self.kernel.rings[step.ring], self.acquired.get((step.ring, step.station, role), 0)
                before = (step.station - 1) % len(ring.stations)
                barrier = self.barriers[(step.ring, before, use % ring.slots, self._own_block(ring, role))]
                parity = (use // ring.slots & 1) ^ (step.station == 0)
                return barrier.phase & 1 != parity
            case _:
                return True

    @staticmethod
    def _awaited(step: AwaitIssue, groups: list[Group]) -> int:
        """Counts the oldest groups that have to be complete."""
        found = [i for i, group in enumerate(groups) if group.label == step.label]
        lag = step.lag if isinstance(step.lag, int) else 0
        return found[-1 - lag] + 1 if lag < len(found) else 0

    def step(self, actor: Actor) -> None:
        """One move of somebody who can."""
        kind, key = actor
        if kind == "box":
            number, name, slot, block, size = self.boxes.pop(key)
            self._end(number)
            self.barriers[(name, 0, slot, block)].update(completed=size)
        elif kind == "hardware":
            what, item = self.hardware[key].pop(0)
            if what == "work":
                for number in item:
                    self._end(number)
            else:
                self._arrive(key[0], *item)
        elif kind == "group":
            group = next(group for group in self.groups[key] if not group.is_complete)
            for number in group.work:
                self._end(number)
            group.is_complete = True
        elif kind == "unfenced":
            self.live.pop(self.unfenced.pop(key)[1])
        else:
            self._role(key)

    def _role(self, role: str) -> None:
        step = self.programs[role][self.at[role]]
        self.at[role] += 1
        match step:
            case Acquire():
                place, ring = (step.ring, step.station, role), self.kernel.rings[step.ring]
                use = self.acquired.get(place, 0)
                before = (step.station - 1) % len(ring.stations)
                barrier = self.barriers[(step.ring, before, use % ring.slots, self._own_block(ring, role))]
                if barrier.phase < use // ring.slots + (step.station > 0):
                    raise BugError(f"{step.ring}: parity taken for another phase")
                self.acquired[place] = use + 1
                self.labels.setdefault(place, []).append(step.label)
            case Use():
                self.unfenced += [(role, number) for number in self._begin(role, step.access, "generic")]
            case Fence():
                for item in [item for item in self.unfenced if item[0] == role]:
                    access = self.live[item[1]]
                    if step.at in (None, (access.ring, access.station)):
                        self.unfenced.remove(item)
                        self.live.pop(item[1])
            case Issue():
                self._issue(role, step)
            case Release():
                self._release(role, step)
            case Await():
                groups = self.groups.get((role, step.queue), [])
                self._finish(role, groups, len(groups) - step.pending)
            case AwaitIssue():
                groups = self.groups.get((role, step.queue), [])
                self._finish(role, groups, self._awaited(step, groups))
            case Restart():
                self.acquired[(step.ring, step.station, role)] = self.released[(step.ring, step.station, role)] = 0

    def _finish(self, role: str, groups: list[Group], count: int) -> None:
        for group in groups[: max(count, 0)]:
            for place in group.releases:
                self._arrive(role, *place)
        del groups[: max(count, 0)]

    def _issue(self, role: str, step: Issue) -> None:
        work: list[int] = []
        for access in step.accesses:
            begun = self._begin(role, access, "copy" if step.queue.generic_proxy else "async")
            work += begun
            if step.queue.completion is Completion.BYTES:
                self.boxes += [
                    (number, access.ring, self.live[number].slot, self.live[number].block, access.bytes)
                    for number in begun
                ]
        if step.queue.completion is Completion.HARDWARE:
            self.hardware.setdefault((role, step.queue), []).append(("work", work))
        elif step.queue.completion is Completion.THREAD:
            self.groups.setdefault((role, step.queue), []).append(Group(work, [], step.label))

    def _release(self, role: str, step: Release) -> None:
        ring, place = self.kernel.rings[step.ring], (step.ring, step.station, role)
        use = self.released.get(place, 0)
        self.released[place] = use + 1
        barrier = (step.ring, step.station, use % ring.slots)
        match None if step.after is None else step.after.completion:
            case Completion.BYTES:
                self._arrive(role, *barrier, ring.share(role) * len(self._sharing(ring, self._own_block(ring, role))))
            case Completion.HARDWARE if step.after is not None:
                self.hardware.setdefault((role, step.after), []).append(("commit", barrier))
            case Completion.THREAD if step.after is not None and self.groups.get((role, step.after)):
                self.groups[(role, step.after)][-1].releases.append(barrier)
            case _:
                self._arrive(role, *barrier)

    # The end

    def check_end(self) -> None:
        """Raises BugError unless everybody is done and all stations have seen the same uses."""
        stuck = [f"{role}: {p[self.at[role]]}" for role, p in self.programs.items() if self.at[role] < len(p)]
        if stuck:
            raise BugError("deadlock at " + ", ".join(stuck))
        if any(self.groups.values()):
            raise BugError("asynchronous work is not awaited")
        for name, ring in self.kernel.rings.items():
            places = [(name, station, p) for station, parties in enumerate(ring.stations) for p in parties]
            if len({counts.get(p, 0) for counts in (self.acquired, self.released) for p in places}) != 1:
                raise BugError(f"{name}: unequal counts")

    def key(self) -> Hashable:
        """State that decides how the run goes on."""

        def contents(numbers: list[int]) -> tuple[Live | None, ...]:
            return tuple(self.live.get(number) for number in numbers)

        def order(values: Any) -> tuple[Any, ...]:
            return tuple(sorted(values, key=repr))

        return (
            tuple(self.at.values()),
            tuple((barrier.pending, barrier.phase, barrier.bytes) for barrier in self.barriers.values()),
            order(self.live.values()),
            order(
                (key, tuple(contents(item) if what == "work" else item for what, item in queue))
                for key, queue in self.hardware.items()
                if queue
            ),
            order(
                (key, tuple((contents(g.work), tuple(g.releases), g.is_complete) for g in groups))
                for key, groups in self.groups.items()
                if groups
            ),
            order(self.live[number] for _, number in self.unfenced),
            order((self.live[box[0]], box[4]) for box in self.boxes),
            order(self.content.items()),
        )

    def fork(self) -> Simulation:
        """The same moment again."""
        new = copy.copy(self)
        shared = ("kernel", "programs", "writes")
        new.__dict__ = {k: v if k in shared else copy.deepcopy(v) for k, v in self.__dict__.items()}
        return new


def run_randomly(kernel: Kernel, programs: Programs, rng: random.Random) -> None:
    """One run under one of six schedulers. Raises BugError."""
    simulation = Simulation(kernel, programs)
    style = rng.choice(("uniform", "late hardware", "early hardware", "priorities", "priorities", "starved"))
    ranks: dict[tuple[str, str], float] = {}
    starved = rng.choice(list(programs))
    while actors := simulation.actors():
        if style == "late hardware":
            actors = [actor for actor in actors if actor[0] == "role"] or actors
        elif style == "early hardware":
            actors = [actor for actor in actors if actor[0] != "role"] or actors
        elif style == "starved":
            actors = [actor for actor in actors if actor != ("role", starved)] or actors
        elif style == "priorities":
            if rng.random() < 0.03:
                ranks = {}
            actors = [max(actors, key=lambda a: ranks.setdefault((a[0], a[1] if a[0] == "role" else ""), rng.random()))]
        simulation.step(rng.choice(actors))
    simulation.check_end()


def run_in_all_orders(kernel: Kernel, programs: Programs, limit: int = 20000) -> bool:
    """All interleavings up to `limit` states; True if these were all. Raises BugError."""
    start = Simulation(kernel, programs)
    stack, seen = [start], {start.key()}
    while stack:
        simulation = stack.pop()
        actors = simulation.actors()
        if not actors:
            simulation.check_end()
        for actor in actors:
            new = simulation.fork()
            new.step(actor)
            if (key := new.key()) not in seen:
                if len(seen) > limit:
                    return False
                seen.add(key)
                stack.append(new)
    return True
