"""Shardings as JAX and PyTorch document them, in a few lines that know no layout."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from tirx.layout import TileLayout

Boxes = list[tuple[slice, ...]]
"""For each device of a mesh, row-major, the box of the tensor that it holds."""


def boxes_of_spec(shape: Sequence[int], mesh: dict[str, int], spec: Sequence[Sequence[str]]) -> Boxes:
    """jax.sharding.PartitionSpec: a dimension split by several names has the first as the slowest."""
    boxes: Boxes = []
    for device in np.ndindex(*mesh.values()):
        at = dict(zip(mesh, device, strict=True))
        box: list[slice] = []
        for extent, names in zip(shape, spec, strict=True):
            block = extent // prod(mesh[name] for name in names)
            place = 0
            for name in names:
                place = place * mesh[name] + at[name]
            box.append(slice(place * block, (place + 1) * block))
        boxes.append(tuple(box))
    return boxes


def boxes_of_placements(shape: Sequence[int], mesh: Sequence[int], placements: Sequence[int | None]) -> Boxes:
    """torch.distributed.tensor: from left to right, every Shard(d) cuts what is there by then with torch.chunk."""
    boxes: Boxes = []
    for device in np.ndindex(*mesh):
        box = [slice(0, extent) for extent in shape]
        for at, count, d in zip(device, mesh, placements, strict=True):
            if d is not None:
                block = -(-(box[d].stop - box[d].start) // count)
                start = box[d].start + at * block
                box[d] = slice(start, start + block)
        boxes.append(tuple(box))
    return boxes


def holders(boxes: Boxes, shape: Sequence[int]) -> list[set[tuple[int, int]]]:
    """For each element, row-major, the devices that hold it and its position in their boxes."""
    found: list[set[tuple[int, int]]] = [set() for _ in range(prod(shape))]
    flat: NDArray[np.int64] = np.arange(prod(shape), dtype=np.int64).reshape(tuple(shape))
    for device, box in enumerate(boxes):
        for position, element in enumerate(flat[box].ravel()):
            found[element].add((device, position))
    return found


def owners(layout: TileLayout, shape: Sequence[int]) -> list[set[tuple[int, int]]]:
    """The same from a layout."""
    return [
        {(owner.get("pid", 0), owner.get("m", 0)) for owner in layout.owners(flat, shape)}
        for flat in range(prod(shape))
    ]
