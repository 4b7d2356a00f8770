"""Accesses of the two blocks of a pair to global memory that meet, of which nothing orders one behind the other."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed
from xdsl.dialects import scf

from tirx.dialects.tirx import CopyOp, StoreOp, TileType, ViewOp
from tirx.passes.match.global_accesses import GlobalAccess
from tirx.passes.rings.pair_order import PairAccess, check_pair_order
from tirx.rules import PairError

_TEXT = """
!g = !tirx.tile<{shape}xf16, global>
tirx.kernel @k(%a: memref<64x64xf16>, %b: memref<64x64xf16>, %n: index) target("sm_100a") threads(128) {{
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %s = tirx.alloc : !tirx.tile<{shape}xf16, shared>
  %r = tirx.zero : !tirx.tile<{shape}xf16, register>
  scf.for %i = %c0 to %n step %c4 {{
    %m = arith.addi %n, %c4 : index
    %v = tirx.view %a[{first}] : memref<64x64xf16> -> !g
    %w = tirx.view {second} : memref<64x64xf16> -> !tirx.tile<{other}xf16, global>
    %t = tirx.subview %w[0, 0] : !tirx.tile<{other}xf16, global> -> !tirx.tile<2x2xf16, global>
    tirx.copy %v, %s : !g, !tirx.tile<{shape}xf16, shared>
    tirx.store %r, %v : !tirx.tile<{shape}xf16, register>, !g
  }}
  tirx.return
}}
"""


def _refused(
    second: str,
    *,
    first: str = "%n, %c0",
    splits: tuple[int | None, int | None] = (0, 0),
    writes: tuple[bool, bool] = (False, True),
    part: bool = False,
    other: str = "8x8",
) -> bool:
    module = parsed(_TEXT.format(shape="8x8", first=first, second=second, other=other))
    a, b = (op.result for op in module.walk() if isinstance(op, ViewOp))
    if part:
        b = next(use.operation.results[0] for use in b.uses)
    copy, store = (op for op in module.walk() if isinstance(op, CopyOp | StoreOp))
    assert any(isinstance(op, scf.ForOp) for op in module.walk()) and TileType.of(a).dims == (8, 8)
    accesses = [
        PairAccess(op, GlobalAccess(tile, written), split)
        for op, tile, written, split in zip((copy, store), (a, b), writes, splits, strict=True)
    ]
    try:
        check_pair_order(accesses)
    except PairError as error:
        assert "the half of global memory that it touches in" in str(error)
        return True
    return False


_SAME = "%a[%n, %c0]"


@pytest.mark.parametrize("split", [0, 1])
def test_the_own_half_is_no_conflict(split: int) -> None:
    assert not _refused(_SAME, splits=(split, split))


def test_what_is_read_only_needs_no_order() -> None:
    assert not _refused("%a[%c0, %c0]", writes=(False, False))
    assert _refused("%a[%c0, %c0]", writes=(True, False)) and _refused("%a[%c0, %c0]")


def test_other_halves_meet() -> None:
    assert _refused(_SAME, splits=(None, 0)) and _refused(_SAME, splits=(0, None))
    assert _refused(_SAME, splits=(0, 1)) and _refused(_SAME, splits=(1, 0))
    assert _refused("%a[%m, %c0]") and not _refused("%a[%m, %c8]"), "tiles that share no element"
    assert _refused(_SAME, other="4x8") and not _refused(_SAME, other="8x4")
    assert _refused(_SAME, part=True), "a part may begin elsewhere"
    assert not _refused("%b[%c0, %c0]", splits=(None, 0)), "another argument"


def test_other_iterations_meet() -> None:
    assert _refused("%a[%i, %c0]", first="%i, %c0") and not _refused("%a[%n, %i]", first="%n, %i")
    assert _refused("%a[%n, %i]", first="%n, %i", splits=(1, 1))
