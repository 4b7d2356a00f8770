"""
Order of accesses of global memory: between threads, proxies, CTAs and clusters (PTX ISA, sections 8.2 to 8.10).

Each access is compared with the last write and the reads since of the same bytes. Order inside of a cluster is known by
the clocks of its checker, order between clusters by flags only. What can give wrong numbers is an error; what only the
letter of the memory model leaves open is a warning whose rule begins with "global", and an error at "strict".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.hazards.global_access import ASYNC, ATOMIC, Access, Fence, Kind, Scope
from tirx.sim.hazards.global_checks import Accessed, OrderChecks
from tirx.sim.hazards.global_flags import GlobalFlags
from tirx.sim.hazards.global_pairs import IS_ATOMIC, IS_LATE, IS_LATE_READ, PairRules, Side, Users
from tirx.sim.hazards.global_preconditions import Prerequisites, TensorMapOrder
from tirx.sim.hazards.global_shadow import (
    MOST_CLUSTERS,
    SILENT,
    THREAD_SHIFT,
    GlobalShadow,
    ReadLog,
    Reads,
    how,
    kinds_of,
    silent_of,
)
from tirx.sim.hazards.global_values import changes, refuse_clash
from tirx.sim.memory.segment import Segment

_LOG_LIMIT = 1 << 28  # bytes of reads of buffers that nobody has written


_NEVER_SETTLED = (*ASYNC, Kind.READ_ONLY)  # reads that come behind no write of their own thread by themselves


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
        self._buffers: dict[int, _Buffer] = {}
        self._log = ReadLog()
        self._logged = 0
        self._flags = GlobalFlags()
        self._rules = PairRules(self._flags)
        self._checks = OrderChecks(note, noted, describe, place, self._flags, self._rules, strict=strict)
        self._maps = TensorMapOrder(self._rules, describe, place)
        self.prerequisites = Prerequisites(place)

    # Accesses

    def read(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int = 0
    ) -> None:
        """
        Checks and notes reads of `width` bytes at `offsets`, bytes from the begin of a buffer; `element` is the size of
        an element in bytes.
        """
        self.prerequisites.check(users, segment)
        buffer = self._buffer(segment)
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
        units = shadow.units(offsets, width, aligned=access.kind not in ASYNC)
        places = shadow.places(units)
        before = shadow.writes.take(places)
        if np.count_nonzero(before):
            suspicious, hows = before != 0, shadow.write_hows.take(places)
            if access.strong:
                suspicious &= ~PairRules.settled_by_any(hows, access, element)
            if np.count_nonzero(suspicious):
                special = IS_LATE[kinds_of(hows)] | shadow.has_earlier(places, access)
                if access.kind not in _NEVER_SETTLED:
                    suspicious &= (before >> THREAD_SHIFT != (tokens >> THREAD_SHIFT)[:, None]) | special
                special |= silent_of(hows)
                suspicious = self._rules.without_known(users, access, suspicious, before, special)
            if np.count_nonzero(suspicious):
                accessed = Accessed(users, segment, shadow, places, units, access, element)
                for side in users.sides:
                    self._checks.reads(side, accessed, suspicious)
            if access.strong:
                self._receive(users, shadow, places, access)
        shadow.note_reads(reads, places)

    def _receive(self, users: Users, shadow: GlobalShadow, places: Array, access: Access) -> None:
        """Notes what strong reads acquire of the flags that they see."""
        if shadow.records is None or not (records := shadow.records[places[:, 0]]).any():
            return
        for side in users.sides:
            own, threads = records[side.own], users.threads[side.own]
            self._flags.receive(side, threads, own, access)

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
        self.prerequisites.check(users, segment)
        buffer = self._buffer(segment)
        shadow = buffer.shadow or self._start(buffer)
        units = shadow.units(offsets, width, aligned=access.kind not in ASYNC)
        places = shadow.places(units)
        tokens = users.tokens()[:, None]
        changed = changes(segment, offsets, values, places.shape)
        made = how(access.kind, element, access.scope, users.pc)
        if shadow.write_first(places, tokens, changed, made):
            return
        tokens = np.broadcast_to(tokens, places.shape)
        clash, rest = shadow.clashes(places, tokens), None
        if clash is not None:
            if values is not None:
                refuse_clash(segment, offsets, values)
            # CTAs side by side count as one after another
            of_later = shadow.later_clusters(places, tokens) if len(users.sides) > 1 else clash[:0]
            later: Mask = np.logical_or.reduce(of_later, axis=1)
            if later.any():
                if values is None and access.scope < Scope.GPU:
                    for one, own in users.by_sides():
                        self.write(one, segment, offsets[own], width, access, element, None)
                    return
                rest = users.of(later), places[later], units[later], tokens[later]
                first = ~later
                users, places, units, tokens = users.of(first), places[first], units[first], tokens[first]
                changed, clash = changed[first], None if values is None else shadow.clashes(places, tokens)
        accessed = Accessed(users, segment, shadow, places, units, access, element)
        read = self._check_write(accessed, tokens, changed)
        self._set_earlier(shadow, places, tokens, access)
        self._set(users, shadow, places, units, tokens, changed, made)
        if read:
            gone = places if changed.all() else places[changed]
            shadow.reads[gone] = 0
            shadow.chains[gone] = 0
            shadow.several[gone] = False
        if clash is not None and values is not None:  # several threads wrote the value
            at = places[clash]
            shadow.write_hows[at] |= SILENT
            shadow.ensure("firsts")[at], shadow.ensure("first_hows")[at] = shadow.writes[at], shadow.write_hows[at]
            _add_silent(users, shadow, units, clash)
        if rest is not None:
            self._set_later(shadow, *rest, access, made)

    def _check_write(self, accessed: Accessed, tokens: Array, changed: Mask) -> bool:
        """Complains of writes that are not in order. Returns True if some of the granules were read before."""
        shadow, places, access = accessed.shadow, accessed.places, accessed.access
        written, read = shadow.writes.take(places), shadow.reads.take(places)
        own, is_read = tokens >> THREAD_SHIFT, bool(np.count_nonzero(read))
        suspicious, touched = written != 0, read != 0
        if access.kind not in ASYNC:
            hows = shadow.write_hows.take(places)
            if access.strong:
                suspicious &= ~PairRules.settled_by_any(hows, access, accessed.element)
            if np.count_nonzero(suspicious):
                special = IS_LATE[kinds_of(hows)] | shadow.has_earlier(places, access)
                suspicious &= (written >> THREAD_SHIFT != own) | special
                special |= silent_of(hows)
                suspicious = self._rules.without_known(accessed.users, access, suspicious, written, special)
            if is_read:
                hows, several = shadow.read_hows.take(places), shadow.several.take(places)
                touched &= changed
                if access.strong:
                    touched &= several | ~PairRules.settled_by_any(hows, access, accessed.element)
                if np.count_nonzero(touched):
                    special = several | IS_LATE_READ[kinds_of(hows)]
                    touched &= (read >> THREAD_SHIFT != own) | special
                    touched = self._rules.without_known(accessed.users, access, touched, read, special)
        if np.count_nonzero(suspicious) or np.count_nonzero(touched):
            for side in accessed.users.sides:
                self._checks.writes(side, accessed, changed, suspicious, touched)
        return is_read

    def _set_later(
        self, shadow: GlobalShadow, users: Users, places: Array, units: Array, tokens: Array, access: Access, made: int
    ) -> None:
        """
        Notes writes by CTAs side by side behind those of the first of them to the same granules: equal values, or
        updates, whose order does not matter.
        """
        if access.kind in ATOMIC:
            self._set_earlier(shadow, places, tokens, access)
            shadow.writes[places], shadow.write_hows[places] = tokens, made
        else:
            self._set(users, shadow, places, units, tokens, np.zeros(places.shape, np.bool_), made)

    def publish(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, done: Mask | None = None
    ) -> None:
        """
        Notes what strong writes, which `write` has checked, acquire of flags if they are updates that read, and release
        as flags where they are `done` (None: all): of one cluster after another.
        """
        if not (access.releases or self._flags.fenced or self._flags.any):
            return
        shadow = self._buffer(segment).shadow
        assert shadow is not None, "it was written"
        places = shadow.places(shadow.units(offsets, width))
        reads = access.kind is Kind.UPDATE and access.reads
        for side in users.sides:
            own, threads, found = places[side.own], users.threads[side.own], shadow.records
            old = np.zeros(len(threads), np.int32) if found is None else found[own[:, 0]]
            if reads:
                self._flags.receive(side, threads, old, access)
            count = len(threads) if done is None else np.count_nonzero(done[side.own])
            if not count:
                continue
            if done is not None and count < len(threads):
                which = done[side.own]
                own, threads, old = own[which], threads[which], old[which]
            before, loose = self._continued(side, threads, old, access)
            records = self._flags.release(side, threads, access, before, loose)
            if records is not None:
                shadow.ensure("records")[own] = records[:, None]
            elif found is not None:
                found[own] = 0

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
        """Checks and notes that a bulk tensor copy reads a tensor map of `size` bytes."""
        buffer = self._buffer(segment)
        reads = Reads(np.array([offset]), size, users.tokens(), how(access.kind, 0, access.scope, users.pc))
        if buffer.shadow is None:
            buffer.reads.append(reads)
        else:
            self._maps.check(users, segment, offset, size, buffer.shadow)
            buffer.shadow.note_reads(reads)

    def acquire_map(self, users: Users, segment: Segment, offset: int, size: int) -> None:
        """Notes fence.proxy.tensormap::generic.acquire of a tensor map."""
        shadow = self._buffer(segment).shadow
        if shadow is not None:
            self._maps.acquire(users, segment, offset, size, shadow)

    def fence(self, users: Users, fence: Fence) -> None:
        """Notes a fence of threads, which acquires what relaxed reads have received."""
        self._flags.fenced = True
        for side in users.sides if fence.acquires else ():
            self._flags.fence(side, users.threads[side.own], fence.scope, fence.sc)

    def proxy_fence(self, users: Users) -> None:
        """Notes fence.proxy.async of global memory."""
        for side in users.sides:
            side.monitor.global_proxy_fence(users.threads[side.own])
            self._flags.proxy_fence(side, users.threads[side.own])

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
        if changed.all():
            shadow.writes[places], shadow.write_hows[places] = tokens, made
            return
        silent = ~changed
        at = places[silent]
        old, old_hows = shadow.writes[at], shadow.write_hows[at]
        again = silent_of(old_hows)
        if old.any():
            firsts, first_hows = shadow.ensure("firsts"), shadow.ensure("first_hows")
            firsts[at], first_hows[at] = np.where(again, firsts[at], old), np.where(again, first_hows[at], old_hows)
            _add_silent(users, shadow, units, silent)
        elif shadow.firsts is not None:
            shadow.firsts[at] = 0
        shadow.writes[places], shadow.write_hows[places] = tokens, np.where(silent, made | SILENT, made)

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


def _add_silent(users: Users, shadow: GlobalShadow, units: Array, silent: Mask) -> None:
    """Notes which granules clusters have written without a change."""
    for side in users.sides:
        own = silent[side.own]
        if own.any():
            shadow.add_silent(side.cluster, units[side.own][own])
