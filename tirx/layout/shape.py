"""Shapes, coordinates and regions: checking what a caller asks for."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import SupportsIndex, TypeAlias

from tirx.layout.errors import LayoutError

Shape: TypeAlias = Sequence[int]
Coordinate: TypeAlias = SupportsIndex | Sequence[int]
Region: TypeAlias = Sequence[tuple[int, int]]

MOST_ELEMENTS = 1 << 24
"""Elements, copies or coordinates that an operation lists one by one, where it has to."""

MOST_IN_WINDOW = 1 << 21
"""Coordinates in a window that are listed and sorted, a second's work."""

MOST_ENTRIES = 1 << 26
"""Entries of a table, which is only written down: 512 MiB."""

_COORDINATE_BITS = 62
"""Tables hold signed 64-bit integers; differences of coordinates have to fit too."""


def check_count(count: int, layout: object) -> None:
    """Raises LayoutError when an operation on a layout would have to list more than `MOST_ELEMENTS` things."""
    if count > MOST_ELEMENTS:
        raise LayoutError(f"expected at most {MOST_ELEMENTS} elements or places to compare, found {count} in {layout}")


def check_window(count: int, layout: object) -> None:
    """Raises LayoutError when an operation on a layout would have to sort more than `MOST_IN_WINDOW` coordinates."""
    if count > MOST_IN_WINDOW:
        raise LayoutError(f"expected at most {MOST_IN_WINDOW} places to compare, found {count} in {layout}")


def check_entries(count: int, layout: object) -> None:
    """Raises LayoutError when a table of a layout would have more than `MOST_ENTRIES` entries."""
    if count > MOST_ENTRIES:
        raise LayoutError(f"expected at most {MOST_ENTRIES} elements in a table, found {count} in {layout}")


def check_coordinates(layout: object, *coordinates: int) -> None:
    """Raises LayoutError for coordinates of a layout that tables cannot hold."""
    for at in coordinates:
        if abs(at) >> _COORDINATE_BITS:
            raise LayoutError(f"expected coordinates that fit {_COORDINATE_BITS} bits, found {at} in {layout}")


def check_shape(shape: Shape, size: int | None) -> tuple[int, ...]:
    """The shape as a tuple of positive ints of that many elements (any number for None), else LayoutError."""
    dims = tuple(map(index, shape))
    if dims and min(dims) < 1:
        raise LayoutError(f"every extent of a shape must be positive, found {dims}")
    if size is not None and prod(dims) != size:
        raise LayoutError(f"the layout has {size} elements, shape {dims} has {prod(dims)}")
    return dims


def row_major_strides(dims: Shape) -> tuple[int, ...]:
    """Returns how far the next element along each dimension is, counted in elements in row-major order."""
    return tuple(prod(dims[d + 1 :]) for d in range(len(dims)))


def flatten_coordinate(coord: Coordinate, shape: Shape, size: int) -> int:
    """Row-major flat index of an element; LayoutError when it is outside the shape, or the shape not of that size."""
    # Whether something is an index is slow to ask.
    if not isinstance(coord, tuple | list) and (isinstance(coord, int) or isinstance(coord, SupportsIndex)):
        if isinstance(shape, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"expected a shape, found {shape}; the coordinates of an element are one tuple")
        check_shape(shape, size)
        flat = index(coord)
        if not 0 <= flat < size:
            raise LayoutError(f"flat index {flat} is outside the layout of {size} elements")
        return flat
    flat, total, inside = 0, 1, len(coord) == len(shape)
    if inside:
        for at, extent in zip(coord, shape, strict=True):
            at, extent = index(at), index(extent)
            inside = inside and 0 <= at < extent
            flat = flat * extent + at
            total *= extent
    if not inside or total != size:
        raise _outside(coord, check_shape(shape, size))
    return flat


def _outside(coord: Sequence[int], dims: tuple[int, ...]) -> LayoutError:
    """The error about a coordinate outside of the shape, or of another rank."""
    if len(coord) != len(dims):
        expected = f"expected a coordinate of rank {len(dims)} for shape {dims}, found {tuple(coord)}"
        return LayoutError(f"{expected}; shape=(...) gives the tile another shape")
    at, extent = next((at, extent) for at, extent in zip(coord, dims, strict=True) if not 0 <= at < extent)
    return LayoutError(f"coordinate {tuple(coord)} is outside shape {dims}: {at} is not in 0..{extent - 1}")


def check_bound(name: str, bound: int | tuple[int, int]) -> tuple[int, int]:
    """(begin, end) on one axis of a box that is given by an extent or by both, else LayoutError."""
    ends = bound if isinstance(bound, tuple) else (0, bound)
    if len(ends) != 2 or not index(ends[0]) < index(ends[1]):
        raise LayoutError(f"expected begin < end on axis '{name}' of the box, found {ends}")
    return index(ends[0]), index(ends[1])


def check_region(region: Region, dims: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The region as a tuple of (begin, end) inside the shape, none of them empty, else LayoutError."""
    pairs = [tuple(bound) for bound in region]
    if wrong := [pair for pair in pairs if len(pair) != 2]:
        raise LayoutError(f"expected (begin, end) for every dimension of the region, found {wrong[0]}")
    bounds = tuple([(index(begin), index(end)) for begin, end in pairs])
    if len(bounds) != len(dims):
        raise LayoutError(f"expected a region of rank {len(dims)} for shape {dims}, found rank {len(bounds)}")
    for d, ((begin, end), extent) in enumerate(zip(bounds, dims, strict=True)):
        if not 0 <= begin < end <= extent:
            raise LayoutError(
                f"dimension {d} of the region must satisfy 0 <= begin < end <= {extent}, found ({begin}, {end})"
            )
    return bounds
