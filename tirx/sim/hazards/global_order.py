"""
Order of accesses of global memory: between threads, proxies, CTAs and clusters (PTX ISA, sections 8.2 to 8.10).

Each access is compared with the last write and the reads since of the same bytes. Order inside of a cluster is known by
the clocks of its checker, order between clusters by flags only. What can give wrong numbers is an error; what only the
letter of the memory model leaves open is a warning whose rule begins with "global", and an error at "strict".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError, SimError
from tirx.sim.hazards.clocks import Row
from tirx.sim.hazards.global_access import ASYNC, ATOMIC, Access, Fence, Kind, Scope
from tirx.sim.hazards.global_flags import GlobalFlags, Level
from tirx.sim.hazards.global_shadow import (
    CLUSTER_SHIFT,
    INSTANT_MASK,
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
    widths_of,
)
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.memory.segment import Segment

# What says that asynchronous reads are complete.
_COMPLETIONS = {Kind.BULK: Row.BULK_WRITTEN, Kind.COPY: Row.COPIED, Kind.MAP: Row.BULK_READ}
_LATE = (*ASYNC, Kind.DEFERRED)  # writes that are not in order in their own thread
_LOG_LIMIT = 1 << 28  # bytes of reads of buffers that nobody has written
_MOST_MAPS = 1024
_DOES = {Kind.BULK: "a bulk copy", Kind.REDUCE: "a bulk reduction", Kind.COPY: "cp.async"}


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Accesses of one cluster: its number, lanes of a CTA, monitor, and which of the accesses are its own."""

    cluster: int
    lanes: int
    monitor: Monitor
    own: slice


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """Who accesses memory: a thread of its cluster for each access, and the clusters."""

    threads: Array
    sides: Sequence[Side]
    pc: int

    def tokens(self) -> Array:
        """Returns the token of each access, at the present instants."""
        found = self.threads.astype(np.int64) << THREAD_SHIFT
        for side in self.sides:
            found[side.own] += (side.cluster + 1 << CLUSTER_SHIFT) + side.monitor.instant()
        return found


