"""The control flow of kernels: Python's where values are Python's, `scf` where the kernel computes them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue
from xdsl.traits import is_side_effect_free

from tirx.builder import functions
from tirx.builder.carried import element, flat, is_same, is_value, packed, ssa_value, wrapped
from tirx.builder.dtypes import i1, index
from tirx.builder.memory import Memory, Product, accumulator, store
from tirx.builder.scalars import Elements, Scalar
from tirx.builder.spans import Span, as_index
from tirx.builder.tiles import Tile
from tirx.builder.trace import BuildError, Trace, Unusable, current, name_value
from tirx.builder.views import View
from tirx.dialects.tirx import FillOp

Bodies = Callable[..., tuple[Any, ...]]


class Unbound(Unusable):
    """A name that is not bound here."""

    def __init__(self, name: str, why: str):
        super().__init__(f"expected `{name}` to be bound in front of {why}, found it bound inside only")
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        return f"`{object.__getattribute__(self, 'name')}`, which is bound inside of a loop or branch only"


class Range:
    """The indices of a loop that the kernel runs: `for i in tx.range(n)`."""

    def __init__(self, start: Any, stop: Any, step: Any, unroll: bool = False):
        self.start, self.stop, self.step, self.unroll = start, stop, step, unroll

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[Scalar]: ...

    else:

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
        whole = type(self.start) is int and type(self.stop) is int and (self.stop - self.start) % self.extent == 0
        return Span(value, self.extent, None if whole else as_index(self.stop))


def range_(
    start: Scalar | int, stop: Scalar | int | None = None, step: Scalar | int = 1, *, unroll: bool = False
) -> Range:
    """
    The indices of a loop that the kernel runs, as those of `range`; with `unroll` it is written out.

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
    """
    `tx.tiles(n, 64)` or `tx.tiles(start, stop, 64)`: a loop over spans of 64 indices, the last of which ends there.

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


# What Python has, and a body that is written once must not change


def _state(value: Any, seen: dict[int, Any]) -> Any:
    """The items of a list, dictionary, set or object of Python, as far as they go; itself for others."""
    kind = cast("type[object]", type(value))
    own = getattr(kind, "__module__", "").partition(".")[0]
    is_object = hasattr(value, "__dict__") and own not in ("builtins", "tirx", "xdsl", "numpy") and not callable(value)
    if id(value) in seen or not (kind in (list, dict, set) or is_object):
        return value
    seen[id(value)] = value
    if kind is dict or is_object:
        items = cast("dict[Any, Any]", value if kind is dict else vars(value))
        return {key: _state(each, seen) for key, each in items.items()}
    return [_state(each, seen) for each in cast("Iterable[Any]", value)]


def _stays(before: Any, after: Any) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        first, second = cast("dict[Any, Any]", before), cast("dict[Any, Any]", after)
        return first.keys() == second.keys() and all(_stays(each, second[key]) for key, each in first.items())
    if isinstance(before, list) and isinstance(after, list):
        first, second = cast("list[Any]", before), cast("list[Any]", after)
        return len(first) == len(second) and all(map(_stays, first, second))
    return before is after


@contextmanager
def _written_once(known: dict[str, Any]) -> Generator[None]:
    """Checks that what Python has in these names stays as it is: a body is written once, run often."""
    names = [name for name in known if not name.startswith("__tirx")]
    before = {name: _state(known[name], {}) for name in names}
    yield
    for name in names:
        if not _stays(before[name], _state(known[name], {})):
            raise BuildError(
                f"expected `{name}` to stay as it is in a loop or branch of the kernel, which is written once, found "
                f"a change inside of {type(known[name]).__name__}; a name or a tuple that is bound anew is carried"
            )


def pack(names: tuple[str, ...], values: dict[str, Any]) -> tuple[Any, ...]:
    """The values of the names of a body, which it returns."""
    return tuple(values.get(name, Unbound(name, "this")) for name in names)


class _Carried:
    """The leaves of the names that a loop stores, and how each goes through it."""

    def __init__(self, trace: Trace, names: tuple[str, ...], values: list[Any], key: object):
        self.trace, self.names, self.values = trace, names, values
        self.leaves = [element(leaf) for value in values for leaf in flat(value)]
        self.of = [name for name, value in zip(names, values, strict=True) for _ in flat(value)]
        self.decided: dict[int, str] = trace.kept.setdefault(("loop", key), {})
        self.memories: dict[int, tuple[Memory, FillOp]] = {}
        self.number = dict(enumerate(self.leaves))
        for i, leaf in self.number.items():
            if isinstance(leaf, Tile) and leaf.is_constant and self.decided.get(i) in (None, "memory"):
                memory = accumulator(leaf.dtype, leaf.shape)
                memory.is_value = True
                memory.named(self.of[i])
                store(leaf.constant, memory)
                self.memories[i] = memory, cast(FillOp, trace.blocks[-1].last_op)
        self.carried = [i for i, leaf in self.number.items() if self._is_carried(i, leaf)]

    def _is_carried(self, i: int, leaf: Any) -> bool:
        if i in self.memories or self.decided.get(i) == "plain":
            return False
        is_view = isinstance(leaf, Tile) and bool(leaf.lies_in)
        return (is_value(leaf) and not is_view) or self.decided.get(i) == "value"

    def inits(self) -> list[SSAValue]:
        return [ssa_value(self.leaves[i], self.leaves[i], self.of[i], "in a loop") for i in self.carried]

    def bound(self, arguments: Sequence[SSAValue], of: Sequence[Any] | None = None) -> tuple[Any, ...]:
        """The values of the names inside, or behind a loop that ends with the leaves `of`."""
        of = self.leaves if of is None else of
        made = dict(zip(self.carried, arguments, strict=True))
        for i, argument in made.items():
            name_value(argument, self.of[i])
        leaves: list[Any] = []
        for i, leaf in self.number.items():
            if i in made:
                leaves.append(wrapped(self.trace, made[i], leaf, [of[i]]))
            else:
                leaves.append(self.memories[i][0] if i in self.memories else leaf)
        rest = iter(leaves)
        return tuple(packed(value, rest) for value in self.values)

    def ends(self, values: tuple[Any, ...], arguments: Sequence[SSAValue]) -> list[Any] | None:
        """The leaves at the end of the body; None if some go through the loop in another way."""
        found: list[Any] = []
        for name, before, after in zip(self.names, self.values, values, strict=True):
            if isinstance(before, Unbound):
                found.append(before)
                continue
            leaves = flat(after)
            if len(leaves) != len(flat(before)):
                raise BuildError(f"expected `{name}` to keep its structure in a loop, found another one at its end")
            found += leaves
        again = False
        for i, (before, after) in enumerate(zip(self.leaves, found, strict=True)):
            if isinstance(before, Unbound) or i in self.carried:
                continue
            if i in self.memories:
                memory, fill = self.memories[i]
                if after is memory and len([*memory.op_value.uses]) > 1 and _is_added(memory):
                    continue
                self.decided[i] = "plain" if after is memory else "value"
                again = True
            elif not is_same(before, after):
                if not isinstance(before, int | float | bool | Memory | View):
                    raise BuildError(
                        f"expected `{self.of[i]}` to stay {before!r} in a loop, found {after!r} at its end"
                    )
                self.decided[i] = "value"
                again = True
        if again:
            for _, fill in self.memories.values():
                fill.detach()
                fill.erase()
            return None
        return found

    def yielded(self, found: list[Any]) -> list[SSAValue]:
        """The carried leaves at the end of the body, in the IR."""
        return [ssa_value(found[i], self.leaves[i], self.of[i], "in a loop") for i in self.carried]

    def after(self, results: Sequence[SSAValue], found: list[Any], why: str) -> tuple[Any, ...]:
        values = self.bound(results, found)
        return tuple(
            Unbound(name, why) if isinstance(value, Unbound) else value
            for name, value in zip(self.names, values, strict=True)
        )


def _is_added(memory: Memory) -> bool:
    return any(use.operation.name == "tirx.mma" for use in memory.op_value.uses)


def _bound_values(names: tuple[str, ...], known: dict[str, Any], why: str) -> list[Any]:
    return [known.get(name, Unbound(name, why)) for name in names]


def for_(
    items: Any, body: Bodies, names: tuple[str, ...], known: dict[str, Any], targets: tuple[str, ...]
) -> tuple[Any, ...]:
    """A `for` loop: `scf.for` over tx.range and tx.tiles, behind which `targets` are unbound; or Python's."""
    inside = isinstance(items, Range) and not items.unroll
    values = _bound_values(names, {k: v for k, v in known.items() if not (inside and k in targets)}, "the loop")
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
    while True:
        carried = _Carried(trace, names, values, body.__code__)  # pyright: ignore[reportFunctionMemberAccess]
        inits = carried.inits()
        block = Block(arg_types=[IndexType(), *(each.type for each in inits)])
        op = scf.ForOp(start.value, stop.value, step.value, inits, Region(block))
        with trace.inside(block):
            item = items.item(Scalar(trace, block.args[0], index, natural=start.natural))
            with _written_once(known):
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
        return carried.after(results(), found, "the loop")


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
    """A `while` loop: `scf.while` where the kernel computes the condition."""
    values = _bound_values(names, known, "the loop")
    trace = current()
    trace.flush()
    writes, copies = trace.writes, len(trace.copies)
    while True:
        carried = _Carried(trace, names, values, body.__code__)  # pyright: ignore[reportFunctionMemberAccess]
        inits = carried.inits()
        types = [each.type for each in inits]
        before, block = Block(arg_types=types), Block(arg_types=types)
        with trace.inside(before):
            condition = _condition(test(*carried.bound(before.args)))
            if isinstance(condition, bool):
                for _, fill in carried.memories.values():
                    fill.detach()
                    fill.erase()
                break
            trace(scf.ConditionOp(condition.value, *before.args))
        with trace.inside(block):
            with _written_once(known):
                found = carried.ends(body(*carried.bound(block.args)), block.args)
            if found is None:
                continue
            ends = (ssa_value(found[i], carried.leaves[i], carried.of[i], "in a loop") for i in carried.carried)
            trace(scf.YieldOp(*ends))
        op = trace(scf.WhileOp(inits, types, Region(before), Region(block)))
        trace.check_copies(trace.copies[copies:], writes)
        return carried.after(op.results, found, "the loop")
    given = tuple(values)
    while _known(test(*given)):
        given = body(*given)
    return given


