"""Zero-column masks: the seed's four examples, convolution vectors, and a search that is exact and complete."""

import itertools
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.tcgen05.zero_column_mask import SUB_MASKS, ZeroColumnMask, sub_mask_width

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/zero_column_masks.json").read_text())[
    "vectors"
]


def low_bits(mask: "np.ndarray[Any, Any]", count: int) -> str:
    """The mask as the ISA prints it: column 0 rightmost, only the lowest bits."""
    return "".join(str(int(bit)) for bit in mask[:count][::-1])


def test_seed_example_1():
    mask = ZeroColumnMask(skip_span=4, use_span=3, generate=False)
    assert not mask.expand(128, 256).any()
    assert mask.encode() == 0x0003040000000000


def test_seed_example_2():
    mask = ZeroColumnMask(skip_span=2, use_span=3)
    assert mask.encode() == 0x0003028000000000
    assert low_bits(mask.expand(128, 64), 14) == "11100001110000"


def test_seed_example_3():
    mask = ZeroColumnMask(first_span=(1, 0, 0, 0), skip_span=2, use_span=3)
    columns = mask.expand(64, 128)
    assert low_bits(columns[:64], 17) == "11100001110000111"
    assert low_bits(columns[64:], 18) == "000011100001110000"


def test_seed_example_4():
    mask = ZeroColumnMask((0, 1, 2, 1), (1, 1, 0, 0), skip_span=2, use_span=3, shift=2)
    assert mask.encode() == 0x0203028301020100
    columns = mask.expand(32, 128).reshape(4, 32)
    assert low_bits(columns[0], 14) == "00001110000111"
    assert low_bits(columns[1], 13) == "0000111000011"
    assert low_bits(columns[2], 12) == "111000011100"
    assert low_bits(columns[3], 13) == "1110000111000"


@together("vector", VECTORS)
def test_vectors(vector: dict[str, Any]):
    m, n, word = vector["M"], vector["N"], int(vector["desc"], 16)
    mask = ZeroColumnMask.decode(word)
    assert mask.encode() == word
    assert list(mask.start_count) == vector["start_count"]
    assert sum(bit << i for i, bit in enumerate(mask.first_span)) == vector["first_span"]
    assert (mask.skip_span, mask.use_span, mask.shift) == (vector["skip_span"], vector["use_span"], vector["shift"])
    columns = mask.expand(m, n)
    assert sum(1 << int(j) for j in np.flatnonzero(columns)) == int(vector["mask"], 16)
    found = ZeroColumnMask.from_columns(columns, m, n, vector["shift"])
    assert (found.expand(m, n) == columns).all() and found.shift == vector["shift"]


@st.composite
def masks(draw: st.DrawFn) -> tuple[ZeroColumnMask, int, int]:
    m = draw(st.sampled_from(sorted(SUB_MASKS)))
    n = draw(st.sampled_from((64, 128, 256)))
    spans = st.one_of(st.integers(0, 20), st.integers(0, 255))
    skip, use = draw(spans), draw(spans)
    first = draw(st.tuples(*[st.integers(0, 1)] * 4))
    count = [draw(st.integers(0, skip if bit else use)) for bit in first]
    mask = ZeroColumnMask(
        (count[0], count[1], count[2], count[3]), first, skip, use, draw(st.integers(0, 16)), draw(st.booleans())
    )
    return mask, m, n


@given(masks())
def test_every_mask_is_found_again(drawn: tuple[ZeroColumnMask, int, int]):
    mask, m, n = drawn
    columns = mask.expand(m, n)
    found = ZeroColumnMask.from_columns(columns, m, n, mask.shift)
    assert (found.expand(m, n) == columns).all()
    assert ZeroColumnMask.decode(found.encode()) == found


def mask_of_word(word: int, m: int, n: int) -> int | None:
    """The mask of a descriptor, written straight from the examples of the ISA; None where the ISA is silent."""
    if not word >> 39 & 1:
        return 0
    skip, use = (word >> 40 & 255) + 1, (word >> 48 & 255) + 1
    width, mask = n // SUB_MASKS[m], 0
    for i in range(SUB_MASKS[m]):
        runs = (1, skip), (0, use)
        if not word >> (32 + i) & 1:
            runs = runs[::-1]
        if word >> 8 * i & 255 >= runs[0][1]:
            return None
        bits = [bit for _ in range(width + 1) for bit, length in runs for _ in range(length)]
        for j, bit in enumerate(bits[word >> 8 * i & 255 :][:width]):
            mask |= bit << i * width + j
    return mask


