"""Tensor maps of copies: dimensions and boxes from the innermost on, strides in bytes, what launches compute."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.copy.tma import TmaError
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx import CopyOp, TileType
from tirx.passes.match.bulk_copies import TmaCopy, plan_tma
from tirx.passes.match.product import target_of

KERNEL = """
tirx.kernel @k(%n: index, %a: memref<{memref}>) target("sm_100a") threads(128) {{
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !tirx.tile<{part}, shared, {layout}>
  %g = tirx.view %a[{indices}] {clipped} : memref<{memref}> -> !tirx.tile<{tile}, global>
  {subview}
  tirx.copy {source}, %s : !tirx.tile<{part}, global>, !tirx.tile<{part}, shared, {layout}>
  tirx.return
}}
"""


def _planned(memref: str, tile: str, indices: str, part: str = "", clipped: str = "") -> TmaCopy:
    """The copy of a view, or of the part of it at [2, 16], to a tile without a swizzle."""
    subview = f"%p = tirx.subview %g[2, 16] : !tirx.tile<{tile}, global> -> !tirx.tile<{part}, global>" if part else ""
    dims = [int(n) for n in (part or tile).split("x")[:-1]]
    strides = [1]
    for n in reversed(dims[1:]):
        strides.insert(0, strides[0] * n)
    layout = f"#tirx.tile_layout<S[({', '.join(map(str, dims))}) : ({', '.join(map(str, strides))})]>"
    text = KERNEL.format(
        memref=memref,
        tile=tile,
        part=part or tile,
        layout=layout,
        indices=indices,
        clipped=clipped,
        subview=subview,
        source="%p" if part else "%g",
    )
    module = parsed(text)
    copy = next(op for op in module.walk() if isinstance(op, CopyOp))
    return plan_tma(copy.source, TileType.of(copy.destination), target_of(copy))


def _size(dimension: int) -> Formula:
    return Call("size", (1, dimension))


def _stride(dimension: int, size: int) -> Formula:
    return Call("mul", (Call("stride", (1, dimension)), size))


Expected = tuple[tuple[Formula, ...], tuple[Formula, ...], tuple[int, ...], tuple[int, ...]]
"""Dimensions, strides in bytes, the box, and dimensions of the memref with run-time strides."""

CASES: list[tuple[str, str, str, str, Expected]] = [
    ("70x128xf16", "16x64xf16", "%c0, %c0", "f16", ((128, 70), (256,), (64, 16), ())),
    ("70x128xf64", "16x24xf64", "%c0, %c0", "f64", ((128, 70), (1024,), (24, 16), ())),
    ("5x70x128xf16", "16x64xf16", "%n, %c0, %c0", "f16", ((128, 70, 5), (256, 17920), (64, 16, 1), ())),
    (
        "5x?x?xf16", "16x64xf16", "%n, %c0, %c0", "f16",
        ((_size(2), _size(1), 5), (_stride(1, 2), _stride(0, 2)), (64, 16, 1), (0, 1)),
    ),
    (
        "5x70x128xf32, strided<[?, 132, 1]>", "16x64xf32", "%n, %c0, %c0", "f32",
        ((128, 70, 5), (528, _stride(0, 4)), (64, 16, 1), (0,)),
    ),
    # Two elements of 4 bits are one of a byte.
    ("70x128xi4", "16x64xi4", "%c0, %c0", "u8", ((64, 70), (64,), (32, 16), ())),
    (
        "70x?xf4E2M1FN", "16x128xf4E2M1FN", "%c0, %c0", "u8",
        ((Call("ceildiv", (_size(1), 2)), 70), (Call("ceildiv", (Call("stride", (1, 0)), 2)),), (64, 16), (0,)),
    ),
    ("4x6x64xf16", "4x3x64xf16", "%c0, %c0, %c0", "f16", ((64, 6, 4), (128, 768), (64, 3, 4), ())),
    # The stride of a dimension of one element is never used: it is rounded up to what tensor maps have.
    ("1x70x128xf16, strided<[9, 128, 1]>", "1x16x64xf16", "%c0, %n, %c0", "f16",
     ((128, 70, 1), (256, 32), (64, 16, 1), ())),
]  # fmt: skip


@together(("memref", "tile", "indices", "type_", "expected"), CASES)
def test_tensor_maps(memref: str, tile: str, indices: str, type_: str, expected: Expected) -> None:
    found = _planned(memref, tile, indices)
    map_ = found.tensor_map
    assert (map_.dims, map_.strides, map_.box, found.run_time_strides) == expected
    assert (map_.argument, map_.type, map_.swizzle) == (1, type_, "none")
    assert found.groups == tuple((d,) for d in reversed(range(len(expected[0]))))


def test_parts_begin_inside_of_their_views() -> None:
    found = _planned("70x128xf16", "16x64xf16", "%n, %c0", "5x24xf16")
    assert found.origin.start == (2, 16)
    assert (found.tensor_map.dims, found.tensor_map.box) == ((128, 70), (24, 5))


@pytest.mark.parametrize(
    ("memref", "tile", "problem"),
    [
        (
            "70x127xf4E2M1FN, strided<[128, 1]>",
            "16x64xf4E2M1FN",
            "expected rows of an even number of e2m1 elements for a tensor map, found 127",
        ),
        (
            "70x128xf16, strided<[130, 1]>",
            "16x64xf16",
            "expected strides of multiples of 16 bytes for a tensor map, found a stride of 130 f16 elements in "
            "dimension 0 of the memref",
        ),
    ],
)
def test_memrefs_without_tensor_maps(memref: str, tile: str, problem: str) -> None:
    with pytest.raises(TmaError) as error:
        _planned(memref, tile, "%n, %c0", clipped="clipped")
    assert str(error.value) == problem
