"""Steps from one sharding of a tensor to another: they are done with numpy and give the other shards."""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import numpy as np
import pytest

from tirx.layout import Mesh, TileLayout
from tirx.layout.interop.mesh import from_placements
from tirx.layout.interop.redistribution import RedistributionError, Step, redistribution, require_sharding

_MESH = Mesh((2, 3), ("x", "y"))
_SHAPE = (12, 6)
_PLACEMENTS = list(product((None, 0, 1), repeat=2))


def _boxes(placements: list[int | None]) -> dict[tuple[int, ...], Any]:
    """The shard of each device, by splitting along one mesh dimension after the other."""
    whole: Any = np.arange(np.prod(_SHAPE)).reshape(_SHAPE)
    found: dict[tuple[int, ...], Any] = {}
    for device in np.ndindex(_MESH.shape):
        part = whole
        for i, d in enumerate(placements):
            if d is not None:
                part = cast("Any", np.split(part, _MESH.shape[i], d))[device[i]]
        found[device] = part
    return found


def _apply(step: Step, boxes: dict[tuple[int, ...], Any]) -> dict[tuple[int, ...], Any]:
    i = _MESH.names.index(step.mesh_dim)
    found: dict[tuple[int, ...], Any] = {}
    for device, box in boxes.items():
        if step.source is not None:
            line = [boxes[(*device[:i], n, *device[i + 1 :])] for n in range(_MESH.shape[i])]
            box = np.concatenate(line, step.source)
        if step.target is not None:
            box = np.split(box, _MESH.shape[i], step.target)[device[i]]
        found[device] = box
    return found


@pytest.mark.sample(27)
@pytest.mark.parametrize(("before", "after"), list(product(_PLACEMENTS, _PLACEMENTS)))
def test_steps_bring_every_shard_where_it_is_wanted(
    before: tuple[int | None, ...], after: tuple[int | None, ...]
) -> None:
    found, target = (from_placements(each, _MESH, _SHAPE) for each in (before, after))
    boxes = _boxes(list(before))
    for step in redistribution(found, target, _SHAPE, _MESH):
        boxes = _apply(step, boxes)
        assert step.name == ("split" if step.source is None else "all_gather" if step.target is None else "all_to_all")
    wanted = _boxes(list(after))
    assert boxes.keys() == wanted.keys()
    assert all(np.array_equal(boxes[device], wanted[device]) for device in wanted)


def test_the_error_names_the_collectives() -> None:
    rows, whole = (from_placements(each, Mesh((2,), ("tp",)), (8, 8)) for each in ((0,), (None,)))
    with pytest.raises(RedistributionError, match="redistribute it: all_gather of dimension 0 over 'tp'") as caught:
        require_sharding(rows, whole, (8, 8), Mesh((2,), ("tp",)), "B")
    assert caught.value.steps == (Step("all_gather", "tp", 0, None),)
    require_sharding(rows, TileLayout("S[(2, 32) : (1@pid, 1)]"), (8, 8), Mesh((2,), ("tp",)), "B")
