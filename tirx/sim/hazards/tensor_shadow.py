"""Last writers and readers of each cell of a CTA's tensor memory (PTX ISA, section 9.7.16.6)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import HazardError, UndefinedError
from tirx.sim.hazards.clocks import Clocks, Row
from tirx.sim.hazards.monitor import Note, TensorAccess
from tirx.sim.tensor.data_path import LANES, MOST_COLUMNS

_WARP = 32


class Writer(enum.IntEnum):
    """The kind of the last write to a cell."""

    NONE = 0
    MMA = 1
    COPY = 2
    STORE = 3
    SHIFT = 4


def _among(*kinds: Writer) -> Mask:
    """A table: for each way to write whether it is one of these."""
    return np.isin(np.arange(len(Writer)), kinds)


_ASYNC = _among(Writer.MMA, Writer.COPY, Writer.SHIFT)
_KINDS: dict[TensorAccess, Writer] = {
    "mma": Writer.MMA, "cp": Writer.COPY, "cp.4x256b": Writer.COPY, "shift": Writer.SHIFT,
}  # fmt: skip
# What executes behind a write without waiting for it (section 9.7.16.6.2). A copy over what a copy wrote is not in the
# list of the ISA, but programs reload scale factors so while products are in flight.
_PIPELINES: dict[TensorAccess, Mask] = {
    "mma": _among(Writer.MMA, Writer.COPY, Writer.SHIFT),
    "cp": _among(Writer.COPY),
    "cp.4x256b": _among(Writer.COPY, Writer.SHIFT),
    "shift": _among(Writer.MMA),
}


def _cells(dtype: type[np.generic]) -> Array:
    return np.zeros((LANES, MOST_COLUMNS), dtype)


@dataclass(slots=True)
class _Chain:
    """
    Products of one shape that one thread issues behind each other to the same accumulator.

    All but the first are in order, whatever happens to other cells. The shadow gets to know the last one, at the
    instant `time`, when somebody else accesses tensor memory.
    """

    lanes: Array
    columns: Array
    thread: int
    shape: int
    time: int = 0  # 0: there is only the first

    def is_of(self, lanes: Array, columns: Array, thread: int, shape: int | None) -> bool:
        same_cells = lanes is self.lanes and columns is self.columns
        return same_cells and thread == self.thread and shape == self.shape


class TensorShadow:
    """Cells are given by arrays of lanes and columns; `threads` by an array or one number."""

    def __init__(self, clocks: Clocks, note: Note | None = None):
        self._clocks = clocks
        self._note = note
        self._written: Mask = _cells(np.bool_)
        self._kind = _cells(np.uint8)
        self._writer, self._write_time, self._shape = _cells(np.int32), _cells(np.int32), _cells(np.int32)
        # Last tcgen05.ld, and last read by tcgen05.mma.
        self._reader, self._read_time = _cells(np.int32), _cells(np.int32)
        self._async_reader, self._async_time = _cells(np.int32), _cells(np.int32)
        self._chain: _Chain | None = None

    def _end_chain(self) -> None:
        chain, self._chain = self._chain, None
        if chain is not None and chain.time:
            cells = chain.lanes, chain.columns
            self._write_time[cells] = self._async_time[cells] = chain.time
            self._async_reader[cells] = chain.thread

    def allocated(self, column: int, count: int) -> None:
        self._end_chain()
        cells = np.s_[:, column : column + count]
        self._written[cells] = False
        for each in (self._kind, self._read_time, self._async_time):
            each[cells] = 0

    def freed(self, column: int, count: int, thread: int) -> None:
        """Raises SimError if something may still use the columns."""
        self._end_chain()
        lanes, columns = np.mgrid[0:LANES, column : column + count]
        known = self._clocks.known
        kind, writer, time = self._kind[lanes, columns], self._writer[lanes, columns], self._write_time[lanes, columns]
        is_mma = _ASYNC[kind]
        done = known[Row.TENSOR_DONE, thread]
        reader, read = self._async_reader[lanes, columns], self._async_time[lanes, columns]
        if (is_mma & (done[writer] < time)).any() or (done[reader] < read).any():
            raise HazardError(
                "tcgen05.dealloc of columns that a tcgen05.mma, cp or shift may use: no commit was waited for"
            )
        loader, loaded = self._reader[lanes, columns], self._read_time[lanes, columns]
        unstored = (kind == Writer.STORE) & (known[Row.STORED, thread, writer] < time)
        unloaded = known[Row.LOADED, thread, loader] < loaded
        if unstored.any() or unloaded.any():
            raise HazardError(
                "tcgen05.dealloc of columns that a tcgen05.ld or st may still use: "
                "expected tcgen05.wait in that thread, and then a synchronisation"
            )

    # Loads and stores

    def load(self, lanes: Array, columns: Array, threads: Array, what: str, tolerant: bool = False) -> None:
        """`tolerant`: of cells that were written or not."""
        self._end_chain()
        if not tolerant:
            self._require_written(lanes, columns, what, UndefinedError)
        known = self._clocks.known
        kind, writer, time = self._kind[lanes, columns], self._writer[lanes, columns], self._write_time[lanes, columns]
        is_mma = _ASYNC[kind]
        self._refuse(
            is_mma & (known[Row.TENSOR_DONE, threads, writer] < time),
            lanes,
            columns,
            f"{what} of the result of a tcgen05.mma, cp or shift before a commit was waited for",
        )
        is_store = kind == Writer.STORE
        self._refuse(
            is_store & (known[Row.STORED, threads, writer] < time),
            lanes,
            columns,
            f"{what} after a tcgen05.st without tcgen05.wait::st",
        )
        unordered = self._clocks.tensor_order[threads, writer] < time
        self._refuse_order(
            (is_mma & (threads != writer) & unordered) | (is_store & _other_warp(threads, writer) & unordered),
            known[Row.GENERIC, threads, writer] >= time,
            lanes,
            columns,
            f"{what} after a write by another thread",
        )
        self._reader[lanes, columns], self._read_time[lanes, columns] = threads, self._clocks.now

    def store(self, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        self._end_chain()
        known = self._clocks.known
        kind, writer, time = self._kind[lanes, columns], self._writer[lanes, columns], self._write_time[lanes, columns]
        is_mma = _ASYNC[kind]
        reader, read = self._async_reader[lanes, columns], self._async_time[lanes, columns]
        done = known[Row.TENSOR_DONE]
        self._refuse(
            (is_mma & (done[threads, writer] < time)) | (done[threads, reader] < read),
            lanes,
            columns,
            f"{what} to cells of a tcgen05.mma, cp or shift that was not waited for",
        )
        self._refuse(
            (kind == Writer.STORE) & _other_warp(threads, writer) & (known[Row.STORED, threads, writer] < time),
            lanes,
            columns,
            f"{what} over another warp's tcgen05.st that was not waited for",
        )
        self._behind_loads(lanes, columns, threads, what)
        self._wrote(lanes, columns, threads, Writer.STORE, 0)

    # tcgen05.mma, cp and shift

    def async_read(
        self, lanes: Array, columns: Array, thread: int, kind: TensorAccess, what: str, shape: int | None
    ) -> None:
        if self._chain is not None and self._chain.is_of(lanes, columns, thread, shape):
            return  # the write that follows notes it
        self._end_chain()
        self._require_written(lanes, columns, what)
        self._behind_writes(lanes, columns, thread, kind, what, shape)
        self._async_reader[lanes, columns], self._async_time[lanes, columns] = thread, self._clocks.now

    def async_write(self, lanes: Array, columns: Array, thread: int, kind: TensorAccess, what: str, shape: int) -> None:
        if self._chain is not None and self._chain.is_of(lanes, columns, thread, shape):
            self._chain.time = self._clocks.now
            return
        self._end_chain()
        self._behind_writes(lanes, columns, thread, kind, what, shape or None)
        self._behind_loads(lanes, columns, np.full(lanes.shape, thread), what)
        self._wrote(lanes, columns, thread, _KINDS[kind], shape)
        if kind == "mma":
            self._chain = _Chain(lanes, columns, thread, shape)

    def _behind_writes(
        self, lanes: Array, columns: Array, thread: int, access: TensorAccess, what: str, shape: int | None
    ) -> None:
        known = self._clocks.known
        kind, writer, time = self._kind[lanes, columns], self._writer[lanes, columns], self._write_time[lanes, columns]
        is_mma, is_store = _ASYNC[kind], kind == Writer.STORE
        self._refuse(
            is_store & (known[Row.STORED, thread, writer] < time),
            lanes,
            columns,
            f"{what} after a tcgen05.st without tcgen05.wait::st",
        )
        unordered = self._clocks.tensor_order[thread, writer] < time
        self._refuse_order(
            (is_mma & (writer != thread) & unordered) | (is_store & _other_warp(thread, writer) & unordered),
            known[Row.GENERIC, thread, writer] >= time,
            lanes,
            columns,
            f"{what} after a write by another thread",
        )
        unfinished = known[Row.TENSOR_DONE, thread, writer] < time
        self._refuse(
            is_mma & ~_PIPELINES[access][kind] & unfinished,
            lanes,
            columns,
            f"{what} after a tcgen05.mma, cp or shift that it is in no pipeline with: no commit was waited for",
        )
        if shape is None:
            return
        # Only MMAs of one shape and accumulator are in a pipeline.
        self._refuse(
            (kind == Writer.MMA) & (self._shape[lanes, columns] != shape) & unfinished,
            lanes,
            columns,
            f"{what}, which is the accumulator of a tcgen05.mma of another shape that was not waited for",
        )

    def _behind_loads(self, lanes: Array, columns: Array, threads: Array, what: str) -> None:
        known = self._clocks.known
        reader, time = self._reader[lanes, columns], self._read_time[lanes, columns]
        self._refuse(
            known[Row.LOADED, threads, reader] < time,
            lanes,
            columns,
            f"{what} overwrites what a tcgen05.ld may still read: no tcgen05.wait::ld",
        )
        self._refuse_order(
            _other_warp(threads, reader) & (self._clocks.tensor_order[threads, reader] < time),
            known[Row.GENERIC, threads, reader] >= time,
            lanes,
            columns,
            f"{what} after another thread's tcgen05.ld",
        )

    def _wrote(self, lanes: Array, columns: Array, threads: Array | int, kind: Writer, shape: int) -> None:
        self._written[lanes, columns] = True
        self._kind[lanes, columns], self._writer[lanes, columns] = kind, threads
        self._write_time[lanes, columns], self._shape[lanes, columns] = self._clocks.now, shape
        self._read_time[lanes, columns] = 0

    def undefined(self, lanes: Array, columns: Array) -> Mask:
        """Returns True for every cell that was never written."""
        return ~self._written[lanes, columns]

    def forget(self, lanes: Array, columns: Array) -> None:
        """Marks cells as never written, because undefined values were stored there."""
        self._written[lanes, columns] = False

    def _require_written(self, lanes: Array, columns: Array, what: str, error: type[HazardError] = HazardError) -> None:
        message = f"{what} reads cells that were never written"
        self._refuse(self.undefined(lanes, columns), lanes, columns, message, error)

    def _refuse_order(self, bad: Mask, synchronised: Mask, lanes: Array, columns: Array, message: str) -> None:
        """Refuses accesses without fences of tcgen05; synchronised ones only by the letter of the ISA."""
        message += ", without tcgen05.fence::before_thread_sync there and ::after_thread_sync here"
        if self._note is None:
            self._refuse(bad, lanes, columns, message)
            return
        self._refuse(bad & ~synchronised, lanes, columns, message)
        if bad.any():
            self._note("tcgen05.fence", message)

    @staticmethod
    def _refuse(bad: Mask, lanes: Array, columns: Array, message: str, error: type[HazardError] = HazardError) -> None:
        if bad.any():
            place = tuple(np.argwhere(bad)[0])
            raise error(f"{message} (lane {int(lanes[place])}, column {int(columns[place])})")


def _other_warp(first: Array | int, second: Array) -> Mask:
    return np.asarray(first) // _WARP != second // _WARP
