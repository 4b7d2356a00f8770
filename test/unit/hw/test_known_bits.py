"""What is known of bits: never more than holds for every choice of the others; as much, for most operations."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx.hw.known_bits import KnownBits

WIDTH = 4
MASK = (1 << WIDTH) - 1
EVERY = [KnownBits(WIDTH, zeros, ones) for zeros, ones in product(range(16), repeat=2) if not zeros & ones]


def values(known: KnownBits) -> list[int]:
    return [x for x in range(1 << known.width) if not x & known.zeros and x & known.ones == known.ones]


def strongest(found: set[int], width: int) -> KnownBits:
    """All that holds of every one of some integers."""
    mask = ones = (1 << width) - 1
    zeros = mask
    for x in found:
        ones, zeros = ones & x, zeros & ~x
    return KnownBits(width, zeros, ones)


def implied(weaker: KnownBits, stronger: KnownBits) -> bool:
    return not (weaker.zeros & ~stronger.zeros or weaker.ones & ~stronger.ones)


def signed(x: int, width: int = WIDTH) -> int:
    return x - (1 << width) if x >> width - 1 else x


@pytest.mark.parametrize("name", ["and", "or", "xor", "add", "sub"])
def test_what_is_known_of_two_operands_is_known_of_the_result(name: str):
    operation = f"__{name}__"
    for a, b in product(EVERY[::2], EVERY[1::3]):
        found = {getattr(x, operation)(y) & MASK for x in values(a) for y in values(b)}
        assert getattr(a, operation)(b) == strongest(found, WIDTH), (a, b)


@given(st.sampled_from(EVERY), st.sampled_from(EVERY))
def test_a_product_claims_nothing_false(a: KnownBits, b: KnownBits):
    found = {x * y & MASK for x in values(a) for y in values(b)}
    assert implied(a * b, strongest(found, WIDTH))
    if a.value is not None and b.value is not None:
        assert (a * b).value == a.value * b.value & MASK


def test_a_multiple_ends_with_zeros():
    assert (KnownBits(8, zeros=0b11) * KnownBits(8, zeros=0b1)).zeros == 0b111
    assert (KnownBits(8, zeros=0b11) * KnownBits.of(6, 8)).zeros == 0b111


@pytest.mark.parametrize("amount", range(WIDTH + 1))
def test_shifts(amount: int):
    for a in EVERY:
        assert a << amount == strongest({x << amount & MASK for x in values(a)}, WIDTH)
        assert a.shift_right(amount, signed=False) == strongest({x >> amount for x in values(a)}, WIDTH)
        found = {signed(x) >> amount & MASK for x in values(a)}
        assert a.shift_right(amount, signed=True) == strongest(found, WIDTH)


@pytest.mark.parametrize("width", [1, 3, 4, 7])
def test_widths(width: int):
    mask = (1 << width) - 1
    for a in EVERY:
        assert a.extend(width, signed=False) == strongest({x & mask for x in values(a)}, width)
        assert a.extend(width, signed=True) == strongest({signed(x) & mask for x in values(a)}, width)


def test_joined_and_inverted():
    for a, b in product(EVERY[::3], EVERY[::4]):
        assert a.join(b) == strongest({*values(a), *values(b)}, WIDTH)
    assert all(~a == strongest({~x & MASK for x in values(a)}, WIDTH) for a in EVERY)


def test_values_and_choices():
    assert KnownBits.of(-1, 8) == KnownBits(8, 0, 255) and KnownBits.of(-1, 8).value == 255
    assert KnownBits(8).value is None
    some = KnownBits(8, zeros=0b1, ones=0b10)
    assert list(some.choices(0b1111, fill=0b1100_0000)) == [0b1100_1110, 0b1100_1010, 0b1100_0110, 0b1100_0010]
    assert list(KnownBits.of(5, 8).choices(255)) == [5]
    assert (some.trailing_zeros, KnownBits(8).trailing_zeros, KnownBits.of(0, 8).trailing_zeros) == (1, 0, 8)
