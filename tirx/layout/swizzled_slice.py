"""Boxes of a swizzled tile whose begin is known to be some multiple of a step only."""

from __future__ import annotations

from collections.abc import Sequence

from tirx.layout.arrays import NDArray, np
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iters, NotStrided, infer_iters
from tirx.layout.shape import check_count
from tirx.layout.swizzle import SwizzleLayout


def swizzled_moves(
    swizzle: SwizzleLayout, box: NDArray[np.int64], moves: NDArray[np.int64], multiples: Sequence[int | None]
) -> Iters:
    """The iters of the displacements of a box after the swizzle, by the number of the step in every dimension.

    box: the addresses of the first box before the swizzle, each once. moves: what is added to them at each begin, an
    array with a dimension for each of `multiples`. Raises LayoutError as ComposeLayout.slice_dynamic does.
    """
    check_count(box.size * moves.size, swizzle)
    apart = swizzle.apply(moves.reshape(-1, 1) + box) - swizzle.apply(box)
    displaced = apart[:, 0]
    together: NDArray[np.bool_] = (apart == displaced[:, None]).all(axis=1)
    if not together.all():
        raise LayoutError(_why_not(swizzle, together.reshape(moves.shape), multiples))
    begin = infer_iters({"m": displaced}, len(displaced), "m")
    if isinstance(begin, NotStrided):
        raise LayoutError(
            f"no tile layout describes where the boxes begin after {swizzle}: only the first {begin.prefix} "
            "begins have one"
        )
    return begin


def _why_not(swizzle: SwizzleLayout, together: NDArray[np.bool_], multiples: Sequence[int | None]) -> str:
    """Names the first begin whose box is torn, and the smallest multiples of the steps that tear none."""
    steps = [multiple or 0 for multiple in multiples]
    torn = tuple(int(k) * step for k, step in zip(np.argwhere(~together)[0], steps, strict=True))
    factors: list[int | None] = []
    for d, count in enumerate(together.shape):
        alone = together[(0,) * d + (slice(None),) + (0,) * (together.ndim - d - 1)]
        factors.append(next((factor for factor in range(1, count) if alone[::factor].all()), None))
    kept = together[tuple(slice(None, None, factor) if factor else slice(0, 1) for factor in factors)]
    text = f"{swizzle} tears the box that begins at {torn}: its elements do not all move by one displacement"
    if not kept.all():
        return text
    legal = ["0" if factor is None else str(factor * step) for factor, step in zip(factors, steps, strict=True)]
    return f"{text}; begins at multiples of ({', '.join(legal)}) work"
