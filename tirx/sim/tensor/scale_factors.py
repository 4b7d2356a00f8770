"""Scale factors of block-scaled tcgen05.mma in tensor memory (PTX ISA, section 9.7.16.10.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.numerics.formats import decode_elements
from tirx.sim.tensor.data_path import LANES, split_address
from tirx.sim.tensor.operands import read_tensor

_GROUP = 32  # lanes that hold all factors; every group of 32 holds the same
_GROUPS = LANES // _GROUP
_WORD = 4
# The two bits above the lane of an address have no meaning; CUTLASS has there what it copies to the descriptor.
_LANES_NAMED = 1 << 14

# Elements of a dense A along K that share a factor, for every kind and vector size; None is the default. With a sparse
# A it is twice as many: the number of factors is the same.
BLOCKS: dict[str, dict[str | None, int]] = {
    "mxf8f6f4": {None: 32, "scale_vec::1X": 32, "block32": 32},
    "mxf4": {None: 32, "scale_vec::2X": 32, "block32": 32},
    "mxf4nvf4": {"scale_vec::2X": 32, "block32": 32, "scale_vec::4X": 16, "block16": 16},
}
# By the number of factors of a row: the bytes of a word where they may start. With three and six (K = 96), and eight
# (K = 128), they go on in another word.
_STARTS = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,), 3: (0, 1, 2, 3), 6: (0, 2), 8: (0,)}
_BLOCK_ROWS = 128
# Types of the factors, by the elements of a dense A that share one.
_TYPES = {32: ("ue8m0",), 16: ("ue4m3", "ue8m0", "ue5m3")}


@dataclass(frozen=True, slots=True)
class ScaleFactors:
    """
    The places of an operand's scale factors: those of row r are bytes `first`, ... of the word at lane r % 32 and
    column r / 32 of `address`. The next word is four columns on, or eight with more than 128 rows.

    `count` is how many of them a row has: the K of an instruction is in so many blocks, sparse or not (table
    "scale_vectorsize"). With `halves` = 2 (layout B) the lower 64 lanes have the first half of the rows and the upper
    64 the others. With `lanes` = 128 row r has lane r, and the next word is the next column.
    """

    address: int
    first: int
    count: int
    element: str
    halves: int = 1
    lanes: int = _GROUP

    def check(self, block: int, what: str) -> None:
        """Raises SimError for illegal places of scale factors; `block`: elements of a dense A that share a factor."""
        if self.element not in _TYPES[block]:
            raise SimError(
                f"{what}: expected factors of type {' or '.join(_TYPES[block])} for {block} elements, "
                f"not {self.element}"
            )
        if self.first not in _STARTS[self.count]:
            raise SimError(f"{what}: {self.count} factors cannot start at byte {self.first} of a word")
        place, _ = split_address(self.address)
        upper, lane = divmod(place, _LANES_NAMED)
        if lane:
            raise SimError(f"{what}: expected lane 0, found lane {lane}")
        if upper not in (0, self.first):
            raise SimError(f"{what}: bits 30-31 of the address name byte {upper}, the descriptor byte {self.first}")

    def read(self, cta: Cta, thread: int, rows: int, what: str) -> Array:
        """The factors of `rows` rows as float64 (rows, count), from the tensor memory of a CTA."""
        if self.lanes == LANES:
            return self._of_lanes(cta, thread, rows, what)
        if self.count > _BLOCK_ROWS // _GROUP + 2 and rows < _BLOCK_ROWS:
            raise SimError(f"{what}: no source says where {self.count} factors of {rows} rows lie, expected 128 rows")
        row = np.arange(rows // self.halves)
        groups = _GROUPS // self.halves
        per_word = _BLOCK_ROWS // _GROUP * -(-rows // _BLOCK_ROWS)
        _, column = split_address(self.address)
        behind = column + per_word * np.arange(-(-(self.first + self.count) // _WORD))
        parts: list[Array] = []
        for half in range(self.halves):
            copies: list[Array] = []
            for group in range(half * groups, (half + 1) * groups):
                lanes, columns = _GROUP * group + row[:, None] % _GROUP, row[:, None] // _GROUP + behind
                words = np.ascontiguousarray(read_tensor(cta, thread, lanes, columns, what))
                found = words.view(np.uint8).reshape(len(row), -1)
                copies.append(found[:, self.first : self.first + self.count])
            if not all(np.array_equal(copies[0], copy) for copy in copies):
                raise SimError(f"{what}: expected the same factors in every group of {_GROUP} lanes")
            parts.append(copies[0])
        return self._decoded(np.concatenate(parts), what)

    def _of_lanes(self, cta: Cta, thread: int, rows: int, what: str) -> Array:
        _, column = split_address(self.address)
        words = -(-(self.first + self.count) // _WORD)
        found = read_tensor(cta, thread, np.arange(rows)[:, None], column + np.arange(words)[None, :], what)
        codes = np.ascontiguousarray(found).view(np.uint8).reshape(rows, -1)
        return self._decoded(codes[:, self.first : self.first + self.count], what)

    def _decoded(self, codes: Array, what: str) -> Array:
        if self.element == "ue4m3" and (codes >> 7).any():
            raise SimError(f"{what}: a ue4m3 has no sign, but bit 7 is set")
        return decode_elements(codes, self.element)
