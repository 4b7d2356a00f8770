"""The execution scopes that a layout spans: which threads its thread axes count, and inside what."""

from __future__ import annotations

from tirx.layout.axis import SCOPE_THREADS, Axis, axis, known_axes
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters
from tirx.layout.tile import TileLayout


def _threads(row: Axis, scope: str | None) -> int:
    """Threads in a scope; a CTA has more than any fixed scope, so it sorts last."""
    return SCOPE_THREADS.get(scope or row.name, 1 << 30)


def fuse_threads(layout: TileLayout) -> TileLayout:
    """See TileLayout.fuse_threads."""
    layout = layout.canonicalize()
    used = [row for row in map(axis, layout.axes) if row.weight is not None]
    if len(used) < 2:
        return layout
    chain = sorted(used, key=lambda row: _threads(row, row.unit))
    for low, high in zip(chain, chain[1:], strict=False):
        if low.parent != high.unit:
            relation = "overlap" if _threads(low, low.parent) > _threads(high, high.unit) else "leave a level open"
            raise LayoutError(
                f"thread axes '{low.name}' ({low.unit} in {low.parent}) and '{high.name}' ({high.unit} in "
                f"{high.parent}) {relation}; expected the second to count {low.parent}s"
            )
    unit, parent = chain[0].unit, chain[-1].parent
    fused = next(
        row
        for row in known_axes()
        if (row.unit, row.parent) == (unit, parent) and row.weight is not None and row.alias_of is None
    )
    base = fused.weight or 1
    factor = {row.name: (row.weight or 1) // base for row in used}

    def rename(iters: Iters) -> Iters:
        return tuple(
            Iter(it.extent, it.stride * factor[it.axis], fused.name) if it.axis in factor else it for it in iters
        )

    offset = [(fused.name, n * factor[a]) if a in factor else (a, n) for a, n in layout.offset]
    return TileLayout(rename(layout.shard), rename(layout.replica), offset).canonicalize()
