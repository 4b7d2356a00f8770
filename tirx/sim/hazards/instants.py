"""Short cuts of the checks: what an access finds is mostly the work of a few instructions that are known to be over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.hazards.clocks import Clocks, Row

# Numbers of bytes that no instruction has written, and of those whose past has to be looked at byte by byte.
UNTOUCHED, UNCLEAR = 0, -1
_KEPT = 1 << 13  # instructions that are remembered
_MOST = 64  # instructions whose work one access may find


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An access of all of `threads` at the instant `time`, over for a thread that knows of it by all of `rows`."""

    threads: Array
    time: int
    rows: tuple[Row, ...]
    foreign: tuple[Row, ...]  # the same, for a thread that accesses the bytes through the async proxy


class Instants:
    """
    Numbers of the instructions that last accessed each of `size` bytes, in one way.

    `settled` is never wrong when it returns True; otherwise the shadows look at every byte.
    """

    def __init__(self, clocks: Clocks, size: int):
        self._clocks = clocks
        self._numbers: Array = np.zeros(size, np.int32)
        self._count = 0
        self._instructions: dict[int, _Instruction] = {}
        self._known: set[tuple[int, int, int, bool]] = set()

    def note(self, places: Array, threads: Array, rows: Sequence[Row], foreign: Sequence[Row]) -> None:
        """Each of `threads` accesses some of the bytes at `places` now."""
        self._count += 1
        self._instructions[self._count] = _Instruction(threads, self._clocks.now, tuple(rows), tuple(foreign))
        if self._count > _KEPT:
            del self._instructions[self._count - _KEPT]
        self._numbers[places] = self._count

    def blur(self, places: Array) -> None:
        """The past of these bytes has to be looked at byte by byte."""
        self._numbers[places] = UNCLEAR

    def settled(self, places: Array, threads: Array, *, written: bool = False, foreign: bool = False) -> bool:
        """
        Returns True if all of `threads` know that whatever accessed the bytes is over.

        `written`: all of the bytes were accessed. `foreign`: the threads access them through the async proxy.
        """
        numbers = self._numbers.take(places)
        lowest, highest = int(np.minimum.reduce(numbers, axis=None)), int(np.maximum.reduce(numbers, axis=None))
        if lowest < (UNTOUCHED + 1 if written else UNTOUCHED) or highest - max(lowest, 1) > _MOST:
            return False
        first, last = int(threads[0]), int(threads[-1])
        ranges = [(first, last)] if last - first == len(threads) - 1 else [(each, each) for each in threads.tolist()]
        found = range(max(lowest, 1), highest + 1)
        return all(self._is_known(number, *observers, foreign) for observers in ranges for number in found)

    def _is_known(self, number: int, first: int, last: int, foreign: bool) -> bool:
        key = (number, first, last, foreign)
        if key in self._known:
            return True
        found = self._instructions.get(number)
        if found is None:
            return False
        observers = slice(first, last + 1)
        known = self._clocks.known
        if not all((known[row, observers][:, found.threads] >= found.time).all() for row in _rows(found, foreign)):
            return False
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known.add(key)
        return True


def _rows(found: _Instruction, foreign: bool) -> tuple[Row, ...]:
    return found.foreign if foreign else found.rows
