"""Bulk tensor copies of tiles with `dims` and `steps`: every element is where numpy has it, zeros outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tirx
from tirx.diagnostics import LocatedError
from tirx.runtime.launch import TensorMapArgument


def _text(memref: str, where: str, tile: str, back: str = "") -> str:
    kind = f"!tirx.tile<{tile}, shared>"
    zeros = ", ".join("0" for _ in tile.split("x")[:-1])
    return f"""
        tirx.kernel @k(%a: memref<{memref}>, %d: memref<{tile}>) target("sm_90a") grid(1) threads(64) {{
          %s = tirx.alloc : {kind}
          tirx.copy %a{where} clipped, %s engine {"tma" if not back else "ld_st"} : memref<{memref}>, {kind}
          tirx.copy %s, {back or f"%d[{zeros}] engine ld_st : {kind}, memref<{tile}>"}
        }}
    """


@pytest.mark.parametrize(
    ("memref", "size", "place", "dims", "steps", "tile"),
    [
        ("?x9x?x16xf16", (3, 9, 20, 16), (1, -1, -3, 8), (1, 2, 3), (1, 2, 3, 1), (4, 8, 16)),
        ("5x3x3x?xf32", (5, 3, 3, 12), (1, 2, 1, 0), (0, 3), (1, 1, 1, 1), (8, 8)),
        ("40x32xsi8", (40, 32), (-8, 16), (0, 1), (8, 1), (8, 32)),
        ("64x16xf16", (64, 16), (3, 0), (1,), (1, 1), (16,)),
    ],
)
def test_loads(
    memref: str,
    size: Sequence[int],
    place: Sequence[int],
    dims: Sequence[int],
    steps: Sequence[int],
    tile: Sequence[int],
) -> None:
    where = f"{list(place)} dims({', '.join(map(str, dims))}) steps {list(steps)}"
    shape = "x".join(map(str, tile))
    kernel = tirx.build(_text(memref, where, f"{shape}x{memref.rpartition('x')[2]}")).kernels["k"]
    (tensor,) = (each for each in kernel.launch.arguments if isinstance(each, TensorMapArgument))
    assert set(tensor.steps) == (set(steps) if max(steps) > 1 else set())
    dtype: Any = {"f16": np.float16, "f32": np.float32, "si8": np.int8}[memref.rpartition("x")[2]]
    a = np.random.default_rng(0).integers(-99, 99, size).astype(dtype)
    expected = np.zeros(tile, dtype)
    for at in np.ndindex(*tile):
        found = list(place)
        for n, d in zip(at, dims, strict=True):
            found[d] += n * steps[d]
        if all(0 <= n < end for n, end in zip(found, size, strict=True)):
            expected[at] = a[tuple(found)]
    d = np.zeros(tile, dtype)
    kernel.simulate(a, d, check="strict")
    assert np.array_equal(d, expected)


@pytest.mark.parametrize(
    ("memref", "where", "tile", "back", "message"),
    [
        (
            "99x16xf16",
            "[0, 0] steps [9, 1]",
            "8x16xf16",
            "",
            "expected steps of at most 8, and boxes that span at most",
        ),
        ("999x16xf16", "[0, 0] steps [8, 1]", "64x16xf16", "", "found 8 and 505"),
        ("9x64xf16", "[0, 0] steps [1, 2]", "8x16xf16", "", "found steps of 2"),
        ("9x64xf16", "[0, 0] clipped to [*, 9]", "8x16xf16", "", "without sizes"),
        (
            "64x16xf16",
            "[0, 0]",
            "8x16xf16",
            "%a[0, 0] steps [2, 1] engine tma_store : !tirx.tile<8x16xf16, shared>, memref<64x16xf16>",
            "expected a tile without steps for a bulk store",
        ),
    ],
)
def test_boxes_that_tensor_maps_lack(memref: str, where: str, tile: str, back: str, message: str) -> None:
    text = _text(memref, where, tile, back).replace("clipped to [*, 9] clipped", "clipped to [*, 9]")
    with pytest.raises(LocatedError) as caught:
        tirx.build(text)
    assert message in str(caught.value)
