"""Loops and branches that carry register tiles: their registers stand where the tiles stood."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from unit.passes.parsed import parsed
from xdsl.dialects import scf
from xdsl.dialects.builtin import Float64Type, i32
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tirx.dialects.tirx import ZeroOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import held_tile
from tirx.passes.kernels.convert_tirx_to_ptx import CONTROL_FLOW

TILES = {
    "!h": "!tirx.tile<32x6xf16, register, #tirx.tile_layout<S[(32, 6) : (1@laneid, 1)]>>",  # 3 registers
    "!d": "!tirx.tile<32x2xf64, register, #tirx.tile_layout<S[(32, 2) : (1@laneid, 1)]>>",  # 2 registers
}
HALVES, DOUBLES = [i32] * 3, [Float64Type()] * 2


class Registers:
    """The registers of tiles: the block arguments of the kernel, in order, for those that it makes."""

    def __init__(self, module: Operation):
        self.kernel = self
        self.lowered: list[Operation | BlockArgument] = []
        self.blocks: list[Block] = []
        self.emit: Emitter
        self.made = Block(arg_types=[*HALVES, *DOUBLES])
        made = [op.result for op in module.walk() if isinstance(op, ZeroOp)]
        self.registers: dict[SSAValue, Sequence[SSAValue]] = dict(
            zip(made, (self.made.args[:3], self.made.args[3:]), strict=True)
        )

    def block(self, block: Block) -> None:
        self.blocks.append(block)

    def expanded(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [each for value in values for each in self.registers.get(value, (value,))]

    def bind(self, values: Sequence[SSAValue], made: Sequence[Sequence[SSAValue]]) -> None:
        for old, new in zip(values, made, strict=True):
            self.registers[old] = new
            if held_tile(old.type) is None:
                old.replace_all_uses_with(new[0])


def _lowered(text: str, kind: type[Operation]) -> tuple[Operation, Registers]:
    """Returns the operation that stands for the only one of a kind, once nothing of that is left."""
    for name, type_ in TILES.items():
        text = text.replace(name, type_)
    module = parsed(
        f"""
tirx.kernel @k(%x: i32, %p: i1, %n: index) target("sm_90a") threads(32) {{
  %h = tirx.zero : {TILES["!h"]}
  %d = tirx.zero : {TILES["!d"]}
  {text}
  tirx.return
}}"""
    )
    op = next(op for op in module.walk() if isinstance(op, kind))
    registers = Registers(module)
    registers.emit = Emitter.before(op)
    found = CONTROL_FLOW[kind](op, registers)
    made = op.prev_op
    assert isinstance(made, kind) and not any(region.blocks for region in op.regions)
    for argument in reversed(registers.lowered):
        assert isinstance(argument, BlockArgument)
        argument.block.erase_arg(argument)
    assert registers.blocks == [block for region in made.regions for block in region.blocks]
    assert found is not None and [list(each) for each in found] == _shared_out(made.results, op.results)
    return made, registers


def _shared_out(values: Sequence[SSAValue], by: Sequence[SSAValue]) -> list[Sequence[SSAValue]]:
    """The registers of each result: one for a scalar, three of halves, two of numbers of 64 bits."""
    parts: list[Sequence[SSAValue]] = []
    for old in by:
        count = {"f16": 3, "f64": 2}.get(str(type_.element_type), 0) if (type_ := held_tile(old.type)) else 1
        parts.append(list(values[:count]))
        values = values[count:]
    assert not values
    return parts


def test_loops_with_a_condition() -> None:
    op, registers = _lowered(
        """
  %r:3 = scf.while (%i = %x, %a = %h, %j = %x, %b = %d) : (i32, !h, i32, !d) -> (!d, i32, !h) {
    scf.condition(%p) %b, %j, %a : !d, i32, !h
  } do {
  ^bb0(%b: !d, %i: i32, %a: !h):
    scf.yield %i, %a, %i, %b : i32, !h, i32, !d
  }""",
        scf.WhileOp,
    )
    assert isinstance(op, scf.WhileOp)
    x, h, d = op.arguments[0], registers.made.args[:3], registers.made.args[3:]
    assert list(op.arguments) == [x, *h, x, *d]
    before, after = op.before_region.block, op.after_region.block
    assert [arg.type for arg in before.args] == [i32, *HALVES, i32, *DOUBLES]
    assert [arg.type for arg in after.args] == [result.type for result in op.results] == [*DOUBLES, i32, *HALVES]
    ends = [block.last_op for block in (before, after)]
    assert ends[0] is not None and ends[1] is not None
    assert list(ends[0].operands)[1:] == [*before.args[5:], before.args[4], *before.args[1:4]]
    assert list(ends[1].operands) == [after.args[2], *after.args[3:], after.args[2], *after.args[:2]]


def test_loops_with_a_count() -> None:
    """The induction variable stays in front of what is carried."""
    op, registers = _lowered(
        """
  %c = arith.constant 0 : index
  %r:3 = scf.for %k = %c to %n step %n iter_args(%a = %h, %i = %x, %b = %d) -> (!h, i32, !d) {
    %m = arith.index_cast %k : index to i32
    scf.yield %a, %m, %b : !h, i32, !d
  }""",
        scf.ForOp,
    )
    assert isinstance(op, scf.ForOp)
    args = op.body.block.args
    assert list(op.iter_args)[:3] == list(registers.made.args[:3]) and list(op.iter_args)[4:] == list(
        registers.made.args[3:]
    )
    assert [str(arg.type) for arg in args] == ["index", *["i32"] * 4, *["f64"] * 2]
    cast, end = op.body.block.ops
    assert list(cast.operands) == [args[0]]
    assert list(end.operands) == [*args[1:4], cast.results[0], *args[5:]]


@pytest.mark.parametrize("taken", [0, 1])
def test_branches(taken: int) -> None:
    op, registers = _lowered(
        """
  %r:2 = scf.if %p -> (!d, i32) {
    scf.yield %d, %x : !d, i32
  } else {
    scf.yield %d, %x : !d, i32
  }""",
        scf.IfOp,
    )
    assert isinstance(op, scf.IfOp)
    (end,) = op.regions[taken].block.ops
    assert list(end.operands)[:2] == list(registers.made.args[3:]) and len(end.operands) == 3
    assert [result.type for result in op.results] == [*DOUBLES, i32]
