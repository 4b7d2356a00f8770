"""`SymbolicTileLayout`: a tile layout whose outermost extent is not known.

    S[(n, 64) : (64, 1)]        n rows of 64
    S[(n*4, 64) : (64, 1)]      a number of rows that is a multiple of 4

It is a class of its own, not a TileLayout with a strange extent: an extent of an `Iter` is always a number, and what
needs one does not exist here.
"""

from __future__ import annotations

import re
from math import prod
from operator import index
from typing import TYPE_CHECKING, NoReturn, SupportsIndex, TypeAlias

from tirx.layout.arrays import np
from tirx.layout.axis import axis, canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, broadcast_sums, size_of
from tirx.layout.replica import offsets_on
from tirx.layout.shape import Coordinate, Shape, check_count, check_shape
from tirx.layout.tile import TileLayout, check_tile
from tirx.values import dataclass

SymbolicShape: TypeAlias = tuple[int | None, ...]
"""A shape whose dimension 0 is None, the symbolic one, and no other."""

_OUTERMOST = re.compile(
    # White space is taken at once and for good (`*+`): runs of it would be tried in every split otherwise.
    r"\s*+(?:(?:(?:T\.)?TileLayout|#tirx\.tile_layout)\s*+[(<]\s*+)?(?:T\.)?S\s*+\[\s*+(?:\(\s*+)?"
    r"(?P<extent>(?P<symbol>[A-Za-z_]\w*)(?:\s*+\*\s*+(?P<factor>[0-9]+))?)\s*+[,:)\]]"
)


