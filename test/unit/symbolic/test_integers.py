"""Known integers: never more than holds for every choice; of bits as much as does, for most operations."""

import operator
from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from unit.cases import together

from tirx.symbolic.integers import Integers

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


@together("amount", range(WIDTH + 1))
def test_shifts(amount: int):
    for a in EVERY:
        check(a << amount, {x << amount & MASK for x in values(a)})
        check(a.shift_right(amount, signed=False), {x >> amount for x in values(a)})
        found = {signed(x) >> amount & MASK for x in values(a)}
        check(a.shift_right(amount, signed=True), found)


@together("width", [1, 3, 4, 7])
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
    assert list(some.choices(0b1_0101, fill=0b1111_0011)) == [0b1111_0110, 0b1111_0010, 0b1110_0110, 0b1110_0010]
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


BINARY: dict[str, tuple[Callable[[Integers, Integers], Integers], Callable[[Any, Any], Any]]] = {
    "add": (Integers.__add__, operator.add),
    "sub": (Integers.__sub__, operator.sub),
    "mul": (Integers.__mul__, operator.mul),
    "and": (Integers.__and__, lambda x, y: x & y),
    "or": (Integers.__or__, lambda x, y: x | y),
    "xor": (Integers.__xor__, lambda x, y: x ^ y),
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


# How much is known: operations that forget are right too, but the checks of the compiler then say nothing.

SOME = [
    Integers(8, zeros, ones, low, high, divisor)
    for zeros, ones in ((0, 0), (0b1, 0), (0b100, 0b1), (0, 0b1010))
    for low, high in (
        (None, None),
        (0, None),
        (None, 6),
        (None, -1),
        (1, 17),
        (-5, 4),
        (-1, 5),
        (-128, 127),
        (-19, -3),
        (0, 9),
    )
    for divisor in (1, 3, 4, 12)
]

Knowledge = tuple[int, int, int, int, int, int]
"""
The integers that results are, those that they may be for all that is known, and of what is known the sums: unknown
bits, lower and upper ends, divisors. An end that is not known counts as -1000 and 1000.
"""


def members(known: Integers) -> np.ndarray:
    """The integers of a set, read as signed, by its definition."""
    bits = np.arange(1 << known.width)
    numbers = np.where(bits >> known.width - 1, bits - (1 << known.width), bits)
    found = (bits & known.zeros == 0) & (~bits & known.ones == 0)
    found &= (known.least <= numbers) & (numbers <= known.greatest)
    return numbers[found & (numbers % known.divisor == 0 if known.divisor else numbers == 0)]


OPERANDS = [(known, members(known)) for known in dict.fromkeys(SOME) if len(members(known))]


def knowledge(results: Iterable[tuple[Integers, np.ndarray]]) -> Knowledge:
    """Counts the known bits of results, of which each comes with the integers that it has to contain."""
    total = np.zeros(6, np.int64)
    for found, exact in results:
        claimed = np.zeros(1 << found.width, bool)
        claimed[members(found)] = True
        needed = np.unique(exact & found.mask)
        assert claimed[needed].all(), found
        assert not (found.zeros | found.ones) & ~found.mask
        low = -1000 if found.low is None else found.low
        high = 1000 if found.high is None else found.high
        total += (len(needed), claimed.sum(), found.unknown.bit_count(), low, high, found.divisor)
    needed, claimed, unknown, low, high, divisor = map(int, total)
    return needed, claimed, unknown, low, high, divisor


BINARY_KNOWLEDGE: dict[str, Knowledge] = {
    "add": (68486, 85215, 3889, -431499, 391184, 668),
    "sub": (68486, 87747, 3998, -412712, 423618, 668),
    "mul": (47699, 67824, 3602, -462236, 463164, 1944),
    "and": (24482, 35811, 2770, -271894, 353301, 1392),
    "or": (36144, 65816, 3500, -485811, 510486, 648),
    "xor": (65818, 84788, 3854, -413651, 438076, 668),
}


@pytest.mark.parametrize("name", BINARY)
def test_knowledge_of_two_operands(name: str):
    abstract, concrete = BINARY[name]
    pairs = product(OPERANDS[::2], OPERANDS[1::9])
    found = knowledge((abstract(a, b), concrete(x[:, None], y)) for (a, x), (b, y) in pairs)
    assert found == BINARY_KNOWLEDGE[name]


ONE: dict[str, Callable[[Integers, np.ndarray, int], tuple[Integers, np.ndarray]]] = {
    "quotient": lambda a, x, n: (a // n, x // n),
    "remainder": lambda a, x, n: (a % n, x % n),
    "unsigned quotient": lambda a, x, n: (a.unsigned_quotient(n), (x & 255) // n),
    "unsigned remainder": lambda a, x, n: (a.unsigned_remainder(n), (x & 255) % n),
    "<<": lambda a, x, n: (a << n, x << n),
    ">>": lambda a, x, n: (a.shift_right(n, signed=True), x >> n),
    "unsigned >>": lambda a, x, n: (a.shift_right(n, signed=False), (x & 255) >> n),
    "extend": lambda a, x, n: (a.extend(n, signed=True), x),
    "unsigned extend": lambda a, x, n: (a.extend(n, signed=False), x & 255),
    "made": lambda a, x, n: (a, x),
    "~": lambda a, x, n: (~a, ~x),
    "-": lambda a, x, n: (-a, -x),
    "possible bits": lambda a, x, n: (Integers(9, ~a.possible_bits & 511), x),
}
ONE_KNOWLEDGE: list[tuple[str, int, Knowledge]] = [
    ("quotient", 1, (2887, 2887, 564, -31472, 21613, 350)),
    ("quotient", 3, (1979, 6561, 630, -30515, 20507, 132)),
    ("quotient", 4, (1616, 4609, 604, -30389, 10682, 136)),
    ("quotient", 6, (1326, 6629, 632, -30274, 20227, 104)),
    ("quotient", 128, (130, 5224, 464, -30038, 9980, 68)),
    ("remainder", 1, (96, 96, 0, 0, 0, 0)),
    ("remainder", 3, (186, 194, 98, 0, 98, 49)),
    ("remainder", 4, (201, 212, 96, 52, 208, 96)),
    ("remainder", 6, (248, 308, 181, 0, 306, 150)),
    ("remainder", 128, (2296, 4668, 496, 180, 10084, 176)),
    ("unsigned quotient", 1, (2887, 8401, 564, -67948, 78242, 228)),
    ("unsigned quotient", 3, (1976, 7036, 583, 12, 15849, 104)),
    ("unsigned quotient", 4, (1616, 3812, 468, 32, 4634, 122)),
    ("unsigned quotient", 6, (1309, 4180, 503, 4, 12883, 97)),
    ("unsigned quotient", 128, (130, 164, 68, 0, 68, 68)),
    ("unsigned remainder", 1, (96, 96, 0, 0, 0, 0)),
    ("unsigned remainder", 3, (201, 260, 164, 0, 164, 82)),
    ("unsigned remainder", 4, (201, 212, 96, 52, 208, 96)),
    ("unsigned remainder", 6, (268, 496, 256, 0, 428, 112)),
    ("unsigned remainder", 128, (2296, 4668, 496, 180, 10084, 176)),
    ("<<", 0, (2887, 2887, 564, -31472, 21613, 350)),
    ("<<", 1, (2296, 3059, 496, -50428, 50586, 520)),
    ("<<", 3, (899, 1088, 340, -70416, 71224, 1792)),
    ("<<", 7, (129, 132, 36, -38560, 33440, 7168)),
    (">>", 0, (2887, 2887, 564, -31472, 21613, 350)),
    (">>", 1, (2291, 4071, 596, -30756, 11402, 176)),
    (">>", 3, (1019, 5152, 596, -30204, 10308, 96)),
    (">>", 7, (130, 5224, 464, -30038, 9980, 68)),
    ("unsigned >>", 0, (2887, 8401, 564, -67948, 78242, 228)),
    ("unsigned >>", 1, (2291, 6191, 528, 80, 68736, 134)),
    ("unsigned >>", 3, (1019, 2170, 392, 16, 2286, 96)),
    ("unsigned >>", 7, (130, 164, 68, 0, 68, 68)),
    ("extend", 1, (129, 132, 36, -36020, 35980, 56)),
    ("extend", 5, (899, 1088, 340, -70052, 70153, 224)),
    ("extend", 7, (2296, 3059, 496, -50214, 50293, 260)),
    ("extend", 8, (2887, 4979, 564, -31472, 41563, 278)),
    ("extend", 9, (2887, 2887, 632, -5312, 4137, 350)),
    ("extend", 11, (2887, 2887, 768, -5312, 4137, 350)),
    ("unsigned extend", 1, (129, 132, 36, -36020, 35980, 56)),
    ("unsigned extend", 5, (899, 1088, 340, -70052, 70153, 224)),
    ("unsigned extend", 7, (2296, 3059, 496, -50214, 50293, 260)),
    ("unsigned extend", 8, (2887, 4979, 564, -31472, 41563, 278)),
    ("unsigned extend", 9, (2887, 8401, 564, 186, 69496, 228)),
    ("unsigned extend", 11, (2887, 8401, 564, 186, 18724, 228)),
    ("made", 0, (2887, 2887, 564, -31472, 21613, 350)),
    ("~", 0, (2887, 4328, 524, -12931, 31406, 116)),
    ("-", 0, (2887, 5550, 594, -42781, 40192, 278)),
    ("possible bits", 0, (2887, 23384, 684, -68000, 69652, 176)),
]


@together(("name", "number", "expected"), ONE_KNOWLEDGE)
def test_knowledge_of_one_operand(name: str, number: int, expected: Knowledge):
    assert knowledge(ONE[name](a, x, number) for a, x in OPERANDS) == expected


def test_what_bits_say_of_the_range():
    assert Integers(8, ones=0b1000_0000) == Integers(8, ones=0b1000_0000, low=-128, high=-1)
    assert (Integers(8, zeros=0b1011_1111).high, Integers(8, zeros=0b1100_0000).high) == (None, 63)
    assert (Integers(8, zeros=0b1000_0010).low, Integers(8, zeros=0b1000_0010, ones=0b101).low) == (0, 5)
    assert Integers(8, low=0, high=9).zeros == 0b1111_0000 and Integers(8, low=0, high=7).zeros == 0b1111_1000
    assert (Integers(8, low=0).zeros, Integers(8, low=-1).zeros) == (128, 0)
    assert Integers(8, zeros=128, low=-3, high=9) == Integers(8, zeros=128, high=9) == Integers(8, low=0, high=9)
    assert Integers(8, zeros=0b11, divisor=3).divisor == 12 and Integers(8, divisor=12).zeros == 0b11
    assert (Integers.of(-6, 8).divisor, Integers.of(0, 8).divisor, Integers(8, divisor=0)) == (6, 0, Integers.of(0, 8))
    assert (Integers.within(-8, 7, 4, 3), Integers.within(-8, 8, 4, 6)) == (
        Integers(4, low=-8, high=7, divisor=3),
        Integers(4, zeros=1),
    )
    assert Integers.within(-9, 7, 4, 6) == Integers(4, zeros=1)
