"""Values that loops and branches carry, as the leaves of what names are bound to."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, cast

from xdsl.ir import BlockArgument, Operation, SSAValue

from tirx.builder import functions
from tirx.builder.dtypes import DType, dtype_of, i1, index
from tirx.builder.memory import Memory, accumulator, store
from tirx.builder.scalars import Scalar
from tirx.builder.spans import Span
from tirx.builder.tiles import Tile
from tirx.builder.trace import BuildError, Trace, Unusable, name_value
from tirx.builder.views import View
from tirx.dialects.tirx import AllocOp, FillOp, LoadOp, MemorySpace, ReshapeOp, SubviewOp, TileType, TransposeOp

Bodies = Callable[..., tuple[Any, ...]]


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


def _structure(value: Any) -> Any:
    match value:
        case tuple() | list():
            return [_structure(each) for each in cast("Sequence[Any]", value)]
        case dict():
            return [(key, _structure(each)) for key, each in cast("dict[Any, Any]", value).items()]
        case Span():
            return value.extent, value.step, value.is_clipped
        case _:
            return None


def check_structure(first: Any, second: Any, message: str) -> None:
    """Raises BuildError where two values differ in more than their leaves: in their keys, or how their spans go on."""
    if _structure(first) != _structure(second):
        alike = len(flat(first)) == len(flat(second))
        raise BuildError(message + "; keys, and extents and steps of spans, are part of it" * alike)


def packed(value: Any, leaves: Iterable[Any]) -> Any:
    """The structure of a value with other leaves."""
    match value:
        case tuple() | list():
            return type(cast("list[Any]", value))(packed(each, leaves) for each in cast("Sequence[Any]", value))
        case dict():
            return {key: packed(each, leaves) for key, each in cast("dict[Any, Any]", value).items()}
        case Span():
            start = next(iter(leaves))
            return value.replaced(start, next(iter(leaves)) if value.is_clipped else None)
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
        return _as_value(found.trace, found.ssa())
    leaf = element(leaf)
    dtype = like.dtype if isinstance(like, Scalar) else i1 if isinstance(like, bool) else index
    if isinstance(leaf, Scalar) and leaf.dtype == dtype:
        return leaf.value
    if isinstance(leaf, int) and (not isinstance(like, float)) or (isinstance(leaf, float) and dtype.is_float):
        return functions.scalar(leaf, dtype).value
    if isinstance(leaf, float):
        raise BuildError(f"expected `{name}` with a type {where}, found a number of Python; f32({leaf}) gives it one")
    differs(name, like, leaf, where)


def _as_value(trace: Trace, tile: SSAValue) -> SSAValue:
    """Returns a tile as a register value: parts of an accumulator, turned or not, as they are now."""
    source, views = tile, list[Operation]()
    while TileType.of(source).memory is not MemorySpace.ACCUMULATOR:
        if not isinstance(op := source.owner, SubviewOp | ReshapeOp | TransposeOp):
            return tile
        views.append(op)
        source = op.source
    type_ = TileType.of(source)
    value = trace(LoadOp(source, TileType.get(type_.dims, type_.element_type, MemorySpace.REGISTER))).result
    for op in reversed(views):
        value = trace(op.clone({op.operands[0]: value})).results[0]
    return value


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
        copies = [(memory, self._since) for memory in self.reads]
        self.trace.copies += copies
        self.trace.check_copies(copies, self._since + 1)
        return super().ssa()

    def _updated(self, name: str, other: Any) -> Any:
        raise BuildError("expected a[m, k] += x of the array, found an update of a name that has one of several views")


def memories_of(*leaves: Any) -> set[SSAValue]:
    """The memory that leaves are views of."""
    return {memory for each in leaves if isinstance(each, Tile) for memory in each.lies_in}


def wrapped(trace: Trace, value: SSAValue, like: Any, memories: set[SSAValue]) -> Any:
    """Returns a value of the IR as a leaf such as `like`, which may have been a view of one of `memories`."""
    if isinstance(type_ := value.type, TileType) and not type_.parameters_of_shape:
        return Chosen(trace, value, memories) if memories else Tile.of(value)
    dtype = like.dtype if isinstance(like, Scalar) else dtype_of(value.type)
    return Scalar(trace, value, dtype)


def element(value: Any) -> Any:
    """An element of memory as it is now."""
    return value.read() if isinstance(value, View) and value.is_element else value


class Unbound(Unusable):
    """A name that is not bound here."""

    def __init__(self, name: str, why: str, text: str | None = None):
        super().__init__(text or f"expected `{name}` to be bound in front of {why}, found it bound inside only")
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        return f"`{object.__getattribute__(self, 'name')}`, which is bound inside of a loop or branch only"


# What Python has, and a body that is written once must not change


def _state(value: Any, seen: dict[int, Any]) -> Any:
    """The items of a list, dictionary, set or object of Python, as far as they go; itself for others."""
    kind = cast("type[object]", type(value))
    own = kind.__module__.partition(".")[0]
    is_object = hasattr(value, "__dict__") and own not in ("builtins", "tirx", "xdsl", "numpy") and not callable(value)
    if id(value) in seen or not (kind in (list, dict, set) or is_object):
        return value
    seen[id(value)] = value
    if kind is dict or is_object:
        items = cast("dict[Any, Any]", value if kind is dict else vars(value))
        return {key: _state(each, seen) for key, each in items.items()}
    return [_state(each, seen) for each in cast("Iterable[Any]", value)]


def _stays(before: Any, after: Any) -> bool:
    if before is after:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        first, second = cast("dict[Any, Any]", before), cast("dict[Any, Any]", after)
        return first.keys() == second.keys() and all(_stays(each, second[key]) for key, each in first.items())
    if isinstance(before, list) and isinstance(after, list):
        first, second = cast("list[Any]", before), cast("list[Any]", after)
        return len(first) == len(second) and all(map(_stays, first, second))
    return False


@contextmanager
def written_once(known: dict[str, Any]) -> Generator[None]:
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


def bound_values(names: tuple[str, ...], known: dict[str, Any], why: str) -> list[Any]:
    return [known.get(name, Unbound(name, why)) for name in names]


# Loops


class Carried:
    """The leaves of the names that a loop stores, and how each goes through it."""

    def __init__(self, trace: Trace, names: tuple[str, ...], values: list[Any], key: tuple[int, ...]):
        self.trace, self.names, self.values = trace, names, values
        self.leaves = [element(leaf) for value in values for leaf in flat(value)]
        self.of = [name for name, value in zip(names, values, strict=True) for _ in flat(value)]
        self.decided: dict[int, str] = trace.kept.setdefault(("loop", key), {})
        self.views: dict[int, set[SSAValue]] = trace.kept.setdefault(("views", key), {})
        """Number of a leaf -> the memory that it is a view of in a later round."""
        self.known = {op.result for op in trace.entry.ops if isinstance(op, AllocOp)}
        self.memories: dict[int, tuple[Memory, FillOp]] = {}
        self.number = dict(enumerate(self.leaves))
        for i, leaf in self.number.items():
            if isinstance(leaf, Tile) and leaf.is_constant and i not in self.decided:
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

    def bound(
        self, arguments: Sequence[SSAValue], ends: Sequence[Any] | None = None, runs: bool = False
    ) -> tuple[Any, ...]:
        """The values of the names inside, or behind a loop that ends with leaves, and surely `runs` or may not."""
        made = dict(zip(self.carried, arguments, strict=True))
        for i, argument in made.items():
            name_value(argument, self.of[i])
        leaves: list[Any] = []
        for i, leaf in self.number.items():
            if i in made:
                memories = set[SSAValue]() if runs else memories_of(leaf)
                memories |= self.views.get(i, set()) if ends is None else memories_of(ends[i])
                leaves.append(wrapped(self.trace, made[i], leaf, memories))
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
            message = f"expected `{name}` to keep its structure in a loop, found another one at its end"
            check_structure(before, after, message)
            found += flat(after)
        again = False
        for i, (before, after) in enumerate(zip(self.leaves, found, strict=True)):
            if isinstance(before, Unbound):
                continue
            if i in self.carried:
                memories = {
                    each for each in memories_of(after) if isinstance(each, BlockArgument) or each in self.known
                }
                again = again or not memories <= memories_of(before) | self.views.get(i, set())
                self.views.setdefault(i, set()).update(memories)
                continue
            if i in self.memories:
                memory, _ = self.memories[i]
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
            self.forget()
            return None
        return found

    def forget(self) -> None:
        """Takes the memory of the tiles of one number out of the IR."""
        for _, fill in self.memories.values():
            fill.detach()
            fill.erase()

    def yielded(self, found: list[Any]) -> list[SSAValue]:
        """The carried leaves at the end of the body, in the IR."""
        return [ssa_value(found[i], self.leaves[i], self.of[i], "in a loop") for i in self.carried]

    def after(self, results: Sequence[SSAValue], found: list[Any], why: str, runs: bool = False) -> tuple[Any, ...]:
        values = self.bound(results, found, runs)
        return tuple(
            Unbound(name, why) if isinstance(value, Unbound) else value
            for name, value in zip(self.names, values, strict=True)
        )


def _is_added(memory: Memory) -> bool:
    return any(use.operation.name == "tirx.mma" for use in memory.op_value.uses)
