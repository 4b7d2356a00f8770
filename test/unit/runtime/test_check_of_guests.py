"""`tirx-check` and operations and passes of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from toy_dialect import TOY, NegateOp, RowsOp
from unit.runtime.test_check import PART
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.passes import ModulePass
from xdsl.traits import Pure

import tirx
from tirx import embed
from tirx.dialects.definition import i32_attr
from tirx.dialects.ptx import StOp
from tirx.dialects.tirx import SubviewOp, TileType
from tirx.embed import ThreadLowering, TileOpInterface
from tirx.text.parsing import parse_located
from tirx.text.verification import CheckError
from tirx.tools import flags
from tirx.tools.tirx_check import main
from tirx.universe import all_passes

_FOREIGN = """
tirx.kernel @k(%a: memref<64xf32>) target("sm_80") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0] : memref<64xf32> -> !tirx.tile<64xf32, global>
  %x = tirx.load %g : !tirx.tile<64xf32, global> -> !tirx.tile<64xf32, register>
  OPERATION
  tirx.store %y, %g : !tirx.tile<64xf32, register>, !tirx.tile<64xf32, global>
  tirx.return
}
"""


def test_operations_of_other_dialects() -> None:
    """Scalar ones mean what they lower to; those on tiles that do not say what they compute are errors."""
    scalar = """%y = tirx.map ins(%x : !tirx.tile<64xf32, register>) {
  ^bb0(%e: f32):
    %s = toy.twice %e : f32
    tirx.yield %s : f32
  } -> !tirx.tile<64xf32, register>"""
    module = embed.parse(_FOREIGN.replace("OPERATION", scalar), context=embed.context(TOY))
    (checked,) = tirx.build(module, verify=True).check()
    assert checked.exact == checked.launches > 0
    tiles = "%y = toy.relu %x : !tirx.tile<64xf32, register> -> !tirx.tile<64xf32, register>"
    module = embed.parse(_FOREIGN.replace("OPERATION", tiles), "k.toy", embed.context(TOY))
    message = (
        r"^k\.toy:6:8: .*expected operations on whole tiles in @k, to compare it with, found 'toy\.relu', which has no "
        "method 'evaluate' of TileOpInterface"
    )
    with pytest.raises(embed.LocatedError, match=message):
        tirx.build(module, verify=True)
    with pytest.raises(CheckError, match=message):
        tirx.build(module).check()


@irdl_op_definition
class _HalfOp(IRDLOperation, TileOpInterface):
    """An operation of the dialect `tirx` in one file."""

    name = "tirx.half"

    source, result = operand_def(TileType), result_def(TileType)
    traits = traits_def(Pure())
    FACTOR: ClassVar = 0.5

    def same_layout(self) -> Sequence[Sequence[SSAValue]]:
        return [(self.source, self.result)]

    def evaluate(self, *operands: Any) -> Sequence[Any]:
        return [operands[0] * np.float32(self.FACTOR)]

    def lower(self, threads: ThreadLowering) -> Sequence[Sequence[SSAValue]]:
        half = threads.insert(arith.ConstantOp(FloatAttr(0.5, f32))).result
        return [[threads.insert(arith.MulfOp(x, half)).result for x in threads.registers(self.source)]]


def test_operations_of_tirx_may_say_by_evaluate_what_they_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '%y = "tirx.half"(%x) : (!tirx.tile<64xf32, register>) -> !tirx.tile<64xf32, register>'
    module = embed.parse(_FOREIGN.replace("OPERATION", text), context=embed.context(Dialect("half", [_HalfOp])))
    program = tirx.build(module)
    (checked,) = program.check()
    assert checked.exact == checked.launches > 0
    monkeypatch.setattr(_HalfOp, "FACTOR", 0.25)
    with pytest.raises(CheckError, match="elements of %a differ, first .* expected 0.5, found 1.0"):
        program.check()


def _with_rows(**methods: Any) -> tirx.Program:
    """Returns a program of `toy.rows` on numbers that are inexact behind `exp` and `toy.negate` in shared memory."""
    kind = type("RowsOp", (RowsOp,), methods)
    text = """
