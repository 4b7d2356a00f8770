"""Shared-memory banks: 32 banks of 4 bytes; consecutive words lie in consecutive banks."""

from __future__ import annotations

from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

BANKS = 32
WORD_BITS = 32


class BankLine(NamedTuple):
    """Bank and line (row of 128 bytes) of one element."""

    bank: int
    line: int


class BankLines(NamedTuple):
    """Banks and lines of many elements, each an array like that of the addresses."""

    bank: NDArray[np.int64]
    line: NDArray[np.int64]


@overload
def bank_of(address: int, element_bits: int) -> BankLine: ...
@overload
def bank_of(address: NDArray[np.int64], element_bits: int) -> BankLines: ...
def bank_of(address: int | NDArray[np.int64], element_bits: int) -> BankLine | BankLines:
    """Bank and line of an element address, or of an array of them. `element_bits` is the storage width."""
    word = address * element_bits // WORD_BITS
    if isinstance(word, np.ndarray):
        return BankLines(word % BANKS, word // BANKS)
    return BankLine(word % BANKS, word // BANKS)


def conflict_degree(addresses: NDArray[np.int64], element_bits: int) -> int:
    """How many words the busiest bank has to serve when the elements at `addresses` are accessed at once.

    1 means conflict-free. Accesses to one word count once, because the hardware broadcasts it.
    """
    words = np.unique(addresses.reshape(-1) * element_bits // WORD_BITS)
    return int(np.bincount(words % BANKS).max())
