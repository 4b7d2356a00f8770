"""Swizzles: both directions, as linear maps, as layouts, and what commutes with them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.layout import SWIZZLE_MODES, BitMatrix, LayoutError, SwizzleLayout, element_type

swizzles = st.integers(0, 3).flatmap(
    lambda bits: st.builds(SwizzleLayout, st.integers(0, 3), st.just(bits), st.integers(bits, 4), st.booleans())
)


def permutation(swizzle: SwizzleLayout, count: int) -> list[int]:
    """By the definition on the page, and for the other direction its mirror image."""
    m, b, s = swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len
    found: list[int] = []
    for address in range(count):
        x = address >> m
        if swizzle.swizzle_inner:
            x ^= (x & (((1 << b) - 1) << s)) >> s
        else:
            x ^= (x & ((1 << b) - 1)) << s
        found.append((x << m) + address % (1 << m))
    return found


@given(swizzles)
def test_definition(swizzle: SwizzleLayout) -> None:
    period = swizzle.period
    expected = permutation(swizzle, 2 * period)
    assert sorted(expected[:period]) == list(range(period))
    assert [x + period for x in expected[:period]] == expected[period:]
    assert swizzle.apply(np.arange(2 * period, dtype=np.int64)).tolist() == expected
    assert [swizzle.inverse(x) for x in expected] == list(range(2 * period))


@given(swizzles)
def test_as_a_layout(swizzle: SwizzleLayout) -> None:
    expected = permutation(swizzle, swizzle.period)
    assert swizzle.size() == swizzle.span() == swizzle.period
    assert swizzle.table()["m"].tolist() == expected
    assert swizzle.table((2, swizzle.period))["m"].tolist() == [expected, [x + swizzle.period for x in expected]]
    assert [swizzle.owners(x) for x in range(swizzle.period)] == [[{"m": x}] for x in expected]
    assert swizzle.footprint() == {"m": (min(expected), max(expected))}
    assert swizzle.is_injective()
    assert swizzle.equivalent(swizzle.canonicalize())
    assert (swizzle.axes, swizzle.extents, swizzle.span("laneid")) == (("m",), (swizzle.period,), 1)


@given(swizzles)
def test_text_round_trips(swizzle: SwizzleLayout) -> None:
    for text in (str(swizzle), swizzle.arguments, f"#tirx.swizzle_layout<{swizzle.arguments}>"):
        assert SwizzleLayout.parse(text) == swizzle


@given(swizzles, st.integers(0, 2))
def test_matrix(swizzle: SwizzleLayout, more: int) -> None:
    matrix = swizzle.matrix(swizzle.address_bits + more)
    expected = permutation(swizzle, swizzle.period << more)
    assert matrix.apply(np.arange(len(expected), dtype=np.int64)).tolist() == expected
    assert matrix.inverse() == matrix
    assert SwizzleLayout.from_matrix(matrix) == swizzle.canonicalize()


@given(swizzles, swizzles)
def test_composition(outer: SwizzleLayout, inner: SwizzleLayout) -> None:
    count = max(outer.period, inner.period)
    product = outer.compose(inner)
    expected = [outer.apply(x) for x in permutation(inner, count)]
    assert [product.apply(x) for x in range(count)] == expected
    if isinstance(product, BitMatrix):
        # Every swizzle on so many bits is another map.
        bits = product.rows
        for b in range(bits // 2 + 1):
            for s in range(b, bits - b + 1):
                for m in range(bits - b - s + 1):
                    for way in (True, False):
                        assert SwizzleLayout(m, b, s, way).matrix(bits) != product


def test_compositions_that_are_swizzles() -> None:
    wide = SwizzleLayout(3, 3, 3)
    assert wide.compose(wide) == SwizzleLayout(0, 0, 0)
    # The 64-byte mode is what is left of the 128-byte mode without its highest bit.
    assert wide.compose(SwizzleLayout(5, 1, 3)) == SwizzleLayout(3, 2, 3)
    assert SwizzleLayout(3, 1, 3).compose(SwizzleLayout(4, 1, 3)) == SwizzleLayout(3, 2, 3)
    assert SwizzleLayout(3, 1, 3, False).compose(SwizzleLayout(4, 1, 3, False)) == SwizzleLayout(3, 2, 3, False)
    assert isinstance(wide.compose(SwizzleLayout(3, 3, 3, False)), BitMatrix)
    assert isinstance(wide.compose(SwizzleLayout(0, 3, 3)), BitMatrix)


@together(
    "columns",
    [(2, 1), (1, 2, 3), (1, 3, 5), (1, 2, 4, 9, 17), (1, 2, 4, 9, 18 ^ 1), (1, 3, 6), (0, 2)],
)
def test_maps_that_are_no_swizzle(columns: tuple[int, ...]) -> None:
    with pytest.raises(LayoutError, match="no swizzle is this map"):
        SwizzleLayout.from_matrix(BitMatrix(columns, 5))


@given(swizzles)
def test_commutes_with_exactly_the_multiples_of_the_period(swizzle: SwizzleLayout) -> None:
    addresses = np.arange(2 * swizzle.period, dtype=np.int64)
    for offset in range(2 * swizzle.period + 1):
        expected = bool((swizzle.apply(addresses + offset) == swizzle.apply(addresses) + offset).all())
        assert swizzle.commutes_with(offset) == expected
        assert swizzle.commutes_with(-offset) == expected


@given(swizzles, st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(0, 300))
def test_commutes_within_a_set(swizzle: SwizzleLayout, addresses: list[int], offset: int) -> None:
    expected = all(swizzle.apply(x + offset) == swizzle.apply(x) + offset for x in addresses)
    assert swizzle.commutes_with(offset, np.array(addresses, dtype=np.int64)) == expected


def test_steps_of_an_operand_tile() -> None:
    """128B mode of f16, rows of 64 elements: 8 rows on is a plain add everywhere, 16 columns on in row 0 only."""
    swizzle = SwizzleLayout.for_dtype("f16", "128B")
    rows, columns = np.indices((8, 16))
    first = (64 * rows + columns).astype(np.int64)
    assert swizzle.commutes_with(8 * 64)
    assert not swizzle.commutes_with(16)
    assert not swizzle.commutes_with(16, first)
    assert swizzle.commutes_with(16, first[0])
    # Within the 8 elements that stay together a step is a plain add in every row.
    assert swizzle.commutes_with(4, first[:, :4])
    assert not swizzle.commutes_with(64, first)


@together("dtype", ["e2m1", "e2m3", "e3m2", "e4m3", "f16", "bf16", "tf32", "f32", "f64"])
@together("mode", SWIZZLE_MODES)
def test_modes_of_a_type(dtype: str, mode: str) -> None:
    """In bytes every mode is the same XOR: 16-byte units, or 32-byte units in the mode named after them."""
    bits = element_type(dtype).storage_bits
    swizzle = SwizzleLayout.for_dtype(dtype, next(m for m in SWIZZLE_MODES if m == mode))
    unit = 32 if mode == "128B_base32B" else 16
    row_bytes = 128 if mode.startswith("128B") else 16 if mode == "none" else int(mode[:-1])
    assert (1 << swizzle.per_element) * bits == unit * 8
    assert swizzle.mode(bits) == mode
    # The pattern repeats after as many 128-byte lines as there are units in a row.
    if mode != "none":
        assert swizzle.period * bits == row_bytes // unit * 128 * 8
    # Line by line, the unit that comes first.
    line = 128 * 8 // bits
    first = [swizzle.apply(i * line) - i * line for i in range(row_bytes // unit)]
    assert first == [i << swizzle.per_element for i in range(row_bytes // unit)]


def test_the_opposite_direction_is_no_hardware_mode() -> None:
    outer = SwizzleLayout(3, 3, 3, swizzle_inner=False)
    assert outer.mode(16) is None
    assert outer != SwizzleLayout(3, 3, 3)
    assert not outer.equivalent(SwizzleLayout(3, 3, 3))
    assert str(outer) == "Swizzle(3, 3, 3, swizzle_inner=False)"
    assert SwizzleLayout(3, 0, 3, swizzle_inner=False).equivalent(SwizzleLayout(0, 0, 0))


def test_errors() -> None:
    with pytest.raises(LayoutError, match="found 6; expected the width in storage, which is 8 bits for 6-bit elements"):
        SwizzleLayout.for_bits(6, "128B")
    assert SwizzleLayout(20, 20, 22).address_bits == 62
    with pytest.raises(LayoutError, match=r"of at most 62, the bits of an address, found Swizzle\(20, 20, 23\)"):
        SwizzleLayout(20, 20, 23)
    with pytest.raises(LayoutError, match=r"expected 9 to 62 address bits for Swizzle\(3, 3, 3\), found 8"):
        SwizzleLayout(3, 3, 3).matrix(8)
    with pytest.raises(LayoutError, match="every extent of a shape must be positive"):
        SwizzleLayout(3, 3, 3).table((0, 4))
