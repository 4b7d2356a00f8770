"""What comes before what in an entry, by the jumps between its blocks."""

from tirx.dialects.ptx import BarSyncOp, EntryOp
from tirx.passes.analysis.control_flow import ControlFlow
from tirx.text.parsing import parse_located
from tirx.universe import new_context

ENTRY = """
ptx.entry @k(x : u32) target("sm_90") {
  %x = ptx.ld.param @x : i32
  %p = ptx.setp eq %x, %x : i32
  ptx.bar.sync 0
  ptx.bar.sync 1
  ptx.cond_bra %p, ^then, ^loop
^then:
  ptx.bar.sync 2
  ptx.bra ^loop
^loop:
  ptx.bar.sync 3
  ptx.cond_bra %p, ^loop, ^early
^early:
  ptx.cond_bra %p, ^end, ^last
^end:
  ptx.ret
^last:
  ptx.bar.sync 4
  ptx.ret
}
"""
(KERNEL,) = (op for op in parse_located(new_context(), ENTRY).walk() if isinstance(op, EntryOp))
FLOW = ControlFlow(KERNEL)
FIRST, SECOND, THEN, LOOP, LAST = (op for op in KERNEL.body.walk() if isinstance(op, BarSyncOp))
ALL = (FIRST, SECOND, THEN, LOOP, LAST)


def test_what_may_follow():
    follows = {(ALL.index(a), ALL.index(b)) for a in ALL for b in ALL if FLOW.may_follow(b, a)}
    assert follows == {(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 3), (3, 4)}


def test_what_always_comes_before():
    before = {(ALL.index(a), ALL.index(b)) for a in ALL for b in ALL if FLOW.always_before(a, b)}
    assert before == {(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (3, 4)}


def test_what_every_thread_executes():
    assert [op for op in ALL if FLOW.by_every_thread(op)] == [FIRST, SECOND, LOOP]


def test_predecessors():
    blocks = list(KERNEL.body.blocks)
    assert [len(FLOW.predecessors(block)) for block in blocks] == [0, 1, 3, 1, 1, 1]
