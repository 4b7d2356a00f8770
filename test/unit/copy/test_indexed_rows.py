"""Rows that index tiles name, by tile::gather4 and tile::scatter4: every element is where numpy has it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx
from tirx.copy.tma import plan_boxes
from tirx.diagnostics import LocatedError
from tirx.layout import ComposeLayout, Iter, SwizzleLayout, SwizzleMode, TileLayout

_DTYPES = {"f16": np.float16, "f32": np.float32, "f8E4M3FN": ml_dtypes.float8_e4m3fn}


def _layout(dtype: str, mode: SwizzleMode, rows: int, columns: int) -> str:
    width = columns if mode == "none" else int(mode.removesuffix("B")) // np.dtype(_DTYPES[dtype]).itemsize
    tile = TileLayout((Iter(rows, width, "m"), Iter(columns // width, rows * width, "m"), Iter(width, 1, "m")))
    if mode == "none":
        return f"#tirx.tile_layout<{tile}>"
    swizzle = SwizzleLayout.for_dtype(dtype, mode)
    assert ComposeLayout(swizzle, tile)
    numbers = swizzle.per_element, swizzle.swizzle_len, swizzle.atom_len
    return f"#tirx.compose_layout<#tirx.swizzle_layout<{', '.join(map(str, numbers))}>, #tirx.tile_layout<{tile}>>"


def _text(dtype: str, index: str, rows: int, columns: int, layout: str, target: str = "sm_100a") -> str:
    return f"""
        !x = memref<?x?x{dtype}>
        !ids = memref<{rows}x{index}>
        !s = !tirx.tile<{rows}x{columns}x{dtype}, shared, {layout}>
        !i = !tirx.tile<{rows}x{index}, register>
        tirx.kernel @k(%x: !x, %from: !ids, %to: !ids, %y: !x, %at: index) target("{target}") grid(1) threads(96) {{
          %i = tirx.load %from[0] : !ids -> !i
          %j = tirx.load %to[0] : !ids -> !i
          %s = tirx.alloc : !s
          tirx.copy %x[[%i], %at] clipped, %s engine tma : !x, !s
          tirx.copy %s, %y[[%j], 16] clipped engine tma_store : !s, !x
        }}
    """


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(sorted(_DTYPES)),
    st.sampled_from(("none", "32B", "64B", "128B")),
    st.sampled_from(("i32", "i64")),
    st.sampled_from((4, 12, 64, 192)),
    st.integers(1, 2),
    st.integers(0, 2**32),
)
def test_rows(dtype: str, mode: SwizzleMode, index: str, rows: int, boxes: int, seed: int) -> None:
    """Indices repeat and are outside, rows end within the tile, and places of what is stored are each once."""
    size = np.dtype(_DTYPES[dtype]).itemsize
    columns = boxes * (64 if mode == "none" else int(mode.removesuffix("B")) // size)
    text = _text(dtype, index, rows, columns, _layout(dtype, mode, rows, columns))
    program = tirx.build(text)
    assert "tile::gather4" in program.ptx and "tile::scatter4" in program.ptx
    rng = np.random.default_rng(seed)
    sizes = int(rng.integers(1, 40)), int(rng.integers(1, 12)) * 16 // size
    x = rng.integers(-8, 8, sizes).astype(_DTYPES[dtype])
    far = np.iinfo(np.int32 if index == "i32" else np.int64)
    source = rng.choice([*range(-2, sizes[0] + 2), far.min, far.max], rows).astype(far.dtype)
    room = rows + 8
    to = rng.permutation(np.concatenate([np.arange(room), rng.choice([-1, room, far.min, far.max], 8)]))[:rows]
    y = rng.integers(-8, 8, (room, 16 // size * int(rng.integers(2, 12)))).astype(_DTYPES[dtype])
    at = int(rng.integers(-1, 3)) * 16
    padded = np.zeros((sizes[0] + 1, 1024), _DTYPES[dtype])
    padded[:-1, 256 : 256 + sizes[1]] = x
    tile = padded[np.where((source >= 0) & (source < sizes[0]), source, -1), 256 + at :][:, :columns]
    expected = y.copy()
    for row, place in zip(tile, to.tolist(), strict=True):
        if 0 <= place < room:
            part = expected[place, 16 : 16 + columns]
            part[:] = row[: len(part)]
    program.kernels["k"].simulate(x, source, to.astype(far.dtype), y, at, check="strict")
    assert np.array_equal(y, expected)


@pytest.mark.parametrize(
    ("dtype", "rows", "columns", "layout", "target", "message"),
    [
        ("f16", 62, 64, "none", "sm_100a", "expected a multiple of 4 rows by their indices in a bulk copy, found 62"),
        ("f16", 64, 8, "none", "sm_100a", "expected every box to start at a multiple of 128 bytes"),
        ("f16", 64, 32, "#tirx.tile_layout<S[(64, 32) : (40, 1)]>", "sm_100a", "expected whole rows of a box"),
        ("f16", 64, 64, "none", "sm_90a", "expected sm_100 or later, found sm_90a"),
    ],
)
def test_refusals(dtype: str, rows: int, columns: int, layout: str, target: str, message: str) -> None:
    """Errors where the engine is written; without it other engines copy the same."""
    layout = _layout(dtype, "none", rows, columns) if layout == "none" else layout
    text = _text(dtype, "i32", rows, columns, layout, target)
    with pytest.raises(LocatedError) as caught:
        tirx.build(text)
    assert message in str(caught.value)
    ptx = tirx.build(text.replace("engine tma_store", "").replace("engine tma", "")).ptx
    assert ".tile::" not in ptx and "ld.global" in ptx


@pytest.mark.parametrize(("layout", "apart"), [("(4, 64) : (64, 1)", 512), ("(2, 4, 64) : (320, 64, 1)", 640)])
def test_how_far_groups_of_rows_are_apart(layout: str, apart: int) -> None:
    tile = TileLayout.parse(f"S[{layout}]")
    assert plan_boxes(tile, (tile.size() // 64, 64), "f16", 1, 0).rows_apart == apart


def test_rows_that_clash() -> None:
    """Different numbers at one place are a wrong program, in one instruction and in several; equal ones are none."""
    kernel = tirx.build(_text("f32", "i32", 8, 32, _layout("f32", "128B", 8, 32))).kernels["k"]
    x, to = np.arange(8 * 32, dtype=np.float32).reshape(8, 32), np.arange(8, dtype=np.int32)
    for i, j in ((0, 3), (1, 6)):
        with pytest.raises(Exception, match="data race: a bulk copy"):
            kernel.simulate(x, to, np.where(to == i, j, to), np.zeros((8, 64), np.float32), 0, check="strict")
    y = np.zeros((8, 64), np.float32)
    kernel.simulate(x, np.full_like(to, 5), to // 3, y, 0, check="strict")
    assert np.array_equal(y[:3, 16:48], x[[5, 5, 5]]) and not y[3:].any()