def _known(value: Any) -> bool:
    if isinstance(value, Scalar | Tile):
        raise BuildError("expected a condition that stays a Python value in a loop, found one that the kernel computes")
    return bool(value)


def _condition(value: Any) -> Scalar | bool:
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


def if_(test: Any, yes: Bodies, no: Bodies, names: tuple[str, ...], known: dict[str, Any]) -> tuple[Any, ...]:
    """An `if`: `scf.if` where the kernel computes the condition."""
    condition = _condition(test)
    given = _bound_values(names, known, "the if")
    if isinstance(condition, bool):
        return (yes if condition else no)(*given)
    trace = current()
    if trace.is_of_elements:
        raise BuildError("expected tx.where(condition, x, y) in a function of elements, found a branch")
    trace.flush()
    blocks, ends = [Block(), Block()], list[tuple[Any, ...]]()
    for block, body in zip(blocks, (yes, no), strict=True):
        with trace.inside(block), _written_once(known):
            ends.append(body(*given))
    merged: list[Any] = []
    yielded: list[tuple[SSAValue, SSAValue, Any, Sequence[Any]]] = []
    for name, a, b in zip(names, *ends, strict=True):
        merged.append(_merged(trace, name, a, b, blocks, yielded))
    for block, at in zip(blocks, (0, 1), strict=True):
        with trace.inside(block):
            if at == 0 or block.ops or yielded:
                trace(scf.YieldOp(*(each[:2][at] for each in yielded)))
    regions = [Region(block) if at == 0 or block.ops else Region() for at, block in enumerate(blocks)]
    op = trace(scf.IfOp(condition.value, [each[0].type for each in yielded], regions[0], regions[1]))
    results = iter([wrapped(trace, value, *each[2:]) for value, each in zip(op.results, yielded, strict=True)])
    return tuple(_filled(each, results) for each in merged)


