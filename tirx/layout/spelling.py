"""The notation of layouts as Python: `S[(8, 2) : (4 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid`.

`S` spells shard iters, `R` replica iters, `count @ axis` a stride or an offset; a number alone is on the memory axis m.
`TileLayout` takes what they add up to. The axes are in `tirx.layout.axes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, cast

from tirx.layout.axis import Scaled
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters
from tirx.layout.shape import row_major_strides
from tirx.values import dataclass

_Strides = int | Scaled | Sequence[int | Scaled]


@dataclass(frozen=True)
class LayoutSum:
    """Shard, replica and offset that have been spelled so far; `TileLayout` takes it.

    >>> from tirx.layout import LayoutSum, R, S
    >>> from tirx.layout.axes import laneid, warpid
    >>> isinstance(S[8 : 4 @ laneid] + R[2 : 1 @ warpid] + 3, LayoutSum)
    True
    """

    shard: Iters | None = None
    replica: Iters = ()
    offset: tuple[tuple[str, int], ...] = ()

    def __add__(self, other: LayoutSum | Scaled | int) -> LayoutSum:
        match other:
            case LayoutSum():
                if self.shard is not None and other.shard is not None:
                    raise LayoutError("expected one S[...] in a layout, found two")
                shard = self.shard if other.shard is None else other.shard
                return LayoutSum(shard, self.replica + other.replica, self.offset + other.offset)
            case Scaled():
                return self + LayoutSum(offset=((other.axis, other.count),))
            case _:
                return self + LayoutSum(offset=(("m", index(other)),))

    __radd__ = __add__


def _sequence(value: Any) -> tuple[Any, ...]:
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, Sequence) else (value,)


def _iters(key: Any, letter: str) -> Iters:
    """The iters of `extents : strides`; without strides they are row-major on m."""
    if not isinstance(key, slice):
        extents = tuple(index(n) for n in _sequence(key))
        strides: tuple[Any, ...] = row_major_strides(extents)
    else:
        spelled = cast("slice[Any, Any, Any]", key)
        if spelled.step is not None or spelled.start is None or spelled.stop is None:
            raise LayoutError(f"expected {letter}[extents : strides], found {letter}[{spelled}]")
        extents, strides = tuple(index(n) for n in _sequence(spelled.start)), _sequence(spelled.stop)
    if len(extents) != len(strides):
        raise LayoutError(
            f"expected a stride for each extent in {letter}[...], found {len(extents)} extents and "
            f"{len(strides)} strides"
        )
    scaled = (each if isinstance(each, Scaled) else Scaled(index(each), "m") for each in strides)
    return tuple(Iter(extent, each.count, each.axis) for extent, each in zip(extents, scaled, strict=True))


class _Part:
    """`S[extents : strides]` or `S[extents]`, and `R[extents : strides]`: the shard or replicas of a sum."""

    def __init__(self, name: str):
        self._name = name

    def __getitem__(self, key: object) -> LayoutSum:
        iters = _iters(key, self._name)
        return LayoutSum(iters) if self._name == "S" else LayoutSum(replica=iters)

    def __repr__(self) -> str:
        return self._name


S = _Part("S")
R = _Part("R")
