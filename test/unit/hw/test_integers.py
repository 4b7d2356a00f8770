"""What is known of integers: never more than holds for every choice; of bits as much as does, for most operations."""

import operator
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tirx.hw.integers import Integers

WIDTH = 4
MASK = (1 << WIDTH) - 1
EVERY = [Integers(WIDTH, zeros, ones) for zeros, ones in product(range(16), repeat=2) if not zeros & ones]


def values(known: Integers) -> list[int]:
    return [x for x in range(1 << known.width) if not x & known.zeros and x & known.ones == known.ones]


def strongest(found: set[int], width: int) -> Integers:
    """All that holds of every one of some integers."""
    mask = ones = (1 << width) - 1
    zeros = mask
    for x in found:
        ones, zeros = ones & x, zeros & ~x
    return Integers(width, zeros, ones)


def check(found: Integers, expected: set[int]) -> None:
    """All that holds of the bits is known, and nothing else is claimed of the range and the divisor."""
    best = strongest(expected, found.width)
    assert (found.zeros, found.ones) == (best.zeros, best.ones)
    assert all(contains(found, x) for x in expected)


def contains(known: Integers, x: int) -> bool:
    number = signed(x, known.width)
    divided = number % known.divisor == 0 if known.divisor else number == 0
    return not x & known.zeros and not ~x & known.ones and known.least <= number <= known.greatest and divided


def implied(weaker: Integers, stronger: Integers) -> bool:
    return not (weaker.zeros & ~stronger.zeros or weaker.ones & ~stronger.ones)


def signed(x: int, width: int = WIDTH) -> int:
    return x - (1 << width) if x >> width - 1 else x


@pytest.mark.parametrize("name", ["and", "or", "xor", "add", "sub"])
def test_what_is_known_of_two_operands_is_known_of_the_result(name: str):
    operation = f"__{name}__"
    for a, b in product(EVERY[::2], EVERY[1::3]):
        found = {getattr(x, operation)(y) & MASK for x in values(a) for y in values(b)}
        check(getattr(a, operation)(b), found)


@given(st.sampled_from(EVERY), st.sampled_from(EVERY))
def test_a_product_claims_nothing_false(a: Integers, b: Integers):
    found = {x * y & MASK for x in values(a) for y in values(b)}
    assert implied(a * b, strongest(found, WIDTH))
    if a.value is not None and b.value is not None:
        assert (a * b).value == a.value * b.value & MASK


def test_a_multiple_ends_with_zeros():
    assert (Integers(8, zeros=0b11) * Integers(8, zeros=0b1)).zeros == 0b111
    assert (Integers(8, zeros=0b11) * Integers.of(6, 8)).zeros == 0b111


@pytest.mark.parametrize("amount", range(WIDTH + 1))
def test_shifts(amount: int):
    for a in EVERY:
        check(a << amount, {x << amount & MASK for x in values(a)})
        check(a.shift_right(amount, signed=False), {x >> amount for x in values(a)})
        found = {signed(x) >> amount & MASK for x in values(a)}
        check(a.shift_right(amount, signed=True), found)


@pytest.mark.parametrize("width", [1, 3, 4, 7])
def test_widths(width: int):
    mask = (1 << width) - 1
    for a in EVERY:
        check(a.extend(width, signed=False), {x & mask for x in values(a)})
        check(a.extend(width, signed=True), {signed(x) & mask for x in values(a)})


def test_joined_and_inverted():
    for a, b in product(EVERY[::3], EVERY[::4]):
        check(a.join(b), {*values(a), *values(b)})
    for a in EVERY:
        check(~a, {~x & MASK for x in values(a)})


