"""Elements of memory that are combined in one step, and flags between the blocks of a kernel."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS

from tirx.builder import functions
from tirx.builder.memory import Memory
from tirx.builder.operations import operation
from tirx.builder.scalars import Number, Scalar
from tirx.builder.spans import as_index
from tirx.builder.tiles import Tile, full
from tirx.builder.trace import BuildError
from tirx.builder.views import View


def _flag(place: Any, number: Number | Scalar) -> tuple[Any, Scalar, list[Scalar]]:
    """The array, a number of its type and the indices of a flag."""
    if not isinstance(place, View) or not place.is_element:
        raise BuildError(f"expected one element of an array as a flag, found {place!r}")
    return place.source, functions.scalar(number, place.dtype), [as_index(each) for each in place.places]


def signal(place: Any, number: Number | Scalar = 1, *, add: bool = False, scope: str | None = None) -> None:
    """Sets a flag, an element of i32 or i64, behind all that the block has done; `add` adds to it.

    >>> import tirx as tx
    >>> @tx.jit(tx.i32[4], threads=32)
    ... def kernel(done: tx.Array) -> None:
    ...     tx.signal(done[3])
    >>> "tirx.signal" in str(kernel.module)
    True
    """
    operation("tirx.signal", *_flag(place, number), adds=add, scope=scope)


def wait_until(place: Any, how: str, number: Number | Scalar = 1, *, scope: str | None = None) -> Any:
    """Waits until a flag is `ge`, `gt`, `le`, `lt`, `eq` or `ne` to a number; returns the flag that was seen.

    All that other blocks had done before they set it has happened. The kernel has `progress="in_order"`, where blocks
    wait for earlier ones only, or `progress="cooperative"`.

    >>> import tirx as tx
    >>> @tx.jit(tx.i32[4], threads=32, progress="in_order")
    ... def kernel(done: tx.Array) -> None:
    ...     print(tx.wait_until(done[3], "ge", 1))
    >>> _ = kernel.module
    a scalar i32
    """
    name = how if how in ("eq", "ne") else f"s{how}"
    if name not in CMPI_COMPARISON_OPERATIONS:
        raise BuildError(f"expected a comparison of ge, gt, le, lt, eq and ne, found {how!r}")
    flag = _flag(place, number)
    return operation(
        "tirx.wait_until", *flag, predicate=CMPI_COMPARISON_OPERATIONS.index(name), scope=scope, to=flag[1].value.type
    )


def atomic(
    place: Any, how: str, value: Any, *, expected: Any = None, order: str | None = None, scope: str | None = None
) -> Any:
    """Combines each element of a place in memory in one step; returns what was there before, 0 outside of an array.

    `how` is `add`, `min`, `max`, `and`, `or`, `xor`, `exch` or, with `expected`, `cas`. `order` is `relaxed` unless it
    is `acquire`, `release` or `acq_rel`, towards the threads of `scope`: `cta`, `cluster`, `gpu` or `sys`.

    >>> import tirx as tx
    >>> @tx.jit(tx.i32[64], threads=32)
    ... def kernel(h: tx.Array) -> None:
    ...     print(tx.atomic(h[0:32], "add", 1), tx.atomic(h[5], "exch", 2, order="acquire"))
    >>> _ = kernel.module
    a tile i32[32] a scalar i32
    """
    if not isinstance(place, View | Memory):
        raise BuildError(f"expected a place in memory to combine with, found {place!r}")

    def operand(given: Any) -> Any:
        number = given.read() if isinstance(given, View) else given
        if isinstance(number, Tile):
            return number
        if not is_one:
            return full(place.dtype, number, *place.shape)
        return place.trace.typed(functions.scalar(number, place.dtype).value, place.dtype.attribute)

    is_one = not place.shape
    if isinstance(place, View) and is_one:
        place = place.as_tile()
    made, other = operand(value), None if expected is None else operand(expected)
    return operation(
        "tirx.atomic", made, place, other, kind=how, order=order or "relaxed", scope=scope or "gpu", to=made.type
    )
