"""Scans of elements in registers: what the emitted operations compute for the lanes of a warp."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from unit.folded import named, neutral, scanned
from unit.passes.register_tiles import held_by_lanes, operation, random_layout, register_tile, run

from tirx.dialects.tirx import TileType
from tirx.layout import LayoutError
from tirx.passes.scalars.fold_emission import ScanEmission
from tirx.rules import StageError

_DTYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "i32": np.int32, "ui16": np.uint16, "ui32": np.uint32,
}  # fmt: skip


@pytest.mark.sample(16)
@pytest.mark.parametrize("element", _DTYPES)
@pytest.mark.parametrize("how", ["add", "mul", "max", "min"])
@pytest.mark.parametrize(
    ("dims", "d", "layout"),
    [
        ((2, 8, 4, 2), 1, "S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]"),
        ((8, 16), 1, "S[(8, 2, 4, 2) : (4@laneid, 2, 1@laneid, 1)]"),
    ],
)
def test_scans(element: str, how: str, dims: tuple[int, ...], d: int, layout: str) -> None:
    """In both directions, with the own element and before it, where the first one gets what changes nothing."""
    tile, dtype = register_tile("x".join(map(str, dims)), element, layout), np.dtype(_DTYPES[element])
    for exclusive, reverse in ((False, False), (False, True), (True, False), (True, True)):
        op = operation(f"scan {{}} dim({d}) {how}{' exclusive' * exclusive}{' reverse' * reverse}", tile, tile)
        type_ = TileType.of(op.source)
        # Integers next to a bound of the type, whose sums wrap around.
        powers = np.random.default_rng(d).choice([1, 2, 4], dims)
        numbers = (powers / 2 if dtype.kind == "f" else np.iinfo(dtype).max - powers).astype(dtype)
        part = tuple(1 if i == d else n for i, n in enumerate(dims))
        inits = [np.full(part, neutral(how, dtype), dtype)] if exclusive else []
        with np.errstate(over="ignore"):
            (wanted,), _ = scanned([numbers], d, named(how), inits, exclusive=exclusive, reverse=reverse)
        held = held_by_lanes(type_)
        bits, expected = (np.ascontiguousarray(each).view(f"u{dtype.itemsize}").ravel() for each in (numbers, wanted))
        found, _ = run(
            type_, type_, np.where(held >= 0, bits[held], 0).astype(np.uint64),
            lambda emit, thread, registers, op=op: ScanEmission(emit, op, {op.source: registers}, 32, thread).run()[0],
        )  # fmt: skip
        assert (found == np.where(held >= 0, expected[held], found)).all(), (exclusive, reverse)


def test_scans_in_any_layout() -> None:
    """A scan that is emitted is right; what no warp has in order is refused. Most of what is in order is not."""
    rng, made = random.Random(0), 0
    for _ in range(150):
        dims, layout = random_layout(rng)
        d = rng.randrange(2)
        tile = register_tile("x".join(map(str, dims)), "i32", layout)
        op = operation(f"scan {{}} dim({d}) add{rng.choice(('', ' reverse', ' exclusive'))}", tile, tile)
        numbers = np.random.default_rng(0).integers(1, 1 << 20, dims, dtype=np.int32)
        inits = [] if op.exclusive is None else [np.zeros_like(numbers.take([0], d))]
        reverse, exclusive = op.reverse is not None, op.exclusive is not None
        (wanted,), _ = scanned([numbers], d, named("add"), inits, exclusive=exclusive, reverse=reverse)
        type_ = TileType.of(op.source)
        held = held_by_lanes(type_)
        contents = np.where(held >= 0, numbers.ravel()[held], 0).astype(np.uint64)
        try:
            found, _ = run(
                type_, type_, contents,
                lambda emit, thread, registers, op=op: ScanEmission(
                    emit, op, {op.source: registers}, 32, thread
                ).run()[0],
            )  # fmt: skip
        except (StageError, LayoutError):
            continue
        made += 1
        assert (found == np.where(held >= 0, wanted.ravel()[held], found)).all(), (layout, dims, d)
    assert made > 60
