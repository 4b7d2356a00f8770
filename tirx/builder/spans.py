"""Spans: ranges of indices that loops and grids give, of which those below an end are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from tirx.builder import functions
from tirx.builder.dtypes import index
from tirx.builder.scalars import Elements, Scalar
from tirx.builder.tiles import Tile, indices
from tirx.builder.trace import BuildError


class Span:
    """A range of indices: `extent` of them from `start` on, `step` apart, of which those below an end are there.

    `a[span]` is a view that is clipped at the end. `span + n`, `span * n` and `span // n` move, spread and divide it.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[256, 64], threads=32)
    ... def kernel(m: tx.Array) -> None:
    ...     rows = tx.tile(128, 64)
    ...     print(m[rows + 64, :], (rows // 2).extent)
    >>> _ = kernel.module
    a view f32[64, 64] 32
    """

    def __init__(
        self,
        start: Scalar,
        extent: int,
        end: Scalar | None = None,
        *,
        step: int = 1,
        count: Callable[[], Scalar] | None = None,
    ):
        self.start = start
        self.extent = extent
        self.step = step
        self.limit = end
        """The index from which on nothing is there, of a span with step 1 that has not been moved."""
        self._count = count
        self._size: Scalar | None = None

    @property
    def is_clipped(self) -> bool:
        """True unless all positions are there."""
        return self.limit is not None or self._count is not None

    @property
    def size(self) -> Scalar | None:
        """The number of positions that are there; negative or more than the extent for none or all; None if all are."""
        if self._size is None or not self.start.trace.sees(self._size.value):
            if self._count is not None:
                self._size = self._count()
            else:
                self._size = None if self.limit is None else self.limit - self.start
        return self._size

    @property
    def end(self) -> Scalar:
        """The index behind the last one that is there."""
        if self.limit is not None:
            return functions.minimum(self.start + self.extent, self.limit)
        return (
            self.start + (self.extent if self.size is None else functions.minimum(self.size, self.extent)) * self.step
        )

    @property
    def index(self) -> Tile:
        """The indices, as a tile of rank 1."""
        at = indices(0, self.extent)
        return (at if self.step == 1 else at * self.step) + self.start

    @property
    def inside(self) -> Tile:
        """The indices that are there, as a tile of rank 1 of truths."""
        at = indices(0, self.extent)
        return at < (self.extent if self.size is None else self.size)

    def _moved(self, start: Scalar, step: int) -> Span:
        """The span from another start on and with another step, of which as many positions are there."""
        count = (lambda: cast(Scalar, self.size)) if self.is_clipped else None
        return Span(start, self.extent, step=step, count=count)

    def replaced(self, start: Scalar, size: Scalar | None) -> Span:
        """The span with another start and size, the span itself with its own; `size` is None for one not clipped."""
        if start is self.start and size is self._size:
            return self
        return Span(start, self.extent, step=self.step, count=None if size is None else lambda: size)

    def __add__(self, other: Scalar | int) -> Span:
        return self._moved(self.start + other, self.step)

    __radd__ = __add__

    def __sub__(self, other: Scalar | int) -> Span:
        return self._moved(self.start - other, self.step)

    def __mul__(self, other: int) -> Span:
        if other == 1:
            return self
        return self._moved(self.start * other, self.step * other)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> Span:
        if self.extent % other or self.step != 1:
            raise BuildError(f"expected a span whose extent {other} divides, found {self!r}")
        if not self.is_clipped:
            return Span(self.start // other, self.extent // other)
        return Span(
            self.start // other, self.extent // other, count=lambda: functions.ceildiv(cast(Scalar, self.size), other)
        )

    def __repr__(self) -> str:
        return f"a span of {self.extent} indices"


def as_index(value: Any) -> Scalar:
    """An index, from a number, a scalar or an element in memory."""
    given = value.read() if hasattr(value, "read") else value
    if not isinstance(given, int | Scalar) or (isinstance(given, Scalar) and given.dtype.is_float):
        raise BuildError(f"expected an integer, found {given!r}")
    return functions.scalar(given, index)


def tile(start: Elements | int, extent: int, end: Elements | int | None = None) -> Span:
    """The span of `extent` indices from `start` on, which ends at `end` where that is less.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[None], threads=32)
    ... def kernel(a: tx.Array) -> None:
    ...     print(a[tx.tile(8, 64, end=20)])
    >>> _ = kernel.module
    a view f32[64]
    """
    if type(extent) is not int or extent < 1:
        raise BuildError(f"expected a number of indices of a span, found {extent!r}")
    return Span(as_index(start), extent, None if end is None else as_index(end))
