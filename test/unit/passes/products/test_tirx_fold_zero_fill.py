"""Zeros, parts that overlap, and operations that only read a tile."""

from __future__ import annotations

from unit.passes.parsed import parsed
from xdsl.dialects import arith

from tirx.dialects.tirx import CopyOp, FillOp, LoadOp, StoreOp
from tirx.passes.products.tirx_fold_zero_fill import (
    _is_zero,  # pyright: ignore[reportPrivateUsage]
    _overlap,  # pyright: ignore[reportPrivateUsage]
    _reads,  # pyright: ignore[reportPrivateUsage]
)
from tirx.passes.rings.tirx_split_last_round import is_zero as is_any_zero

TILES = """
!t = !tirx.tile<128x64xf32, tensor>
!s = !tirx.tile<128x64xf32, shared>
!g = !tirx.tile<128x64xf32, global>
!r = !tirx.tile<128x64xf32, register>
tirx.kernel @k(%x: memref<128x64xf32>, %f: f32, %r: !r) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %t = tirx.alloc : !t
  %u = tirx.alloc : !t
  %s = tirx.alloc : !s
  %g = tirx.view %x[%c0, %c0] : memref<128x64xf32> -> !g
  %l = tirx.load %t : !t -> !r
  tirx.copy %t, %s : !t, !s
  tirx.copy %t, %g : !t, !g
  tirx.copy %s, %t : !s, !t
  tirx.copy %u, %t : !t, !t
  tirx.copy %t, %u : !t, !t
  tirx.copy %t, %g reduce(add) : !t, !g
  tirx.copy %t, %s engine tcgen05_ld : !t, !s
  tirx.store %l, %t : !r, !t
  tirx.fill %t, %f : f32, !t
  tirx.return
}
"""


def test_reads_of_a_tile() -> None:
    """Loads, and plain copies of the tile to other memories."""
    ops = [op for op in parsed(TILES).walk() if isinstance(op, LoadOp | CopyOp | StoreOp | FillOp)]
    (tile,) = (op.source for op in ops if isinstance(op, LoadOp))
    assert [_reads(op, tile) for op in ops] == [True, True, True, *[False] * 7]


def test_overlaps_of_parts() -> None:
    parts = {name: ((first, first + 4), (0, 8)) for name, first in (("a", 0), ("b", 4), ("c", 3), ("d", 9))}
    found = {x + y for x in parts for y in parts if _overlap(parts[x], parts[y])}
    assert found == {"aa", "bb", "cc", "dd", "ac", "ca", "bc", "cb"}
    assert not _overlap(((0, 4), (0, 4)), ((0, 4), (4, 8)))


def test_zeros() -> None:
    """A product that is -0 stays so: only the positive zero is nothing. As a sum, both are."""
    texts = ("0.0 : f32", "-0.0 : f32", "0.5 : f32", "0 : i32", "1 : i32", "dense<0> : vector<2xi32>")
    values = [
        op.result
        for text in texts
        for op in parsed(f"%c = arith.constant {text}").walk()
        if isinstance(op, arith.ConstantOp)
    ]
    assert [_is_zero(value) for value in values] == [True, False, False, True, False, False]
    assert [is_any_zero(value) for value in values] == [True, True, False, True, False, False]
