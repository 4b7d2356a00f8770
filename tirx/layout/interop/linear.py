"""Linear layouts, Triton's way to write a layout: for every bit of a hardware index, a tensor coordinate.

A linear layout sends a hardware index (register, lane, warp, block of a distributed tensor; offset in shared memory;
row and column of tensor memory) to the XOR of the images of its set bits. That is the direction opposite to the layouts
here, which send a tensor element to the set of places that hold it, so each is turned into the other by inverting a
matrix over GF(2): a replica becomes a basis that is zero, and the other way round.

Only layouts of powers of two without an offset are linear, and of the linear ones only those are layouts here that are
strided, or a swizzle of strided; both conversions say why not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from operator import index
from typing import Literal

from tirx.layout.arrays import NDArray, np
from tirx.layout.axis import WARP_SIZE, axis
from tirx.layout.compose import ComposeLayout
from tirx.layout.errors import LayoutError
from tirx.layout.gf2 import BitMatrix, reduce_by, reduced_basis, span_table
from tirx.layout.interop.linear_text import Bases, OutDims, print_attribute, print_list, read_linear
from tirx.layout.iters import Iter, size_of
from tirx.layout.ownership import describe_element
from tirx.layout.parse import Layout, resolve
from tirx.layout.shape import Shape, check_count, check_shape
from tirx.layout.swizzle import SwizzleLayout
from tirx.layout.tile import TileLayout
from tirx.values import dataclass

WarpAxis = Literal["warpid", "wid_in_wg"]

_PLACE_BITS = 62
"""Places are computed with 64-bit integers, signed."""

_DISTRIBUTED = ("register", "lane", "warp", "block")
_SHARED = ("offset", "block")
_TENSOR = ("row", "col")
"""Input dimensions of the three families of Triton's layouts, in its order."""

_AXES = {"register": "m", "offset": "m", "lane": "laneid", "block": "cbx", "row": "TLane", "col": "TCol"}
"""The axis of each input dimension; that of warp is for the caller to say."""


def _bits(size: int) -> int | None:
    """log2 of a power of two, None for other numbers."""
    return size.bit_length() - 1 if size > 0 and not size & (size - 1) else None


