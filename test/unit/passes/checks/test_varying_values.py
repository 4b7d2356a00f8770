"""Values that threads of a block may disagree on, and branches that decide by which edge they come to a block."""

from __future__ import annotations

from random import Random

import pytest
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tirx.dialects.ptx import BraOp, CondBraOp, ConstantOp, EntryOp, ReadSpecialOp, RetOp, SetpOp
from tirx.dialects.ptx.core import entries
from tirx.passes.checks.thread_values import ThreadValues, incoming
from tirx.passes.ir.control_flow import ControlFlow, successors

VALUES = """ptx.entry @k(n : u32, a : u64) target("sm_100a") reqntid(64) {
  %tid = ptx.read_special tid.x
  %y = ptx.read_special tid.y
  %lane = ptx.read_special laneid
  %block = ptx.read_special ctaid.x
  %elected = ptx.elect.sync
  %n = ptx.ld.param @n : i32
  %a = ptx.ld.param @a : i64
  %0 = ptx.constant 0 : i32
  %7 = ptx.constant 7 : i32
  %loaded = ptx.ld global %a : i64 -> i32
  %far = ptx.ld global %a : i64 -> i64
  %masked = ptx.and %loaded, %0 : i32
  %product = ptx.mul.lo %n, %block : i32
  %of_block = ptx.setp lt %product, %7 : i32
  %by_tid = ptx.mul.lo %n, %tid : i32
  %twice = ptx.add %by_tid, %by_tid : i32
  %of_tid = ptx.setp lt %twice, %7 : i32
  %sum = ptx.add %loaded, %n : i32
  %longer = ptx.add %sum, %7 : i32
  %even_longer = ptx.add %longer, %product : i32
  %more, %first, %second, %third = ptx.clusterlaunchcontrol.query_cancel %far, %far
  %next = ptx.add %first, %n : i32
  ptx.bra ^loop(%0, %7 : i32, i32)
^loop(%i : i32, %d : i32):
  %j = ptx.add %i, %n : i32
  %e = ptx.add %d, %loaded : i32
  %go = ptx.setp lt %j, %7 : i32
  ptx.cond_bra %go, ^loop(%j, %e : i32, i32), ^branch
^branch:
  ptx.cond_bra %of_block, ^one, ^other
^one:
  ptx.bra ^join(%0, %7, %7, %lane : i32, i32, i32, i32)
^other:
  ptx.bra ^join(%7, %7, %block, %lane : i32, i32, i32, i32)
^join(%p : i32, %q : i32, %r : i32, %s : i32):
  ptx.cond_bra %of_tid, ^end(%0, %7 : i32, i32), ^end(%7, %7 : i32, i32)
^end(%t : i32, %u : i32):
  ptx.ret
^never(%v : i32):
  %unseen = ptx.ld global %a : i64 -> i32
  ptx.bra ^never(%unseen : i32)
}"""

VARYING = "tid lane elected loaded far by_tid twice of_tid sum longer even_longer d e s t"
"""`q` and `u` are 7 on all ways; the answers of launch control and what is masked are the same in all threads."""


@pytest.mark.parametrize("backwards", [False, True])
def test_values(backwards: bool):
    """Whatever is asked for first."""
    (entry,) = entries(parsed(VALUES))
    values = ThreadValues(ControlFlow(entry))
    named = {each.name_hint: each for op in entry.walk() for each in op.results}
    named |= {each.name_hint: each for block in entry.body.blocks for each in block.args}
    order = list(reversed(named.items())) if backwards else list(named.items())
    found = {name for name, value in order if values.is_varying(value)}
    assert found == set(VARYING.split())
    known = {name: value.number for name in "pqrstuidv" if (value := values.get(named[name])) is not None}
    assert known == {"q": 7, "s": None, "u": 7}


def test_arguments_of_an_entry():
    """Nobody says what its first block is given."""
    entry = EntryOp("k", [], "sm_90a", Region([Block(arg_types=[i32]), Block(arg_types=[i32])]), reqntid=[64])
    first, second = entry.body.blocks
    first.add_op(BraOp(second, [first.args[0]]))
    second.add_op(RetOp())
    values = ThreadValues(ControlFlow(entry))
    assert values.is_varying(first.args[0]) and values.is_varying(second.args[0])


