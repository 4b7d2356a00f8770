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


def check_shape(shape: Shape, size: int | None) -> tuple[int, ...]:
    """The shape as a tuple of positive ints of that many elements (any number for None), else LayoutError."""
    dims = tuple(index(extent) for extent in shape)
    if any(extent < 1 for extent in dims):
        raise LayoutError(f"every extent of a shape must be positive, found {dims}")
    if size is not None and prod(dims) != size:
        raise LayoutError(f"the layout has {size} elements, shape {dims} has {prod(dims)}")
    return dims


def flatten_coordinate(coord: Coordinate, shape: Shape | None, extents: Shape) -> int:
    """Row-major flat index of an element; LayoutError when it is outside the shape.

    `extents` are those of the shard: they are the shape when none is given and tell the size.
    """
    size = prod(extents)
    dims = check_shape(extents if shape is None else shape, size)
    if isinstance(coord, SupportsIndex):
        flat = index(coord)
        if not 0 <= flat < size:
            raise LayoutError(f"flat index {flat} is outside the layout of {size} elements")
        return flat
    if len(coord) != len(dims):
        raise LayoutError(f"expected a coordinate of rank {len(dims)} for shape {dims}, found {tuple(coord)}")
    flat = 0
    for at, extent in zip(coord, dims, strict=True):
        at = index(at)
        if not 0 <= at < extent:
            raise LayoutError(f"coordinate {tuple(coord)} is outside shape {dims}: {at} is not in 0..{extent - 1}")
        flat = flat * extent + at
    return flat


def check_region(region: Region, dims: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """The region as a tuple of (begin, end) inside the shape, none of them empty, else LayoutError."""
    bounds = tuple((index(begin), index(end)) for begin, end in region)
    if len(bounds) != len(dims):
        raise LayoutError(f"expected a region of rank {len(dims)} for shape {dims}, found rank {len(bounds)}")
    for d, ((begin, end), extent) in enumerate(zip(bounds, dims, strict=True)):
        if not 0 <= begin < end <= extent:
            raise LayoutError(
                f"dimension {d} of the region must satisfy 0 <= begin < end <= {extent}, found ({begin}, {end})"
            )
    return bounds