@dataclass(slots=True, eq=False)
class _Buffer:
    """A buffer: reads that came before its first write, then the shadow."""

    segment: Segment
    reads: list[Reads]
    shadow: GlobalShadow | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Earlier accesses (tokens, hows) and the threads of one cluster that access the same bytes now, at `offsets`."""

    tokens: Array
    hows: Array
    threads: Array
    offsets: Array

    def of(self, which: Mask) -> _Pairs:
        return _Pairs(self.tokens[which], self.hows[which], self.threads[which], self.offsets[which])


class GlobalOrder:
    """
    The order of a launch. `note` hears of what only the letter forbids; None makes that an error. `describe` says where
    an instruction (by its index) stands, `place` which thread a thread of a cluster is.
    """

    def __init__(
        self,
        note: Callable[[str, str], None] | None,
        noted: Callable[[str], bool],
        describe: Callable[[int], str],
        place: Callable[[int, int], str],
        clusters: int,
    ):
        if clusters >= MOST_CLUSTERS:
            raise SimError(f"expected fewer than {MOST_CLUSTERS} clusters, found {clusters}: use check=False")
        self._note, self._noted, self._describe, self._place = note, noted, describe, place
        self._buffers: dict[int, _Buffer] = {}
        self._log = ReadLog()
        self._logged = 0
        self._flags = GlobalFlags()
        # Tensor maps that threads of a cluster have acquired: thread, instant and the writes that it saw.
        self._maps: dict[tuple[int, int, int], list[tuple[int, int, Array]]] = {}
        self._prerequisites: set[int] = set()
        self._waited: dict[int, list[tuple[Array, int]]] = {}

    # Accesses

    def read(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int = 0
    ) -> None:
        """Checks and notes reads of `width` bytes at `offsets` (bytes in a buffer); `element` is the size of one, in bytes."""
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
            suspicious |= np.isin(kinds_of(shadow.write_hows[places]), _LATE)
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
        tokens = np.broadcast_to(users.tokens()[:, None], places.shape)
        changed = _changed(segment, offsets, values, places.shape)
        written, read = shadow.writes[places], shadow.reads[places]
        shadow.writes[places] = tokens
        clash = shadow.writes[places] != tokens
        shadow.writes[places] = written
        if clash.any() and values is not None:
            _refuse_clash(segment, offsets, values)
            if len(users.sides) > 1:
                self._one_after_another(users, segment, offsets, width, access, element, values)
                return
        own = tokens >> THREAD_SHIFT
        suspicious = (written != 0) & (written >> THREAD_SHIFT != own)
        touched = (read != 0) & ((read >> THREAD_SHIFT != own) | shadow.several[places])
        if access.kind in ASYNC:
            suspicious, touched = written != 0, read != 0
        else:
            if written.any():
                suspicious |= np.isin(kinds_of(shadow.write_hows[places]), _LATE)
            if read.any():
                late = np.isin(kinds_of(shadow.read_hows[places]), (*_COMPLETIONS, Kind.READ_ONLY))
                touched |= late & (read != 0)
        if suspicious.any() or touched.any():
            for side in users.sides:
                self._check_write(
                    side, users, segment, shadow, places, units, (suspicious, touched), changed, access, element
                )
        self._set(users, shadow, places, units, tokens, changed, how(access.kind, element, access.scope, users.pc))
        if clash.any() and values is not None:  # several threads wrote the value
            at = places[clash]
            shadow.write_hows[at] |= SILENT
            shadow.ensure("firsts")[at], shadow.ensure("first_hows")[at] = shadow.writes[at], shadow.write_hows[at]
            shadow.silent.setdefault(users.sides[0].cluster, []).append(units[clash])

    def _one_after_another(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int, values: Array
    ) -> None:
        """Notes writes of equal values to the same bytes by CTAs side by side as if one of them came after another."""
        for side in users.sides:
            own = side.own
            alone = Side(side.cluster, side.lanes, side.monitor, slice(None))
            one = Users(users.threads[own], (alone,), users.pc)
            self.write(one, segment, offsets[own], width, access, element, values[own])
            segment.scatter(offsets[own], values[own])

    def strong_write(
        self, users: Users, segment: Segment, offsets: Array, width: int, access: Access, element: int
    ) -> None:
        """Checks and notes writes as `write`, and what they acquire (updates) and release as flags."""
        self.write(users, segment, offsets, width, access, element, None)
        shadow = self._buffer(segment).shadow
        assert shadow is not None, "it was written"
        places = shadow.places(shadow.units(offsets, width))
        if access.kind is Kind.UPDATE and access.reads:
            self._receive(users, shadow, places, access)
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
                pairs = _Pairs(writes[which], hows[which], np.full(count, thread), np.full(count, offset))
                if self._in_order(side, pairs, Row.VISIBLE)[0].all():
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
        for side in users.sides if fence.acquires else ():
            self._flags.fence(side.cluster, side.monitor, users.threads[side.own], fence.scope, fence.sc)

    def proxy_fence(self, users: Users) -> None:
        """Notes fence.proxy.async of global memory."""
        for side in users.sides:
            side.monitor.global_proxy_fence(users.threads[side.own])
            self._flags.proxy_fence(side.cluster, side.monitor, users.threads[side.own])

    def touched(self) -> list[tuple[Segment, int, Array, Array]]:
        """
        Returns the bytes of each buffer that were accessed: bytes of a granule, and the numbers of granules that were written,
        and of those that were read.
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

    # Pairs

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
        pairs = _Pairs(shadow.writes[at], shadow.write_hows[at], threads, offsets)
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
                found = _Pairs(tokens[which], hows[which], threads[which], offsets[which])
                hardware, _, _ = self._after_write(side, found, access, element, writes=False)
                fine[which[hardware]] = True
            open_pairs = ~(silent & (tokens == 0)) if access.kind is Kind.READ_ONLY else ~fine
        pairs = pairs.of(open_pairs)
        if not len(pairs.tokens):
            return
        hardware, letter, rule = self._after_write(side, pairs, access, element, writes=False)
        if not letter.all() and access.kind in (Kind.WEAK, Kind.STRONG):
            seen = self._observed(side, shadow, at[open_pairs], pairs)
            hardware, letter = hardware | seen, letter | seen
        self._complain(side, users, segment, pairs, hardware, letter, rule, access, "reads", "written")

    def _observed(self, side: Side, shadow: GlobalShadow, places: Array, pairs: _Pairs) -> Mask:
        """
        Returns where a strong read that the thread is behind has seen a strong write: then so does the thread, without any
        fence (section 8.9.5, observation).
        """
        readers, hows = shadow.reads[places], shadow.read_hows[places]
        strong = np.isin(kinds_of(hows), ATOMIC) & np.isin(kinds_of(pairs.hows), ATOMIC) & (readers != 0)
        if not strong.any():
            return strong
        reads = _Pairs(readers, hows, pairs.threads, pairs.offsets).of(strong)
        strong[strong] = (clusters_of(reads.tokens) == side.cluster) & self._in_order(side, reads, Row.VISIBLE)[0]
        return strong

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
            pairs = _Pairs(shadow.writes[at], shadow.write_hows[at], threads[rows], offsets)
            silent = (pairs.hows & SILENT) != 0
            if silent.any() and shadow.firsts is not None and shadow.first_hows is not None:
                firsts, hows = shadow.firsts[at], shadow.first_hows[at]
                which = silent & (firsts != 0)
                more = _Pairs(firsts[which], hows[which], threads[rows][which], offsets[which])
                joined = [np.concatenate([getattr(each, name) for each in (pairs, more)]) for name in _Pairs.__slots__]
                pairs, rows, columns = _Pairs(*joined), np.append(rows, rows[which]), np.append(columns, columns[which])
            hardware, letter, rule = self._after_write(side, pairs, access, element, writes=True)
            if not letter.all() and access.kind in (Kind.WEAK, Kind.STRONG) and len(at) == len(pairs.tokens):
                seen = self._observed(side, shadow, at, pairs)
                hardware, letter = hardware | seen, letter | seen
            equal = ~changed[rows, columns] & ~np.isin(kinds_of(pairs.hows), (Kind.UPDATE, Kind.REDUCE))
            # The axioms say nothing of accesses that overlap partially (section 8.7.2).
            mixed = equal & ~hardware & (widths_of(pairs.hows) != widths_of(how(0, element, 0, 0)))
            letter |= equal if self._note is not None else equal & ~mixed
            hardware |= equal
            self._complain(side, users, segment, pairs, hardware, letter, rule, access, "writes", "written")
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
        found: list[_Pairs] = []
        if alone.any():
            offsets = unit[alone] * shadow.granule
            found.append(_Pairs(shadow.reads[at[alone]], shadow.read_hows[at[alone]], threads[alone], offsets))
        if several.any():
            many, own, by = unit[several], at[several], threads[several]
            distinct, first = np.unique(many, return_index=True)
            for which, tokens, made in shadow.readers(distinct, own[first]):
                hows = np.full(len(tokens), made, np.int32)
                found.append(_Pairs(tokens, hows, by[first][which], distinct[which] * shadow.granule))
            if (shadow.chains[own] <= self._log.forgotten).any() and self._log.forgotten:
                self._say("global reads forgotten", "too many reads of global memory to check all later writes against")
        for pairs in found:
            hardware, letter, rule = self._after_read(side, pairs, access, element)
            self._complain(side, users, segment, pairs, hardware, letter, rule, access, "writes", "read")

    def _after_write(
        self, side: Side, pairs: _Pairs, access: Access, element: int, *, writes: bool
    ) -> tuple[Mask, Mask, str]:
        """
        Returns which accesses are in order behind the writes of `pairs`, as hardware does it and by the letter, and the rule
        that those break which are not by the letter.
        """
        kinds = kinds_of(pairs.hows)
        late, deferred = np.isin(kinds, ASYNC), kinds == Kind.DEFERRED
        hardware, letter, rule = np.zeros(len(kinds), np.bool_), np.zeros(len(kinds), np.bool_), ""
        if late.any():
            hardware[late], letter[late] = self._reached(side, pairs.of(late), Row.BULK_STORED)
        if deferred.any():  # only who has seen it, or the flag that it is, knows that it is done
            hardware[deferred] = self._by_flags(side, pairs.of(deferred), Row.VISIBLE, Level.HARDWARE)
            letter[deferred] = hardware[deferred]
            late |= deferred
        if not late.all():
            others = ~late
            known = self._in_order(side, pairs.of(others), Row.VISIBLE)
            hardware[others], letter[others] = known
            if (known[0] & ~known[1]).any():
                rule = self._rule_of_flags(side, pairs.of(others).of(known[0] & ~known[1]))
            if access.kind in ASYNC:
                fenced, by_letter = self._fenced(side, pairs.of(others))
                published, _ = self._reached(side, pairs.of(others), Row.PUBLISHED)
                if (hardware[others] & ~fenced & published).any():
                    rule = "global fence.proxy.async"
                hardware[others] &= fenced | published
                letter[others] &= by_letter
        if access.kind is Kind.READ_ONLY:
            hardware[:] = letter[:] = False  # the read-only path is not coherent
            return hardware, letter, rule
        bad = ~hardware
        if bad.any():
            same = widths_of(pairs.hows) == widths_of(how(0, element, 0, 0))
            strong = np.isin(kinds, ATOMIC) & (access.kind in ATOMIC) & self._scopes(side, pairs, access)
            accepted = strong | ((kinds == Kind.REDUCE) & (access.kind is Kind.REDUCE))
            if (bad & strong & ~same).any():
                rule = "global mixed sizes"
            hardware |= accepted
            letter |= accepted & (same | ~strong)
            mixed = ((kinds == Kind.REDUCE) & (access.kind is Kind.UPDATE)) | (
                (kinds == Kind.UPDATE) & (access.kind is Kind.REDUCE)
            )
            mixed &= bad & (np.maximum(scopes_of(pairs.hows), access.scope) >= Scope.GPU)
            if mixed.any():
                rule = "global atomics of two proxies"
                hardware |= mixed
            weak = bad & (kinds == Kind.UPDATE) & (access.kind is Kind.WEAK) & (not writes)
            if weak.any():
                rule = "global weak read of an atomic"
                hardware |= weak
        else:
            strong = np.isin(kinds, ATOMIC) & (access.kind in ATOMIC) & self._scopes(side, pairs, access)
            letter |= strong & (widths_of(pairs.hows) == widths_of(how(0, element, 0, 0)))
        return hardware, letter, rule

    def _after_read(self, side: Side, pairs: _Pairs, access: Access, element: int) -> tuple[Mask, Mask, str]:
        """The same for writes behind the reads of `pairs`."""
        kinds = kinds_of(pairs.hows)
        hardware, letter, rule = np.zeros(len(kinds), np.bool_), np.zeros(len(kinds), np.bool_), ""
        for kind, row in _COMPLETIONS.items():
            which = kinds == kind
            if which.any():
                hardware[which], letter[which] = self._reached(side, pairs.of(which), row)
        others = ~np.isin(kinds, [*_COMPLETIONS])
        if others.any():
            own = pairs.of(others)
            handed = self._in_order(side, own, Row.HANDED)
            known = self._in_order(side, own, Row.VISIBLE)
            hardware[others], letter[others] = handed[0], known[1]
            if (handed[0] & ~known[0]).any():
                rule = "global mbarrier of scope .cta"
            elif (known[0] & ~known[1]).any():
                rule = self._rule_of_flags(side, own.of(known[0] & ~known[1]))
            if access.kind in ASYNC:
                fenced, by_letter = self._fenced(side, own)
                returned, _ = self._reached(side, own, Row.READ)
                if (hardware[others] & ~fenced & returned).any():
                    rule = "global fence.proxy.async behind reads"
                hardware[others] &= fenced | returned
                letter[others] &= by_letter
            only = kinds == Kind.READ_ONLY
            if (only & hardware).any():
                rule = "global ld.nc"
                letter[only] = False
        bad = ~hardware
        same = widths_of(pairs.hows) == widths_of(how(0, element, 0, 0))
        strong = np.isin(kinds, ATOMIC) & (access.kind in ATOMIC) & self._scopes(side, pairs, access)
        if (bad & strong & ~same).any():
            rule = "global mixed sizes"
        weak = bad & (kinds == Kind.WEAK) & (access.kind is Kind.UPDATE)
        if weak.any():
            rule = "global weak read of an atomic"
        return hardware | strong | weak, letter | (strong & same), rule

    def _scopes(self, side: Side, pairs: _Pairs, access: Access) -> Mask:
        """Returns True where the scope of each access has the thread of the other (section 8.7)."""
        scope = np.minimum(scopes_of(pairs.hows), access.scope)
        same_cluster = clusters_of(pairs.tokens) == side.cluster
        same_cta = same_cluster & (threads_of(pairs.tokens) // side.lanes == pairs.threads // side.lanes)
        # Loads and stores of too narrow a scope are reported by the data that they do not order.
        flags = (kinds_of(pairs.hows) == Kind.STRONG) & (access.kind is Kind.STRONG)
        return (
            flags | (scope >= Scope.GPU) | ((scope == Scope.CLUSTER) & same_cluster) | ((scope == Scope.CTA) & same_cta)
        )

    def _rule_of_flags(self, side: Side, pairs: _Pairs) -> str:
        chained = self._by_flags(side, pairs, Row.VISIBLE, Level.CHAINS)
        return "global fence of another thread" if chained.all() else "global chain through a relaxed store"

    def _in_order(self, side: Side, pairs: _Pairs, row: Row) -> tuple[Mask, Mask]:
        """The same as `_reached`, of accesses that are in order in one thread."""
        program = (clusters_of(pairs.tokens) == side.cluster) & (threads_of(pairs.tokens) == pairs.threads)
        if program.all():
            return program, program
        hardware, letter = program.copy(), program.copy()
        rest = ~program
        hardware[rest], letter[rest] = self._reached(side, pairs.of(rest), row)
        return hardware, letter

    def _reached(self, side: Side, pairs: _Pairs, row: Row) -> tuple[Mask, Mask]:
        """Returns where the threads may rely on effects of a sort, as hardware does it and by the letter."""
        clusters, others = clusters_of(pairs.tokens), threads_of(pairs.tokens)
        instants = pairs.tokens & INSTANT_MASK
        found = np.zeros(len(clusters), np.bool_)
        own = clusters == side.cluster
        if own.any():
            found[own] = side.monitor.reached(row, pairs.threads[own], others[own], instants[own])
        letter = found.copy()
        rest = ~found
        if rest.any():
            found[rest] = self._by_flags(side, pairs.of(rest), row, Level.HARDWARE)
            if found[rest].any():
                letter[rest] = self._by_flags(side, pairs.of(rest), row, Level.LETTER)
        return found, letter

    def _fenced(self, side: Side, pairs: _Pairs) -> tuple[Mask, Mask]:
        """Returns where a fence.proxy.async is on the way from generic accesses to the threads."""
        hardware, letter = self._reached(side, pairs, Row.GLOBAL_PROXY)
        rest = ~hardware
        if rest.any():
            own = pairs.of(rest)
            effects = clusters_of(own.tokens), threads_of(own.tokens), own.tokens & INSTANT_MASK
            found = self._flags.proxied(side.cluster, side.lanes, side.monitor, own.threads, *effects)
            hardware[rest], letter[rest] = found, found
        return hardware, letter

    def _by_flags(self, side: Side, pairs: _Pairs, row: Row, level: Level) -> Mask:
        effects = clusters_of(pairs.tokens), threads_of(pairs.tokens), pairs.tokens & INSTANT_MASK
        return self._flags.reached(side.cluster, side.lanes, side.monitor, row, pairs.threads, *effects, level)

    # Launches

    def require(self, segments: Sequence[Segment]) -> None:
        """Makes accesses of some buffers wait for `griddepcontrol.wait`."""
        self._prerequisites = {id(each) for each in segments}

    def waited(self, users: Users) -> None:
        """Notes that threads have executed griddepcontrol.wait."""
        for side in users.sides:
            found = (users.threads[side.own].copy(), side.monitor.instant())
            self._waited.setdefault(side.cluster, []).append(found)

    def _check_prerequisite(self, users: Users, segment: Segment) -> None:
        if id(segment) not in self._prerequisites:
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
                    f"{self._place(side.cluster, int(threads[~behind][0]))}, or of a thread that it is behind by a barrier"
                )

    # Messages

    def _say(self, rule: str, message: str) -> None:
        if self._note is not None and not self._noted(rule):
            self._note(rule, message)

    def _complain(
        self,
        side: Side,
        users: Users,
        segment: Segment,
        pairs: _Pairs,
        hardware: Mask,
        letter: Mask,
        rule: str,
        access: Access,
        verb: str,
        did: str,
    ) -> None:
        """Raises HazardError, or warns, of the first pair that is not in order."""
        if hardware.all() and (letter.all() or (self._note is not None and self._noted(rule))):
            return
        first = int(np.argmin(hardware)) if not hardware.all() else int(np.argmin(letter))
        token, made = int(pairs.tokens[first]), int(pairs.hows[first])
        cluster, thread = int(clusters_of(np.int64(token))), int(threads_of(np.int64(token)))
        kind = Kind(int(kinds_of(np.int32(made))))
        missing = self._missing(side, pairs.of(np.arange(len(letter)) == first), kind, access, did, cluster)
        message = (
            f"{_DOES.get(access.kind, 'the access')} of {self._place(side.cluster, int(pairs.threads[first]))} {verb} byte "
            f"{int(pairs.offsets[first])} of {segment.name}, which {self._describe(pc_of(made))} "
            f"({_DOES[kind] + ' of ' if kind in _DOES else ''}{self._place(cluster, thread)}) has {did}: {missing}"
        )
        if not hardware.all():
            raise HazardError(f"data race: {message}")
        if self._note is None:
            raise HazardError(f"{rule or 'global'}: {message}")
        self._note(rule or "global order", message)

    def _missing(self, side: Side, pair: _Pairs, kind: Kind, access: Access, did: str, cluster: int) -> str:
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
        if access.kind in ASYNC and self._in_order(side, pair, Row.VISIBLE)[0].all():
            return "expected fence.proxy.async (or .async.global) in between, on the way of the synchronisation"
        if kind in ATOMIC and access.kind in ATOMIC:
            return "the scope of one of them does not have the other thread, or they differ in size"
        if cluster != side.cluster:
            return (
                "expected a flag with .release and .acquire, or fences on both sides, of a scope that has both threads, "
                "between CTAs that are not of one cluster"
            )
        return "expected a synchronisation of the two threads in between"


