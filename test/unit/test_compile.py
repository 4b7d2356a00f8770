"""`tirx.compile`: what it takes, what it gives, what it raises."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

import tirx
from tirx import embed
from tirx.diagnostics import LocatedError
from tirx.hw.targets import TargetError
from tirx.text.parsing import parse_located
from tirx.universe import new_context

KERNEL = """
tirx.kernel @k(%x: memref<8x8xf32>) target("sm_80") threads(32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %t = tirx.view %x[%c0, %c0] : memref<8x8xf32> -> !tirx.tile<8x8xf32, global>
  tirx.fill %t, %one : f32, !tirx.tile<8x8xf32, global>
  tirx.return
}
"""


def test_text_and_module_are_the_same() -> None:
    module = parse_located(new_context(), KERNEL)
    before = str(module)
    assert tirx.compile(module) == tirx.compile(KERNEL)
    assert str(module) == before


def test_target() -> None:
    assert ".target sm_80\n" in tirx.compile(KERNEL)
    assert ".target sm_90a\n" in tirx.compile(KERNEL, target="sm_90a")
    with pytest.raises(TargetError, match="sm_99"):
        tirx.compile(KERNEL, target="sm_99")


def test_errors_say_where() -> None:
    with pytest.raises(LocatedError, match=r"^<string>:6:3: error: .* of type f32, found f16 \[element-types\]$"):
        tirx.compile(KERNEL.replace("1.0 : f32", "1.0 : f16").replace("%one : f32", "%one : f16"))
    with pytest.raises(LocatedError, match="expected at least one kernel"):
        tirx.compile(ModuleOp([]))


@pytest.mark.parametrize("wrong", [None, 3, ["tirx.kernel"]])
def test_other_things(wrong: Any) -> None:
    with pytest.raises(TypeError, match="expected a module or its text, found"):
        tirx.compile(wrong)


def test_what_beginners_pass() -> None:
    with pytest.raises(
        TypeError, match="expected MLIR text, found the name of a file, 'gemm.mlir'; pass what it contains$"
    ):
        tirx.compile("gemm.mlir")
    with pytest.raises(TypeError, match=r"expected passes, found the name 'tirx-cse'; `tirx.embed.pipeline\(\)` gives"):
        embed.run(ModuleOp([]), ["tirx-cse"])  # pyright: ignore[reportArgumentType]


def test_text_that_ends_with_the_name_of_a_file() -> None:
    assert tirx.compile('tirx.kernel @k() target("sm_80") threads(32) { tirx.return }\n// as in k.mlir')
