"""Fields of words: which bits they take, and how messages name them."""

from __future__ import annotations

Bits = tuple[int, int]
"""(first bit, width)."""


def extract(value: int, bits: Bits) -> int:
    """The code that a word has in a field."""
    first, width = bits
    return value >> first & ((1 << width) - 1)


def deposit(value: int, bits: Bits, code: int) -> int:
    """A word with another code in a field; bits of the code beyond the field are dropped."""
    first, width = bits
    mask = (1 << width) - 1
    return value & ~(mask << first) | (code & mask) << first


def bits_text(bits: Bits) -> str:
    """`bit 3` or `bits 0-13`."""
    first, width = bits
    return f"bit {first}" if width == 1 else f"bits {first}-{first + width - 1}"
