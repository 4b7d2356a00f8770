"""Parts of a tile that the copies to it fill."""

from __future__ import annotations

from unit.cases import together

from tirx.dialects.tirx import AllocOp
from tirx.passes.match.pipelining import covers
from tirx.text.parsing import parse_located
from tirx.universe import new_context

_TEXT = """
!s = !tirx.tile<64x64xf16, shared>
!half = !tirx.tile<32x64xf16, shared>
tirx.kernel @k(%n: index) target("sm_90a") threads(128) {
  %s = tirx.alloc : !s
  %top = tirx.subview %s[0, 0] : !s -> !half
  %bottom = tirx.subview %s[32, 0] : !s -> !half
  %middle = tirx.subview %s[16, 0] : !s -> !half
  %even = tirx.subview %s[0, 0] steps [2, 1] : !s -> !half
  %odd = tirx.subview %s[63, 0] steps [-2, 1] : !s -> !half
  %computed = tirx.subview %s[%n, 0] : !s -> !half
  tirx.return
}
"""


@together(
    ("writes", "reads", "expected"),
    [
        ("top", "top", True),
        ("top", "bottom", False),
        ("top", "top middle", False),
        ("top bottom", "middle", True),
        ("top bottom", "s", True),
        ("top", "s", False),
        ("s", "computed", True),
        ("top bottom", "computed", True),
        ("top", "computed", False),
        ("computed", "top", False),
        ("top", "", True),
        ("even odd", "s", True),
        ("top", "even", False),
        ("odd", "top", False),
        ("odd top", "odd top", True),
    ],
)
def test_covered_parts(writes: str, reads: str, expected: bool):
    module = parse_located(new_context(), _TEXT, "parts.mlir")
    named = {result.name_hint: result for op in module.walk() for result in op.results}
    alloc = named["s"].owner
    assert isinstance(alloc, AllocOp)
    assert covers(alloc, [named[name] for name in writes.split()], [named[name] for name in reads.split()]) is expected
