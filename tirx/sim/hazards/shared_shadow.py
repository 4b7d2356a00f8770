"""Last writers and readers of each byte of a CTA's shared memory; checks that the next access is ordered after them."""

from __future__ import annotations

import enum

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError, UndefinedError
from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.instants import Instants
from tirx.sim.hazards.monitor import Note, Writes
from tirx.sim.memory.addresses import SHARED_BASE

_WARP = 32


class Writer(enum.IntEnum):
    """The kind of the last write to a byte."""

    GENERIC = 0
    BULK = 1
    STRONG = 2  # atomically, or by a relaxed or volatile store
    COPY = 3  # cp.async
    UPDATE = 4  # asynchronous reductions, which other ones may follow at any time


# Which row of the clocks says that a write is complete.
_COMPLETION = np.array([Row.GENERIC, Row.BULK_WRITTEN, Row.GENERIC, Row.COPIED, Row.BULK_WRITTEN])

# The same as rows of instructions, and those that an access through the async proxy needs.
_COMPLETION_ROWS = {kind: Row(int(_COMPLETION[kind])) for kind in Writer}
_FOREIGN = {
    Writer.GENERIC: (Row.PROXY,),
    Writer.STRONG: (Row.PROXY,),
    Writer.COPY: (Row.PROXY, Row.COPIED),
    Writer.BULK: (Row.BULK_WRITTEN,),
    Writer.UPDATE: (Row.BULK_WRITTEN,),
}

