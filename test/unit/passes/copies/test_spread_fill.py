"""Fills by `cp.async` that are cut into pieces of rows: which may be, and what each piece copies."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import AsyncCopyOp, AtOp, ForOp, ReleaseOp, SubviewOp, TileType
from tirx.passes.copies.spread_fill import SpreadFill

COPY = "tirx.async_copy %g, %s engine(cp_async) : !g, !s"
FILL = """%kk = arith.muli %k, %c32 : index
      %g = tirx.view %x[%c0, %kk] : memref<96x4096xf16> -> !g
      %s = tirx.acquire %ring at(fill)"""
RELEASE = "tirx.release %ring at(fill) after(cp_async)"


def _loop(parts: str, rows: int = 48) -> ForOp:
    """A loop of a kernel with 32 threads, which copy 8 rows of 64 bytes at once."""
    module = parsed(f"""!s = !tirx.tile<{rows}x32xf16, shared, #tirx.tile_layout<S[{rows}, 32]>>
!g = !tirx.tile<{rows}x32xf16, global, #tirx.tile_layout<S[({rows}, 32) : (4096, 1)]>>
tirx.kernel @k(%x: memref<96x4096xf16>, %n: index) target("sm_90") threads(32) {{
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %ring = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  %other = tirx.ring slots(4) stations(fill, use) : !tirx.ring<!s>
  tirx.for @k %k = 0 to %n skew(3) {{ {parts} tirx.at(3) {{ %u = tirx.acquire %ring at(use) }} }}
  tirx.return
}}""")
    return next(op for op in module.walk() if isinstance(op, ForOp))


ONE = f"tirx.at(0) {{ {FILL} {COPY} {RELEASE} }}"
LATER = f"tirx.at(1) {{ {FILL} {COPY} {RELEASE} }}"


@pytest.mark.parametrize(
    ("parts", "rows", "use", "count", "is_cut"),
    [
        (ONE, 48, 2, 3, True),
        (ONE, 48, 2, 2, True),
        (ONE, 48, 2, 6, True),
        (f"tirx.at(0) {{ {FILL} {COPY} {COPY} {RELEASE} }}", 48, 2, 3, True),
        # Pieces of other numbers of rows, or of fewer than all threads copy at once.
        (ONE, 48, 2, 5, False),
        (ONE, 32, 2, 3, False),
        (ONE, 64, 2, 16, False),
        (ONE, 48, 2, 1, False),
        (ONE, 48, 2, 12, False),
        # A round has to be between the fill and the use.
        (ONE, 48, 1, 2, False),
        (LATER, 48, 3, 2, True),
        (LATER, 48, 2, 2, False),
        (ONE.replace(RELEASE, f"{RELEASE} tirx.yield %kk").replace("tirx.at", "%v = tirx.at"), 48, 2, 2, False),
        (f"{ONE} {LATER}", 48, 3, 2, False),
        (ONE.replace(RELEASE, RELEASE.replace("%ring", "%other")), 48, 2, 2, False),
        (ONE.replace("cp_async", "tma"), 48, 2, 2, False),
        (ONE.replace(COPY, f'{COPY} "test.other"() : () -> ()'), 48, 2, 2, False),
        (f'tirx.at(0) {{ "test.any"() : () -> () }} {ONE}', 48, 2, 2, True),
    ],
)
def test_which_fills_are_cut(parts: str, rows: int, use: int, count: int, is_cut: bool) -> None:
    loop = _loop(parts, rows)
    before = str(loop)
    fill = SpreadFill.of(loop, use, count)
    assert (fill is not None) == is_cut and str(loop) == before
    assert fill is None or (fill.count, fill.part.offset) == (count, 1 if parts is LATER else 0)


def _rows(part: AtOp) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The first element and the shape of each end of the copies of a part."""
    ends = [end for op in part.walk() if isinstance(op, AsyncCopyOp) for end in (op.source, op.destination)]
    views = [end.owner for end in ends]
    return [(view.start, TileType.of(view.result).dims) for view in views if isinstance(view, SubviewOp)]


@pytest.mark.parametrize("count", [2, 3])
def test_pieces(count: int) -> None:
    loop = _loop(f"tirx.at(0) {{ {FILL} {COPY} {COPY} {RELEASE} }}")
    fill = SpreadFill.of(loop, 2, count)
    assert fill is not None
    later = fill.cut()
    pieces = [loop.parts[0], *later]
    assert len(loop.parts) == 2
    size = 48 // count
    assert [part.offset for part in pieces] == [0] + [1] * (count - 1)
    assert [_rows(part) for part in pieces] == [[((size * i, 0), (size, 32))] * 4 for i in range(count)]
    releases = [sum(isinstance(op, ReleaseOp) for op in part.walk()) for part in pieces]
    assert releases == [0] * (count - 1) + [1]
    names = [[op.name for op in part.body.block.ops if op.name.startswith("arith.")] for part in pieces]
    assert names == [["arith.muli"]] * count
    assert [value.name_hint for value in pieces[0].values] == ["s"]
    copies = [op for part in later for op in part.walk() if isinstance(op, AsyncCopyOp)]
    views = [op.destination.owner for op in copies]
    assert all(isinstance(view, SubviewOp) and view.source is pieces[0].values[0] for view in views)
