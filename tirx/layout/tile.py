"""`TileLayout`: shard, replica and offset over named axes.

For a logical element x the layout gives L(x) = { D(x) + r + O : r in R }, where D splits x over the shard iters,
R is what the replica iters reach and O the offset.

An axis that a layout does not mention has coordinate 0: S[32 : 1@laneid] lies in warp 0 and nowhere else. Everything
that compares places (`owners`, `inverse`, `equivalent`, `overlaps`, ...) takes it so. A layout that is meant for each
warp says it: `replicate_over("warpid", 4)`. Register tiles of a kernel are the one exception. What the threads of a
block hold of them is counted by `tirx.layout.ownership`, for which a thread axis that is not mentioned is free, because
all threads of the block run the code: of a tile on laneid alone every warp has a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import index
from typing import Protocol, cast, runtime_checkable

from tirx.layout import algebra, slicing, strided
from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import axis, canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, Table, fused_if_needed, group_many_iters, reach, row_major, size_of
from tirx.layout.notation import ParsedTile, read_tile
from tirx.layout.replica import replica_offsets
from tirx.layout.shape import Coordinate, Region, Shape, check_region, check_shape, flatten_coordinate
from tirx.layout.spelling import LayoutSum
from tirx.layout.strided import Offset, Strided, sum_offsets
from tirx.values import dataclass, field

# Modules that few programs need are imported by the methods that use them, so that importing the algebra stays fast.


def _checked_offset(offset: Mapping[str, int] | Iterable[tuple[str, int]]) -> Offset:
    # A mapping is also an iterable of its keys, which the type checker cannot rule out here.
    pairs = cast("Iterable[tuple[str, int]]", offset.items() if isinstance(offset, Mapping) else offset)
    checked: list[tuple[str, int]] = []
    for pair in pairs:
        if len(pair) != 2:
            raise TypeError(f"expected pairs of axis name and integer as offset, found {pair!r}")
        name, count = pair
        axis(name)
        checked.append((name, index(count)))
    return sum_offsets(checked)


@runtime_checkable
class Composed(Protocol):
    """A layout that is more than a tile, `ComposeLayout`, as far as a tile can be compared with it."""

    def overlaps(self, other: TileLayout) -> bool:
        """Returns True if some address holds an element of both."""
        ...

    def equivalent(self, other: TileLayout) -> bool:
        """Returns True if both give the same owner set for every flat index."""
        ...


@dataclass(frozen=True)
class TileLayout:
    """A strided layout.

    shard:   iters, outermost first; the row-major flat index of an element is split over their extents.
    replica: iters that repeat every element; independent of the element.
    offset:  added to every coordinate; a mapping or pairs of axis name and integer, kept sorted and without zeros.
    strided: the three as plain data, for the modules of the algebra.

    Instead of the three, a text of the notation or its spelling in Python is taken (`tirx.layout.spelling`):

    >>> from tirx.layout import R, S, TileLayout
    >>> from tirx.layout.axes import laneid, warpid
    >>> x = TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid)
    >>> x == TileLayout("S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 4@warpid] + 5@warpid")
    True
    >>> x.apply((5, 6), shape=(8, 16))
    {'laneid': 23, 'warpid': 5, 'm': 0}

    Raises LayoutError for an unknown axis or an extent below 1. `str` prints the notation, which `parse` reads back to
    an equal layout; the layout without shard iters (a single element) prints `S[]`.
    """

    HASHED_ONCE = True

    shard: Iters = ()
    replica: Iters = ()
    offset: tuple[tuple[str, int], ...] = field(default=())
    strided: Strided = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        shard: Iterable[Iter] | str | LayoutSum = (),
        replica: Iterable[Iter] = (),
        offset: Mapping[str, int] | Iterable[tuple[str, int]] = (),
    ):
        if isinstance(shard, str | LayoutSum):
            if replica or offset:
                raise TypeError("expected a text or S[...] + R[...] alone, found replica or offset beside it")
            if isinstance(shard, str):
                self._set(TileLayout.parse(shard).strided)
            else:
                self._set(Strided(shard.shard or (), shard.replica, _checked_offset(shard.offset)))
            return
        shard, replica = tuple(shard), tuple(replica)
        for it in (*shard, *replica) if replica else shard:
            if it.__class__ is not Iter:
                raise TypeError(f"expected iters in a layout, found {it!r}; TileLayout.parse reads texts")
        self._set(Strided(shard, replica, _checked_offset(offset) if offset else ()))

    def _set(self, plain: Strided) -> None:
        fields = self.__dict__
        fields["shard"], fields["replica"], fields["offset"] = plain
        fields["strided"] = plain

    @classmethod
    def _of(cls, plain: Strided) -> TileLayout:
        """The layout of plain data that is known to be legal."""
        made = object.__new__(cls)
        made._set(plain)
        return made

    @classmethod
    def _canonical(cls, plain: Strided) -> TileLayout:
        """The layout of plain data that is known to be legal, in normal form."""
        return cls._of(strided.normal_form(plain))

    @classmethod
    def _optional(cls, plain: Strided | None) -> TileLayout | None:
        return None if plain is None else cls._canonical(plain)

    # Construction and text.

    @classmethod
    def parse(cls, text: str) -> TileLayout:
        """Reads the notation; LayoutError with the character offset of the mistake. See `tirx.layout.notation`."""
        return cls.from_parsed(read_tile(text))

    @classmethod
    def from_parsed(cls, parsed: ParsedTile) -> TileLayout:
        """The layout that a text was read as."""
        return cls(parsed.shard, parsed.replica, parsed.offset)

    @classmethod
    def row_major(cls, shape: Shape, axis: str = "m") -> TileLayout:
        """Compact strides on one axis, last dimension fastest."""
        return cls(row_major(check_shape(shape, None), axis))

    @classmethod
    def from_cute(cls, text: str) -> TileLayout:
        """Reads CuTe text such as ((8,2),(4,4)):((4,32),(1,64)) as a layout of its top-level modes on axis m."""
        from tirx.layout.interop import cute

        return cls(cute.read_cute(text).iters)

    @classmethod
    def from_thread_value(cls, text: str, shape: Shape, axis: str = "laneid") -> TileLayout:
        """Reads a CuTe thread-value layout, (thread, value) -> element of a tile of `shape`, as CuTe prints atoms.

        Threads become `axis`, values registers. Raises LayoutError unless each element is reached once.

        >>> print(TileLayout.from_thread_value("((4,8),(2,2)):((32,1),(16,8))", (16, 8)))
        S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]
        """
        from tirx.layout.interop import cute

        return cls(*cute.read_thread_value(text, check_shape(shape, None), axis))

    def to_cute(self, shape: Shape) -> str:
        """Returns CuTe text with one top-level mode per dimension of `shape`.

        Raises LayoutError for a map with copies, an offset or another axis than m, and where `group` does.
        """
        from tirx.layout.interop import cute

        return cute.print_cute(self.strided, shape)

    def __str__(self) -> str:
        return str(self.strided)

    def _repr_html_(self) -> str:
        """Returns a grid of the elements, or of the first ones, which notebooks show."""
        from tirx.layout.picture import html_of

        return html_of(str(self), self.extents, self.table, self.replica)

    @property
    def offsets(self) -> dict[str, int]:
        """The offset as a dict."""
        return dict(self.offset)

    # Facts that follow from the fields are kept on the instance once they were asked for; they are no fields, so
    # equality and hash do not see them.

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Every axis mentioned, in order of appearance in shard, replica, offset."""
        return self.strided.axes

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The shard extents: the finest shape that the layout admits as it is written."""
        return tuple([it.extent for it in self.shard])

    @cached_property
    def _size(self) -> int:
        return size_of(self.shard)

    @cached_property
    def _digits(self) -> tuple[tuple[int, int, str], ...]:
        """(extent, stride, axis) of the shard, innermost first."""
        return tuple([(it.extent, it.stride, it.axis) for it in reversed(self.shard)])

    @cached_property
    def _origin(self) -> dict[str, int]:
        """Base coordinate of element 0, on all axes."""
        return dict.fromkeys(self.axes, 0) | dict(self.offset)

    def size(self, axis: str | None = None) -> int:
        """Number of logical elements, or of shard positions on one axis. Replicas do not count."""
        return self._size if axis is None else size_of(self._on(axis, self.shard))

    @staticmethod
    def _on(name: str, iters: Iters) -> Iters:
        """The iters on an axis, under any of its names; LayoutError for an unknown axis."""
        name = canonical_name(name)
        return tuple([it for it in iters if canonical_name(it.axis) == name])

    @cached_property
    def _footprint(self) -> Mapping[str, tuple[int, int]]:
        return strided.footprint(self.strided)

    def footprint(self) -> Mapping[str, tuple[int, int]]:
        """Per axis the smallest and largest coordinate that any copy of any element has."""
        return self._footprint

    def span(self, axis: str = "m") -> int:
        """Length of the footprint on one axis, max - min + 1, holes included; the offset does not matter."""
        low, high = reach([Iter(it.extent, it.stride) for it in self._on(axis, (*self.shard, *self.replica))], "m")
        return high - low + 1

    def check_bounds(self, element_bits: int = 32) -> None:
        """Raises LayoutError when some coordinate is negative or beyond its axis (laneid < 32, TLane < 128, ...).

        `element_bits` is the width of an element: TCol counts elements, its bound 32-bit columns.
        """
        for name, (low, high) in self.canonicalize().footprint().items():
            limit = axis(name).limit(element_bits)
            if low < 0 or (limit is not None and high >= limit):
                legal = f"0..{limit - 1}" if limit is not None else "0 or more"
                raise LayoutError(f"axis '{name}' must stay in {legal}, the layout {self} reaches {low}..{high}")

    # The map.

    def apply(self, coord: Coordinate, shape: Shape | None = None) -> dict[str, int]:
        """Base coordinate D(x) + O of one element, replicas not applied: {axis: coordinate}.

        `coord` is a flat row-major index, or a tuple in `shape` (the shard extents when no shape is given).
        Raises LayoutError when the shape has another size than the layout or the element is outside it.
        """
        flat = flatten_coordinate(coord, self.extents if shape is None else shape, self._size)
        sums = self._origin.copy()
        for extent, stride, name in self._digits:
            sums[name] += flat % extent * stride
            flat //= extent
        return sums

    def replicas(self) -> list[dict[str, int]]:
        """The distinct displacements that the replica iters reach, sorted; a single empty one without replicas.

        Raises LayoutError for more than 2**20 of them.
        """
        return strided.displacements(self.strided)

    def owners(self, coord: Coordinate, shape: Shape | None = None) -> list[dict[str, int]]:
        """The whole set L(x) of one element, each coordinate once, sorted by coordinate in the order of `axes`."""
        base = self.apply(coord, shape)
        found = [{name: at + step.get(name, 0) for name, at in base.items()} for step in self.replicas()]
        return sorted(found, key=lambda owner: tuple(owner.values()))

    def table(self, shape: Shape | None = None) -> Table:
        """Base coordinates of all elements: {axis: int64 array of `shape`}, replicas not applied.

        Raises LayoutError for more than 2**26 elements, and for coordinates beyond 62 bits.
        """
        dims = check_shape(self.extents if shape is None else shape, self._size)
        return {name: values.reshape(dims) for name, values in strided.table(self.strided).items()}

    def flat_table(self) -> Table:
        """`table` by flat index: {axis: int64 array of length size()}."""
        return strided.table(self.strided)

    def axis_table(self, name: str, shape: Shape | None = None) -> NDArray[np.int64]:
        """Base coordinates on one axis, under any of its names; zeros when the layout does not mention it."""
        dims = check_shape(self.extents if shape is None else shape, self._size)
        return strided.axis_table(self.strided, name).reshape(dims)

    def owner_table(self) -> Table:
        """Coordinates of all copies of all elements: {axis: int64 array of (size, copies)}, copies as in `replicas`."""
        return strided.owner_table(self.strided)

    def inverse(self, coord: Mapping[str, int]) -> list[int]:
        """Flat indices of the elements of which a copy lies at `coord`, sorted.

        Axes left out of `coord` are free: {"laneid": 5} asks for everything that lane 5 holds.
        """
        from tirx.layout import addresses

        return addresses.inverse(self.strided, coord)

    def is_injective(self) -> bool:
        """Returns True if no coordinate holds two different elements."""
        from tirx.layout import addresses

        return addresses.is_injective(self.strided)

    def is_trivial(self) -> bool:
        """Returns True if element x is at coordinate x of one memory axis: a compact row-major tile, without copies."""
        layout = self.canonicalize()
        compact = all(it.stride == 1 and axis(it.axis).kind == "memory" for it in layout.shard)
        return compact and len(layout.shard) < 2 and not layout.replica and not layout.offset

    def is_surjective(self, box: Mapping[str, int | tuple[int, int]]) -> bool:
        """Returns True if every coordinate of a box holds some copy of some element.

        The box gives an extent or (begin, end) per axis, end exclusive; other axes are free, as in `inverse`. Raises
        LayoutError for an empty box, and when more than 2**21 coordinates of one axis would have to be compared.
        """
        from tirx.layout import addresses

        return addresses.is_surjective(self.canonicalize().strided, box)

    def overlaps(self, other: TileLayout | Composed) -> bool:
        """Returns True if some coordinate holds an element of both layouts, copies included.

        An axis that only one of them mentions has coordinate 0 in the other. Raises LayoutError when both together
        mention thread axes that depend on one another, such as laneid and tx: fuse or rename them first. The same
        limit as for `is_surjective`.
        """
        if not isinstance(other, TileLayout):
            return _composed(other).overlaps(self)
        from tirx.layout import addresses

        return addresses.overlaps(self.canonicalize().strided, other.canonicalize().strided)

    # Normal form and comparison.

    def canonicalize(self, fuse_threads: bool = False) -> TileLayout:
        """The normal form: shortest shard and replica of the same map; with `fuse_threads` see there.

        Unit iters go, neighbours that continue each other fuse, aliases become the axis they stand for, a broadcast
        iter is on an axis of the layout, and the replica is a function of the set that it reaches (see
        `tirx.layout.replica`). Two layouts are the same map exactly when their normal forms are equal, unless a
        replica is too large to search for its normal form; `equivalent` is exact for those too.
        """
        if fuse_threads:
            return self.fuse_threads()
        fields = self.__dict__
        if "_normal_form" not in fields:
            plain = self.strided
            normal = strided.normal_form(plain)
            fields["_normal_form"] = None if normal is plain else TileLayout._of(normal)  # itself would be a circle
        found = fields["_normal_form"]
        return self if found is None else found

    def equivalent(self, other: TileLayout | Composed) -> bool:
        """Returns True if both give the same owner set for every flat index. Exact."""
        if not isinstance(other, TileLayout):
            return _composed(other).equivalent(self)
        mine, theirs = self.canonicalize(), other.canonicalize()
        if (mine.shard, mine.offset) != (theirs.shard, theirs.offset):
            return False
        # Different normal forms of one set exist only where it is too large to search.
        return mine.replica == theirs.replica or replica_offsets(mine.replica) == replica_offsets(theirs.replica)

    def fuse_threads(self) -> TileLayout:
        """The same places with all thread axes of the CTA on one axis: laneid and warpid become tx. Normal form.

        Raises LayoutError when the axes leave a level open (laneid and wgid say nothing of the warp) or overlap.
        """
        fields = self.__dict__
        if "_fused" not in fields:
            from tirx.layout import scopes

            normal = self.canonicalize()
            plain = scopes.fuse_threads(normal.strided)
            fused = normal if plain is normal.strided else TileLayout._canonical(plain)
            fields["_fused"] = None if fused is self else fused  # itself would be a circle
        found = fields["_fused"]
        return self if found is None else found

    def scope(self) -> tuple[str, str] | None:
        """The innermost scope that the thread axes count and the outermost one that they lie inside of.

        ("thread", "warp") for laneid, ("thread", "cta") for laneid and warpid; None without thread axes. Raises
        LayoutError when the axes do not follow each other: laneid and wgid leave the warp open, laneid and tx overlap.
        """
        from tirx.layout import scopes

        return scopes.scope(self.canonicalize().axes)

    # New layouts.

    def group(self, shape: Shape) -> tuple[TileLayout, tuple[int, ...]]:
        """The same map with iters split so that dimension d of `shape` owns shard[seps[d]:seps[d + 1]].

        Nothing is reordered, and iters are fused only where they do not line up with the shape otherwise; a unit
        dimension owns a unit iter, other unit iters go. Raises LayoutError when no iters of the map line up.
        """
        dims = check_shape(shape, self.size())
        grouped, seps = strided.group(self.strided, dims)
        return TileLayout._of(grouped), seps

    def group_many(self, shapes: Sequence[Shape]) -> tuple[TileLayout, tuple[tuple[int, ...], ...]]:
        """`group` by several shapes at once: the common refinement, and the separators of every shape.

        Raises LayoutError when the boundaries of two shapes, or of a shape and the iters of the map, do not nest.
        """
        dims = [check_shape(shape, self.size()) for shape in shapes]
        axis = strided.unit_axis(self.strided)
        iters, seps = fused_if_needed(self.shard, lambda shard: group_many_iters(shard, dims, axis))
        return TileLayout._of(self.strided._replace(shard=iters)), seps

    def permute(self, perm: Sequence[int], shape: Shape | None = None) -> TileLayout:
        """The layout of the transposed tensor: new dimension i is old dimension perm[i].

        Dimensions are those of `shape`, or the shard iters when no shape is given.
        """
        return TileLayout._of(algebra.permute(self.strided, perm, self.extents if shape is None else shape))

    def tile(self, outer: TileLayout, outer_shape: Shape, inner_shape: Shape) -> TileLayout:
        """This layout repeated by `outer`: element o_d * inner_shape[d] + n_d sits at L(n) + span * outer(o).

        `span` is this layout's span per axis, so copies never overlap; it scales the outer shard, replica and offset.
        Returns the normal form. LayoutError when ranks differ or a layout does not group by its shape.
        """
        inner, outer_form = self.canonicalize().strided, check_tile(outer).canonicalize().strided
        return TileLayout._canonical(algebra.tile(inner, outer_form, outer_shape, inner_shape))

    def direct_sum(self, left: TileLayout, left_shape: Shape, right_shape: Shape) -> TileLayout:
        """Like `tile` with `left` outside, but strides are taken as they are: L(right) + left(o). Normal form."""
        right, left_form = self.canonicalize().strided, check_tile(left).canonicalize().strided
        return TileLayout._canonical(algebra.direct_sum(right, left_form, left_shape, right_shape))

    def is_tile_inner(self, tiled: TileLayout, tiled_shape: Shape, inner_shape: Shape) -> TileLayout | None:
        """The layout `outer` of which `self.tile(outer, tiled_shape / inner_shape, inner_shape)` is `tiled`.

        In normal form and unique, replica and offset included; None exactly when there is none. Raises LayoutError
        when a shape does not fit its layout or the ranks differ.
        """
        from tirx.layout import quotient

        inner, whole = self.canonicalize().strided, check_tile(tiled).canonicalize().strided
        return TileLayout._optional(quotient.is_tile_inner(inner, whole, tiled_shape, inner_shape))

    def is_tile_outer(self, tiled: TileLayout, tiled_shape: Shape, outer_shape: Shape) -> TileLayout | None:
        """The layout `inner` of which `inner.tile(self, outer_shape, tiled_shape / outer_shape)` is `tiled`.

        Like `is_tile_inner` in everything else.
        """
        from tirx.layout import quotient

        outer, whole = self.canonicalize().strided, check_tile(tiled).canonicalize().strided
        return TileLayout._optional(quotient.is_tile_outer(outer, whole, tiled_shape, outer_shape))

    def is_direct_sum_right(self, whole: TileLayout, interleaved_shape: Shape, right_shape: Shape) -> TileLayout | None:
        """The layout `left` of which `self.direct_sum(left, left_shape, right_shape)` is `whole`; None without one.

        `interleaved_shape` is (left_0, right_0, left_1, right_1, ...). Shard and offset of the answer are unique. Its
        replica is, too, where the copies that it makes do not meet, and then it is that one; where every choice makes
        some copies meet, it is the one with the lexicographically smallest ascending steps. LayoutError as for
        `is_tile_inner`.
        """
        return self._direct_sum_rest(whole, interleaved_shape, right_shape, 1)

    def is_direct_sum_left(self, whole: TileLayout, interleaved_shape: Shape, left_shape: Shape) -> TileLayout | None:
        """The layout `right` of which `right.direct_sum(self, left_shape, right_shape)` is `whole`; None without one.

        Like `is_direct_sum_right` in everything else.
        """
        return self._direct_sum_rest(whole, interleaved_shape, left_shape, 0)

    def _direct_sum_rest(
        self, whole: TileLayout, interleaved_shape: Shape, part_shape: Shape, place: int
    ) -> TileLayout | None:
        from tirx.layout import quotient

        form, plain = self.canonicalize().strided, check_tile(whole).canonicalize().strided
        return TileLayout._optional(quotient.direct_sum_rest(form, plain, interleaved_shape, part_shape, place))

    def slice(self, shape: Shape, region: Region) -> TileLayout:
        """The layout of a box: `region` has one (begin, end) per dimension of `shape`; end is exclusive.

        Complete: raises LayoutError only when the box is outside the shape or no TileLayout describes it, and then
        says up to where one does. Returns the normal form.
        """
        normal = self.canonicalize()
        dims = check_shape(shape, normal.size())
        bounds = check_region(region, dims)
        base = sum_offsets(normal.apply([begin for begin, _ in bounds], dims).items())
        return TileLayout._canonical(slicing.slice_region(normal.strided, dims, bounds, base))

    def slice_dynamic(self, shape: Shape, sizes: Shape, multiples: Sequence[int | None]) -> DynamicSlice:
        """The layout of all boxes of `sizes` whose begin in dimension d is some multiple of multiples[d].

        None or 0 stands for a begin that is always 0. Every box inside of `shape` is meant: the box at step k of a
        dimension begins at k * multiple. Raises LayoutError when the boxes have different layouts, and then says
        which step would do; when no TileLayout describes the box, or its displacement by the steps; and when more
        than 2**24 elements would have to be compared.
        """
        dims = check_shape(shape, self._size)
        box, moves, counts = slicing.slice_dynamic(self.canonicalize().strided, dims, sizes, multiples)
        return DynamicSlice(TileLayout._canonical(box), TileLayout._canonical(Strided(moves)), counts)

    def unpack(self, factor: int, axis: str = "m") -> TileLayout:
        """View of every element as `factor` narrower ones, contiguous on the storage axis."""
        return TileLayout._of(algebra.unpack(self.strided, factor, axis))

    def pack(self, factor: int, axis: str = "m") -> TileLayout:
        """View of every `factor` neighbours as one wider element; LayoutError when they are not contiguous."""
        return TileLayout._of(algebra.pack(self.canonicalize().strided, factor, axis))

    def broadcast(self, extent: int, position: int, axis: str | None = None, shape: Shape | None = None) -> TileLayout:
        """The layout with one more dimension, of `extent` elements that are all at one place (stride 0).

        The new dimension comes before dimension `position` of `shape` (default: of the shard iters), or last. The
        axis of its iter has no meaning; by default it is one of the layout, memory first.
        """
        dims = self.extents if shape is None else shape
        return TileLayout._of(algebra.broadcast(self.strided, extent, position, axis, dims))

    def storage(self) -> TileLayout:
        """The layout inside one thread: iters and offsets on memory axes, without those on thread and device axes.

        The elements of the result are the positions of the memory iters, so its size is usually smaller.
        """
        return TileLayout._of(algebra.storage(self.strided))

    def compose(self, inner: TileLayout) -> TileLayout:
        """The layout x -> self(inner(x)): `inner` gives, on axis m, flat indices of this layout. Normal form.

        A copy that `inner` makes is a copy of the result; the offset of `inner` is part of the index. Raises
        LayoutError when `inner` mentions another axis, leaves this layout, or when no TileLayout is the composition.
        """
        from tirx.layout import composition

        form = check_tile(inner).canonicalize()
        check_all_on(form, "m")
        return TileLayout._canonical(composition.compose(self.canonicalize().strided, form.strided))

    def replicate_over(self, axis: str, extent: int | None = None) -> TileLayout:
        """The layout with a copy of everything at each of `extent` coordinates (default: all) of one more axis.

        `S[32 : 1@laneid]` is in lane x of warp 0; `replicate_over("warpid", 4)` of it in lane x of each of 4 warps.
        Raises LayoutError when the layout mentions the axis already, or has no extent and the axis no bound.
        """
        return TileLayout._of(algebra.replicate_over(self.strided, axis, extent))

    def with_offset(self, **offset: int) -> TileLayout:
        """The layout moved by so much on each axis."""
        return TileLayout(self.shard, self.replica, (*self.offset, *offset.items()))


@dataclass(frozen=True)
class DynamicSlice:
    """Boxes of one size that begin at a multiple of a step in every dimension.

    layout:      of the box at the first begin; the others differ only by a displacement.
    begin:       the displacement by the number of the step in every dimension, a layout of shape `begin_shape`
                 without replica and offset.
    begin_shape: how many begins each dimension has.

    >>> from tirx.layout import TileLayout
    >>> boxes = TileLayout("S[(16, 64) : (64, 1)]").slice_dynamic((16, 64), (8, 64), (8, None))
    >>> print(boxes.at((1, 0)))
    S[512 : 1] + 512
    """

    layout: TileLayout
    begin: TileLayout
    begin_shape: tuple[int, ...]

    def at(self, steps: Coordinate) -> TileLayout:
        """The layout of the box at these steps; LayoutError when it would leave the tensor."""
        return self.layout.with_offset(**self.begin.apply(steps, self.begin_shape))


def _composed(layout: object) -> Composed:
    """The layout; TypeError unless it is a ComposeLayout."""
    if not isinstance(layout, Composed):
        raise TypeError(f"expected a TileLayout or a ComposeLayout, found {layout!r}")
    return layout


def check_tile(layout: object) -> TileLayout:
    """The layout; TypeError for anything but a TileLayout."""
    if not isinstance(layout, TileLayout):
        raise TypeError(f"expected a TileLayout, found {layout!r}")
    return layout


def check_all_on(layout: TileLayout, name: str) -> None:
    """Raises LayoutError unless the layout mentions no axis but `name`."""
    others = [a for a in layout.axes if a != name]
    if others:
        raise LayoutError(f"expected a layout on axis {name} only, found {', '.join(others)} in {layout}")
