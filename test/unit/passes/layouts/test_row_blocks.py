"""Accumulators of 256 rows: two blocks of 128 rows side by side."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import AllocOp, KernelOp, TileType, base_allocation
from tirx.layout import TileLayout
from tirx.passes.layouts.row_blocks import _place  # pyright: ignore[reportPrivateUsage]

PLACED = "#tirx.tile_layout<S[(2, 128, 64) : (64@TCol, 1@TLane, 1@TCol)]>"


@together(
    ("tile", "part", "expected"),
    [
        ("256x64xf32, tensor", "", "S[(2, 128, 64) : (64@TCol, 1@TLane, 1@TCol)]"),
        ("256x64xf32, tensor", "[0, 16] : 256x16xf32", "S[(2, 128, 64) : (64@TCol, 1@TLane, 1@TCol)]"),
        ("2x5x3x256x8xf32, tensor", "",
         "S[(2, 5, 3, 2, 128, 8) : (240@TCol, 48@TCol, 16@TCol, 8@TCol, 1@TLane, 1@TCol)]"),
        ("512x64xf32, tensor", "[0, 0] : 256x64xf32", None),
        (f"256x64xf32, tensor, {PLACED}", "", None),
    ],
)  # fmt: skip
def test_places(tile: str, part: str, expected: str | None) -> None:
    at, _, dims = part.partition(" : ")
    view = f"%p = tirx.subview %t{at} : !tirx.tile<{tile}> -> !tirx.tile<{dims}, tensor>" if part else ""
    text = f"""tirx.kernel @k() target("sm_100a") threads(128) {{
  %t = tirx.alloc : !tirx.tile<{tile}>
  {view}
  tirx.return
}}"""
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    found = [op.results[0] for op in kernel.body.block.ops if op.results]
    before = TileType.of(found[0]).layout
    assert _place(found[-1]) == (expected is not None)
    alloc = next(op for op in kernel.walk() if isinstance(op, AllocOp))
    placed = TileType.of(base_allocation(alloc.result)).layout
    if expected is None:
        assert placed == before
    else:
        assert isinstance(placed, TileLayout) and placed.equivalent(TileLayout.parse(expected))


def test_a_tile_that_is_no_allocation() -> None:
    text = """tirx.kernel @k(%x: i32) target("sm_100a") threads(128) {
  %t = builtin.unrealized_conversion_cast %x : i32 to !tirx.tile<256x64xf32, tensor>
  tirx.return
}"""
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    first = kernel.body.block.first_op
    assert first is not None and not _place(first.results[0])
