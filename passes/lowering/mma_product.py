"""How one `tirx.mma` on registers becomes `mma.sync` instructions: shared by the check and the lowering."""

from __future__ import annotations

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import MmaOp, TileType
from tirx.layout import LayoutError, TileLayout
from tirx.mma import FragmentError, MmaStep, plan_mma


def _layout(mma: MmaOp, name: str, type_: TileType) -> TileLayout:
    if not isinstance(type_.placement, TileLayout):
        raise LocatedError(mma, f"expected a tile layout on {name}; tirx-pick-layouts chooses one")
    return type_.placement


def plan_register_product(mma: MmaOp, threads: int) -> tuple[MmaStep, ...]:
    """The instructions for `mma` over `threads` threads, in order. LocatedError when the fragments do not fit."""
    a, b, acc = mma.a_type, mma.b_type, mma.accumulator_type
    layouts = [_layout(mma, name, t) for name, t in (("A", a), ("B", b), ("the accumulator", acc))]
    try:
        return plan_mma(
            layouts[0],
            layouts[1],
            layouts[2],
            a.dims,
            b.dims,
            acc.dims,
            (a.dtype.name, b.dtype.name),
            acc.dtype.name,
            threads,
        )
    except (FragmentError, LayoutError) as e:
        raise LocatedError(mma, str(e)) from e
