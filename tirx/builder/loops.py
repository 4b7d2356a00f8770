"""Loops: `scf.for` and `scf.while` where the kernel counts or computes the condition, Python's elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from tirx.builder import functions
from tirx.builder.branches import condition_of
from tirx.builder.carried import Bodies, Carried, bound_values, written_once
from tirx.builder.dtypes import index
from tirx.builder.scalars import Elements, Scalar, distance
from tirx.builder.spans import Span, as_index
from tirx.builder.trace import BuildError, current
from tirx.builder.views import View
from tirx.frames import hiding_frames


class Range:
    """The indices of a loop that the kernel runs: `for i in tx.range(n)`."""

    def __init__(self, start: Any, stop: Any, step: Any, unroll: bool = False):
        self.start, self.stop, self.step, self.unroll = start, stop, step, unroll

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Scalar]: ...

    else:

        @hiding_frames
        def __iter__(self):
            raise BuildError(
                "expected a loop of a function below @tx.jit or @tx.fn, without break, continue or return, found "
                "another one; range() counts while the kernel is written"
            )

    def item(self, value: Scalar) -> Any:
        """The value of the name of the loop."""
        return value


class Tiles(Range):
    """The spans of a loop that the kernel runs: `for k in tx.tiles(n, 64)`."""

    def __init__(self, start: Any, stop: Any, extent: int):
        super().__init__(start, stop, extent)
        self.extent = extent

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Span]: ...  # pyright: ignore[reportIncompatibleMethodOverride]

    def item(self, value: Scalar) -> Span:
        length = distance(as_index(self.stop).value, as_index(self.start).value)
        whole = length is not None and length % self.extent == 0
        return Span(value, self.extent, None if whole else as_index(self.stop))


def range_(
    start: Scalar | int, stop: Scalar | int | None = None, step: Scalar | int = 1, *, unroll: bool = False
) -> Range:
    """The indices of a loop that the kernel runs, as those of `range`; with `unroll` it is written out.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, 64], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     for i in tx.range(4):
    ...         a[i, :] = tx.zeros(tx.f32, 64)
    >>> _ = kernel.module
    """
    low, high = (0, start) if stop is None else (start, stop)
    if isinstance(step, int) and step < 1:
        raise BuildError(f"expected a positive step, found {step}")
    return Range(low, high, step, unroll)


def tiles(*ends: Elements | int) -> Tiles:
    """`tx.tiles(n, 64)` or `tx.tiles(start, stop, 64)`: a loop over spans of 64 indices, the last of which ends there.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64, None], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     for k in tx.tiles(a.shape[1], 16):
    ...         print(a[:, k])
    >>> _ = kernel.module
    a view f32[64, 16]
    """
    if len(ends) not in (2, 3) or type(ends[-1]) is not int or ends[-1] < 1:
        raise BuildError(f"expected tx.tiles(n, extent) or tx.tiles(start, stop, extent), found {ends}")
    low, high = (0, ends[0]) if len(ends) == 2 else ends[:2]
    low, high = (each.read() if isinstance(each, View) else each for each in (low, high))
    return Tiles(low, high, ends[-1])


def for_(
    items: Any, body: Bodies, names: tuple[str, ...], known: dict[str, Any], targets: tuple[str, ...]
) -> tuple[Any, ...]:
    """A `for` loop: `scf.for` over tx.range and tx.tiles, behind which `targets` are unbound; or Python's."""
    inside = isinstance(items, Range) and not items.unroll
    values = bound_values(names, {k: v for k, v in known.items() if not (inside and k in targets)}, "the loop")
    if isinstance(items, Range) and items.unroll:
        items = [items.item(functions.scalar(i, index)) for i in range(items.start, items.stop, items.step)]
    if not isinstance(items, Range):
        given = tuple(values)
        for each in items:
            given = body(each, *given)
        return given
    trace = current()
    trace.flush()
    before, copies = trace.writes, len(trace.copies)
    start, stop, step = (as_index(each) for each in (items.start, items.stop, items.step))
    with trace.loop() as key:
        while True:
            trace.loops[-1] = 0
            carried = Carried(trace, names, values, key)
            inits = carried.inits()
            block = Block(arg_types=[IndexType(), *(each.type for each in inits)])
            op = scf.ForOp(start.value, stop.value, step.value, inits, Region(block))
            with trace.inside(block):
                item = items.item(Scalar(trace, block.args[0], index, natural=start.natural))
                with written_once(known):
                    found = carried.ends(body(item, *carried.bound(block.args[1:])), block.args[1:])
                if found is None:
                    op.erase(safe_erase=False)
                    continue
                ends = carried.yielded(found)
                trace(scf.YieldOp(*ends))
            kept = [i for i, (end, own) in enumerate(zip(ends, block.args[1:], strict=True)) if end is not own]
            op, results = _pruned(op, inits, kept)
            trace(op)
            trace.check_copies(trace.copies[copies:], before)
            ends_known = type(items.start) is int and type(items.stop) is int
            return carried.after(results(), found, "the loop", ends_known and items.start < items.stop)