@dataclass(frozen=True)
class LinearLayout:
    """For every bit of every input dimension, lowest first, the tensor coordinate that it is XOR-ed into the result.

    bases:    a mapping, or pairs, from input dimension to a sequence of coordinates.
    out_dims: a mapping, or pairs, from output dimension to its size; by default dim0, dim1, .. of the smallest powers
              of two that hold the bases.

    Raises LayoutError for coordinates of another rank or outside the sizes, and for sizes that are no power of two.

    >>> from tirx.layout import LinearLayout
    >>> LinearLayout({"register": [(1,)], "lane": [(2,), (4,)]}).shape
    (8,)
    """

    bases: Bases
    out_dims: OutDims

    def __init__(
        self, bases: Mapping[str, Sequence[Sequence[int]]] | Bases, out_dims: Mapping[str, int] | OutDims | None = None
    ):
        rows = bases.items() if isinstance(bases, Mapping) else bases
        found = tuple([(name, tuple([tuple(map(index, image)) for image in images])) for name, images in rows])
        images = [image for _, of_dim in found for image in of_dim]
        if out_dims is None:
            most = [max(column) for column in zip(*images, strict=False)]
            out_dims = tuple((f"dim{d}", 1 << size.bit_length()) for d, size in enumerate(most))
        named = out_dims.items() if isinstance(out_dims, Mapping) else out_dims
        sizes = tuple([(name, index(size)) for name, size in named])
        for name, size in sizes:
            if _bits(size) is None:
                raise LayoutError(f"the size of output dimension {name} must be a power of two, found {size}")
        for name, of_dim in found:
            for i, image in enumerate(of_dim):
                if len(image) != len(sizes):
                    raise LayoutError(f"expected {len(sizes)} coordinates for {name}={1 << i}, found {image}")
                for at, (out_dim, size) in zip(image, sizes, strict=True):
                    if not 0 <= at < size:
                        raise LayoutError(
                            f"the image of {name}={1 << i} must lie in 0..{size - 1} of {out_dim}, found {image}"
                        )
        for what, names in (("input", [name for name, _ in found]), ("output", [name for name, _ in sizes])):
            if len(set(names)) != len(names):
                raise LayoutError(f"every {what} dimension must be given once, found {', '.join(names)}")
        object.__setattr__(self, "bases", found)
        object.__setattr__(self, "out_dims", sizes)

    @classmethod
    def parse(cls, text: str) -> LinearLayout:
        """Reads the list that Triton prints, or #ttg.linear<..>, or #ttg.shared_linear<..>.

        The alignment of a shared layout is no part of the map and is dropped. LayoutError with the character offset.
        """
        return cls(*read_linear(text))

    def __str__(self) -> str:
        """The list that Triton prints."""
        return print_list(self.bases, self.out_dims)

    def attribute(self, alignment: int | None = None) -> str:
        """#ttg.linear<..>, or #ttg.shared_linear<..> when an alignment in bytes is given."""
        return print_attribute(self.bases, alignment)

    @property
    def in_sizes(self) -> dict[str, int]:
        """The size of every input dimension."""
        return {name: 1 << len(images) for name, images in self.bases}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor: the sizes of dim0, dim1, .., or in the order given when they have other names."""
        return tuple(self.out_dims[d][1] for d in self._tensor_order())

    def _tensor_order(self) -> list[int]:
        named = [re.fullmatch(r"dim([0-9]+)", name) for name, _ in self.out_dims]
        numbers = [int(match.group(1)) for match in named if match is not None]
        order = list(range(len(self.out_dims)))
        return sorted(order, key=lambda d: numbers[d]) if len(numbers) == len(order) else order

    def apply(self, index: Mapping[str, int]) -> tuple[int, ...]:
        """The tensor coordinate, in the order of `shape`, of a hardware index; dimensions left out are 0."""
        sizes = self.in_sizes
        for name, at in index.items():
            if not 0 <= at < sizes.get(name, 0):
                legal = f"0..{sizes[name] - 1}" if name in sizes else f"one of {', '.join(sizes)}"
                raise LayoutError(f"{name} = {at} is no index of this layout, expected {legal}")
        result = [0] * len(self.out_dims)
        for name, images in self.bases:
            for i, image in enumerate(images):
                if index.get(name, 0) >> i & 1:
                    result = [a ^ b for a, b in zip(result, image, strict=True)]
        return tuple(result[d] for d in self._tensor_order())

    def matrix(self) -> BitMatrix:
        """From hardware bits, the first input dimension lowest, to the bits of the flat row-major tensor index."""
        order, shape = self._tensor_order(), self.shape
        columns = [_flatten([image[d] for d in order], shape) for _, images in self.bases for image in images]
        return BitMatrix(tuple(columns), prod(shape).bit_length() - 1)

    @property
    def is_surjective(self) -> bool:
        """Returns True if every element of the tensor is held somewhere."""
        return self.matrix().is_surjective

    @property
    def is_injective(self) -> bool:
        """Returns True if no element is held twice."""
        return self.matrix().is_injective


def _flatten(coordinate: Sequence[int], shape: Sequence[int]) -> int:
    flat = 0
    for at, size in zip(coordinate, shape, strict=True):
        flat = flat * size + at
    return flat


# From the layouts here.


def _swizzled_places(layout: ComposeLayout) -> dict[str, NDArray[np.int64]]:
    return {"offset": layout.swizzle.apply(layout.tile_addresses())}


def _tile_places(layout: TileLayout) -> tuple[tuple[str, ...], dict[str, NDArray[np.int64]]]:
    """The input dimensions of the family, and the coordinates of all copies of all elements: (elements, copies)."""
    for name, (low, high) in layout.footprint().items():
        bound = axis(name).bound
        if axis(name).weight is not None and bound is not None and not 0 <= low <= high < bound:
            raise LayoutError(f"axis '{name}' must stay in 0..{bound - 1}, {layout} reaches {low}..{high}")
    layout = layout.fuse_threads()
    threads = {name: weight for name in layout.axes if (weight := axis(name).weight) is not None}
    names = _DISTRIBUTED if threads else _TENSOR if {"TLane", "TCol"} & set(layout.axes) else _SHARED
    dim_of = {_AXES[dim]: dim for dim in names if dim in _AXES}
    places: dict[str, NDArray[np.int64]] = {}
    for name, found in layout.owner_table().items():
        if name in threads:
            thread = found * threads[name]
            places["lane"], places["warp"] = thread % WARP_SIZE, thread // WARP_SIZE
        elif name in dim_of:
            places[dim_of[name]] = found
        else:
            raise LayoutError(f"none of the input dimensions {', '.join(names)} stands for axis {name} of {layout}")
    return names, places


def to_linear(layout: Layout, shape: Shape) -> LinearLayout:
    """The linear layout of a tensor of `shape` that is laid out so, with output dimensions dim0, dim1, ...

    Layouts on thread axes become register, lane, warp and block (axes m, laneid or part of a thread index, the rest of
    it, cbx); layouts on m alone become offset and block; layouts on TLane and TCol become row and col. Coordinates
    count elements. Replicas become zero bases.

    Raises LayoutError, with the reason, when the layout is not linear over GF(2), when two elements share a place, or
    when some place up to the largest coordinate holds no element: a linear layout has an element in every place. Also
    for more than 2**24 copies of elements, which are looked at one by one.

    >>> from tirx.layout import TileLayout, to_linear
    >>> to_linear(TileLayout("S[(8, 4) : (4@laneid, 1@laneid)]"), (8, 4)).shape
    (8, 4)
    """
    layout = resolve(layout, shape)
    dims = check_shape(shape, layout.size())
    for d, size in enumerate(dims):
        if _bits(size) is None:
            raise LayoutError(f"a linear layout has powers of two only, found {size} in dimension {d} of shape {dims}")
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    check_count(layout.size() * size_of(tile.replica), layout)
    names, places = (_SHARED, _swizzled_places(layout)) if isinstance(layout, ComposeLayout) else _tile_places(layout)
    packed = np.zeros((layout.size(), 1), dtype=np.int64)
    widths: dict[str, int] = {}
    total = 0
    for name in names:
        found = places.get(name, np.zeros((1, 1), dtype=np.int64))
        if found.min() < 0:
            raise LayoutError(f"a linear layout has no negative coordinates, found {found.min()} of {name} in {layout}")
        widths[name] = int(found.max()).bit_length()
        if total + widths[name] > _PLACE_BITS:
            raise LayoutError(f"expected places of at most {_PLACE_BITS} bits, found more in {layout}")
        packed = packed | found << total
        total += widths[name]
    elements, copies = _linear_parts(packed, dims, layout)
    every = BitMatrix((*elements, *copies), total)
    if not every.is_injective:
        raise LayoutError(f"a linear layout has one element in a place, {layout} has several")
    if not every.is_surjective:
        filled = 1 << len(every.columns)
        raise LayoutError(
            f"a linear layout has an element in each of the {1 << total} places, {layout} in {filled} of them only"
        )
    to_element = every.inverse()
    bases: list[tuple[str, tuple[tuple[int, ...], ...]]] = []
    used = 0
    for name in names:
        flats = [to_element.columns[used + i] & (layout.size() - 1) for i in range(widths[name])]
        bases.append((name, tuple(tuple(int(x) for x in np.unravel_index(flat, dims)) for flat in flats)))
        used += widths[name]
    return LinearLayout(tuple(bases), tuple((f"dim{d}", size) for d, size in enumerate(dims)))


def _linear_parts(
    packed: NDArray[np.int64], dims: tuple[int, ...], layout: TileLayout | ComposeLayout
) -> tuple[list[int], tuple[int, ...]]:
    """The places of the element bits, and a basis of the copies of element 0; LayoutError when not linear."""
    first = packed[0, 0]
    if first:
        raise LayoutError(f"a linear layout has element 0 in place 0, {layout} has an offset")
    elements = [int(packed[1 << i, 0]) for i in range(len(packed).bit_length() - 1)]
    copies = reduced_basis(int(at) for at in packed[0])
    expected = span_table(elements)
    bent = np.flatnonzero(packed[:, 0] != expected)
    if len(bent):
        raise LayoutError(
            f"not linear over GF(2): the place of element {describe_element(int(bent[0]), dims)} is not the XOR of the "
            f"places of its bits in {layout}; strides must be powers of two whose bits do not overlap"
        )
    apart = (packed != expected[:, None] ^ packed[0]).any()
    if apart or len(np.unique(packed[0])) != 1 << len(copies) or len(copies) != _bits(packed.shape[1]):
        raise LayoutError(f"not linear over GF(2): the copies of an element are no XOR of bits in {layout}")
    return elements, copies


# Back to the layouts here.


@dataclass(frozen=True)
class _Strides:
    """Places of the element bits and copies, as one (axis, step) each; steps on an axis share no bit."""

    elements: tuple[tuple[str, int], ...]
    copies: tuple[tuple[str, int], ...]

    def tile(self) -> TileLayout:
        shard = [Iter(2, step, name) for name, step in reversed(self.elements)]
        return TileLayout(shard, [Iter(2, step, name) for name, step in self.copies]).canonicalize()


def _strides(to_element: BitMatrix, fields: Sequence[tuple[str, int]]) -> _Strides | int | None:
    """The strides of a map from addresses to elements; the first element bit without one; None if copies have none.

    fields: axis and width of every run of place bits.
    """
    copies: list[tuple[str, int]] = []
    kernels: list[tuple[int, ...]] = []
    start = 0
    for name, width in fields:
        kernel = BitMatrix(to_element.columns[start : start + width], to_element.rows).kernel
        kernels.append(kernel)
        copies += [(name, step) for step in kernel]
        start += width
    if len(copies) != len(to_element.kernel):
        return None
    elements: list[tuple[str, int]] = []
    used = dict.fromkeys((name for name, _ in fields), 0)
    for name, step in copies:
        if used[name] & step:
            return None
        used[name] |= step
    for bit in range(to_element.rows):
        place = to_element.solve(1 << bit) or 0
        steps: list[tuple[str, int]] = []
        for (name, width), kernel in zip(fields, kernels, strict=True):
            step = reduce_by(place & ((1 << width) - 1), kernel)
            place >>= width
            if step:
                steps.append((name, step))
        if len(steps) != 1 or used[steps[0][0]] & steps[0][1]:
            return bit
        used[steps[0][0]] |= steps[0][1]
        elements.append(steps[0])
    return _Strides(tuple(elements), tuple(copies))


def _swizzles(to_element: BitMatrix) -> Iterator[SwizzleLayout]:
    """The swizzles that may stand between strided places and these, fewest bits first, the hardware's way first."""
    bits = len(to_element.columns)
    if to_element.is_injective:
        # Strides put every element bit on one place bit, and a swizzle adds a second one to each bit that it reads.
        ends = [(p.bit_length() - 1, (p & -p).bit_length() - 1) for p in to_element.inverse().columns if p & (p - 1)]
        distances, count = {high - low for high, low in ends}, len(ends)
        if len(distances) == 1 and count <= (distance := distances.pop()):
            unit = min(low for _, low in ends)
            if unit + count + distance <= bits:
                yield SwizzleLayout(unit, count, distance)
                yield SwizzleLayout(unit, count, distance, swizzle_inner=False)
        return
    for count in range(1, bits):
        for inner in (True, False):
            for distance in range(count, bits):
                for unit in range(bits - count - distance + 1):
                    yield SwizzleLayout(unit, count, distance, inner)


