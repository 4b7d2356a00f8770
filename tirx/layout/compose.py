"""`ComposeLayout`: a swizzle after a tile layout of a linear memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tirx.layout.addresses import sums_between
from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Table
from tirx.layout.notation import ParsedCompose, ParsedSwizzle, read_compose
from tirx.layout.shape import Coordinate, Region, Shape, check_bound, check_coordinates, check_shape
from tirx.layout.strided import axis_table
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout, check_all_on, check_tile
from tirx.values import dataclass, replace

if TYPE_CHECKING:
    from tirx.layout.interop.cute import CuteForm

_IDENTITY = SwizzleLayout(0, 0, 0)


@dataclass(frozen=True)
class ComposeLayout:
    """swizzle(tile(x)): the tile gives a linear element address on axis m, the swizzle permutes it.

    Raises LayoutError when the tile mentions any other axis.

    >>> from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
    >>> x = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout("S[(8, 64) : (64, 1)]"))
    >>> x.apply((1, 0), shape=(8, 64))
    {'m': 72}
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
        return cls.from_parsed(read_compose(text))

    @classmethod
    def from_parsed(cls, parsed: ParsedCompose) -> ComposeLayout:
        """The composition that a text was read as."""
        swizzle = SwizzleLayout.from_parsed(parsed.swizzle)
        try:
            return cls(swizzle, TileLayout.from_parsed(parsed.tile))
        except LayoutError as error:
            raise LayoutError(str(error), parsed.tile.position) from None

    @classmethod
    def from_cute(cls, text: str, element_bits: int | None = None) -> ComposeLayout:
        """Reads CuTe text with a swizzle; `tirx.layout.interop.cute` has the forms and what each swizzle acts on.

        `Swizzle<B,M,S> o shape:stride`, the form of the PTX ISA, needs `element_bits`. CuTe writes the opposite
        direction, `swizzle_inner=False`, as a negative S. LayoutError with the character offset.
        """
        from tirx.layout.interop import cute

        read = cute.read_composed(text, element_bits)
        return cls(SwizzleLayout.from_parsed(read.swizzle), TileLayout(read.iters, offset={"m": read.offset}))

    def to_cute(self, shape: Shape, element_bits: int | None = None, form: CuteForm = "isa") -> str:
        """The inverse of `from_cute`, one top-level mode per dimension of `shape`.

        form: "isa" and "pointer", both on bytes, or "layout", on elements, which needs no `element_bits`.
        """
        from tirx.layout.interop import cute

        s = self.swizzle
        swizzle = ParsedSwizzle(s.per_element, s.swizzle_len, s.atom_len, s.swizzle_inner)
        return cute.print_composed(swizzle, self.tile.strided, shape, element_bits, form)

    def __str__(self) -> str:
        return f"ComposeLayout({self.swizzle}, {self.tile})"

    def _repr_html_(self) -> str:
        """Returns a grid of the elements, or of the first ones, which notebooks show."""
        from tirx.layout.picture import html_of

        return html_of(str(self), self.extents, self.table)

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

    def table(self, shape: Shape | None = None) -> Table:
        """Swizzled base addresses of all elements, {"m": int64 array of `shape`}."""
        dims = check_shape(self.extents if shape is None else shape, self.size())
        return {"m": self.swizzle.apply(axis_table(self.tile.strided, "m")).reshape(dims)}

    def flat_table(self) -> Table:
        """`table` by flat index."""
        return self.table((self.size(),))

    def axis_table(self, name: str, shape: Shape | None = None) -> NDArray[np.int64]:
        """Base coordinates on one axis, zeros for any axis but m."""
        if canonical_name(name) == "m":
            return self.table(shape)["m"]
        return np.zeros(check_shape(self.extents if shape is None else shape, self.size()), dtype=np.int64)

    def owner_table(self) -> Table:
        """Addresses of all copies of all elements, {"m": int64 array of (size, copies)}, every row sorted."""
        return {"m": np.sort(self.swizzle.apply(self.tile_addresses()), axis=1)}

    def footprint(self) -> dict[str, tuple[int, int]]:
        """Smallest and largest swizzled address of any copy. Looks at a swizzle period of addresses at both ends only.

        The swizzle permutes every period in place. Raises LayoutError for addresses beyond 62 bits, and for more than
        2**21 of them in a period.
        """
        first, last = self.tile.footprint().get("m", (0, 0))
        if self.swizzle.is_identity:
            return {"m": (first, last)}
        check_coordinates(self, first, last)
        steps = [(it.extent, abs(it.stride)) for it in (*self.tile.shard, *self.tile.replica) if it.stride]
        beyond = self.swizzle.period - 1
        low, high = (
            self.swizzle.apply(sums_between(steps, first, begin, end, self))
            for begin, end in ((first, first + beyond), (last - beyond, last))
        )
        return {"m": (int(low.min()), int(high.max()))}

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
        """Returns True if no address holds two different elements. A swizzle is a permutation: the tile decides."""
        return self.tile.is_injective()

    def is_surjective(self, box: Mapping[str, int | tuple[int, int]]) -> bool:
        """Returns True if every coordinate of a box holds some copy of some element; see TileLayout.is_surjective.

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
        """Returns True if some address holds an element of both layouts, copies included.

        Raises LayoutError when `other` mentions another axis than m, and for more than 2**24 addresses.
        """
        if isinstance(other, TileLayout):
            other = ComposeLayout(_IDENTITY, other)
        (low, high), (other_low, other_high) = self.footprint()["m"], other.footprint()["m"]
        if high < other_low or other_high < low:
            return False
        return bool(np.isin(self._addresses(), other._addresses()).any())

    def _addresses(self) -> NDArray[np.int64]:
        """All swizzled addresses that hold something, sorted, each once."""
        return np.unique(self.swizzle.apply(self.tile_addresses()))

    def canonicalize(self) -> ComposeLayout:
        """Same swizzle, tile in normal form."""
        return ComposeLayout(self.swizzle, self.tile.canonicalize())

    def equivalent(self, other: ComposeLayout | TileLayout) -> bool:
        """Returns True if both give the same owner set for every flat index. Exact.

        Layouts with different swizzles are compared element by element.
        """
        if isinstance(other, TileLayout):
            if any(axis != "m" for axis in other.canonicalize().axes):
                return False
            other = ComposeLayout(_IDENTITY, other.canonicalize())
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
        """The part of the layout on memory axes: all of it, see TileLayout.storage."""
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
        box = self.tile.slice_dynamic(shape, sizes, multiples)
        first = ComposeLayout(self.swizzle, box.layout)
        moves = box.begin.axis_table("m", box.begin_shape)
        if all(self.swizzle.commutes_with(int(move)) for move in np.unique(moves)):
            return SwizzledSlice(first, box.begin, box.begin_shape)
        from tirx.layout.swizzled_slice import swizzled_moves

        iters = swizzled_moves(self.swizzle, np.unique(first.tile_addresses()), moves, multiples)
        return SwizzledSlice(first, TileLayout(iters).canonicalize(), box.begin_shape)

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
        """Returns True if an offset of the tile before the swizzle moves every swizzled address by as much.

        That is what makes the address of a part of a tile a plain add to the address of the first part. Exact.
        """
        return self.swizzle.commutes_with(offset) or self.swizzle.commutes_with(offset, self.tile_addresses())

    def tile_addresses(self) -> NDArray[np.int64]:
        """The addresses before the swizzle, copies included: int64 array of (size, number of replicas)."""
        found = self.tile.owner_table().get("m")
        return np.zeros((self.size(), 1), dtype=np.int64) if found is None else found


@dataclass(frozen=True)
class SwizzledSlice:
    """Boxes of one size, at begins that are multiples of a step, in a swizzled tile.

    layout:      of the box at the first begin.
    begin:       what to add to every *swizzled* address of that box, by the number of the step in every dimension; a
                 layout of shape `begin_shape` on axis m.
    begin_shape: how many begins each dimension has.

    >>> from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
    >>> whole = ComposeLayout(SwizzleLayout(3, 3, 3), TileLayout("S[(16, 64) : (64, 1)]"))
    >>> whole.slice_dynamic((16, 64), (8, 64), (8, None)).displacement((1, 0))
    512
    """

    layout: ComposeLayout
    begin: TileLayout
    begin_shape: tuple[int, ...]

    def displacement(self, steps: Coordinate) -> int:
        """The displacement of the addresses of the first box; LayoutError when the box would leave the tensor."""
        return self.begin.apply(steps, self.begin_shape).get("m", 0)
