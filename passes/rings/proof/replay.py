"""The replay of a kernel: the state of all parties at one moment, what a step needs, and what it changes.

A step that waits stays enabled whatever others do, so the order in which parties move does not matter: every one goes
as far as it gets. Asynchronous work is complete as soon as somebody may wait for it. The needs of a step are facts of
its party's own path: held while touched, complete before released, fenced, filled before passed on, first in first out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

from tirx.passes.rings.proof.errors import (
    ArrivalError,
    AwaitError,
    DeadlockError,
    EndlessError,
    PartyError,
    RingError,
    SlotUseError,
)
from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    Await,
    AwaitIssue,
    Completion,
    Fence,
    Issue,
    Kernel,
    Mode,
    Release,
    Restart,
    Ring,
    Rotation,
    Step,
    Use,
    WorkQueue,
    walk,
)
from tirx.passes.rings.proof.structure import Activity
from tirx.values import dataclass

ROUND_LIMIT = 32
"""Rounds of a loop that are tried until a state repeats; also bounds states and waiting steps. Beyond, the answer is
"cannot decide"."""

PartyAt = tuple[str, int, str]
"""Ring, station, party."""


class Pending(NamedTuple):
    """An access that is not known to be complete."""

    ring: str
    station: int
    use: int
    mode: Mode
    party: str
    origin: object
    as_a: bool = False


@dataclass(slots=True)
class Group:
    """
    Work that completes together: its accesses, in their order, and the releases (ring, station, use) that wait for it.

    Nobody can wait for work that is not yet `committed`.
    """

    accesses: dict[Pending, None]
    releases: list[tuple[str, int, int]]
    label: Hashable
    origin: object
    committed: bool

    def copy(self) -> Group:
        return Group(dict(self.accesses), list(self.releases), self.label, self.origin, self.committed)


class State:
    """All parties at one moment of the replay.

    For a party at a station: `acquired`, `released` (in program order) and `passed` (seen by the next station) uses,
    0 <= passed <= released <= acquired. `waiting` holds the steps that a party has been fed and not executed.
    """

    def __init__(self, kernel: Kernel, happens: Activity):
        self.kernel, self.happens = kernel, happens
        self.waiting: dict[str, list[Step]] = {role: [] for role in kernel.roles}
        parties = [(r.name, s, p) for r in kernel.rings.values() for s, ps in enumerate(r.stations) for p in ps]
        self.acquired = dict.fromkeys(parties, 0)
        self.released = dict.fromkeys(parties, 0)
        self.passed = dict.fromkeys(parties, 0)
        self.held: dict[PartyAt, tuple[Hashable, ...]] = dict.fromkeys(parties, ())
        self.queues: dict[str, dict[WorkQueue, list[Group]]] = {role: {} for role in kernel.roles}
        self.filled: dict[tuple[str, int, str, int], int] = {}
        self.unfenced: Mapping[Pending, None] = {}
        self.trail: tuple[str, ...] = ()

    def copy(self) -> State:
        new = object.__new__(State)
        vars(new).update(vars(self))
        new.waiting = {role: list(steps) for role, steps in self.waiting.items()}
        new.acquired, new.released, new.passed = self.acquired.copy(), self.released.copy(), self.passed.copy()
        new.held, new.filled = self.held.copy(), self.filled.copy()
        new.queues = {
            role: {queue: [group.copy() for group in groups] for queue, groups in queues.items()}
            for role, queues in self.queues.items()
        }
        return new

    def key(self) -> Hashable:
        """Equal for states that go on alike; uses count from the oldest one that somebody has not passed on."""
        base: dict[str, int] = {}
        for (ring, _, _), use in self.passed.items():
            base[ring] = min(use, base.get(ring, use))

        def relative(counters: dict[PartyAt, int]) -> tuple[int, ...]:
            return tuple([use - base[place[0]] for place, use in counters.items()])

        def work(group: Group) -> Hashable:
            accesses = frozenset((a.ring, a.station, a.use - base[a.ring], a.mode, a.as_a) for a in group.accesses)
            return accesses, tuple((r, s, use - base[r]) for r, s, use in group.releases), group.label, group.committed

        queues = tuple(
            (role, queue.name, tuple(map(work, groups)))
            for role, queues in self.queues.items()
            for queue, groups in sorted(queues.items(), key=lambda item: item[0].name)
            if groups
        )
        filled = tuple(sorted((r, s, p, use - base[r], size) for (r, s, p, use), size in self.filled.items()))
        unfenced = frozenset((a.ring, a.station, a.party, a.use - base[a.ring], a.mode) for a in self.unfenced)
        return (
            tuple(map(tuple, self.waiting.values())),
            relative(self.acquired),
            relative(self.released),
            relative(self.passed),
            tuple(self.held.values()),
            queues,
            filled,
            unfenced,
        )

    # Waits

    def blockers(self, role: str, acquire: Acquire) -> tuple[str, ...]:
        """The parties whose release an acquire waits for, at the station before."""
        ring, use = self.kernel.rings[acquire.ring], self.acquired[(acquire.ring, acquire.station, role)]
        before = (acquire.station - 1) % len(ring.stations)
        needed = use + 1 - (ring.slots if acquire.station == 0 else 0)
        parties = ring.reaching(ring.stations[before], role)
        return tuple(p for p in parties if self.passed[(ring.name, before, p)] < needed)

    def run(self) -> None:
        """Lets every party go as far as it gets."""
        progress = True
        while progress:
            progress = False
            for role, steps in self.waiting.items():
                done = 0
                for step in steps:
                    if isinstance(step, Acquire) and self.blockers(role, step):
                        break
                    self._step(role, step)
                    done += 1
                if done:
                    del steps[:done]
                    progress = True
        for role, steps in self.waiting.items():
            if len(steps) > 4 * ROUND_LIMIT:
                raise EndlessError(f"cannot decide: {role} falls ever more behind or waits for ever", steps[0].origin)

    # Steps

    def _step(self, role: str, step: Step) -> None:
        match step:
            case Acquire():
                place = (step.ring, step.station, role)
                self.acquired[place] += 1
                self.held[place] += (step.label,)
            case Fence():
                self.unfenced = {
                    access: None
                    for access in self.unfenced
                    if access.party != role or (step.at is not None and step.at != (access.ring, access.station))
                }
            case Use():
                self.unfenced = {**self.unfenced, self._access(role, step.access, step): None}
            case Issue():
                self._issue(role, step)
            case Release():
                self._release(role, step)
            case Await():
                groups = self.queues[role].get(step.queue, [])
                self._complete(role, step, groups, sum(group.committed for group in groups) - step.pending)
            case AwaitIssue():
                groups = self.queues[role].get(step.queue, [])
                found = [i for i, group in enumerate(groups) if group.label == step.label]
                lag = step.lag
                if not isinstance(lag, Rotation) and lag < len(found):
                    self._complete(role, step, groups, found[-1 - lag] + 1)
            case Restart():
                raise AssertionError("a counter that is set back, which `activity` refuses")

    def _complete(self, role: str, step: Await | AwaitIssue, groups: list[Group], count: int) -> None:
        """The oldest `count` groups are complete; the releases that wait for them happen."""
        for group in groups[: max(count, 0)]:
            for ring, station, use in group.releases:
                self._pass_on(role, ring, station, use, step.origin)
        del groups[: max(count, 0)]

    def _pass_on(self, role: str, ring: str, station: int, use: int, origin: object) -> None:
        if self.passed[(ring, station, role)] != use:
            raise SlotUseError(f"{role}: releases of {ring} overtake each other", origin)
        self.passed[(ring, station, role)] += 1

    def _use_of(self, role: str, access: Access, step: Use | Issue) -> int:
        """The use that an access is about, which the party has to hold."""
        place = (access.ring, access.station, role)
        held, lag = self.held[place], access.lag
        if isinstance(lag, Rotation):
            raise AssertionError(f"expected a lag for the round, found {lag}")
        if access.acquire is not None:
            found = [i for i, label in enumerate(held) if label == access.acquire]
            lag = len(held) - 1 - found[-1 - lag] if 0 <= lag < len(found) else len(held)
        if not 0 <= lag < len(held):
            raise SlotUseError(f"{role} {access.mode.value} a slot of {access.ring} that it does not hold", step.origin)
        return self.acquired[place] - 1 - lag

    def _access(self, role: str, access: Access, step: Use | Issue) -> Pending:
        ring = self.kernel.rings[access.ring]
        use = self._use_of(role, access, step)
        slot = (ring.name, access.station, role, use)
        mode = access.mode
        if mode is Mode.UPDATE:
            mode = Mode.READ if slot in self.filled else Mode.CARRY
        # A new value is for the next station.
        lost = slot in self.filled and (access.station > 0 or mode is Mode.CARRY)
        if mode is not Mode.WRITE and lost:
            raise SlotUseError(f"{role} reads in {ring.name} what it has overwritten itself", step.origin)
        if mode is Mode.CARRY and (access.station > 0 or ring.slots != 1):
            raise SlotUseError(
                f"{role} {mode.value} at {ring.place(access.station)}, expected the first station of a ring of one "
                f"slot, found {ring.slots}",
                step.origin,
            )
        if mode is Mode.WRITE:
            self.filled[slot] = self.filled.get(slot, 0) + access.bytes
        return Pending(ring.name, access.station, use, mode, role, step.origin, access.as_a)

    def _issue(self, role: str, step: Issue) -> None:
        queues = self.queues[role]
        groups = queues.setdefault(step.queue, [])
        at_once = not step.queue.commits_at_release
        if not groups or (groups[-1].committed and (step.queue.completion is Completion.THREAD or not at_once)):
            groups.append(Group({}, [], step.label, step.origin, at_once))
        for access in step.accesses:
            pending = self._access(role, access, step)
            for other in self.unfenced if not step.queue.generic_proxy else ():
                same = (other.ring, other.use, other.party) == (pending.ring, pending.use, role)
                if same and Mode.WRITE in (pending.mode, other.mode):
                    raise SlotUseError(
                        f"{role}: {step.queue.name} works on a slot of {pending.ring} without a proxy fence behind "
                        f"accesses by threads",
                        step.origin,
                        [("the access by threads", other.origin)],
                    )
            groups[-1].accesses[pending] = None

    def _release(self, role: str, step: Release) -> None:
        ring, place = self.kernel.rings[step.ring], (step.ring, step.station, role)
        use = self.released[place]
        if use >= self.acquired[place]:
            raise SlotUseError(f"{role} releases a slot of {ring.name} that it does not hold", step.origin)

        def is_of_use(access: Pending) -> bool:
            return (access.ring, access.station, access.use) == (step.ring, step.station, use)

        self._require_complete(role, step, use)
        self._require_filled(role, step, ring, use, self.filled.pop((*place, use), None))
        mine = [access for access in self.unfenced if access.party == role and is_of_use(access)]
        self._end_accesses(role, step, ring, mine)
        self.released[place] += 1
        self.held[place] = self.held[place][1:]
        groups = [] if step.after is None else self.queues[role].get(step.after, [])
        for group in groups:
            group.committed = True
        if step.after is None or not groups:
            self._pass_on(role, ring.name, step.station, use, step.origin)
        elif step.after.completion is Completion.THREAD:
            groups[-1].releases.append((ring.name, step.station, use))
        else:  # hardware passes the slot on when the work on it is complete, whatever the threads do
            for access in (access for group in groups for access in group.accesses if step.early):
                if is_of_use(access) and not access.as_a:
                    raise SlotUseError(
                        f"{role} releases a slot of {ring.name} early, as soon as it has been read as A, while "
                        f"{step.after.name} {access.mode.value} it otherwise",
                        step.origin,
                        [("the other use", access.origin)],
                    )
            for group in groups:
                group.accesses = {access: None for access in group.accesses if not is_of_use(access)}
            self.queues[role][step.after] = [group for group in groups if group.accesses]
            self._pass_on(role, ring.name, step.station, use, step.origin)

    def _end_accesses(self, role: str, step: Release, ring: Ring, found: Sequence[Pending]) -> None:
        """Raises SlotUseError for accesses by threads to a slot, not yet fenced, which its release does not order."""
        if not found:
            return
        if step.after is not None:  # whoever passes the slot on then has not waited for all threads
            waits = step.after.completion is Completion.THREAD and not step.after.commits_at_release
            hint = "a release behind tirx.await" if waits else "these at a station in front of it"
            problem = f"after {step.after.name}, which does not wait for accesses by threads; expected {hint}"
        elif self.happens.needs_fence(ring, step.station):
            problem = "without a proxy fence"
        else:
            self.unfenced = {access: None for access in self.unfenced if access not in found}
            return
        raise SlotUseError(
            f"{role} releases a slot of {ring.name} {problem}",
            step.origin,
            [("the access by threads", access.origin) for access in found],
        )

    def _require_complete(self, role: str, step: Release, use: int) -> None:
        for queue, groups in self.queues[role].items():
            if queue == step.after:
                continue
            for access in (access for group in groups for access in group.accesses):
                if (access.ring, access.station, access.use) == (step.ring, step.station, use):
                    raise SlotUseError(
                        f"{role} releases a slot of {step.ring} while {queue.name} still {access.mode.value} it",
                        step.origin,
                        [("the work that is not complete", access.origin)],
                    )

    def _require_filled(self, role: str, step: Release, ring: Ring, use: int, sent: int | None) -> None:
        # A slot that carries its value may pass a station as it came, but for the first use, which nobody has written.
        kept = self.happens.carries(ring) and (use > 0 or step.station > 0)
        if sent is None and self.happens.writes(ring.name, step.station) and not kept:
            raise SlotUseError(f"{role} passes on a slot of {ring.name} that it did not fill", step.origin)
        by_bytes = step.after is not None and step.after.completion is Completion.BYTES
        if step.station == 0 and ring.bytes and ring.share(role):
            if not by_bytes or sent != ring.share(role):
                raise ArrivalError(
                    f"{role}: expected {ring.share(role)} bytes by TMA in every slot of {ring.name}, found {sent or 0}",
                    step.origin,
                )
        elif by_bytes:
            raise ArrivalError(
                f"{role}: expected no release after TMA, which fills no slot of {ring.name} here", step.origin
            )

    # The end

    def check_end(self) -> None:
        """Raises RingError unless every party is done, all stations have seen the same uses, and no work is open."""
        for role, steps in self.waiting.items():
            if steps:
                raise self._deadlock(role, steps[0])
        for role, queues in self.queues.items():
            for queue, groups in queues.items():
                for group in groups:
                    name = queue.name
                    missing = (
                        f"work of {name} is not awaited at the end"
                        if group.committed
                        else f"expected a release after({name}) behind work of {name}, which commits it, found none"
                    )
                    raise AwaitError(f"{role}: {missing}", group.origin)
        for name, ring in self.kernel.rings.items():
            places = [(name, station, party) for station, ps in enumerate(ring.stations) for party in ps]
            counts = {counters[p] for counters in (self.acquired, self.released, self.passed) for p in places}
            if len(counts) > 1:
                found = ", ".join(f"{self.acquired[p]} by {p[2]} at {ring.place(p[1])}" for p in places)
                raise PartyError(
                    f"expected the same number of uses of {name} at all stations, found {found}", ring.origin
                )

    def _deadlock(self, role: str, step: Step) -> RingError:
        """The error for a party that waits for ever: every party that waits, and the releases that it waits for."""
        others: list[tuple[str, object]] = []
        waits = self._wait_text(role, step)
        for other, steps in self.waiting.items():
            if steps and other != role:
                others.append((self._wait_text(other, steps[0]), steps[0].origin))
        if isinstance(step, Acquire):
            ring = self.kernel.rings[step.ring]
            before = (step.station - 1) % len(ring.stations)
            for party in self.blockers(role, step):
                for release in walk(self.kernel.roles[party]):
                    if isinstance(release, Release) and (release.ring, release.station) == (ring.name, before):
                        others.append((f"{party} would have to release it here", release.origin))
                        break
        return DeadlockError(f"deadlock: {waits}", step.origin, others)

    def _wait_text(self, role: str, step: Step) -> str:
        if not isinstance(step, Acquire):
            return f"{role} waits for ever"
        use = self.acquired[(step.ring, step.station, role)]
        blockers = " and ".join(self.blockers(role, step))
        place = self.kernel.rings[step.ring].place(step.station)
        return f"{role} waits for ever for use {use} at {place}, for a release by {blockers}"
