"""The tensor memory of a CTA: 128 lanes x 512 columns of 32 bits (576 on sm_107a), and its allocation (section
9.7.16.1, .7).
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from tirx.sim.core.traffic import Direction, Traffic
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.hazards.monitor import Monitor
from tirx.sim.tensor.data_path import COLUMNS, LANES, MOST_COLUMNS, split_address

_MIN_COLUMNS = 32


class Deferred(Protocol):
    """Work that waits until somebody reads or writes the memory."""

    def finish(self) -> None:
        """Does the work; the memory has no `deferred` work then."""
        ...


class TensorMemory:
    """`values[lane, column]`; `allocations` are column -> number of columns, `groups` column -> cta_group."""

    def __init__(self, monitor: Monitor, rank: int, observed: Traffic):
        self.deferred: Deferred | None = None
        self.allocations: dict[int, int] = {}
        self.groups: dict[int, int] = {}
        self._monitor = monitor
        self._rank = rank
        self._observed = observed
        self._owner: Array = np.zeros(MOST_COLUMNS, np.int64)  # number of the allocation of each column, 0: none
        self._count = 0
        self._smallest = MOST_COLUMNS
        self._relinquished = self._is_exclusive = False

    @cached_property
    def _values(self) -> Array:
        return np.zeros((LANES, MOST_COLUMNS), np.uint32)

    @property
    def values(self) -> Array:
        """The words of all cells, (lanes, columns)."""
        self.finish_deferred()
        return self._values

    def finish_deferred(self) -> None:
        """Does the work that waits, if there is any."""
        if self.deferred is not None:
            self.deferred.finish()

    def moved(self, direction: Direction, words: int) -> None:
        """Tells observers of words that are read or written."""
        self._observed.moved("tensor", direction, 4 * words)

    def read(self, lanes: Array | slice, columns: Array | slice) -> Array:
        """Cells that `check_cells` has found to be there."""
        values = self.values[lanes, columns]
        self._observed.moved("tensor", "read", values.nbytes)
        return values

    def write(self, lanes: Array | slice, columns: Array | slice, values: Array) -> None:
        """The same, to write."""
        self._observed.moved("tensor", "written", values.nbytes)
        self.values[lanes, columns] = values

    def check_count(self, count: int, exclusive: int = 0) -> None:
        """Raises SimError for columns that no allocation has; `exclusive`: the most of an exclusive one, else 0."""
        if exclusive:
            if not _MIN_COLUMNS <= count <= exclusive or count % _MIN_COLUMNS:
                raise SimError(f"expected a multiple of {_MIN_COLUMNS} columns up to {exclusive}, found {count}")
        elif not _MIN_COLUMNS <= count <= COLUMNS or count & (count - 1):
            raise SimError(f"expected a power of two from {_MIN_COLUMNS} to {COLUMNS} columns, found {count}")

    def allocate(self, count: int, group: int, exclusive: int = 0) -> int | None:
        """Returns the first of `count` new columns. None if too few columns are free now; an exclusive allocation, for
        which `check_count` says what `exclusive` is, waits for all.
        """
        self.check_count(count, exclusive)
        if self._relinquished:
            raise SimError("tcgen05.alloc after tcgen05.relinquish_alloc_permit")
        if count > self._smallest:
            raise SimError(f"tcgen05.alloc of {count} columns after one of {self._smallest}: sizes must not increase")
        # From the top, so that a program that takes its columns to start at 0 is found out.
        if exclusive and self.allocations:
            return None
        for column in (0,) if exclusive else range(COLUMNS - count, -1, -count):
            if not self._owner[column : column + count].any():
                self._count += 1
                self._smallest, self._is_exclusive = count, bool(exclusive)
                self._owner[column : column + count] = self._count
                self.allocations[column], self.groups[column] = count, group
                self._monitor.tensor_allocated(self._rank, column, count)
                return column
        return None

    def free(self, address: int, count: int, thread: int, group: int, exclusive: int = 0) -> None:
        """Gives back an allocation, for which `check_count` says what `exclusive` is."""
        self.check_count(count, exclusive)
        if bool(exclusive) is not self._is_exclusive:
            raise SimError("expected .exclusive on both tcgen05.alloc and tcgen05.dealloc, found it on one")
        lane, column = split_address(address)
        assert self.groups.get(column, group) == group  # a kernel has one
        if lane or self.allocations.get(column) != count:
            raise SimError(f"tcgen05.dealloc of {count} columns at {address:#x}, but {self.describe()}")
        self._monitor.tensor_freed(self._rank, column, count, thread)
        self._owner[column : column + count] = 0
        del self.allocations[column], self.groups[column]

    def relinquish(self) -> None:
        self._relinquished = True

    def describe(self) -> str:
        shown = ", ".join(f"{count} at {column:#x}" for column, count in sorted(self.allocations.items()))
        return f"the allocated columns are {shown or 'none'}"

    def check_cells(self, lanes: Array, columns: Array, what: str) -> None:
        """Raises SimError unless all cells exist and belong to one allocation."""
        limit = MOST_COLUMNS if self._is_exclusive else COLUMNS
        if lanes.min() < 0 or lanes.max() >= LANES or columns.min() < 0 or columns.max() >= limit:
            raise SimError(
                f"{what}: lanes {int(lanes.min())}-{int(lanes.max())}, columns {int(columns.min())}-"
                f"{int(columns.max())} are not in tensor memory ({LANES} lanes, {limit} columns)"
            )
        owners = self._owner[columns]
        first = int(owners.flat[0])
        if (owners == 0).any():
            raise SimError(f"{what}: columns {int(columns.min())}-{int(columns.max())}, but {self.describe()}")
        if (owners != first).any():
            raise SimError(f"{what}: columns {int(columns.min())}-{int(columns.max())} are of several allocations")

    def check_block(self, lanes: slice, columns: slice, what: str) -> None:
        """`check_cells` of all cells in `lanes` and `columns`."""
        rows, places = np.ogrid[lanes, columns]
        self.check_cells(rows, places, what)

    def check_exit(self) -> None:
        if self.allocations:
            raise SimError(f"tensor memory is not deallocated when the CTA ends: {self.describe()}")
