"""Kernels whose last round can be split: sums of one loop that begin at zero and are added to memory."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import context, parsed
from xdsl.dialects import scf
from xdsl.dialects.builtin import i32

from tirx.dialects.tirx import KernelOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.tirx_split_last_round import TirxSplitLastRoundPass, share_iterations
from tirx.rules import ScheduleOptionError

KERNEL = """
!s = !tirx.tile<64x64x{operand}, shared>
!v = !tirx.tile<64x64x{operand}, register>
!g = !tirx.tile<64x64x{operand}, global>
!acc = !tirx.tile<64x64x{sums}, accumulator>
!gd = !tirx.tile<64x64x{sums}, global>
tirx.kernel @k(%a: memref<?x512x{operand}>, %b: memref<?x512x{operand}>, %d: memref<?x?x{sums}>, %n: index, %x: {sums})
    target("sm_90a") grid(4, 3) threads(128) {{
  %value = arith.constant {value} : {sums}
  %other = arith.addi %n, %n : index
  %no = arith.constant false
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %i = tirx.block_id y
  %j = tirx.block_id x
  %z = tirx.block_id z
  %m = arith.muli %i, %c64 : index
  %c = arith.muli %j, %c64 : index
  %sa = tirx.alloc : !s
  %sb = tirx.alloc : !s
  %acc = tirx.alloc : !acc
  {before}
  tirx.fill %acc, {fill} : {sums}, !acc
  scf.for %k = %c0 to %n step %c64 {{
    %ga = tirx.view %a[%m, %k] clipped : memref<?x512x{operand}> -> !g
    %gb = tirx.view %b[%c, %k] clipped : memref<?x512x{operand}> -> !g
    tirx.copy %ga, %sa : !g, !s
    tirx.copy %gb, %sb : !g, !s
    tirx.mma %sa, %sb, %acc {accumulate} : !s, !s, !acc
    {inside}
  }}
  %gd = tirx.view %d[%m, %c] clipped : memref<?x?x{sums}> -> !gd
  tirx.copy %acc, %gd {how} : !acc, !gd
  {behind}
  tirx.return
}}
"""

OPTIONS = {
    "operand": "f16", "sums": "f32", "value": "0.0", "fill": "%value", "accumulate": "", "before": "", "inside": "",
    "how": "reduce(add)", "behind": "",
}  # fmt: skip

_LOADED = "%v = tirx.load %sa : !s -> !v"


def _split(**options: str) -> KernelOp:
    module = parsed(KERNEL.format(**(OPTIONS | options)))
    TirxSplitLastRoundPass("last").apply(context(), module)
    return next(op for op in module.walk() if isinstance(op, KernelOp))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"value": "-0.0"},
        {"operand": "i8", "sums": "i32", "value": "0"},
        {"inside": "%more = arith.addi %k, %n : index"},
        {"inside": "tirx.fill %sa, %h : f16, !s", "before": "%h = arith.constant 1.0 : f16"},
        {"inside": "tirx.copy %sa, %sb : !s, !s"},
        {"behind": "%more = arith.addi %n, %n : index"},
        {"inside": f"{_LOADED} %w = tirx.map ins(%v : !v) (%e) {{ %e }} -> !v"},
    ],
)
def test_kernels_that_are_split(options: dict[str, str]) -> None:
    """The grid becomes a number of blocks, whole tiles and parts; block ids of a third dimension are 0."""
    kernel = _split(**options)
    assert len(kernel.launch_grid or ()) == 1
    assert {op.axis.data.value for op in kernel.walk() if op.name == "tirx.block_id"} == {"x"}  # pyright: ignore


@together(
    ("options", "found"),
    [
        ({"value": "1.0"}, "tirx.fill"),
        ({"operand": "i8", "sums": "i32", "value": "1"}, "tirx.fill"),
        ({"fill": "%x"}, "tirx.fill"),
        ({"how": ""}, "tirx.copy"),
        ({"how": "reduce(max)"}, "tirx.copy"),
        ({"accumulate": "accumulate(%no)"}, "tirx.fill"),
        ({"inside": "tirx.mma %sa, %sb, %acc accumulate(%no) : !s, !s, !acc"}, "scf.for"),
        ({"inside": "tirx.copy %sa, %ga : !s, !g"}, "scf.for"),
        ({"inside": "tirx.copy %acc, %other_acc : !acc, !acc", "before": "%other_acc = tirx.alloc : !acc"}, "scf.for"),
        ({"inside": "%w = tirx.map ins(%acc : !acc) (%e) { %e } -> !tirx.tile<64x64xf32, register>"}, "scf.for"),
        ({"inside": f"{_LOADED} tirx.map ins(%v : !v) outs(%sa : !s) (%e) {{ %e }}"}, "scf.for"),
        ({"inside": '"test.op"() : () -> ()'}, "scf.for"),
        ({"inside": '"test.op"(%acc) : (!acc) -> ()'}, "scf.for"),
        ({"behind": "scf.for %l = %c0 to %n step %c64 {\n}"}, "scf.for"),
        ({"behind": "tirx.fill %sa, %h : f16, !s", "before": "%h = arith.constant 0.0 : f16"}, "tirx.fill"),
        ({"behind": "tirx.barrier"}, "tirx.barrier"),
    ],
)
def test_kernels_that_are_not(options: dict[str, str], found: str) -> None:
    with pytest.raises(ScheduleOptionError) as error:
        _split(**options)
    assert error.value.message == (
        "expected only sums of one loop that begin at zero and are added to memory ('tirx.copy' with reduce(add)) for "
        f"split=last, found '{found}'"
    )


def test_sums_without_a_beginning_or_an_end() -> None:
    for options in (
        {"before": "%more = tirx.alloc : !acc", "inside": "tirx.mma %sa, %sb, %more : !s, !s, !acc"},
        {
            "before": "%more = tirx.alloc : !acc\ntirx.fill %more, %value : f32, !acc",
            "inside": "tirx.mma %sa, %sb, %more : !s, !s, !acc",
        },
    ):
        with pytest.raises(ScheduleOptionError) as error:
            _split(**options)
        assert error.value.message == "expected a loop of products whose sums are added to memory, found none"


@together(
    ("low", "step", "type_"),
    [
        ("%c0", "%c8", "i32"),
        ("%c8", "%c8", "i32"),
        ("%c0", "%c7", "i64"),
        ("%c0", "%c1", "i64"),
        ("%c0", "%n", "i64"),
        ("%n", "%c8", "i64"),
        ("%below", "%c8", "i64"),
    ],
)
def test_types_of_shares(low: str, step: str, type_: str) -> None:
    """Iterations are counted in i32 where so many times eight parts fit into it, with the largest sizes of launches."""
    before = "%size = memref.dim %d, %c0 : memref<?x?xf32>\n%below = arith.constant -1 : index\n"
    before += "\n".join(f"%c{n} = arith.constant {n} : index" for n in (1, 7, 8))
    text = KERNEL.format(**(OPTIONS | {"before": before})).replace("%c0 to %n step %c64", f"{low} to %size step {step}")
    (kernel,) = (op for op in parsed(text).walk() if isinstance(op, KernelOp))
    (loop,) = (op for op in kernel.walk() if isinstance(op, scf.ForOp))
    part = Emitter.before(loop).constant(1, i32)
    share_iterations(kernel, loop, part, part)
    assert [str(op.results[0].type) for op in kernel.walk() if op.name == "arith.maxsi"] == [type_]


def test_most_tiles() -> None:
    """Blocks count tiles, with those of eight more rows, in 32 bits."""
    text = KERNEL.format(**OPTIONS)
    TirxSplitLastRoundPass("last").apply(context(), parsed(text.replace("grid(4, 3)", "grid(32764, 65535)")))
    with pytest.raises(ScheduleOptionError) as error:
        TirxSplitLastRoundPass("last").apply(context(), parsed(text.replace("grid(4, 3)", "grid(32768, 65535)")))
    assert error.value.message == "expected at most 2147483647 tiles for split=last, found 2147713024"


def test_loops_that_carry_values() -> None:
    text = KERNEL.format(**(OPTIONS | {"inside": "scf.yield %q : index"}))
    carrying = text.replace("step %c64 {", "step %c64 iter_args(%q = %n) -> (index) {").replace(
        "scf.for", "%l = scf.for"
    )
    with pytest.raises(ScheduleOptionError, match="found 'scf.for'"):
        TirxSplitLastRoundPass("last").apply(context(), parsed(carrying))
