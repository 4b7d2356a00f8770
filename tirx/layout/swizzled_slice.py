"""Boxes of a swizzled tile whose begin is known to be some multiple of a step only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from tirx.layout.compose import ComposeLayout
from tirx.layout.domain import Coordinate, Shape, check_count
from tirx.layout.errors import LayoutError
from tirx.layout.iters import NotStrided, infer_iters
from tirx.layout.tile import TileLayout


@dataclass(frozen=True)
class SwizzledSlice:
    """Boxes of one size, at begins that are multiples of a step, in a swizzled tile.

    layout:      of the box at the first begin.
    begin:       what to add to every *swizzled* address of that box, by the number of the step in every dimension; a
                 layout of shape `begin_shape` on axis m.
    begin_shape: how many begins each dimension has.
    """

    layout: ComposeLayout
    begin: TileLayout
    begin_shape: tuple[int, ...]

    def displacement(self, steps: Coordinate) -> int:
        """What to add to the addresses of the first box; LayoutError when the box would leave the tensor."""
        return self.begin.apply(steps, self.begin_shape).get("m", 0)


def slice_dynamic(layout: ComposeLayout, shape: Shape, sizes: Shape, multiples: Sequence[int | None]) -> SwizzledSlice:
    """See ComposeLayout.slice_dynamic."""
    part = layout.tile.slice_dynamic(shape, sizes, multiples)
    first = ComposeLayout(layout.swizzle, part.layout)
    moves = part.begin.axis_table("m", (prod(part.begin_shape),))
    if all(layout.swizzle.commutes_with(int(move)) for move in np.unique(moves)):
        return SwizzledSlice(first, part.begin, part.begin_shape)

    addresses = np.unique(first.tile_addresses())
    check_count(len(addresses) * len(moves), layout)
    swizzled = layout.swizzle.apply(addresses)
    apart = layout.swizzle.apply(moves[:, None] + addresses) - swizzled
    displaced = apart[:, 0]
    together: NDArray[np.bool_] = (apart == displaced[:, None]).all(axis=1)
    if not together.all():
        raise LayoutError(_why_not(layout, together.reshape(part.begin_shape), multiples))
    begin = infer_iters({"m": displaced}, len(displaced), "m")
    if isinstance(begin, NotStrided):
        raise LayoutError(
            f"no tile layout describes where the boxes begin after {layout.swizzle}: only the first {begin.prefix} "
            "begins have one"
        )
    return SwizzledSlice(first, TileLayout(begin).canonicalize(), part.begin_shape)


def _why_not(layout: ComposeLayout, together: NDArray[np.bool_], multiples: Sequence[int | None]) -> str:
    """Names the first begin whose box is torn, and the smallest multiples of the steps that tear none."""
    steps = [multiple or 0 for multiple in multiples]
    torn = tuple(int(k) * step for k, step in zip(np.argwhere(~together)[0], steps, strict=True))
    factors: list[int | None] = []
    for d, count in enumerate(together.shape):
        alone = together[(0,) * d + (slice(None),) + (0,) * (together.ndim - d - 1)]
        factors.append(next((factor for factor in range(1, count) if alone[::factor].all()), None))
    kept = together[tuple(slice(None, None, factor) if factor else slice(0, 1) for factor in factors)]
    text = f"{layout.swizzle} tears the box that begins at {torn}: its elements do not all move by one displacement"
    if not kept.all():
        return text
    legal = ["0" if factor is None else str(factor * step) for factor, step in zip(factors, steps, strict=True)]
    return f"{text}; begins at multiples of ({', '.join(legal)}) work"
