"""Convolution padding as a zero-column mask: against the definition, and the descriptors of another library."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together

from tirx.hw.errors import LegalityError
from tirx.tcgen05.convolution import convolution_mask

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/zero_column_masks.json").read_text())[
    "vectors"
]


@together("vector", VECTORS)
def test_vectors(vector: dict[str, Any]):
    m, n = vector["M"], vector["N"]
    mask = convolution_mask(
        m, n, vector["conv_q"], vector["pad_left"], vector["s"], first_column=vector["cta_coord_q"] * n
    )
    assert sum(1 << int(j) for j in np.flatnonzero(mask.expand(m, n))) == int(vector["mask"], 16)
    assert mask.shift == vector["shift"]


@given(
    m=st.sampled_from((32, 64, 128)),
    n=st.sampled_from((64, 128, 256)),
    row=st.integers(1, 600),
    pad=st.integers(0, 20),
    tap=st.integers(0, 5),
    dilation=st.integers(1, 3),
    first=st.integers(0, 3000),
)
def test_the_product_is_that_of_the_padded_image(
    m: int, n: int, row: int, pad: int, tap: int, dilation: int, first: int
):
    """One tap, done twice: on rows that are really padded, and on unpadded rows through mask and shift."""
    rows = (first + n) // row + 2
    image = 1 + np.arange(rows * row)
    reach = max(pad, 32)
    padded = np.pad(image.reshape(rows, row), ((0, 0), (reach, reach)))
    columns = first + np.arange(n)
    wanted = padded[columns // row, reach + columns % row + tap * dilation - pad]

    mask = convolution_mask(m, n, row, pad, tap, first_column=first, dilation=dilation)
    # The B tile: N + shift columns, the first of which is `left_pad` pixels before the tile; any garbage outside.
    memory = np.concatenate([np.full(pad, -7), image, np.full(64, -7)])
    b = memory[first : first + n + mask.shift]
    found = np.where(mask.expand(m, n), 0, b[np.arange(n) + mask.shift])
    assert (found == wanted).all()


def test_a_row_shorter_than_the_padding_is_all_zero():
    assert convolution_mask(64, 64, row_length=3, left_pad=4, tap=0).expand(64, 64).all()
    assert convolution_mask(64, 64, row_length=3, left_pad=0, tap=3).expand(64, 64).all()


def test_without_padding_only_the_shift_is_left():
    mask = convolution_mask(128, 256, row_length=1, left_pad=2, tap=2)
    assert not mask.generate and mask.shift == 2


@together(
    ("fields", "message"),
    [
        ({"row_length": 0}, "row_length: expected at least 1, found 0"),
        ({"left_pad": -1}, "left_pad: expected at least 0, found -1"),
        ({"tap": -1}, "tap: expected at least 0, found -1"),
        ({"first_column": -1}, "first_column: expected at least 0, found -1"),
        ({"dilation": 0}, "dilation: expected at least 1, found 0"),
        (
            {"tap": 9, "dilation": 2},
            "tap 9 with dilation 2: expected a column shift of at most 16 for M = 32, found 18",
        ),
        ({"m": 256}, "expected M = 128, 64, 32, found 256"),
    ],
)
def test_errors(fields: dict[str, int], message: str):
    with pytest.raises(LegalityError, match=message):
        convolution_mask(**{"m": 32, "n": 64, "row_length": 14, "left_pad": 1, "tap": 0, **fields})
