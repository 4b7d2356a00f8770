"""Last writers and readers of each byte of a CTA's shared memory; checks that the next access is ordered after them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError, UndefinedError
from tirx.sim.hazards.clocks import Clocks, Row, Span, span_of
from tirx.sim.hazards.instants import Instants
from tirx.sim.hazards.monitor import Note, Stored, Writes, bytes_of
from tirx.sim.memory.addresses import SHARED_BASE
from tirx.sim.memory.region import WORD, Region

_WARP = 32


class Writer(enum.IntEnum):
    """The kind of the last write to a byte."""

    GENERIC = 0
    BULK = 1
    STRONG = 2  # atomically, or by a relaxed or volatile store
    COPY = 3  # cp.async
    UPDATE = 4  # asynchronous reductions, which other ones may follow at any time


# Which row of the clocks says that a write is complete.
_COMPLETION = np.array([Row.GENERIC, Row.FILLED, Row.GENERIC, Row.COPIED, Row.FILLED])

# The same as rows of instructions, and those that an access through the async proxy needs.
_COMPLETION_ROWS = {kind: Row(int(_COMPLETION[kind])) for kind in Writer}
_FOREIGN = {
    Writer.GENERIC: (Row.PROXY,),
    Writer.STRONG: (Row.PROXY,),
    Writer.COPY: (Row.PROXY, Row.COPIED),
    Writer.BULK: (Row.FILLED,),
    Writer.UPDATE: (Row.FILLED,),
}

# What a thread that overwrites bytes has to know of the threads that have read them: without and with the async proxy.
_READ_ROWS = {False: (Row.GENERIC,), True: (Row.GENERIC, Row.PROXY)}
_MOST_LATER = 4096  # accesses
_MOST_READERS = 32  # sets of threads

# Who reads through the async proxy, and what says that it has.
_READERS = {
    Row.BULK_READ: ("a bulk copy", "cp.async.bulk.wait_group"),
    Row.TENSOR_DONE: ("tcgen05", "the mbarrier of a tcgen05.commit"),
    Row.A_READ: ("tcgen05", "the mbarrier of a tcgen05.commit"),
    Row.WARPGROUP_READ: ("wgmma", "wgmma.wait_group"),
}


class SharedShadow:
    """Last writers and readers of `size` bytes, which `warps` of the cluster may access."""

    def __init__(self, clocks: Clocks, size: int, warps: int, note: Note | None = None):
        self._clocks = clocks
        self._note = note
        self._written: Mask = np.zeros(size, np.bool_)
        self._written[:SHARED_BASE] = True  # by the system
        self._mbarrier: Mask = np.zeros(size, np.bool_)
        # The last writer: a thread, or the column of the mbarrier (`Row.FILLED`) that a bulk copy tells.
        self._writer: Array = np.zeros(size, np.int32)
        self._issuers: dict[int, int] = {}  # instants of bulk copies and their threads
        self._write_time: Array = np.zeros(size, np.int32)
        self._write_kind: Array = np.zeros(size, np.uint8)
        # Of bulk tensor copies, -1 for others; counts where such a copy wrote last.
        self.swizzles: Array = np.full(size, -1, np.int8)
        # The last reader of each warp.
        self._reader: Array = np.zeros((warps, size), np.int32)
        self._read_time: Array = np.zeros((warps, size), np.int32)
        self._warp_reads: Mask = np.zeros(warps, np.bool_)
        # The last reader through the async proxy: the issuing thread, and the row that says that it is done.
        self._async_reader: Array = np.zeros(size, np.int32)
        self._async_time: Array = np.zeros(size, np.int32)
        self._async_row: Array = np.zeros(size, np.uint8)
        # The same by instruction and word, as a short cut.
        words = -(-size // WORD)
        self._writes, self._async = Instants(clocks, words), Instants(clocks, words)
        self._last_read: Array = np.zeros(words, np.int32)
        self._readers: set[Span] = set()  # threads that have read, and maybe others
        # What is still to be noted byte by byte. An access replaces one of the same bytes by the same threads.
        self._log: dict[tuple[object, ...], Callable[[], None]] = {}

    def _later(self, key: tuple[object, ...], apply: Callable[[], None]) -> None:
        self._log.pop(key, None)
        self._log[key] = apply
        if len(self._log) > _MOST_LATER:
            self.catch_up()

    def catch_up(self) -> None:
        """Notes byte by byte what was put off."""
        for apply in self._log.values():
            apply()
        self._log.clear()

    def writes(self, places: Array) -> Writes:
        """Returns the last writes to bytes, as far as they are known."""
        self.catch_up()
        kinds = self._write_kind[places]
        threads = ((kinds == Writer.GENERIC) | (kinds == Writer.COPY)) & (self._write_time[places] > 0)
        swizzles = np.where(kinds == Writer.BULK, self.swizzles[places], -1)
        return Writes(threads, self._write_time[places], swizzles)

    def writes_at(self, instant: int) -> tuple[Array, Array]:
        """The bytes that were last written at an instant, and the thread of each."""
        self.catch_up()
        places = np.flatnonzero(self._write_time == instant)
        return places, self._writer[places]

    # Generic proxy

    def load(self, offsets: Array, width: int, threads: Array, strong: bool, tolerant: bool = False) -> None:
        """Thread i reads `width` bytes at offsets[i]; `tolerant`: written or not."""
        key, observers = offsets.tobytes(), span_of(threads)
        words, _ = _words(key, width)
        # Bytes of which an instruction is known are written, and in no mbarrier object.
        if not self._writes.settled(words, observers, written=True):
            self.catch_up()
            places = bytes_of(offsets, width)
            self._refuse_mbarrier(places, "a load")
            if not tolerant:
                self._require_written(places, "a load")
            self._behind_writer(places, np.broadcast_to(threads[:, None], places.shape), "is read", strong)
        if strong:
            return
        now = self._clocks.now
        self._last_read[words] = now
        if observers not in self._readers:
            if len(self._readers) == _MOST_READERS:
                self._readers = {(0, _WARP * len(self._warp_reads) - 1)}
            self._readers.add(observers)
            self._warp_reads[threads // _WARP] = True

        def apply() -> None:
            places = bytes_of(np.frombuffer(key, np.int64), width)
            warps = threads[:, None] // _WARP
            self._reader[warps, places] = threads[:, None]
            self._read_time[warps, places] = now

        self._later(("load", key, width, observers), apply)

    def store(self, offsets: Array, width: int, threads: Array, kind: Writer, stored: Stored | None = None) -> None:
        """
        Thread i writes `width` bytes to offsets[i]: those of `stored`, if they are known.

        If memory holds them already, the write before need not be ordered: threads may all write the same.
        """
        key, writers, now = offsets.tobytes(), span_of(threads), self._clocks.now
        words, whole = _words(key, width)
        if not (
            whole
            and self._writes.settled(words, writers)
            and self._readers_known(words, writers, (Row.GENERIC,))
            and self._async.settled(words, writers)
        ):
            self.catch_up()
            places = bytes_of(offsets, width)
            users = np.broadcast_to(threads[:, None], places.shape)
            self._refuse_mbarrier(places, "a store")
            if not self._writes.settled(words, writers):
                self._behind_writer(places, users, "is written", kind is Writer.STRONG, stored)
            self._behind_readers(places, users, words, writers)
        if not whole:
            self._wrote(bytes_of(offsets, width), threads[:, None], kind, self._clocks.now)
            self._writes.blur(words)
            return
        self._writes.note(words, writers, (_COMPLETION_ROWS[kind],), _FOREIGN[kind])

        def apply() -> None:
            self._wrote(bytes_of(np.frombuffer(key, np.int64), width), threads[:, None], kind, now)

        self._later(("store", key, width, writers, kind), apply)

    def _wrote(self, places: Array | slice, users: Array | int, kind: Writer, instant: int) -> None:
        self._written[places] = True
        self._writer[places], self._write_time[places], self._write_kind[places] = users, instant, kind

    def _refuse_mbarrier(self, places: Array, what: str) -> None:
        if self._mbarrier[places].any():
            bad = int(places[self._mbarrier[places]][0])
            raise HazardError(f"{what} touches shared address {bad:#x}, which is in an mbarrier object")

    def _require_written(self, places: Array, what: str) -> None:
        if not self._written[places].all():
            bad = int(places[~self._written[places]][0])
            raise UndefinedError(f"{what} reads shared address {bad:#x}, which was never written")

    def undefined(self, places: Array) -> Array:
        """Returns True for every i where places[i] has a byte that was never written."""
        self.catch_up()
        return np.any(~self._written[places], axis=1)

    def forget(self, places: Array) -> None:
        """Marks bytes as never written, because undefined values were stored there."""
        self.catch_up()
        self._written[places] = False
        self._writes.blur(places // WORD)

    def _behind_writer(
        self, places: Array, users: Array, what: str, strong: bool, stored: Stored | None = None
    ) -> None:
        times = self._write_time[places]
        if not times.any():
            return
        writers, kinds = self._writer[places], self._write_kind[places]
        known = self._clocks.known[_COMPLETION[kinds], users, writers]
        asynchronous = (kinds == Writer.BULK) | (kinds == Writer.COPY) | (kinds == Writer.UPDATE)
        bad = (known < times) & (asynchronous | (writers != users))
        if strong:
            bad &= kinds != Writer.STRONG
        if stored is not None and bad.any():
            bad &= asynchronous | stored.changes()[:, None]
        if not bad.any():
            return
        place = tuple(np.argwhere(bad)[0])
        kind = Writer(int(kinds[place]))
        byte, writer, user = int(places[place]), int(writers[place]), int(users[place])
        if kind in (Writer.BULK, Writer.UPDATE):
            message = f"before the bulk copy that thread {self._issuers[int(times[place])]} issued to it was waited for"
        elif kind is Writer.COPY:
            message = f"before the cp.async of thread {writer} to it was waited for"
        else:
            message = f"though the write by thread {writer} is not ordered before that: data race"
        raise HazardError(f"shared address {byte:#x} {what} by thread {user} {message}")

    def _behind_readers(
        self,
        places: Array,
        users: Array,
        words: Array | slice,
        observers: Span,
        asynchronous: bool = False,
    ) -> None:
        """
        Raises HazardError unless `users`, all of `observers`, may overwrite what was read from bytes of `words`.

        `asynchronous`: they write through the async proxy, so that a proxy fence must stand behind a generic read.
        """
        if not self._readers_known(words, observers, _READ_ROWS[asynchronous]):
            self._behind_generic_readers(places, users, asynchronous)
        if self._async.settled(words, observers):
            return
        times = self._async_time[places]
        readers, rows = self._async_reader[places], self._async_row[places]
        bad = self._clocks.known[rows, users, readers] < times
        if bad.any():
            place = tuple(np.argwhere(bad)[0])
            reader, waited = _READERS[Row(int(rows[place]))]
            raise HazardError(
                f"shared address {int(places[place]):#x} is written by thread {int(users[place])} while {reader} may "
                f"still read it: {waited} was not waited for"
            )

    def _readers_known(self, words: Array | slice, observers: Span, rows: Sequence[Row]) -> bool:
        """Returns True if `observers` know of all reads by threads until the last one of any of `words`."""
        times = self._last_read[words] if isinstance(words, slice) else self._last_read.take(words)
        last = int(np.maximum.reduce(times, axis=None))
        if not last:
            return True
        return all(self._clocks.all_know(row, observers, readers, last) for row in rows for readers in self._readers)

    def _behind_generic_readers(self, places: Array, users: Array, asynchronous: bool) -> None:
        known = self._clocks.known[Row.GENERIC]
        fenced, returned = self._clocks.known[Row.PROXY], self._clocks.known[Row.READ]
        for warp in np.flatnonzero(self._warp_reads).tolist():
            times = self._read_time[warp][places]
            if not times.any():
                continue
            readers = self._reader[warp][places]
            bad = (readers != users) & (known[users, readers] < times)
            if bad.any():
                place = tuple(np.argwhere(bad)[0])
                raise HazardError(
                    f"shared address {int(places[place]):#x} is written by thread {int(users[place])} though the read "
                    f"by thread {int(readers[place])} is not ordered before that: data race"
                )
            bad = fenced[users, readers] < times
            if asynchronous and bad.any():
                # mbarriers order loads that have not returned yet, barriers of the CTA and fences wait for them: so
                # the numbers of an H200 say, where the fence of the proxy is missing.
                early = bad & (returned[users, readers] < times)
                place = tuple(np.argwhere(early if early.any() else bad)[0])
                message = (
                    f"shared address {int(places[place]):#x} is written by an asynchronous copy of thread "
                    f"{int(users[place])}, but thread {int(readers[place])} has read it through the generic proxy: "
                    "expected fence.proxy.async in that thread behind the read, before it synchronises with the "
                    "copy's thread, or in the latter after that"
                )
                if self._note is None or early.any():
                    raise HazardError(message)
                self._note("fence.proxy.async behind reads", message)

    # mbarrier objects

    def set_mbarrier(self, offset: int, thread: int, live: bool) -> None:
        self.catch_up()
        places, words = np.arange(offset, offset + 8), slice(offset // WORD, offset // WORD + 2)
        if live:
            users = np.full(8, thread)
            self._behind_writer(places, users, "is made an mbarrier object", False)
            self._behind_readers(places, users, words, (thread, thread))
            self._wrote(places, thread, Writer.STRONG, self._clocks.now)
        self._mbarrier[places] = live
        self._written[places] = False
        self._writes.blur(words)

    # Async proxy

    def async_read(self, region: Region, threads: Array, what: str, row: Row) -> None:
        """A read on behalf of each of `threads`, of which the last is remembered."""
        if not self._writes.settled(region.words, span_of(threads), written=True, foreign=True):
            self.catch_up()
            self._refuse_mbarrier(region.places, what)
            self._require_written(region.places, what)
            for thread in threads.tolist():
                self._async_order(region.places, thread, f"{what} reads")
        reader, now, places = int(threads[-1]), self._clocks.now, region.index

        def apply() -> None:
            self._async_reader[places], self._async_time[places], self._async_row[places] = reader, now, row

        if region.whole:
            self._async.note(region.words, (reader, reader), (row,), (row,))
        else:
            self._async.blur(region.words)
        self._later(("async read", region.key, reader, row), apply)

    def async_write(self, region: Region, thread: int, what: str, column: int) -> None:
        words, user = region.words, (thread, thread)
        if not (
            region.whole
            and self._writes.settled(words, user, foreign=True)
            and self._readers_known(words, user, _READ_ROWS[True])
            and self._async.settled(words, user)
        ):
            self.catch_up()
            self._refuse_mbarrier(region.places, what)
            if not self._writes.settled(words, user, foreign=True):
                self._async_order(region.places, thread, f"{what} writes", overwrites=True)
            users = np.full(region.places.shape, thread)
            self._behind_readers(region.places, users, words, user, asynchronous=True)
        self.swizzles[region.index] = -1
        now = self._clocks.now
        self._issuers[now] = thread
        if not region.whole:
            self._wrote(region.index, column, Writer.BULK, now)
            self._writes.blur(words)
            return
        self._writes.note(words, (column, column), (Row.FILLED,), (Row.FILLED,))
        self._later(("async write", region.key, thread), lambda: self._wrote(region.index, column, Writer.BULK, now))

    def async_update(self, places: Array, thread: int, what: str, column: int) -> None:
        """A reduction through the async proxy; only the last of several that are not ordered is remembered."""
        self.catch_up()
        self._refuse_mbarrier(places, what)
        self._require_written(places, what)
        self._async_order(places[self._write_kind[places] != Writer.UPDATE], thread, f"{what} updates")
        users, words = np.full(places.shape, thread), places // WORD
        self._behind_readers(places, users, words, (thread, thread), asynchronous=True)
        self._issuers[self._clocks.now] = thread
        self._wrote(places, column, Writer.UPDATE, self._clocks.now)
        self._writes.blur(words)

    def deferred_store(self, places: Array, thread: int, what: str, updates: bool, column: int) -> None:
        """st.async and red.async: through the generic proxy, complete when their mbarrier has been waited for."""
        self.catch_up()
        self._refuse_mbarrier(places, what)
        users, words = np.full(places.shape, thread), places // WORD
        ordered = self._write_kind[places] != Writer.UPDATE if updates else np.ones(places.shape, np.bool_)
        if updates:
            self._require_written(places, what)
        self._behind_writer(places[ordered], users[ordered], "is written", False)
        self._behind_readers(places, users, words, (thread, thread))
        self._issuers[self._clocks.now] = thread
        self._wrote(places, column, Writer.UPDATE if updates else Writer.BULK, self._clocks.now)
        self._writes.blur(words)

    def _async_order(self, places: Array, thread: int, what: str, *, overwrites: bool = False) -> None:
        """Writes before an access through the async proxy must be visible to it."""
        times, writers, kinds = self._write_time[places], self._writer[places], self._write_kind[places]
        bulk = (kinds == Writer.BULK) | (kinds == Writer.UPDATE)
        rows = np.where(bulk, int(Row.FILLED), int(Row.PROXY))
        known = self._clocks.known
        bad = known[rows, thread, writers] < times
        bad |= (kinds == Writer.COPY) & (known[Row.COPIED, thread, writers] < times)
        if not bad.any():
            return
        first = int(np.argmax(bad))
        writer, byte = int(writers[first]), int(places[first])
        if bulk[first]:
            issuer = self._issuers[int(times[first])]
            raise HazardError(
                f"{what} shared address {byte:#x} before the bulk copy that thread {issuer} issued to it was waited for"
            )
        message = (
            f"{what} shared address {byte:#x}, which thread {writer} has written through the generic proxy: "
            "expected fence.proxy.async in that thread before it synchronises with this one, or here after that"
        )
        # A write that is not visible to the async proxy yet, but ordered, is overwritten all the same.
        ordered = (known[Row.GENERIC, thread, writers] >= times) & (kinds != Writer.COPY)
        if self._note is None or not overwrites or (bad & ~ordered).any():
            raise HazardError(message)
        self._note("fence.proxy.async between writes", message)


@lru_cache(maxsize=4096)
def _words(offsets: bytes, width: int) -> tuple[Array, bool]:
    """
    Returns the words of 4 bytes that accesses touch, (lanes, words), and whether they touch all bytes of these
    together. `offsets` are int64, multiples of the width.
    """
    found = np.frombuffer(offsets, np.int64)
    words = (found[:, None] + np.arange(0, width, WORD)) // WORD
    return words, len(np.unique(found)) * width == len(np.unique(words)) * WORD
