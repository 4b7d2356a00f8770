"""Values that loops and branches carry, as the leaves of what names are bound to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, cast

from xdsl.ir import SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DType, dtype_of, i1, index
from tirx.builder.memory import Memory
from tirx.builder.scalars import Scalar
from tirx.builder.spans import Span
from tirx.builder.tiles import Tile
from tirx.builder.trace import BuildError, Trace
from tirx.builder.views import View
from tirx.dialects.tirx import TileType


def flat(value: Any) -> list[Any]:
    """Returns what is carried of a value: the leaves of tuples, lists and dictionaries, and the ends of spans."""
    match value:
        case tuple() | list():
            return [leaf for each in cast("Sequence[Any]", value) for leaf in flat(each)]
        case dict():
            return [leaf for each in cast("dict[Any, Any]", value).values() for leaf in flat(each)]
        case Span():
            return [value.start, *([] if value.size is None else [value.size])]
        case _:
            return [value]


def packed(value: Any, leaves: Iterable[Any]) -> Any:
    """The structure of a value with other leaves."""
    match value:
        case tuple() | list():
            return type(cast("list[Any]", value))(packed(each, leaves) for each in cast("Sequence[Any]", value))
        case dict():
            return {key: packed(each, leaves) for key, each in cast("dict[Any, Any]", value).items()}
        case Span():
            start = next(iter(leaves))
            size = None if value.size is None else next(iter(leaves))
            return value if start is value.start else Span(start, value.extent, step=value.step, count=lambda: size)
        case _:
            return next(iter(leaves))


def is_value(leaf: Any) -> bool:
    """Returns True for what the kernel has in registers."""
    return isinstance(leaf, Scalar) or (isinstance(leaf, Tile) and not isinstance(leaf, Memory))


def is_same(a: Any, b: Any) -> bool:
    """Returns True if two leaves are one value, or equal constants of one type."""
    if a is b:
        return True
    simple = (int, float, bool, str, type(None), DType)
    return isinstance(a, simple) and isinstance(b, simple) and type(a) is type(b) and a == b


def ssa_value(leaf: Any, like: Any, name: str, where: str) -> SSAValue:
    """A leaf in the IR, of the type of `like`."""
    if isinstance(like, Tile):
        if not isinstance(leaf, Tile):
            differs(name, like, leaf, where)
        found = leaf.read()
        found = found.load() if isinstance(found, Memory) else found
        if found.shape != like.shape or (found.dtype != like.dtype and index not in (found.dtype, like.dtype)):
            differs(name, like, leaf, where)
        return found.ssa()
    leaf = element(leaf)
    dtype = like.dtype if isinstance(like, Scalar) else i1 if isinstance(like, bool) else index
    if isinstance(leaf, Scalar) and leaf.dtype == dtype:
        return leaf.value
    if isinstance(leaf, int) and (not isinstance(like, float)) or (isinstance(leaf, float) and dtype.is_float):
        return functions.scalar(leaf, dtype).value
    if isinstance(leaf, float):
        raise BuildError(f"expected `{name}` with a type {where}, found a number of Python; f32({leaf}) gives it one")
    differs(name, like, leaf, where)


def _shown(value: Any) -> str:
    if isinstance(value, Tile):
        return f"{'x'.join(map(str, value.shape))}x{value.dtype}"
    return str(value.dtype) if isinstance(value, Scalar) else repr(value)


def differs(name: str, before: Any, after: Any, where: str) -> NoReturn:
    """Raises the error for a name whose type changes."""
    raise BuildError(f"expected `{name}` to keep its type {where}, found {_shown(before)} and {_shown(after)}")


class Chosen(Tile):
    """The value behind a branch, or in a loop, of a name that has one of several tiles there, some of them views.

    Of a view, it is read there: reading it behind a write to that memory, or an update in place, is an error.
    """

    def __init__(self, trace: Trace, value: SSAValue, memories: set[SSAValue]):
        type_ = TileType.of(value)
        super().__init__(trace, type_.dims, dtype_of(type_.element_type), value)
        self.reads = memories
        self._since = trace.writes

    @property
    def lies_in(self) -> set[SSAValue]:
        return self.reads

    def ssa(self) -> SSAValue:
        self.trace.check_copies([(memory, self._since) for memory in self.reads], self._since + 1)
        return super().ssa()

    def __iadd__(self, value: Any) -> Any:
        return self._updated("add", value)

    def _updated(self, name: str, other: Any) -> Any:
        raise BuildError("expected a[m, k] += x of the array, found an update of a name that has one of several views")


def wrapped(trace: Trace, value: SSAValue, like: Any, chosen: Sequence[Any]) -> Any:
    """Returns a value of the IR as a leaf such as `like`, where a loop or branch has chosen among leaves."""
    if isinstance(value.type, TileType):
        memories = {memory for each in chosen if isinstance(each, Tile) for memory in each.lies_in}
        return Chosen(trace, value, memories) if memories else Tile.of(value)
    dtype = like.dtype if isinstance(like, Scalar) else dtype_of(value.type)
    return Scalar(trace, value, dtype)


def element(value: Any) -> Any:
    """An element of memory as it is now."""
    return value.read() if isinstance(value, View) and value.is_element else value
