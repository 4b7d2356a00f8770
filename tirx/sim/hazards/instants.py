"""Short cuts of the checks: what an access finds is mostly the work of a few instructions that are known to be over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.hazards.clocks import Clocks, Row, Span

# Numbers of words that no instruction has accessed, and of those whose past has to be looked at byte by byte.
UNTOUCHED, UNCLEAR = 0, -1
_KEPT = 1 << 13  # instructions that are remembered
_MOST = 64  # instructions whose work one access may find


@dataclass(frozen=True, slots=True)
class _Instruction:
    """An access of all of `threads` at the instant `time`, over for a thread that knows of it by all of `rows`."""

    threads: Span
    time: int
    rows: tuple[Row, ...]
    foreign: tuple[Row, ...]  # the same, for a thread that accesses the bytes through the async proxy

    def __deepcopy__(self, memo: object) -> _Instruction:
        return self


class Instants:
    """
    Numbers of the instructions that last accessed each of `words` words of 4 bytes, in one way.

    `settled` is never wrong when it returns True; otherwise the shadows look at every byte.
    """

    def __init__(self, clocks: Clocks, words: int):
        self._clocks = clocks
        self._numbers: Array = np.zeros(words, np.int32)
        self._count = 0
        self._instructions: dict[int, _Instruction] = {}
        self._known: set[tuple[int, int, Span, bool]] = set()  # first and last number

    def note(self, words: Array | slice, threads: Span, rows: Sequence[Row], foreign: Sequence[Row]) -> None:
        """Each of `threads` accesses some bytes of `words` now, and together they access all of these."""
        self._count += 1
        self._instructions[self._count] = _Instruction(threads, self._clocks.now, tuple(rows), tuple(foreign))
        if self._count > _KEPT:
            del self._instructions[self._count - _KEPT]
        self._numbers[words] = self._count

    def blur(self, words: Array | slice) -> None:
        """The past of these words has to be looked at byte by byte."""
        self._numbers[words] = UNCLEAR

    def settled(self, words: Array | slice, observers: Span, *, written: bool = False, foreign: bool = False) -> bool:
        """
        Returns True if all of `observers` know that whatever accessed the words is over.

        `written`: all of the words were accessed. `foreign`: the threads access them through the async proxy.
        """
        numbers = self._numbers[words] if isinstance(words, slice) else self._numbers.take(words)
        lowest, highest = int(np.minimum.reduce(numbers, axis=None)), int(np.maximum.reduce(numbers, axis=None))
        if lowest <= (UNTOUCHED if written else UNCLEAR):
            return False
        lowest = max(lowest, 1)
        if highest - lowest > _MOST:
            return False
        key = (lowest, highest, observers, foreign)
        if key in self._known:
            return True
        if not all(self._is_known(number, observers, foreign) for number in range(lowest, highest + 1)):
            return False
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known.add(key)
        return True

    def _is_known(self, number: int, observers: Span, foreign: bool) -> bool:
        found = self._instructions.get(number)
        if found is None:
            return False
        rows = found.foreign if foreign else found.rows
        return all(self._clocks.all_know(row, observers, found.threads, found.time) for row in rows)
