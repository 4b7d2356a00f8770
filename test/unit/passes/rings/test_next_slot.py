"""Loops that load the first fragments of the next slot: how they are split, and which stay as they are."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed
from xdsl.ir import Operation

from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.dialects.tirx import AsyncCopyOp, ForOp, LoadOp, MmaOp
from tirx.passes.rings.next_slot import prefetch_next_slot
from tirx.remarks import CopiesInPieces

KERNEL = """
#s = #tirx.compose_layout<#tirx.swizzle_layout<3, 2, 3>, #tirx.tile_layout<S[64, 32]>>
#a = #tirx.tile_layout<S[(2, 2, 2, 8, 4, 4, 2) : (2@warpid, 16, 2, 4@laneid, 4, 1@laneid, 1)] + R[2 : 1@warpid]>
#b = #tirx.tile_layout<S[(2, 4, 8, 4, 4, 2) : (1@warpid, 8, 4@laneid, 2, 1@laneid, 1)] + R[2 : 2@warpid]>
#c = #tirx.tile_layout<S[(2, 2, 2, 8, 2, 4, 4, 2) : (2@warpid, 16, 2, 4@laneid, 1@warpid, 4, 1@laneid, 1)]>
!s = !tirx.tile<64x32xf16, shared, #s>
!g = !tirx.tile<64x32xf16, global, #tirx.tile_layout<S[(64, 32) : (4096, 1)]>>
!a = !tirx.tile<64x32xf16, register, #a>
!b = !tirx.tile<64x32xf16, register, #b>
!c = !tirx.tile<64x64xf32, register, #c>
tirx.kernel @k(%x: memref<64x4096xf16>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zeros = tirx.zero : !c
  %ab = tirx.ring slots(SLOTS) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  %sum = tirx.for @k %k = 0 to %n skew(USE) iter(%c = %zeros) {
    %ua, %ub = tirx.at(WAIT) {
      %a, %b = tirx.acquire %ab at(use)
      IN_WAIT
      tirx.yield %a, %b
    }
    tirx.at(0) {
      %kk = arith.muli %k, %c32 : index
      %g = tirx.view %x[%c0, %kk] : memref<64x4096xf16> -> !g
      %a, %b = tirx.acquire %ab at(fill)
      tirx.async_copy %g, %a engine(ENGINE) : !g, !s
      tirx.async_copy %g, %b engine(ENGINE) : !g, !s
      tirx.release %ab at(fill) after(ENGINE)
    }
    %next = tirx.at(USE) {
      IN_USE
      %fa = tirx.load %ua engine ldmatrix : !s -> !a
      %fb = tirx.load %ub engine ldmatrix : !s -> !b
      %d = tirx.mma %fa, %fb, START plan(mma_sync, variants = ["m16n8k16.row.col.f32.f16"])
        : !a, !b, !c -> !c
      tirx.release %ab at(use)
      tirx.yield %d
    }
    tirx.yield %next
  }
  tirx.return
}
"""
DEFAULTS = {"WAIT": "2", "USE": "2", "SLOTS": "3", "ENGINE": "cp_async", "IN_WAIT": "", "IN_USE": "", "START": "%c"}
READ = "%more = tirx.load %ua : !s -> !a"

Part = tuple[int, int, int, int]
"""The offset of a part, and how many copies it starts, loads and products it has."""


def _loop(text: str) -> ForOp:
    return next(op for op in parsed(text).walk() if isinstance(op, ForOp))


def _count(op: Operation, kind: type[Operation]) -> int:
    return sum(isinstance(inner, kind) for inner in op.walk())


def _parts(loop: ForOp) -> list[Part]:
    return [(part.offset, _count(part, AsyncCopyOp), _count(part, LoadOp), _count(part, MmaOp)) for part in loop.parts]


def _text(**replaced: str) -> str:
    text = KERNEL
    for name in sorted(DEFAULTS, key=len, reverse=True):  # one name ends in another
        text = text.replace(name, (DEFAULTS | replaced)[name])
    return text


@pytest.mark.parametrize(
    ("replaced", "expected"),
    [
        # Half of the copies start a round later, behind the first products.
        ({}, [(3, 0, 2, 1), (1, 2, 0, 0), (2, 0, 2, 0), (0, 2, 0, 0), (3, 0, 0, 1)]),
        # A slot is complete a round later: copies start together. Threads that share a barrier fill all slots ahead.
        ({"USE": "1", "WAIT": "1", "SLOTS": "2"}, [(2, 0, 2, 1), (1, 0, 2, 0), (0, 2, 0, 0), (2, 0, 0, 1)]),
        # Bulk copies leave a slot to spare.
        ({"USE": "1", "WAIT": "1", "ENGINE": "tma"}, [(2, 0, 2, 1), (1, 0, 2, 0), (0, 2, 0, 0), (2, 0, 0, 1)]),
        ({"USE": "1", "WAIT": "1", "SLOTS": "2", "ENGINE": "tma"}, None),
        ({"SLOTS": "4", "ENGINE": "tma"}, [(3, 0, 2, 1), (2, 0, 2, 0), (0, 2, 0, 0), (3, 0, 0, 1)]),
        # Slots that something else reads are given back behind it.
        ({"IN_USE": READ, "SLOTS": "4"}, [(3, 0, 2, 1), (2, 0, 2, 0), (0, 2, 0, 0), (3, 0, 1, 1)]),
        # What nothing uses goes.
        (
            {"IN_USE": "%unused = arith.constant 7 : index"},
            [(3, 0, 2, 1), (1, 2, 0, 0), (2, 0, 2, 0), (0, 2, 0, 0), (3, 0, 0, 1)],
        ),
        # The slots are acquired in another round, or something else happens there.
        ({"WAIT": "1"}, None),
        ({"IN_WAIT": '"test.op"() : () -> ()'}, None),
        ({"IN_WAIT": "%one = arith.constant 1 : index", "USE": "1", "WAIT": "1", "SLOTS": "2"},
         [(2, 0, 2, 1), (1, 0, 2, 0), (0, 2, 0, 0), (2, 0, 0, 1)]),
        # The sum starts anew in every iteration.
        ({"IN_USE": "%z = tirx.zero : !c", "START": "%z"}, None),
    ],
)  # fmt: skip
def test_parts(replaced: dict[str, str], expected: list[Part] | None) -> None:
    text = _text(**replaced)
    loop = _loop(text)
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        prefetch_next_slot(loop)
    assert _parts(loop) == (_parts(_loop(text)) if expected is None else expected)
    pieces = sum(copies > 0 for _, copies, *_ in _parts(loop))
    told = [each.decision for each in said if str(each.decision).startswith("the copies of a slot")]
    assert told == ([CopiesInPieces(pieces)] if pieces > 1 else [])
    assert "unused" not in str(loop)