def every_word(m: int, n: int) -> Iterator[int]:
    """Every descriptor for this shape whose runs are no longer than one column more than a sub-mask.

    A longer run looks the same through the window of a sub-mask: it fills it, or is cut by its edge.
    """
    width = sub_mask_width(m, n)
    yield 0
    for skip, use in itertools.product(range(width + 1), repeat=2):
        starts = [(0, count) for count in range(use + 1)] + [(1, count) for count in range(skip + 1)]
        for choice in itertools.product(starts, repeat=SUB_MASKS[m]):
            word = 1 << 39 | skip << 40 | use << 48
            for i, (first, count) in enumerate(choice):
                word |= first << 32 + i | count << 8 * i
            yield word


@pytest.mark.parametrize(("m", "n"), [(128, 9), (64, 10), (32, 8)])
def test_exact_complete_and_canonical_against_every_descriptor(m: int, n: int):
    """A descriptor is found exactly when one exists, and it is the smallest integer of those that have the mask."""
    smallest: dict[int, int] = {}
    for word in every_word(m, n):
        mask = mask_of_word(word, m, n)
        if mask is not None:
            smallest[mask] = min(word, smallest.get(mask, word))
    for bits in range(1 << n):
        columns = [bool(bits >> j & 1) for j in range(n)]
        if bits in smallest:
            assert ZeroColumnMask.from_columns(columns, m, n).encode() == smallest[bits]
        else:
            with pytest.raises(LegalityError, match="no zero-column mask descriptor has these columns") as caught:
                ZeroColumnMask.from_columns(columns, m, n)
            assert caught.value.column is not None and 0 <= caught.value.column < n


NAMED = re.compile(r"column (\d+) is expected .*columns (\d+) to (\d+) make .* run at column (\d+) has (\d+)")


@pytest.mark.parametrize(("m", "n"), [(128, 9), (64, 10)])
def test_the_error_is_a_proof(m: int, n: int):
    """The two runs that the message names are enough to rule out every descriptor, whatever the other columns are; but
    for the one column that it blames they are not."""
    masks = {mask for word in every_word(m, n) if (mask := mask_of_word(word, m, n)) is not None}
    seen = 0
    for bits in set(range(1 << n)) - masks:
        with pytest.raises(LegalityError) as caught:
            ZeroColumnMask.from_columns([bool(bits >> j & 1) for j in range(n)], m, n)
        found = NAMED.search(str(caught.value))
        assert found is not None
        blamed, first, last, start, length = map(int, found.groups())
        assert blamed == caught.value.column
        # The model run with its two neighbours; the other run up to the blamed column, with the neighbour before it
        # when it is too short (its length is then exact).
        short = length < last - first + 1
        named = {*range(first - 1, last + 2), *range(start - short, blamed + 1)}
        fixed = sum(1 << j for j in named)
        assert not any(mask & fixed == bits & fixed for mask in masks)
        fixed &= ~(1 << blamed)
        assert any(mask & fixed == bits & fixed for mask in masks)
        seen += 1
    assert seen > 100


@pytest.mark.parametrize(("m", "n"), [(128, 64), (64, 128), (32, 256)])
@given(data=st.data())
def test_expansion_is_that_of_the_examples(m: int, n: int, data: st.DataObject):
    mask, _, _ = data.draw(masks())
    mask = replace(mask, shift=0)
    assert sum(1 << int(j) for j in np.flatnonzero(mask.expand(m, n))) == mask_of_word(mask.encode(), m, n)


def test_a_set_of_columns():
    columns = {3, 4, 8, 9, 13, 14}
    mask = ZeroColumnMask.from_columns(columns, 128, 17)
    assert set(np.flatnonzero(mask.expand(128, 17)).tolist()) == columns
    assert not ZeroColumnMask.from_columns(set[int](), 128, 64).generate
    for few in (set[int](), {1}):
        with pytest.raises(LegalityError, match="^shift: expected at most 16 for M = 32, found 17$"):
            ZeroColumnMask.from_columns(few, 32, 64, 17)
    with pytest.raises(LegalityError, match="expected columns 0 to 63, found 64"):
        ZeroColumnMask.from_columns({1, 64}, 128, 64)
    with pytest.raises(
        LegalityError, match="^column 2: expected True or False, found 2; column numbers are passed as a set$"
    ):
        ZeroColumnMask.from_columns([*range(64)], 128, 64)  # pyright: ignore[reportArgumentType]


