"""Sets of bytes of shared memory, as operands and bulk copies access them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import Array

WORD = 4  # bytes


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """
    Distinct bytes at `places`, from `first` to `last`, in any order.

    `words` are the words of 4 bytes that they lie in, a slice if they follow each other; `whole`: all bytes of these.
    Regions with the same `key` are the same bytes.
    """

    places: Array
    first: int
    last: int
    words: Array | slice
    whole: bool
    key: object

    @property
    def index(self) -> Array | slice:
        """The places as an index: a slice, if they follow each other."""
        return slice(self.first, self.last + 1) if self.last - self.first == len(self.places) - 1 else self.places

    @classmethod
    def of(cls, places: Array) -> Region:
        """The region of distinct bytes."""
        count = len(places)
        if not count:
            return cls(places, 0, -1, slice(0, 0), True, None)
        first, last = int(np.minimum.reduce(places)), int(np.maximum.reduce(places))
        if last - first == count - 1:
            words = slice(first // WORD, last // WORD + 1)
            return cls(places, first, last, words, first % WORD == 0 and count % WORD == 0, (first, last))
        found = np.unique(places // WORD)
        return cls(places, first, last, found, WORD * len(found) == count, places.tobytes())