def from_linear(linear: LinearLayout, warp_axis: WarpAxis = "warpid") -> TileLayout | ComposeLayout:
    """The layout, of a tensor of `linear.shape`, that has every element where a linear layout has it. Normal form.

    Input dimensions register and offset become axis m, lane laneid, warp `warp_axis`, block cbx, row TLane and col
    TCol. Bases that add no element become replicas.

    Raises LayoutError when some element has no place, for other input dimensions, or when the layout is neither strided
    nor a swizzle of a strided one; the message names the element.

    >>> from tirx.layout import TileLayout, from_linear, to_linear
    >>> x = TileLayout("S[(8, 4) : (4@laneid, 1@laneid)]")
    >>> from_linear(to_linear(x, (8, 4))).equivalent(x)
    True
    """
    fields: list[tuple[str, int]] = []
    for name, images in linear.bases:
        known = warp_axis if name == "warp" else _AXES.get(name)
        if known is None:
            names = ", ".join(dict.fromkeys((*_DISTRIBUTED, *_SHARED, *_TENSOR)))
            raise LayoutError(f"expected the input dimensions {names}, found {name}")
        if name == "lane" and 1 << len(images) > WARP_SIZE:
            raise LayoutError(f"a warp has {WARP_SIZE} lanes, found {1 << len(images)}")
        fields.append((known, len(images)))
    if len({name for name, _ in fields}) != len(fields):
        raise LayoutError(f"expected register or offset, not both, found {', '.join(linear.in_sizes)}")
    matrix, shape = linear.matrix(), linear.shape
    if not matrix.is_surjective:
        lost = next(bit for bit in range(matrix.rows) if matrix.solve(1 << bit) is None)
        raise LayoutError(f"no place holds element {describe_element(1 << lost, shape)} of the tensor")
    found = _strides(matrix, fields)
    if isinstance(found, _Strides):
        return found.tile()
    moving = [(name, width) for name, width in fields if width]
    if [name for name, _ in moving] == ["m"]:
        bits = moving[0][1]
        for swizzle in _swizzles(matrix):
            behind = _strides(matrix @ swizzle.matrix(bits), moving)
            if isinstance(behind, _Strides):
                return ComposeLayout(swizzle, behind.tile())
    if found is None:
        raise LayoutError("linear, but neither strided nor a swizzle: its copies are no replicas along one axis each")
    raise LayoutError(
        f"linear, but neither strided nor a swizzle of a strided layout: element {describe_element(1 << found, shape)} "
        "lies at no power-of-two step on one axis that is free of other elements"
    )