@dataclass(frozen=True)
class SymbolicTileLayout:
    """`tile`, repeated `symbol` times at distance `stride` on an axis.

    Element q * tile.size() + y lies at L_tile(y) + q * stride, for 0 <= q < n; n is some number from 1 on. Replica and
    offset are those of the tile. Raises LayoutError for a symbol that is no identifier or an unknown axis.

    >>> from tirx.layout import SymbolicTileLayout, parse_layout
    >>> x = parse_layout("S[(n, 64) : (64, 1)]")
    >>> isinstance(x, SymbolicTileLayout), x.symbol
    (True, 'n')
    """

    symbol: str
    tile: TileLayout
    stride: int
    axis: str = "m"

    def __post_init__(self) -> None:
        object.__setattr__(self, "stride", index(self.stride))
        check_tile(self.tile)
        if not self.symbol.isidentifier():
            raise LayoutError(f"expected an identifier for a symbolic extent, found {self.symbol!r}")
        axis(self.axis)

    # Construction and text.

    @staticmethod
    def is_symbolic(text: str) -> bool:
        """Returns True if a layout text has a symbolic outermost extent."""
        return _OUTERMOST.match(text) is not None

    @classmethod
    def parse(cls, text: str) -> SymbolicTileLayout:
        """Reads S[(n*4, 64) : (64, 1)], or the attribute; LayoutError with the character offset of the mistake."""
        found = _OUTERMOST.match(text)
        if found is None:
            raise LayoutError("expected a tile layout whose outermost extent is symbolic, such as n or n*4", 0)
        # The number instead of the symbol, as wide as it, gives a text that can be read, with the same positions.
        begin, end = found.span("extent")
        factor = found["factor"] or "1"
        layout = TileLayout.parse(text[:begin] + factor.ljust(end - begin) + text[end:])
        outermost, *rest = layout.shard
        tile = TileLayout(rest if outermost.extent == 1 else layout.shard, layout.replica, layout.offset)
        return cls(found["symbol"], tile, outermost.extent * outermost.stride, outermost.axis)

    def __str__(self) -> str:
        head = "S[(" if self.tile.shard else "S["
        return head + self.symbol + str(self.bind(1)).removeprefix(f"{head}1")

    def bind(self, n: int) -> TileLayout:
        """The layout for a known number of repetitions."""
        n = index(n)
        if n < 1:
            raise LayoutError(f"expected {self.symbol} to be positive, found {n}")
        return TileLayout((Iter(n, self.stride, self.axis), *self.tile.shard), self.tile.replica, self.tile.offset)

    # The map.

    def _split(self, shape: SymbolicShape) -> tuple[int, tuple[int, ...]]:
        """The extent of dimension 0 in one repetition, and the other dimensions."""
        if shape.count(None) != 1 or shape[0] is not None:
            raise LayoutError(f"expected a shape (None, ...) with the symbolic dimension first, found {shape}")
        dims = check_shape([extent for extent in shape if extent is not None], None)
        if self.tile.size() % prod(dims):
            raise LayoutError(
                f"expected inner dimensions whose product divides the {self.tile.size()} elements of a repetition, "
                f"found {dims}"
            )
        return self.tile.size() // prod(dims), dims

    def _locate(self, coord: Coordinate, shape: SymbolicShape | None) -> tuple[TileLayout, int]:
        """The layout with enough repetitions to include an element, and its flat index."""
        if isinstance(coord, SupportsIndex):
            flat = index(coord)
            if flat < 0:
                raise LayoutError(f"expected a flat index from 0 on, found {flat}")
            return self.bind(flat + 1), flat
        step, dims = self._split((None, *self.tile.extents) if shape is None else shape)
        if len(coord) != 1 + len(dims):
            raise LayoutError(f"expected a coordinate of rank {1 + len(dims)}, found {tuple(coord)}")
        first, *others = coord
        if first < 0 or any(not 0 <= at < extent for at, extent in zip(others, dims, strict=True)):
            raise LayoutError(f"coordinate {tuple(coord)} is outside shape ({self.symbol} * {step}, {dims})")
        flat = index(first)
        for at, extent in zip(others, dims, strict=True):
            flat = flat * extent + index(at)
        return self.bind(flat + 1), flat

    def apply(self, coord: Coordinate, shape: SymbolicShape | None = None) -> dict[str, int]:
        """`TileLayout.apply`. The shape is (None, ...); there is no bound on the coordinate in dimension 0."""
        layout, flat = self._locate(coord, shape)
        return layout.apply(flat)

    def owners(self, coord: Coordinate, shape: SymbolicShape | None = None) -> list[dict[str, int]]:
        """`TileLayout.owners`; shape and coordinate as for `apply`."""
        layout, flat = self._locate(coord, shape)
        return layout.owners(flat)

    def is_injective(self) -> bool:
        """Returns True if no coordinate holds two different elements, for any n.

        Axes are independent, so elements of two repetitions meet exactly when two coordinates on the axis of the
        repetition are a multiple of the stride apart.
        """
        tile = self.tile.canonicalize()
        name = canonical_name(self.axis)
        if not tile.is_injective() or not self.stride:
            return False
        if tile.span(name) <= abs(self.stride):
            return True
        shard = [it for it in tile.shard if it.axis == name]
        copies = np.array(offsets_on(tile.replica, name), dtype=np.int64)
        check_count(size_of(shard) * len(copies), self)
        base = broadcast_sums(shard, name)
        found = np.unique(base[:, None] + copies[None, :])
        return len(np.unique(found % abs(self.stride))) == len(found)

    # Normal form and comparison.

    def canonicalize(self) -> SymbolicTileLayout:
        """The normal form: that of the tile, and the axis under its own name."""
        tile = self.tile.canonicalize()
        name = canonical_name(self.axis)
        if not self.stride:
            name = min(tile.axes, key=lambda name: (axis(name).kind != "memory", name), default="m")
        return SymbolicTileLayout(self.symbol, tile, self.stride, name)

    def equivalent(self, other: SymbolicTileLayout) -> bool:
        """Returns True if both are the same map for every n. Layouts with different symbols are not."""
        if not isinstance(other, SymbolicTileLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a SymbolicTileLayout, found {other!r}")
        mine, theirs = self.canonicalize(), other.canonicalize()
        same = (mine.symbol, mine.stride, mine.axis) == (theirs.symbol, theirs.stride, theirs.axis)
        return same and mine.tile.equivalent(theirs.tile)

    # New layouts.

    def group(self, shape: SymbolicShape) -> tuple[SymbolicTileLayout, tuple[int, ...]]:
        """`TileLayout.group` by (None, ...): for every n, dimension d owns bind(n).shard[seps[d]:seps[d + 1]]."""
        step, dims = self._split(shape)
        if step == 1:
            tile, seps = self.tile.group(dims)
            seps = (0, *(1 + sep for sep in seps))
        else:
            tile, seps = self.tile.group((step, *dims))
            seps = (0, *(1 + sep for sep in seps[1:]))
        return SymbolicTileLayout(self.symbol, tile, self.stride, self.axis), seps

    def of_tiles(self, inner: TileLayout, outer_shape: SymbolicShape, inner_shape: Shape) -> SymbolicTileLayout:
        """`inner.tile(self, outer_shape, inner_shape)`: this layout, each of its elements a copy of `inner`."""
        step, dims = self._split(outer_shape)
        tile = inner.tile(self.tile, (step, *dims), inner_shape)
        return SymbolicTileLayout(self.symbol, tile, self.stride * inner.span(self.axis), self.axis)

    def slice(self, shape: SymbolicShape, region: tuple[tuple[int, int] | None, ...]) -> SymbolicTileLayout:
        """`TileLayout.slice` of the inner dimensions; `region` starts with None, all of dimension 0."""
        step, dims = self._split(shape)
        if region.count(None) != 1 or region[0] is not None:
            raise LayoutError(
                f"expected a region (None, (begin, end), ...) with all of the symbolic dimension, found {region}; "
                f"a part of it is a slice of bind({self.symbol})"
            )
        bounds = [bound for bound in region if bound is not None]
        tile = self.tile.slice((step, *dims), [(0, step), *bounds])
        return SymbolicTileLayout(self.symbol, tile, self.stride, self.axis)

    def with_offset(self, **offset: int) -> SymbolicTileLayout:
        """The layout moved by so much on each axis."""
        return SymbolicTileLayout(self.symbol, self.tile.with_offset(**offset), self.stride, self.axis)

    if not TYPE_CHECKING:
        # A type checker sees that the rest of TileLayout is missing; a program is told why.
        def __getattr__(self, name: str) -> NoReturn:
            if name.startswith("_") or not hasattr(TileLayout, name):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            known = [own for own in vars(type(self)) if not own.startswith("_") and hasattr(TileLayout, own)]
            raise LayoutError(
                f"'{name}' needs to know {self.symbol} in {self}; without it there are {', '.join(known)}, and "
                f"bind({self.symbol}) is a TileLayout"
            )
