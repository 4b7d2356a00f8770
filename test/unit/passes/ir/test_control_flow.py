"""Order of the blocks of an entry, by the jumps between them."""

from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, Region

from tirx.dialects.ptx import BarSyncOp, BraOp, CondBraOp, ConstantOp, EntryOp, RetOp
from tirx.passes.ir.control_flow import ControlFlow, successors
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
    assert [op for op in ALL if FLOW.is_executed_by_all(op)] == [FIRST, SECOND, LOOP]


def test_operations_that_nobody_gets_to():
    """None is executed, follows or comes before, in a block without predecessors or in none."""
    entry = ENTRY.replace("^last:", "^nowhere:\n  ptx.bar.sync 5\n  ptx.bra ^last\n^last:")
    (kernel,) = (op for op in parse_located(new_context(), entry).walk() if isinstance(op, EntryOp))
    flow = ControlFlow(kernel)
    first, *_, nowhere, last = (op for op in kernel.body.walk() if isinstance(op, BarSyncOp))
    loose = BarSyncOp(6)
    for op in (nowhere, loose):
        assert not flow.is_executed_by_all(op)
        assert not flow.may_follow(last, op) and not flow.may_follow(op, last)
        assert not flow.always_before(first, loose) and not flow.always_before(loose, last)
    assert flow.may_follow(last, first) and flow.always_before(first, last)


def test_predecessors():
    blocks = list(KERNEL.body.blocks)
    assert [len(FLOW.predecessors(block)) for block in blocks] == [0, 1, 3, 1, 1, 1]


def _random_entry(edges: list[tuple[int, int | None]]) -> EntryOp:
    """Block i jumps to the two blocks (numbers modulo how many there are), or to the first alone."""
    entry = EntryOp("k", [], "sm_90a", Region([Block() for _ in range(len(edges) + 1)]))
    blocks = list(entry.body.blocks)
    condition = ConstantOp.integer(1, i1)
    blocks[0].add_op(condition)
    for block, (first, second) in zip(blocks, edges, strict=False):
        then = blocks[1 + first % (len(blocks) - 1)]
        if second is None:
            block.add_op(BraOp(then))
        else:
            block.add_op(CondBraOp(condition, then, blocks[1 + second % (len(blocks) - 1)]))
    blocks[-1].add_op(RetOp())
    return entry


@given(st.lists(st.tuples(st.integers(0, 9), st.none() | st.integers(0, 9)), min_size=1, max_size=8))
def test_random_graphs(edges: list[tuple[int, int | None]]):
    """Dominators and cycles are those of the definitions."""
    flow = ControlFlow(_random_entry(edges))
    first, ends = flow.blocks[0], [block for block in flow.blocks if not successors(block)]
    for a in flow.blocks:
        assert (a in flow.cyclic) == (a in flow.reachable(a))
        for b in flow.blocks:
            dominated = b is a or (a is first or b not in flow.reachable(first, a)) and b is not first
            assert flow.dominators.dominates(a, b) == dominated
            passed = not any(end in flow.reachable(b, a) for end in ends) and b not in ends
            assert flow.is_passed_by_all(a, b) == passed