def test_values_and_choices():
    assert Integers.of(-1, 8) == Integers(8, 0, 255) and Integers.of(-1, 8).value == 255
    assert Integers(8).value is None
    some = Integers(8, zeros=0b1, ones=0b10)
    assert list(some.choices(0b1111, fill=0b1100_0000)) == [0b1100_1110, 0b1100_1010, 0b1100_0110, 0b1100_0010]
    assert list(Integers.of(5, 8).choices(255)) == [5]
    assert (some.trailing_zeros, Integers(8).trailing_zeros, Integers.of(0, 8).trailing_zeros) == (1, 0, 8)


BITS = 6


@st.composite
def sets(draw: st.DrawFn) -> tuple[Integers, list[int]]:
    """Some integers of 6 bits (unsigned readings), and a set that has them all."""
    divisor = draw(st.sampled_from((1, 1, 2, 3, 4, 6, 12)))
    low, high = sorted(draw(st.tuples(st.integers(-32, 31), st.integers(-32, 31))))
    zeros = draw(st.sampled_from((0, 0, 1, 4, 32)))
    ends = draw(st.tuples(st.booleans(), st.booleans()))
    known = Integers(BITS, zeros, low=low if ends[0] else None, high=high if ends[1] else None, divisor=divisor)
    first, last = low if ends[0] else -32, high if ends[1] else 31
    found = [x & 63 for x in range(first, last + 1) if x % divisor == 0 and not x & zeros]
    assume(found)
    return known, found


BINARY: dict[str, tuple[Callable[[Integers, Integers], Integers], Callable[[int, int], int]]] = {
    "add": (Integers.__add__, operator.add),
    "sub": (Integers.__sub__, operator.sub),
    "mul": (Integers.__mul__, operator.mul),
    "and": (Integers.__and__, int.__and__),
    "or": (Integers.__or__, int.__or__),
    "xor": (Integers.__xor__, int.__xor__),
}


@pytest.mark.parametrize("name", BINARY)
@given(data=st.data())
@pytest.mark.sample(2)
def test_ranges_and_divisors_of_two_operands(name: str, data: st.DataObject):
    (a, first), (b, second) = data.draw(sets()), data.draw(sets())
    abstract, concrete = BINARY[name]
    found = abstract(a, b)
    assert all(contains(found, concrete(x, y) & 63) for x in first for y in second)


@given(sets(), st.integers(1, 40), st.integers(1, 9))
def test_ranges_and_divisors_of_one(case: tuple[Integers, list[int]], number: int, width: int):
    known, members = case
    shift = number % 6
    for x in members:
        y = signed(x, BITS)
        assert contains(known, x)
        if number < 32:
            assert contains(known // number, y // number & 63)
            assert contains(known % number, y % number)
        assert contains(known.unsigned_quotient(number), x // number)
        assert contains(known.unsigned_remainder(number), x % number)
        assert contains(-known, -x & 63)
        assert contains(known << shift, x << shift & 63)
        assert contains(known.shift_right(shift, signed=True), y >> shift & 63)
        assert contains(known.shift_right(shift, signed=False), x >> shift)
        assert contains(known.extend(width, signed=True), y & (1 << width) - 1)
        assert contains(known.extend(width, signed=False), x & (1 << width) - 1)
        assert contains(known.join(Integers.of(number, BITS)), x)
        assert not (y & ~known.possible_bits) & 63


def test_ranges_wrap():
    """Of a sum or product that may not fit nothing remains but the power of two that divides it."""
    unknown_end = Integers.within(0, None, 64, 48)
    assert unknown_end.low == 0 and unknown_end.high is None
    assert (unknown_end + Integers.of(48, 64)).low is None and (unknown_end + Integers.of(48, 64)).divisor == 16
    assert (unknown_end - Integers.of(48, 64)).low == -48 and (unknown_end - Integers.of(48, 64)).divisor == 48
    assert (Integers.within(0, 10, 64) * Integers.of(-6, 64)) == Integers.within(-60, 0, 64, 6)
    square = Integers.of(4, 64)
    for _ in range(40):
        square = square * square
    assert square.value == 0
