"""Blocks that dominate others, of a graph with a loop, a branch, and blocks that nothing leads to."""

from __future__ import annotations

from unit.cases import together
from xdsl.ir import Block

from tirx.passes.ir.dominators import Dominators, reverse_postorder

_EDGES = {0: [1], 1: [2, 3], 2: [4], 3: [4], 4: [1, 5], 5: [], 6: [7], 7: []}
_BLOCKS = [Block() for _ in _EDGES]
_NUMBERS = {block: number for number, block in enumerate(_BLOCKS)}


def _dominators() -> Dominators:
    order = reverse_postorder(_BLOCKS[:1], lambda block: [_BLOCKS[each] for each in _EDGES[_NUMBERS[block]]])
    before = {block: [_BLOCKS[a] for a, to in _EDGES.items() if _NUMBERS[block] in to] for block in _BLOCKS}
    return Dominators(order, _BLOCKS[:1], before)


@together(("block", "expected"), zip(_BLOCKS, [None, 0, 1, 1, 1, 4, None, None], strict=True))
def test_immediate(block: Block, expected: int | None) -> None:
    found = _dominators().immediate(block)
    assert (None if found is None else _NUMBERS[found]) == expected


def test_dominates() -> None:
    """A block that nothing leads to dominates itself alone."""
    found = _dominators()
    expected = {(0, n) for n in range(6)} | {(1, n) for n in range(1, 6)} | {(4, 5)} | {(n, n) for n in range(8)}
    pairs = ((a, b) for a in _BLOCKS for b in _BLOCKS if found.dominates(a, b))
    assert {(_NUMBERS[a], _NUMBERS[b]) for a, b in pairs} == expected
    assert [block in found for block in _BLOCKS] == [True] * 6 + [False] * 2
