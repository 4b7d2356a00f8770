"""Zero-column masks: the seed's four examples, convolution vectors, and a search that is exact and complete."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx.tcgen05 import LegalityError, ZeroColumnMask
from tirx.tcgen05.zero_column_mask import SUB_MASKS, sub_mask_width

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


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['M']}x{v['N']}-{v['desc']}")
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


@settings(max_examples=300, deadline=None)
@given(masks())
def test_every_mask_is_found_again(drawn: tuple[ZeroColumnMask, int, int]):
    mask, m, n = drawn
    columns = mask.expand(m, n)
    found = ZeroColumnMask.from_columns(columns, m, n, mask.shift)
    assert (found.expand(m, n) == columns).all()
    assert ZeroColumnMask.decode(found.encode()) == found


def windows(width: int) -> set[tuple[tuple[int, ...], tuple[int, int]]]:
    """Every (window of so many columns, (skip, use)) of every periodic pattern whose runs can matter."""
    found: set[tuple[tuple[int, ...], tuple[int, int]]] = set()
    for skip, use in itertools.product(range(1, width + 1), repeat=2):
        for phase in range(skip + use):
            bits = tuple(int((phase + j) % (skip + use) < skip) for j in range(width))
            found.add((bits, (skip, use)))
    return found


@pytest.mark.parametrize(("m", "n"), [(128, 11), (64, 12), (32, 12)])
def test_search_is_complete_by_brute_force(m: int, n: int):
    width, subs = sub_mask_width(m, n), SUB_MASKS[m]
    by_spans: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for bits, spans in windows(width):
        by_spans.setdefault(spans, set()).add(bits)
    reachable = {
        tuple(itertools.chain(*parts)) for own in by_spans.values() for parts in itertools.product(own, repeat=subs)
    }
    reachable.add((0,) * n)
    rng = np.random.default_rng(1)
    everything = list(itertools.product((0, 1), repeat=n))
    for index in rng.permutation(len(everything))[:2048]:
        bits = everything[int(index)]
        columns = np.array(bits, dtype=bool)
        if bits in reachable:
            assert (ZeroColumnMask.from_columns(columns, m, n).expand(m, n) == columns).all()
        else:
            with pytest.raises(LegalityError, match="no zero-column mask descriptor has these columns: column"):
                ZeroColumnMask.from_columns(columns, m, n)


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


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"start_count": (256, 0, 0, 0)}, r"start_count\[0\]: expected 0 to 255, got 256"),
        ({"first_span": (0, 2, 0, 0)}, r"first_span\[1\]: expected 0 to 1, got 2"),
        ({"skip_span": 256}, "skip_span: expected 0 to 255, got 256"),
        ({"use_span": -1}, "use_span: expected 0 to 255, got -1"),
        ({"shift": 33}, "shift: expected 0 to 32, got 33"),
        ({"start_count": (0, 0)}, "start_count: expected 4 values, one per sub-mask, got 2"),
    ],
)
def test_fields_that_no_descriptor_holds(fields: dict[str, Any], message: str):
    with pytest.raises(LegalityError, match=message):
        ZeroColumnMask(**fields)


def test_what_only_the_instruction_decides():
    shifted = ZeroColumnMask(shift=32)
    shifted.verify(64, 64)
    with pytest.raises(LegalityError, match="shift: expected at most 16 for M = 32, got 32"):
        shifted.verify(32, 64)
    late = ZeroColumnMask(start_count=(0, 4, 0, 0), use_span=3)
    late.verify(128, 64)  # sub-mask 1 does not exist
    with pytest.raises(LegalityError, match=r"start_count\[1\]: expected at most 3, .* 4 used columns, got 4"):
        late.expand(64, 64)
    with pytest.raises(LegalityError, match="expected M = 128, 64, 32, got 256"):
        ZeroColumnMask().expand(256, 64)
    with pytest.raises(LegalityError, match="a multiple of 4 for M = 32, got 66"):
        ZeroColumnMask().expand(32, 66)
    with pytest.raises(LegalityError, match=r"expected 64 columns, got an array of shape \(63,\)"):
        ZeroColumnMask.from_columns([True] * 63, 128, 64)
    with pytest.raises(LegalityError, match="bits 36-38: expected 0"):
        ZeroColumnMask.decode(1 << 37)
    with pytest.raises(LegalityError, match="bits 62-63: expected 0"):
        ZeroColumnMask.decode(1 << 63)
    with pytest.raises(LegalityError, match="expected a 64-bit"):
        ZeroColumnMask.decode(-1)
