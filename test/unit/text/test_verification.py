"""SSA dominance against the definition by paths, and verification errors at the right operation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects import test
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp, i32
from xdsl.ir import Block, Region

from tirx.diagnostics import LocatedError, nearest_location
from tirx.text.dominance import Dominance
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context


def _error(text: str) -> str:
    module = parse_located(new_context(), text, "f")
    with pytest.raises(LocatedError) as caught:
        verify_located(module)
    return str(caught.value)


def _reaches(edges: list[list[int]], start: int, goal: int, without: int | None) -> bool:
    """Whether a path leads from `start` to `goal` that does not touch the block `without`."""
    seen, stack = {without}, [start]
    while stack:
        block = stack.pop()
        if block in seen:
            continue
        seen.add(block)
        if block == goal:
            return True
        stack += edges[block]
    return False


@given(st.data())
def test_dominance_is_what_every_path_goes_through(data: st.DataObject):
    count = data.draw(st.integers(1, 7))
    # Block 0 is the entry, which nothing may branch to.
    edges = [data.draw(st.lists(st.integers(1, count - 1), max_size=3)) if count > 1 else [] for _ in range(count)]
    blocks = [Block() for _ in range(count)]
    definitions = [test.TestOp(result_types=[i32]) for _ in range(count)]
    users = [test.TestTermOp(successors=[blocks[i] for i in edges[b]]) for b in range(count)]
    for block, definition, user in zip(blocks, definitions, users, strict=True):
        block.add_ops([definition, user])
    module = ModuleOp([test.TestOp(regions=[Region(blocks)])])

    dominance = Dominance()
    for b in range(count):
        for a in range(count):
            reachable = _reaches(edges, 0, b, without=None)
            expected = not reachable or not _reaches(edges, 0, b, without=a)
            assert dominance.is_defined_at(definitions[a].results[0], users[b]) is expected
        # Inside its own block a definition is after what is before it, reachable or not.
        assert not dominance.is_defined_at(definitions[b].results[0], definitions[b])
    assert len(module.body.block.ops) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"test.op"(%x) : (i32) -> ()\n%x = "test.op"() : () -> i32', "f:1:1: error: use of %x before its definition"),
        ('"test.op"(%0) : (i32) -> ()\n%0 = "test.op"() : () -> i32', "use of operand #0 before its definition"),
        ('%x = "test.op"(%x) : (i32) -> i32', "f:1:6: error: use of %x before its definition (defined at 1:6)"),
        (
            '%x = "test.op"() ({\n  "test.op"(%x) : (i32) -> ()\n  "test.termop"() : () -> ()\n}) : () -> i32',
            "f:2:3: error: use of %x, whose definition does not dominate this use (defined at 1:6)",
        ),
        (
            '"test.op"(%x) : (i32) -> ()\n"test.op"() ({\n^bb0(%x: i32):\n}) : () -> ()',
            "use of %x, whose definition does not dominate this use (defined at 3:6)",
        ),
        (
            'func.func @f() {\n  cf.br ^a\n^a:\n  "test.op"() : () -> ()\n}',
            "f:4:3: error: Operation test.op terminates block in multi-block region but is not a terminator",
        ),
        ("func.func @f(%x: i32) {\n}", "f:1:1: error: Operation func.func contains empty block"),
    ],
)
def test_errors_are_at_the_operation(text: str, expected: str):
    assert expected in _error(text)


def test_what_rewrites_leave_without_location_gets_that_around_it():
    module = parse_located(new_context(), '\n"test.op"() ({\n  "test.op"() : () -> ()\n}) : () -> ()', "f")
    outer, inner = [op for op in module.walk() if isinstance(op, test.TestOp)]
    inner.location = UNKNOWN_LOC
    assert nearest_location(inner) == outer.location
    assert nearest_location(test.TestOp()) == UNKNOWN_LOC