tirx.kernel @k(%a: memref<64x8xf32>, %b: memref<64x8xf32>) target("sm_80") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x8xf32> -> !tirx.tile<64x8xf32, global>
  %h = tirx.view %b[%c0, %c0] : memref<64x8xf32> -> !tirx.tile<64x8xf32, global>
  %x = tirx.load %g : !tirx.tile<64x8xf32, global> -> !tirx.tile<64x8xf32, register>
  %y = toy.rows %x : !tirx.tile<64x8xf32, register> -> !tirx.tile<64x8xf32, register>
  %s = tirx.alloc : !tirx.tile<64x8xf32, shared>
  tirx.copy %y, %s : !tirx.tile<64x8xf32, register>, !tirx.tile<64x8xf32, shared>
  toy.negate %s : !tirx.tile<64x8xf32, shared>
  tirx.copy %s, %h : !tirx.tile<64x8xf32, shared>, !tirx.tile<64x8xf32, global>
  tirx.return
}"""
    return tirx.build(embed.parse(text, "k.toy", embed.context(Dialect("toy", [kind, NegateOp]))), verify=True)


def _constant(answer: Any, *operands: Any) -> Any:
    return answer


def test_operations_of_other_dialects_that_say_what_they_compute() -> None:
    (checked,) = _with_rows().check()
    assert checked.exact == checked.launches > 0

    def double(self: RowsOp, threads: Any) -> Any:
        return [[threads.insert(arith.AddfOp(x, x)).result for x in threads.registers(self.source)]]

    with pytest.raises(CheckError, match=r"elements of %b differ, .*expected .*, found"):
        _with_rows(lower=double)

    def near(self: RowsOp, x: Any) -> Any:
        return [(x, abs(x))]

    assert _with_rows(lower=double, evaluate=near).check()[0].exact == 0
    for answer, message in (
        (None, "'evaluate' of 'toy.rows' to return a list of 1 results, found None"),
        ([np.zeros((8, 64), np.float32)], r"of shape \(64, 8\) for .*, found float32 of shape \(8, 64\)"),
        ([np.zeros((64, 8), np.int32)], "to give float32 of shape .*, found int32"),
    ):
        with pytest.raises(embed.LocatedError, match=rf"^k\.toy:7:8: .*{message}"):
            _with_rows(evaluate=partial(_constant, answer))

    def faulty(self: RowsOp, x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(embed.LocatedError, match=r"^k\.toy:7:8: .*'evaluate' of 'toy.rows' raised KeyError: 'mine'"):
        _with_rows(evaluate=faulty, __module__=faulty.__module__)


def test_operations_that_overwrite_a_tile() -> None:
    """They are given one whose elements they have not read, in its place among the operands."""
    seen: list[Any] = []

    def evaluate(self: NegateOp, tile: Any) -> Any:
        seen.append(tile.copy())
        tile[...] = 3
        return []

    def lower(self: NegateOp, threads: Any) -> Any:
        four, three = (threads.insert(arith.ConstantOp(each)).result for each in (i32_attr(4), FloatAttr(3.0, f32)))
        address = threads.address(self.tile)
        offset = threads.insert(arith.MuliOp(threads.thread, four)).result
        address = threads.insert(arith.AddiOp(address, offset)).result
        for at in (0, 128):
            threads.insert(StOp("shared", address, [three], at))
        return []

    kind = type("NegateOp", (NegateOp,), {"evaluate": evaluate, "tile_reads": lambda _: (), "lower": lower})  # pyright: ignore
    overwritten = """%s = tirx.alloc : !tirx.tile<64xf32, shared>
  toy.negate %s : !tirx.tile<64xf32, shared>
  %y = tirx.load %s : !tirx.tile<64xf32, shared> -> !tirx.tile<64xf32, register>"""
    module = embed.parse(_FOREIGN.replace("OPERATION", overwritten), "k.toy", embed.context(Dialect("toy", [kind])))
    (checked,) = tirx.build(module, verify=True).check()
    assert checked.exact == checked.launches > 0 and seen and not any(each.any() for each in seen)


class _MakingPass(ModulePass):
    name = "toy-make"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made = parse_located(ctx, PART, "part.mlir")
        op.body.block.add_op(made.body.block.detach_op(next(iter(made.ops))))


class _WrongPass(ModulePass):
    name = "toy-wrong"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in op.walk():
            if isinstance(each, SubviewOp):
                each.offsets = type(each.offsets)([each.offsets.data[0], i32_attr(31)])


def test_passes_of_other_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {**all_passes(), "toy-make": lambda: _MakingPass, "toy-wrong": lambda: _WrongPass}
    monkeypatch.setattr(flags, "all_passes", lambda: known)
    path = tmp_path / "k.mlir"
    path.write_text("func.func private @mine()")
    assert main([str(path)]) == 1
    make = f"--before={embed.pipeline()[0].name}=toy-make"
    assert main([str(path), make, "--seconds", "1"]) == 0
    assert "@k: " in capsys.readouterr().out
    assert main([str(path), make, "--after", "tirx-mem2reg=toy-wrong", "--seconds", "1"]) == 1
    assert "toy-wrong" in capsys.readouterr().out
    assert main([str(path), "--after", "tirx-mem2rag=toy-make"]) == 1
    assert "did you mean 'tirx-mem2reg'?" in capsys.readouterr().err