class _Result:
    """Stands for a result of the branch."""


_RESULT = _Result()


def _filled(value: Any, results: Any) -> Any:
    if isinstance(value, Unbound | _Result):
        return value if isinstance(value, Unbound) else next(results)
    leaves = [next(results) if isinstance(leaf, _Result) else leaf for leaf in flat(value)]
    return packed(value, iter(leaves))


def _merged(trace: Trace, name: str, a: Any, b: Any, blocks: list[Block], yielded: list[Any]) -> Any:
    """The value of a name behind a branch: leaves that differ are results."""
    if isinstance(a, Unbound) or isinstance(b, Unbound):
        return Unbound(name, "the if")
    if isinstance(a, Span) and a is not b:
        raise BuildError(f"expected tiles and scalars as results of an if, found a span in `{name}`; carry its start")
    first, second = flat(a), flat(b)
    if len(first) != len(second):
        raise BuildError(f"expected `{name}` to have one structure behind an if, found two")
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
        yielded.append((*pair, like, (x, y)))
        leaves.append(_RESULT)
    return packed(a, iter(leaves))


def if_expression(test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """A conditional expression."""
    condition = _condition(test)
    if isinstance(condition, bool):
        return yes() if condition else no()

    def body(value: Callable[[], Any]) -> Bodies:
        return lambda *_: (value(),)

    return if_(condition, body(yes), body(no), ("the expression",), {"the expression": None})[0]


def and_(*terms: Callable[[], Any]) -> Any:
    """`and`: of what the kernel computes, a later term that reads memory is in a branch, as Python would skip it."""
    return _joined(terms, "and", False)


def or_(*terms: Callable[[], Any]) -> Any:
    """`or`, as `and_`."""
    return _joined(terms, "or", True)


def _joined(terms: tuple[Callable[[], Any], ...], name: str, ends: bool) -> Any:
    found = terms[0]()
    for each in terms[1:]:
        if isinstance(found := element(found), Scalar):
            found = _skipped(found, each, name, ends)
        elif isinstance(found, Tile):
            found = _truths(name, found, each())
        elif bool(found) is ends:
            return found
        else:
            found = each()
    return found


def _truths(name: str, *terms: Any) -> Any:
    """A function of truths, each beside its own."""
    for each in terms:
        if isinstance(each, Elements) and each.dtype != i1:
            sign = functions.OPERATOR_NAMES[name]
            raise BuildError(f"expected truths for `{name}` of tiles, found {each!r}: write x != 0, or {sign} for bits")
    return functions.apply(name, *terms)


def _skipped(found: Scalar, term: Callable[[], Any], name: str, ends: bool) -> Any:
    """A term behind one of the kernel, in a branch if it does more than to compute; truths beside numbers are 0, 1."""
    trace, block = current(), Block()
    truth = cast(Scalar, _condition(found))
    with trace.inside(block):
        value = element(term())
        if not isinstance(value, Scalar) or value.dtype == i1:
            dtype = found.dtype
        elif found.dtype == i1:
            dtype = value.dtype
        else:
            dtype = functions.common(name, [found, value])
        if isinstance(value, Scalar) and value.dtype != dtype:
            value = value.to(dtype)
    if found.dtype != dtype:
        found = found.to(dtype)

    def other() -> Any:
        for op in list(block.ops):
            op.detach()
            trace.blocks[-1].add_op(op)
        return value

    def own() -> Scalar:
        return found

    if not isinstance(value, Tile) and not all(map(is_side_effect_free, block.ops)):
        return if_expression(truth, own, other) if ends else if_expression(truth, other, own)
    other()
    if isinstance(value, Tile):
        return _truths(name, found, value)
    if dtype == i1:
        return functions.apply(name, found, value)
    return functions.where(truth, found, value) if ends else functions.where(truth, value, found)


def not_(value: Any) -> Any:
    """`not`."""
    if isinstance(value, Scalar | Tile):
        return ~value if value.dtype == i1 else functions.apply("eq", value, 0)
    return not value


def _in(value: Any, items: Any) -> Any:
    """Equal to one of the items, where the kernel computes it or one of them."""
    value, given = element(value), items
    if isinstance(items, tuple | list | set | frozenset | dict | range):
        given = [element(each) for each in cast("Iterable[Any]", items)]
        if any(isinstance(each, Elements) for each in (value, *given)):
            return or_(*((lambda each=each: each == value) for each in given)) if given else False
    return value in given


def _is(a: Any, b: Any) -> bool:
    for each in (a, b):
        if isinstance(each, Unbound):
            bool(each)
    return a is b


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "In": _in,
    "NotIn": lambda a, b: not_(_in(a, b)),
    "Is": _is,
    "IsNot": lambda a, b: not _is(a, b),
}


