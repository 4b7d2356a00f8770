"""
Sparse A of mma.sp and wgmma.mma_async.sp: the metadata in registers (PTX ISA, sections 9.7.14.6 and 9.7.15.6).

A chunk of A has a code of four bits, which says where in the chunk its stored elements are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.types import WARP, Array
from tirx.sim.errors import SimError
from tirx.sim.isa.decoder import Decoder

_ROWS = 16
# The codes of tf32, which stores one of two elements.
_ONE_OF_TWO = {0b1110: 1, 0b0100: 0}
_WIDE = ("f16", "bf16", "tf32")  # types of 16 bits and more, whose codes are two rows to a word
_PAIRS = ("s4", "u4", "e2m1x2")  # types whose elements are stored or left out in pairs


@dataclass(frozen=True, slots=True)
class Metadata:
    """
    Sparsity metadata of 16 rows of A with `k` elements of a type each; `selector` chooses the lanes of four that hold
    it.
    """

    element: str
    k: int
    selector: int
    ordered: bool = True

    @property
    def chunk(self) -> int:
        """Elements of K that have a code."""
        return 2 if self.element == "tf32" else 8 if self.element in _PAIRS else 4

    @property
    def selectors(self) -> int:
        """The number of legal values of the sparsity selector."""
        words = _ROWS * (self.k // self.chunk) * 4 // 32
        return WARP // words

    def codes(self, words: Array) -> Array:
        """Registers (warps, 32) to codes (warps, 16, chunks)."""
        row, chunk = np.arange(_ROWS)[:, None], np.arange(self.k // self.chunk)[None, :]
        lower = row // 8
        if self.element in _WIDE:  # four codes of a row, and four of the row 8 further down
            thread, shift = chunk // 4, 4 * (chunk % 4) + 16 * lower
        else:  # eight codes of a row
            thread, shift = lower + 2 * (chunk // 8), 4 * (chunk % 8)
        lane = 4 * (row % 8) + self.selector * (4 // self.selectors) + thread
        return words[:, lane] >> shift.astype(np.uint32) & np.uint32(15)

    def expand(self, stored: Array, words: Array) -> Array:
        """A (warps, 16, k) with its zeros, of the stored elements (warps, 16, k / 2)."""
        codes = self.codes(words)
        unit = 2 if self.element in _PAIRS else 1
        places = self._places(codes)  # (warps, 16, chunks, units that are stored)
        kept = places.shape[-1]
        units = stored.reshape(*codes.shape, kept, unit)
        result = np.zeros((*codes.shape, 2 * kept, unit), stored.dtype)
        np.put_along_axis(result, places[..., None], units, axis=3)
        return result.reshape(*stored.shape[:-1], self.k)

    def _places(self, codes: Array) -> Array:
        if self.element == "tf32":
            known = np.isin(codes, list(_ONE_OF_TWO))
            places = np.where(codes == 0b1110, 1, 0)[..., None]
            expected = " or ".join(f"{code:#06b}" for code in _ONE_OF_TWO)
        else:
            first, second = codes & np.uint32(3), codes >> np.uint32(2)
            known = first < second if self.ordered else first != second
            places = np.stack([first, second], axis=-1).astype(np.int64)
            expected = "two places in order" if self.ordered else "two places"
        if not known.all():
            warp, row, chunk = np.argwhere(~known)[0]
            raise SimError(
                f"sparsity metadata of row {row}, chunk {chunk}: expected {expected}, "
                f"found {int(codes[warp, row, chunk]):#06b}"
            )
        return places


def read_selector(decoder: Decoder, which: int, element: str, k: int, ordered: bool) -> Metadata:
    """Reads the sparsity selector, a literal, and returns the metadata layout that it selects."""
    found = Metadata(element, k, decoder.constant(which, "the sparsity selector as a literal"), ordered)
    if not 0 <= found.selector < found.selectors:
        raise decoder.error(f"expected a sparsity selector below {found.selectors}, found {found.selector}")
    return found
