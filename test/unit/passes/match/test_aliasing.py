"""Views of a memref that share elements."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import ViewOp
from tirx.passes.match.aliasing import Overlap, overlap

_VIEW = "%v{name} = tirx.view %a[%{index}] : memref<1024xf16> -> !tirx.tile<8xf16, global>"
# %x and %y are 0 to 7, %y14 is 14 to 21, %y15 is 15 to 22.
_KERNEL = """
tirx.kernel @k(%a: memref<1024xf16>) target("sm_90a") threads(32) grid(8, 8) {{
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %c14 = arith.constant 14 : index
  %c15 = arith.constant 15 : index
  %c29 = arith.constant 29 : index
  %c30 = arith.constant 30 : index
  %x = tirx.block_id x
  %y = tirx.block_id y
  %x7 = arith.addi %x, %c7 : index
  %x8 = arith.addi %x, %c8 : index
  %y14 = arith.addi %y, %c14 : index
  %y15 = arith.addi %y, %c15 : index
  {views}
  tirx.return
}}
"""


def test_parts_of_views_and_of_allocations():
    """Of parts of views only that they are apart is certain; parts of an allocation are compared by their places."""
    text = _KERNEL.format(
        views="""
  %g = tirx.view %a[%c7] : memref<1024xf16> -> !tirx.tile<8xf16, global>
  %h = tirx.view %a[%c14] : memref<1024xf16> -> !tirx.tile<8xf16, global>
  %i = tirx.view %a[%c15] : memref<1024xf16> -> !tirx.tile<8xf16, global>
  %part = tirx.subview %g[0] : !tirx.tile<8xf16, global> -> !tirx.tile<4xf16, global>
  %s = tirx.alloc : WHOLE
  %top = tirx.subview %s[0, 0] : WHOLE -> PARTS[4, 8]>>
  %end = tirx.subview %s[4, 0] : WHOLE -> PARTS[4, 8] + 32@m>>
  %mid = tirx.subview %s[3, 0] : WHOLE -> PARTS[4, 8] + 24@m>>
  %n = tirx.alloc : !tirx.tile<8x8xf16, shared>"""
    )
    text = text.replace("PART", "!tirx.tile<4x8xf16, shared, #tirx.tile_layout<")
    text = text.replace("WHOLE", "!tirx.tile<8x8xf16, shared, #tirx.tile_layout<S[8, 8]>>")
    module = parsed(text)
    named = {value.name_hint: value for op in module.walk() for value in op.results}

    def between(first: str, second: str) -> Overlap:
        found = overlap(named[first], named[second])
        assert overlap(named[second], named[first]) is found
        return found

    assert [between("part", name) for name in "ghi"] == [Overlap.MAYBE, Overlap.MAYBE, Overlap.NO]
    assert [between("top", name) for name in ("top", "end", "mid", "s")] == [
        *(Overlap.YES, Overlap.NO),
        *(Overlap.YES, Overlap.YES),
    ]
    assert between("end", "mid") is Overlap.YES
    assert between("n", "n") is Overlap.MAYBE and between("n", "s") is Overlap.MAYBE


@together(
    ("first", "second", "expected"),
    [
        ("c7", "c14", Overlap.YES),
        ("c7", "c15", Overlap.NO),
        ("x", "x", Overlap.YES),
        ("x", "x7", Overlap.YES),
        ("x", "x8", Overlap.NO),
        ("x", "y", Overlap.MAYBE),
        ("x", "c14", Overlap.MAYBE),
        ("x", "c15", Overlap.NO),
        ("x", "y14", Overlap.MAYBE),
        ("x", "y15", Overlap.NO),
        ("y15", "c29", Overlap.MAYBE),
        ("y15", "c30", Overlap.NO),
        ("y15", "c7", Overlap.NO),
        ("y15", "c8", Overlap.MAYBE),
    ],
)
def test_views(first: str, second: str, expected: Overlap):
    views = "\n  ".join(_VIEW.format(name=name, index=index) for name, index in (("a", first), ("b", second)))
    module = parsed(_KERNEL.format(views=views))
    a, b = (op.result for op in module.walk() if isinstance(op, ViewOp))
    assert overlap(a, b) is expected
    assert overlap(b, a) is expected
