"""Branches: `scf.if` where the kernel computes the condition, and Python's elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from tirx.builder import functions
from tirx.builder.carried import (
    Bodies,
    Unbound,
    bound_values,
    check_structure,
    element,
    flat,
    is_same,
    is_value,
    memories_of,
    packed,
    ssa_value,
    wrapped,
    written_once,
)
from tirx.builder.dtypes import i1
from tirx.builder.memory import Memory, Product
from tirx.builder.scalars import Scalar
from tirx.builder.spans import Span
from tirx.builder.tiles import Tile
from tirx.builder.trace import BuildError, Trace, current
from tirx.builder.views import View


def condition_of(value: Any) -> Scalar | bool:
    """A condition: a truth of the kernel, or one of Python."""
    value = element(value)
    if isinstance(value, Tile):
        raise BuildError(
            f"expected a condition that is one truth, found {value!r}: use tx.where(condition, x, y) for each element, "
            "or a reduction for all"
        )
    if isinstance(value, Unbound):
        bool(value)
    if isinstance(value, Scalar):
        return value if value.dtype == i1 else functions.apply("ne", value, 0)
    return bool(value)


_RESULT = object()
"""Stands for a result of the branch."""


def if_(test: Any, yes: Bodies, no: Bodies, names: tuple[str, ...], known: dict[str, Any]) -> tuple[Any, ...]:
    """An `if`: `scf.if` where the kernel computes the condition."""
    condition = condition_of(test)
    given = bound_values(names, known, "the if")
    if isinstance(condition, bool):
        return (yes if condition else no)(*given)
    trace = current()
    if trace.is_of_elements:
        raise BuildError("expected tx.where(condition, x, y) in a function of elements, found a branch")
    trace.flush()
    blocks, ends = [Block(), Block()], list[tuple[tuple[Any, list[Any]], ...]]()
    for value in given:
        flat(value)  # so that both branches know the sizes of spans
    for block, body in zip(blocks, (yes, no), strict=True):
        with trace.inside(block), written_once(known):
            ends.append(tuple((each, flat(each)) for each in body(*given)))
    merged: list[tuple[Any, list[Any]]] = []
    yielded: list[tuple[SSAValue, SSAValue, Any, set[SSAValue]]] = []
    for name, before, a, b in zip(names, given, *ends, strict=True):
        count = len(yielded)
        try:
            merged.append(_merged(trace, name, (a, b), blocks, yielded))
        except BuildError as error:
            if not isinstance(before, Unbound):
                raise
            del yielded[count:]  # a name of both branches, which nobody may use behind them
            merged.append((None, [Unbound(name, "the if", error.message)]))
    for block, at in zip(blocks, (0, 1), strict=True):
        with trace.inside(block):
            if at == 0 or block.ops or yielded:
                trace(scf.YieldOp(*(each[:2][at] for each in yielded)))
    regions = [Region(block) if at == 0 or block.ops else Region() for at, block in enumerate(blocks)]
    op = trace(scf.IfOp(condition.value, [each[0].type for each in yielded], regions[0], regions[1]))
    results = iter([wrapped(trace, value, *each[2:]) for value, each in zip(op.results, yielded, strict=True)])
    return tuple(packed(a, iter([next(results) if leaf is _RESULT else leaf for leaf in own])) for a, own in merged)


def _merged(
    trace: Trace,
    name: str,
    ends: tuple[tuple[Any, list[Any]], tuple[Any, list[Any]]],
    blocks: list[Block],
    yielded: list[Any],
) -> tuple[Any, list[Any]]:
    """The structure of a name behind a branch, and its leaves: those that differ are results. `ends` are its values
    and their leaves at the ends of the branches.
    """
    (a, first), (b, second) = ends
    if isinstance(a, Unbound) or isinstance(b, Unbound):
        return None, [Unbound(name, "the if")]
    if isinstance(a, Span) and a is not b:
        raise BuildError(f"expected tiles and scalars as results of an if, found a span in `{name}`; carry its start")
    check_structure(a, b, f"expected `{name}` to have one structure behind an if, found two")
    leaves: list[Any] = []
    for x, y in zip(first, second, strict=True):
        if is_same(x, y):
            leaves.append(x)
            continue
        with trace.inside(blocks[0]):
            x = element(x)
        with trace.inside(blocks[1]):
            y = element(y)
        like = next((each for each in (x, y) if is_value(each) or isinstance(each, Memory)), x)
        like = like.read() if isinstance(like, View | Product) else like
        if not isinstance(like, Tile | Scalar | int | float):
            raise BuildError(f"expected tiles and scalars as results of an if, found {x!r} and {y!r} in `{name}`")
        pair: list[SSAValue] = []
        for block, each in zip(blocks, (x, y), strict=True):
            with trace.inside(block):
                pair.append(ssa_value(each, like, name, "behind an if"))
        yielded.append((*pair, like, memories_of(x, y)))
        leaves.append(_RESULT)
    return a, leaves


def if_expression(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """A conditional expression."""
    condition = condition_of(test)
    if isinstance(condition, bool):
        return yes() if condition else no()

    def body(value: Callable[[], Any]) -> Bodies:
        return lambda *_: (value(),)

    return if_(condition, body(yes), body(no), ("the expression",), {"the expression": None})[0]


def plain_test(test: Any, what: str) -> bool:
    """The condition of what stays Python's own."""
    condition = condition_of(test)
    if isinstance(condition, Scalar):
        raise BuildError(f"expected a condition of Python around {what}, found one that the kernel computes")
    return condition