def _refuse_clash(segment: Segment, offsets: Array, values: Array) -> None:
    """Raises HazardError if threads write different values to a byte by one instruction."""
    raw = values.view(np.uint8)
    places, raw = (offsets[:, None] + np.arange(raw.shape[1])).ravel(), raw.ravel()
    order = np.argsort(places, kind="stable")
    places, raw = places[order], raw[order]
    bad = (places[1:] == places[:-1]) & (raw[1:] != raw[:-1])
    if bad.any():
        raise HazardError(
            f"data race: lanes of one store write different values to byte {int(places[1:][bad][0])} of {segment.name}"
        )


def _changed(segment: Segment, offsets: Array, values: Array | None, shape: tuple[int, ...]) -> Mask:
    """Returns for each granule of accesses whether they change what is in memory."""
    if values is None:
        return np.ones(shape, np.bool_)
    if values.dtype == np.uint8:
        changes = segment.data[offsets[:, None] + np.arange(values.shape[1])] != values
    else:
        changes = segment.gather(offsets, values.dtype, values.shape[1]) != values
    parts, units = changes.shape[1], shape[1]
    if units == parts:
        return changes
    if units > parts:
        return np.repeat(changes, units // parts, axis=1)
    return changes.reshape(shape[0], units, parts // units).any(axis=2)