def _pruned(op: scf.ForOp, inits: list[SSAValue], kept: list[int]) -> tuple[scf.ForOp, Callable[[], list[SSAValue]]]:
    """The loop without values that stay as they are."""
    block = op.body.block
    last = cast(scf.YieldOp, block.last_op)
    ends = [last.operands[i] for i in kept]
    if len(kept) < len(inits):
        last.detach()
        last.erase()
        for i in reversed(range(len(inits))):
            if i not in kept:
                argument = block.args[1 + i]
                argument.replace_all_uses_with(inits[i])
                block.erase_arg(argument)
        block.add_op(end := scf.YieldOp(*ends))
        end.location = op.location
        made = scf.ForOp(op.lb, op.ub, op.step, [inits[i] for i in kept], op.detach_region(0))
        op.erase()
        op = made
    return op, lambda: [op.results[kept.index(i)] if i in kept else init for i, init in enumerate(inits)]


def while_(test: Callable[..., Any], body: Bodies, names: tuple[str, ...], known: dict[str, Any]) -> tuple[Any, ...]:
    """A `while` loop: rounds whose condition Python knows are written out, and `scf.while` goes on from there."""
    given = tuple(bound_values(names, known, "the loop"))
    while (after := _while(test, body, names, given, known)) is None:
        if not condition_of(test(*given)):
            return given
        given = body(*given)
    return after


def _while(
    test: Callable[..., Any], body: Bodies, names: tuple[str, ...], values: tuple[Any, ...], known: dict[str, Any]
) -> tuple[Any, ...] | None:
    """The values behind the loop in the kernel; None where Python knows the condition."""
    trace = current()
    trace.flush()
    writes, copies = trace.writes, len(trace.copies)
    with trace.loop() as key:
        while True:
            trace.loops[-1] = 0
            carried = Carried(trace, names, [*values], key)
            inits = carried.inits()
            types = [each.type for each in inits]
            before, block = Block(arg_types=types), Block(arg_types=types)
            with trace.inside(before):
                condition = condition_of(test(*carried.bound(before.args)))
                if isinstance(condition, bool):
                    carried.forget()
                    return None
                trace(scf.ConditionOp(condition.value, *before.args))
            with trace.inside(block):
                with written_once(known):
                    found = carried.ends(body(*carried.bound(block.args)), block.args)
                if found is None:
                    continue
                trace(scf.YieldOp(*carried.yielded(found)))
            op = trace(scf.WhileOp(inits, types, Region(before), Region(block)))
            trace.check_copies(trace.copies[copies:], writes)
            return carried.after(op.results, found, "the loop")


def plain(items: Any, what: str) -> Any:
    """The items of a loop that stays Python's own."""
    if isinstance(items, Range):
        raise BuildError(
            f"expected a loop of the kernel without {what}, found one with it; carry a condition in a while"
        )
    return items
