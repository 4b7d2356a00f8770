"""The product of a kernel: its operands are found through copies, loads, parts and maps, or there is none."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import f16, f32

from tirx.dialects.tirx import KernelOp
from tirx.passes.match.kernel_product import product_of
from tirx.passes.match.tile_choice import Operands

_KERNEL = """
!s = !tirx.tile<64x64xf16, shared>
!r = !tirx.tile<64x64xf32, register>
!g = !tirx.tile<64x64xf16, global>
!o = !tirx.tile<64x64xf32, global>
tirx.kernel @k(%a: memref<{batch}64x128xf16>, %b: memref<{batch}64x128xf16>, %d: memref<{batch}64x64xf32>)
    target("sm_90a") threads(128) {{
  %z = arith.constant 0 : index
  %ga = tirx.view %a[{zeros}%z, %z] : memref<{batch}64x128xf16> -> !g
  %gb = tirx.view %b[{zeros}%z, %z] : memref<{batch}64x128xf16> -> !g
  %gd = tirx.view %d[{zeros}%z, %z] : memref<{batch}64x64xf32> -> !o
  %s = tirx.alloc : !s
  %t = tirx.alloc : !s
  %u = tirx.alloc : !s
  %acc = tirx.alloc : !r
  %sums = tirx.alloc : !r
{lines}
  tirx.return
}}
"""
_A = "tirx.copy %ga, %s : !g, !s"
_B = "tirx.copy %gb, %t : !g, !s"
_MMA = "tirx.mma %s, %t, %acc : !s, !s, !r"
_D = "tirx.copy %acc, %gd : !r, !o"
_IN_TURN = "tirx.copy %u, %s : !s, !s", "tirx.copy %s, %u : !s, !s"
_THERE_AND_BACK = "tirx.copy %acc, %sums : !r, !r", "tirx.copy %sums, %acc : !r, !r"
_MAP = """tirx.map ins(%acc : !r) outs(%sums : !r) {
^bb0(%x: f32, %y: f32):
  tirx.yield %x : f32
}"""


def _kernel(*lines: str, batch: str = "") -> KernelOp:
    text = _KERNEL.format(lines="\n".join(lines), batch=batch, zeros="%z, " * batch.count("x"))
    return next(op for op in parsed(text).walk() if isinstance(op, KernelOp))


@together(
    "lines",
    [
        (_A, _B, _MMA, _D),
        ("tirx.copy %ga, %u : !g, !s", "tirx.copy %u, %s : !s, !s", _B, _MMA, _D),
        (_A, "%v = tirx.load %gb : !g -> !s", "tirx.mma %s, %v, %acc : !s, !s, !r", _D),
        (_A, _B, _MMA, "tirx.copy %acc, %sums : !r, !r", "tirx.copy %sums, %gd : !r, !o"),
        (_A, _B, _MMA, "%v = tirx.load %acc : !r -> !r", "tirx.store %v, %gd : !r, !o"),
        (_A, _B, _MMA, _MAP, "tirx.copy %sums, %gd : !r, !o"),
        (_A, _B, "%c = tirx.zero : !r", "%v = tirx.mma %s, %t, %c : !s, !s, !r -> !r", "tirx.copy %v, %gd : !r, !o"),
        # Tiles that are copied to each other.
        (*_IN_TURN, _A, _B, _MMA, _D),
        (_A, _B, _MMA, *_THERE_AND_BACK, _D),
    ],
)
def test_found(lines: tuple[str, ...]) -> None:
    found = product_of(_kernel(*lines))
    assert found is not None
    assert [view.result.name_hint for view in (found.a, found.b, found.d)] == ["ga", "gb", "gd"]
    assert found.operands == Operands((64, 64, 128), f16, f16, f32, f32, 1)


@together("lines", [(_A, _B, _D), (_A, _MMA, _D), (_B, _MMA, _D), (_A, _B, _MMA), (*_IN_TURN, _B, _MMA, _D)])
def test_none(lines: tuple[str, ...]) -> None:
    assert product_of(_kernel(*lines)) is None
    assert product_of(_kernel(*lines, *_THERE_AND_BACK)) is None


def test_part_of_a_tile() -> None:
    """A part comes from where the tile comes from."""
    both = "!tirx.tile<128x64xf16, shared>"
    lines = f"%p = tirx.subview %w[64, 0] : {both} -> !s", "tirx.mma %s, %p, %acc : !s, !s, !r"
    copied = f"%w = tirx.alloc : {both}", f"tirx.copy %gw, %w : {both.replace('shared', 'global')}, {both}"
    view = f"%gw = tirx.view %b[%z, %z] clipped : memref<64x128xf16> -> {both.replace('shared', 'global')}"
    found = product_of(_kernel(_A, view, *copied, *lines, _D))
    assert found is not None and found.b.result.name_hint == "gw"
    assert product_of(_kernel(_A, copied[0], *lines, _D)) is None


def test_batches() -> None:
    """Dimensions before the last two; one that only a launch knows counts as one."""
    for batch, count in (("3x5x", 15), ("?x7x", 7)):
        found = product_of(_kernel(_A, _B, _MMA, _D, batch=batch))
        assert found is not None and found.operands.batch == count