def compared(first: Any, *rest: tuple[str, Callable[[], Any]]) -> Any:
    """`a < b < c`: each term is evaluated once, and none behind a comparison that does not hold."""
    terms = [first]

    def pair(name: str, term: Callable[[], Any]) -> Any:
        terms.append(term())
        return _COMPARISONS[name](*terms[-2:])

    return and_(*(partial(pair, *each) for each in rest))


def assert_(test: Any, message: Callable[[], Any]) -> None:
    """`assert` of what Python knows."""
    if isinstance(test, Scalar | Tile):
        raise BuildError("expected a condition that Python knows for assert, found one of the kernel")
    if not test:
        raise BuildError(f"expected what `assert` says: {message()}")


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """A call of `min` or `max`, which may be of indices of the kernel."""
    given = [each.read() if isinstance(each, View) else each for each in arguments]
    name = {min: "minimum", max: "maximum"}.get(function)
    if name is None or len(given) < 2 or not any(isinstance(each, Scalar | Tile) for each in given):
        return function(*arguments, **named)
    return reduce(lambda a, b: functions.apply(name, a, b), given)


def kept(value: Any) -> Any:
    """The value of a second name: that of a sum of products is a tile as it is now, which the first goes on from."""
    return value.load() if isinstance(value, Memory) and value.is_value else value


def named(value: Any, names: Any) -> Any:
    """A value that Python gives a name, or a tuple of names: the IR has them, too."""
    if isinstance(names, tuple):
        parts = [*cast("Sequence[Any]", value)] if isinstance(value, tuple | list) else []
        for each, name in zip(parts, cast("tuple[Any, ...]", names), strict=False):
            named(each, name)
    elif isinstance(value, Tile):
        value.named(names)
    elif isinstance(value, Scalar) and not isinstance(value.value.owner, arith.ConstantOp):
        name_value(value.value, names)
    return cast(Any, value)


def plain(items: Any, what: str) -> Any:
    """The items of a loop that stays Python's own."""
    if isinstance(items, Range):
        raise BuildError(
            f"expected a loop of the kernel without {what}, found one with it; carry a condition in a while"
        )
    return items


def plain_test(test: Any, what: str) -> bool:
    """The condition of what stays Python's own."""
    condition = _condition(test)
    if isinstance(condition, Scalar):
        raise BuildError(f"expected a condition of Python around {what}, found one that the kernel computes")
    return condition
