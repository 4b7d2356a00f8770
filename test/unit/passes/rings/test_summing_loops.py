"""Kernels with one loop of products whose sums begin at zero, and shares of its iterations."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import scf
from xdsl.dialects.builtin import i32
from xdsl.ir import Operation

from tirx.dialects.tirx import KernelOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.summing_loops import summing_loop
from tirx.passes.rings.tirx_split_k import _share_iterations  # pyright: ignore[reportPrivateUsage]
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


def _found(**options: str) -> scf.ForOp:
    """The loop of a kernel. Raises ScheduleOptionError, which names what is in the way."""
    module = parsed(KERNEL.format(**(OPTIONS | options)))
    kernel = next(op for op in module.walk() if isinstance(op, KernelOp))

    def refused(op: Operation, expected: str) -> Exception:
        return ScheduleOptionError(op, f"{expected}, found '{op.name}'")

    return summing_loop(kernel, refused)[0]


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
def test_loops_of_sums(options: dict[str, str]) -> None:
    _found(**options)


_NO_LOOP = "expected one loop that adds products to one tile of sums, found 'tirx.kernel'"
_NO_ZERO = "expected sums that begin at zero, and are read behind the loop, found 'tirx.fill'"


@together(
    ("options", "message"),
    [
        ({"value": "1.0"}, _NO_ZERO),
        ({"operand": "i8", "sums": "i32", "value": "1"}, _NO_ZERO),
        ({"fill": "%x"}, _NO_ZERO),
        ({"accumulate": "accumulate(%no)"}, _NO_LOOP),
        ({"inside": "tirx.mma %sa, %sb, %acc accumulate(%no) : !s, !s, !acc"}, _NO_LOOP),
        ({"inside": "tirx.copy %sa, %ga : !s, !g"}, _NO_LOOP),
        ({"inside": "tirx.copy %acc, %other_acc : !acc, !acc", "before": "%other_acc = tirx.alloc : !acc"}, _NO_LOOP),
        ({"inside": "%w = tirx.map ins(%acc : !acc) (%e) { %e } -> !tirx.tile<64x64xf32, register>"}, _NO_LOOP),
        ({"inside": f"{_LOADED} tirx.map ins(%v : !v) outs(%sa : !s) (%e) {{ %e }}"}, _NO_LOOP),
        ({"inside": '"test.op"() : () -> ()'}, _NO_LOOP),
        ({"inside": '"test.op"(%acc) : (!acc) -> ()'}, _NO_LOOP),
        ({"before": "%more = tirx.alloc : !acc", "inside": "tirx.mma %sa, %sb, %more : !s, !s, !acc"}, _NO_LOOP),
    ],
)
def test_loops_that_are_not(options: dict[str, str], message: str) -> None:
    with pytest.raises(ScheduleOptionError) as error:
        _found(**options)
    assert error.value.message == message


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
    _share_iterations(kernel, loop, part, part)
    assert [str(op.results[0].type) for op in kernel.walk() if op.name == "arith.maxsi"] == [type_]


def test_loops_that_carry_values() -> None:
    text = KERNEL.format(**(OPTIONS | {"inside": "scf.yield %q : index"}))
    carrying = text.replace("step %c64 {", "step %c64 iter_args(%q = %n) -> (index) {").replace(
        "scf.for", "%l = scf.for"
    )
    (kernel,) = (op for op in parsed(carrying).walk() if isinstance(op, KernelOp))
    with pytest.raises(ScheduleOptionError, match="one loop"):
        summing_loop(kernel, lambda op, expected: ScheduleOptionError(op, expected))
