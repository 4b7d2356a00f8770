"""`and`, `or`, `not`, comparisons, `min`, `max` and `assert`, of what the kernel computes and of what Python has."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import partial, reduce
from typing import Any, cast

from xdsl.ir import Block
from xdsl.traits import is_side_effect_free

from tirx.builder import functions
from tirx.builder.branches import condition_of, if_expression
from tirx.builder.carried import Unbound, element
from tirx.builder.dtypes import i1
from tirx.builder.scalars import Elements, Scalar
from tirx.builder.tiles import Tile
from tirx.builder.trace import BuildError, current
from tirx.builder.views import View


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
    truth = cast(Scalar, condition_of(found))
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


def call(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """A call of `min` or `max`, which may be of indices of the kernel."""
    given = [each.read() if isinstance(each, View) else each for each in arguments]
    name = {min: "minimum", max: "maximum"}.get(function)
    if name is None or len(given) < 2 or not any(isinstance(each, Scalar | Tile) for each in given):
        return function(*arguments, **named)
    return reduce(lambda a, b: functions.apply(name, a, b), given)


def assert_(test: Any, message: Callable[[], Any]) -> None:
    """`assert` of what Python knows."""
    if isinstance(test, Scalar | Tile):
        raise BuildError("expected a condition that Python knows for assert, found one of the kernel")
    if not test:
        raise BuildError(f"expected what `assert` says: {message()}")
