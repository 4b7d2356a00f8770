"""Facts about an integer before a kernel runs: its range, what divides it, and some of its bits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, reduce
from math import gcd

from tirx.values import dataclass


@dataclass(frozen=True, slots=True)
class Integers:
    """A set of integers of `width` bits, in two's complement: those of which the bits in `zeros` are 0 and those in
    `ones` are 1, that lie in `[low, high]` when they are read as signed (None: nothing is known), and that are
    multiples of `divisor` (0: the integer is 0).

    The operations wrap as the hardware's do, and claim no more than holds for every choice of integers from their
    operands. Operands of `&`, `|`, `^`, `+`, `-` and `*` have one width. What one property says of another is added
    when a set is made, so that equal knowledge is equal.
    """

    width: int
    zeros: int = 0
    ones: int = 0
    low: int | None = None
    high: int | None = None
    divisor: int = 1

    def __init__(
        self,
        width: int,
        zeros: int = 0,
        ones: int = 0,
        low: int | None = None,
        high: int | None = None,
        divisor: int = 1,
    ):
        sign = 1 << width - 1
        mask = sign + sign - 1
        zeros |= ((divisor & -divisor) - 1) & mask
        if (low is not None and low >= 0) or zeros & sign:
            zeros |= sign if high is None else mask & ~((1 << high.bit_length()) - 1)
        if (zeros | ones) & sign:
            base = mask + 1 if ones & sign else 0
            least, most = ones - base, (mask & ~zeros) - base
            low = least if low is None else max(low, least)
            # No limit follows of the sign alone.
            if base or most < sign >> 1:
                high = most if high is None else min(high, most)
        if low is not None and low == high:
            zeros, ones = ~low & mask, low & mask
        if not mask & ~(zeros | ones):
            low = high = ones - (mask + 1 if ones & sign else 0)
            divisor = abs(low)
        else:
            trailing = ~zeros & mask
            divisor = divisor // (divisor & -divisor) * (trailing & -trailing)
        set_ = object.__setattr__
        set_(self, "width", width)
        set_(self, "zeros", zeros)
        set_(self, "ones", ones)
        set_(self, "low", low)
        set_(self, "high", high)
        set_(self, "divisor", divisor)

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(value: int, width: int) -> Integers:
        """An integer that is known."""
        mask = (1 << width) - 1
        return Integers(width, mask & ~value, mask & value)

    @staticmethod
    @lru_cache
    def any(width: int) -> Integers:
        """An integer of which nothing is known."""
        return Integers(width)

    @staticmethod
    @lru_cache(maxsize=4096)
    def within(low: int | None, high: int | None, width: int, divisor: int = 1) -> Integers:
        """The multiples of `divisor` in a range; the range is forgotten if it does not fit in the bits."""
        least, most = -(1 << width - 1), (1 << width - 1) - 1
        if (low is not None and low < least) or (high is not None and high > most):
            return Integers(width, divisor=_power_of_two_in(divisor))
        return Integers(width, low=low, high=high, divisor=divisor)

    @property
    def mask(self) -> int:
        """All bits."""
        return (1 << self.width) - 1

    @property
    def unknown(self) -> int:
        """The bits of which nothing is known."""
        return (1 << self.width) - 1 & ~(self.zeros | self.ones)

    @property
    def value(self) -> int | None:
        """The bits as an unsigned integer, if all of them are known."""
        return None if (1 << self.width) - 1 & ~(self.zeros | self.ones) else self.ones

    @property
    def least(self) -> int:
        """A limit, read as signed."""
        return -(1 << self.width - 1) if self.low is None else self.low

    @property
    def greatest(self) -> int:
        """A limit, read as signed."""
        return (1 << self.width - 1) - 1 if self.high is None else self.high

    @property
    def possible_bits(self) -> int:
        """The bits that may be 1, with the sign in front of them: a negative number if the integer may be one."""
        return self.mask & ~self.zeros if self.least >= 0 else ~self.zeros

    @property
    def trailing_zeros(self) -> int:
        """Returns how many of the lowest bits are known to be 0."""
        rest = ~self.zeros & self.mask
        return self.width if not rest else (rest & -rest).bit_length() - 1

    def __and__(self, other: Integers) -> Integers:
        limits = [x.high for x in (self, other) if x.low is not None and x.low >= 0 and x.high is not None]
        zeros, ones = self.zeros | other.zeros, self.ones & other.ones
        return Integers(self.width, zeros, ones, high=min(limits, default=None))

    def __or__(self, other: Integers) -> Integers:
        return Integers(self.width, self.zeros & other.zeros, self.ones | other.ones)

    def __xor__(self, other: Integers) -> Integers:
        same = self.zeros & other.zeros | self.ones & other.ones
        ones = self.zeros & other.ones | self.ones & other.zeros
        reach = max(abs(x) for of in (self, other) for x in (of.least, of.greatest)).bit_length()
        if reach >= self.width - 1:
            return Integers(self.width, same, ones)
        return Integers(self.width, same, ones, -(1 << reach), (1 << reach) - 1)

    def __invert__(self) -> Integers:
        low, high = (None if x is None else ~x for x in (self.high, self.low))
        return Integers(self.width, self.ones, self.zeros, low, high)

    def __neg__(self) -> Integers:
        return Integers.of(0, self.width) - self

    def __add__(self, other: Integers) -> Integers:
        return self._sum(other, other, minus=False)

    def __sub__(self, other: Integers) -> Integers:
        return self._sum(other, ~other, minus=True)

    def _sum(self, other: Integers, addend: Integers, *, minus: bool) -> Integers:
        """`self + other` or `self - other`; the bits are those of `self + addend`, and 1 for a difference."""
        # A carry is known where the least and the greatest sum agree on it.
        carry, mask = int(minus), (1 << self.width) - 1
        most = (mask & ~self.zeros) + (mask & ~addend.zeros) + carry
        least = self.ones + addend.ones + carry
        carry_zero, carry_one = ~(most ^ self.zeros ^ addend.zeros), least ^ self.ones ^ addend.ones
        known = mask & (self.zeros | self.ones) & (addend.zeros | addend.ones) & (carry_zero | carry_one)
        if minus:
            low, high = self.least - other.greatest, self.greatest - other.least
            other_low, other_high = other.high, other.low
        else:
            low, high = self.least + other.least, self.greatest + other.greatest
            other_low, other_high = other.low, other.high
        return self._result(
            ~most & known,
            least & known,
            low,
            high,
            gcd(self.divisor, other.divisor),
            low_known=None not in (self.low, other_low),
            high_known=None not in (self.high, other_high),
        )

    def _result(
        self,
        zeros: int,
        ones: int,
        low: int,
        high: int,
        divisor: int,
        *,
        low_known: bool = True,
        high_known: bool = True,
    ) -> Integers:
        """The result of an operation that gives `[low, high]` and `divisor` where it does not wrap."""
        if low < -(1 << self.width - 1) or high >= 1 << self.width - 1:
            return Integers(self.width, zeros, ones, divisor=_power_of_two_in(divisor))
        return Integers(self.width, zeros, ones, low if low_known else None, high if high_known else None, divisor)

    def __mul__(self, other: Integers) -> Integers:
        constant, factor = (self.value, other) if other.value is None else (other.value, self)
        if constant is None:
            bits = Integers(self.width, (1 << min(self.trailing_zeros + other.trailing_zeros, self.width)) - 1)
        else:
            bits = _times(factor, constant)
        corners = [a * b for a in (self.least, self.greatest) for b in (other.least, other.greatest)]
        known = None not in (self.low, self.high, other.low, other.high)
        low_known = known or (self.low is not None and other.low is not None and min(self.low, other.low) >= 0)
        return self._result(
            bits.zeros,
            bits.ones,
            min(corners),
            max(corners),
            self.divisor * other.divisor,
            low_known=low_known,
            high_known=known,
        )

    def __lshift__(self, amount: int) -> Integers:
        zeros, ones = (self.zeros << amount | (1 << amount) - 1) & self.mask, self.ones << amount & self.mask
        low, high = self.least << amount, self.greatest << amount
        known = {"low_known": self.low is not None, "high_known": self.high is not None}
        return self._result(zeros, ones, low, high, self.divisor << amount, **known)

    def shift_right(self, amount: int, *, signed: bool) -> Integers:
        """The bits move down; what comes in is 0, or the sign bit."""
        wider = self.extend(self.width + amount, signed=signed)
        zeros, ones = wider.zeros >> amount, wider.ones >> amount
        if not signed and self.least < 0:
            return Integers(self.width, zeros, ones)
        low, high = (None if x is None else x >> amount for x in (self.low, self.high))
        return Integers(self.width, zeros, ones, low, high, self._quotient(1 << amount))

    def _quotient(self, divisor: int) -> int:
        return self.divisor // divisor if self.divisor % divisor == 0 else 1

    def __floordiv__(self, divisor: int) -> Integers:
        """The quotient by a positive constant, rounded down."""
        if divisor.bit_count() == 1:
            return self.shift_right(divisor.bit_length() - 1, signed=True)
        low, high = (None if x is None else x // divisor for x in (self.low, self.high))
        return Integers(self.width, low=low, high=high, divisor=self._quotient(divisor))

    def __mod__(self, modulus: int) -> Integers:
        """The remainder by a positive constant, never negative."""
        divisor = gcd(self.divisor, modulus)
        high = modulus - divisor
        if self.least >= 0 and self.high is not None:
            high = min(high, self.high)
        zeros, ones = (self.zeros, self.ones & modulus - 1) if modulus.bit_count() == 1 else (0, 0)
        return Integers(self.width, zeros, ones, 0, high, divisor)

    def unsigned_quotient(self, divisor: int) -> Integers:
        """The quotient by a positive constant of the bits read as unsigned."""
        if divisor.bit_count() == 1:
            return self.shift_right(divisor.bit_length() - 1, signed=False)
        return self // divisor if self.least >= 0 else Integers.within(0, self.mask // divisor, self.width)

    def unsigned_remainder(self, modulus: int) -> Integers:
        """The remainder by a positive constant of the bits read as unsigned."""
        if self.least >= 0 or modulus.bit_count() == 1:
            return self % modulus
        return Integers.within(0, modulus - 1, self.width)

    def extend(self, width: int, *, signed: bool) -> Integers:
        """The integer with more bits, or only the lower ones of it."""
        if width <= self.width:
            mask = (1 << width) - 1
            narrow = Integers.within(self.low, self.high, width, self.divisor)
            if narrow.low != self.low or narrow.high != self.high or None in (self.low, self.high):
                narrow = Integers(width, divisor=_power_of_two_in(self.divisor))
            return Integers(
                width, self.zeros & mask | narrow.zeros, self.ones & mask, narrow.low, narrow.high, narrow.divisor
            )
        sign, upper = 1 << self.width - 1, (1 << width) - 1 & ~self.mask
        zero, one = not signed or bool(self.zeros & sign), signed and bool(self.ones & sign)
        zeros, ones = self.zeros | (upper if zero else 0), self.ones | (upper if one else 0)
        if not signed and self.least < 0:
            return Integers(width, zeros, ones, divisor=_power_of_two_in(self.divisor))
        return Integers(width, zeros, ones, self.least, self.greatest, self.divisor)

    def join(self, other: Integers) -> Integers:
        """Returns the facts that hold of either of two integers."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        divisor = gcd(self.divisor, other.divisor)
        return Integers(self.width, self.zeros & other.zeros, self.ones & other.ones, low, high, divisor)

    def choices(self, bits: int, fill: int = 0) -> Iterator[int]:
        """Every choice of the unknown bits among `bits`, with those of `fill` for the others; few bits, please."""
        open_ = choice = self.unknown & bits
        rest = self.ones | self.unknown & ~bits & fill
        while True:
            yield rest | choice
            if not choice:
                return
            choice = choice - 1 & open_


@lru_cache(maxsize=1024)
def _times(factor: Integers, constant: int) -> Integers:
    """A multiple of an integer: its bits are known as those of a sum, one for each bit of the constant."""
    terms = [factor << bit for bit in range(constant.bit_length()) if constant >> bit & 1]
    return reduce(Integers.__add__, terms) if terms else Integers.of(0, factor.width)


def _power_of_two_in(divisor: int) -> int:
    """The part of a divisor that still divides what has wrapped."""
    return divisor & -divisor
