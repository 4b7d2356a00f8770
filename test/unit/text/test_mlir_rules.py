"""Operations of MLIR's dialects that xDSL accepts and MLIR does not."""

from __future__ import annotations

import pytest
from unit.cases import together

from tirx.diagnostics import LocatedError
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context

_VALUES = '%p, %n, %f, %v, %m = "test.op"() : () -> (i1, i32, f16, memref<8xf32>, memref<8x8xf32>)\n'
_WHILE = """%r = scf.while (%a = %n) : (i32) -> (i32) {{
  scf.condition(%p) {condition}
}} do {{
{block}
  scf.yield {after}
}}"""
_TRANSPOSE = "linalg.transpose ins(%m : memref<8x8xf32>) outs(%m : memref<8x8xf32>) permutation = [{}]"
_DIMENSIONS = "expected {} of 'linalg.{}' to be different dimensions of memref<8x8xf32>"
_SAME = {"condition": "%a : i32", "block": "^bb0(%b : i32):", "after": "%b : i32"}


@together(
    ("text", "message"),
    [
        ("%r = scf.if %p -> (i32) {}", "expected 'scf.yield' of (i32) in 'scf.if', found ()"),
        (
            "%r = scf.if %p -> (i32) { scf.yield %n : i32 }",
            "expected 'scf.yield' at the end of each region of 'scf.if', found none",
        ),
        (
            "%r = scf.if %p -> (i32) { scf.yield %n : i32 } else { scf.yield %p : i1 }",
            "expected 'scf.yield' of (i32) in 'scf.if', found (i1)",
        ),
        (
            _WHILE.format(**_SAME | {"condition": "%a, %a : i32, i32"}),
            "expected 'scf.condition' of (i32) in 'scf.while', found (i32, i32)",
        ),
        (
            _WHILE.format(**_SAME | {"after": "%p : i1"}),
            "expected 'scf.yield' of (i32) in 'scf.while', found (i1)",
        ),
        (
            _WHILE.format(**_SAME | {"block": "", "after": "%n : i32"}),
            "expected arguments (i32) of the region of 'scf.while', found ()",
        ),
        (
            "%r = scf.execute_region -> (i32) { scf.yield %p : i1 }",
            "expected 'scf.yield' of (i32) in 'scf.execute_region', found (i1)",
        ),
        (_TRANSPOSE.format("2, 0"), f"{_DIMENSIONS.format('permutation', 'transpose')}, found [2, 0]"),
        (_TRANSPOSE.format("0, 0"), f"{_DIMENSIONS.format('permutation', 'transpose')}, found [0, 0]"),
        (
            "linalg.broadcast ins(%v : memref<8xf32>) outs(%m : memref<8x8xf32>) dimensions = [-1]",
            f"{_DIMENSIONS.format('dimensions', 'broadcast')}, found [-1]",
        ),
        (
            "linalg.reduce ins(%m : memref<8x8xf32>) outs(%v : memref<8xf32>) dimensions = [2] "
            "(%a : f32, %b : f32) { linalg.yield %a : f32 }",
            f"{_DIMENSIONS.format('dimensions', 'reduce')}, found [2]",
        ),
        ("%r = arith.extf %f : f16 to bf16", "expected a result of more bits than f16, found bf16"),
        ("%r = arith.truncf %f : f16 to f32", "expected a result of fewer bits than f16, found f32"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(LocatedError) as caught:
        verify_located(parse_located(new_context(), _VALUES + text, "f"))
    assert message in str(caught.value) and str(caught.value).startswith("f:2:")


def test_accepted() -> None:
    for text in (_WHILE.format(**_SAME), "scf.if %p {}", "%r = arith.extf %f : f16 to f32", _TRANSPOSE.format("1, 0")):
        verify_located(parse_located(new_context(), _VALUES + text, "f"))
