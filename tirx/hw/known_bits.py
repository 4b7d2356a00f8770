"""What is known of the bits of an integer before a kernel runs: some are 0, some are 1, the others may be either."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownBits:
    """An integer of `width` bits, of which those in `zeros` are 0 and those in `ones` are 1.

    The operations are those of two's complement arithmetic modulo 2**width, and never claim more than holds for every
    choice of the other bits. Operands of `&`, `|`, `^`, `+`, `-` and `*` have one width.
    """

    width: int
    zeros: int = 0
    ones: int = 0

    @staticmethod
    def of(value: int, width: int) -> KnownBits:
        """An integer that is known."""
        ones = value & (1 << width) - 1
        return KnownBits(width, ones ^ (1 << width) - 1, ones)

    @property
    def mask(self) -> int:
        """All bits."""
        return (1 << self.width) - 1

    @property
    def unknown(self) -> int:
        """The bits of which nothing is known."""
        return self.mask & ~(self.zeros | self.ones)

    @property
    def value(self) -> int | None:
        """The integer, if all of it is known."""
        return None if self.unknown else self.ones

    @property
    def trailing_zeros(self) -> int:
        """How many of the lowest bits are known to be 0."""
        rest = ~self.zeros & self.mask
        return self.width if not rest else (rest & -rest).bit_length() - 1

    def __and__(self, other: KnownBits) -> KnownBits:
        return KnownBits(self.width, self.zeros | other.zeros, self.ones & other.ones)

    def __or__(self, other: KnownBits) -> KnownBits:
        return KnownBits(self.width, self.zeros & other.zeros, self.ones | other.ones)

    def __xor__(self, other: KnownBits) -> KnownBits:
        same = self.zeros & other.zeros | self.ones & other.ones
        return KnownBits(self.width, same, self.zeros & other.ones | self.ones & other.zeros)

    def __invert__(self) -> KnownBits:
        return KnownBits(self.width, self.ones, self.zeros)

    def __add__(self, other: KnownBits) -> KnownBits:
        return self._sum(other, carry=0)

    def __sub__(self, other: KnownBits) -> KnownBits:
        return self._sum(~other, carry=1)

    def _sum(self, other: KnownBits, carry: int) -> KnownBits:
        """A carry is known where the least and the greatest sum agree on it."""
        most = (self.mask & ~self.zeros) + (self.mask & ~other.zeros) + carry
        least = self.ones + other.ones + carry
        carry_zero, carry_one = ~(most ^ self.zeros ^ other.zeros), least ^ self.ones ^ other.ones
        known = self.mask & ~self.unknown & ~other.unknown & (carry_zero | carry_one)
        return KnownBits(self.width, ~most & known, least & known)

    def __mul__(self, other: KnownBits) -> KnownBits:
        constant, factor = (self.value, other) if other.value is None else (other.value, self)
        if constant is None:
            return KnownBits(self.width, (1 << min(self.trailing_zeros + other.trailing_zeros, self.width)) - 1)
        total = KnownBits.of(0, self.width)
        for bit in range(constant.bit_length()):
            if constant >> bit & 1:
                total += factor << bit
        return total

    def __lshift__(self, amount: int) -> KnownBits:
        low = (1 << amount) - 1
        return KnownBits(self.width, (self.zeros << amount | low) & self.mask, self.ones << amount & self.mask)

    def shift_right(self, amount: int, *, signed: bool) -> KnownBits:
        """Bits move down; what comes in is 0, or the sign bit."""
        wider = self.extend(self.width + amount, signed=signed)
        return KnownBits(self.width, wider.zeros >> amount, wider.ones >> amount)

    def extend(self, width: int, *, signed: bool) -> KnownBits:
        """The integer with more bits, or only the lower ones of it."""
        if width <= self.width:
            mask = (1 << width) - 1
            return KnownBits(width, self.zeros & mask, self.ones & mask)
        sign, upper = 1 << self.width - 1, (1 << width) - 1 & ~self.mask
        zero, one = not signed or bool(self.zeros & sign), signed and bool(self.ones & sign)
        return KnownBits(width, self.zeros | (upper if zero else 0), self.ones | (upper if one else 0))

    def join(self, other: KnownBits) -> KnownBits:
        """What holds of either of two integers."""
        return KnownBits(self.width, self.zeros & other.zeros, self.ones & other.ones)

    def choices(self, bits: int, fill: int = 0) -> Iterator[int]:
        """Every choice of the unknown bits among `bits`, with those of `fill` for the others; few bits, please."""
        open_ = choice = self.unknown & bits
        rest = self.ones | self.unknown & ~bits & fill
        while True:
            yield rest | choice
            if not choice:
                return
            choice = choice - 1 & open_