def test_the_search_takes_milliseconds():
    columns = np.arange(256) % 2 == 0
    start = time.perf_counter()
    for _ in range(20):
        ZeroColumnMask.from_columns(columns, 32, 256)
    assert (time.perf_counter() - start) / 20 < 0.02  # about half a millisecond on an idle machine


def test_error_names_the_column_that_breaks_the_period():
    columns = np.tile([True, True, False, False, False], 20)[:64].copy()
    columns[31] = False
    with pytest.raises(LegalityError, match="column 31 is expected zeroed and is used"):
        ZeroColumnMask.from_columns(columns, 128, 64)
    columns[31] = columns[32] = True
    with pytest.raises(LegalityError, match="column 32 is expected used and is zeroed"):
        ZeroColumnMask.from_columns(columns, 128, 64)


def test_extremes():
    everything = ZeroColumnMask.from_columns([True] * 256, 128, 256)
    assert everything.expand(128, 256).all() and everything.skip_span == 255
    nothing = ZeroColumnMask.from_columns([False] * 256, 32, 256, shift=16)
    assert not nothing.generate and nothing.encode() == 16 << 56
    one = ZeroColumnMask.from_columns(np.arange(256) == 255, 128, 256)
    assert one.expand(128, 256).nonzero()[0].tolist() == [255]


@together(
    ("fields", "message"),
    [
        ({"start_count": (256, 0, 0, 0)}, r"start_count\[0\]: expected 0 to 255, found 256"),
        ({"first_span": (0, 2, 0, 0)}, r"first_span\[1\]: expected 0 to 1, found 2"),
        ({"skip_span": 256}, "skip_span: expected 0 to 255, found 256"),
        ({"use_span": -1}, "use_span: expected 0 to 255, found -1"),
        ({"shift": 33}, "shift: expected 0 to 32, found 33"),
        ({"start_count": (0, 0)}, "start_count: expected 4 values, one per sub-mask, found 2"),
    ],
)
def test_fields_that_no_descriptor_holds(fields: dict[str, Any], message: str):
    with pytest.raises(LegalityError, match=message):
        ZeroColumnMask(**fields)


def test_what_only_the_instruction_decides():
    shifted = ZeroColumnMask(shift=32)
    shifted.verify(64, 64)
    with pytest.raises(LegalityError, match="shift: expected at most 16 for M = 32, found 32"):
        shifted.verify(32, 64)
    late = ZeroColumnMask(start_count=(0, 4, 0, 0), use_span=3)
    assert not late.late_starts(128)  # sub-mask 1 does not exist
    assert (
        late.late_starts(64) == late.late_starts(None)
        and "4 skips more than the first run of 4" in late.late_starts(64)[0]
    )
    assert late.expand(64, 64)[32:36].tolist() == [True, False, False, False]
    with pytest.raises(LegalityError, match="expected M = 128, 64, 32, found 256"):
        ZeroColumnMask().expand(256, 64)
    with pytest.raises(LegalityError, match="a multiple of 4 for M = 32, found 66"):
        ZeroColumnMask().expand(32, 66)
    with pytest.raises(LegalityError, match=r"expected 64 columns, found an array of shape \(63,\)"):
        ZeroColumnMask.from_columns([True] * 63, 128, 64)
    with pytest.raises(LegalityError, match="reserved bits 36-38: expected 0"):
        ZeroColumnMask.decode(1 << 37)
    with pytest.raises(LegalityError, match="reserved bits 62-63: expected 0"):
        ZeroColumnMask.decode(1 << 63)
    with pytest.raises(LegalityError, match="bits 56-61, column shift: expected 0 to 32, found 33"):
        ZeroColumnMask.decode(33 << 56)
    with pytest.raises(LegalityError, match="expected a 64-bit"):
        ZeroColumnMask.decode(-1)
