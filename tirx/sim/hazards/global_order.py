"""
Order of accesses of global memory: between threads, proxies, CTAs and clusters (PTX ISA, sections 8.2 to 8.10).

Each access is compared with the last write and the reads since of the same bytes. Order inside of a cluster is known by
the clocks of its checker, order between clusters by flags only. What can give wrong numbers is an error; what only the
letter of the memory model leaves open is a warning whose rule begins with "global", and an error at "strict".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError, SimError
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import ASYNC, ATOMIC, Access, Fence, Kind, Scope
from tirx.sim.hazards.global_flags import GlobalFlags
from tirx.sim.hazards.global_pairs import IS_ATOMIC, IS_LATE, IS_LATE_READ, PairRules, Pairs, Side, Users, Verdict
from tirx.sim.hazards.global_shadow import (
    MOST_CLUSTERS,
    SILENT,
    THREAD_SHIFT,
    GlobalShadow,
    ReadLog,
    Reads,
    clusters_of,
    how,
    kinds_of,
    pc_of,
    scopes_of,
    threads_of,
)
from tirx.sim.hazards.global_values import changes, refuse_clash
from tirx.sim.memory.segment import Segment

_LOG_LIMIT = 1 << 28  # bytes of reads of buffers that nobody has written
_MOST_MAPS = 1024
_DOES = {Kind.BULK: "a bulk copy", Kind.REDUCE: "a bulk reduction", Kind.COPY: "cp.async"}


@dataclass(slots=True, eq=False)
class _Buffer:
    """A buffer: reads that came before its first write, then the shadow."""

    segment: Segment
    reads: list[Reads]
    shadow: GlobalShadow | None = None


class GlobalOrder:
    """
    The order of a launch. `note` hears of what only the letter forbids, which is an error if `strict`. `describe` says
    where an instruction (by its index) stands, `place` which thread a thread of a cluster is.
    """

    def __init__(
        self,
        note: Callable[[str, str], None],
        noted: Callable[[str], bool],
        describe: Callable[[int], str],
        place: Callable[[int, int], str],
        clusters: int,
        *,
        strict: bool,
    ):
        if clusters >= MOST_CLUSTERS:
            raise SimError(f"expected fewer than {MOST_CLUSTERS} clusters, found {clusters}: use check=False")
        self._note, self._noted, self._describe, self._place = note, noted, describe, place
        self._strict = strict
        self._buffers: dict[int, _Buffer] = {}
        self._log = ReadLog()
        self._logged = 0
        self._flags = GlobalFlags()
        self._fenced = False  # has a thread executed a fence?
        self._rules = PairRules(self._flags)
        # Tensor maps that threads of a cluster have acquired: thread, instant and the writes that it saw.
        self._maps: dict[tuple[int, int, int], list[tuple[int, int, Array]]] = {}
        self._prerequisites: set[int] = set()
        self._waited: dict[int, list[tuple[Array, int]]] = {}

    # Accesses

    def read(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int = 0
    ) -> None:
        """
        Checks and notes reads of `width` bytes at `offsets`, bytes from the begin of a buffer; `element` is the size of
        an element in bytes.
        """
        buffer = self._buffer(segment)
        self._check_prerequisite(users, segment)
        tokens = users.tokens()
        reads = Reads(offsets, width, tokens, how(access.kind, element, access.scope, users.pc))
        shadow = buffer.shadow
        if shadow is None:
            reads.offsets = offsets.copy()
            buffer.reads.append(reads)
            self._logged += reads.size
            if self._logged > _LOG_LIMIT:
                self._start_all()
            return
        units = shadow.units(offsets, width)
        places = shadow.places(units)
        before = shadow.writes[places]
        suspicious = (before != 0) & (before >> THREAD_SHIFT != (tokens >> THREAD_SHIFT)[:, None])
        if access.kind in (*ASYNC, Kind.READ_ONLY):
            suspicious = before != 0
        elif before.any():
            suspicious |= IS_LATE[kinds_of(shadow.write_hows[places])] | shadow.has_earlier(places, access)
        if suspicious.any():
            for side in users.sides:
                self._check_read(side, users, segment, shadow, places, units, suspicious, access, element)
        if access.strong:
            self._receive(users, shadow, places, access)
        shadow.note_reads(reads)

    def _receive(self, users: Users, shadow: GlobalShadow, places: Array, access: Access) -> None:
        """Notes what strong reads acquire of the flags that they see."""
        if shadow.records is None or not (records := shadow.records[places[:, 0]]).any():
            return
        for side in users.sides:
            own, threads = records[side.own], users.threads[side.own]
            self._flags.receive(side.cluster, side.monitor, threads, own, access.scope, access.acquires)

    def write(
        self,
        users: Users,
        segment: Segment,
        offsets: Array,
        width: int,
        access: Access,
        element: int,
        values: Array | None,
    ) -> None:
        """
        Checks and notes writes of `width` bytes at `offsets`. `values` are the elements that are written (accesses,
        elements); None: they are not known yet.
        """
        buffer = self._buffer(segment)
        self._check_prerequisite(users, segment)
        shadow = buffer.shadow or self._start(buffer)
        units = shadow.units(offsets, width)
        places = shadow.places(units)
        tokens = users.tokens()[:, None]
        changed = changes(segment, offsets, values, places.shape)
        made = how(access.kind, element, access.scope, users.pc)
        if shadow.write_first(places, tokens, changed, made):
            return
        tokens = np.broadcast_to(tokens, places.shape)
        written, read = shadow.writes[places], shadow.reads[places]
        shadow.writes[places] = tokens
        clash = shadow.writes[places] != tokens
        shadow.writes[places] = written
        later = None
        if clash.any():
            if values is not None:
                refuse_clash(segment, offsets, values)
            if len(users.sides) > 1:
                if values is not None or access.scope < Scope.GPU:
                    self._one_after_another(users, segment, offsets, width, access, element, values)
                    return
                later = shadow.later_clusters(places, tokens)
        own = tokens >> THREAD_SHIFT
        suspicious = (written != 0) & (written >> THREAD_SHIFT != own)
        touched = (read != 0) & ((read >> THREAD_SHIFT != own) | shadow.several[places])
        if access.kind in ASYNC:
            suspicious, touched = written != 0, read != 0
        else:
            if written.any():
                suspicious |= IS_LATE[kinds_of(shadow.write_hows[places])] | shadow.has_earlier(places, access)
            if read.any():
                late = IS_LATE_READ[kinds_of(shadow.read_hows[places])]
                touched |= late & (read != 0)
        if later is not None:  # behind strong writes that are in order with them, which nobody has read
            suspicious, touched = suspicious & ~later, touched & ~later
        if suspicious.any() or touched.any():
            for side in users.sides:
                self._check_write(
                    side, users, segment, shadow, places, units, (suspicious, touched), changed, access, element
                )
        if later is None:
            self._set_earlier(shadow, places, tokens, access)
        else:
            self._set_earlier(shadow, places[~later], tokens[~later], access)
            shadow.writes[places[~later]], shadow.write_hows[places[~later]] = tokens[~later], made
            self._set_earlier(shadow, places[later], tokens[later], access)
        self._set(users, shadow, places, units, tokens, changed, made)
        if clash.any() and values is not None:  # several threads wrote the value
            at = places[clash]
            shadow.write_hows[at] |= SILENT
            shadow.ensure("firsts")[at], shadow.ensure("first_hows")[at] = shadow.writes[at], shadow.write_hows[at]
            shadow.silent.setdefault(users.sides[0].cluster, []).append(units[clash])

    def _one_after_another(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int,
        values: Array | None,
    ) -> None:  # fmt: skip
        """Notes writes to the same bytes by CTAs side by side, of equal values, as if one of them came after another."""
        for side in users.sides:
            own = side.own
            alone = Side(side.cluster, side.lanes, side.monitor, slice(None))
            one = Users(users.threads[own], (alone,), users.pc)
            self.write(one, segment, offsets[own], width, access, element, None if values is None else values[own])
            if values is not None:
                segment.scatter(offsets[own], values[own])

    def has_flags(self, access: Access) -> bool:
        """Returns True if strong writes like `access` may release, or continue, what others acquire."""
        return access.releases or self._fenced or self._flags.any

    def strong_write(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int
    ) -> None:
        """Checks and notes strong writes as `write`, and what updates acquire of flags."""
        self.write(users, segment, offsets, width, access, element, None)
        shadow = self._buffer(segment).shadow
        if access.kind is Kind.UPDATE and access.reads and shadow is not None:
            self._receive(users, shadow, shadow.places(shadow.units(offsets, width)), access)

    def publish(self, users: Users, segment: Segment, offsets: Array, width: int, access: Access) -> None:
        """Notes what strong writes, which `strong_write` has checked, release as flags."""
        if not self.has_flags(access):
            return
        shadow = self._buffer(segment).shadow
        assert shadow is not None, "it was written"
        places = shadow.places(shadow.units(offsets, width))
        found = shadow.records
        old = np.zeros(len(places), np.int32) if found is None else found[places[:, 0]].copy()
        for side in users.sides:
            own, threads = side.own, users.threads[side.own]
            before, loose = self._continued(side, threads, old[own], access)
            records = self._flags.release(side.cluster, side.lanes, side.monitor, threads, access, before, loose)
            if records is not None:
                shadow.ensure("records")[places[own]] = records[:, None]
            elif found is not None:
                found[places[own]] = 0

    def _continued(self, side: Side, threads: Array, old: Array, access: Access) -> tuple[Array, Mask]:
        """Returns the records that strong writes go on with, and where only hardware has it so."""
        loose = np.zeros(len(old), np.bool_)
        if access.kind is Kind.UPDATE or not old.any():
            return old, loose
        before = old.copy()
        for index in np.flatnonzero(old).tolist():
            record, thread = int(old[index]), int(threads[index])
            if self._flags.is_own(record, side.cluster, thread):  # section 8.8: a release goes on with own stores
                continue
            loose[index] = self._flags.has_read(side.cluster, thread, record)
            if not loose[index]:
                before[index] = 0
        return before, loose

    def read_map(self, users: Users, segment: Segment, offset: int, size: int, access: Access) -> None:
        """Checks and notes that a bulk tensor copy reads a tensor map of `size` bytes (section 8.9.5)."""
        shadow = self._buffer(segment).shadow
        at = np.array([offset])
        if shadow is not None:
            writes = shadow.writes[shadow.places(shadow.units(at, size))].ravel()
            (side,), thread = users.sides, users.threads[:1]
            if writes.any() and not any(
                np.array_equal(writes, seen) and self._follows(side, thread, fencer, instant)
                for fencer, instant, seen in self._maps.get((side.cluster, id(segment), offset), ())
            ):
                made = int(shadow.write_hows[shadow.places(shadow.units(at, size))].ravel()[np.argmax(writes != 0)])
                raise HazardError(
                    f"data race: {self._place(side.cluster, int(thread[0]))} uses the tensor map at byte {offset} of "
                    f"{segment.name}, which {self._describe(pc_of(made))} has written: expected "
                    "fence.proxy.tensormap::generic.acquire of it behind a synchronisation with the writer"
                )
        reads = Reads(at, size, users.tokens(), how(access.kind, 0, access.scope, users.pc))
        if shadow is None:
            self._buffer(segment).reads.append(reads)
        else:
            shadow.note_reads(reads)

    def acquire_map(self, users: Users, segment: Segment, offset: int, size: int) -> None:
        """Notes fence.proxy.tensormap::generic.acquire of a tensor map, of writes that the thread is behind."""
        shadow = self._buffer(segment).shadow
        if shadow is None:
            return
        units = shadow.units(np.array([offset]), size)
        places = shadow.places(units).ravel()
        writes, hows = shadow.writes[places], shadow.write_hows[places]
        which = writes != 0
        for side in users.sides:
            for thread in users.threads[side.own].tolist():
                count = int(which.sum())
                pairs = Pairs(writes[which], hows[which], np.full(count, thread), np.full(count, offset))
                if self._rules.in_order(side, pairs, Row.VISIBLE)[0].all():
                    found = self._maps.setdefault((side.cluster, id(segment), offset), [])
                    found.append((thread, side.monitor.instant(), writes))
                    del found[:-_MOST_MAPS]

    @staticmethod
    def _follows(side: Side, thread: Array, other: int, instant: int) -> bool:
        """Returns True if a thread is behind what another one of its cluster did at an instant."""
        if int(thread[0]) == other:
            return True
        return bool(side.monitor.reached(Row.VISIBLE, thread, np.array([other]), np.array([instant])).all())

    def fence(self, users: Users, fence: Fence) -> None:
        """Notes a fence of threads, which acquires what relaxed reads have received."""
        self._fenced = True
        for side in users.sides if fence.acquires else ():
            self._flags.fence(side.cluster, side.monitor, users.threads[side.own], fence.scope, fence.sc)

    def proxy_fence(self, users: Users) -> None:
        """Notes fence.proxy.async of global memory."""
        for side in users.sides:
            side.monitor.global_proxy_fence(users.threads[side.own])
            self._flags.proxy_fence(side.cluster, side.monitor, users.threads[side.own])

    def touched(self) -> list[tuple[Segment, int, Array, Array]]:
        """
        Returns the accesses of each buffer: the size of a granule in bytes, the numbers of the granules that were
        written, and of those that were read.
        """
        found: list[tuple[Segment, int, Array, Array]] = []
        for buffer in self._buffers.values():
            shadow = buffer.shadow or self._start(buffer)
            units = shadow.touched_units()
            places = shadow.places(units)
            written, read = shadow.writes[places] != 0, shadow.reads[places] != 0
            found.append((buffer.segment, shadow.granule, units[written], units[read]))
        return found

    # State

    def _buffer(self, segment: Segment) -> _Buffer:
        found = self._buffers.get(id(segment))
        if found is None:
            found = self._buffers[id(segment)] = _Buffer(segment, [])
        return found

    def _start(self, buffer: _Buffer) -> GlobalShadow:
        """Begins to note accesses of a buffer byte by byte."""
        buffer.shadow = shadow = GlobalShadow(buffer.segment.size, self._log)
        for reads in buffer.reads:
            self._logged -= reads.size
            shadow.note_reads(reads)
        buffer.reads.clear()
        return shadow

    def _start_all(self) -> None:
        for buffer in self._buffers.values():
            if buffer.shadow is None and buffer.reads:
                self._start(buffer)

    def _set(
        self, users: Users, shadow: GlobalShadow, places: Array, units: Array, tokens: Array, changed: Mask, made: int
    ) -> None:
        silent = ~changed
        hows = np.full(places.shape, made, np.int32)
        if silent.any():
            hows[silent] |= SILENT
            at = places[silent]
            old, old_hows = shadow.writes[at], shadow.write_hows[at]
            again = (old_hows & SILENT) != 0
            if old.any():
                firsts, first_hows = shadow.ensure("firsts"), shadow.ensure("first_hows")
                firsts[at], first_hows[at] = np.where(again, firsts[at], old), np.where(again, first_hows[at], old_hows)
                for side in users.sides:
                    own = silent[side.own]
                    shadow.silent.setdefault(side.cluster, []).append(units[side.own][own])
            elif shadow.firsts is not None:
                shadow.firsts[at] = 0
        shadow.writes[places], shadow.write_hows[places] = tokens, hows
        gone = places if changed.all() else places[changed]
        if shadow.reads[gone].any():
            shadow.reads[gone] = 0
            shadow.chains[gone] = 0
            shadow.several[gone] = False

    @staticmethod
    def _set_earlier(shadow: GlobalShadow, places: Array, tokens: Array, access: Access) -> None:
        """
        Notes the first of strong writes by several threads, which need no order among themselves. `atom` observes all
        of them: who is behind it is behind them.
        """
        if access.kind not in ATOMIC or (access.kind is Kind.UPDATE and access.reads):
            if shadow.earlier is not None:
                shadow.earlier[places] = 0
            return
        old, old_hows = shadow.writes[places], shadow.write_hows[places]
        several = IS_ATOMIC[kinds_of(old_hows)] & (old >> THREAD_SHIFT != tokens >> THREAD_SHIFT)
        if several.any():
            earlier, earlier_hows = shadow.ensure("earlier"), shadow.ensure("earlier_hows")
            several &= earlier[places] == 0
            earlier[places[several]], earlier_hows[places[several]] = old[several], old_hows[several]

    # Pairs

    @staticmethod
    def _with_earlier(shadow: GlobalShadow, at: Array, pairs: Pairs, access: Access) -> tuple[Pairs, Array]:
        """Adds the first of several strong writes to pairs. Returns them, and the number of the pair of each."""
        which = np.flatnonzero(shadow.has_earlier(at, access))
        numbers = np.append(np.arange(len(at)), which)
        if len(which) and shadow.earlier is not None and shadow.earlier_hows is not None:
            tokens = np.append(pairs.tokens, shadow.earlier[at[which]])
            hows = np.append(pairs.hows, shadow.earlier_hows[at[which]])
            pairs = Pairs(tokens, hows, pairs.threads[numbers], pairs.offsets[numbers])
        return pairs, numbers

    def _check_read(
        self,
        side: Side,
        users: Users,
        segment: Segment,
        shadow: GlobalShadow,
        places: Array,
        units: Array,
        suspicious: Mask,
        access: Access,
        element: int,
    ) -> None:
        rows, columns = np.nonzero(suspicious[side.own])
        if not len(rows):
            return
        at, unit = places[side.own][rows, columns], units[side.own][rows, columns]
        threads, offsets = users.threads[side.own][rows], unit * shadow.granule
        pairs = Pairs(shadow.writes[at], shadow.write_hows[at], threads, offsets)
        silent = (pairs.hows & SILENT) != 0
        open_pairs = np.ones(len(at), np.bool_)
        if silent.any():
            # The value is that of the first write, or of the host, and of any write of the cluster.
            firsts = shadow.firsts
            tokens = np.zeros(len(at), np.int64) if firsts is None else firsts[at]
            hows = pairs.hows if shadow.first_hows is None else shadow.first_hows[at]
            fine = silent & (tokens == 0)
            own = shadow.silent.get(side.cluster)
            if own is not None:
                fine |= silent & np.isin(unit, np.concatenate(own))
            first = silent & ~fine
            if first.any():
                which = np.flatnonzero(first)
                found = Pairs(tokens[which], hows[which], threads[which], offsets[which])
                fine[which[self._rules.after_write(side, found, access, element, writes=False).hardware]] = True
            open_pairs = ~(silent & (tokens == 0)) if access.kind is Kind.READ_ONLY else ~fine
        pairs = pairs.of(open_pairs)
        if not len(pairs.tokens):
            return
        at, unit = at[open_pairs], unit[open_pairs]
        pairs, numbers = self._with_earlier(shadow, at, pairs, access)
        verdict = self._rules.after_write(side, pairs, access, element, writes=False)
        verdict = self._with_observed(side, shadow, unit[numbers], at[numbers], pairs, access, verdict)
        self._complain(side, segment, pairs, verdict, access, "reads", "written")

    def _with_observed(
        self, side: Side, shadow: GlobalShadow, units: Array, places: Array, pairs: Pairs, access: Access,
        verdict: Verdict,
    ) -> Verdict:  # fmt: skip
        """
        Adds to a verdict about writes those that a strong read has seen which the thread is behind: then so does the
        thread, without any fence (section 8.9.5, observation).
        """
        open_pairs = ~verdict.letter & IS_ATOMIC[kinds_of(pairs.hows)] & (shadow.reads[places] != 0)
        if access.kind not in (Kind.WEAK, Kind.STRONG, Kind.UPDATE) or not open_pairs.any():
            return verdict
        seen, at = np.zeros(len(places), np.bool_), np.flatnonzero(open_pairs)
        distinct, first, back = np.unique(units[at], return_index=True, return_inverse=True)
        for which, tokens, made in shadow.readers(distinct, places[at][first])[0]:
            if not IS_ATOMIC[kinds_of(np.array(made))]:
                continue
            inside = clusters_of(tokens) == side.cluster
            for pair, unit in zip(at.tolist(), back.tolist(), strict=True):
                own = tokens[inside & (which == unit)]
                all_of = partial(np.full, len(own))
                reads = Pairs(own, all_of(made), all_of(pairs.threads[pair]), own)
                write = Pairs(all_of(pairs.tokens[pair]), all_of(pairs.hows[pair]), threads_of(own), own)
                sees = self._rules.covers(side, write, int(scopes_of(np.array(made))))
                seen[pair] |= bool((sees & self._rules.in_order(side, reads, Row.VISIBLE)[0]).any())
        return Verdict(verdict.hardware | seen, verdict.letter | seen, verdict.rule)

    def _check_write(
        self,
        side: Side,
        users: Users,
        segment: Segment,
        shadow: GlobalShadow,
        places: Array,
        units: Array,
        found: tuple[Mask, Mask],
        changed: Mask,
        access: Access,
        element: int,
    ) -> None:
        suspicious, touched = (each[side.own] for each in found)
        places, units, changed = places[side.own], units[side.own], changed[side.own]
        threads = users.threads[side.own]
        rows, columns = np.nonzero(suspicious)
        if len(rows):
            at, offsets = places[rows, columns], units[rows, columns] * shadow.granule
            pairs = Pairs(shadow.writes[at], shadow.write_hows[at], threads[rows], offsets)
            pairs, numbers = self._with_earlier(shadow, at, pairs, access)
            at, rows, columns = at[numbers], rows[numbers], columns[numbers]
            silent = (pairs.hows & SILENT) != 0
            if silent.any() and shadow.firsts is not None and shadow.first_hows is not None:
                firsts, hows = shadow.firsts[at], shadow.first_hows[at]
                which = silent & (firsts != 0)
                more = Pairs(firsts[which], hows[which], pairs.threads[which], pairs.offsets[which])
                joined = [np.concatenate([getattr(each, name) for each in (pairs, more)]) for name in Pairs.__slots__]
                pairs, rows, columns = Pairs(*joined), np.append(rows, rows[which]), np.append(columns, columns[which])
            verdict = self._rules.after_write(side, pairs, access, element, writes=True)
            if len(at) == len(pairs.tokens):
                verdict = self._with_observed(side, shadow, units[rows, columns], at, pairs, access, verdict)
            equal = ~changed[rows, columns]
            verdict = self._rules.of_equal_values(pairs, equal, element, verdict, strict=self._strict)
            self._complain(side, segment, pairs, verdict, access, "writes", "written")
        self._check_readers(side, users, segment, shadow, places, units, touched & changed, access, element)

    def _check_readers(
        self,
        side: Side,
        users: Users,
        segment: Segment,
        shadow: GlobalShadow,
        places: Array,
        units: Array,
        touched: Mask,
        access: Access,
        element: int,
    ) -> None:
        rows, columns = np.nonzero(touched)
        if not len(rows):
            return
        at, unit, threads = places[rows, columns], units[rows, columns], users.threads[side.own][rows]
        several = shadow.several[at]
        alone = ~several
        found: list[Pairs] = []
        if alone.any():
            offsets = unit[alone] * shadow.granule
            found.append(Pairs(shadow.reads[at[alone]], shadow.read_hows[at[alone]], threads[alone], offsets))
        if several.any():
            many, own, by = unit[several], at[several], threads[several]
            distinct, first = np.unique(many, return_index=True)
            readers, forgotten = shadow.readers(distinct, own[first])
            for which, tokens, made in readers:
                hows = np.full(len(tokens), made, np.int32)
                found.append(Pairs(tokens, hows, by[first][which], distinct[which] * shadow.granule))
            if forgotten:
                self._say("global reads forgotten", "too many reads of global memory to check all later writes against")
        for pairs in found:
            verdict = self._rules.after_read(side, pairs, access, element)
            self._complain(side, segment, pairs, verdict, access, "writes", "read")

    def require(self, segments: Sequence[Segment]) -> None:
        """Makes accesses of some buffers wait for `griddepcontrol.wait`."""
        self._prerequisites = {id(each) for each in segments}

    def requires(self, segment: Segment) -> bool:
        """Returns True if accesses of a buffer wait for `griddepcontrol.wait`."""
        return id(segment) in self._prerequisites

    def waited(self, users: Users) -> None:
        """Notes that threads have executed griddepcontrol.wait."""
        for side in users.sides:
            found = (users.threads[side.own].copy(), side.monitor.instant())
            self._waited.setdefault(side.cluster, []).append(found)

    def _check_prerequisite(self, users: Users, segment: Segment) -> None:
        if not self.requires(segment):
            return
        for side in users.sides:
            threads = users.threads[side.own]
            behind = np.zeros(len(threads), np.bool_)
            for waiters, instant in self._waited.get(side.cluster, ()):
                for waiter in waiters.tolist():
                    rest = np.flatnonzero(~behind)
                    if not len(rest):
                        break
                    own = threads[rest]
                    at = np.full(len(rest), instant)
                    known = side.monitor.reached(Row.VISIBLE, own, np.full(len(rest), waiter), at)
                    behind[rest] = (own == waiter) | known
            if not behind.all():
                raise HazardError(
                    f"{segment.name} may still be written or read by the grid before: expected griddepcontrol.wait of "
                    f"{self._place(side.cluster, int(threads[~behind][0]))}, or of one that it follows by a barrier"
                )

    # Messages

    def _say(self, rule: str, message: str) -> None:
        if not self._noted(rule):
            self._note(rule, message)

    def _complain(
        self, side: Side, segment: Segment, pairs: Pairs, verdict: Verdict, access: Access, verb: str, did: str
    ) -> None:
        """Raises HazardError, or warns, of the first pair that is not in order."""
        hardware, letter, rule = verdict.hardware, verdict.letter, verdict.rule
        if hardware.all() and (letter.all() or (not self._strict and self._noted(rule))):
            return
        first = int(np.argmin(hardware)) if not hardware.all() else int(np.argmin(letter))
        token, made = int(pairs.tokens[first]), int(pairs.hows[first])
        cluster, thread = clusters_of(token), threads_of(token)
        kind = Kind(kinds_of(made))
        missing = self._missing(side, pairs.of(np.arange(len(letter)) == first), kind, access, did, cluster)
        message = (
            f"{_DOES.get(access.kind, 'the access')} of {self._place(side.cluster, int(pairs.threads[first]))} {verb} "
            f"byte {int(pairs.offsets[first])} of {segment.name}, which {self._describe(pc_of(made))} "
            f"({_DOES[kind] + ' of ' if kind in _DOES else ''}{self._place(cluster, thread)}) has {did}: {missing}"
        )
        if self._flags.forgotten and kind not in ASYNC:
            # What orders the two may have been forgotten.
            self._say("global flags forgotten", "too many flags in global memory to know all order between CTAs")
            return
        if not hardware.all():
            raise HazardError(f"data race: {message}")
        if self._strict:
            raise HazardError(f"{rule or 'global'}: {message}")
        self._note(rule or "global order", message)

    def _missing(self, side: Side, pair: Pairs, kind: Kind, access: Access, did: str, cluster: int) -> str:
        """Says what orders the first access behind the other."""
        if access.kind is Kind.READ_ONLY or kind is Kind.READ_ONLY:
            return "ld.global.nc is for memory that the launch does not write"
        if kind in ASYNC and did == "written":
            return "expected cp.async.bulk.wait_group (without .read) of the issuing thread, and then a synchronisation"
        if kind is Kind.MAP:
            return "expected cp.async.bulk.wait_group of the thread of the copy that reads the tensor map"
        if kind is Kind.BULK:
            return "expected a wait for the mbarrier of the copy, and then a synchronisation"
        if kind is Kind.COPY:
            return "expected cp.async.wait_group of that thread, and then a synchronisation"
        if access.kind in ASYNC and self._rules.in_order(side, pair, Row.VISIBLE)[0].all():
            return "expected fence.proxy.async (or .async.global) in between, on the way of the synchronisation"
        if kind in ATOMIC and access.kind in ATOMIC:
            return "the scope of one of them does not have the other thread, or they differ in size"
        if cluster != side.cluster:
            return (
                "expected a flag with .release and .acquire, or fences on both sides, of a scope that has both threads "
                "between CTAs that are not of one cluster"
            )
        return "expected a synchronisation of the two threads in between"