# Who reads through the async proxy, and what says that it has.
_READERS = {
    Row.BULK_READ: ("a bulk copy", "cp.async.bulk.wait_group"),
    Row.TENSOR_DONE: ("tcgen05", "the mbarrier of a tcgen05.commit"),
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
        self._writer: Array = np.zeros(size, np.int32)
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
        self._async_reads = False
        # The same by instruction, as a short cut.
        self._writes, self._async = Instants(clocks, size), Instants(clocks, size)
        self._last_read: Array = np.zeros(size, np.int32)
        self._readers: Array = np.zeros(0, np.intp)  # all threads of the warps that have read
        self._writes.blur(np.arange(SHARED_BASE))
        self._scratch: Array = np.zeros(size, np.uint8)

    def writes(self, places: Array) -> Writes:
        """What is known of the last writes to bytes."""
        kinds = self._write_kind[places]
        threads = ((kinds == Writer.GENERIC) | (kinds == Writer.COPY)) & (self._write_time[places] > 0)
        swizzles = np.where(kinds == Writer.BULK, self.swizzles[places], -1)
        return Writes(threads, self._write_time[places], swizzles)

    def writes_at(self, instant: int) -> tuple[Array, Array]:
        """The bytes that were last written at an instant, and the thread of each."""
        places = np.flatnonzero(self._write_time == instant)
        return places, self._writer[places]

    # Generic proxy

    def load(self, places: Array, threads: Array, strong: bool, tolerant: bool = False) -> None:
        """Thread i reads the bytes places[i] (lanes, width); `tolerant`: written or not."""
        users = np.broadcast_to(threads[:, None], places.shape)
        # Bytes of which an instruction is known are written, and in no mbarrier object.
        if not self._writes.settled(places, threads, written=True):
            self._refuse_mbarrier(places, "a load")
            if not tolerant:
                self._require_written(places, "a load")
            self._behind_writer(places, users, "is read", strong)
        if strong:
            return
        warps = threads[:, None] // _WARP
        self._reader[warps, places] = users
        self._read_time[warps, places] = self._clocks.now
        self._last_read[places] = self._clocks.now
        if not self._warp_reads[threads // _WARP].all():
            self._warp_reads[threads // _WARP] = True
            self._readers = np.flatnonzero(np.repeat(self._warp_reads, _WARP))

    def store(self, places: Array, values: Array, threads: Array, kind: Writer, memory: Array | None = None) -> None:
        """
        Thread i writes the bytes values[i] to places[i] (lanes, width).

        If `memory` holds them already, the write before need not be ordered: threads may all write the same.
        """
        self._refuse_mbarrier(places, "a store")
        users = np.broadcast_to(threads[:, None], places.shape)
        if len(threads) > 1 and kind is not Writer.STRONG:
            self._one_writer(places, values)
        if not self._writes.settled(places, threads):
            changes = None if memory is None else (memory[places] != values).any(axis=1)
            self._behind_writer(places, users, "is written", kind is Writer.STRONG, changes)
        self._behind_readers(places, users)
        self._wrote(places, users, kind)
        self._writes.note(places, threads, (_COMPLETION_ROWS[kind],), _FOREIGN[kind])

    def _wrote(self, places: Array, users: Array | int, kind: Writer) -> None:
        self._written[places] = True
        self._writer[places], self._write_time[places], self._write_kind[places] = users, self._clocks.now, kind

    def _one_writer(self, places: Array, values: Array) -> None:
        """Raises SimError if one instruction writes different values to a byte."""
        self._scratch[places] = values
        if np.array_equal(self._scratch[places], values):
            return
        flat = places.ravel()
        order = np.argsort(flat, kind="stable")
        places, values = flat[order], values.ravel()[order]
        bad = (places[1:] == places[:-1]) & (values[1:] != values[:-1])
        if bad.any():
            raise HazardError(
                f"data race: lanes of one store write different values to shared address {int(places[1:][bad][0]):#x}"
            )

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
        return np.any(~self._written[places], axis=1)

    def forget(self, places: Array) -> None:
        """Marks bytes as never written, because undefined values were stored there."""
        self._written[places] = False
        self._writes.blur(places)

    def _behind_writer(
        self, places: Array, users: Array, what: str, strong: bool, changes: Array | None = None
    ) -> None:
        times = self._write_time[places]
        if not times.any():
            return
        writers, kinds = self._writer[places], self._write_kind[places]
        known = self._clocks.known[_COMPLETION[kinds], users, writers]
        asynchronous = (kinds == Writer.BULK) | (kinds == Writer.COPY) | (kinds == Writer.UPDATE)
        bad = (times > 0) & (known < times) & (asynchronous | (writers != users))
        if strong:
            bad &= kinds != Writer.STRONG
        if changes is not None:
            bad &= asynchronous | changes[:, None]
        if not bad.any():
            return
        place = tuple(np.argwhere(bad)[0])
        kind = Writer(int(kinds[place]))
        byte, writer, user = int(places[place]), int(writers[place]), int(users[place])
        if kind in (Writer.BULK, Writer.UPDATE):
            message = f"before the bulk copy that thread {writer} issued to it was waited for"
        elif kind is Writer.COPY:
            message = f"before the cp.async of thread {writer} to it was waited for"
        else:
            message = f"though the write by thread {writer} is not ordered before that: data race"
        raise HazardError(f"shared address {byte:#x} {what} by thread {user} {message}")

    def _behind_readers(self, places: Array, users: Array, asynchronous: bool = False) -> None:
        """
        Raises HazardError unless `users` may overwrite what was read.

        `asynchronous`: they write through the async proxy, so that a proxy fence must stand behind a generic read.
        """
        self._behind_generic_readers(places, users, asynchronous)
        if not self._async_reads or self._async.settled(places, _distinct(users)):
            return
        times = self._async_time[places]
        readers, rows = self._async_reader[places], self._async_row[places]
        bad = (times > 0) & (self._clocks.known[rows, users, readers] < times)
        if bad.any():
            place = tuple(np.argwhere(bad)[0])
            reader, waited = _READERS[Row(int(rows[place]))]
            raise HazardError(
                f"shared address {int(places[place]):#x} is written by thread {int(users[place])} while {reader} may "
                f"still read it: {waited} was not waited for"
            )

    def _behind_generic_readers(self, places: Array, users: Array, asynchronous: bool) -> None:
        last = int(self._last_read[places].max())
        if not last:
            return
        observers = _distinct(users)
        rows = (Row.GENERIC, Row.PROXY) if asynchronous else (Row.GENERIC,)
        if all((self._clocks.known[row, observers][:, self._readers] >= last).all() for row in rows):
            return  # they know of all reads until then
        known = self._clocks.known[Row.GENERIC]
        fenced, returned = self._clocks.known[Row.PROXY], self._clocks.known[Row.READ]
        for warp in np.flatnonzero(self._warp_reads).tolist():
            times = self._read_time[warp][places]
            if not times.any():
                continue
            readers = self._reader[warp][places]
            bad = (times > 0) & (readers != users) & (known[users, readers] < times)
            if bad.any():
                place = tuple(np.argwhere(bad)[0])
                raise HazardError(
                    f"shared address {int(places[place]):#x} is written by thread {int(users[place])} though the read "
                    f"by thread {int(readers[place])} is not ordered before that: data race"
                )
            bad = (times > 0) & (fenced[users, readers] < times)
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
        places = np.arange(offset, offset + 8)
        if live:
            users = np.full(8, thread)
            self._behind_writer(places, users, "is made an mbarrier object", False)
            self._behind_readers(places, users)
            self._wrote(places, thread, Writer.STRONG)
        self._mbarrier[places] = live
        self._written[places] = False
        self._writes.blur(places)

    # Async proxy

    def async_read(self, places: Array, threads: Array, what: str, row: Row) -> None:
        """A read on behalf of each of `threads`, of which the last is remembered."""
        if not self._writes.settled(places, threads, written=True, foreign=True):
            self._refuse_mbarrier(places, what)
            self._require_written(places, what)
            for thread in threads.tolist():
                self._async_order(places, thread, f"{what} reads")
        self._async_reader[places], self._async_time[places] = threads[-1], self._clocks.now
        self._async_row[places] = row
        self._async_reads = True
        self._async.note(places, threads[-1:], (row,), (row,))

    def async_write(self, places: Array, thread: int, what: str) -> None:
        self._refuse_mbarrier(places, what)
        user = np.array([thread])
        if not self._writes.settled(places, user, foreign=True):
            self._async_order(places, thread, f"{what} writes", overwrites=True)
        self._behind_readers(places, np.broadcast_to(user, places.shape), asynchronous=True)
        self._wrote(places, thread, Writer.BULK)
        self._writes.note(places, user, (Row.BULK_WRITTEN,), (Row.BULK_WRITTEN,))
        self.swizzles[places] = -1

    def async_update(self, places: Array, thread: int, what: str) -> None:
        """A reduction through the async proxy; only the last of several that are not ordered is remembered."""
        self._refuse_mbarrier(places, what)
        self._require_written(places, what)
        self._async_order(places[self._write_kind[places] != Writer.UPDATE], thread, f"{what} updates")
        self._behind_readers(places, np.full(places.shape, thread), asynchronous=True)
        self._wrote(places, thread, Writer.UPDATE)
        self._writes.blur(places)

    def deferred_store(self, places: Array, thread: int, what: str, updates: bool) -> None:
        """st.async and red.async: through the generic proxy, complete when their mbarrier has been waited for."""
        self._refuse_mbarrier(places, what)
        users = np.full(places.shape, thread)
        ordered = self._write_kind[places] != Writer.UPDATE if updates else np.ones(places.shape, np.bool_)
        if updates:
            self._require_written(places, what)
        self._behind_writer(places[ordered], users[ordered], "is written", False)
        self._behind_readers(places, users)
        self._wrote(places, thread, Writer.UPDATE if updates else Writer.BULK)
        self._writes.blur(places)

    def _async_order(self, places: Array, thread: int, what: str, *, overwrites: bool = False) -> None:
        """Writes before an access through the async proxy must be visible to it."""
        times, writers, kinds = self._write_time[places], self._writer[places], self._write_kind[places]
        bulk = (kinds == Writer.BULK) | (kinds == Writer.UPDATE)
        rows = np.where(bulk, int(Row.BULK_WRITTEN), int(Row.PROXY))
        known = self._clocks.known
        bad = (times > 0) & (known[rows, thread, writers] < times)
        bad |= (kinds == Writer.COPY) & (known[Row.COPIED, thread, writers] < times)
        if not bad.any():
            return
        first = int(np.argmax(bad))
        writer, byte = int(writers[first]), int(places[first])
        if bulk[first]:
            raise HazardError(
                f"{what} shared address {byte:#x} before the bulk copy that thread {writer} issued to it was waited for"
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


def _distinct(users: Array) -> Array:
    """The threads of an access: of a matrix (lanes, width), or the only one."""
    return users[:, 0] if users.ndim == 2 else users[:1]
