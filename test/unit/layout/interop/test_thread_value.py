"""CuTe's thread-value layouts against their definition, and against fragments that are known."""

from __future__ import annotations

import itertools
import re

import pytest
from unit.cases import together

from tirx.layout import LayoutError, TileLayout
from tirx.mma.fragments import VARIANTS


def _element(text: str, thread: int, value: int) -> int:
    """Where a plain CuTe layout ((t...),(v...)):((s...),(u...)) puts a thread and a value, by its definition."""
    shapes, strides = (re.findall(r"\(([\d,]+)\)", half) for half in text.split(":"))
    total = 0
    for number, shape, stride in zip((thread, value), shapes, strides, strict=True):
        for extent, step in zip(map(int, shape.split(",")), map(int, stride.split(",")), strict=True):
            number, digit = divmod(number, extent)
            total += digit * step
    return total


@together(
    ("text", "shape", "threads"),
    [
        ("((4,8),(2,2)):((32,1),(16,8))", (16, 8), 32),  # SM80_16x8_Row
        ("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16), 32),  # A of m16n8k16
        ("((4,8),(2,2)):((16,1),(8,64))", (8, 16), 32),  # B of m16n8k16
        ("((4,8),(1)):((8,1),(0))", (8, 4), 32),
        ("((32),(4)):((4),(1))", (16, 8), 32),
        ("((8,4),(6)):((1,48),(8))", (16, 12), 32),
    ],
)
def test_each_element_is_where_cute_puts_it(text: str, shape: tuple[int, int], threads: int) -> None:
    layout = TileLayout.from_thread_value(text, shape)
    seen = 0
    for thread, value in itertools.product(range(threads), range(shape[0] * shape[1] // threads)):
        n, m = divmod(_element(text, thread, value), shape[0])
        found = layout.apply((m, n), shape=shape)
        assert (found.get("laneid", 0), found.get("m", 0)) == (thread, value)
        seen += 1
    assert seen == shape[0] * shape[1]


def test_known_fragments() -> None:
    variant = VARIANTS["m16n8k16.row.col.f32.f16"]
    c = TileLayout.from_thread_value("((4,8),(2,2)):((32,1),(16,8))", (16, 8))
    assert c.equivalent(variant.c.layout)
    a = TileLayout.from_thread_value("((4,8),(2,2,2)):((32,1),(16,8,128))", (16, 16))
    assert a.equivalent(variant.a.layout)


def test_copies_in_several_threads() -> None:
    layout = TileLayout.from_thread_value("((4,8),(2)):((2,0),(1))", (2, 4))
    assert len(layout.owners((0, 0), shape=(2, 4))) == 8


@together(
    ("text", "shape", "message"),
    [
        ("(32):(1)", (4, 8), "expected two modes, threads and values, found 1"),
        ("((4,8),(2,2)):((32,1),(16,8))", (16, 16), "expected 256 elements"),
        ("((4,8),(2,2)):((32,1),(16,1))", (16, 8), "reaches each element once"),
        ("((32),(4)):((4),(1))", (48, 3), "expected 144 elements"),
    ],
)
def test_others_are_errors(text: str, shape: tuple[int, int], message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        TileLayout.from_thread_value(text, shape)
