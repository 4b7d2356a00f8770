"""The execution scopes that a layout spans: which threads its thread axes count, and inside what."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import inf

from tirx.layout.axis import SCOPE_THREADS, Axis, axis, known_axes
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters
from tirx.layout.strided import Strided, scale, sum_offsets


def _chain(rows: Sequence[Axis]) -> list[Axis]:
    """One axis per level, innermost first; LayoutError unless each counts what the one before it lies inside of."""
    levels = list({(row.unit, row.parent): row for row in rows}.values())
    for a, b in combinations(levels, 2):
        if a.unit == b.unit or a.parent == b.parent or a.depends_on(b):
            raise _unchained(a, b, "overlap")
    inside_of = {row.unit: row for row in levels}
    parents = {row.parent for row in levels}
    chains: list[list[Axis]] = []
    for row in levels:
        if row.unit in parents:
            continue
        chain = [row]
        while (outer := inside_of.get(chain[-1].parent)) is not None:
            chain.append(outer)
        chains.append(chain)
    if len(chains) > 1:
        inner, outer, *_ = sorted(chains, key=lambda chain: SCOPE_THREADS.get(chain[0].unit or "", inf))
        raise _unchained(inner[-1], outer[0], "leave a level open")
    return chains[0]


def _unchained(inner: Axis, outer: Axis, relation: str) -> LayoutError:
    return LayoutError(
        f"thread axes '{inner.name}' ({inner.unit} in {inner.parent}) and '{outer.name}' ({outer.unit} in "
        f"{outer.parent}) {relation}; expected the second to count {inner.parent}s"
    )


def scope(axes: Sequence[str]) -> tuple[str, str] | None:
    """See TileLayout.scope, for the axes of a normal form."""
    used = [row for row in map(axis, axes) if row.kind == "thread"]
    if not used:
        return None
    chain = _chain(used)
    return chain[0].unit or chain[0].name, chain[-1].parent or chain[-1].name


def fuse_threads(layout: Strided) -> Strided:
    """See TileLayout.fuse_threads, for a normal form."""
    used = [row for row in map(axis, layout.axes) if row.weight is not None]
    if len(used) < 2:
        return layout
    chain = _chain(used)
    unit, parent = chain[0].unit, chain[-1].parent
    candidates = [
        row
        for row in known_axes()
        if (row.unit, row.parent) == (unit, parent) and row.weight is not None and row.alias_of is None
    ]
    if not candidates:
        raise LayoutError(f"no axis counts the {unit}s in a {parent}: one can be registered, with a weight")
    fused = candidates[0]
    factor = {row.name: (row.weight or 1) // (fused.weight or 1) for row in used}

    def rename(iters: Iters) -> Iters:
        return tuple([Iter(it.extent, it.stride, fused.name) if it.axis in factor else it for it in iters])

    scaled = scale(layout, factor)
    offset = sum_offsets((fused.name if name in factor else name, count) for name, count in scaled.offset)
    return Strided(rename(scaled.shard), rename(scaled.replica), offset)
