"""Elements of one operand that share bytes are named, and what was meant."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.cases import together

from tirx.smem.aliasing import aliased_elements, aliased_operand
from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.smem.swizzle_modes import MAJORS, SWIZZLE_MODES, WGMMA_OPERANDS, Major, SwizzleName
from tirx.smem.walk import read_addresses
from tirx.smem.wgmma_descriptor import WgmmaDescriptor
from tirx.symbolic.integers import Integers


@together(
    ("descriptor", "major", "message"),
    [
        (SmemDescriptor(0, 16, 1024, "128B"), "K", None),
        (
            SmemDescriptor(0, 16, 512, "128B"),
            "K",
            r"\(4, 0\) and \(8, 0\).*SBO is 512 bytes, and one repeat.*takes 1024",
        ),
        (SmemDescriptor(0, 128, 0, "none"), "K", "SBO is 0 bytes"),
        (SmemDescriptor(0, 64, 128, "none"), "K", "LBO is 64 bytes, and one repeat of the pattern takes 128"),
        (SmemDescriptor(0, 128, 256, "none"), "K", None),
        (SmemDescriptor(0, 16384, 1024, "128B"), "MN", None),
    ],
)
def test_named(descriptor: SmemDescriptor, major: Major, message: str | None) -> None:
    found = aliased_elements(descriptor, major, (128, 16), 16)
    assert found is None if message is None else found is not None and re.search(message, found), found


def test_swapped() -> None:
    """Four blocks of 64 rows, each of two groups of 8 k: LBO steps over blocks, SBO over groups."""
    right, wrong = SmemDescriptor(0, 2048, 1024, "128B"), SmemDescriptor(0, 1024, 2048, "128B")
    assert aliased_elements(right, "MN", (256, 16), 16) is None
    found = aliased_elements(wrong, "MN", (256, 16), 16)
    assert found is not None and found.endswith("LBO 1024 and SBO 2048 look swapped")


@given(
    st.sampled_from(MAJORS),
    st.sampled_from([name for name in SWIZZLE_MODES if name != "128B_base32B"]),
    st.integers(0, 300),
    st.integers(0, 300),
    st.sampled_from([8, 64, 128]),
)
@settings(max_examples=60)
def test_complete(major: Major, swizzle: SwizzleName, lbo: int, sbo: int, rows: int) -> None:
    """None just where all addresses differ."""
    descriptor = SmemDescriptor(0, lbo * 16, sbo * 16, swizzle)
    addresses = read_addresses(descriptor, major, (rows, 16), 16)
    distinct = len(np.unique(addresses)) == addresses.size
    assert (aliased_elements(descriptor, major, (rows, 16), 16) is None) == distinct


def test_what_is_not_known_is_not_judged() -> None:
    word = SmemDescriptor(0, 16, 512, "128B").encode()
    assert aliased_operand(word, "K", (64, 16), 16) is not None
    start = Integers(64, zeros=~0x3FC0 & (1 << 64) - 1)
    assert aliased_operand(start | Integers.of(word, 64), "K", (64, 16), 16) is not None
    stride = Integers(64, zeros=~(0xFF << 32) & (1 << 64) - 1)
    assert aliased_operand(stride | Integers.of(word, 64), "K", (64, 16), 16) is None
    assert aliased_operand(None, "K", (64, 16), 16) is None


def test_of_wgmma() -> None:
    word = WgmmaDescriptor(0, None, 512, "128B").encode()
    assert aliased_operand(word, "K", (64, 16), 16, WGMMA_OPERANDS) is not None
    assert aliased_operand(WgmmaDescriptor(0, None, 1024, "128B"), "K", (64, 16), 16, WGMMA_OPERANDS) is None