def test_what_branches_pass():
    """To the same block by both edges, by one of them, and twice by a jump; arguments by their index."""
    head, left, right = (Block(arg_types=[i32] * count) for count in (0, 2, 2))
    constants = [ConstantOp.integer(number, i32) for number in range(10)]
    condition = ConstantOp.integer(1, i1)
    third = Block([CondBraOp(condition, right, right, constants[6:8], constants[8:10])])
    left.add_op(CondBraOp(condition, right, third, constants[4:6]))
    head.add_ops([*constants, condition, CondBraOp(condition, left, right, constants[0:2], constants[2:4])])

    numbers: dict[SSAValue, int] = {constant.result: i for i, constant in enumerate(constants)}
    found = [sorted(numbers[value] for value in incoming(to, each)) for to in (left, right) for each in to.args]
    assert found == [[0], [1], [2, 4, 6, 8], [3, 5, 7, 9]]


def graph(random: Random, size: int) -> list[tuple[int, int | None]]:
    """Blocks 1 to `size - 1` that a block jumps to: two or, for None, one."""
    return [(random.randrange(1, size), random.choice([None, *range(1, size)])) for _ in range(size - 1)]


def entry_of(jumps: list[tuple[int, int | None]], varying: int) -> EntryOp:
    """
    Block i jumps to those that `jumps[i]` names, the last one ends. Each edge passes another constant, and the branch
    of block `varying` is the only one whose condition differs between threads.
    """
    blocks = [Block(arg_types=[i32] * (i > 0)) for i in range(len(jumps) + 1)]
    tid, block, four = ReadSpecialOp("tid.x"), ReadSpecialOp("ctaid.x"), ConstantOp.integer(4, i32)
    uniform, differing = SetpOp("lt", block, four), SetpOp("lt", tid, four)
    constants = [ConstantOp.integer(number, i32) for number in range(2 * len(jumps))]
    blocks[0].add_ops([tid, block, four, uniform, differing, *constants])
    for i, (first, second) in enumerate(jumps):
        a, b = constants[2 * i : 2 * i + 2]
        last: Operation = BraOp(blocks[first], [a])
        if second is not None:
            condition = differing if i == varying else uniform
            last = CondBraOp(condition, blocks[first], blocks[second], [a], [b])
        blocks[i].add_op(last)
    blocks[-1].add_op(RetOp())
    return EntryOp("k", [], "sm_90a", Region(blocks), reqntid=[64])


def chooses(flow: ControlFlow, branch: Block, block: Block) -> bool:
    """
    True if two of the edges that come to `block` from outside its loop, or two of those that go on with it, can be
    reached from `branch` without passing `block` or, for those from outside, what dominates it.
    """

    def reached(stops: set[Block | None]) -> set[Block]:
        pending, seen = [branch], {branch}
        while pending:
            for to in successors(pending.pop()):
                if to not in seen and to not in stops:
                    seen.add(to)
                    pending.append(to)
        return seen

    edges = [other for other in flow.blocks for to in successors(other) if to is block]
    inside = [other for other in edges if flow.dominators.dominates(block, other)]
    dominator = flow.dominators.immediate(block)
    ahead = reached({block, dominator})
    outside = [other for other in edges if other not in inside and (other is branch or other in ahead)]
    within = [other for other in inside if other in reached({block})]
    is_between = dominator is not None and flow.dominators.dominates(dominator, branch)
    return (is_between and len(outside) > 1) or (flow.dominators.dominates(block, branch) and len(within) > 1)


def test_which_branches_choose_an_edge():
    """Of graphs with loops, some of which are entered at several blocks, every branch and every block."""
    random, found = Random(0), 0
    for _ in range(30):
        jumps = graph(random, random.randrange(3, 7))
        for varying, (_, second) in enumerate(jumps):
            if second is None:
                continue
            entry = entry_of(jumps, varying)
            flow = ControlFlow(entry)
            values = ThreadValues(flow)
            branch = list(entry.body.blocks)[varying]
            for block in flow.blocks[1:]:
                expected = branch in flow.position and chooses(flow, branch, block)
                assert values.is_varying(block.args[0]) == expected, (jumps, varying)
                found += expected
    assert found > 30
