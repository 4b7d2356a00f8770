"""`ComposeLayout`: a swizzle after a tile layout of a linear memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tirx.layout.axis import canonical_name
from tirx.layout.domain import Coordinate, Region, Shape, check_bound, check_coordinates, check_count
from tirx.layout.errors import LayoutError
from tirx.layout.notation import ComposeParts, SwizzleParts, read_compose
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout, check_all_on, check_tile

if TYPE_CHECKING:
    from tirx.layout.interop.cute import CuteForm
    from tirx.layout.swizzled_slice import SwizzledSlice


@dataclass(frozen=True)
class ComposeLayout:
    """swizzle(tile(x)): the tile gives a linear element address on axis m, the swizzle permutes it.

    Raises LayoutError when the tile mentions any other axis.
    """

    swizzle: SwizzleLayout
    tile: TileLayout

    def __post_init__(self) -> None:
        if not isinstance(self.swizzle, SwizzleLayout):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a SwizzleLayout, found {self.swizzle!r}")
        check_tile(self.tile)
        check_all_on(self.tile, "m")

    @classmethod
    def parse(cls, text: str) -> ComposeLayout:
        """Reads ComposeLayout(Swizzle(3, 3, 3), S[...]), the attribute, or `swizzle, tile`."""
        return cls.from_parts(read_compose(text))

    @classmethod
    def from_parts(cls, parts: ComposeParts) -> ComposeLayout:
        """The composition that a text was read as."""
        swizzle = SwizzleLayout.from_parts(parts.swizzle)
        try:
            return cls(swizzle, TileLayout.from_parts(parts.tile))
        except LayoutError as error:
            raise LayoutError(str(error), parts.tile.position) from None

    @classmethod
    def from_cute(cls, text: str, element_bits: int | None = None) -> ComposeLayout:
        """Reads CuTe text with a swizzle; `tirx.layout.interop.cute` has the forms and what each swizzle acts on.

        `Swizzle<B,M,S> o shape:stride`, the form of the PTX ISA, needs `element_bits`. CuTe writes the opposite
        direction, `swizzle_inner=False`, as a negative S. LayoutError with the character offset.
        """
        from tirx.layout.interop import cute

        parts = cute.read_composed(text, element_bits)
        return cls(SwizzleLayout.from_parts(parts.swizzle), TileLayout(parts.iters, offset={"m": parts.offset}))

    def to_cute(self, shape: Shape, element_bits: int | None = None, form: CuteForm = "isa") -> str:
        """The inverse of `from_cute`, one top-level mode per dimension of `shape`.

        form: "isa" and "pointer", both on bytes, or "layout", on elements, which needs no `element_bits`.
        """
        from tirx.layout.interop import cute

        s = self.swizzle
        parts = SwizzleParts(s.per_element, s.swizzle_len, s.atom_len, 0, s.swizzle_inner)
        return cute.print_composed(parts, self.tile, shape, element_bits, form)

    def __str__(self) -> str:
        return f"ComposeLayout({self.swizzle}, {self.tile})"

    @property
    def axes(self) -> tuple[str, ...]:
        """Always the memory axis m."""
        return ("m",)

    @property
    def extents(self) -> tuple[int, ...]:
        """The shard extents of the tile."""
        return self.tile.extents

    def size(self, axis: str | None = None) -> int:
        """Number of logical elements."""
        return self.tile.size(axis)

    def apply(self, coord: Coordinate, shape: Shape | None = None) -> dict[str, int]:
        """Swizzled base address of one element; see TileLayout.apply."""
        return {"m": self.swizzle.apply(self.tile.apply(coord, shape).get("m", 0))}

    def owners(self, coord: Coordinate, shape: Shape | None = None) -> list[dict[str, int]]:
        """The swizzled addresses of all copies of one element, sorted."""
        found = {self.swizzle.apply(owner.get("m", 0)) for owner in self.tile.owners(coord, shape)}
        return [{"m": address} for address in sorted(found)]

    def table(self, shape: Shape | None = None) -> dict[str, NDArray[np.int64]]:
        """Swizzled base addresses of all elements, {"m": int64 array of `shape`}."""
        return {"m": self.swizzle.apply(self.tile.axis_table("m", shape))}

    def flat_table(self) -> dict[str, NDArray[np.int64]]:
        """`table` by flat index."""
        return self.table((self.size(),))

    def axis_table(self, name: str, shape: Shape | None = None) -> NDArray[np.int64]:
        """Base coordinates on one axis, zeros for any axis but m."""
        addresses = self.table(shape)["m"]
        return addresses if canonical_name(name) == "m" else np.zeros_like(addresses)

    def owner_table(self) -> dict[str, NDArray[np.int64]]:
        """Addresses of all copies of all elements, {"m": int64 array of (size, copies)}, every row sorted."""
        return {"m": np.sort(self.swizzle.apply(self.tile_addresses()), axis=1)}

    def footprint(self) -> dict[str, tuple[int, int]]:
        """Smallest and largest swizzled address of any copy. Looks at the first and the last swizzle period only.

        Raises LayoutError for addresses beyond 62 bits, and for more than 2**24 of them in a period.
        """
        first, last = self.tile.footprint().get("m", (0, 0))
        if self.swizzle.is_identity:
            return {"m": (first, last)}
        check_coordinates(self, first, last)
        low, high = (self.swizzle.apply(self._addresses_in_period_of(end)) for end in (first, last))
        return {"m": (int(low.min()), int(high.max()))}

    def _addresses_in_period_of(self, end: int) -> NDArray[np.int64]:
        """The addresses before the swizzle, copies included, that lie in one swizzle period with `end`.

        The swizzle permutes every period in place. Partial sums that cannot come back to the period are dropped.
        """
        begin = end - end % self.swizzle.period
        last = begin + self.swizzle.period - 1
        moving = [it for it in (*self.tile.shard, *self.tile.replica) if it.extent > 1 and it.stride]
        steps = sorted([(abs(it.stride), it.extent) for it in moving], reverse=True)
        sums = np.array([self.tile.footprint().get("m", (0, 0))[0]], dtype=np.int64)
        left = sum(stride * (extent - 1) for stride, extent in steps)
        for stride, extent in steps:
            left -= stride * (extent - 1)
            lowest = max(0, -((int(sums.max()) + left - begin) // stride))
            count = min(extent - 1, (last - int(sums.min())) // stride) - lowest + 1
            check_count(len(sums) * count, self)
            sums = np.unique(sums[:, None] + np.arange(lowest, lowest + count, dtype=np.int64) * stride)
            sums = sums[(sums + left >= begin) & (sums <= last)]
        return sums

    def span(self, axis: str = "m") -> int:
        """Length of the footprint; 1 on any axis but m."""
        if canonical_name(axis) != "m":
            return 1
        low, high = self.footprint()["m"]
        return high - low + 1

    def check_bounds(self, element_bits: int = 32) -> None:
        """Like TileLayout.check_bounds."""
        self.tile.check_bounds(element_bits)

    def inverse(self, coord: Mapping[str, int]) -> list[int]:
        """Flat indices of the elements of which a copy lies at `coord`, sorted; see TileLayout.inverse."""
        return self.tile.inverse({name: self.swizzle.inverse(at) if name == "m" else at for name, at in coord.items()})

    def is_injective(self) -> bool:
        """Whether no address holds two different elements. The swizzle is a permutation, so the tile decides."""
        return self.tile.is_injective()

    def is_swizzle(self) -> bool:
        """Whether this is the swizzle itself on row-major addresses from 0 on: its tile is trivial."""
        return self.tile.is_trivial()

    def is_surjective(self, box: Mapping[str, int | tuple[int, int]]) -> bool:
        """Whether every place of a box holds some copy of some element; see TileLayout.is_surjective.

        Raises LayoutError for an empty box, and when more than 2**24 addresses would have to be compared.
        """
        for name, bound in box.items():
            low, high = check_bound(name, bound)
            # On any other axis everything is at coordinate 0.
            held = self._addresses() if canonical_name(name) == "m" else np.zeros(1, dtype=np.int64)
            if np.count_nonzero((held >= low) & (held < high)) != high - low:
                return False
        return True

    def overlaps(self, other: ComposeLayout | TileLayout) -> bool:
        """Whether some address holds an element of both layouts, copies included.

        Raises LayoutError when `other` mentions another axis than m, and for more than 2**24 addresses.
        """
        if isinstance(other, TileLayout):
            other = ComposeLayout(SwizzleLayout(0, 0, 0), other)
        (low, high), (other_low, other_high) = self.footprint()["m"], other.footprint()["m"]
        if high < other_low or other_high < low:
            return False
        return len(np.intersect1d(self._addresses(), other._addresses(), assume_unique=True)) > 0

    def _addresses(self) -> NDArray[np.int64]:
        """All swizzled addresses that hold something, sorted, each once."""
        return np.unique(self.swizzle.apply(self.tile_addresses()))

    def canonicalize(self) -> ComposeLayout:
        """Same swizzle, tile in normal form."""
        return ComposeLayout(self.swizzle, self.tile.canonicalize())

    def equivalent(self, other: ComposeLayout | TileLayout) -> bool:
        """Whether both give the same owner set for every flat index. Exact; other swizzles compare all elements."""
        if isinstance(other, TileLayout):
            if any(axis != "m" for axis in other.canonicalize().axes):
                return False
            other = ComposeLayout(SwizzleLayout(0, 0, 0), other.canonicalize())
        if self.swizzle.equivalent(other.swizzle):
            return self.tile.equivalent(other.tile)
        if self.size() != other.size():
            return False
        mine, theirs = self.owner_table()["m"], other.owner_table()["m"]
        return mine.shape == theirs.shape and bool((mine == theirs).all())

    def group(self, shape: Shape) -> tuple[ComposeLayout, tuple[int, ...]]:
        """Groups the tile; see TileLayout.group."""
        tile, seps = self.tile.group(shape)
        return ComposeLayout(self.swizzle, tile), seps

    def group_many(self, shapes: Sequence[Shape]) -> tuple[ComposeLayout, tuple[tuple[int, ...], ...]]:
        """Groups the tile by several shapes at once; see TileLayout.group_many."""
        tile, seps = self.tile.group_many(shapes)
        return ComposeLayout(self.swizzle, tile), seps

    def broadcast(self, extent: int, position: int, shape: Shape | None = None) -> ComposeLayout:
        """The layout with one more dimension whose elements are all at one place; see TileLayout.broadcast."""
        return ComposeLayout(self.swizzle, self.tile.broadcast(extent, position, "m", shape))

    def storage(self) -> ComposeLayout:
        """What one thread sees, which is all of it: the layout has no thread axes."""
        return self

    def compose(self, inner: TileLayout) -> ComposeLayout:
        """The layout x -> self(inner(x)); see TileLayout.compose."""
        return ComposeLayout(self.swizzle, self.tile.compose(inner))

    def permute(self, perm: Sequence[int], shape: Shape | None = None) -> ComposeLayout:
        """The layout of the transposed tensor; see TileLayout.permute."""
        return ComposeLayout(self.swizzle, self.tile.permute(perm, shape))

    def slice(self, shape: Shape, region: Region) -> ComposeLayout:
        """The layout of a box. The offset enters the swizzle, as it must."""
        return ComposeLayout(self.swizzle, self.tile.slice(shape, region))

    def slice_dynamic(self, shape: Shape, sizes: Shape, multiples: Sequence[int | None]) -> SwizzledSlice:
        """The layout of all boxes of `sizes` whose begin in dimension d is some multiple of multiples[d].

        See TileLayout.slice_dynamic. All addresses of a box must move by one displacement *after* the swizzle, which
        is so at every begin whose displacement before it commutes with the swizzle; otherwise LayoutError, with the
        first begin at which they do not, and the smallest multiples that work.
        """
        from tirx.layout import swizzled_slice

        return swizzled_slice.slice_dynamic(self, shape, sizes, multiples)

    def tile_by(self, outer: TileLayout, outer_shape: Shape, inner_shape: Shape) -> ComposeLayout:
        """This layout repeated by `outer`, see TileLayout.tile.

        Raises LayoutError when this layout is no whole number of swizzle periods, because then its copies would be
        swizzled differently.
        """
        if not self._fills_periods():
            raise LayoutError(
                f"only a tile of whole swizzle periods can be repeated: {self.swizzle} has period "
                f"{self.swizzle.period} elements, the tile spans {self.tile.span('m')}"
            )
        return ComposeLayout(self.swizzle, self.tile.tile(outer, outer_shape, inner_shape))

    def _fills_periods(self) -> bool:
        return self.swizzle.commutes_with(self.tile.span("m"))

    def is_tile_inner(self, tiled: ComposeLayout, tiled_shape: Shape, inner_shape: Shape) -> TileLayout | None:
        """The layout `outer` of which `self.tile_by(outer, tiled_shape / inner_shape, inner_shape)` is `tiled`.

        None when there is none, or the swizzles differ; see TileLayout.is_tile_inner.
        """
        outer = self.tile.is_tile_inner(tiled.tile, tiled_shape, inner_shape)
        return outer if self._fills_periods() and self.swizzle.equivalent(tiled.swizzle) else None

    def unpack(self, factor: int) -> ComposeLayout:
        """View of every element as `factor` narrower ones. The units of the swizzle keep their width in bits.

        LayoutError when there is a swizzle and the factor is no power of two.
        """
        return ComposeLayout(self._swizzle_of_width(factor, wider=False), self.tile.unpack(factor))

    def pack(self, factor: int) -> ComposeLayout:
        """View of every `factor` neighbours as one wider element. The units of the swizzle keep their width in bits.

        LayoutError when the wider element is more than a unit of the swizzle, or its parts are not contiguous.
        """
        return ComposeLayout(self._swizzle_of_width(factor, wider=True), self.tile.pack(factor))

    def _swizzle_of_width(self, factor: int, wider: bool) -> SwizzleLayout:
        """The same permutation of bits in memory for elements `factor` times as wide, or as narrow."""
        swizzle = self.swizzle
        if factor < 1 or factor & (factor - 1):
            if swizzle.is_identity:
                return swizzle
            raise LayoutError(f"elements in {swizzle} change their width by a power of two, found {factor}")
        step = factor.bit_length() - 1
        unit = swizzle.per_element - step if wider else swizzle.per_element + step
        if unit < 0 and not swizzle.is_identity:
            raise LayoutError(
                f"an element of {factor} parts would cut the units of {1 << swizzle.per_element} elements that "
                f"{swizzle} keeps together; expected a factor of at most {1 << swizzle.per_element}"
            )
        return replace(swizzle, per_element=max(unit, 0))

    def commutes_with(self, offset: int) -> bool:
        """Whether moving the tile by `offset` elements before the swizzle moves every swizzled address by as much.

        That is what makes the address of a part of a tile a plain add to the address of the first part. Exact.
        """
        return self.swizzle.commutes_with(offset) or self.swizzle.commutes_with(offset, self.tile_addresses())

    def tile_addresses(self) -> NDArray[np.int64]:
        """The addresses before the swizzle, copies included: int64 array of (size, number of replicas)."""
        found = self.tile.owner_table().get("m")
        return np.zeros((self.size(), 1), dtype=np.int64) if found is None else found
